// When each variable is read: moments runs itself once for each variable and moment, and compares what it sees with the
// table below. Built three times: for the driver API, and for the runtime API with the static and the shared cudart,
// where cudaGetDeviceCount stands for cuInit and cudaSetDevice makes the context.
#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef CUENV_RUNTIME_API
#include <cuda_runtime_api.h>
#endif

#include "support/check.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

namespace {

// Spins for as many nanoseconds as it is told.
constexpr char const* spin_ptx = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 ns)
{
  .reg .u64 %t<5>; .reg .pred %p;
  ld.param.u64 %t1, [ns];
  mov.u64 %t2, %globaltimer;
L:
  mov.u64 %t3, %globaltimer;
  sub.u64 %t4, %t3, %t2;
  setp.lt.u64 %p, %t4, %t1;
  @%p bra L;
  ret;
}
)";

template <class Function>
Function driver(char const* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return reinterpret_cast<Function>(dlsym(library, name));
}

void init() {
#ifdef CUENV_RUNTIME_API
  int count = 0;
  cudaGetDeviceCount(&count);
#else
  driver<CUresult (*)(unsigned)>("cuInit")(0);
#endif
}

void make_context() {
#ifdef CUENV_RUNTIME_API
  cudaSetDevice(0);
#else
  CUcontext context = nullptr;
  driver<CUresult (*)(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain")(&context, 0);
  driver<CUresult (*)(CUcontext)>("cuCtxSetCurrent")(context);
#endif
}

void reset_context() {
#ifdef CUENV_RUNTIME_API
  cudaDeviceReset();
#else
  driver<CUresult (*)(CUdevice)>("cuDevicePrimaryCtxReset_v2")(0);
  driver<CUresult (*)(CUdevice)>("cuDevicePrimaryCtxRelease_v2")(0);
#endif
}

CUresult load_spin(CUmodule* module) {
  return driver<CUresult (*)(CUmodule*, void const*)>("cuModuleLoadData")(module, spin_ptx);
}

std::size_t files_below(std::string const& folder) {
  std::size_t count = 0;
  std::error_code error;
  for (auto const& entry : std::filesystem::recursive_directory_iterator{folder, error}) {
    count +=
        entry.is_regular_file() && entry.path().filename() != "index" ? 1U : 0U;  // the index is there without entries
  }
  return count;
}

// Each of these says whether the variable's value is in force.

bool no_device_is_visible(std::string const&) {
  int count = -1;
  return driver<CUresult (*)(int*)>("cuDeviceGetCount")(&count) != CUDA_SUCCESS || count == 0;
}

bool loading_is_eager(std::string const&) {
  CUmoduleLoadingMode mode{};
  driver<CUresult (*)(CUmoduleLoadingMode*)>("cuModuleGetLoadingMode")(&mode);
  return mode == CU_MODULE_EAGER_LOADING;
}

bool half_of_the_l2_is_set_aside(std::string const&) {
  std::size_t limit = 0;
  int l2 = 0;
  driver<CUresult (*)(std::size_t*, CUlimit)>("cuCtxGetLimit")(&limit, CU_LIMIT_PERSISTING_L2_CACHE_SIZE);
  driver<CUresult (*)(int*, CUdevice_attribute, CUdevice)>("cuDeviceGetAttribute")(
      &l2, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 0);
  return limit * 2 >= static_cast<std::size_t>(l2);
}

bool ptx_is_refused(std::string const&) {
  CUmodule module = nullptr;
  return load_spin(&module) == CUDA_ERROR_JIT_COMPILATION_DISABLED;
}

/// The folder of the default cache stays without an entry.
bool nothing_is_cached(std::string const& folder) {
  CUmodule module = nullptr;
  load_spin(&module);
  return files_below(folder + "/home") == 0;
}

bool the_other_folder_is_used(std::string const& folder) {
  CUmodule module = nullptr;
  load_spin(&module);
  return files_below(folder + "/other") > 0;
}

/// After the launch of a kernel that runs for half a second its stream is already done.
bool launches_wait(std::string const&) {
  CUmodule module = nullptr;
  CUfunction spin = nullptr;
  load_spin(&module);
  driver<CUresult (*)(CUfunction*, CUmodule, char const*)>("cuModuleGetFunction")(&spin, module, "spin");
  unsigned long long nanoseconds = 500000000;
  void* parameters[] = {&nanoseconds};
  driver<CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                      void**, void**)>("cuLaunchKernel")(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
  bool const done = driver<CUresult (*)(CUstream)>("cuStreamQuery")(nullptr) == CUDA_SUCCESS;
  driver<CUresult (*)()>("cuCtxSynchronize")();
  return done;
}

struct Row {
  char const* name;
  char const* text;
  bool (*in_force)(std::string const& folder);
  /// Set before init, between init and the context, with a context, and before a context that is made after a reset.
  char const* expected;
};

constexpr Row rows[] = {
    {"CUDA_VISIBLE_DEVICES", "-1", no_device_is_visible, "yes no no no"},
    {"CUDA_MODULE_LOADING", "EAGER", loading_is_eager, "yes no no no"},
    {"CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT", "50", half_of_the_l2_is_set_aside, "yes no no no"},
    {"CUDA_DISABLE_PTX_JIT", "1", ptx_is_refused, "yes no no no"},
    {"CUDA_DISABLE_JIT", "1", ptx_is_refused, "yes no no no"},
    {"CUDA_CACHE_DISABLE", "1", nothing_is_cached, "yes no no no"},
    {"CUDA_CACHE_MAXSIZE", "1", nothing_is_cached, "yes no no no"},
    {"CUDA_CACHE_PATH", "other", the_other_folder_is_used, "yes no no no"},
    {"CUDA_LAUNCH_BLOCKING", "1", launches_wait, "yes yes no yes"},
};
constexpr char const* moments[] = {"init", "between", "context", "reset"};

/// One variable at one moment, in this process: exits with 10 for "in force" and 11 for "not".
int observe(Row const& row, std::string const& moment, std::string const& folder) {
  setenv("HOME", (folder + "/home").c_str(), 1);
  auto const set = [&](char const* now) {
    if (moment != now) return;
    std::string const text = row.text == std::string{"other"} ? folder + "/other" : row.text;
    setenv(row.name, text.c_str(), 1);
  };
  set("init");
  init();
  set("between");
  make_context();
  set("context");
  if (moment == "reset") {
    reset_context();
    set("reset");
    make_context();
  }
  return row.in_force(folder) ? 10 : 11;
}

}  // namespace

int main(int argc, char** argv) {
  if (!std::ifstream{"/dev/nvidiactl"}.good()) {
    std::printf("skipped: there is no GPU here\n");
    return check::skipped;
  }
  if (argc == 4) return observe(rows[std::stoul(argv[1])], argv[2], argv[3]);
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    std::string seen;
    for (char const* moment : moments) {
      char folder[] = "/tmp/cuenv-moments-XXXXXX";
      check::that(mkdtemp(folder) != nullptr, "a folder");
      std::filesystem::create_directories(std::string{folder} + "/home");
      std::string const command = std::string{argv[0]} + " " + std::to_string(i) + " " + moment + " " + folder;
      int const status = std::system(command.c_str());
      int const code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      seen += (seen.empty() ? "" : " ") + std::string{code == 10 ? "yes" : code == 11 ? "no" : "?"};
      std::filesystem::remove_all(folder);
    }
    std::cout << rows[i].name << ": " << seen << '\n';
    check::equal(seen, std::string{rows[i].expected}, rows[i].name);
  }
  return check::result();
}
