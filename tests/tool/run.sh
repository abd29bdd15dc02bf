. "$(dirname "$0")/expect.sh"

call 0 run CUDA_LAUNCH_BLOCKING=1 --visible 1,0 -- sh -c 'echo "$CUDA_LAUNCH_BLOCKING $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER"'
same "settings" "1 1,0 PCI_BUS_ID" "$out"
CUDA_LAUNCH_BLOCKING=0 CUDA_VISIBLE_DEVICES=0 CUDA_DEVICE_ORDER=FASTEST_FIRST \
  call 0 run CUDA_LAUNCH_BLOCKING=1 --visible=1 -- sh -c 'echo "$CUDA_LAUNCH_BLOCKING $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER"'
same "they override" "1 1 PCI_BUS_ID" "$out"
CUDA_VISIBLE_DEVICES=0 call 0 run --visible all -- sh -c 'echo "${CUDA_VISIBLE_DEVICES-unset}"'
same "all removes the variable" "unset" "$out"
CUDA_VISIBLE_DEVICES=1,0 call 0 run --visible logical:0 -- sh -c 'echo "$CUDA_VISIBLE_DEVICES"'
same "a logical index chooses among what is visible" 1 "$out"
call 0 run --visible GPU-c07e -- sh -c 'echo "$CUDA_VISIBLE_DEVICES ${CUDA_DEVICE_ORDER-unset}"'
same "a UUID needs no order" "GPU-c07e unset" "$out"
call 0 run --visible none -- sh -c 'echo "$CUDA_VISIBLE_DEVICES"'
same "none" -1 "$out"
call 0 run -- sh -c 'printf "<%s>" "$@"' name '' '--visible' 'a  b' -- "
"
same "arguments pass as they are" "<><--visible><a  b><--><
>" "$out"
same "nothing is said" "" "$err"

# The program under the settings: CUDA sees what was asked for.
call 0 run --visible 1,0 -- "$CUENV" devices --init --json
same "the driver agrees" "1
0" "$(at /devices/0/physical /devices/1/physical)"

# Exit codes and signals.
call 7 run -- sh -c 'exit 7'
call 143 run -- sh -c 'kill -TERM $$'
call 137 run -- sh -c 'kill -KILL $$'
"$CUENV" run -- sleep 60 &
child=$!
sleep 0.3
kill -TERM $child
wait $child 2>"$work/blank"
[ $? = 143 ] || fail "a signal to the tool is a signal to the program"
call 127 run -- "$work/no-such-program"
call 127 run -- no-such-program-anywhere
echo >"$work/plain"
call 126 run -- "$work/plain"
call 126 run -- "$work"
has "the reason" "$work: " "$err"

# Refused: nothing is started.
refused() {
  text=$1
  shift
  call 125 run "$@" -- touch "$work/started"
  has "the reason" "$text" "$err"
  [ ! -e "$work/started" ] || fail "started: $*"
}
refused "it must be 0 or 1" CUDA_LAUNCH_BLOCKING=true
refused "no variable that cuenv can set" FOO=1
refused "did you mean CUDA_VISIBLE_DEVICES?" CUDA_VISIBLE_DEVICE=1
refused "write NAME=VALUE" CUDA_LAUNCH_BLOCKING
refused "the list is empty" --visible ''
refused "the list is empty" --visible=
refused "out of range" --visible 9
refused "out of range" --visible 0,9
refused "begins the UUID of no GPU here" --visible GPU-dead
refused "not both" --visible 0 CUDA_VISIBLE_DEVICES=0
refused "no-such-file: it cannot be read" --settings "$work/no-such-file"
refused "it has no folder bin" --toolkit "$work"
call 125 run
call 125 run --visible 0
call 125 run --
call 125 run --no-such-option -- true

# What stays in the environment is looked at and said.
CUDA_CACHE_MAXSIZE=1G call 0 run -- true
has "a warning" "warning: CUDA_CACHE_MAXSIZE=1G" "$err"

# A file of settings, and the command line over it.
printf '# a comment\nCUDA_LAUNCH_BLOCKING = 1\nCUDA_VISIBLE_DEVICES = 0\n' >"$work/settings"
CUDA_LAUNCH_BLOCKING=0 call 0 run --settings "$work/settings" --visible 1 -- sh -c 'echo "$CUDA_LAUNCH_BLOCKING $CUDA_VISIBLE_DEVICES"'
same "a file" "1 1" "$out"
printf 'CUDA_LAUNCH_BLOCKING\n' >"$work/settings"
refused "settings: line 1" --settings "$work/settings"

# A toolkit.
toolkit=$work/cuda
mkdir -p "$toolkit/bin" "$toolkit/targets/x86_64-linux/lib"
ln -s targets/x86_64-linux/lib "$toolkit/lib64"
printf '#!/bin/sh\necho "the nvcc of $CUDA_HOME $CUDA_PATH"\n' >"$toolkit/bin/nvcc"
chmod +x "$toolkit/bin/nvcc"
call 0 run --toolkit "$toolkit/" -- nvcc
same "its programs come first" "the nvcc of $toolkit $toolkit" "$out"
old=$LD_LIBRARY_PATH
call 0 run --toolkit "$toolkit" -- sh -c 'echo "$PATH"; echo "$LD_LIBRARY_PATH"'
same "its folders come first" "$toolkit/bin:$PATH
$toolkit/lib64:$old" "$out"
LD_LIBRARY_PATH=/a:$toolkit/lib64:/b call 0 run --toolkit "$toolkit" -- sh -c 'echo "$LD_LIBRARY_PATH"'
same "each folder once" "$toolkit/lib64:/a:/b" "$out"
LD_LIBRARY_PATH= call 0 run --toolkit "$toolkit" -- sh -c 'echo "$LD_LIBRARY_PATH"'
same "no empty entry" "$toolkit/lib64" "$out"
rm "$toolkit/lib64"
mkdir "$toolkit/lib64"
LD_LIBRARY_PATH= call 0 run --toolkit "$toolkit" -- sh -c 'echo "$LD_LIBRARY_PATH"'
same "both folders where they are two" "$toolkit/lib64:$toolkit/targets/x86_64-linux/lib" "$out"
(cd "$work" && LD_LIBRARY_PATH= "$CUENV" run --toolkit cuda -- sh -c 'echo "$CUDA_HOME"') >"$work/out"
same "a relative folder" "$toolkit" "$(cat "$work/out")"
(unset PATH && "$CUENV" run --toolkit "$toolkit" -- sh -c 'ls / >/dev/null && echo found') >"$work/out" 2>&1
same "programs are found although PATH was not set" found "$(cat "$work/out")"
finish
