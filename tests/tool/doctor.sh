. "$(dirname "$0")/expect.sh"
# rung NAME POINTER...: values of one rung of the last output.
rung() {
  name=$1
  shift
  for i in 0 1 2 3 4 5 6 7 8 9; do
    [ "$(at /rungs/$i/rung 2>/dev/null)" = "$name" ] || continue
    for pointer in "$@"; do at "/rungs/$i$pointer"; done
    return
  done
  printf 'no rung %s\n' "$name"
}
narrow() { same "nothing is wider than 80 columns: $1" "" "$(awk 'length > 80' "$work/out")"; }
export HOME=/home/ada
unset NO_COLOR CUDA_HOME CUDA_PATH

# The simulated machine.
call 0 doctor
has "the verdict" "Nothing is wrong" "$out"
for name in gpus driver "gpu code" "jit cache" variables; do
  has "a line for each rung" "$name " "$out"
done
narrow "well"
call 0 doctor --json
same "JSON" "1
doctor
true
null" "$(at /schema /command /simulated /first_broken)"
same "a rung that was not asked for" "no rung start of cuda" "$(rung "start of cuda" /health)"

# Variables.
CUDA_VISIBLE_DEVICES=0,0 call 1 doctor
has "the verdict" "The first broken rung: variables.
  type       name each GPU once" "$out"
has "the finding" "error      CUDA_VISIBLE_DEVICES=0,0 at byte 2: '0' selects" "$out"
narrow "a broken rung"
CUDA_VISIBLE_DEVICES=0,0 call 1 doctor --json
same "the finding" "broken
visible_devices.duplicate" "$(rung variables /health /findings/0/code)"
same "the first broken rung" variables "$(at /first_broken)"
CUDA_LAUNCH_BLOCKING=true call 1 doctor
has "a doubt" "Nothing is broken. The first doubtful rung: variables." "$out"
CUDA_LAUNCH_BLOCKING=1 call 0 doctor
has "a note is no problem" "remove it unless you are debugging" "$out"

# Programs.
call 0 doctor --json "$IMAGES/for_90"
same "it runs" "fine
runs on 9.0" "$(rung "gpu code" /health /facts/0/value)"
call 1 doctor "$IMAGES/sm_75.fatbin" "$IMAGES/for_90"
has "a rung that is broken" "The first broken rung: gpu code." "$out"
has "the flag" "-gencode arch=compute_90,code=sm_90" "$(tr -s '\n ' ' ' <"$work/out")"
call 2 doctor "$work/no-such-file" "$IMAGES/for_90"
has "a file that cannot be read" "no-such-file cannot be opened" "$(tr -s '\n ' ' ' <"$work/out")"
CUDA_CACHE_DISABLE=1 call 1 doctor --json "$IMAGES/compute_75.ptx"
same "code that is compiled, and no cache" "doubtful
jit_cache.off" "$(rung "jit cache" /health /findings/0/code)"

CUDA_VISIBLE_DEVICES=$(seq -s, 0 300) call 1 doctor --all
narrow "a long list"
CUDA_CACHE_MAXSIZE=$(printf '%0100d' 7) call 0 doctor --all
narrow "a long number"
long=$(printf 'y%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40)
cp "$IMAGES/for_90" "$work/$long$long$long"
call 0 doctor "$work/$long$long$long" "$IMAGES/for_90"
same "a long name: no line of a rung is wider" "" "$(awk 'length > 80' "$work/out")"
call 2 doctor "$work/no-such-file"
has "which file" "no-such-file cannot be read" "$err"
call 2 doctor --root "$(printf '/x\033[31m')"
case $err in *"$(printf '\033')"*) fail "a control character is printed" ;; esac

# CUDA is started only when asked.
call 0 doctor --init --json
same "cuInit and two contexts" "fine
0 (SUCCESS)
0 (SUCCESS)" "$(rung "start of cuda" /health /facts/0/value /facts/2/value)"
CUDA_VISIBLE_DEVICES=0,0 call 1 doctor --init --json
same "a start that fails" "101 (INVALID_DEVICE)" "$(rung "start of cuda" /facts/0/value)"
printf 'init_error 999\n' | cat "$MACHINES/two_h200.txt" - >"$work/ill.txt"
"$SIMULATED_ROOT" "$work/ill.txt" "$work/ill" >/dev/null
CUENV_SIMULATED_ROOT=$work/ill call 1 doctor --init
has "a driver that does not start" "999 (UNKNOWN)" "$out"

# Other places.
call 2 doctor --pid 999999999
has "no such process" "there is no process 999999999" "$err"
call 2 doctor --pid 0
call 2 doctor --root "$work/no-such-folder"
call 2 doctor --root=
call 2 doctor --root "$work" --init
"$SIMULATED_ROOT" "$MACHINES/two_h200.txt" "$work/described" >/dev/null
LD_LIBRARY_PATH= CUDA_VISIBLE_DEVICES=7 call 1 doctor --root "$work/described" --json
same "a described machine" "visible_devices.out_of_range" "$(rung variables /findings/0/code)"

# Who and where is left out.
CUDA_VISIBLE_DEVICES=GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b,GPU-5a9c1f04 call 1 doctor --redact --all
case $out in *5a9c1f04* | *ada*) fail "it is redacted: $out" ;; esac
has "placeholders" "<uuid 1>" "$out"
if [ "$(uname)" = Linux ]; then
  HOME=/data/evelyn USER=evelyn CUDA_CACHE_PATH=/data/evelyn/cache sleep 60 &
  process=$!
  until [ "$(cat /proc/$process/comm)" = sleep ]; do sleep 0.05; done # until then it is this shell
  call 0 doctor --all --pid $process
  has "the home of a process" "/data/evelyn/cache" "$out"
  call 0 doctor --redact --all --pid $process
  kill $process
  case $out in *evelyn*) fail "the process's own home is redacted: $out" ;; esac
  has "the place of the cache" "<home>/cache" "$out"
fi
narrow "everything"

# Colour, on a terminal alone, for the word of health alone.
if [ "$(uname)" = Linux ]; then
  terminal() { script -qec "'$CUENV' doctor" /dev/null </dev/null | tr -d '\r'; }
  esc=$(printf '\033')
  has "a colour" "${esc}[32mfine${esc}[0m" "$(terminal)"
  case $(NO_COLOR=1 terminal) in *"$esc"*) fail "NO_COLOR is not heeded" ;; esac
  has "NO_COLOR that is empty" "${esc}[32mfine" "$(NO_COLOR= terminal)"
fi
call 0 doctor
case $out in *"$(printf '\033')"*) fail "colour without a terminal" ;; esac
finish
