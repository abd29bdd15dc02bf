. "$(dirname "$0")/expect.sh"

call 1 explain CUDA_LAUNCH_BLOCKING=true CUDA_CACHE_MAXSIZE=1G CUDA_MEMCPY_ASYNC=1 FOO=
has "the effective value" "effective  off (measured)" "$out"
has "what to type" "write 1" "$out"
has "a name that does nothing" "nothing reads a variable of this name" "$out"
has "an unknown name" "cuenv does not know this variable" "$out"
same "nothing is wider than 80 columns" "" "$(awk 'length > 80' "$work/out")"

call 1 explain --json CUDA_LAUNCH_BLOCKING=true
same "JSON" "1
CUDA_LAUNCH_BLOCKING
true
off
measured
0
context creation
argument
warning
write 1" "$(at /schema /variables/0/name /variables/0/text /variables/0/effective /variables/0/evidence \
  /variables/0/about/default /variables/0/about/read /variables/0/source /variables/0/findings/0/severity \
  /variables/0/findings/0/fix)"

call 0 explain CUDA_LAUNCH_BLOCKING=1
has "a note, which is no problem" "remove it unless you are debugging" "$out"
CUDA_DEVICE_ORDER=pci_bus_id call 1 explain --json
same "from the environment" "CUDA_DEVICE_ORDER
environment
true" "$(at /variables/0/name /variables/0/source /variables/0/fatal)"
call 0 explain
same "nothing is set" "no CUDA variable is set: every default holds" "$out"
call 0 explain --json
same "nothing is set" "[]" "$(at /variables)"
CUDA_VISIBLE_DEVICE=0 call 1 explain
has "a slip of the pen" "did you mean CUDA_VISIBLE_DEVICES?" "$out"

# On a machine of which nothing is known, what is not known is not called measured.
if [ ! -e /proc/driver/nvidia ]; then
  LD_LIBRARY_PATH= call 0 explain CUDA_VISIBLE_DEVICES=0
  has "text" "effective  not known: the GPUs of this machine are not known
" "$out"
  LD_LIBRARY_PATH= call 0 explain --json CUDA_VISIBLE_DEVICES=0
  same "JSON" null "$(at /variables/0/evidence)"
fi

# Bytes that are not UTF-8.
call 0 explain --json "CUDA_CACHE_PATH=/tmp/$(printf 'a\377\303(b')"
same "bytes in hex" "2f746d702f61ffc32862" "$(at /variables/0/text_hex)"
same "replaced in the text" "/tmp/a$(printf '\357\277\275\357\277\275')(b" "$(at /variables/0/text)"
CUDA_VISIBLE_DEVICES=$(printf '0\200') call 1 explain --json
same "bytes in hex" "3080" "$(at /variables/0/text_hex)"
call 0 explain "CUDA_CACHE_PATH=/tmp/$(printf 'a\377\033b')"
has "shown in text" 'a\xff\x1bb' "$out"

# A long text is cut where nothing points into it, and told in full as JSON.
long=$(printf 'brand=tesla,driver>=535%.0s ' $(seq 80))
call 0 explain "NVIDIA_REQUIRE_CUDA=$long"
has "the cut" "... (${#long} bytes; --json has all)" "$out"
call 0 explain --json "NVIDIA_REQUIRE_CUDA=$long"
same "all of it" "$long" "$(at /variables/0/text)"
call 1 explain "CUDA_VISIBLE_DEVICE=$long"
has "not where there is a finding" "$long'" "$out"

call 2 explain CUDA_LAUNCH_BLOCKING
has "what is wrong" "write NAME=VALUE" "$err"
call 2 explain =1
call 2 explain --no-such-option
finish
