. "$(dirname "$0")/expect.sh"
one_line() { tr -s '\n ' ' ' <"$work/out"; }

# verdict EXPECTED CODE ARGUMENTS...: of the first file for the first GPU.
verdict() {
  expected_verdict=$1
  exit_code=$2
  shift 2
  call "$exit_code" check --json "$@"
  same "cuenv check $*" "$expected_verdict" "$(at /files/0/gpus/0/verdict /files/0/gpus/0/code | paste -sd ' ')"
}

# The whole document of one file.
call 1 check --json --gpu 9.0 --driver 13.0 "$IMAGES/sm_75.fatbin"
same "code for an older GPU" '{"driver":"13.0","files":[{"error":null,"gpus":[{"code":209,"counts":{"damaged":0,"incompatible":1,"jit":0,"native":0,"unknown":0},"fix":"build with -gencode arch=compute_90,code=sm_90","gpu":"9.0","logical":null,"modules":[{"code":209,"device_link":false,"entry":0,"fix":"build with -gencode arch=compute_90,code=sm_90","kind":"fatbin","member":null,"offset":0,"reason":"REASON","section":null,"size":SIZE,"verdict":"incompatible"}],"reason":"REASON","verdict":"incompatible"}],"kind":"fatbin","path":"PATH"}],"force_jit":false,"disable_jit":false,"schema":1}' \
  "$(at "" | sed "s|$IMAGES/sm_75.fatbin|PATH|; s/\"size\":[0-9]*/\"size\":SIZE/; s/\"reason\":\"[^\"]*\"/\"reason\":\"REASON\"/g
    s/\"files\"\(.*\),\"force_jit\":false,\"schema\"/\"files\"\1,\"force_jit\":false,\"schema\"/; s/\"disable_jit\":false,//; s/\"force_jit\":false,/&\"disable_jit\":false,/")"

# Every kind of image, for the measured GPU.
on='--gpu 9.0 --driver 13.0'
verdict "native 0" 0 $on "$IMAGES/sm_90.fatbin"
verdict "native 0" 0 $on "$IMAGES/sm_90.cubin"
verdict "incompatible 209" 1 $on "$IMAGES/sm_75.cubin"
verdict "incompatible 209" 1 $on "$IMAGES/sm_120.fatbin"
verdict "jit null" 0 $on "$IMAGES/compute_75.fatbin"
verdict "jit null" 0 $on "$IMAGES/compute_75.ptx"
verdict "incompatible 218" 1 $on "$IMAGES/compute_120.ptx"
verdict "incompatible 222" 1 --gpu 9.0 --driver 12.8 "$IMAGES/compute_75.ptx"
has "the driver to install" "driver 580 (CUDA 13.0) or newer" "$(at /files/0/gpus/0/fix)"
for name in CUDA_DISABLE_PTX_JIT CUDA_DISABLE_JIT; do
  export $name=1
  verdict "incompatible 223" 1 $on "$IMAGES/compute_75.ptx"
  verdict "native 0" 0 $on "$IMAGES/sm_90.fatbin"
  same "the switch" true "$(at /disable_jit)"
  call 1 check $on "$IMAGES/compute_75.ptx"
  has "the switch" "switched off by the environment" "$out"
  unset $name
done
for name in CUDA_FORCE_PTX_JIT CUDA_FORCE_JIT; do
  export $name=1
  verdict "incompatible 209" 1 $on "$IMAGES/sm_90.fatbin"
  verdict "native 0" 0 $on "$IMAGES/sm_90.cubin"
  verdict "jit null" 0 $on "$IMAGES/compute_75.fatbin"
  unset $name
done

# Programs, libraries and archives: every module that has to serve must.
verdict "native 200" 0 $on "$IMAGES/for_90"
same "the device link is no finding" "nothing
native" "$(at /files/0/gpus/0/modules/0/verdict /files/0/gpus/0/modules/1/verdict)"
verdict "incompatible 200" 1 --gpu 12.0 "$IMAGES/for_90"
verdict "incompatible 200" 1 $on "$IMAGES/for_90_and_120"
verdict "native 200" 0 $on --partly "$IMAGES/for_90_and_120"
verdict "incompatible 200" 1 $on --partly "$IMAGES/libfor_120.so"
verdict "incompatible 200" 1 $on "$IMAGES/for_90_and_120.a"
same "the member" "only_120.o" "$(at /files/0/gpus/0/modules/1/member)"
verdict "jit 200" 0 $on "$IMAGES/libwith_ptx.so"
verdict "native 200" 0 $on "$IMAGES/relocatable_90"
verdict "incompatible 200" 1 --gpu 8.0 "$IMAGES/relocatable_90"
verdict "nothing 200" 0 $on "$CUENV"
call 1 check --gpu 9.0 --gpu 12.0 "$IMAGES/for_90_and_120" "$IMAGES/for_90"
has "what serves" "9.0 incompatible: 1 native, 1 incompatible; it serves partly" "$(one_line)"
has "the flag" "fix build with -gencode arch=compute_90,code=sm_90" "$(one_line)"
has "what does not serve at all" "12.0 incompatible: 1 incompatible; it serves not at all" "$(one_line)"
same "nothing is wider than 80 columns" "" "$(sed "s|^$IMAGES/||" "$work/out" | awk 'length > 80')"
call 1 check --json --gpu 9.0 --gpu 12.0 "$IMAGES/libfor_120.so"
same "each GPU" "9.0 incompatible 12.0 native" \
  "$(at /files/0/gpus/0/gpu /files/0/gpus/0/verdict /files/0/gpus/1/gpu /files/0/gpus/1/verdict | paste -sd ' ')"

# Many modules that do not serve.
mkdir "$work/objects"
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23; do cp "$IMAGES/only_120.o" "$work/objects/$i.o"; done
ar qc "$work/many.a" "$work"/objects/*.o
call 1 check $on "$work/many.a"
same "twenty are listed" 20 "$(grep -c '^  error' "$work/out")"
has "how many more" "and 3 more; --all lists them" "$out"
same "the flag is said once" 1 "$(grep -c 'fix ' "$work/out")"
call 1 check $on --all "$work/many.a"
same "all are listed" 23 "$(grep -c '^  error' "$work/out")"

# Of several modules in a fatbin file the first counts.
cat "$IMAGES/sm_90.fatbin" "$IMAGES/sm_120.fatbin" >"$work/two.fatbin"
verdict "native 0" 0 $on "$work/two.fatbin"
same "the second" incompatible "$(at /files/0/gpus/0/modules/1/verdict)"
call 0 check $on "$work/two.fatbin"
has "a note" "a driver takes the first of its 2 modules only" "$(one_line)"
cat "$IMAGES/sm_120.fatbin" "$IMAGES/sm_90.fatbin" >"$work/two.fatbin"
verdict "incompatible 209" 1 $on "$work/two.fatbin"

# What is wrong with a file.
head -c 100 "$IMAGES/sm_90.fatbin" >"$work/cut.fatbin"
verdict "damaged null" 1 $on "$work/cut.fatbin"
: >"$work/empty"
verdict "nothing 200" 1 $on "$work/empty"
printf '<html>not found</html>' >"$work/page.cubin"
verdict "nothing 200" 1 $on "$work/page.cubin"
call 1 check $on "$work/page.cubin"
has "no GPU code" "is no GPU code, and holds none" "$(one_line)"
printf '!<thin>\n' >"$work/thin.a"
verdict "unknown 200" 0 $on "$work/thin.a"
verdict "unknown 200" 1 --strict $on "$work/thin.a"
verdict "native 0" 0 --strict $on "$IMAGES/sm_90.fatbin"
verdict "jit null" 0 --strict $on "$IMAGES/compute_75.ptx"
call 2 check $on "$work" "$work/no-such-file" "$IMAGES/sm_90.fatbin"
has "a folder" "$work: it is a directory" "$out"
has "a missing file" "no-such-file: it cannot be opened" "$out"
has "the file behind them" "native: the code for sm_90 runs on 9.0" "$out"
call 2 check --json $on "$work/no-such-file" "$IMAGES/sm_90.fatbin"
same "a missing file" "file.unreadable native" "$(at /files/0/error/code /files/1/gpus/0/verdict | paste -sd ' ')"

# Wrong use.
call 2 check
call 2 check --gpu 9.0
for gpu in 9 sm_90 9.0a 9.10 '' x; do call 2 check --gpu "$gpu" "$IMAGES/sm_90.fatbin"; done
for driver in 13 580.159.04 x; do call 2 check --gpu 9.0 --driver "$driver" "$IMAGES/sm_90.fatbin"; done
call 2 check --load --gpu 9.0 "$IMAGES/sm_90.fatbin"
call 2 check --load --driver 13.0 "$IMAGES/sm_90.fatbin"

# This machine, without starting CUDA; and where there is none.
call 0 check --json "$IMAGES/sm_90.fatbin"
same "its GPUs, each kind once" '13.0
9.0
null' "$(at /driver /files/0/gpus/0/gpu /files/0/gpus/0/logical)"
call 0 check "$IMAGES/sm_90.fatbin"
has "its driver" "for a driver of CUDA 13.0" "$out"
CUDA_VISIBLE_DEVICES= call 2 check "$IMAGES/sm_90.fatbin"
has "no visible GPU" "--gpu 9.0" "$err"
LD_LIBRARY_PATH= call 0 check --gpu 9.0 "$IMAGES/compute_75.ptx"
[ -e /dev/nvidiactl ] || has "no driver" "for any driver, since none was found" "$out"
[ -e /dev/nvidiactl ] || {
  LD_LIBRARY_PATH= call 2 check "$IMAGES/sm_90.fatbin"
  same "one line" 1 "$(wc -l <"$work/err")"
  has "what to say" "as in --gpu 9.0" "$err"
}

# The driver is asked.
call 0 check --load --json "$IMAGES/sm_90.fatbin" "$IMAGES/compute_75.ptx" "$IMAGES/for_90"
same "each device" "0 native 0 1 native 0" "$(at /files/0/gpus/0/logical /files/0/gpus/0/verdict /files/0/gpus/0/code \
  /files/0/gpus/1/logical /files/0/gpus/1/verdict /files/0/gpus/1/code | paste -sd ' ')"
same "PTX that compiles" "jit 0" "$(at /files/1/gpus/0/verdict /files/1/gpus/0/code | paste -sd ' ')"
same "a program's module" "native 0" "$(at /files/2/gpus/0/modules/1/verdict /files/2/gpus/0/modules/1/code | paste -sd ' ')"
printf '.version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n  ret;\n' >"$work/unclosed.ptx"
verdict "jit null" 0 "$work/unclosed.ptx"
verdict "incompatible 218" 1 --load "$work/unclosed.ptx"
verdict "damaged null" 1 --load "$work/cut.fatbin"
call 1 check --load "$IMAGES/for_90_and_120"
has "the module" "GPU 0 9.0 incompatible: 1 native, 1 incompatible" "$(one_line)"
LD_LIBRARY_PATH= call 2 check --load "$work/no-such-file"
finish
