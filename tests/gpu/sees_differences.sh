#!/usr/bin/env bash
# sees_differences.sh BUILD_DIR ROOT: several_gpus.sh finds what differs: on a copy of the simulated machine whose kernel
# driver tells the UUID of each GPU of the other one.
set -euo pipefail
build=$1 machine=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -r "$machine" "$folder/root"
cd "$folder/root/proc/driver/nvidia/gpus"
set -- */information
mv "$1" "$folder/first" && mv "$2" "$1" && mv "$folder/first" "$2"
for information in "$@"; do
  sed -i "s/^Bus Location:.*/Bus Location: \t ${information%/*}/" "$information"
done
cd - >/dev/null
code=0
CUENV_SIMULATED_ROOT=$folder/root CUENV_TEST_LISTS=50 "$(dirname "$0")/several_gpus.sh" "$build" "$folder/out" >"$folder/log" || code=$?
cat "$folder/log"
[ "$code" = 1 ] || { echo "FAILED: exit code $code, expected 1"; exit 1; }
for line in "/proc as nvidia-smi" "predicted as nvidia-smi, CUDA_DEVICE_ORDER unset" "the driver as nvidia-smi" "see .*verify.txt"; do
  grep -q "^DIFFERS   $line" "$folder/log" || { echo "FAILED: '$line' does not differ"; exit 1; }
done
