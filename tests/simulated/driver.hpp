#ifndef CUENV_TESTS_SIMULATED_DRIVER_HPP
#define CUENV_TESTS_SIMULATED_DRIVER_HPP

#include "environment.hpp"
#include "machine.hpp"
#include "state.h"

#include <cuda.h>

#include <string>

/// The simulated driver itself: what the exported names (exports.cpp) and the table (simulated.cpp) lead to. One
/// driver a process, as in the real one. Thread-safe.
namespace simulated::driver {

/// A process that has not called anything yet, on this machine. What was handed out before is no longer valid.
void reset(Machine machine, std::string root, Environment environment);

/// The folder that stands for "/". Without a reset, that which CUENV_SIMULATED_ROOT names at the first call.
[[nodiscard]] char const* root();

[[nodiscard]] CuenvSimulatedState const* state();

CUresult init(unsigned flags);
CUresult driver_get_version(int* version);
CUresult get_error_name(CUresult error, char const** name);
CUresult get_error_string(CUresult error, char const** text);

CUresult device_get_count(int* count);
CUresult device_get(CUdevice* device, int ordinal);
CUresult device_get_name(char* name, int length, CUdevice device);
CUresult device_get_uuid(CUuuid* uuid, CUdevice device);
CUresult device_get_pci_bus_id(char* id, int length, CUdevice device);
CUresult device_get_attribute(int* value, CUdevice_attribute attribute, CUdevice device);

CUresult ctx_get_current(CUcontext* context);
CUresult ctx_push_current(CUcontext context);
CUresult ctx_pop_current(CUcontext* context);
CUresult primary_ctx_retain(CUcontext* context, CUdevice device);
CUresult primary_ctx_release(CUdevice device);
CUresult primary_ctx_get_state(CUdevice device, unsigned* flags, int* active);

CUresult module_load_data_ex(CUmodule* module, void const* image, unsigned option_count, CUjit_option* options,
                             void** option_values);
CUresult module_unload(CUmodule module);
CUresult module_get_function(CUfunction* function, CUmodule module, char const* name);
CUresult module_get_loading_mode(CUmoduleLoadingMode* mode);
CUresult module_get_function_count(unsigned* count, CUmodule module);
CUresult module_enumerate_functions(CUfunction* functions, unsigned count, CUmodule module);
CUresult func_load(CUfunction function);
CUresult func_get_name(char const** name, CUfunction function);

}  // namespace simulated::driver

#endif  // CUENV_TESTS_SIMULATED_DRIVER_HPP
