// The names that libcuda.so.1 exports. cuda.h renames some functions to their newest version by macros; the names here
// are written out, so those macros go first.
#include "driver.hpp"

#undef cuDeviceGetUuid
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
#undef cuDevicePrimaryCtxRelease

namespace driver = simulated::driver;

extern "C" {

char const* cuenv_simulated_root() { return driver::root(); }
CuenvSimulatedState const* cuenv_simulated_state() { return driver::state(); }

CUresult CUDAAPI cuInit(unsigned flags) { return driver::init(flags); }
CUresult CUDAAPI cuDriverGetVersion(int* version) { return driver::driver_get_version(version); }
CUresult CUDAAPI cuGetErrorName(CUresult error, char const** name) { return driver::get_error_name(error, name); }
CUresult CUDAAPI cuGetErrorString(CUresult error, char const** text) { return driver::get_error_string(error, text); }

CUresult CUDAAPI cuDeviceGetCount(int* count) { return driver::device_get_count(count); }
CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) { return driver::device_get(device, ordinal); }
CUresult CUDAAPI cuDeviceGetName(char* name, int length, CUdevice device) {
  return driver::device_get_name(name, length, device);
}
CUresult CUDAAPI cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return driver::device_get_uuid(uuid, device); }
CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) { return driver::device_get_uuid(uuid, device); }
CUresult CUDAAPI cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  return driver::device_get_pci_bus_id(id, length, device);
}
CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return driver::device_get_attribute(value, attribute, device);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext* context) { return driver::ctx_get_current(context); }
CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext context) { return driver::ctx_push_current(context); }
CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext* context) { return driver::ctx_pop_current(context); }
CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return driver::primary_ctx_retain(context, device);
}
CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice device) { return driver::primary_ctx_release(device); }
CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return driver::primary_ctx_get_state(device, flags, active);
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule* module, void const* image, unsigned option_count, CUjit_option* options,
                                    void** option_values) {
  return driver::module_load_data_ex(module, image, option_count, options, option_values);
}
CUresult CUDAAPI cuModuleUnload(CUmodule module) { return driver::module_unload(module); }
CUresult CUDAAPI cuModuleGetFunction(CUfunction* function, CUmodule module, char const* name) {
  return driver::module_get_function(function, module, name);
}
CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) { return driver::module_get_loading_mode(mode); }
CUresult CUDAAPI cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
  return driver::module_get_function_count(count, module);
}
CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module) {
  return driver::module_enumerate_functions(functions, count, module);
}
CUresult CUDAAPI cuFuncLoad(CUfunction function) { return driver::func_load(function); }
CUresult CUDAAPI cuFuncGetName(char const** name, CUfunction function) { return driver::func_get_name(name, function); }

}  // extern "C"
