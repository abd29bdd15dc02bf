#ifndef CUENV_DIAGNOSIS_PROCESS_HPP
#define CUENV_DIAGNOSIS_PROCESS_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnosis/code_targets.hpp>
#include <cuenv/diagnosis/rung.hpp>
#include <cuenv/diagnosis/site.hpp>
#include <cuenv/environment.hpp>
#include <cuenv/gpu.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/result_code.hpp>
#include <cuenv/version.hpp>
#include <cuenv/visibility.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// A running process from outside, by its files in /proc. Source: proc(5).

CUENV_NAMESPACE_BEGIN
namespace detail {

/// The environment block of a process. `damaged` where a part of it is no variable: programs that set their title write
/// over it, and some blank it.
struct EnvironmentBlock {
  std::vector<Assignment> variables;
  bool damaged = false;
};

[[nodiscard]] inline EnvironmentBlock parse_environment_block(std::string_view block) {
  EnvironmentBlock result;
  std::set<std::string_view> names;  // of two the first counts, as for getenv
  while (!block.empty()) {
    std::string_view line = take_until(block, '\0');
    if (line.find('=') == std::string_view::npos) {
      result.damaged = true;
      continue;
    }
    std::string_view const name = take_until(line, '=');
    if (names.insert(name).second) result.variables.push_back({std::string{name}, std::string{line}});
  }
  return result;
}

/// The rest of the line of /proc/N/status that starts with `name` and a colon.
[[nodiscard]] inline std::string status_line(Site const& site, std::string_view name) {
  std::string const text = site.read("/proc/" + site.process + "/status").value_or("");
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = take_until(rest, '\n');
    if (take_until(line, ':') == name) return std::string{trim(line)};
  }
  return {};
}

/// The threads of the process, by number.
[[nodiscard]] inline std::vector<std::string> tasks_of(Site const& site) {
  auto tasks = site.list("/proc/" + site.process + "/task").value_or(std::vector<std::string>{});
  std::sort(tasks.begin(), tasks.end(), [](std::string const& a, std::string const& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return tasks;
}

/// Where /proc shows the memory and files of a process: those of a thread that runs, where the main one has ended;
/// nothing where all have.
[[nodiscard]] inline std::optional<std::string> living_folder(Site const& site) {
  std::string folder = "/proc/" + site.process;
  if (!starts_with(status_line(site, "State"), "Z")) return folder;
  for (std::string const& task : tasks_of(site)) {
    if (task != site.process) return folder + "/task/" + task;
  }
  return std::nullopt;
}

/// Why something of the process is not to be had, as far as its owner tells.
[[nodiscard]] inline std::string protection_of(Site const& site) {
  Look const look{site};
  std::string const owner = status_line(look, "Uid");
  if (owner.empty()) return look.failure().empty() ? ": there is no such process, or it has ended" : "";
  return ": it belongs to user " + owner.substr(0, owner.find_first_of(" \t")) +
         " or is protected; try as that user, or with sudo";
}

/// "reading /proc/7/maps failed: Permission denied: it belongs to user 0 or is protected; try as that user, or with
/// sudo", after a look that should have had the file.
[[nodiscard]] inline std::string unread_words(Look const& look, std::string const& file) {
  return (look.failure().empty() ? file + " cannot be read" : look.failure()) + protection_of(look);
}

/// Sets the variables of the site to those that the process was started with.
inline void read_variables_of_process(Site& site) {
  site.variables.clear();
  site.variables_unknown.clear();
  Look const look{site};
  auto const folder = living_folder(look);
  std::string const file = folder.value_or("/proc/" + site.process) + "/environ";
  // Linux gives arguments and environment 6 MiB at most.
  auto const block = folder ? look.read(file, std::size_t{1} << 23) : std::nullopt;
  if (!block) {
    site.variables_unknown = folder ? unread_words(look, file) : file + " cannot be read: the process has ended";
    return;
  }
  EnvironmentBlock environment = parse_environment_block(*block);
  site.variables = std::move(environment.variables);
  if (environment.damaged) {
    site.variables_unknown = "a part of " + file + " is no variable: the program has written over it";
  }
}

struct MappedFile {
  std::string path;
  /// The file of that name was removed or replaced since.
  bool deleted = false;
};

/// The files in a process's memory, each once; devices and what has no file are left out. Nothing where they cannot be
/// read.
[[nodiscard]] inline std::optional<std::vector<MappedFile>> mapped_files(Site const& site) {
  constexpr std::string_view mark = " (deleted)";
  auto const folder = living_folder(site);
  auto const maps = folder ? site.read(*folder + "/maps", std::size_t{1} << 24) : std::nullopt;
  if (!maps) return std::nullopt;
  std::vector<MappedFile> files;
  std::set<std::string_view> seen;
  for (std::string_view rest = *maps; !rest.empty();) {
    std::string_view const line = take_until(rest, '\n');
    std::size_t const slash = line.find(" /");
    if (slash == std::string_view::npos || !seen.insert(line.substr(slash + 1)).second) continue;
    std::string_view path = line.substr(slash + 1);
    bool const deleted = ends_with(path, mark);
    if (deleted) path.remove_suffix(mark.size());
    bool const skip = starts_with(path, "/dev/") || starts_with(path, "/memfd:") || starts_with(path, "/SYSV");
    if (!skip && files.size() < 4096) files.push_back({std::string{path}, deleted});
  }
  return files;
}

/// "7 x a, b" of a list with repetitions, in the order in which they appear, at most `most` of them.
[[nodiscard]] inline std::string counted(std::vector<std::string> const& names, std::size_t most = 16) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (std::string const& name : names) {
    auto const known = std::find_if(counts.begin(), counts.end(), [&](auto const& row) { return row.first == name; });
    if (known != counts.end()) {
      ++known->second;
    } else {
      counts.emplace_back(name, 1);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < counts.size() && i < most; ++i) {
    text += text.empty() ? "" : ", ";
    if (counts[i].second > 1) text += std::to_string(counts[i].second) + " x ";
    text += counts[i].first;
  }
  return counts.size() > most ? text + " and more" : text;
}

/// The GPUs that the variables of the site leave.
inline void add_visible_gpus(Site const& site, Machine const& machine, RungReport& report) {
  auto const visible = site.get("CUDA_VISIBLE_DEVICES"), order = site.get("CUDA_DEVICE_ORDER");
  VisibilityVariables variables;
  if (visible) variables.visible = *visible;
  if (order) variables.order = *order;
  Visibility const visibility = resolve_visibility(variables, machine);
  if (!visibility.known) {
    report.unknown.push_back("which GPUs it sees: " + std::string{visibility.reason_unknown});
    return;
  }
  if (visibility.cu_init != 0) {
    report.add_fact("visible GPUs", "none: cuInit answers " + describe_result(visibility.cu_init));
    return;
  }
  for (std::size_t i = 0; i < visibility.devices.size(); ++i) {
    VisibleDevice const& device = visibility.devices[i];
    std::string text = "one that only the driver knows";
    if (device.physical) {
      auto const index = static_cast<std::size_t>(device.physical->value);
      Gpu const& gpu = machine.gpus[index];
      text = "physical " + std::to_string(index) + ", " + gpu.name + " " + to_string(gpu.pci);
      if (device.mig) text += ", MIG " + gpu.mig[*device.mig].profile;
    }
    report.add_fact("logical GPU " + std::to_string(i), std::move(text));
  }
}

}  // namespace detail

/// The site as another process sees it: the environment it was started with, and, where it runs in a container, the
/// files of the container. Where its environment cannot be read or is damaged, `variables_unknown` says why. Nothing is
/// thrown when there is no such process, or it ends meanwhile. Thread-safe.
[[nodiscard]] inline Site site_of_process(Site const& here, long pid) {
  Site site = here;
  site.failed_read = nullptr;
  site.process = std::to_string(pid);
  detail::read_variables_of_process(site);
  std::string const folder = detail::living_folder(site).value_or("/proc/" + site.process);
  auto const own_files = here.link("/proc/" + here.process + "/ns/mnt");
  auto const its_files = here.link(folder + "/ns/mnt");
  if (!own_files || !its_files || *own_files == *its_files) return site;
  // Its /proc counts processes as it does: the last number of NSpid.
  std::string const numbers = detail::status_line(site, "NSpid");
  Site inside = site;
  inside.root += folder + "/root";
  inside.process = numbers.substr(numbers.find_last_of(" \t") + 1);
  if (site.hardware_root == site.root) inside.hardware_root = inside.root;
  inside.system.root = inside.root;
  return !inside.process.empty() && inside.exists("/proc/" + inside.process + "/maps") ? inside : site;
}

/// The program and libraries in a process's memory that are still there as files, below the site's root; the driver's
/// own are left out. Empty where they cannot be read; nothing is thrown. Thread-safe.
[[nodiscard]] inline std::vector<std::string> mapped_libraries(Site const& site) {
  std::vector<std::string> libraries;
  for (auto const& file : detail::mapped_files(site).value_or(std::vector<detail::MappedFile>{})) {
    std::string_view const name = std::string_view{file.path}.substr(file.path.rfind('/') + 1);
    bool const is_drivers = detail::starts_with(name, "libcuda.so") || detail::starts_with(name, "libnvidia-");
    if (file.deleted || is_drivers) continue;
    if (site.is_elf_file(file.path)) libraries.push_back(file.path);
  }
  return libraries;
}

/// One running process, from outside: its program, the variables it was started with, the GPUs those leave it, the
/// device nodes it holds open, its threads, and the GPU code in its memory. The site is what site_of_process gives.
/// Nothing is thrown but bad_alloc. Thread-safe.
[[nodiscard]] inline RungReport diagnose_process(Site const& site, Machine const& machine) {
  RungReport report;
  report.rung = Rung::process;
#ifdef _WIN32
  (void)site;
  (void)machine;
  report.unknown.push_back("processes are looked at on Linux only");
#else
  std::string const entry = "/proc/" + site.process;
  Look const who{site};
  if (detail::status_line(who, "Uid").empty()) {
    if (report.add_unknown("the process", who.failure())) return report;
    report.findings.push_back({Severity::error, "process.not_there", entry, "", Diagnostic::no_offset,
                               "there is no such process, or it has ended", "", "see with ps which are there"});
    return report;
  }
  auto const living = detail::living_folder(site);
  std::string const folder = living.value_or(entry);
  auto const program = site.link(folder + "/exe");
  std::string const name{detail::trim(site.read(entry + "/comm", 256).value_or(""))};
  report.add_fact("process", site.process + (name.empty() ? "" : " " + name));
  if (program) report.add_fact("program", *program);
  if (!site.root.empty()) report.add_fact("its files", "below " + site.root);
  if (!living) {
    report.unknown.push_back("what the process was: it has ended, and its parent has not taken note yet");
    return report;
  }

  for (Assignment const& variable : site.variables) {
    bool known = variable.name == "LD_LIBRARY_PATH";
    for (char const* const prefix : {"CUDA", "NVIDIA_", "NCCL_", "__CUDA"}) {
      known = known || detail::starts_with(variable.name, prefix);
    }
    if (known) report.add_fact(variable.name, variable.text.value_or(""));
  }
  if (site.variables_unknown.empty()) {
    report.add_fact("environment", "as the program was started; what it has changed since cannot be seen");
    detail::add_visible_gpus(site, machine, report);
  }
  report.add_unknown("some variables, and so which GPUs it sees", site.variables_unknown);

  Look const open_files{site};
  auto const descriptors = open_files.list(folder + "/fd");
  std::vector<std::string> nodes;
  for (std::string const& descriptor : descriptors.value_or(std::vector<std::string>{})) {
    std::string target = open_files.link(folder + "/fd/" + descriptor).value_or("");
    if (detail::starts_with(target, "/dev/nvidia") || target == "/dev/dxg") nodes.push_back(std::move(target));
  }
  if (descriptors && open_files.failure().empty()) {
    std::sort(nodes.begin(), nodes.end());
    report.add_fact("device nodes open", nodes.empty() ? "none" : detail::counted(nodes));
  } else {
    report.unknown.push_back(detail::unread_words(open_files, folder + "/fd"));
  }

  if (auto const tasks = detail::tasks_of(site); !tasks.empty()) {
    std::vector<std::string> threads;
    for (std::string const& task : tasks) {
      if (threads.size() == 1024) break;
      if (auto const comm = site.read(entry + "/task/" + task + "/comm", 256)) {
        threads.emplace_back(detail::trim(*comm));
      }
    }
    report.add_fact("threads", std::to_string(tasks.size()) + ": " + detail::counted(threads));
  }

  Look const memory{site};
  if (auto const files = detail::mapped_files(memory)) {
    for (auto const& file : *files) {
      std::string_view const base = std::string_view{file.path}.substr(file.path.rfind('/') + 1);
      bool const is_cuda = detail::starts_with(base, "libcu") || detail::starts_with(base, "libnv") ||
                           detail::starts_with(base, "libnccl") || file.path == program.value_or("");
      if (!file.deleted || !is_cuda) continue;
      report.findings.push_back({Severity::warning, "process.file_replaced", file.path, "", Diagnostic::no_offset,
                                 "the process still runs the old file, which was removed or replaced since", "",
                                 "start the program again"});
    }
    for (std::string const& library : mapped_libraries(memory)) {
      auto const targets = code_targets(site.root + site.real_path(library));
      if (!targets) report.unknown.push_back("the GPU code of " + library + ", which cannot be read");
      std::string const text = targets ? to_string(*targets) : "";
      if (!text.empty()) report.add_fact("GPU code in " + library, text);
    }
    report.add_unknown("whether there is more GPU code", memory.failure());
  } else {
    report.unknown.push_back(detail::unread_words(memory, folder + "/maps"));
  }
#endif
  return report;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_PROCESS_HPP
