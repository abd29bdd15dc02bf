#ifndef CUENV_DIAGNOSIS_DRIVER_HPP
#define CUENV_DIAGNOSIS_DRIVER_HPP

#include <cuenv/cuda_version.hpp>
#include <cuenv/detail/compat_note.hpp>
#include <cuenv/detail/files.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/diagnosis/gpus.hpp>
#include <cuenv/diagnosis/library_search.hpp>
#include <cuenv/diagnosis/platform.hpp>
#include <cuenv/diagnosis/rung.hpp>
#include <cuenv/diagnosis/site.hpp>
#include <cuenv/driver.hpp>
#include <cuenv/gpu_code_rules.hpp>
#include <cuenv/gpu_generations.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/system.hpp>
#include <cuenv/version.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

CUENV_NAMESPACE_BEGIN

/// The second rung, and what the others need of it.
struct DriverFound {
  /// The newest CUDA that the driver library serves: its own answer, or by its branch where it cannot be asked.
  std::optional<CudaVersion> cuda;
  /// The file behind libcuda.so.1, links followed; empty where there is none.
  std::string library;
  /// Whether the loader would open libnvidia-ptxjitcompiler.so.1, which compiles PTX; nothing where that is not known.
  std::optional<bool> jit_compiler;
  /// The file that the loader would take for it, whether it is a library or not; empty where there is none.
  std::string jit_compiler_file;
  RungReport report;  ///< of `Rung::driver`
};

/// A forward-compatibility package (cuda-compat-X-Y): the branch of its libcuda, and the branches of the kernel module
/// under which it is supported at present, for libraries that do not say themselves. Source: CUDA compatibility guide,
/// forward compatibility. Not measured.
struct CompatPackage {
  int branch;                 ///< of the package's libcuda: 580 of 580.65.06
  std::array<int, 6> serves;  ///< branches of the kernel module, oldest first; 0 fills up
};
/// By branch.
inline constexpr CompatPackage compat_packages[] = {
    {545, {535}},
    {550, {535}},
    {555, {535}},
    {560, {535}},
    {570, {535}},
    {575, {535, 570}},
    {580, {535, 570}},
    {590, {535, 570, 580}},
    {595, {535, 570, 580, 590}},
    {610, {535, 570, 580, 590, 595}},
    {615, {535, 570, 580, 590, 595, 610}},
};

namespace detail {

/// "580.159.04" of "/usr/lib/libcuda.so.580.159.04"; empty where the name has no version of a driver: WSL's library
/// ends with 1.1.
[[nodiscard]] inline std::string version_of_library(std::string_view path) {
  std::size_t const at = path.rfind(".so.");
  if (at == std::string_view::npos) return "";
  std::string_view const version = path.substr(at + 4);
  std::size_t const dot = version.find('.');
  bool const digits_only = version.find_first_not_of("0123456789.") == std::string_view::npos;
  return digits_only && dot != std::string_view::npos && dot >= 3 ? std::string{version} : "";
}

/// The first number of a version; 0 where there is none.
[[nodiscard]] inline int branch_of(std::string_view version) noexcept {
  auto const number = parse_decimal(version.substr(0, version.find('.')), 99999);
  return number ? static_cast<int>(*number) : 0;
}

/// The newest CUDA that a branch serves, by the table of releases.
[[nodiscard]] inline std::optional<CudaVersion> cuda_of_branch(int branch) noexcept {
  std::optional<CudaVersion> cuda;
  for (CudaRelease const& release : cuda_releases) {
    if (release.driver_branch != 0 && release.driver_branch <= branch) cuda = release.cuda;
  }
  return cuda;
}

/// In a folder of the toolkit's (/usr/local/cuda-13.0/compat) or of conda's (cuda-compat) package.
[[nodiscard]] inline bool is_compat_library(std::string_view path) noexcept {
  return path.find("/compat/") != std::string_view::npos || path.find("/cuda-compat") != std::string_view::npos;
}

/// How a library came to be found: the variable with the folder in it, or the loader's other places.
struct LibraryOrigin {
  std::string subject;
  std::string value;
  std::string fix;
};
[[nodiscard]] inline LibraryOrigin origin_of(Site const& site, std::string const& path) {
  std::string const folder = folder_of(path);
  std::string const list = site.get("LD_LIBRARY_PATH").value_or("");
  for (std::string_view rest = list; !rest.empty();) {
    std::string const item{take_until(rest, ':')};
    if (!item.empty() && item.front() == '/' && site.real_path(item) == site.real_path(folder))
      return {"LD_LIBRARY_PATH", list, "remove " + item + " from LD_LIBRARY_PATH"};
  }
  return {
      path, "",
      "remove " + folder + " from the loader's path: the program's run path, or /etc/ld.so.conf.d and then ldconfig"};
}

/// What is known of the kernel module.
struct KernelModule {
  std::string version;
  /// Whether it is of the open kind; nothing where it is not loaded or does not say.
  std::optional<bool> open;
  /// A file of it is there, whether or not it can be understood.
  bool is_there = false;
};
[[nodiscard]] inline KernelModule read_kernel_module(Site const& site) {
  KernelModule kernel_module;
  if (auto const text = site.read("/proc/driver/nvidia/version")) {
    kernel_module.is_there = true;
    kernel_module.version = parse_driver_version(*text);
    if (text->find("NVRM") != std::string::npos)
      kernel_module.open = text->find("Open Kernel Module") != std::string::npos;
  }
  if (kernel_module.version.empty()) {
    auto const text = site.read("/sys/module/nvidia/version", 64);
    kernel_module.is_there = kernel_module.is_there || text.has_value();
    kernel_module.version = parse_driver_version(text.value_or(""));
  }
  return kernel_module;
}

/// Finds that a driver library is the toolkit's stub, or one for forward compatibility that does not go with the kernel
/// module or the GPU.
inline void check_library_kind(Site const& site, std::string const& path, bool answers_as_stub,
                               std::string const& version, KernelModule const& kernel_module, Machine const& machine,
                               DriverFound& found) {
  auto const find = [&](Severity severity, std::string_view code, std::string what, std::string driver) {
    LibraryOrigin origin = origin_of(site, path);
    found.report.findings.push_back({severity, code, std::move(origin.subject), std::move(origin.value),
                                     Diagnostic::no_offset, std::move(what), std::move(driver), std::move(origin.fix)});
  };
  if (answers_as_stub || path.find("/stubs/") != std::string::npos ||
      found.library.find("/stubs/") != std::string::npos) {
    find(Severity::error, "driver.stub", "libcuda.so.1 is " + path + ", the toolkit's stub, which is for linking only",
         "every call answers 34 (STUB_LIBRARY) (documented)");
    return;
  }
  if (!is_compat_library(path) && !is_compat_library(found.library)) return;
  std::string const pair = "libcuda.so.1 is " + path + " (" + (version.empty() ? "version unknown" : version) +
                           "), for forward compatibility, and the kernel module is " +
                           (kernel_module.version.empty() ? "unknown" : kernel_module.version);
  found.report.add_fact("forward compatibility", folder_of(path));
  if (version.empty() || kernel_module.version.empty()) return;
  int const branch = branch_of(kernel_module.version);
  if (branch_of(version) < branch) {
    find(Severity::error, "driver.compat_older", pair + ", of a newer branch",
         "cuInit answers 803 (SYSTEM_DRIVER_MISMATCH) (documented, not measured)");
    return;
  }
  if (branch_of(version) == branch) return;
  for (Gpu const& gpu : machine.gpus) {
    if (gpu.name.find("GeForce") == std::string::npos && gpu.name.find("TITAN") == std::string::npos) continue;
    find(Severity::error, "driver.compat_gpu",
         "libcuda.so.1 is " + path + ", for forward compatibility, which " + gpu.name + " does not support",
         "cuInit answers 804 (COMPAT_NOT_SUPPORTED_ON_DEVICE) (documented, not measured)");
    return;
  }
  std::string failure;
  std::vector<int> served = read_compat_branches(site.root + found.library, &failure);
  if (found.report.add_unknown("which kernel modules " + path + " serves", failure)) return;
  for (CompatPackage const& package : compat_packages) {
    if (served.empty() && package.branch == branch_of(version))
      served.assign(package.serves.begin(), package.serves.end());
  }
  for (int const one : served) {
    if (one == branch) return;
  }
  if (!served.empty()) {
    find(Severity::warning, "driver.compat_branch", pair + ", of a branch that this package does not serve",
         "cuInit may answer 803 (SYSTEM_DRIVER_MISMATCH) or 804 (COMPAT_NOT_SUPPORTED_ON_DEVICE) (documented, not "
         "measured)");
  }
}

/// Finds that the kernel module is of the kind that cannot drive a GPU of this machine.
inline void check_module_kind(std::optional<std::vector<PciGpu>> const& bus, bool in_container,
                              KernelModule const& kernel_module, Machine const& machine, RungReport& report) {
  if (!kernel_module.open || !bus || in_container) return;
  for (PciGpu const& gpu : *bus) {
    auto const cc = capability_of_pci_device(gpu.device_id);
    bool works = !cc || !(gpu.driver.empty() || gpu.driver == "nvidia");
    for (Gpu const& usable : machine.gpus) works = works || usable.pci == gpu.address;
    if (works) continue;
    Severity const severity = machine.gpus.empty() ? Severity::error : Severity::warning;
    std::string const name = "PCI " + to_string(gpu.address);
    if (!*kernel_module.open && needs_open_module(*cc)) {
      report.findings.push_back({severity, "driver.needs_open", name, std::string{architecture_of(*cc)},
                                 Diagnostic::no_offset,
                                 "the kernel module is the proprietary one, and this GPU needs the open one",
                                 "nvidia-smi finds no device (reported by users, not measured)",
                                 "install the driver's open kernel modules (packages named nvidia-open)"});
    } else if (*kernel_module.open && needs_proprietary_module(*cc)) {
      report.findings.push_back({severity, "driver.needs_proprietary", name, std::string{architecture_of(*cc)},
                                 Diagnostic::no_offset,
                                 "the kernel module is the open one, and this GPU needs the proprietary one", "",
                                 "install the driver's proprietary kernel modules, of branch 580 at the latest"});
    }
  }
}

/// Finds that a machine with NVSwitch lacks the service that sets it up. A container does not see it.
inline void check_fabric_manager(Site const& site, RungReport& report) {
  Look const look{site};
  auto const switches = look.list("/proc/driver/nvidia-nvswitch/devices");
  if (report.add_unknown("whether this machine has NVSwitch", look.failure())) return;
  if (!switches || switches->empty()) return;
  report.add_fact("NVSwitch", std::to_string(switches->size()) + (switches->size() == 1 ? " device" : " devices"));
  if (!container_of(site).empty()) return;
  for (std::string const& process : look.list("/proc").value_or(std::vector<std::string>{})) {
    if (process.empty() || !is_digit(process.front())) continue;
    // The kernel keeps 15 letters of nv-fabricmanager.
    if (starts_with(look.read("/proc/" + process + "/comm", 64).value_or(""), "nv-fabricmanage")) return;
  }
  if (report.add_unknown("whether nv-fabricmanager runs, which NVSwitch needs", look.failure())) return;
  report.findings.push_back({Severity::warning, "driver.fabric_manager", "/proc/driver/nvidia-nvswitch/devices", "",
                             Diagnostic::no_offset,
                             "this machine has NVSwitch, and no process nv-fabricmanager is seen",
                             "without it cuInit answers 802 (SYSTEM_NOT_READY) (documented, not measured)",
                             "systemctl start nvidia-fabricmanager"});
}

/// Says why there is no driver library.
inline void explain_missing_library(Site const& site, std::string const& loader_words,
                                    KernelModule const& kernel_module, RungReport& report) {
  std::string const container = container_of(site);
  auto const find = [&](std::string_view code, std::string subject, std::string what, std::string fix) {
    report.findings.push_back(
        {Severity::error, code, std::move(subject), loader_words, Diagnostic::no_offset, std::move(what),
         "the CUDA runtime answers 35 (INSUFFICIENT_DRIVER) (documented, not measured)", std::move(fix)});
  };
  Look const look{site};
  auto const path = find_library(look, "libcuda.so.1");
  auto const plain = path ? std::nullopt : find_library(look, "libcuda.so");
  if (report.add_unknown("why libcuda.so.1 cannot be loaded" + (loader_words.empty() ? "" : " (" + loader_words + ")"),
                         look.failure())) {
    return;
  }
  if (path) {
    find("driver.cannot_load", *path,
         "the driver library is there and cannot be loaded" + (loader_words.empty() ? "" : ": " + loader_words),
         "install the driver again, complete and for this processor");
  } else if (plain) {
    find("driver.unversioned_only", *plain, "only libcuda.so is there: a driver is opened by the name libcuda.so.1",
         plain->find("/stubs/") != std::string::npos ? "install the driver: this file is the toolkit's stub"
                                                     : "run ldconfig, or install the driver again");
  } else if (is_wsl(site)) {
    find("driver.no_library", "libcuda.so.1", "the driver library of WSL is not on the loader's path",
         site.exists("/usr/lib/wsl/lib/libcuda.so.1")
             ? "echo /usr/lib/wsl/lib > /etc/ld.so.conf.d/ld.wsl.conf && ldconfig"
             : "update the NVIDIA driver of Windows, then: wsl --shutdown");
  } else if (!container.empty()) {
    find("driver.no_library", "libcuda.so.1", "the driver library was not given to this container",
         std::string{how_to_give_gpus(container)} +
             "; NVIDIA_DRIVER_CAPABILITIES, where it is set, needs compute and utility");
  } else {
    find("driver.no_library", "libcuda.so.1",
         kernel_module.version.empty() ? "there is no driver library: NVIDIA's driver is not installed"
                                       : "the kernel module is there, and no driver library on the loader's path",
         kernel_module.version.empty() ? "install the driver"
                                       : "install the driver's CUDA library, version " + kernel_module.version);
  }
}

}  // namespace detail

/// Looks at the kernel module, at the file that libcuda.so.1 is, and at how they go together. Loads the driver library,
/// which does not start CUDA, and asks its version. Nothing is thrown but bad_alloc. Thread-safe.
[[nodiscard]] inline DriverFound diagnose_driver(Site const& site, Machine const& machine) {
  DriverFound found;
  RungReport& report = found.report;
  report.rung = Rung::driver;
  report.add_unknown("whether LD_LIBRARY_PATH leads to another libcuda.so.1", site.variables_unknown);
  bool const wsl = is_wsl(site);
  bool const in_container = !container_of(site).empty();
  auto const bus = detail::read_pci_gpus(site);

  Look const look{site};
  detail::KernelModule kernel_module = detail::read_kernel_module(look);
  if (kernel_module.version.empty() && !machine.gpus.empty()) kernel_module.version = machine.driver_version;
  if (!kernel_module.version.empty()) {
    std::string const kind = !kernel_module.open ? "" : *kernel_module.open ? ", open" : ", proprietary";
    report.add_fact("kernel module", kernel_module.version + kind);
  } else if (kernel_module.is_there) {
    report.unknown.push_back("the version of the kernel module: /proc/driver/nvidia/version is not understood");
  } else if (report.add_unknown("whether the kernel module nvidia is loaded", look.failure())) {
    // and so nothing is said of it
  } else if (machine.gpus.empty() && !wsl && !is_tegra(site) && !(bus && bus->empty())) {
#ifdef _WIN32
    report.unknown.push_back("the kernel driver: this was written for Linux");
#else
    report.findings.push_back(
        {Severity::error, "driver.not_loaded", "/proc/driver/nvidia/version", "", Diagnostic::no_offset,
         "the kernel module nvidia is not loaded",
         "cuInit answers 100 (NO_DEVICE) or 999 (UNKNOWN) (documented, not measured)",
         in_container ? "load it on the host: modprobe nvidia" : "install the driver, or load it: modprobe nvidia"});
#endif
  }

  DriverLibrary const driver = site.system.open_driver(DriverOpen::load);
  Look const search{site};
  auto const searched = find_library(search, "libcuda.so.1");
  std::string const path = driver.loaded ? driver.path : driver.error.empty() ? searched.value_or("") : "";
  if (path.empty() && !driver.loaded) {
    detail::explain_missing_library(site, driver.error, kernel_module, report);
    detail::check_module_kind(bus, in_container, kernel_module, machine, report);
    return found;
  }
  // A relative folder on the loader's path gives a relative name.
  bool const relative = !path.empty() && path.front() != '/';
  found.library = site.real_path(relative ? site.link("/proc/self/cwd").value_or("") + "/" + path : path);
  std::string const version = detail::version_of_library(found.library);
  report.add_fact("libcuda.so.1", found.library + (driver.simulated_root.empty() ? "" : " (simulated)"));

  int number = 0;
  if (driver.loaded && driver.api.driver_get_version != nullptr &&
      driver.api.driver_get_version(&number) == CUDA_SUCCESS) {
    found.cuda = CudaVersion::from_number(number);
    report.add_fact("CUDA", to_string(*found.cuda));
  } else if (!driver.loaded) {
    found.cuda = detail::cuda_of_branch(detail::branch_of(version.empty() ? kernel_module.version : version));
    if (found.cuda) report.add_fact("CUDA", to_string(*found.cuda) + ", by its branch");
  }

  bool const stub = driver.loaded && driver_state(driver) == DriverState::stub;
  detail::check_library_kind(site, path, stub, version, kernel_module, machine, found);
  bool const compat = detail::is_compat_library(path) || detail::is_compat_library(found.library);
  bool const mismatch =
      !compat && !version.empty() && !kernel_module.version.empty() && version != kernel_module.version;
  if (mismatch) {
    report.findings.push_back(
        {Severity::error, "driver.mismatch", found.library, version, Diagnostic::no_offset,
         "the driver library is of version " + version + ", the kernel module of " + kernel_module.version,
         "cuInit answers 803 (SYSTEM_DRIVER_MISMATCH) (documented, not measured)",
         in_container
             ? "start the container anew: it has the libraries of the driver that the host had before"
             : "reboot; or stop what uses the GPUs, then: rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia && "
               "modprobe nvidia"});
  }
  // A simulated driver describes another machine than the one whose NVML would be found.
  auto const nvml = driver.simulated_root.empty() ? find_library(search, "libnvidia-ml.so.1") : std::nullopt;
  std::string const nvml_version = nvml ? detail::version_of_library(site.real_path(*nvml)) : "";
  if (!mismatch && !nvml_version.empty() && !kernel_module.version.empty() && nvml_version != kernel_module.version &&
      !report.add_unknown("which libnvidia-ml.so.1 the loader takes", search.failure())) {
    report.findings.push_back({Severity::warning, "driver.nvml_version", site.real_path(*nvml), nvml_version,
                               Diagnostic::no_offset,
                               "NVML is of version " + nvml_version + ", the kernel module of " + kernel_module.version,
                               "nvidia-smi and NCCL fail with a driver/library version mismatch (documented)",
                               "reboot after an update; else remove the file that is left of another driver"});
  }
  if (wsl && !in_container && found.library.compare(0, 13, "/usr/lib/wsl/") != 0) {
    report.findings.push_back({Severity::error, "driver.not_wsl", found.library, "", Diagnostic::no_offset,
                               "in WSL the driver is Windows' own, in /usr/lib/wsl/lib, and this is another",
                               "a Linux driver inside WSL finds no GPU (documented, not measured)",
                               "remove the Linux driver's packages, such as: apt-get remove 'libnvidia-compute-*'"});
  }
  // In WSL the compiler is in a folder that only the library knows. A library that was found in another way than by the
  // loader's search says nothing of that search, and a simulated one compiles nothing.
  if (!wsl && driver.simulated_root.empty() && searched && site.real_path(*searched) == found.library) {
    constexpr std::string_view compiler = "libnvidia-ptxjitcompiler.so.1";
    std::string const beside = detail::folder_of(found.library) + "/" + std::string{compiler};
    std::string const file = find_library(search, compiler).value_or(search.exists(beside) ? beside : "");
    // A file that is no library is what the loader takes, and the driver answers 221 (measured, driver 580).
    bool const is_library = !file.empty() && search.is_elf_file(file);
    if (is_library || !report.add_unknown("whether PTX can be compiled", search.failure())) {
      found.jit_compiler = is_library;
      found.jit_compiler_file = file;
      report.add_fact("PTX compiler", is_library     ? "found"
                                      : file.empty() ? "not found"
                                                     : file + ", which is no library");
    }
  }
  detail::check_module_kind(bus, in_container, kernel_module, machine, report);
  detail::check_fabric_manager(site, report);
  return found;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_DRIVER_HPP
