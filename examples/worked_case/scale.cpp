// Loads scale.fatbin on the first visible GPU, as a program does that checks nothing beforehand. The driver is opened
// by cuenv, so that nothing of CUDA has to be linked; the calls are the driver's own.
#include <cuenv/driver.hpp>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

namespace {

cuenv::DriverApi const api = cuenv::open_driver_library(cuenv::DriverOpen::load).api;

bool failed(char const* call, CUresult result) {
  if (result == CUDA_SUCCESS) return false;
  char const* name = "no name";
  (void)api.get_error_name(result, &name);
  std::printf("scale: %s: error %d (%s)\n", call, static_cast<int>(result), name);
  return true;
}

}  // namespace

int main() {
  std::ifstream file{"scale.fatbin", std::ios::binary};
  std::string const image{std::istreambuf_iterator<char>{file}, {}};
  if (api.init == nullptr || image.empty()) {
    std::puts(api.init == nullptr ? "scale: there is no driver" : "scale: there is no scale.fatbin");
    return 2;
  }
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  char name[256] = "";
  if (failed("cuInit", api.init(0)) || failed("cuDeviceGet", api.device_get(&device, 0)) ||
      failed("cuDeviceGetName", api.device_get_name(name, sizeof name, device))) {
    return 1;
  }
  std::printf("scale: on %s\n", name);
  if (failed("cuDevicePrimaryCtxRetain", api.primary_ctx_retain(&context, device)) ||
      failed("cuCtxPushCurrent", api.ctx_push_current(context)) ||
      failed("cuModuleLoadDataEx", api.module_load_data_ex(&module, image.data(), 0, nullptr, nullptr)) ||
      failed("cuModuleGetFunction", api.module_get_function(&function, module, "scale"))) {
    return 1;
  }
  std::puts("scale: its kernel is loaded");
  return 0;
}
