. "$(dirname "$0")/expect.sh"

# The whole document of one file.
call 0 images --json "$IMAGES/sm_90.cubin"
size=$(wc -c <"$IMAGES/sm_90.cubin")
same "a cubin" '{"files":[{"bytes":SIZE,"damage":null,"error":null,"kind":"cubin","modules":[{"damage":null,"device_link":false,"entries":[{"compression":"none","damage":null,"debug":false,"kind":"cubin","offset":0,"ptx":null,"size":SIZE,"stored":SIZE,"target":"sm_90"}],"kind":"cubin","member":null,"offset":0,"section":null,"size":SIZE}],"path":"PATH"}],"schema":1}' \
  "$(at "" | sed "s|$IMAGES/sm_90.cubin|PATH|; s/:$size\([,}]\)/:SIZE\1/g")"
call 0 images --json "$IMAGES/compute_75.ptx" "$IMAGES/compute_75.fatbin"
same "PTX, as text and in a fatbin" 'ptx
compute_75
9.0
compute_75
9.0
zstd' "$(at /files/0/modules/0/entries/0/kind /files/0/modules/0/entries/0/target /files/0/modules/0/entries/0/ptx \
  /files/1/modules/0/entries/0/target /files/1/modules/0/entries/0/ptx /files/1/modules/0/entries/0/compression)"

# Programs, libraries and archives.
call 0 images --json "$IMAGES/for_90_and_120" "$IMAGES/libfor_120.so" "$IMAGES/for_90_and_120.a" "$IMAGES/only_90.o"
same "a program" 'elf
.nv_fatbin
true
false
sm_90
false
sm_120' "$(at /files/0/kind /files/0/modules/0/section /files/0/modules/0/device_link /files/0/modules/1/device_link \
  /files/0/modules/1/entries/0/target /files/0/modules/2/device_link /files/0/modules/2/entries/0/target)"
same "the others" 'elf
archive
only_90.o
only_120.o
sm_120
elf' "$(at /files/1/kind /files/2/kind /files/2/modules/0/member /files/2/modules/1/member \
  /files/2/modules/1/entries/0/target /files/3/kind)"
call 0 images "$IMAGES/for_90_and_120.a" "$IMAGES/for_90" "$CUENV"
has "an archive" "for_90_and_120.a: archive, 2 modules, 2 entries" "$out"
has "its member" ".nv_fatbin (only_120.o) at byte" "$out"
has "the module of the device link" "(added by nvcc's device link)" "$out"
has "a target" "sm_120" "$out"
has "a program without GPU code" "$CUENV: ELF file without GPU code" "$out"

# Many modules: their sums, or with --all each.
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21; do cat "$IMAGES/sm_90.fatbin"; done >"$work/many.fatbin"
call 0 images "$work/many.fatbin"
same "lines" 3 "$(wc -l <"$work/out")"
has "the number of modules" "fatbin, 21 modules, 21 entries" "$out"
same "the sum" "21" "$(sed -n '3s/^  cubin  sm_90 *none *\([0-9]*\) .*/\1/p' "$work/out")"
call 0 images --all "$work/many.fatbin"
same "each module" 21 "$(grep -c '^  at byte' "$work/out")"

# Code outside the usual sections.
{ printf '%2048s' ''; cat "$IMAGES/sm_90.fatbin"; } >"$work/hidden.bin"
call 0 images "$work/hidden.bin"
has "not looked for" "file of another kind without GPU code" "$out"
call 0 images --deep --json "$work/hidden.bin"
same "found" "sm_90" "$(at /files/0/modules/0/entries/0/target)"

# What is wrong with a file.
head -c 100 "$IMAGES/sm_90.fatbin" >"$work/cut.fatbin"
call 1 images "$work/cut.fatbin"
has "damage" "damaged: it reaches past the end" "$(tr -s '\n ' ' ' <"$work/out")"
call 1 images --json "$work/cut.fatbin" "$IMAGES/sm_90.fatbin"
has "damage" "it reaches past the end" "$(at /files/0/modules/0/damage)"
same "the file behind it" "sm_90" "$(at /files/1/modules/0/entries/0/target)"
: >"$work/empty"
call 0 images "$work/empty"
has "an empty file" "the file is empty" "$out"
call 2 images "$work" "$work/no-such-file" "$IMAGES/sm_90.fatbin"
has "a folder" "$work: it is a directory" "$out"
has "a missing file" "no-such-file: it cannot be opened: No such file" "$out"
has "the file behind them" "sm_90.fatbin: fatbin" "$out"
call 2 images --json "$work/no-such-file" "$IMAGES/sm_90.fatbin"
same "a missing file" 'file.unreadable
[]
sm_90' "$(at /files/0/error/code /files/0/modules /files/1/modules/0/entries/0/target)"
bytes=$(printf '\377')
cp "$IMAGES/sm_90.fatbin" "$work/$bytes"
call 0 images --json "$work/$bytes"
has "the bytes of its name" "ff" "$(at /files/0/path_hex)"
call 2 images
call 2 images --json
finish
