// libnvidia-ml.so.1 of the described machine: lists every GPU that is not excluded, in the order of the bus, whatever
// the CUDA variables say. The toolkit may lack nvml.h, so the few declarations are here.
#include "environment.hpp"
#include "machine.hpp"

#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>

extern "C" {

struct nvmlDevice_st {
  simulated::SimulatedGpu gpu;
};

using nvmlDevice_t = nvmlDevice_st*;
using nvmlReturn_t = int;

struct nvmlPciInfo_t {
  char busIdLegacy[16];  // "0000:00:06.0"
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pciDeviceId;
  unsigned pciSubSystemId;
  char busId[32];  // "00000000:00:06.0"
};

}  // extern "C"

namespace {

constexpr nvmlReturn_t success = 0;
constexpr nvmlReturn_t uninitialized = 1;
constexpr nvmlReturn_t invalid_argument = 2;
constexpr nvmlReturn_t not_supported = 3;
constexpr nvmlReturn_t insufficient_size = 7;
constexpr nvmlReturn_t driver_not_loaded = 9;
constexpr nvmlReturn_t version_mismatch = 18;

struct Library {
  std::mutex mutex;
  int users = 0;  // nvmlInit counts
  simulated::Machine machine;
  std::vector<nvmlDevice_st> devices;
};

Library& library() {
  static Library the_library;
  return the_library;
}

std::string const& root_folder() {
  static std::string const root =
      simulated::process_environment("CUENV_SIMULATED_ROOT").value_or("(CUENV_SIMULATED_ROOT is not set)");
  return root;
}

template <typename Body>
nvmlReturn_t answer(Body const& body) {
  std::lock_guard const lock(library().mutex);
  return library().users > 0 ? body(library()) : uninitialized;
}

template <typename Body>
nvmlReturn_t answer_for(nvmlDevice_t device, Body const& body) {
  return answer([&](Library& l) {
    for (auto const& known : l.devices) {
      if (&known == device) return body(known.gpu);
    }
    return invalid_argument;
  });
}

nvmlReturn_t give_text(std::string const& text, char* to, unsigned length) {
  if (to == nullptr) return invalid_argument;
  if (length <= text.size()) return insufficient_size;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return success;
}

}  // namespace

extern "C" {

char const* cuenv_simulated_root() { return root_folder().c_str(); }

// The vptr sanitizer looks at an object through a pipe: where a process has no descriptor left, it takes the error that
// says so for a damaged one.
__attribute__((no_sanitize("vptr"))) nvmlReturn_t nvmlInit_v2() {
  auto& l = library();
  std::lock_guard const lock(l.mutex);
  if (l.users == 0) {
    try {
      l.machine = simulated::read_machine(root_folder() + "/machine.txt");
    } catch (std::exception const& error) {
      std::fprintf(stderr, "cuenv: simulated NVML: CUENV_SIMULATED_ROOT must name a folder with machine.txt: %s\n",
                   error.what());
      return driver_not_loaded;
    }
    if (l.machine.init_error == 803) return version_mismatch;  // the user's part and the kernel's do not fit
    l.devices.clear();
    for (auto const& gpu : simulated::gpus_by_pci(l.machine)) l.devices.push_back({gpu});
  }
  ++l.users;
  return success;
}

nvmlReturn_t nvmlShutdown() {
  return answer([](Library& l) {
    --l.users;
    return success;
  });
}

char const* nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
    case success: return "Success";
    case uninitialized: return "Uninitialized";
    case invalid_argument: return "Invalid Argument";
    case not_supported: return "Not Supported";
    case insufficient_size: return "Insufficient Size";
    case driver_not_loaded: return "Driver Not Loaded";
    case version_mismatch: return "Driver/library version mismatch";
    default: return "Unknown Error";
  }
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return answer([&](Library& l) { return give_text(l.machine.driver_version, version, length); });
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return answer([&](Library& l) {
    if (version == nullptr) return invalid_argument;
    *version = l.machine.cuda_version;
    return success;
  });
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  return answer([&](Library& l) {
    if (count == nullptr) return invalid_argument;
    *count = static_cast<unsigned>(l.devices.size());
    return success;
  });
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  return answer([&](Library& l) {
    if (device == nullptr || index >= l.devices.size()) return invalid_argument;
    *device = &l.devices[index];
    return success;
  });
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  return answer_for(device, [&](auto const& gpu) { return give_text(gpu.uuid, uuid, length); });
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  return answer_for(device, [&](auto const& gpu) { return give_text("Simulated " + gpu.name, name, length); });
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* info) {
  return answer_for(device, [&](auto const& gpu) {
    if (info == nullptr) return invalid_argument;
    auto const pci = simulated::pci_address(gpu);
    *info = {};
    info->domain = pci.domain;
    info->bus = pci.bus;
    info->device = pci.device;
    std::snprintf(info->busIdLegacy, sizeof info->busIdLegacy, "%04X:%02X:%02X.0", pci.domain & 0xffff, pci.bus & 0xff,
                  pci.device & 0xff);
    std::snprintf(info->busId, sizeof info->busId, "%08X:%02X:%02X.0", pci.domain, pci.bus & 0xff, pci.device & 0xff);
    return success;
  });
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* minor_number) {
  return answer_for(device, [&](auto const& gpu) {
    if (minor_number == nullptr) return invalid_argument;
    *minor_number = static_cast<unsigned>(gpu.minor_number);
    return success;
  });
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major_part, int* minor_part) {
  return answer_for(device, [&](auto const& gpu) {
    if (major_part == nullptr || minor_part == nullptr) return invalid_argument;
    *major_part = gpu.cc_major;
    *minor_part = gpu.cc_minor;
    return success;
  });
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  return answer_for(device, [&](auto const& gpu) {
    if (current == nullptr || pending == nullptr) return invalid_argument;
    if (gpu.mig == simulated::MigMode::unsupported) return not_supported;
    *current = *pending = gpu.mig == simulated::MigMode::on ? 1 : 0;
    return success;
  });
}

}  // extern "C"
