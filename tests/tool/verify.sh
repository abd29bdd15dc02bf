. "$(dirname "$0")/expect.sh"

call 0 verify --jobs 2
has "text" "differ     none" "$out"
has "it says that it is simulated" "SIMULATED" "$out"
call 0 verify --json
same "JSON" '1
580.159.04
13.0
true
508
[]' "$(at /schema /driver /cuda /simulated /compared_with_table /differences)"

# A driver that answers otherwise than the table: told from it by a table that is wrong.
sed -e 's/^"1,0"\t0\t1,0$/"1,0"\t0\t0,1/' -e 's/^"2"\t100\t-$/"2"\t0\t0/' "$DATA/visible_devices_r580.tsv" >"$work/wrong.tsv"
call 1 verify --data "$work/wrong.tsv" --json
same "each line that is wrong" "$(diff "$DATA/visible_devices_r580.tsv" "$work/wrong.tsv" | grep -c '^>')" \
  "$(at /differences | grep -o '"against"' | wc -l)"
same "JSON" 'CUDA_VISIBLE_DEVICES
2
table
cuInit 0, GPUs 0
cuInit 100' "$(at /differences/0/variable /differences/0/value /differences/0/against /differences/0/expected /differences/0/seen)"
call 1 verify --data "$work/wrong.tsv"
has "text" "CUDA_VISIBLE_DEVICES='1,0'
  expected   cuInit 0, GPUs 0 1 (table)
  seen       cuInit 0, GPUs 1 0" "$out"

# Other GPUs than those of the table: UUIDs that begin alike, one GPU, unlike ones.
machine() {
  rm -rf "$work/root"
  "$SIMULATED_ROOT" "$1" "$work/root" >"$work/blank" || fail "no root for $1"
  export CUENV_SIMULATED_ROOT=$work/root
}
sed -e 's/GPU-5a9c1f04/GPU-0c0ffee4/' -e 's/GPU-c07e88d2/GPU-0c0ff777/' "$MACHINES/two_h200.txt" >"$work/alike.txt"
machine "$work/alike.txt"
call 0 verify

# Generated lists: the same for a seed, other ones for another; what is saved names no UUID of the machine, keeps which of
# them begin alike, says that it is simulated, and can be replayed.
call 0 verify --generated 60 --seed 5 --save "$work/five.tsv"
has "the seed" "60, a process each; generated from seed 5" "$out"
call 0 verify --generated 60 --seed 5 --save "$work/again.tsv" --json
same "JSON" '60
5
[]' "$(at /values /seed /differences)"
cmp "$work/five.tsv" "$work/again.tsv" || fail "one seed gives two lists"
call 0 verify --generated 60 --seed 6 --save "$work/six.tsv"
cmp -s "$work/five.tsv" "$work/six.tsv" && fail "two seeds give one list"
grep -qi 0c0ff "$work/five.tsv" && fail "a UUID of the machine is in the saved table"
same "UUIDs that begin alike" "1" "$(sed -n 's/^#   GPU .: GPU-\(.....\).*/\1/p' "$work/five.tsv" | sort -u | wc -l)"
same "and then differ" "2" "$(sed -n 's/^#   GPU .: GPU-\(......\).*/\1/p' "$work/five.tsv" | sort -u | wc -l)"
same "each result" "0 100 101" "$(grep -v '^#' "$work/five.tsv" | cut -f 2 | sort -nu | paste -sd ' ')"
same "each order" '"FASTEST_FIRST" "PCI_BUS_ID"' "$(cut -sf 4 "$work/five.tsv" | grep -x '"[A-Z_]*[A-Z]"' | sort -u | paste -sd ' ')"
same "no list twice" "60" "$(grep -v '^#' "$work/five.tsv" | cut -f 1,4 | sort -u | wc -l)"
same "it says that it is simulated" "1" "$(grep -c '^# SIMULATED' "$work/five.tsv")"
call 0 verify --data "$work/five.tsv" --json
same "replayed" "60" "$(at /compared_with_table)"
awk -F '\t' -v OFS='\t' '/^[^#]/ && $4 == "\"PCI_BUS_ID\"" && $2 == 0 {$2 = 100; $3 = "-"} {print}' "$work/five.tsv" >"$work/wrong.tsv"
call 1 verify --data "$work/wrong.tsv" --json
same "the order of a difference" "PCI_BUS_ID" "$(at /differences/0/order)"
call 1 verify --data "$work/wrong.tsv"
has "the order of a difference" "' CUDA_DEVICE_ORDER='PCI_BUS_ID'" "$out"
call 2 verify --generated 5 --save "$work/no-such-folder/file"
call 2 verify --generated 5 --save ""
call 2 verify --generated 0
call 2 verify --seed 5
call 2 verify --generated 5 --data "$work/five.tsv"
grep -v 'minor=1' "$MACHINES/two_h200.txt" >"$work/one.txt"
machine "$work/one.txt"
call 0 verify --json
same "the table is of two GPUs" 0 "$(at /compared_with_table)"
machine "$MACHINES/rtx_3090_4070.txt"
call 0 verify
call 0 verify --generated 60
call 2 verify --generated 60 --save "$work/unlike.tsv"
has "unlike GPUs" "not saved" "$err"

printf '"1"\t0\n' >"$work/bad.tsv"
call 2 verify --data "$work/bad.tsv"
has "the place" "bad.tsv: line 1: expected" "$err"
call 2 verify --data "$work/no-such-file"
call 2 verify --jobs 0
if [ ! -e /dev/nvidiactl ]; then
  LD_LIBRARY_PATH= call 1 verify --json
  has "no driver" "libcuda.so.1" "$(at /error)"
  has "no driver" "no driver to compare with" "$err"
fi
finish
