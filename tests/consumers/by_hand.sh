#!/bin/sh
# Consumers without CMake: a compiler's command line, and the program that it gives.
set -eu
what=$1
shift
strict="-std=c++17 -Wall -Wextra -Wpedantic -Werror"

# flags PREFIX: what pkg-config says of the install there.
flags() {
  [ -n "$PKG_CONFIG" ] || { echo "SKIPPED: no pkg-config"; exit 77; }
  PKG_CONFIG_PATH=$1/share/pkgconfig "$PKG_CONFIG" --cflags --libs cuenv
}

case $what in
pkg_config) # COMPILER SOURCES BUILD PREFIX VERSION
  flags=$(flags "$4") || { code=$?; echo "$flags"; exit $code; }
  case $flags in *"$4"*) ;; *) echo "the flags do not name the moved install: $flags"; exit 1 ;; esac
  [ "$(PKG_CONFIG_PATH=$4/share/pkgconfig "$PKG_CONFIG" --modversion cuenv)" = "$5" ]
  "$1" $strict "$2/main.cpp" "$2/other.cpp" $flags -o "$3/app_pkg_config"
  "$3/app_pkg_config"
  ;;
single_header) # COMPILER SOURCES BUILD HEADER_FOLDER CUDA_INCLUDE_DIR
  [ "$(find "$4" -type f | wc -l)" -eq 1 ]
  "$1" $strict "$2/main.cpp" "$2/other.cpp" -I "$4" -isystem "$5" -ldl -o "$3/app_single_header"
  "$3/app_single_header"
  ;;
two_libraries) # COMPILER COMPILER SOURCE BUILD PREFIX PROGRAM
  [ -n "$1" ] && [ -n "$2" ] || { echo "SKIPPED: it takes g++ and clang++"; exit 77; }
  flags=$(flags "$5") || { code=$?; echo "$flags"; exit $code; }
  strict="$strict -shared -fPIC -fvisibility=hidden -fvisibility-inlines-hidden"
  "$1" $strict "$3" $flags -o "$4/library_1.so"
  "$2" $strict "$3" $flags -o "$4/library_2.so"
  "$6" "$4/library_1.so" "$4/library_2.so"
  ;;
*) exit 2 ;;
esac
