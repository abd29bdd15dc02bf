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
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// A running process from outside, by its files in /proc. Source: proc(5).

CUENV_NAMESPACE_BEGIN
namespace detail {

/// The environment block of a process. `damaged` where a part of it is no variable: programs that set their title write
/// over it.
struct EnvironmentBlock {
  std::vector<Assignment> variables;
  bool damaged = false;
};

[[nodiscard]] inline EnvironmentBlock parse_environment_block(std::string_view block) {
  EnvironmentBlock result;
  while (!block.empty()) {
    std::string_view line = take_until(block, '\0');
    if (line.find('=') == std::string_view::npos) {
      result.damaged = result.damaged || !line.empty();
      continue;
    }
    std::string const name{take_until(line, '=')};
    bool again = false;  // of two the first counts, as for getenv
    for (Assignment const& earlier : result.variables) again = again || earlier.name == name;
    if (!again) result.variables.push_back({name, std::string{line}});
  }
  return result;
}

[[nodiscard]] inline std::optional<std::string> read_environment_block(Site const& site) {
  return site.read("/proc/" + site.process + "/environ", std::size_t{1} << 22);
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

struct MappedFile {
  std::string path;
  /// The file of that name was removed or replaced since.
  bool deleted = false;
};

/// The files in a process's memory, each once; devices and what has no file are left out. Nothing where they cannot be
/// read.
[[nodiscard]] inline std::optional<std::vector<MappedFile>> mapped_files(Site const& site) {
  constexpr std::string_view mark = " (deleted)";
  auto const maps = site.read("/proc/" + site.process + "/maps", std::size_t{1} << 24);
  if (!maps) return std::nullopt;
  std::vector<MappedFile> files;
  std::string_view last;
  for (std::string_view rest = *maps; !rest.empty();) {
    std::string_view const line = take_until(rest, '\n');
    std::size_t const slash = line.find(" /");
    if (slash == std::string_view::npos || line.substr(slash + 1) == last) continue;
    std::string_view path = last = line.substr(slash + 1);
    bool const deleted = ends_with(path, mark);
    if (deleted) path.remove_suffix(mark.size());
    bool skip = starts_with(path, "/dev/") || starts_with(path, "/memfd:") || starts_with(path, "/SYSV");
    for (MappedFile const& file : files) skip = skip || (file.path == path && file.deleted == deleted);
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

}  // namespace detail

/// The site as another process sees it: the environment it was started with, and, where it runs in a container, the
/// files of the container. An environment that cannot be read is empty; diagnose_process says so. Nothing is thrown
/// when there is no such process, or it ends meanwhile. Thread-safe.
[[nodiscard]] inline Site site_of_process(Site const& here, long pid) {
  Site site = here;
  site.process = std::to_string(pid);
  std::string const folder = "/proc/" + site.process;
  site.variables = detail::parse_environment_block(detail::read_environment_block(site).value_or("")).variables;
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
/// device nodes it holds open, its threads, and the GPU code in its memory. Nothing is thrown but bad_alloc.
/// Thread-safe.
[[nodiscard]] inline RungReport diagnose_process(Site const& site, Machine const& machine) {
  RungReport report;
  report.rung = Rung::process;
#ifdef _WIN32
  (void)site;
  (void)machine;
  report.unknown.push_back("processes are looked at on Linux only");
#else
  std::string const folder = "/proc/" + site.process;
  std::string const owner = detail::status_line(site, "Uid");
  if (owner.empty()) {
    report.findings.push_back({Severity::error, "process.not_there", folder, "", Diagnostic::no_offset,
                               "there is no such process, or it has ended", "", "see with ps which are there"});
    return report;
  }
  std::string const protection = ": it belongs to user " + owner.substr(0, owner.find_first_of(" \t")) +
                                 " or is protected; try as that user, or with sudo";
  auto const program = site.link(folder + "/exe");
  std::string const name{detail::trim(site.read(folder + "/comm", 256).value_or(""))};
  report.add_fact("process", site.process + (name.empty() ? "" : " " + name));
  if (program) report.add_fact("program", *program);
  if (!site.root.empty()) report.add_fact("its files", "below " + site.root);
  if (detail::starts_with(detail::status_line(site, "State"), "Z")) {
    report.unknown.push_back("what the process was: it has ended, and its parent has not taken note yet");
    return report;
  }

  if (auto const block = detail::read_environment_block(site)) {
    auto const environment = detail::parse_environment_block(*block);
    report.add_fact("environment", "as the program was started; what it has changed since cannot be seen");
    for (Assignment const& variable : environment.variables) {
      bool known = variable.name == "LD_LIBRARY_PATH";
      for (char const* const prefix : {"CUDA", "NVIDIA_", "NCCL_", "__CUDA"}) {
        known = known || detail::starts_with(variable.name, prefix);
      }
      if (known) report.add_fact(variable.name, variable.text.value_or(""));
    }
    if (environment.damaged) {
      report.unknown.push_back("a part of " + folder + "/environ is no variable: the program has written over it");
    }
    std::string const visible = site.get("CUDA_VISIBLE_DEVICES").value_or("");
    std::string const order = site.get("CUDA_DEVICE_ORDER").value_or("");
    VisibilityVariables variables;
    if (site.get("CUDA_VISIBLE_DEVICES")) variables.visible = visible;
    if (site.get("CUDA_DEVICE_ORDER")) variables.order = order;
    Visibility const visibility = resolve_visibility(variables, machine);
    if (!visibility.known) {
      report.unknown.push_back("which GPUs it sees: " + std::string{visibility.reason_unknown});
    } else if (visibility.cu_init != 0) {
      report.add_fact("visible GPUs", "none: cuInit answers " + describe_result(visibility.cu_init));
    } else {
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
  } else {
    report.unknown.push_back(folder + "/environ cannot be read" + protection);
  }

  if (auto const descriptors = site.list(folder + "/fd")) {
    std::vector<std::string> nodes;
    for (std::string const& descriptor : *descriptors) {
      std::string target = site.link(folder + "/fd/" + descriptor).value_or("");
      if (detail::starts_with(target, "/dev/nvidia") || target == "/dev/dxg") nodes.push_back(std::move(target));
    }
    std::sort(nodes.begin(), nodes.end());
    report.add_fact("device nodes open", nodes.empty() ? "none" : detail::counted(nodes));
  } else {
    report.unknown.push_back(folder + "/fd cannot be listed" + protection);
  }

  if (auto tasks = site.list(folder + "/task")) {
    std::sort(tasks->begin(), tasks->end(), [](std::string const& a, std::string const& b) {
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    });
    std::vector<std::string> threads;
    for (std::string const& task : *tasks) {
      if (threads.size() == 1024) break;
      if (auto const comm = site.read(folder + "/task/" + task + "/comm", 256)) {
        threads.emplace_back(detail::trim(*comm));
      }
    }
    report.add_fact("threads", std::to_string(tasks->size()) + ": " + detail::counted(threads));
  }

  if (auto const files = detail::mapped_files(site)) {
    for (auto const& file : *files) {
      std::string_view const base = std::string_view{file.path}.substr(file.path.rfind('/') + 1);
      bool const is_cuda = detail::starts_with(base, "libcu") || detail::starts_with(base, "libnv") ||
                           detail::starts_with(base, "libnccl") || file.path == program.value_or("");
      if (!file.deleted || !is_cuda) continue;
      report.findings.push_back({Severity::warning, "process.file_replaced", file.path, "", Diagnostic::no_offset,
                                 "the process still runs the old file, which was removed or replaced since", "",
                                 "start the program again"});
    }
    for (std::string const& library : mapped_libraries(site)) {
      auto const targets = code_targets(site.root + site.real_path(library));
      if (!targets) report.unknown.push_back("the GPU code of " + library + ", which cannot be read");
      std::string const text = targets ? to_string(*targets) : "";
      if (!text.empty()) report.add_fact("GPU code in " + library, text);
    }
  } else {
    report.unknown.push_back(folder + "/maps cannot be read" + protection);
  }
#endif
  return report;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_PROCESS_HPP
