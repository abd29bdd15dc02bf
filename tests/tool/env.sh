. "$(dirname "$0")/expect.sh"

# Whatever the bytes: what sh makes of the output is what run would set.
folder=$(printf '%s/a'"'"'b"c $HOME `id` \\ *\n\377\303(\t' "$work")
round_trip() {
  call 0 env --format sh "$@"
  (eval "$(cat "$work/out")"; env -0) | tr '\0\n' '\n\1' | grep -a '^CUDA_' | sort >"$work/evaluated"
  "$CUENV" run "$@" -- env -0 2>"$work/blank" | tr '\0\n' '\n\1' | grep -a '^CUDA_' | sort >"$work/run"
  cmp -s "$work/evaluated" "$work/run" || fail "sh: $* is not what run sets:
$(cat "$work/evaluated" "$work/run")"
}
round_trip "CUDA_CACHE_PATH=$folder"
round_trip "CUDA_LOG_FILE=it's \"a\" \$file"
round_trip --visible 1,0 CUDA_LAUNCH_BLOCKING=1
CUDA_VISIBLE_DEVICES=0 round_trip --visible all
CUDA_VISIBLE_DEVICES=0 call 0 env --format sh --visible all
same "a removed variable" "unset CUDA_VISIBLE_DEVICES" "$out"
CUDA_VISIBLE_DEVICES=1 CUDA_DEVICE_ORDER=PCI_BUS_ID call 0 env --format sh --visible 1
same "what is set already is printed too" "export CUDA_VISIBLE_DEVICES='1'
export CUDA_DEVICE_ORDER='PCI_BUS_ID'" "$out"

quotes=$(printf "it's \342\200\230so\342\200\231 \$x \"y\"")
call 0 env --format powershell "CUDA_LOG_FILE=$quotes" --visible all
same "PowerShell doubles every kind of quote" "Remove-Item Env:CUDA_VISIBLE_DEVICES -ErrorAction SilentlyContinue
\$env:CUDA_LOG_FILE = 'it''s $(printf '\342\200\230\342\200\230so\342\200\231\342\200\231') \$x \"y\"'" \
  "$out"
call 125 env --format powershell "CUDA_LOG_FILE=$(printf 'a\377')"
has "the reason" "powershell takes UTF-8 only" "$err"

call 0 env --format docker "CUDA_LOG_FILE=it's \"a\" file" --visible 1,0
same "docker takes a line as it is" "CUDA_DEVICE_ORDER=PCI_BUS_ID
CUDA_LOG_FILE=it's \"a\" file
CUDA_VISIBLE_DEVICES=1,0" "$(printf '%s\n' "$out" | sort)"
call 0 env --format docker --visible all
same "docker cannot remove" "# CUDA_VISIBLE_DEVICES is not set" "$out"
call 125 env --format docker "CUDA_LOG_FILE=$(printf 'a\nb')"
has "the reason" "more than one line" "$err"
call 125 env --format docker "CUDA_LOG_FILE=$(printf 'a\377')"

call 125 env --format sh CUDA_LAUNCH_BLOCKING=true
same "nothing is printed" "" "$out"
call 125 env --visible 0
call 125 env --format cmd --visible 0
call 125 env --format sh --visible 0 -- true

# What cannot be written is not taken for an answer, and an empty value not for an option that is not given.
if [ -c /dev/full ]; then
  "$CUENV" env --format sh --visible 0 >/dev/full 2>"$work/err"
  same "a full disk" 125 $?
  has "the reason" "cannot be written" "$(cat "$work/err")"
fi
"$CUENV" env --format sh --visible 0 >&- 2>"$work/err"
same "a closed output" 125 $?
call 125 env --format sh --toolkit '' --visible 0
has "the option" "--toolkit: its value is empty" "$err"
call 125 env --format sh --settings= CUDA_LAUNCH_BLOCKING=1
has "the option" "--settings: its value is empty" "$err"
call 125 env --format sh --settings "$work"
has "a folder" "$work: it cannot be read" "$err"
call 125 env --format sh --settings /dev/zero
has "no end" "larger than 16 MiB" "$err"
printf '\357\273\277CUDA_LAUNCH_BLOCKING=1\r\n' >"$work/settings"
call 0 env --format sh --settings "$work/settings"
same "a byte order mark and CR" "export CUDA_LAUNCH_BLOCKING='1'" "$out"
finish
