// What a setting costs or gains: one workload in a process of its own, under settings that a session applies. Prints
// one line of JSON.
//
//   setting_benchmark launches|streams|jit|loading [NAME=VALUE...]
#include <cuenv/session.hpp>

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "stopwatch.hpp"

namespace {

// Does nothing, and spins for as many nanoseconds as it is told.
constexpr char const* small_kernels = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry nothing() { ret; }
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

/// PTX of many kernels, each of some arithmetic that cannot be folded.
std::string many_kernels(int kernels, int steps) {
  std::string text = ".version 7.0\n.target sm_75\n.address_size 64\n";
  for (int k = 0; k < kernels; ++k) {
    text += ".visible .entry k" + std::to_string(k) + "(.param .u64 p)\n{\n.reg .u64 %a; .reg .f32 %f<3>;\n" +
            "ld.param.u64 %a, [p];\nld.global.f32 %f0, [%a];\nld.global.f32 %f1, [%a+4];\n";
    for (int i = 0; i < steps; ++i) {
      text += (i + k) % 3 == 0   ? "fma.rn.f32 %f0, %f0, %f1, %f0;\n"
              : (i + k) % 3 == 1 ? "sqrt.approx.f32 %f1, %f0;\n"
                                 : "mul.f32 %f0, %f0, %f1;\n";
    }
    text += "st.global.f32 [%a], %f0;\nret;\n}\n";
  }
  return text;
}

void check(CUresult result, char const* call) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: the driver answered %d\n", call, static_cast<int>(result));
  std::exit(1);
}

void* symbol(char const* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* const address = library == nullptr ? nullptr : dlsym(library, name);
  if (address != nullptr) return address;
  std::fprintf(stderr, "the driver has no %s\n", name);
  std::exit(1);
}

/// A function of the driver that must succeed.
template <class Function>
struct Checked {
  Function function;
  char const* name;
  template <class... Arguments>
  void operator()(Arguments... arguments) const {
    check(function(arguments...), name);
  }
};

// cuda.h renames some functions by macros (cuMemGetInfo is cuMemGetInfo_v2), so names pass through two macros.
#define CUENV_TEXT_OF(name) #name
#define CUENV_NAME_OF(name) CUENV_TEXT_OF(name)
#define CUENV_CALL(name) \
  Checked<decltype(&name)> { reinterpret_cast<decltype(&name)>(symbol(CUENV_NAME_OF(name))), #name }

CUfunction function(CUmodule module, std::string const& name) {
  CUfunction found = nullptr;
  CUENV_CALL(cuModuleGetFunction)(&found, module, name.c_str());
  return found;
}

CUmodule module_of(std::string const& ptx) {
  CUmodule module = nullptr;
  CUENV_CALL(cuModuleLoadData)(&module, ptx.c_str());
  return module;
}

void launch(CUfunction kernel, CUstream stream, void* argument) {
  void* arguments[] = {argument};
  static auto const launch_kernel = CUENV_CALL(cuLaunchKernel);  // looked up once: launches are what is measured
  launch_kernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
}

std::size_t free_memory() {
  std::size_t unused = 0;
  std::size_t total = 0;
  CUENV_CALL(cuMemGetInfo)(&unused, &total);
  return unused;
}

/// Kernels that do nothing, one after the other: microseconds for each, until all are done.
void launches() {
  CUfunction const nothing = function(module_of(small_kernels), "nothing");
  int ignored = 0;
  auto const round = [&](int count) {
    return microseconds([&] {
      for (int i = 0; i < count; ++i) launch(nothing, nullptr, &ignored);
      CUENV_CALL(cuCtxSynchronize)();
    });
  };
  round(1000);
  std::printf("{\"us\": %.3f}\n", round(20000) / 20000);
}

/// 32 streams with four kernels of 200 microseconds each, issued stream by stream: 800 microseconds when all of them
/// run side by side.
void streams() {
  CUfunction const spin = function(module_of(small_kernels), "spin");
  std::vector<CUstream> all(32);
  for (CUstream& stream : all) CUENV_CALL(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING);
  unsigned long long nanoseconds = 200000;
  auto const round = [&] {
    return microseconds([&] {
      for (CUstream stream : all) {
        for (int i = 0; i < 4; ++i) launch(spin, stream, &nanoseconds);
      }
      CUENV_CALL(cuCtxSynchronize)();
    });
  };
  round();
  std::vector<double> rounds;
  for (int i = 0; i < 21; ++i) rounds.push_back(round());
  std::printf("{\"us\": %.1f}\n", median(rounds));
}

/// PTX to the end of its first kernel: time, and memory of the GPU that the module takes.
void load_and_run(std::string const& ptx) {
  std::size_t const before = free_memory();
  CUdeviceptr memory = 0;
  CUENV_CALL(cuMemAlloc)(&memory, 1024);
  double const taken = microseconds([&] {
    launch(function(module_of(ptx), "k0"), nullptr, &memory);
    CUENV_CALL(cuCtxSynchronize)();
  });
  std::size_t const after = free_memory();
  std::printf("{\"us\": %.1f, \"gpu_kib\": %zu}\n", taken, before > after ? (before - after) / 1024 : 0);
}

}  // namespace

int main(int argc, char** argv) try {
  std::map<std::string, std::string> texts;
  for (int i = 2; i < argc; ++i) {
    std::string const text = argv[i];
    texts[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  cuenv::Session const session{cuenv::settings_from(texts, cuenv::Precedence::override)};
  CUcontext context = nullptr;
  CUENV_CALL(cuDevicePrimaryCtxRetain)(&context, 0);
  CUENV_CALL(cuCtxSetCurrent)(context);
  std::string const workload = argc > 1 ? argv[1] : "";
  if (workload == "launches")
    launches();
  else if (workload == "streams")
    streams();
  else if (workload == "jit")
    load_and_run(many_kernels(100, 300));
  else if (workload == "loading")
    load_and_run(many_kernels(2000, 60));
  else
    return 2;
} catch (cuenv::Error const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
