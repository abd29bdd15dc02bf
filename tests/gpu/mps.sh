#!/usr/bin/env bash
# mps.sh TOOL: cuenv's predictions for the client of an MPS daemon, with daemons of its own in a folder of its own.
# Exits with 0 where nothing differs, 1 where something does, 77 where there is no GPU or no daemon to start.
set -u
export LC_ALL=C
tool=$1
[ -e /dev/nvidiactl ] || { echo "skipped: there is no GPU here"; exit 77; }
export PATH=$PATH:/usr/local/nvidia/bin  # where containers have it
command -v nvidia-cuda-mps-control >/dev/null || { echo "skipped: nvidia-cuda-mps-control is not here"; exit 77; }
for name in $(compgen -e | grep -E '^(CUDA|NVIDIA_VISIBLE)'); do unset "$name"; done
folder=$(mktemp -d /tmp/cuenv_mps.XXXXXX) || exit 1
export CUDA_MPS_PIPE_DIRECTORY=$folder/pipe CUDA_MPS_LOG_DIRECTORY=$folder/log
mkdir "$folder/pipe" "$folder/log"
stop() { echo quit | timeout 60 nvidia-cuda-mps-control >/dev/null 2>&1; }
trap 'stop; rm -rf "$folder"' EXIT

failures=0
# check WHAT COMMAND...: the command must succeed.
check() {
  what=$1
  shift
  if output=$("$@" 2>&1); then echo "ok       $what"; else echo "FAILED   $what: $output"; failures=$((failures + 1)); fi
}
clients() { grep -c 'NEW CLIENT' "$folder/log/control.log"; }
says() { "$tool" doctor 2>&1 | tr -s ' \n' ' ' | grep -F -- "$1"; }
devices() { "$tool" devices "$@" --json | grep -E '"(uuid|logical|physical)"'; }
same_devices() { [ "$(devices)" = "$(devices --init)" ]; }

uuids=$(nvidia-smi -L | sed -n 's/.*UUID: \(GPU-[0-9a-f-]*\)).*/\1/p')
last=$(($(echo "$uuids" | wc -l) - 1))
[ "$last" -gt 0 ] || echo "one GPU: a daemon with some of several is not tried"
lists=("" "$last" "$(echo "$uuids" | tail -1)")
[ "$last" -gt 0 ] && lists+=("$last,0" "0")

check "without a daemon the doctor says so" says "there is no MPS daemon in this folder"
for list in "${lists[@]}"; do
  start=(env)
  [ -z "$list" ] || start+=("CUDA_VISIBLE_DEVICES=$list")
  check "a daemon with ${list:-every GPU} starts" "${start[@]}" nvidia-cuda-mps-control -d
  check "  the doctor sees it" says "an MPS daemon is here, and this program is its client"
  before=$(clients)
  check "  30 generated lists come out as predicted" "$tool" verify --generated 30 --seed 7
  check "  the devices are those predicted" same_devices
  check "  the driver had it as a client" test "$(clients)" -gt "$((before + 30))"
  check "  it quits" stop
done
check "the doctor sees that it has quit" says "the MPS daemon of this folder has quit"
check "without it the devices are all of them" test "$(devices --init | grep -c uuid)" = "$((last + 1))"
for bad in CUDA_VISIBLE_DEVICES=-1 CUDA_DEVICE_ORDER=bad; do
  check "a daemon with $bad does not start" sh -c "! env $bad nvidia-cuda-mps-control -d"
done
[ "$failures" = 0 ]
