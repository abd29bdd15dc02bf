#ifndef CUENV_NVML_HPP
#define CUENV_NVML_HPP

#include <cuenv/detail/shared_library.hpp>
#include <cuenv/gpu.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

CUENV_NAMESPACE_BEGIN

/// The entry points of NVML that cuenv uses. Declared here, since nvml.h is a part of its own of the toolkit and often
/// absent; all are in NVML since driver 470 or earlier. A result of 0 is success. A null pointer is an entry point that
/// this library does not have. Thread-safe, as NVML is (its manual).
struct NvmlApi {
  /// nvmlPciInfo_t of nvmlDeviceGetPciInfo_v3.
  struct PciInfo {
    char bus_id_legacy[16];      ///< "0000:07:00.0", ended by NUL
    unsigned domain;             ///< as in PciAddress
    unsigned bus;                ///< the same
    unsigned device;             ///< the same; there is no function, which is 0 for a GPU
    unsigned pci_device_id;      ///< device id in the upper 16 bits, vendor id (0x10de) in the lower ones
    unsigned pci_sub_system_id;  ///< the same of the board
    char bus_id[32];             ///< "00000000:07:00.0", ended by NUL
  };
  using Handle = struct nvmlDevice_st*;  ///< nvmlDevice_t; good until shutdown

  int (*init)() = nullptr;  ///< nvmlInit_v2: takes about 10 ms (measured, two H200); counted, so each needs a shutdown
  int (*shutdown)() = nullptr;                       ///< nvmlShutdown
  char const* (*error_string)(int) = nullptr;        ///< nvmlErrorString
  int (*driver_version)(char*, unsigned) = nullptr;  ///< nvmlSystemGetDriverVersion; sizes are in bytes, with the NUL
  int (*device_count)(unsigned*) = nullptr;          ///< nvmlDeviceGetCount_v2
  int (*device_by_index)(unsigned, Handle*) = nullptr;      ///< nvmlDeviceGetHandleByIndex_v2
  int (*uuid)(Handle, char*, unsigned) = nullptr;           ///< nvmlDeviceGetUUID, of an instance too: with its tag
  int (*name)(Handle, char*, unsigned) = nullptr;           ///< nvmlDeviceGetName
  int (*pci_info)(Handle, PciInfo*) = nullptr;              ///< nvmlDeviceGetPciInfo_v3
  int (*compute_capability)(Handle, int*, int*) = nullptr;  ///< nvmlDeviceGetCudaComputeCapability
  int (*mig_mode)(Handle, unsigned*, unsigned*) = nullptr;  ///< nvmlDeviceGetMigMode: now, and after a reset; 1 is on
  int (*max_mig_devices)(Handle, unsigned*) = nullptr;      ///< nvmlDeviceGetMaxMigDeviceCount
  int (*mig_device)(Handle, unsigned, Handle*) = nullptr;   ///< nvmlDeviceGetMigDeviceHandleByIndex
  int (*gpu_instance)(Handle, unsigned*) = nullptr;         ///< nvmlDeviceGetGpuInstanceId
  int (*compute_instance)(Handle, unsigned*) = nullptr;     ///< nvmlDeviceGetComputeInstanceId
};

/// The library as it was loaded, or not: then `error` has the loader's own words.
struct NvmlLibrary {
  NvmlApi api;          ///< all null where it was not loaded
  bool loaded = false;  ///< true where the library is in the process; it stays there
  std::string error;    ///< empty where it was loaded
};

/// Opens libnvidia-ml.so.1 (Windows: nvml.dll). Initialising it takes about 10 ms and listing GPUs about as much
/// (measured, two H200), so cuenv does so only when asked. Thread-safe.
[[nodiscard]] inline NvmlLibrary open_nvml_library() {
#ifdef _WIN32
  auto const library = detail::SharedLibrary::open("nvml.dll");
#else
  auto const library = detail::SharedLibrary::open("libnvidia-ml.so.1");
#endif
  NvmlLibrary nvml;
  nvml.loaded = static_cast<bool>(library);
  nvml.error = library.error();
  if (!nvml.loaded) return nvml;
  NvmlApi& api = nvml.api;
  library.get("nvmlInit_v2", api.init);
  library.get("nvmlShutdown", api.shutdown);
  library.get("nvmlErrorString", api.error_string);
  library.get("nvmlSystemGetDriverVersion", api.driver_version);
  library.get("nvmlDeviceGetCount_v2", api.device_count);
  library.get("nvmlDeviceGetHandleByIndex_v2", api.device_by_index);
  library.get("nvmlDeviceGetUUID", api.uuid);
  library.get("nvmlDeviceGetName", api.name);
  library.get("nvmlDeviceGetPciInfo_v3", api.pci_info);
  library.get("nvmlDeviceGetCudaComputeCapability", api.compute_capability);
  library.get("nvmlDeviceGetMigMode", api.mig_mode);
  library.get("nvmlDeviceGetMaxMigDeviceCount", api.max_mig_devices);
  library.get("nvmlDeviceGetMigDeviceHandleByIndex", api.mig_device);
  library.get("nvmlDeviceGetGpuInstanceId", api.gpu_instance);
  library.get("nvmlDeviceGetComputeInstanceId", api.compute_instance);
  return nvml;
}

namespace detail {

[[nodiscard]] inline std::optional<Uuid> nvml_uuid(NvmlApi const& api, NvmlApi::Handle handle) {
  char text[96] = "";
  if (api.uuid == nullptr || api.uuid(handle, text, sizeof text) != 0) return std::nullopt;
  std::string_view const uuid{text};
  return uuid.size() > 4 ? parse_uuid(uuid.substr(4)) : std::nullopt;
}

}  // namespace detail

/// The machine as NVML sees it, whatever the CUDA variables say; `source` stays unknown where NVML cannot be used, and
/// `error` then says why. MIG instances were not measured. Initialises NVML and shuts it down again, which leaves a
/// thread of NVML's behind (measured, driver 580). Nothing is thrown but bad_alloc. Thread-safe.
[[nodiscard]] inline Machine read_machine_from_nvml(NvmlLibrary const& nvml, std::string& error) {
  Machine machine;
  NvmlApi const& api = nvml.api;
  error = nvml.error;
  if (!nvml.loaded) return machine;
  if (api.init == nullptr || api.shutdown == nullptr || api.device_count == nullptr || api.device_by_index == nullptr ||
      api.pci_info == nullptr) {
    error = "NVML lacks a function that is needed";
    return machine;
  }
  int const answer = api.init();
  if (answer != 0) {
    error = "nvmlInit gave " + std::to_string(answer);
    if (api.error_string != nullptr) error += std::string{" ("} + api.error_string(answer) + ")";
    return machine;
  }
  char text[96] = "";
  if (api.driver_version != nullptr && api.driver_version(text, sizeof text) == 0) machine.driver_version = text;
  unsigned count = 0;
  if (api.device_count(&count) == 0) machine.source = MachineSource::nvml;
  for (unsigned i = 0; i < count; ++i) {
    NvmlApi::Handle handle = nullptr;
    NvmlApi::PciInfo pci{};
    if (api.device_by_index(i, &handle) != 0 || api.pci_info(handle, &pci) != 0) {
      // Without it the indices of those behind it would not be nvidia-smi's.
      error = "GPU " + std::to_string(i) + " cannot be queried";
      machine.source = MachineSource::unknown;
      machine.gpus.clear();
      break;
    }
    Gpu gpu;
    gpu.pci = {pci.domain, pci.bus, pci.device, 0};
    gpu.uuid = detail::nvml_uuid(api, handle);
    char name[128] = "";
    if (api.name != nullptr && api.name(handle, name, sizeof name) == 0) gpu.name = name;
    ComputeCapability cc;
    if (api.compute_capability != nullptr &&
        api.compute_capability(handle, &cc.major_revision, &cc.minor_revision) == 0) {
      gpu.compute_capability = cc;
    }
    unsigned mode = 0;
    unsigned pending = 0;
    gpu.mig_enabled = api.mig_mode != nullptr && api.mig_mode(handle, &mode, &pending) == 0 && mode == 1;
    unsigned instances = 0;
    if (gpu.mig_enabled && api.max_mig_devices != nullptr && api.mig_device != nullptr) {
      (void)api.max_mig_devices(handle, &instances);
    }
    for (unsigned m = 0; m < instances; ++m) {
      NvmlApi::Handle part = nullptr;
      if (api.mig_device(handle, m, &part) != 0) continue;
      MigInstance instance;
      instance.uuid = detail::nvml_uuid(api, part);
      unsigned id = 0;
      if (api.gpu_instance != nullptr && api.gpu_instance(part, &id) == 0) instance.gpu_instance = static_cast<int>(id);
      if (api.compute_instance != nullptr && api.compute_instance(part, &id) == 0)
        instance.compute_instance = static_cast<int>(id);
      gpu.mig.push_back(std::move(instance));
    }
    machine.gpus.push_back(std::move(gpu));
  }
  (void)api.shutdown();
  sort_by_pci(machine.gpus);
  return machine;
}

CUENV_NAMESPACE_END

#endif  // CUENV_NVML_HPP
