#ifndef CUENV_TESTS_PROCESS_SIMULATED_STATE_HPP
#define CUENV_TESTS_PROCESS_SIMULATED_STATE_HPP

#include "simulated/state.h"

#include "library.hpp"

#include <cstdio>
#include <cstdlib>

/// A function of the driver's library that the loader finds, loaded as a program would load it.
template <class Function>
[[nodiscard]] Function* driver_function(char const* name) {
#ifdef _WIN32
  void* const library = open_library("nvcuda.dll");
#else
  void* const library = open_library("libcuda.so.1");
#endif
  auto* const function = library_function<Function>(library, name);
  if (function == nullptr) {
    std::fprintf(stderr, "no %s: is the simulated driver where the loader looks?\n", name);
    std::abort();
  }
  return function;
}

/// What the simulated driver of this process did and read.
[[nodiscard]] inline CuenvSimulatedState const& simulated_state() {
  return *driver_function<CuenvSimulatedState const*()>("cuenv_simulated_state")();
}

/// cuInit, as other code would call it.
[[nodiscard]] inline int start_cuda_elsewhere() { return driver_function<int(unsigned)>("cuInit")(0); }

#endif  // CUENV_TESTS_PROCESS_SIMULATED_STATE_HPP
