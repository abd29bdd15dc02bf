#ifndef CUENV_TESTS_PROCESS_SIMULATED_STATE_HPP
#define CUENV_TESTS_PROCESS_SIMULATED_STATE_HPP

#include "simulated/state.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

/// A function of the libcuda.so.1 that the loader finds, loaded as a program would load it.
template <class Function>
[[nodiscard]] Function* driver_function(char const* name) {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void* const function = library == nullptr ? nullptr : ::dlsym(library, name);
  if (function == nullptr) {
    std::fprintf(stderr, "no %s: is the simulated driver on LD_LIBRARY_PATH?\n", name);
    std::abort();
  }
  return reinterpret_cast<Function*>(function);
}

/// What the simulated driver of this process did and read.
[[nodiscard]] inline CuenvSimulatedState const& simulated_state() {
  return *driver_function<CuenvSimulatedState const*()>("cuenv_simulated_state")();
}

/// cuInit, as other code would call it.
[[nodiscard]] inline int start_cuda_elsewhere() { return driver_function<int(unsigned)>("cuInit")(0); }

#endif  // CUENV_TESTS_PROCESS_SIMULATED_STATE_HPP
