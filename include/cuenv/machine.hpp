#ifndef CUENV_MACHINE_HPP
#define CUENV_MACHINE_HPP

#include <cuenv/detail/files.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/gpu.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

CUENV_NAMESPACE_BEGIN

/// Who described the GPUs of a machine.
enum class MachineSource {
  unknown,   ///< nobody: there is no such folder, and NVML was not asked or is absent
  proc,      ///< the kernel driver, in /proc/driver/nvidia/gpus
  nvml,      ///< the management library, which lists every GPU whatever the CUDA variables say (measured, driver 580)
  described  ///< a file or a program
};

/// The enumerator's name, in text and JSON.
[[nodiscard]] constexpr std::string_view to_string(MachineSource source) noexcept {
  constexpr std::string_view names[] = {"unknown", "proc", "nvml", "described"};
  return names[static_cast<std::size_t>(source)];
}

/// The GPUs that are exposed here, as far as they are known without CUDA.
struct Machine {
  /// In the order of the PCI bus: the position is the physical index.
  std::vector<Gpu> gpus;
  MachineSource source = MachineSource::unknown;  ///< unknown: how many GPUs there are is not known
  /// Such as "580.159.04"; empty where unknown.
  std::string driver_version;
  /// Why nobody can tell before cuInit which of the GPUs CUDA sees here; empty where that is known.
  std::string_view doubt;

  /// The first number of the driver version, the newest known where it is unknown.
  [[nodiscard]] int driver_branch() const noexcept {
    auto const number = detail::strtoull_base10(driver_version);
    return number.used == 0 || number.value > 99999 ? 99999 : static_cast<int>(number.value);
  }
  /// How many of them CUDA can see: all, but for those that an MPS daemon hides.
  [[nodiscard]] std::size_t reachable_gpus() const noexcept {
    std::size_t count = 0;
    for (Gpu const& gpu : gpus) count += gpu.hidden_by_mps ? 0 : 1;
    return count;
  }
  /// True when all that CUDA can see have the same name: then every order of CUDA is the order of the bus (measured on
  /// two H200).
  [[nodiscard]] bool gpus_are_alike() const noexcept {
    Gpu const* first = nullptr;
    for (Gpu const& gpu : gpus) {
      if (gpu.hidden_by_mps) continue;
      if (first == nullptr) first = &gpu;
      if (gpu.name != first->name || gpu.mig_enabled) return false;
    }
    return true;
  }
};

/// Puts GPUs into the order of the PCI bus; those of one address stay in the order that they have.
inline void sort_by_pci(std::vector<Gpu>& gpus) {
  for (std::size_t i = 1; i < gpus.size(); ++i) {  // a handful, mostly sorted already
    for (std::size_t j = i; j > 0 && gpus[j].pci < gpus[j - 1].pci; --j) std::swap(gpus[j], gpus[j - 1]);
  }
}

namespace detail {

/// One /proc/driver/nvidia/gpus/<pci>/information.
struct ProcGpu {
  Gpu gpu;
  bool has_pci = false;
  bool excluded = false;
  std::optional<std::uint64_t> minor_number;
};

[[nodiscard]] inline ProcGpu parse_gpu_information(std::string_view text) {
  ProcGpu result;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    std::string_view const key = trim(take_until(line, ':'));
    std::string_view const value = trim(line);
    if (key == "Model") {
      result.gpu.name = std::string{value};
    } else if (key == "GPU UUID") {
      // "GPU-????????-..." where the driver has not started the GPU: the UUID stays unknown.
      if (starts_with(value, "GPU-")) result.gpu.uuid = parse_uuid(value.substr(4));
    } else if (key == "Bus Location") {
      if (auto const pci = parse_pci_address(value)) {
        result.gpu.pci = *pci;
        result.has_pci = true;
      }
    } else if (key == "Device Minor") {
      result.minor_number = parse_decimal(value, 1000000);
    } else if (key == "GPU Excluded") {
      result.excluded = equal_ignoring_case(value, "yes");
    }
  }
  return result;
}

/// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Release Build ..." gives "580.159.04".
[[nodiscard]] inline std::string parse_driver_version(std::string_view text) {
  std::string_view line = take_until(text, '\n');
  while (!line.empty()) {
    while (!line.empty() && is_space(line.front())) line.remove_prefix(1);
    std::string_view const word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
    std::size_t dots = 0;
    bool version = !word.empty() && is_digit(word.front());
    for (char c : word) {
      dots += c == '.' ? 1 : 0;
      version = version && (c == '.' || is_digit(c));
    }
    if (version && dots > 0) return std::string{word};
  }
  return {};
}

}  // namespace detail

/// What the kernel driver says of its GPUs, read from files below `root` ("" for the real machine), without any
/// library. A GPU counts only when its device node exists here and it is not excluded, so a container's own GPUs are
/// what is listed. Nothing is thrown but bad_alloc: what cannot be read is unknown. Thread-safe. Linux only: elsewhere
/// the machine is unknown.
[[nodiscard]] inline Machine read_machine(std::string const& root) {
  Machine machine;
  if (auto const version = detail::read_small_file(root + "/proc/driver/nvidia/version")) {
    machine.driver_version = detail::parse_driver_version(*version);
  }
  auto const folders = detail::list_directory(root + "/proc/driver/nvidia/gpus");
  if (!folders) return machine;
  machine.source = MachineSource::proc;
  for (std::string const& folder : *folders) {
    auto const text = detail::read_small_file(root + "/proc/driver/nvidia/gpus/" + folder + "/information");
    if (!text) continue;
    detail::ProcGpu found = detail::parse_gpu_information(*text);
    if (!found.has_pci) {
      auto const pci = parse_pci_address(folder);
      if (!pci) continue;
      found.gpu.pci = *pci;
    }
    bool const exposed =
        found.minor_number && detail::path_exists(root + "/dev/nvidia" + std::to_string(*found.minor_number));
    if (exposed && !found.excluded) machine.gpus.push_back(std::move(found.gpu));
  }
  sort_by_pci(machine.gpus);
  return machine;
}

CUENV_NAMESPACE_END

#endif  // CUENV_MACHINE_HPP
