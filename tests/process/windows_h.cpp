// windows.h, whole and with every macro that it has, stands before cuenv here and behind it in the other file.
#include <windows.h>

// The C++ library of mingw takes min and max back: here they are as they are with others, once it has been read.
#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#undef min
#undef max
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
// What further headers of Windows define as well.
#undef small
#undef near
#undef far
#undef interface
#define small char
#define near
#define far
#define interface struct
#if !defined(ERROR) || !defined(GetMessage) || !defined(CreateFile)
#error the macros of windows.h are what this file is about
#endif

#include "expect.hpp"

bool is_set_for_windows(char const* name);

int main() {
  cuenv::Settings settings;
  settings.set(cuenv::device_max_connections, 16);
  cuenv::Session const session{settings};
  expect(session.devices().size() == 2, "a session works");
  expect(is_set_to("CUDA_DEVICE_MAX_CONNECTIONS", "16"), "the C runtime has the setting");
  expect(is_set_for_windows("CUDA_DEVICE_MAX_CONNECTIONS"), "the process has it");
  return failed_expectations;
}
