#ifndef CUENV_DRIVER_HPP
#define CUENV_DRIVER_HPP

#include <cuenv/detail/shared_library.hpp>
#include <cuenv/version.hpp>

#include <cuda.h>
#include <cudaTypedefs.h>

#include <string>

CUENV_NAMESPACE_BEGIN

/// The entry points of the CUDA driver that cuenv uses, by their versioned types: cuda.h renames functions between
/// releases, the exported names stay. A null pointer is an entry point that this driver does not have. A type's suffix
/// is the CUDA version that brought it: _v11040 is 11.4. Everything is in CUDA 11.8, the oldest that cuenv compiles
/// with, but what says otherwise. All of it is thread-safe, as the driver is.
struct DriverApi {
  PFN_cuInit_v2000 init = nullptr;                            ///< cuInit: starts CUDA and reads most variables
  PFN_cuDriverGetVersion_v2020 driver_get_version = nullptr;  ///< cuDriverGetVersion: needs no cuInit; 13000 is 13.0
  PFN_cuGetErrorName_v6000 get_error_name = nullptr;          ///< cuGetErrorName
  PFN_cuGetErrorString_v6000 get_error_string = nullptr;      ///< cuGetErrorString

  PFN_cuDeviceGetCount_v2000 device_get_count = nullptr;  ///< cuDeviceGetCount: also tells whether CUDA has started
  PFN_cuDeviceGet_v2000 device_get = nullptr;             ///< cuDeviceGet
  PFN_cuDeviceGetName_v2000 device_get_name = nullptr;    ///< cuDeviceGetName
  PFN_cuDeviceGetUuid_v11040 device_get_uuid = nullptr;   ///< cuDeviceGetUuid_v2: of a MIG instance its own UUID
  PFN_cuDeviceGetPCIBusId_v4010 device_get_pci_bus_id = nullptr;  ///< cuDeviceGetPCIBusId
  PFN_cuDeviceGetAttribute_v2000 device_get_attribute = nullptr;  ///< cuDeviceGetAttribute

  PFN_cuCtxGetCurrent_v4000 ctx_get_current = nullptr;                 ///< cuCtxGetCurrent
  PFN_cuCtxPushCurrent_v4000 ctx_push_current = nullptr;               ///< cuCtxPushCurrent_v2
  PFN_cuCtxPopCurrent_v4000 ctx_pop_current = nullptr;                 ///< cuCtxPopCurrent_v2
  PFN_cuDevicePrimaryCtxRetain_v7000 primary_ctx_retain = nullptr;     ///< cuDevicePrimaryCtxRetain: makes the context
  PFN_cuDevicePrimaryCtxRelease_v11000 primary_ctx_release = nullptr;  ///< cuDevicePrimaryCtxRelease_v2
  PFN_cuDevicePrimaryCtxGetState_v7000 primary_ctx_get_state = nullptr;  ///< cuDevicePrimaryCtxGetState

  PFN_cuModuleLoadDataEx_v2010 module_load_data_ex = nullptr;           ///< cuModuleLoadDataEx
  PFN_cuModuleUnload_v2000 module_unload = nullptr;                     ///< cuModuleUnload
  PFN_cuModuleGetFunction_v2000 module_get_function = nullptr;          ///< cuModuleGetFunction
  PFN_cuModuleGetLoadingMode_v11070 module_get_loading_mode = nullptr;  ///< cuModuleGetLoadingMode, since CUDA 11.7

  // Written out: the headers of CUDA 12.0 have no types for them.
  CUresult(CUDAAPI* module_get_function_count)(unsigned*, CUmodule) = nullptr;               ///< since CUDA 12.4
  CUresult(CUDAAPI* module_enumerate_functions)(CUfunction*, unsigned, CUmodule) = nullptr;  ///< since CUDA 12.4
  CUresult(CUDAAPI* func_load)(CUfunction) = nullptr;                                        ///< since CUDA 12.4
  CUresult(CUDAAPI* func_get_name)(char const**, CUfunction) = nullptr;                      ///< since CUDA 12.3
};

/// The driver library as it was found in, or loaded into, this process. It is never unloaded.
struct DriverLibrary {
  DriverApi api;  ///< all null where the library is not loaded
  /// False where there is none: `api` is empty and `error` says why.
  bool loaded = false;
  /// The loader's own words.
  std::string error;
  /// The file it came from, as far as the loader can tell.
  std::string path;
  /// Empty with a real driver. A simulated one names the folder that stands for "/", and everything that cuenv says
  /// about such a machine says so.
  std::string simulated_root;
};

#ifdef _WIN32
/// The name of the driver's library.
inline constexpr char const* driver_library_name = "nvcuda.dll";
#else
/// The name of the driver's library.
inline constexpr char const* driver_library_name = "libcuda.so.1";
#endif

/// Loading: from the loader's path (`libcuda.so.1`, never the unversioned name, which may be the toolkit's stub; on
/// Windows `nvcuda.dll` from System32), or looking only for what the process has loaded already.
enum class DriverOpen { load, only_if_loaded };

/// The real thing. Loading the library neither initialises CUDA nor reads a variable (measured, driver 580).
/// Thread-safe.
[[nodiscard]] inline DriverLibrary open_driver_library(DriverOpen how) {
  auto const library = how == DriverOpen::load ? detail::SharedLibrary::open(driver_library_name)
                                               : detail::SharedLibrary::find_loaded(driver_library_name);
  DriverLibrary driver;
  driver.loaded = static_cast<bool>(library);
  driver.error = library.error();
  if (!driver.loaded) return driver;
  DriverApi& api = driver.api;
  library.get("cuInit", api.init);
  library.get("cuDriverGetVersion", api.driver_get_version);
  library.get("cuGetErrorName", api.get_error_name);
  library.get("cuGetErrorString", api.get_error_string);
  library.get("cuDeviceGetCount", api.device_get_count);
  library.get("cuDeviceGet", api.device_get);
  library.get("cuDeviceGetName", api.device_get_name);
  library.get("cuDeviceGetUuid_v2", api.device_get_uuid);
  if (api.device_get_uuid == nullptr) library.get("cuDeviceGetUuid", api.device_get_uuid);  // before CUDA 11.4
  library.get("cuDeviceGetPCIBusId", api.device_get_pci_bus_id);
  library.get("cuDeviceGetAttribute", api.device_get_attribute);
  library.get("cuCtxGetCurrent", api.ctx_get_current);
  library.get("cuCtxPushCurrent_v2", api.ctx_push_current);
  library.get("cuCtxPopCurrent_v2", api.ctx_pop_current);
  library.get("cuDevicePrimaryCtxRetain", api.primary_ctx_retain);
  library.get("cuDevicePrimaryCtxRelease_v2", api.primary_ctx_release);
  library.get("cuDevicePrimaryCtxGetState", api.primary_ctx_get_state);
  library.get("cuModuleLoadDataEx", api.module_load_data_ex);
  library.get("cuModuleUnload", api.module_unload);
  library.get("cuModuleGetFunction", api.module_get_function);
  library.get("cuModuleGetLoadingMode", api.module_get_loading_mode);
  library.get("cuModuleGetFunctionCount", api.module_get_function_count);
  library.get("cuModuleEnumerateFunctions", api.module_enumerate_functions);
  library.get("cuFuncLoad", api.func_load);
  library.get("cuFuncGetName", api.func_get_name);
  driver.path = detail::SharedLibrary::file_of(api.init);
  char const* (*simulated_root)() = nullptr;
  library.get("cuenv_simulated_root", simulated_root);
  if (simulated_root != nullptr) driver.simulated_root = simulated_root();
  return driver;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DRIVER_HPP
