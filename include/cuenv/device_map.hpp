#ifndef CUENV_DEVICE_MAP_HPP
#define CUENV_DEVICE_MAP_HPP

#include <cuenv/driver.hpp>
#include <cuenv/gpu.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <cstring>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

CUENV_NAMESPACE_BEGIN

/// A device as CUDA numbers it in this process.
struct Device {
  LogicalIndex logical{0};  ///< its position in DeviceMap::devices()
  /// nvidia-smi's index; empty where it cannot be known. Several MIG instances share one.
  std::optional<PhysicalIndex> physical;
  /// Of the GPU, or of the MIG instance.
  Uuid uuid;
  PciAddress pci;                        ///< of the GPU; its MIG instances share it
  std::string name;                      ///< as the driver gives it, such as "NVIDIA H200"
  ComputeCapability compute_capability;  ///< as the driver gives it
  /// True for a MIG instance: its bus address is a known GPU's and its UUID is not.
  bool is_mig = false;
};

/// "logical 0  physical 1  GPU-c07e88d2-...  0000:07:00.0  9.0  NVIDIA H200".
[[nodiscard]] inline std::string to_string(Device const& device) {
  return "logical " + std::to_string(device.logical.value) + "  physical " +
         (device.physical ? std::to_string(device.physical->value) : "unknown") + "  " +
         (device.is_mig ? "MIG-" : "GPU-") + to_string(device.uuid) + "  " + to_string(device.pci) + "  " +
         to_string(device.compute_capability) + "  " + detail::printable(device.name);
}

/// Prints `to_string`. A template, so that `<ostream>` is the caller's to include.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, Device const& device) {
  return out << to_string(device).c_str();
}

/// Which logical device is which GPU, both ways. A plain value: reading it from several threads is safe.
class DeviceMap {
 public:
  /// No devices.
  DeviceMap() = default;
  /// Takes devices in logical order, as `read_devices` gives them.
  explicit DeviceMap(std::vector<Device> devices) : devices_{std::move(devices)} {}

  /// In logical order: the position is the logical index.
  [[nodiscard]] std::vector<Device> const& devices() const noexcept { return devices_; }

  /// Null where there is no such logical device.
  [[nodiscard]] Device const* find(LogicalIndex index) const noexcept {
    auto const position = static_cast<std::size_t>(index.value);
    return index.value >= 0 && position < devices_.size() ? &devices_[position] : nullptr;
  }
  /// The logical devices on one GPU: none when it is hidden, several when it is split into MIG instances.
  [[nodiscard]] std::vector<LogicalIndex> find(PhysicalIndex index) const {
    return where([&](Device const& device) { return device.physical == index; });
  }
  /// The same by UUID, of a GPU or of a MIG instance.
  [[nodiscard]] std::vector<LogicalIndex> find(Uuid const& uuid) const {
    return where([&](Device const& device) { return device.uuid == uuid; });
  }
  /// The same by bus address.
  [[nodiscard]] std::vector<LogicalIndex> find(PciAddress pci) const {
    return where([&](Device const& device) { return device.pci == pci; });
  }

 private:
  template <class Predicate>
  [[nodiscard]] std::vector<LogicalIndex> where(Predicate const& holds) const {
    std::vector<LogicalIndex> found;
    for (Device const& device : devices_) {
      if (holds(device)) found.push_back(device.logical);
    }
    return found;
  }

  std::vector<Device> devices_;
};

/// The devices that an initialised driver lists, joined with what the machine says of its GPUs: by UUID, and where that
/// fails by bus address. So a physical index is exact whatever the order of CUDA is, and empty where the machine is not
/// known. Nothing is cached. `code` is the driver's answer, a CUresult, and with any but 0 there are no devices. The
/// entry points for devices must not be null. Nothing is thrown but bad_alloc. Thread-safe.
[[nodiscard]] inline std::vector<Device> read_devices(DriverApi const& api, Machine const& machine, int& code) {
  std::vector<Device> devices;
  int count = 0;
  code = api.device_get_count(&count);
  for (int i = 0; code == 0 && i < count; ++i) {
    CUdevice handle = 0;
    Device device;
    device.logical = LogicalIndex{i};
    code = api.device_get(&handle, i);
    if (code != 0) break;
    char name[256] = "";
    if (api.device_get_name(name, static_cast<int>(sizeof name), handle) == CUDA_SUCCESS) device.name = name;
    CUuuid uuid{};
    code = api.device_get_uuid(&uuid, handle);
    std::memcpy(device.uuid.bytes.data(), uuid.bytes, device.uuid.bytes.size());
    char pci[32] = "";
    if (api.device_get_pci_bus_id(pci, static_cast<int>(sizeof pci), handle) == CUDA_SUCCESS) {
      device.pci = parse_pci_address(pci).value_or(PciAddress{});
    }
    api.device_get_attribute(&device.compute_capability.major_revision, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                             handle);
    api.device_get_attribute(&device.compute_capability.minor_revision, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                             handle);

    // Two GPUs of one UUID or of one address, as a broken description has them, tell nothing apart.
    std::optional<PhysicalIndex> by_uuid;
    std::optional<PhysicalIndex> by_address;
    std::size_t same_uuid = 0;
    std::size_t same_address = 0;
    std::size_t same_both = 0;
    for (std::size_t gpu = 0; gpu < machine.gpus.size() && code == 0; ++gpu) {
      PhysicalIndex const index{static_cast<int>(gpu)};
      bool const has_uuid = machine.gpus[gpu].uuid == device.uuid;
      bool const has_address = machine.gpus[gpu].pci == device.pci;
      same_both += has_uuid && has_address ? 1 : 0;
      if (has_uuid && (same_uuid++ == 0 || has_address)) by_uuid = index;
      if (has_address && (same_address++ == 0 || has_uuid)) by_address = index;
    }
    if (same_uuid > 1 && same_both != 1) by_uuid.reset();
    if (same_address > 1 && same_both != 1) by_address.reset();
    device.physical = by_uuid;
    if (!device.physical && by_address) {
      device.physical = by_address;
      device.is_mig = machine.gpus[static_cast<std::size_t>(by_address->value)].uuid.has_value();
    }
    devices.push_back(std::move(device));
  }
  if (code != 0) devices.clear();
  return devices;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DEVICE_MAP_HPP
