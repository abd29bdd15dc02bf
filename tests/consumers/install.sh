#!/bin/sh
# install.sh CMAKE BUILD FOLDER PREFIX: installs the build into a folder, moves that to PREFIX, and looks whether anything
# in it knows where it was made.
set -eu
rm -rf "$3/first" "$4"
"$1" --install "$2" --prefix "$3/first"
mv "$3/first" "$4"
if grep -rIl -e "$3/first" -e "$2" "$4"; then
  echo "these installed files name the folder that they were installed to, or were built in"
  exit 1
fi
for file in include/cuenv/cuenv.hpp share/cmake/cuenv/cuenv-config.cmake share/pkgconfig/cuenv.pc \
  share/doc/cuenv/LICENSE; do
  [ -s "$4/$file" ] || { echo "$file is not installed"; exit 1; }
done
# The loader must not find it by chance.
if [ -e "$4/lib/libcuda.so.1" ] || [ -z "$(find "$4" -path '*/cuenv/simulated/libcuda.so.1')" ]; then
  echo "the simulated driver is not in its own folder"
  exit 1
fi
