#!/bin/sh
# real_libraries.sh OWN_CODE OWN_CODE_NEWER LIST_TARGETS [CUENV]: real libraries, judged and listed; against cuobjdump where it is.
# Exits with 77 where there is no GPU or no PyTorch.
set -u
[ -e /dev/nvidiactl ] || { echo "skipped: there is no GPU here"; exit 77; }
torch=$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))' 2>/dev/null)
[ -f "$torch/lib/libtorch_cuda.so" ] || { echo "skipped: there is no PyTorch with CUDA here"; exit 77; }
site=$(dirname "$torch")
find_library() { find "$site/nvidia" "$torch/lib" /usr/local/cuda/lib64/ -name "$1" 2>/dev/null | head -n 1; }
cublas=$(find_library 'libcublas.so.*') cublaslt=$(find_library 'libcublasLt.so.*') cudnn=$(find_library 'libcudnn_ops.so.*') engines=$(find_library 'libcudnn_engines_precompiled.so.*')
sparse=$(find_library 'libcusparse.so.*') nccl=$(find_library 'libnccl.so.*')
folders=$(for f in "$cublas" "$cublaslt" "$cudnn" "$sparse" "$nccl" "$torch"/lib/x $(find "$site/nvidia" -type d -name lib 2>/dev/null | sed 's|$|/x|'); do dirname "$f"; done | sort -u | tr '\n' ':')
failed=0
LD_LIBRARY_PATH="$folders${LD_LIBRARY_PATH:-}" "$1" serves "$cublas" "$cublaslt" "$cudnn" "$engines" "$torch/lib/libtorch_cuda.so" || failed=1
LD_LIBRARY_PATH="$folders${LD_LIBRARY_PATH:-}" "$2" refused "$cublas" "$cudnn" "$engines" "$torch/lib/libtorch_cuda.so" || failed=1

command -v cuobjdump >/dev/null || { echo "skipped: cuobjdump is not here"; [ $failed = 0 ] && exit 77; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
now() { date +%s.%N; }
since() { echo "$1 $2" | awk '{printf "%.3f", $2 - $1}'; }
for library in "$torch/lib/libtorch_cuda.so" "$cublaslt" "$sparse" "$nccl"; do
  [ -f "$library" ] || continue
  cat "$library" > /dev/null
  begin=$(now)
  { cuobjdump --list-elf "$library"; } 2>/dev/null | sed -n 's/.*\.\(sm_[0-9]*[af]\{0,1\}\)\.cubin$/\1.cubin/p' > "$work/elf"
  elf_end=$(now)
  { cuobjdump --list-ptx "$library"; } 2>/dev/null | sed -n 's/.*\.\(sm_[0-9]*[af]\{0,1\}\)\.ptx$/\1.ptx/p' > "$work/ptx"
  ptx_end=$(now)
  sort "$work/elf" "$work/ptx" | uniq -c | awk '{print $2, $1}' | LC_ALL=C sort > "$work/theirs"
  own_begin=$(now)
  "$3" "$library" 2> "$work/time" | LC_ALL=C sort > "$work/ours"
  own_end=$(now)
  echo "$(basename "$library"): cuobjdump --list-elf $(since "$begin" "$elf_end") s, --list-ptx $(since "$elf_end" "$ptx_end") s;" \
    "in process $(cat "$work/time") s, the command with three readings $(since "$own_begin" "$own_end") s"
  # What is said of cuobjdump in the README: a thousand times in a process, on PyTorch's library.
  case $library in */libtorch_cuda.so)
    echo "$begin $elf_end $(cat "$work/time")" | awk '{exit !(($2 - $1) / $3 >= 1000)}' || { echo "FAILED: less than 1000 times faster"; failed=1; }
    if [ -n "${4:-}" ] && [ -x /usr/bin/time ]; then
      used=$(/usr/bin/time -f '%e %M' "$4" images "$library" 2>&1 >/dev/null | tail -n 1)
      echo "cuenv images: $used (seconds, KiB)"
      echo "$begin $elf_end $used" | awk '{exit !($4 < 32768 && ($2 - $1) >= 300 * $3)}' || { echo "FAILED: cuenv images is too slow or too large"; failed=1; }
    fi
    echo "$begin $elf_end $own_begin $own_end" | awk '{exit !(($2 - $1) / ($4 - $3) >= 300)}' || { echo "FAILED: less than 300 times faster"; failed=1; };;
  esac
  if [ ! -s "$work/theirs" ] || ! diff "$work/theirs" "$work/ours"; then echo "FAILED: the lists differ"; failed=1; fi
done
exit $failed
