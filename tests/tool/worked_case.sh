# The commands of examples/worked_case/README.md, run as they stand there, print what stands there: all lines of its
# console blocks, but for facts of the machine at hand.
. "$(dirname "$0")/expect.sh"
cp "$WORKED_CASE/scale.cu" "$SCALE" "$work/"
cd "$work" || exit 1
mkdir bin && ln -s "$CUENV" bin/cuenv
export HOME=$work PATH="$work/bin:$NVCC_DIR:$PATH"
unset CUDA_HOME CUDA_PATH NO_COLOR
awk '/^```/ { inside = $0 == "```console"; next } inside' "$WORKED_CASE/README.md" >expected
grep -c '^\$ ' expected >count
[ "$(cat count)" -ge 8 ] || fail "the commands are found: $(cat count)"

# All of them in one shell, so that what is exported stays.
{
  sed -n 's/^\$ //p' expected | while IFS= read -r line; do
    printf "printf '%%s\\\\n' '\$ %s'\n%s\n" "$(printf '%s' "$line" | sed "s/'/'\\\\\\\\''/g")" "$line"
  done
} >script
sh script >seen 2>&1

# Facts of this machine: its toolkit, container, disk; and where the simulated machine is.
plain() {
  sed -e '/^cuenv: simulated CUDA driver/d' -e "s|$work|/home/ada|g" \
    -e 's/^\(toolkit\|jit cache\|surroundings\)\( *[a-z]*\) .*/\1\2/' "$1"
}
plain expected >expected.plain
plain seen >seen.plain
diff -u expected.plain seen.plain >differences || fail "the README differs: $(cat differences)
as seen:
$(cat seen)"
finish
