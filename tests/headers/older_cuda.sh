#!/bin/sh
# Compiles the headers with those of older CUDA toolkits: older_cuda.sh FOLDER VERSION... The toolkits' headers come from
# NVIDIA's Python packages and are unpacked in FOLDER. Nothing is run with them.
set -eu
include=$(dirname "$0")/../../include
folder=$1
shift
for version; do
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$folder/$version" \
    "nvidia-cuda-runtime-cu${version%%.*}==$version"
  python3 -m zipfile -e "$folder/$version"/*.whl "$folder/$version"
  for header in cuenv diagnose cudart nlohmann_json; do
    echo "#include <cuenv/$header.hpp>" | "${CXX:-g++}" -std=c++17 -fsyntax-only -Wall -Wextra -Wpedantic \
      -Wconversion -Wshadow -Werror -I "$include" -isystem "$folder/$version/nvidia/cuda_runtime/include" -x c++ -
  done
  echo "the headers compile with those of CUDA $version"
done
