// The start of a program that uses no session: the least that starts CUDA in the same environment, and the same output.
#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>

#include <chrono>
#include <cstdio>

int main() {
  auto const begin = std::chrono::steady_clock::now();
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "8", 1);
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return 1;
  auto const init = reinterpret_cast<decltype(&cuInit)>(dlsym(driver, "cuInit"));
  auto const get_count = reinterpret_cast<decltype(&cuDeviceGetCount)>(dlsym(driver, "cuDeviceGetCount"));
  int count = 0;
  if (init == nullptr || get_count == nullptr || init(0) != CUDA_SUCCESS || get_count(&count) != CUDA_SUCCESS) return 1;
  std::chrono::duration<double, std::micro> const taken = std::chrono::steady_clock::now() - begin;
  std::printf("%.1f %d\n", taken.count(), count);
}
