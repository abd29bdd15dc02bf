# On a real driver; skipped without one.
[ -e /dev/nvidiactl ] || exit 77
. "$(dirname "$0")/expect.sh"

if [ "$1" = verify ]; then
  call 0 verify
  printf '%s\n' "$out"
  finish
fi
call 0 devices --json
predicted=$(at /devices /cuInit)
[ "$(at /source)" != driver ] || fail "the driver was asked"
call 0 devices --init --json
same "asked as predicted" "$predicted" "$(at /devices /cuInit)"
number=0
nvidia-smi --query-gpu=index,uuid,name,compute_cap --format=csv,noheader >"$work/smi" || fail "nvidia-smi"
while IFS= read -r line; do
  CUDA_DEVICE_ORDER=PCI_BUS_ID call 0 devices --init --json
  same "as nvidia-smi" "$line" \
    "$(at /devices/$number/physical /devices/$number/uuid /devices/$number/name /devices/$number/compute_capability | paste -sd, | sed 's/,/, /g')"
  number=$((number + 1))
done <"$work/smi"
same "all of them" "$number" "$(at /devices | grep -o '"logical"' | wc -l)"
call 0 run --visible 0 -- "$CUENV" devices --init --json
same "one chosen" "0" "$(at /devices/0/physical)"
finish
