# Linux programs for 64-bit Arm, run by qemu (Debian: g++-aarch64-linux-gnu, qemu-user).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
find_program(CUENV_QEMU qemu-aarch64)
if(CUENV_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${CUENV_QEMU} -L /usr/aarch64-linux-gnu)
endif()
