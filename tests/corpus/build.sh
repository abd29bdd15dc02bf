#!/usr/bin/env bash
# Builds the images that the scanner and the verdict are tested with: every target and form of compression, files that
# lie and files that are broken.
#
#   build.sh OUT_DIR
#
# Needs the compiler tools of CUDA 13.0 (nvcc, ptxas, fatbinary) on PATH or in $CUDA_HOME/bin, a host compiler and GNU
# coreutils; no GPU, no driver. What a real driver answered for each file stands in ../data/images_h200_r580.tsv. Every
# image holds a kernel cuenv_probe(int*), which writes 42, or the number after VALUE where images are told apart.
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: $0 OUT_DIR" >&2; exit 2; }
[ -n "${CUDA_HOME:-}" ] && PATH=$CUDA_HOME/bin:$PATH
for tool in nvcc ptxas fatbinary; do
  command -v $tool >/dev/null || { echo "missing: $tool" >&2; exit 3; }
done
mkdir -p "$1/host"
OUT=$(cd "$1" && pwd)
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT

nv() { nvcc -Wno-deprecated-gpu-targets "$@"; }
size() { stat -c %s "$1"; }
bytes() { printf "$(sed 's/../\\x&/g' <<<"$1")"; }          # hexadecimal text to bytes
patch() {                                                    # file, then pairs of offset and hexadecimal bytes
  local file=$1; shift
  for (( ; $# >= 2; )); do
    bytes "$2" | dd of="$file" bs=1 seek=$(($1)) conv=notrunc status=none
    shift 2
  done
}
le32() { printf '%08x' "$1" | sed 's/\(..\)\(..\)\(..\)\(..\)/\4\3\2\1/'; }

cat >"$TMP/probe.cu" <<'END'
#ifndef VALUE
#define VALUE 42
#endif
extern "C" __global__ void cuenv_probe(int *out) { *out = VALUE; }
END
cat >"$TMP/unresolved.cu" <<'END'
__device__ int cuenv_external(int);
extern "C" __global__ void cuenv_probe(int *out) { *out = cuenv_external(42); }
END

# -- One image per target: cubin, PTX text, a fatbin of each ----------------------------------------------------------

targets=$(ptxas --help | grep -o "'sm_[0-9]*[af]\?'" | tr -d "'" | sed 's/^sm_//' | sort -u -V)
for t in $targets; do
  nv -gencode arch=compute_$t,code=sm_$t -cubin -o "$OUT/cubin_sm_$t.cubin" "$TMP/probe.cu"
  nv -gencode arch=compute_$t,code=sm_$t -fatbin -o "$OUT/sassonly_sm_$t.fatbin" "$TMP/probe.cu"
  nv -arch=compute_$t -ptx -o "$OUT/ptx_compute_$t.ptx" "$TMP/probe.cu"
  nv -gencode arch=compute_$t,code=compute_$t -fatbin -o "$OUT/ptxonly_compute_$t.fatbin" "$TMP/probe.cu"
done

# -- Several targets in one fatbin: s for SASS, p for PTX -------------------------------------------------------------

multi() { # name image...
  local name=$1 options=() image; shift
  for image in "$@"; do
    case $image in
      s*) options+=(-gencode "arch=compute_${image#s},code=sm_${image#s}") ;;
      p*) options+=(-gencode "arch=compute_${image#p},code=compute_${image#p}") ;;
    esac
  done
  nv "${options[@]}" -fatbin -o "$OUT/multi_$name.fatbin" "$TMP/probe.cu"
}
multi 75_80_86_89_90_p90 s75 s80 s86 s89 s90 p90
multi 75_80_86_89_p89 s75 s80 s86 s89 p89
multi 75_80_86_89 s75 s80 s86 s89
multi 90a_p90a s90a p90a
multi 80_p120 s80 p120
multi 80_p75_p120 s80 p75 p120
multi 80_p100f_p90a s80 p100f p90a
multi 100_103_110_120_121 s100 s103 s110 s120 s121
# nvcc takes sm_X and sm_Xf for the same code and refuses both together.
multi all_p120 $(sed 's/^/s/' <<<"$targets" | grep -v f) p120

# -- Compression, debug information -----------------------------------------------------------------------------------

for mode in none default size speed balance; do
  nv -gencode arch=compute_90,code=[sm_90,compute_90] --compress-mode=$mode -fatbin -o "$OUT/comp_$mode.fatbin" "$TMP/probe.cu"
  nv -gencode arch=compute_90,code=compute_90 --compress-mode=$mode -fatbin -o "$OUT/comp_${mode}_ptxonly.fatbin" "$TMP/probe.cu"
done
for mode in speed size; do
  nv -gencode arch=compute_90,code=sm_90 --compress-mode=$mode -Xfatbin -compress-all -fatbin -o "$OUT/comp_all_$mode.fatbin" "$TMP/probe.cu"
done
nv -gencode arch=compute_90,code=[sm_90,compute_90] -G -fatbin -o "$OUT/debug_90.fatbin" "$TMP/probe.cu"
nv -gencode arch=compute_90,code=[sm_90,compute_90] -lineinfo -maxrregcount=32 -fatbin -o "$OUT/lineinfo_90.fatbin" "$TMP/probe.cu"

# -- Which image does the driver choose? Each writes its own number ---------------------------------------------------

value() { # file number option...
  nv "${@:3}" -DVALUE=$2 -o "$TMP/$1" "$TMP/probe.cu"
}
value e80.cubin 8001 -gencode arch=compute_80,code=sm_80 -cubin
value e90.cubin 9001 -gencode arch=compute_90,code=sm_90 -cubin
value e90b.cubin 9011 -gencode arch=compute_90,code=sm_90 -cubin
value e90a.cubin 9002 -gencode arch=compute_90a,code=sm_90a -cubin
value p75.ptx 7503 -arch=compute_75 -ptx
value p80.ptx 8003 -arch=compute_80 -ptx
value p90.ptx 9003 -arch=compute_90 -ptx
value p90b.ptx 9013 -arch=compute_90 -ptx
value p90a.ptx 9004 -arch=compute_90a -ptx
value p120.ptx 12003 -arch=compute_120 -ptx
choice() { # image...: e for a cubin, p for PTX
  local images=() image name=select
  for image in "$@"; do
    name+=_$image
    local target=${image#[ep]}
    case $image in
      e*) images+=("--image3=kind=elf,sm=${target%b},file=$TMP/$image.cubin") ;;
      p*) images+=("--image3=kind=ptx,sm=${target%b},file=$TMP/$image.ptx") ;;
    esac
  done
  fatbinary -64 --create="$OUT/$name.fatbin" "${images[@]}"
}
choice e90 e90a; choice e90a e90; choice e90 e90b; choice e90 p90; choice p90 e90; choice e90 p90a
choice p80 p90; choice p90 p80; choice p75 p80; choice p90 p90a; choice p90a p90; choice p90 p90b
choice e80 p80 p120
cat "$OUT/sassonly_sm_80.fatbin" "$OUT/sassonly_sm_90.fatbin" >"$OUT/concat_80_then_90.fatbin"
cat "$OUT/sassonly_sm_90.fatbin" "$OUT/sassonly_sm_80.fatbin" >"$OUT/concat_90_then_80.fatbin"

# -- PTX versions and targets -----------------------------------------------------------------------------------------

body() { # bits of an address
  cat <<END
.visible .entry cuenv_probe(
.param .u$1 p
)
{
.reg .b32 %r<2>;
.reg .b$1 %a<3>;
ld.param.u$1 %a1, [p];
cvta.to.global.u$1 %a2, %a1;
mov.u32 %r1, 42;
st.global.u32 [%a2], %r1;
ret;
}
END
}
ptx() { printf '.version %s\n.target %s\n.address_size 64\n\n' "$1" "$2"; body 64; }

for v in 7.7 7.8 8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8 9.0 9.1 9.2 9.3 9.4 9.5 9.6 9.9 10.0 99.0; do
  ptx $v sm_90 >"$OUT/ptxver_${v}_sm_90.ptx"
done
for p in 2.3:20 3.1:30 3.1:35 4.0:50 5.0:60 6.0:70 6.3:75 7.0:80 8.8:101; do
  ptx ${p%:*} sm_${p#*:} >"$OUT/ptxold_${p%:*}_sm_${p#*:}.ptx"
done
ptx 9.4 sm_107 >"$OUT/ptxnew_9.4_sm_107.ptx"
ptx 9.0 sm_999 >"$OUT/ptx_target_sm_999.ptx"
ptx 9.0 compute_90 >"$OUT/ptx_target_compute_90.ptx"

# -- Forms of PTX text ------------------------------------------------------------------------------------------------

form() { cat >"$OUT/ptxform_$1.ptx"; }
{ printf '.version 8.0\n.target sm_90\n'; body 32; } | form no_address_size
{ printf '.version 8.0\n.target sm_90\n.address_size 32\n'; body 32; } | form address_size_32
ptx 8.0 sm_90 | sed 's/$/\r/' | form crlf
{ printf '\xef\xbb\xbf'; ptx 8.0 sm_90; } | form bom
{ printf '\n\n \t\n'; ptx 8.0 sm_90; } | form leading_space
{ printf '// a line comment\n'; ptx 8.0 sm_90; } | form line_comment
{ printf '/* a block\n comment with .version 99.0 in it */\n'; ptx 8.0 sm_90; } | form block_comment
{ printf '   .version   8.0   // c\n\t.target sm_90 , debug\n.address_size 64\n'; body 64; } | form target_debug
{ printf '.version 8.0\n.target sm_90, texmode_independent\n.address_size 64\n'; body 64; } | form texmode
{ printf '.version 9.0\n.target sm_80\n.target sm_100\n.address_size 64\n'; body 64; } | form two_targets
{ printf '.target sm_90\n.address_size 64\n'; body 64; } | form no_version
{ printf '.version 8.0\n'; body 64; } | form no_target
printf '.version 8.0\n.target sm_90\n.address_size 64\n' | form no_body
{ ptx 8.0 sm_90; printf '\0trailing bytes after the NUL'; } | form nul_then_bytes
ptx 8.0 sm_90 | tr '\n' ' ' | form one_line
{ printf '.version 8.0 // c\n.target /* sm_120 */ sm_90 // sm_100\n.address_size 64\n'; body 64; } | form inner_comments
wgmma() { # target
  printf '.version 8.0\n.target %s\n.address_size 64\n' "$1"
  printf '.visible .entry cuenv_probe(.param .u64 p) { wgmma.fence.sync.aligned; ret; }\n'
}
wgmma sm_90a | form uses_90a
wgmma sm_90 >"$OUT/broken_ptx_needs_90a.ptx"
ptx 8.0 sm_90 | sed 's/ret;/not_an_instruction %r1;/' >"$OUT/broken_ptx_syntax.ptx"
whole=$OUT/ptxver_8.0_sm_90.ptx
head -c $(($(size "$whole") / 2)) "$whole" >"$OUT/broken_ptx_truncated.ptx"
head -c 12 "$whole" >"$OUT/broken_ptx_version_only.ptx"

# -- Relocatable code and link-time IR --------------------------------------------------------------------------------

nv -gencode arch=compute_90,code=sm_90 -rdc=true -cubin -o "$OUT/reloc_sm_90.cubin" "$TMP/probe.cu"
nv -gencode arch=compute_90,code=sm_90 -rdc=true -cubin -o "$OUT/reloc_unresolved_sm_90.cubin" "$TMP/unresolved.cu"
nv -gencode arch=compute_90,code=[sm_90,compute_90] -rdc=true -fatbin -o "$OUT/reloc_90.fatbin" "$TMP/probe.cu"
nv -gencode arch=compute_90,code=compute_90 -rdc=true -fatbin -o "$OUT/reloc_unresolved_p90.fatbin" "$TMP/unresolved.cu"
nv -gencode arch=compute_90,code=lto_90 -rdc=true -fatbin -o "$OUT/lto_90.fatbin" "$TMP/probe.cu"
nv -gencode arch=compute_90,code=[lto_90,sm_90] -rdc=true -fatbin -o "$OUT/lto_sm_90.fatbin" "$TMP/probe.cu"

# -- Broken and lying fatbins: container at 0, header of the first entry at 16 ----------------------------------------

sass=$OUT/sassonly_sm_90.fatbin       # one plain cubin, at 80
plain=$OUT/comp_none_ptxonly.fatbin   # one plain PTX, at 96
packed=$OUT/comp_size_ptxonly.fatbin  # one PTX packed with zstd, at 96
variant() { # original name offset bytes...
  cp "$1" "$OUT/$2.fatbin"
  patch "$OUT/$2.fatbin" "${@:3}"
}
for kind in cubin fatbin ptx; do : >"$OUT/broken_empty.$kind"; done
n=$(size "$sass")
for cut in 1 4 8 15 16 17 40 79 80 81 144 $((n / 2)) $((n - 8)) $((n - 1)); do
  head -c $cut "$sass" >"$OUT/broken_trunc_$cut.fatbin"
done
head -c 200 "$packed" >"$OUT/broken_trunc_zstd.fatbin"
for ((i = 0; i < 128; i++)); do bytes "$(printf 'cuenv %d' $i | sha256sum | cut -c1-64)"; done >"$TMP/random"
for kind in cubin fatbin ptx; do cp "$TMP/random" "$OUT/broken_random.$kind"; done
variant "$sass" broken_magic 0 51
variant "$sass" broken_version2 4 0200
variant "$sass" broken_hdr32 6 2000
variant "$sass" broken_size_zero 8 0000000000000000
variant "$sass" broken_size_huge 8 ffffffffffffff7f
variant "$sass" broken_entry_hdr0 20 00000000
variant "$sass" broken_entry_size_huge 24 f0ffffffffffffff
variant "$sass" broken_entry_size_past_end 24 00000100
variant "$sass" broken_kind0 16 0000
variant "$sass" broken_kind64 16 4000
variant "$sass" broken_entry_version 18 0200
variant "$sass" lie_hdr80_elf90 44 50000000
variant "$sass" lie_hdr120_elf90 44 78000000
variant "$OUT/sassonly_sm_80.fatbin" lie_hdr90_elf80 44 5a000000
variant "$sass" lie_a_flag_elf90 58 10
variant "$sass" lie_f_flag_elf90 58 20
variant "$sass" lie_host_windows 56 41
variant "$sass" lie_32bit 56 10
variant "$plain" lie_ptxver99_header 40 00006300
variant "$plain" lie_ptx120_header 44 78000000
variant "$OUT/ptxonly_compute_120.fatbin" lie_hdr90_ptx120 44 5a000000
variant "$packed" broken_zstd_as_lz4 57 20
variant "$packed" broken_zstd_unflagged 57 00
variant "$packed" broken_zstd_bytes 110 ffffffff
variant "$packed" broken_usize 72 0100000000000000
{ ptx 99.0 sm_90; printf '\0'; } >"$TMP/ver99"
padding=$(((8 - $(size "$TMP/ver99") % 8) % 8))
{ head -c 96 "$plain"; cat "$TMP/ver99"; head -c $padding /dev/zero; } >"$OUT/ptxonly_ver99.fatbin"
stored=$(($(size "$TMP/ver99") + padding))
patch "$OUT/ptxonly_ver99.fatbin" 8 "$(le32 $((stored + 80)))00000000" 24 "$(le32 $stored)00000000" 40 00006300

# -- Broken and lying cubins: OSABI at 7, ABI version 8, type 16, machine 18, flags 48 --------------------------------

cubin=$OUT/cubin_sm_90.cubin
variant_cubin() { # name offset bytes...
  cp "$cubin" "$OUT/$1.cubin"
  patch "$OUT/$1.cubin" "${@:2}"
}
n=$(size "$cubin")
for cut in 4 16 52 63 64 $((n / 2)) $((n - 1)); do head -c $cut "$cubin" >"$OUT/broken_trunc_$cut.cubin"; done
variant_cubin broken_machine_x86 18 3e00
variant_cubin broken_machine0 18 0000
variant_cubin broken_class32 4 01
variant_cubin broken_bigendian 5 02
variant_cubin broken_elfmagic 1 00
variant_cubin broken_type_rel 16 0100
variant_cubin broken_osabi_old 7 33
variant_cubin broken_abiver7 8 07
variant_cubin lie_eflags_80 49 50
variant_cubin lie_eflags_100 49 64
variant_cubin lie_eflags_91 49 5b
variant_cubin lie_eflags_0 48 00000000
variant_cubin lie_eflags_accel 48 0c
cp "$OUT/cubin_sm_80.cubin" "$OUT/lie_eflags_90_code80.cubin"
patch "$OUT/lie_eflags_90_code80.cubin" 49 5a

# -- Files that are nothing of the kind -------------------------------------------------------------------------------

for kind in ptx cubin fatbin; do
  printf '<!DOCTYPE html>\n<html><head><title>404</title></head><body>Not Found</body></html>\n' >"$OUT/foreign_html.$kind"
done
printf 'hello\n' >"$OUT/foreign_text.ptx"
gzip -nc "$whole" >"$OUT/foreign_gzip.ptx"
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n' >"$OUT/foreign_lfs_pointer.cubin"
head -c 4096 /dev/zero >"$OUT/foreign_zeros.fatbin"

# -- Programs, libraries, objects: sm_75, sm_90a and compute_90 in each module ----------------------------------------

cat >"$TMP/one.cu" <<'END'
extern "C" __global__ void cuenv_probe(int *o) { *o = 42; }
void run1(int *d) { cuenv_probe<<<1, 1>>>(d); }
END
cat >"$TMP/two.cu" <<'END'
extern "C" __global__ void cuenv_probe2(int *o) { *o = 43; }
void run2(int *d) { cuenv_probe2<<<1, 1>>>(d); }
END
cat >"$TMP/main.cu" <<'END'
void run1(int *);
void run2(int *);
int main() { run1(0); run2(0); return 0; }
END
three=(-gencode arch=compute_75,code=sm_75 -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90,code=compute_90)
library=(-cudart none -shared -Xcompiler -fPIC "$TMP/one.cu" "$TMP/two.cu")
cd "$OUT/host"
nv "${three[@]}" -c -o one.o "$TMP/one.cu"
nv "${three[@]}" -rdc=true -c -o one_rdc.o "$TMP/one.cu"
nv "${three[@]}" -lib -o libtwo.a "$TMP/one.cu" "$TMP/two.cu"
nv "${three[@]}" -cudart shared -o exe "$TMP/one.cu" "$TMP/two.cu" "$TMP/main.cu"
nv "${three[@]}" -rdc=true -cudart shared -o exe_rdc "$TMP/one.cu" "$TMP/two.cu" "$TMP/main.cu"
nv "${three[@]}" -o libtwo.so "${library[@]}"
cp libtwo.so libtwo_stripped.so
strip -s libtwo_stripped.so
cp libtwo.so libtwo_no_sections.so
patch libtwo_no_sections.so 40 0000000000000000 58 000000000000
if command -v ld.lld >/dev/null; then  # leaves the addresses of the modules to relocations
  nv "${three[@]}" -Xcompiler -fuse-ld=lld -o libtwo_lld.so "${library[@]}"
  nv "${three[@]}" -Xcompiler -fuse-ld=lld -cudart shared -o exe_lld "$TMP/one.cu" "$TMP/two.cu" "$TMP/main.cu"
fi
printf 'int main(void) { return 0; }\n' >"$TMP/plain.c"
${CC:-cc} -o plain "$TMP/plain.c"
