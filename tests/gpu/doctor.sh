# The doctor on a real driver: nothing wrong where nothing is, the words of nvidia-smi, and each of six faults, where the
# driver itself shows the fault as well. Needs CUENV, JSON_AT, IMAGES and STUB; skipped without a GPU.
[ -e /dev/nvidiactl ] || exit 77
. "$(dirname "$0")/../tool/expect.sh"
export HOME="$work/home"
mkdir "$HOME"
codes() { grep -o '"code": *"[^"]*"' "$work/out" | sed 's/.*"\(.*\)"$/\1/' | sort -u | tr '\n' ' '; }
finds() { case " $(codes)" in *" $2 "*) echo "ok        $1: $2" ;; *) fail "$1: $2 is not among: $(codes)" ;; esac }

# Nothing is wrong: no finding of any severity.
call 0 doctor --init --json
same "a healthy machine: findings" "" "$(codes)"
for health in broken doubtful; do
  case $out in *"\"health\": \"$health\""*) fail "a healthy machine: a rung is $health: $out" ;; esac
done
echo "healthy: $(grep -o '"reason": *"[^"]*"' "$work/out" | tr '\n' ' ')"
call 0 doctor
printf '%s\n' "$out"
same "nothing is wider than 80 columns" "" "$(awk 'length > 80' "$work/out")"

# What nvidia-smi says of each GPU is in the facts of the first rung.
call 0 doctor --all --json
facts=$(at /rungs/0/facts)
number=0
nvidia-smi --query-gpu=name,compute_cap,pci.bus_id,uuid --format=csv,noheader >"$work/smi" || fail "nvidia-smi"
while IFS= read -r line; do
  old_ifs=$IFS
  IFS=,
  set -- $line
  IFS=$old_ifs
  bus=$(echo "${3# }" | tr 'A-F' 'a-f' | sed 's/^0000//')
  for part in "$1" "${2# }" "$bus" "${4# }"; do has "GPU $number as nvidia-smi" "$part" "$facts"; done
  number=$((number + 1))
done <"$work/smi"
same "as many as nvidia-smi -L" "$(nvidia-smi -L | grep -c '^GPU')" "$number"
has "driver version" "$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1)" "$(at /rungs/1/facts)"

# The toolkit's stub in front.
LD_LIBRARY_PATH=$STUB call 1 doctor --json
finds "a stub in front" driver.stub
LD_LIBRARY_PATH=$STUB call 1 doctor --init --json
has "the driver answers" "34 (STUB_LIBRARY)" "$out"

# An order in lower case.
CUDA_DEVICE_ORDER=pci_bus_id call 1 doctor --init --json
finds "an order in lower case" environment.misread
has "the driver answers" "101 (INVALID_DEVICE)" "$out"

# A cache of 1G, which is one byte.
CUDA_CACHE_MAXSIZE=1G call 1 doctor --json "$IMAGES/compute_75.fatbin"
finds "a cache of 1G" environment.misread

# A cache that cannot be written: as nobody, in a folder of root's.
mkdir "$work/shared"
chmod 755 "$work" "$work/shared"
if command -v setpriv >/dev/null; then
  chmod -R o+rX "$work"
  setpriv --reuid=65534 --regid=65534 --clear-groups env CUDA_CACHE_PATH="$work/shared" \
    "$CUENV" doctor --json "$IMAGES/compute_75.fatbin" >"$work/out" 2>"$work/err"
  out=$(cat "$work/out")
  finds "a read-only cache" jit_cache.read_only
else
  fail "no setpriv: a read-only cache was not tried"
fi

# A program for 12.0 alone.
call 1 doctor --json "$IMAGES/libfor_120.so"
finds "code for 12.0 alone" gpu_code.none_for_gpu
call 1 check --load "$IMAGES/sm_120.fatbin"
has "the driver answers" "209" "$out"

# The compiler for PTX hidden by an unusable file of its name.
mkdir "$work/hidden"
echo "no library" >"$work/hidden/libnvidia-ptxjitcompiler.so.1"
for version in $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1); do
  echo "no library" >"$work/hidden/libnvidia-ptxjitcompiler.so.$version"
done
CUDA_CACHE_DISABLE=1 LD_LIBRARY_PATH=$work/hidden "$CUENV" check --load "$IMAGES/compute_75.ptx" >"$work/out" 2>&1
if grep -q 221 "$work/out"; then
  LD_LIBRARY_PATH=$work/hidden call 1 doctor --json "$IMAGES/compute_75.ptx"
  finds "the compiler for PTX hidden (the driver answers 221)" gpu_code.no_jit_compiler
else
  fail "not measured: the driver does not answer 221 when its compiler is hidden: $(cat "$work/out")"
fi
finish
