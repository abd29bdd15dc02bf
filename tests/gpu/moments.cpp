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

// Two streams that depend on each other only where they share a connection: `wait` waits until `set` has run, and
// writes 1; after the given nanoseconds without it, it gives up and writes 2.
constexpr char const* streams_ptx = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry wait(.param .u64 words, .param .u64 ns)
{
  .reg .u64 %t<6>; .reg .u32 %r<3>; .reg .pred %p;
  ld.param.u64 %t1, [words];
  ld.param.u64 %t2, [ns];
  mov.u64 %t3, %globaltimer;
L:
  ld.volatile.global.u32 %r1, [%t1];
  setp.ne.u32 %p, %r1, 0;
  mov.u32 %r2, 1;
  @%p bra DONE;
  mov.u64 %t4, %globaltimer;
  sub.u64 %t5, %t4, %t3;
  setp.lt.u64 %p, %t5, %t2;
  @%p bra L;
  mov.u32 %r2, 2;
DONE:
  st.volatile.global.u32 [%t1+4], %r2;
  ret;
}
.visible .entry nothing()
{
  ret;
}
.visible .entry set(.param .u64 words)
{
  .reg .u64 %t<2>; .reg .u32 %r<2>;
  ld.param.u64 %t1, [words];
  mov.u32 %r1, 1;
  st.volatile.global.u32 [%t1], %r1;
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

CUfunction function_of(CUmodule module, char const* name) {
  CUfunction function = nullptr;
  driver<CUresult (*)(CUfunction*, CUmodule, char const*)>("cuModuleGetFunction")(&function, module, name);
  return function;
}

/// One thread of it.
CUresult launch(CUfunction function, CUstream stream, void** parameters) {
  return driver<CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                             void**, void**)>("cuLaunchKernel")(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters,
                                                                nullptr);
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
  load_spin(&module);
  unsigned long long nanoseconds = 500000000;
  void* parameters[] = {&nanoseconds};
  launch(function_of(module, "spin"), nullptr, parameters);
  bool const done = driver<CUresult (*)(CUstream)>("cuStreamQuery")(nullptr) == CUDA_SUCCESS;
  driver<CUresult (*)()>("cuCtxSynchronize")();
  return done;
}

/// A kernel that waits, with another one behind it in its stream, keeps the kernel of a second stream from running. No
/// clock decides: with connections of their own the second stream ends the wait, whenever it runs, and with one
/// connection nothing does until the first kernel gives up.
bool streams_share_a_connection(std::string const&) {
  CUmodule module = nullptr;
  driver<CUresult (*)(CUmodule*, void const*)>("cuModuleLoadData")(&module, streams_ptx);
  CUfunction const wait = function_of(module, "wait");
  CUfunction const nothing = function_of(module, "nothing");
  CUfunction const set = function_of(module, "set");
  CUstream streams[2]{};
  for (CUstream& stream : streams) {
    driver<CUresult (*)(CUstream*, unsigned)>("cuStreamCreate")(&stream, CU_STREAM_NON_BLOCKING);
  }
  CUdeviceptr words = 0;  // the flag, and what the waiting kernel saw
  driver<CUresult (*)(CUdeviceptr*, std::size_t)>("cuMemAlloc_v2")(&words, 2 * sizeof(unsigned));
  unsigned seen = 0;
  // The first round does not wait: it loads the kernels, which must not happen while one of them runs.
  for (unsigned long long const limit : {0ULL, 4000000000ULL}) {
    driver<CUresult (*)(CUdeviceptr, unsigned, std::size_t)>("cuMemsetD32_v2")(words, 0, 2);
    driver<CUresult (*)()>("cuCtxSynchronize")();
    unsigned long long nanoseconds = limit;
    void* wait_parameters[] = {&words, &nanoseconds};
    void* set_parameters[] = {&words};
    CUresult const launched[] = {launch(wait, streams[0], wait_parameters), launch(nothing, streams[0], nullptr),
                                 launch(set, streams[1], set_parameters), driver<CUresult (*)()>("cuCtxSynchronize")()};
    for (CUresult const result : launched) {
      if (result == CUDA_SUCCESS) continue;
      std::cout << "a kernel or the wait for it gives " << result << std::endl;
      std::exit(12);
    }
    driver<CUresult (*)(void*, CUdeviceptr, std::size_t)>("cuMemcpyDtoH_v2")(&seen, words + sizeof seen, sizeof seen);
  }
  if (seen != 1 && seen != 2) {
    std::cout << "the waiting kernel wrote " << seen << std::endl;
    std::exit(12);
  }
  return seen == 2;
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
    {"CUDA_DEVICE_MAX_CONNECTIONS", "1", streams_share_a_connection, "yes no no no"},
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

/// One variable at one moment, in this process: exits with 10 for "in force", 11 for "not", and any other code where
/// it could not be told.
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
