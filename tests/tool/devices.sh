. "$(dirname "$0")/expect.sh"
h200=$DATA/topology_two_h200.json

call 1 devices --topology "$h200" --visible 1,9 --json
same "the whole document" '{"cuInit":0,"devices":[{"compute_capability":"9.0","logical":0,"mig":null,"name":"NVIDIA H200","pci":"0000:00:07.0","physical":1,"uuid":"GPU-c07e88d2-91ab-4f3c-a5d0-7e6f5d4c3b2a"}],"dropped":[{"entry":"9","offset":2,"reason":"out_of_range"}],"error":null,"evidence":"measured","list_is_ignored":false,"order":"FASTEST_FIRST","order_is_ignored":false,"order_is_invalid":false,"reason_unknown":null,"schema":1,"source":"described","visible":"1,9"}' \
  "$(at "" | sed 's/"findings":\[.*\],"list/"list/')"
call 1 devices --topology "$h200" --visible 0,0 --json
same "a void list" '{"code":101,"entry":"0","offset":2}
101
[]' "$(at /error /cuInit /devices)"
call 0 devices --topology "$h200" --json
same "no value" "null
0
1" "$(at /visible /devices/0/physical /devices/1/physical)"
CUDA_VISIBLE_DEVICES=1 CUDA_DEVICE_ORDER=PCI_BUS_ID call 0 devices --topology "$h200" --json
same "from the environment" "1
PCI_BUS_ID
1" "$(at /visible /order /devices/0/physical)"
CUDA_DEVICE_ORDER=pci call 1 devices --topology "$h200" --json
same "an invalid order" "101" "$(at /cuInit)"
sed 's/c07e88d2-91ab/5a9c1f04-3e7b/' "$h200" >"$work/alike.json"
call 1 devices --topology "$work/alike.json" --visible GPU-5a9c
same "nothing is wider than 80 columns" "" "$(awk 'length > 80' "$work/out")"
text=$(tr -s '\n ' ' ' <"$work/out")
has "the GPUs that a UUID can mean" "more than one GPU: GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b (GPU 0), GPU-5a9c1f04-3e7b-4f3c-a5d0-7e6f5d4c3b2a (GPU 1)" "$text"
has "how much would do" "write 16 characters of the UUID or more, such as GPU-5a9c1f04-3e7b-4d" "$text"
call 1 devices --topology "$h200" --visible 0,GPU-c07e88d2-91ab-4f3c-a5d0-7e6f5d4c3b2a,9
same "nothing is wider than 80 columns" "" "$(awk 'length > 80' "$work/out")"
CUDA_VISIBLE_DEVICES=7 call 0 devices --topology "$h200" --visible 0
has "text" "GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b" "$out"

# The empty value, however it is typed, and others that a parser of options stumbles over.
for empty in separate joined; do
  [ $empty = separate ] && call 1 devices --topology "$h200" --json --visible ''
  [ $empty = joined ] && call 1 devices --topology "$h200" --json --visible=
  same "the empty value, $empty" '""
100' "\"$(at /visible)\"
$(at /cuInit)"
done
CUDA_VISIBLE_DEVICES=0 call 1 devices --visible '' --topology "$h200"
for text in -1 --json '[0]' "'0" '%%' ':' '""' ' '; do
  call 1 devices --json --topology "$h200" --visible "$text"
  same "the value $text" "$text" "$(at /visible)"
  call 1 devices --json --topology "$h200" "--visible=$text"
  same "the value $text" "$text" "$(at /visible)"
done
call 1 devices --json --topology "$h200" --visible "$(printf '0\377')"
same "bytes" "30ff" "$(at /visible_hex)"
call 2 devices --topology "$h200" --visible

# MIG.
call 0 devices --topology "$DATA/topology_mig.json" --json --visible MIG-6666
same "a MIG instance" '0
MIG-66666666-7777-4888-8999-aaaaaaaaaaaa
{"compute_instance":0,"gpu_instance":2,"profile":null}
documented' "$(at /devices/0/physical /devices/0/uuid /devices/0/mig /evidence)"
call 0 devices --topology "$DATA/topology_mig.json" --visible MIG-1111
has "its profile" "MIG 3g.20gb" "$out"

# Files that are wrong: one line, with the file and the place.
wrong() {
  printf '%s' "$2" >"$work/wrong.json"
  call 2 devices --topology "$work/wrong.json"
  has "the file" "$work/wrong.json: " "$err"
  has "the place" "$1" "$err"
  same "one line" 1 "$(wc -l <"$work/err")"
}
gpu='"uuid": "GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b", "pci": "0000:00:06.0"'
wrong "no JSON" '{"gpus": ['
wrong "no JSON" ''
wrong "the document: expected an object" '[]'
wrong "gpus: expected a list" '{}'
wrong "gpus: expected a list" '{"gpus": 1}'
wrong "gpus[0]: expected an object" '{"gpus": [1]}'
wrong "gpus[0].uuid: expected" '{"gpus": [{"pci": "0000:00:06.0"}]}'
wrong "gpus[0].uuid: expected" '{"gpus": [{"uuid": "5a9c", "pci": "0000:00:06.0"}]}'
wrong "gpus[0].pci: expected" '{"gpus": [{"uuid": "GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b", "pci": 6}]}'
wrong "gpus[0].compute_capability: expected" "{\"gpus\": [{$gpu, \"compute_capability\": 9.0}]}"
wrong "gpus[0].index: expected" "{\"gpus\": [{$gpu, \"index\": 1}]}"
wrong "gpus[0].mig: expected" "{\"gpus\": [{$gpu, \"mig\": 1}]}"
wrong "gpus[0].mig[0].gi: expected" "{\"gpus\": [{$gpu, \"mig\": [{\"ci\": 0}]}]}"
wrong "gpus[0].mig_enabled: expected" "{\"gpus\": [{$gpu, \"mig_enabled\": \"yes\"}]}"
wrong "gpus[1]: expected a bus address of its own" "{\"gpus\": [{$gpu}, {$gpu}]}"
wrong "driver: expected" "{\"driver\": 580, \"gpus\": []}"
call 2 devices --topology "$work/no-such-file"
has "the file" "no-such-file: it cannot be read" "$err"
call 2 devices --topology "$h200" --init

# The simulated machine: asked, and without CUDA.
call 0 devices --json --visible 1,0
cp "$work/out" "$work/predicted"
same "the described machine lists the GPUs" proc "$(at /source)"
call 0 devices --json --visible 1,0 --init
same "the driver was asked" driver "$(at /source)"
same "asked as predicted" "$("$JSON_AT" /devices /cuInit <"$work/predicted")" "$(at /devices /cuInit)"
call 1 devices --json --visible= --init
same "no device" "100" "$(at /cuInit)"
call 1 devices --json --visible 0,0 --init
same "the place" '101
{"code":101,"entry":"0","offset":2}' "$(at /cuInit /error)"
CUDA_VISIBLE_DEVICES=1 call 0 devices --init
has "text" "GPU-c07e88d2-91ab-4f3c-a5d0-7e6f5d4c3b2a" "$out"

# No driver at all.
if [ ! -e /dev/nvidiactl ]; then
  LD_LIBRARY_PATH= call 1 devices --json --init
  same "no driver" "null
null
CUDA was not started: there is no driver" "$(at /cuInit /evidence /reason_unknown)"
fi

# Documents that are no machines: one sentence, with the file's name.
refused() {
  call 2 devices --topology "$work/machine.json"
  has "$1" "$2" "$err"
}
printf '{"gpus":[{"index":1e999}]}' >"$work/machine.json"
refused "a number beyond all bounds" "machine.json: no JSON: number overflow"
(printf '{"gpus":[],"x":'; printf '{"a":%.0s' $(seq 20000); printf 1; printf '}%.0s' $(seq 20001)) >"$work/machine.json"
refused "deep objects" "machine.json: no JSON of a machine: it is nested too deeply"
(printf '{"gpus":'; printf '[%.0s' $(seq 20000)) >"$work/machine.json"
refused "deep lists" "nested too deeply"
call 2 devices --topology ''
has "no name" "--topology: its value is empty" "$err"
finish
