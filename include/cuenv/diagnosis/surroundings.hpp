#ifndef CUENV_DIAGNOSIS_SURROUNDINGS_HPP
#define CUENV_DIAGNOSIS_SURROUNDINGS_HPP

#include <cuenv/detail/files.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/diagnosis/library_search.hpp>
#include <cuenv/diagnosis/platform.hpp>
#include <cuenv/diagnosis/rung.hpp>
#include <cuenv/diagnosis/site.hpp>
#include <cuenv/driver.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/mps.hpp>
#include <cuenv/nvml.hpp>
#include <cuenv/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

CUENV_NAMESPACE_BEGIN
namespace detail {

/// Who a process is to the file system.
struct ProcessOwner {
  std::uint32_t user = 0;
  std::vector<std::uint32_t> groups;
  /// CAP_DAC_OVERRIDE: the modes of files do not bind it.
  bool privileged = false;
};

/// From the text of /proc/<process>/status; nothing where that does not say it.
[[nodiscard]] inline std::optional<ProcessOwner> parse_process_owner(std::string_view rest) {
  ProcessOwner owner;
  bool complete = false;
  while (!rest.empty()) {
    std::string_view line = take_until(rest, '\n');
    std::string_view const key = take_until(line, ':');
    std::vector<std::uint32_t> numbers;
    std::string_view words = line;
    while (key != "CapEff" && !words.empty()) {
      std::size_t const end = (std::min)(words.find_first_of(" \t"), words.size());
      if (auto const number = parse_decimal(words.substr(0, end), UINT32_MAX))
        numbers.push_back(static_cast<std::uint32_t>(*number));
      words.remove_prefix((std::min)(end + 1, words.size()));  // in parentheses: min is a macro of windows.h
    }
    // Real, effective, saved, for the file system.
    if (key == "Uid" && numbers.size() == 4) {
      owner.user = numbers[3];
      complete = true;
    }
    if (key == "Gid" && numbers.size() == 4) owner.groups.push_back(numbers[3]);
    if (key == "Groups") owner.groups.insert(owner.groups.end(), numbers.begin(), numbers.end());
    if (key == "CapEff") {
      std::string_view const digits = trim(line);
      owner.privileged = !digits.empty() && (hex_digit(digits.back()) & 2) == 2;  // bit 1
    }
  }
  return complete ? std::optional<ProcessOwner>{owner} : std::nullopt;
}

[[nodiscard]] inline std::optional<ProcessOwner> read_process_owner(Site const& site) {
  auto const text = site.read("/proc/" + site.process + "/status");
  return text ? parse_process_owner(*text) : std::nullopt;
}

/// Whether the mode of a file lets a process read and write it. Lists for access control are not looked at.
[[nodiscard]] inline bool may_use(ProcessOwner const& process, FileOwner const& file) noexcept {
  if (process.privileged) return true;
  std::uint32_t shift = 0;
  for (std::uint32_t const group : process.groups) {
    if (group == file.group) shift = 3;
  }
  if (process.user == file.user) shift = 6;
  return ((file.mode >> shift) & 6U) == 6U;
}

[[nodiscard]] inline std::string octal(std::uint32_t mode) {
  std::string text;
  for (int shift = 6; shift >= 0; shift -= 3) text += static_cast<char>('0' + ((mode >> shift) & 7U));
  return text;
}

/// Makes a finding of this rung.
struct SurroundingsReporter {
  Site const& site;
  Machine const& machine;
  RungReport& report;
  std::string container;

  void find(Severity severity, std::string_view code, std::string subject, std::string value, std::string what,
            std::string driver, std::string fix) const {
    report.findings.push_back({severity, code, std::move(subject), std::move(value), Diagnostic::no_offset,
                               std::move(what), std::move(driver), std::move(fix)});
  }
  [[nodiscard]] std::string variable(std::string_view name) const { return site.get(name).value_or(""); }
};

inline void look_at_wsl(SurroundingsReporter const& reporter) {
  Look const look{reporter.site};
  bool const has_gpu = look.exists("/dev/dxg");
  std::string const release{look.read("/proc/sys/kernel/osrelease", 256).value_or("")};
  if (reporter.report.add_unknown("whether WSL was given a GPU", look.failure())) return;
  // Version 1 is no Linux kernel: it calls itself 4.4.0-19041-Microsoft.
  bool const first = !has_gpu && release.find("WSL2") == std::string::npos && starts_with(release, "4.4.");
  reporter.report.add_fact("WSL", first ? "1" : "2");
  if (first) {
    reporter.find(Severity::error, "surroundings.wsl1", "/proc/sys/kernel/osrelease", std::string{trim(release)},
                  "WSL 1 has no access to GPUs", "", "in Windows: wsl --set-version DISTRIBUTION 2");
  } else if (!has_gpu) {
    reporter.find(Severity::error, "surroundings.wsl_no_gpu", "/dev/dxg", "",
                  "WSL was given no GPU: there is no /dev/dxg", "",
                  "update WSL (wsl --update) and the NVIDIA driver of Windows, then: wsl --shutdown");
  }
}

/// What NVIDIA's container toolkit was asked for, and what came of it. The libraries are looked for, since the variable
/// alone does not decide: newer toolkits put all of them in (documented).
inline void look_at_container(SurroundingsReporter const& reporter) {
  Site const& site = reporter.site;
  reporter.report.add_fact("container", reporter.container);
  auto const devices = site.get("NVIDIA_VISIBLE_DEVICES");
  if (devices) reporter.report.add_fact("NVIDIA_VISIBLE_DEVICES", *devices);
  auto const capabilities = site.get("NVIDIA_DRIVER_CAPABILITIES");
  if (capabilities) reporter.report.add_fact("NVIDIA_DRIVER_CAPABILITIES", *capabilities);

  std::size_t const gpus = reporter.machine.gpus.size();
  bool const none = devices && (devices->empty() || *devices == "void" || *devices == "none");
  if (none && gpus == 0) {  // with CDI it reads "void" and there are GPUs
    reporter.find(Severity::error, "surroundings.container_without_gpus", "NVIDIA_VISIBLE_DEVICES", *devices,
                  "this value asks for a container without GPUs", "",
                  std::string{how_to_give_gpus(reporter.container)});
  } else if (devices && !none && *devices != "all") {
    std::size_t asked = 0;
    bool whole = true;  // indices and UUIDs of GPUs; parts of them and CDI's names are not counted
    for (std::string_view rest = *devices; !rest.empty();) {
      std::string_view const item = trim(take_until(rest, ','));
      if (item.empty()) continue;
      whole = whole && (starts_with(item, "GPU-") || parse_decimal(item, 9999));
      ++asked;
    }
    if (whole && gpus > 0 && asked > gpus) {
      reporter.find(Severity::warning, "surroundings.fewer_gpus", "NVIDIA_VISIBLE_DEVICES", *devices,
                    std::to_string(asked) + " GPUs were asked for, and " + std::to_string(gpus) +
                        (gpus == 1 ? " is" : " are") + " here",
                    "", "see on the host with nvidia-smi -L which of them exist");
    }
  }

  DriverLibrary const driver = site.system.open_driver(DriverOpen::load);
  if (!driver.simulated_root.empty()) return;  // it comes without an NVML
  Look const look{site};
  bool const has_driver = driver.loaded || find_library(look, "libcuda.so.1");
  NvmlLibrary const nvml = site.system.open_nvml();
  bool const has_nvml = nvml.loaded || find_library(look, "libnvidia-ml.so.1");
  if (has_driver && has_nvml) return;
  if (reporter.report.add_unknown("which libraries of the driver the container has", look.failure())) return;
  if (has_nvml) {
    reporter.find(Severity::error, "surroundings.no_compute", "NVIDIA_DRIVER_CAPABILITIES", capabilities.value_or(""),
                  "the container has NVML and not libcuda.so.1, so nvidia-smi works and CUDA does not",
                  "the CUDA runtime answers 35 (INSUFFICIENT_DRIVER) (documented, not measured)",
                  "start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility");
  } else if (has_driver) {
    reporter.find(Severity::warning, "surroundings.no_utility", "NVIDIA_DRIVER_CAPABILITIES", capabilities.value_or(""),
                  "the container has libcuda.so.1 and not libnvidia-ml.so.1",
                  "CUDA works; nvidia-smi and NCCL do not (documented, not measured)",
                  "start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility");
  }
}

inline void look_at_conda(SurroundingsReporter const& reporter) {
  std::string const prefix = reporter.variable("CONDA_PREFIX");
  if (prefix.empty()) return;
  bool const compat = reporter.site.exists(prefix + "/cuda-compat");
  reporter.report.add_fact("conda", prefix + (compat ? ", with cuda-compat" : ""));
  if (auto const version = reporter.site.get("CONDA_OVERRIDE_CUDA"))
    reporter.report.add_fact("CONDA_OVERRIDE_CUDA", *version);
  std::string const library = prefix + "/lib/libcuda.so.1";
  if (reporter.site.exists(library)) {
    reporter.find(Severity::warning, "surroundings.conda_libcuda", library, "",
                  "no conda package brings the driver, and programs of this prefix find this file first", "",
                  "remove it: the driver comes with the system");
  }
}

/// The user whose MPS server runs below a daemon; nothing where there is none, or none is seen.
[[nodiscard]] inline std::optional<std::uint32_t> user_of_mps_server(Site const& site, std::string const& daemon) {
  for (std::string const& process : site.list("/proc").value_or(std::vector<std::string>{})) {
    if (!parse_decimal(process) || process == daemon) continue;
    auto const text = site.read("/proc/" + process + "/status");
    if (!text || !starts_with(*text, "Name:\tnvidia-cuda-mps") ||
        text->find("\nPPid:\t" + daemon + "\n") == std::string::npos) {
      continue;
    }
    if (auto const owner = parse_process_owner(*text)) return owner->user;
  }
  return std::nullopt;
}

/// The client's side of MPS. Measured on driver 580.159.04 with two H200, but for containers.
inline void look_at_mps(SurroundingsReporter const& reporter) {
  auto const set = reporter.site.get("CUDA_MPS_PIPE_DIRECTORY");
  if (!set && !reporter.site.variables_unknown.empty()) return;
  Mps const mps = find_mps(set, reporter.site.root);
  if (reporter.report.add_unknown("whether an MPS daemon runs", mps.unread)) return;
  bool const off = set && set->empty();
  if (off) reporter.report.add_fact("MPS", "off, since CUDA_MPS_PIPE_DIRECTORY is empty");
  bool const quit = mps.state == MpsState::ended && mps.process.empty();
  if (mps.state == MpsState::none || quit) {
    if (!set || off) return;
    reporter.find(Severity::warning, "surroundings.mps_no_daemon", "CUDA_MPS_PIPE_DIRECTORY", *set,
                  !quit ? "there is no MPS daemon in this folder, or none that this user may reach"
                        : "the MPS daemon of this folder has quit",
                  "the program runs without MPS, and nothing says so",
                  "start the daemon with the same variable (nvidia-cuda-mps-control -d), or unset it");
    return;
  }
  reporter.report.add_fact("MPS", mps.folder);
  bool const in_container = !reporter.container.empty();
  if (mps.state == MpsState::ended || (mps.state == MpsState::unclear && !in_container && !mps.process.empty())) {
    reporter.find(Severity::warning, "surroundings.mps_stale", mps.folder, mps.process,
                  "the MPS daemon that made this folder is gone", "the program runs without MPS, and nothing says so",
                  "remove the folder, or start the daemon again: nvidia-cuda-mps-control -d");
    return;
  }
  Machine const& machine = reporter.machine;
  reporter.report.add_fact("GPUs of the MPS daemon", machine.doubt.empty()
                                                         ? gpus_not_hidden(machine)
                                                         : "not known: " + std::string{machine.doubt});
  reporter.find(
      Severity::note, "surroundings.mps", mps.folder, "",
      mps.state == MpsState::running
          ? "an MPS daemon is here, and this program is its client"
          : "an MPS daemon may run outside this container, and then this program is its client",
      "CUDA sees the daemon's GPUs alone, and indices in CUDA_VISIBLE_DEVICES count them from 0, in the order "
      "of the bus",
      "use UUIDs in CUDA_VISIBLE_DEVICES, which mean the same GPU to both");
  auto const own = read_process_owner(reporter.site);
  auto const server = user_of_mps_server(reporter.site, mps.process);
  if (mps.state != MpsState::running || !own || !server || *server == own->user) return;
  reporter.find(Severity::warning, "surroundings.mps_other_user", mps.folder, std::to_string(*server),
                "the MPS daemon is serving user " + std::to_string(*server) + ", and serves one user at a time",
                "cuInit waits, without a word, until the last client of that user has ended",
                "wait for it, start a daemon of your own in another folder, or set CUDA_MPS_PIPE_DIRECTORY to an empty "
                "text to run without MPS");
}

inline void look_at_slurm(SurroundingsReporter const& reporter) {
  std::string const job = reporter.variable("SLURM_JOB_ID");
  if (job.empty()) return;
  reporter.report.add_fact("Slurm job", job);
  for (Assignment const& variable : reporter.site.variables) {
    bool const given = starts_with(variable.name, "SLURM_GPUS") || variable.name == "SLURM_JOB_GPUS" ||
                       variable.name == "SLURM_STEP_GPUS" || variable.name == "CUDA_VISIBLE_DEVICES";
    if (given && variable.text && !variable.text->empty()) return;
  }
  if (!reporter.site.variables_unknown.empty()) return;
  bool const none = reporter.machine.gpus.empty();
  reporter.find(none ? Severity::warning : Severity::note, "surroundings.slurm_no_gpus", "SLURM_JOB_ID", job,
                none ? "this Slurm job was given no GPU" : "no variable says that this Slurm job was given GPUs", "",
                "ask for them, such as: srun --gpus=1");
}

/// The nodes in /dev that CUDA opens: whether they are there, and whether their mode lets this process use them.
inline void look_at_device_nodes(SurroundingsReporter const& reporter) {
  Site const& site = reporter.site;
  bool const in_container = !reporter.container.empty();
  if (reporter.machine.gpus.empty() || reporter.machine.source != MachineSource::proc) return;
  // Outside a container the driver library has missing nodes made by this program, which runs as root (documented).
  bool const made_when_needed = !in_container && site.exists("/usr/bin/nvidia-modprobe");
  auto const is_missing = [&](std::string const& node) {
    Look const look{site};
    return !look.exists(node) && !reporter.report.add_unknown("whether there is " + node, look.failure());
  };
  for (char const* node : {"/dev/nvidiactl", "/dev/nvidia-uvm"}) {
    if (made_when_needed || !is_missing(node)) continue;
    reporter.find(
        Severity::error, "surroundings.no_device_node", node, "", "this device node is missing, and CUDA needs it",
        "cuInit answers 100 (NO_DEVICE) or 999 (UNKNOWN) (reported by users, not measured)",
        in_container ? "give it to the container, such as: --device " + std::string{node} : "nvidia-modprobe -u -c 0");
  }
  bool parts = false;
  for (Gpu const& gpu : reporter.machine.gpus) parts = parts || !gpu.mig.empty();
  if (parts && is_missing("/dev/nvidia-caps")) {
    reporter.find(Severity::error, "surroundings.no_mig_nodes", "/dev/nvidia-caps", "",
                  "MIG instances are listed, and the device nodes that open them are missing",
                  "cuInit answers 100 (NO_DEVICE) (documented, not measured)",
                  in_container ? std::string{how_to_give_gpus(reporter.container)}
                               : "nvidia-modprobe -f /proc/driver/nvidia/capabilities/mig/config");
  }

  Look const look{site};
  auto const owner = read_process_owner(look);
  auto names = look.list("/dev").value_or(std::vector<std::string>{});
  constexpr char const* use = "whether the device nodes may be used";
  if (reporter.report.add_unknown(use, look.failure())) return;
  if (!owner) {
    reporter.report.add_unknown(use, "/proc/" + site.process + "/status does not say whose the process is");
    return;
  }
  std::sort(names.begin(), names.end());
  std::size_t gpus = 0;
  std::vector<std::pair<std::string, FileOwner>> refused;
  for (std::string const& name : names) {
    bool const gpu = starts_with(name, "nvidia") && parse_decimal(std::string_view{name}.substr(6));
    if (!gpu && name != "nvidiactl" && name != "nvidia-uvm") continue;
    auto const file = file_owner(site.path_of("/dev/" + name));
    gpus += gpu ? 1 : 0;
    if (file && !may_use(*owner, *file)) refused.emplace_back(name, *file);
  }
  for (auto const& [name, file] : refused) {
    // One GPU of several may be another user's.
    bool const all_needed = name == "nvidiactl" || name == "nvidia-uvm" || refused.size() >= gpus;
    reporter.find(all_needed ? Severity::error : Severity::warning, "surroundings.device_permission", "/dev/" + name,
                  octal(file.mode),
                  "its mode and owner (" + std::to_string(file.user) + ":" + std::to_string(file.group) +
                      ") do not let user " + std::to_string(owner->user) + " read and write it",
                  "cuInit answers 100 (NO_DEVICE) or 999 (UNKNOWN) (reported by users, not measured)",
                  (file.mode & 060U) == 060U && file.group != 0
                      ? "add the user to group " + std::to_string(file.group) + ", and log in anew"
                      : "chmod 0666 /dev/" + name + " (for good: NVreg_DeviceFileMode of the kernel module nvidia)");
  }
}

}  // namespace detail

/// Looks at what stands between the machine and this process: container, WSL, Jetson, conda, MPS, the scheduler, and
/// the device nodes. The cgroup that may forbid a device cannot be seen. Loads the driver library and NVML in a
/// container; neither is started. Nothing is thrown but bad_alloc. Thread-safe.
[[nodiscard]] inline RungReport diagnose_surroundings(Site const& site, Machine const& machine) {
  RungReport report;
  report.rung = Rung::surroundings;
#ifdef _WIN32
  report.unknown.push_back("container, scheduler and permissions: this was written for Linux");
#endif
  detail::SurroundingsReporter const reporter{site, machine, report, container_of(site)};
  if (is_wsl(site)) detail::look_at_wsl(reporter);
  if (is_tegra(site)) report.add_fact("platform", "Jetson or another machine with Tegra");
  if (!reporter.container.empty()) detail::look_at_container(reporter);
  report.add_unknown("conda, MPS, Slurm and what a container was asked for", site.variables_unknown);
  detail::look_at_conda(reporter);
  detail::look_at_mps(reporter);
  detail::look_at_slurm(reporter);
  detail::look_at_device_nodes(reporter);
  return report;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_SURROUNDINGS_HPP
