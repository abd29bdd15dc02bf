#!/usr/bin/env bash
# Tries what a page shows. For each fenced block of the Markdown file $1, by its language:
#   cpp      with a main: a program, compiled and run on the simulated machine; if the next block is `text`, that must
#            be its output. Without: compiled as the body of a function, after tests/docs/prelude.hpp.
#   console  lines "$ COMMAND" are run by sh in a folder with the files that the pages speak of; the lines below each
#            must be its output, where numbers of bytes may differ.
# Other languages are shown only. Needs CXX, CXXFLAGS, INCLUDES, DOCS (this folder), FILES (the folder to work in).
set -euo pipefail
page=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# block 1 as 1.cpp, 2.text and so on
awk -v out="$work" '
  !inside && /^```[a-z]+$/ { inside = 1; file = sprintf("%s/%03d.%s", out, ++n, substr($0, 4)); printf "" > file; next }
  !inside && /^```/ { print "a block without a language in line " NR; exit 1 }
  inside && /^```$/ { inside = 0; close(file); next }
  inside { print > file }
  END { if (inside) { print "a block is not closed"; exit 1 } }' "$page"

failures=0
tried=0
fail() { printf 'FAILED: %s: %s\n' "$(basename "$page")" "$1"; failures=$((failures + 1)); }
# Sizes and places depend on the compiler; trailing blanks and the line of the simulated driver do not matter.
plain() { sed -E 's/\bbyte [0-9]+/byte N/; s/[0-9]+ bytes/N bytes/; s/[ \t]+$//; /^cuenv: simulated CUDA driver/d'; }
same() {
  if ! diff <(plain <"$1") <(plain <"$2") >"$work/diff"; then
    fail "$3: the page (<) and what came out (>)"
    cat "$work/diff"
  fi
}

for block in "$work"/*; do
  name=$(basename "$block")
  case $name in
  *.cpp)
    tried=$((tried + 1))
    if grep -q '^int main' "$block"; then
      # shellcheck disable=SC2086
      $CXX $CXXFLAGS $INCLUDES "$block" -o "$work/program" -ldl -pthread || { fail "$name does not compile"; continue; }
      next=$(printf '%s/%03d.text' "$work" $((10#${name%.cpp} + 1)))
      (cd "$FILES" && "$work/program" >"$work/printed" 2>&1) || true  # some pages show a failure
      if [ -e "$next" ]; then same "$next" "$work/printed" "the output of program $name"; fi
    else
      { printf '#include "prelude.hpp"\nvoid fragment() {\n'; cat "$block"; printf '}\n'; } >"$work/fragment.cpp"
      # shellcheck disable=SC2086
      $CXX $CXXFLAGS $INCLUDES -I"$DOCS" -Wno-unused -fsyntax-only "$work/fragment.cpp" ||
        { fail "$name does not compile"; cat "$block"; }
    fi
    ;;
  *.console)
    tried=$((tried + 1))
    : >"$work/shown"
    : >"$work/commands"
    grep '^\$ ' "$block" | sed 's/^\$ //' >"$work/commands"
    grep -v '^\$ ' "$block" | sed '/^$/d' >"$work/shown"
    (cd "$FILES" && while IFS= read -r command; do sh -c "$command" 2>&1 </dev/null || true; done <"$work/commands") |
      sed '/^$/d' >"$work/printed"
    same "$work/shown" "$work/printed" "console block $name"
    ;;
  esac
done
echo "$(basename "$page"): $tried blocks tried, $failures failed"
[ "$failures" = 0 ]
