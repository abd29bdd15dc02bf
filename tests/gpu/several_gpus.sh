#!/usr/bin/env bash
# several_gpus.sh BUILD_DIR [OUT_DIR]: everything that only a machine with several GPUs can show, in one run. See README.md.
# Exits with 0 where nothing differs, 1 where something does, 77 where there are fewer GPUs than CUENV_TEST_GPUS (1).
set -u
export LC_ALL=C
[ $# -ge 1 ] || { echo "usage: several_gpus.sh BUILD_DIR [OUT_DIR]"; exit 2; }
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
tool=$build/examples/cuenv/cuenv json_at=$build/tests/json_at rank_program=$build/tests/rank_program
start=$build/tests/session_start expect_ranks=$here/../launchers/expect_ranks.sh
root=${CUENV_SIMULATED_ROOT:-}
for program in "$tool" "$json_at" "$rank_program" "$start"; do
  [ -x "$program" ] || { echo "FAILED: $program is not built (the tool needs CLI11 and nlohmann/json)"; exit 2; }
done
[ -e "$root/dev/nvidiactl" ] || [ -n "$root" ] || { echo "skipped: there is no GPU here"; exit 77; }
for name in $(compgen -e | grep -E '^(CUDA|NVIDIA_VISIBLE)'); do unset "$name"; done

# "index, uuid, bus address, name" of each GPU by somebody else's word.
listed() {
  if [ -n "$root" ]; then
    awk '$1 == "gpu" {for (i = 2; i <= NF; ++i) {if ($i ~ /^uuid=/) u = substr($i, 6); if ($i ~ /^pci=/) p = substr($i, 5)}
      sub(/.*name=/, ""); print n++ ", " u ", 0000" p ", " $0}' "$root/machine.txt"
  else
    nvidia-smi --query-gpu=index,uuid,pci.bus_id,name --format=csv,noheader
  fi
}

out=${2:-$(mktemp -d /tmp/cuenv_several_gpus.XXXXXX)}
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
listed >"$out/nvidia-smi.csv" || { echo "FAILED: nvidia-smi: $(cat "$out/nvidia-smi.csv")"; exit 1; }
gpus=$(wc -l <"$out/nvidia-smi.csv")
[ "$gpus" -ge "${CUENV_TEST_GPUS:-1}" ] || { echo "skipped: $gpus GPUs, and the test needs $CUENV_TEST_GPUS"; exit 77; }

differences=0 unchecked=0
say() { printf '%-9s %s\n' "$1" "$2"; }
ok() { say ok "$1"; }
differs() { say DIFFERS "$1"; differences=$((differences + 1)); }
not_checked() { say "not done" "$1"; unchecked=$((unchecked + 1)); }
# same WHAT EXPECTED_FILE SEEN_FILE
same() { if diff "$2" "$3" >"$out/diff"; then ok "$1"; else differs "$1"; cat "$out/diff"; fi; }

cut -d ',' -f 4- "$out/nvidia-smi.csv" | sort | uniq -c
[ -z "$root" ] || echo "SIMULATED: this run shows that the script works, and nothing about a driver"
echo "outcomes in $out"

echo; echo "== Which GPU is which: nvidia-smi, the kernel driver, cuenv's prediction, the CUDA driver"
# "index uuid bus-address", the address with four digits of domain in lower case as the kernel driver has it.
awk -F ', ' '{sub(/^0000/, "", $3); print $1, $2, tolower($3)}' "$out/nvidia-smi.csv" >"$out/smi"
for information in "$root"/proc/driver/nvidia/gpus/*/information; do
  [ -r "$information" ] || continue
  minor=$(sed -n 's/^Device Minor:[[:space:]]*//p' "$information")
  [ -e "$root/dev/nvidia$minor" ] || continue  # another container's
  echo "$(sed -n 's/^GPU UUID:[[:space:]]*//p' "$information") $(sed -n 's/^Bus Location:[[:space:]]*//p' "$information")"
done | awk '{print NR - 1, $0}' >"$out/proc"
if [ -s "$out/proc" ]; then same "/proc as nvidia-smi" "$out/smi" "$out/proc"; else not_checked "/proc/driver/nvidia is not here"; fi
# map FILE ARGUMENTS...: the devices that cuenv lists.
map() {
  file=$1
  shift
  "$tool" devices --json "$@" >"$file.json" 2>"$file.err" || cat "$file.err"
  count=$(grep -o '"logical"' "$file.json" | wc -l)
  for ((i = 0; i < count; ++i)); do
    "$json_at" "/devices/$i/physical" "/devices/$i/uuid" "/devices/$i/pci" <"$file.json" | paste -sd ' '
  done >"$file"
}
kinds=$(cut -d ',' -f 4- "$out/nvidia-smi.csv" | sort -u | wc -l)
for order in PCI_BUS_ID FASTEST_FIRST unset; do
  if [ "$kinds" != 1 ] && [ "$order" != PCI_BUS_ID ]; then not_checked "unlike GPUs in the order $order"; continue; fi
  if [ "$order" = unset ]; then unset CUDA_DEVICE_ORDER; else export CUDA_DEVICE_ORDER=$order; fi
  map "$out/predicted_$order"
  same "predicted as nvidia-smi, CUDA_DEVICE_ORDER $order" "$out/smi" "$out/predicted_$order"
  map "$out/driver_$order" --init
  same "the driver as nvidia-smi, CUDA_DEVICE_ORDER $order" "$out/smi" "$out/driver_$order"
  if [ "$("$json_at" /source <"$out/driver_$order.json")" != driver ]; then differs "the driver was not asked"; fi
done
unset CUDA_DEVICE_ORDER

lists=${CUENV_TEST_LISTS:-200} seed=${CUENV_TEST_SEED:-1}
echo; echo "== $lists generated lists, a process each, against the driver (seed $seed)"
if [ "$kinds" = 1 ]; then saved=$out/visible_devices_generated_${gpus}_gpus.tsv; else saved=; fi
begin=$SECONDS
"$tool" verify --generated "$lists" --seed "$seed" ${saved:+--save "$saved"} >"$out/verify.txt" 2>&1
code=$?
if [ $code = 0 ]; then ok "devices, order and code of all lists ($((SECONDS - begin)) s)"; else differs "see $out/verify.txt"; fi
cat "$out/verify.txt"
if [ -n "$saved" ] && [ -s "$saved" ]; then
  echo "cuInit, and how many lists gave it: $(grep -v '^#' "$saved" | cut -f 2 | sort -n | uniq -c | awk '{printf "%s%s: %s", s, $2, $1; s = ", "}')"
  for code in 0 100 101; do
    grep -v '^#' "$saved" | cut -f 2 | grep -qx "$code" || differs "no list gave $code: too few lists, or a driver of other rules"
  done
  while IFS=', ' read -r _ uuid _; do
    if grep -qi -- "${uuid#GPU-}" "$saved"; then differs "a UUID of this machine is in $saved"; fi
  done <"$out/nvidia-smi.csv"
  if [ -z "$root" ]; then echo "to keep: $saved, as tests/data/visible_devices_generated_<machine>.tsv"; fi
fi

echo; echo "== Ranks of a launcher: a GPU for each, and shared ones where there are more ranks"
mpirun=$(command -v mpirun.openmpi || command -v mpirun || echo mpirun-NOTFOUND)
torchrun=$(command -v torchrun || echo torchrun-NOTFOUND)
open_mpi=("$mpirun" --allow-run-as-root --oversubscribe --bind-to none --mca plm isolated)
through=()
if [ -n "$root" ]; then through=(env "LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}"); fi  # mpirun changes it
# ranks LAUNCHER COUNT: starts so many, and says what became of them.
ranks() {
  case $1 in
    mpirun) command=("${open_mpi[@]}" -n "$2" "${through[@]}" "$rank_program") ;;
    torchrun) command=("$torchrun" --no_python --standalone --redirects 1 --tee 1 --log_dir "$out/torchrun"
      "--nproc_per_node=$2" "$rank_program") ;;
  esac
  expected=different:$2 text=
  if [ "$2" -gt "$gpus" ]; then
    expected=$(for ((i = 0; i < $2; ++i)); do echo "$i:$((i % gpus))"; done | sort | xargs)
    text="local ranks 0 and $gpus share logical GPU 0"
  fi
  log=$out/$1_$2.txt
  env -u CUENV_TEST_GPUS timeout 300 "$expect_ranks" "$expected" "$text" "${command[@]}" >"$log" 2>&1
  code=$?
  for ((i = 0; i < $2 - gpus && code == 0; ++i)); do
    grep -q "local ranks $i and $((i + gpus)) share logical GPU $i " "$log" || code=1
  done
  case $code in
    0) if [ "$2" -gt "$gpus" ]; then ok "$1, $2 ranks: each GPU twice, with the ranks that share it named"
       else ok "$1, $2 ranks on $2 GPUs"; fi ;;
    77) not_checked "$1, $2 ranks: $(tail -n 1 "$log")" ;;
    *) differs "$1, $2 ranks:"; tail -n 20 "$log" ;;
  esac
}
for launcher in mpirun torchrun; do
  for ((n = 1; n <= gpus; ++n)); do ranks $launcher "$n"; done
  ranks $launcher $((2 * gpus))
done

echo; echo "== Starting CUDA: a session against cuInit alone, 20 pairs of processes in turns (said, and judged by nobody)"
rm -f "$out"/start_*.txt
for ((pair = 0; pair < 20; ++pair)); do
  if ((pair % 2)); then order="session bare"; else order="bare session"; fi
  for how in $order; do
    if ! "$start" "$how" >>"$out/start_$how.txt" 2>"$out/start.err"; then differs "$how: $(cat "$out/start.err")"; break 2; fi
  done
done
if [ -s "$out/start_bare.txt" ] && [ -s "$out/start_session.txt" ]; then
  # In milliseconds, of microseconds.
  median() { sort -n | awk '{a[NR] = $1} END {printf "%.3f ms", (a[int((NR + 1) / 2)] + a[int((NR + 2) / 2)]) / 2000}'; }
  echo "median of cuInit alone $(median <"$out/start_bare.txt"), of a session $(median <"$out/start_session.txt"), of" \
    "the difference in a pair $(paste "$out/start_session.txt" "$out/start_bare.txt" | awk '{print $1 - $2}' | median)"
fi

echo; echo "== $gpus GPUs: $differences differences, $unchecked not done"
[ "$differences" = 0 ]
