#ifndef CUENV_DIAGNOSIS_GPUS_HPP
#define CUENV_DIAGNOSIS_GPUS_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnosis/platform.hpp>
#include <cuenv/diagnosis/rung.hpp>
#include <cuenv/diagnosis/site.hpp>
#include <cuenv/gpu.hpp>
#include <cuenv/gpu_generations.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/nvml.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

CUENV_NAMESPACE_BEGIN

/// The lowest rung, and what the others need of it.
struct GpusFound {
  /// The GPUs that this process may use, as /proc and NVML describe them; compute capabilities that neither knows are
  /// from tables (see gpu_generations.hpp).
  Machine machine;
  RungReport report;  ///< of `Rung::gpus`
};

namespace detail {

/// A GPU of NVIDIA on the PCI bus, whatever drives it.
struct PciGpu {
  PciAddress address;
  unsigned device_id = 0;
  /// The kernel driver that holds it: "nvidia", "nouveau", "vfio-pci"; empty where none does.
  std::string driver;
};

/// "0x10de\n" as a number; 0 where it is none.
[[nodiscard]] inline unsigned parse_sysfs_hex(std::optional<std::string> const& text) noexcept {
  std::string_view digits = text ? trim(*text) : std::string_view{};
  if (!starts_with(digits, "0x") || digits.size() > 10) return 0;
  unsigned value = 0;
  for (char c : digits.substr(2)) {
    if (hex_digit(c) < 0) return 0;
    value = (value << 4) | static_cast<unsigned>(hex_digit(c));
  }
  return value;
}

/// Display and 3D controllers (class 0x03) of vendor 0x10de in the order of the bus, without virtual functions, which
/// are for virtual machines; nothing where the bus cannot be listed.
[[nodiscard]] inline std::optional<std::vector<PciGpu>> read_pci_gpus(Site const& site) {
  std::string const folder = "/sys/bus/pci/devices/";
  auto const names = site.list(folder);
  if (!names) return std::nullopt;
  std::vector<PciGpu> gpus;
  for (std::string const& name : *names) {
    std::string const device = folder + name;
    auto const address = parse_pci_address(name);
    if (!address || parse_sysfs_hex(site.read(device + "/vendor", 32)) != 0x10de) continue;
    if (parse_sysfs_hex(site.read(device + "/class", 32)) >> 16 != 0x03) continue;
    if (site.exists(device + "/physfn")) continue;
    PciGpu gpu{*address, parse_sysfs_hex(site.read(device + "/device", 32)), ""};
    if (auto const driver = site.link(device + "/driver")) gpu.driver = driver->substr(driver->rfind('/') + 1);
    gpus.push_back(std::move(gpu));
    for (std::size_t i = gpus.size() - 1; i > 0 && gpus[i].address < gpus[i - 1].address; --i)
      std::swap(gpus[i], gpus[i - 1]);
  }
  return gpus;
}

/// Every GPU that the kernel driver lists, also those that are excluded or have no device node here.
[[nodiscard]] inline std::vector<ProcGpu> read_proc_gpus(Site const& site) {
  std::vector<ProcGpu> gpus;
  std::string const folder = "/proc/driver/nvidia/gpus/";
  for (std::string const& name : site.list(folder).value_or(std::vector<std::string>{})) {
    auto const text = site.read(folder + name + "/information");
    if (!text) continue;
    ProcGpu gpu = parse_gpu_information(*text);
    auto const address = parse_pci_address(name);
    if (!gpu.has_pci && !address) continue;
    if (!gpu.has_pci) gpu.gpu.pci = *address;
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

[[nodiscard]] inline Gpu* find_gpu(Machine& machine, PciAddress address) noexcept {
  for (Gpu& gpu : machine.gpus) {
    if (gpu.pci == address) return &gpu;
  }
  return nullptr;
}

/// Adds what NVML knows to what the kernel's files say; where these list no GPU (in WSL and in some sandboxes), NVML's
/// list counts. Returns the GPUs that both know: none where a simulated driver stands before a real NVML.
inline std::size_t merge_nvml(Machine& machine, Machine const& nvml) {
  if (nvml.source != MachineSource::nvml) return 0;
  if (machine.gpus.empty()) {
    std::string version = std::move(machine.driver_version);
    machine = nvml;
    if (!version.empty()) machine.driver_version = std::move(version);
    return machine.gpus.size();
  }
  std::size_t both = 0;
  for (Gpu const& known : nvml.gpus) {
    Gpu* const gpu = find_gpu(machine, known.pci);
    if (gpu == nullptr || (gpu->uuid && known.uuid && *gpu->uuid != *known.uuid)) continue;
    ++both;
    if (!gpu->uuid) gpu->uuid = known.uuid;
    if (gpu->name.empty()) gpu->name = known.name;
    gpu->compute_capability = known.compute_capability;
    gpu->mig_enabled = known.mig_enabled;
    gpu->mig = known.mig;
  }
  return both;
}

/// "9.0 (Hopper)"
[[nodiscard]] inline std::string capability_words(ComputeCapability cc) {
  std::string const architecture{architecture_of(cc)};
  return to_string(cc) + (architecture.empty() ? "" : " (" + architecture + ")");
}

/// What a kernel driver other than NVIDIA's means for CUDA.
struct OtherDriver {
  std::string_view name;
  std::string_view code;
  std::string_view what;
  std::string_view fix;
};
inline constexpr OtherDriver other_drivers[] = {
    {"", "gpu.no_driver", "no kernel driver has taken this GPU",
     "install NVIDIA's driver if it is missing, then: modprobe nvidia; see why it refuses with: dmesg | grep NVRM"},
    {"nouveau", "gpu.nouveau", "the kernel driver nouveau holds this GPU, and CUDA needs NVIDIA's",
     "install NVIDIA's driver, put \"blacklist nouveau\" into /etc/modprobe.d/nouveau.conf, renew the initramfs, "
     "reboot"},
    {"vfio-pci", "gpu.passed_through", "this GPU is set aside for a virtual machine, so programs here cannot use it",
     "if it is meant for this machine, remove it from vfio-pci (driver_override, or vfio-pci.ids of the kernel)"},
};

/// What the findings about single GPUs have in common.
struct GpuReporter {
  RungReport& report;
  Machine const& machine;
  bool in_container = false;

  [[nodiscard]] bool others_work() const noexcept { return !machine.gpus.empty(); }
  /// An error where this process is left without a GPU.
  [[nodiscard]] Severity severity() const noexcept { return others_work() ? Severity::warning : Severity::error; }
  void find(Severity how, std::string_view code, std::string subject, std::string value, std::string what,
            std::string fix) const {
    report.findings.push_back(
        {how, code, std::move(subject), std::move(value), Diagnostic::no_offset, std::move(what),
         how == Severity::error ? "cuInit answers 100 (NO_DEVICE) (documented, not measured)" : "", std::move(fix)});
  }
};

/// Why a GPU that is on the bus is not among those that this process can use.
inline void explain_absent_gpu(PciGpu const& gpu, GpuReporter const& reporter) {
  auto const cc = capability_of_pci_device(gpu.device_id);
  std::string const architecture{cc ? architecture_of(*cc) : std::string_view{}};
  std::string const where = "PCI " + to_string(gpu.address);
  Severity const severity = reporter.severity();
  // Where the driver is there and refuses the GPU, no driver holds it.
  bool const refused = gpu.driver.empty() && !reporter.machine.driver_version.empty();
  int const branch = reporter.machine.driver_branch();
  Age const age = cc && (refused || gpu.driver == "nvidia") ? age_for_driver(*cc, branch) : Age::unknown;
  if (gpu.driver == "nvidia" && reporter.in_container) return;  // it belongs to the host, or to another container
  if (age == Age::gpu_too_old && !reporter.machine.driver_version.empty()) {
    std::string const last = std::to_string(find_generation(*cc)->last_driver_branch);
    reporter.find(severity, "gpu.too_old_for_driver", where, architecture,
                  "drivers support " + architecture + " up to branch " + last + ", and " +
                      reporter.machine.driver_version + " is installed",
                  "install a driver of branch " + last);
    return;
  }
  if (age == Age::gpu_too_new) {
    std::string const first = std::to_string(first_driver_branch(*cc));
    reporter.find(severity, "gpu.too_new_for_driver", where, architecture,
                  "drivers support " + architecture + " from branch " + first + " on, and " +
                      reporter.machine.driver_version + " is installed",
                  "install a driver of branch " + first + " or later");
    return;
  }
  if (gpu.driver == "nvidia") {
    reporter.find(severity, "gpu.not_started", where, architecture,
                  "the kernel driver nvidia holds this GPU and does not list it in /proc/driver/nvidia/gpus",
                  "see why: dmesg | grep NVRM");
    return;
  }
  for (OtherDriver const& row : other_drivers) {
    if (row.name != gpu.driver) continue;
    bool const meant = reporter.others_work() && gpu.driver == "vfio-pci";
    reporter.find(meant ? Severity::note : severity, row.code, where, architecture, std::string{row.what},
                  std::string{row.fix});
    return;
  }
  reporter.find(severity, "gpu.other_driver", where, architecture,
                "the kernel driver " + gpu.driver + " holds this GPU, and CUDA needs NVIDIA's",
                "give it to the kernel driver nvidia");
}

/// GPUs that the kernel driver lists and that are excluded, or have no device node here.
inline void explain_listed_gpus(std::vector<ProcGpu> const& listed, GpuReporter const& reporter) {
  std::string hidden;
  for (ProcGpu const& gpu : listed) {
    std::string const where = "PCI " + to_string(gpu.gpu.pci);
    if (gpu.excluded) {
      reporter.find(reporter.others_work() ? Severity::note : Severity::error, "gpu.excluded", where, gpu.gpu.name,
                    "the kernel driver was told to leave this GPU alone",
                    "if that is not meant, remove NVreg_ExcludedGpus from the options of the kernel module nvidia");
    }
    bool here = gpu.excluded;
    for (Gpu const& usable : reporter.machine.gpus) here = here || usable.pci == gpu.gpu.pci;
    if (here) continue;
    hidden += (hidden.empty() ? "" : ", ") + to_string(gpu.gpu.pci);
    if (reporter.in_container) continue;
    std::string const minor_number = gpu.minor_number ? std::to_string(*gpu.minor_number) : "N";
    reporter.find(reporter.severity(), "gpu.no_device_node", where, gpu.gpu.name,
                  "there is no /dev/nvidia" + minor_number + " for this GPU", "nvidia-modprobe -u -c " + minor_number);
  }
  if (!hidden.empty() && reporter.in_container)
    reporter.report.add_fact("GPUs of the host without a node here", hidden);
}

/// What two GPUs, or the parts of one, need besides being there.
inline void explain_usable_gpus(Site const& site, GpuReporter const& reporter) {
  std::vector<Gpu> const& gpus = reporter.machine.gpus;
  bool unlike = false;
  std::size_t without_part = 0;
  for (Gpu const& gpu : gpus) {
    unlike = unlike || gpu.name != gpus.front().name;
    if (gpu.mig_enabled && gpu.mig.empty()) ++without_part;
  }
  for (Gpu const& gpu : gpus) {
    if (!gpu.mig_enabled || !gpu.mig.empty()) continue;
    reporter.find(without_part == gpus.size() ? Severity::error : Severity::warning, "gpu.mig_empty",
                  "PCI " + to_string(gpu.pci), gpu.name, "MIG is on and this GPU has no instance here",
                  "make one (nvidia-smi mig -cgi PROFILE -C), or switch MIG off (nvidia-smi -mig 0)");
  }
  std::string const visible = site.get("CUDA_VISIBLE_DEVICES").value_or("");
  bool const by_id = starts_with(visible, "GPU-") || starts_with(visible, "MIG-");
  if (unlike && !by_id && !site.get("CUDA_DEVICE_ORDER") && site.variables_unknown.empty()) {
    reporter.report.findings.push_back(
        {Severity::note, "gpu.order_unset", "CUDA_DEVICE_ORDER", "", Diagnostic::no_offset,
         "the GPUs differ, so CUDA may number them in another order than nvidia-smi",
         "without the variable the fastest GPU comes first (documented; how the others follow is not)",
         "export CUDA_DEVICE_ORDER=PCI_BUS_ID"});
  }
}

/// Why there are no more GPUs than this process can use. Only for where all that is there could be read.
inline void explain_missing_gpus(std::optional<std::vector<PciGpu>> const& bus, std::vector<ProcGpu> const& listed,
                                 bool elsewhere, std::string const& container, GpuReporter const& reporter) {
  std::vector<PciGpu> const on_bus = bus.value_or(std::vector<PciGpu>{});
  bool held_by_driver = false;
  for (PciGpu const& device : on_bus) {
    held_by_driver = held_by_driver || device.driver == "nvidia";
    bool known = false;
    for (Gpu const& gpu : reporter.machine.gpus) known = known || gpu.pci == device.address;
    for (ProcGpu const& gpu : listed) known = known || gpu.gpu.pci == device.address;
    if (known) continue;
    auto const cc = capability_of_pci_device(device.device_id);
    reporter.report.add_fact("on the bus only", "PCI " + to_string(device.address) +
                                                    (cc ? ", " + capability_words(*cc) : "") + ", kernel driver " +
                                                    (device.driver.empty() ? "none" : device.driver));
    explain_absent_gpu(device, reporter);
  }
  explain_listed_gpus(listed, reporter);
  if (reporter.others_work()) return;
  if (reporter.in_container && (held_by_driver || !listed.empty())) {
    reporter.find(Severity::error, "gpu.not_exposed", "/dev", "", "the container was given none of its host's GPUs",
                  std::string{how_to_give_gpus(container)});
  } else if (bus && on_bus.empty() && listed.empty() && !elsewhere) {
    reporter.find(Severity::error, "gpu.none", "/sys/bus/pci/devices", "",
                  "there is no GPU of NVIDIA on the PCI bus of this machine",
                  reporter.in_container
                      ? "run the container on a machine with a GPU"
                      : "check that the GPU is plugged in and switched on, or that the virtual machine was given one");
  }
#ifndef _WIN32
  if (!bus && !elsewhere) reporter.report.unknown.emplace_back("the PCI bus: there is no /sys/bus/pci/devices");
#endif
}

inline void add_gpu_facts(std::vector<PciGpu> const& bus, std::vector<bool> const& from_table, bool nvml_answered,
                          GpuReporter const& reporter) {
  std::vector<Gpu> const& gpus = reporter.machine.gpus;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    Gpu const& gpu = gpus[i];
    std::string words = gpu.name.empty() ? "unnamed" : gpu.name;
    if (gpu.compute_capability) {
      words += ", compute capability " + capability_words(*gpu.compute_capability);
      if (from_table[i]) words += ", by a table";
    }
    words += ", PCI " + to_string(gpu.pci);
    if (gpu.uuid) words += ", GPU-" + to_string(*gpu.uuid);
    if (gpu.mig_enabled) {
      words += ", MIG on with " + std::to_string(gpu.mig.size()) + (gpu.mig.size() == 1 ? " instance" : " instances");
    } else if (nvml_answered) {
      words += ", MIG off";
    }
    for (PciGpu const& device : bus) {
      if (device.address == gpu.pci && !device.driver.empty()) words += ", kernel driver " + device.driver;
    }
    reporter.report.add_fact("GPU " + std::to_string(i), std::move(words));
  }
}

}  // namespace detail

/// Looks for NVIDIA's GPUs on the PCI bus, in the kernel driver's files and through NVML, and says which of them this
/// process can use and why the others cannot be. Initialises NVML and shuts it down again, which leaves a thread behind
/// (measured, driver 580); CUDA is not touched. Nothing is thrown but bad_alloc. Thread-safe.
[[nodiscard]] inline GpusFound diagnose_gpus(Site const& site) {
  GpusFound found;
  found.report.rung = Rung::gpus;
  Machine& machine = found.machine;
  machine = read_machine(site.hardware_root);
  Look const look{site};
  auto const bus = detail::read_pci_gpus(look);
  std::vector<detail::PciGpu> const on_bus = bus.value_or(std::vector<detail::PciGpu>{});
  std::vector<detail::ProcGpu> const listed = detail::read_proc_gpus(look);
  for (detail::ProcGpu const& gpu : listed) {  // the machine lacks a GPU whose node could not be looked for
    if (gpu.minor_number) (void)look.exists("/dev/nvidia" + std::to_string(*gpu.minor_number));
  }
  bool const elsewhere = is_wsl(look) || is_tegra(look);  // the GPU is not on the bus

  std::string nvml_error;
  Machine const nvml = read_machine_from_nvml(site.system.open_nvml(), nvml_error);
  std::size_t const from_files = machine.gpus.size();
  std::size_t const in_both = detail::merge_nvml(machine, nvml);

  std::vector<bool> from_table;
  for (Gpu& gpu : machine.gpus) {
    from_table.push_back(!gpu.compute_capability);
    for (detail::PciGpu const& device : on_bus) {
      if (!gpu.compute_capability && device.address == gpu.pci)
        gpu.compute_capability = capability_of_pci_device(device.device_id);
    }
    if (!gpu.compute_capability) gpu.compute_capability = capability_of_name(gpu.name);
  }

  std::string const container = container_of(site);
  detail::GpuReporter const reporter{found.report, machine, !container.empty()};
  detail::add_gpu_facts(on_bus, from_table, in_both > 0, reporter);
  if (!found.report.add_unknown("which GPUs are here, and what keeps others away", look.failure())) {
    detail::explain_missing_gpus(bus, listed, elsewhere, container, reporter);
  }
  detail::explain_usable_gpus(site, reporter);

  if (in_both > 0 && in_both < from_files && from_files == machine.gpus.size()) {
    reporter.find(
        Severity::warning, "gpu.not_in_nvml", "/dev",
        std::to_string(from_files) + " GPUs have a device node, " + std::to_string(in_both) + " are in NVML",
        "NVML does not list every GPU that has a device node here",
        "see nvidia-smi -L and dmesg; in a container the device cgroup, which cannot be read, may forbid some");
  }
  if (!machine.gpus.empty()) return found;
#ifdef _WIN32
  found.report.unknown.push_back("the GPUs: this was written for Linux");
#else
  if (elsewhere && nvml.source != MachineSource::nvml)
    found.report.unknown.push_back("the GPU: it is not on the PCI bus of this machine, and NVML did not answer" +
                                   (nvml_error.empty() ? "" : " (" + nvml_error + ")"));
#endif
  return found;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_GPUS_HPP
