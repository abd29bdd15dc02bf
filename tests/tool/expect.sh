# Included by the tests of the tool. $CUENV is the tool, $JSON_AT the program json_at, $DATA the folder tests/data.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# No CUDA variable of the surroundings gets in.
for name in $(env | sed -n 's/^\(CUDA[A-Z0-9_]*\|NVIDIA_[A-Z0-9_]*\|TORCH_CUDA_ARCH_LIST\)=.*/\1/p'); do
  unset "$name"
done

fail() {
  printf 'FAILED: %s\n' "$1"
  failures=$((failures + 1))
}

# same WHAT EXPECTED SEEN
same() {
  [ "$2" = "$3" ] || fail "$1: expected
$2
but saw
$3"
}

# has WHAT PART TEXT
has() {
  case $3 in
    *"$2"*) ;;
    *) fail "$1: expected '$2' in
$3" ;;
  esac
}

# call EXPECTED_CODE ARGUMENTS...: runs the tool; its output is in $out and $err.
call() {
  expected=$1
  shift
  "$CUENV" "$@" >"$work/out" 2>"$work/err"
  code=$?
  out=$(cat "$work/out")
  err=$(cat "$work/err")
  [ "$code" = "$expected" ] || fail "cuenv $*: exit code $code, expected $expected: $out $err"
}

# at POINTER...: values of the last output.
at() { "$JSON_AT" "$@" <"$work/out"; }

finish() { exit "$((failures > 0))"; }
