#ifndef CUENV_DIAGNOSIS_TOOLKIT_HPP
#define CUENV_DIAGNOSIS_TOOLKIT_HPP

#include <cuenv/cuda_version.hpp>
#include <cuenv/detail/files.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/diagnosis/code_targets.hpp>
#include <cuenv/diagnosis/cuda_runtime.hpp>
#include <cuenv/diagnosis/library_search.hpp>
#include <cuenv/diagnosis/process.hpp>
#include <cuenv/diagnosis/rung.hpp>
#include <cuenv/diagnosis/site.hpp>
#include <cuenv/gpu_generations.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/version.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

CUENV_NAMESPACE_BEGIN
namespace detail {

/// The text between the first two quotation marks behind `key`, as in "version" : "12.4.1".
[[nodiscard]] inline std::string_view quoted_after(std::string_view text, std::string_view key) {
  std::size_t const at = text.find(key);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  (void)take_until(text, '"');
  return take_until(text, '"');
}

[[nodiscard]] inline std::optional<CudaVersion> version_from_numbers(DottedNumbers const& found) {
  if (found.count < 2 || found.numbers[0] > 999 || found.numbers[1] > 999) return std::nullopt;
  return CudaVersion{found.numbers[0], found.numbers[1]};
}

/// The version of the toolkit in a folder: from version.json (since 11.1), version.txt (before), CUDA_VERSION in
/// cuda.h, or the folder's own name, links followed.
[[nodiscard]] inline std::optional<CudaVersion> toolkit_version(Site const& site, std::string const& folder) {
  if (auto const json = site.read(site.real_path(folder + "/version.json"))) {
    std::size_t const cuda = json->find("\"cuda\"");
    if (cuda != std::string::npos) {
      auto const text = quoted_after(std::string_view{*json}.substr(cuda), "\"version\"");
      if (auto const version = version_from_numbers(dotted_numbers(text))) return version;
    }
  }
  if (auto const text = site.read(site.real_path(folder + "/version.txt"), 4096)) {
    constexpr std::string_view words = "CUDA Version ";
    if (starts_with(*text, words)) {
      auto const found = dotted_numbers(std::string_view{*text}.substr(words.size()));
      if (auto const version = version_from_numbers(found)) return version;
    }
  }
  for (char const* const header : {"/include/cuda.h", "/targets/x86_64-linux/include/cuda.h",
                                   "/targets/sbsa-linux/include/cuda.h", "/targets/aarch64-linux/include/cuda.h"}) {
    constexpr std::string_view define = "#define CUDA_VERSION ";
    auto const text = site.read(site.real_path(folder + header));  // it stands near the beginning
    std::size_t const at = text ? text->find(define) : std::string::npos;
    if (at == std::string::npos) continue;
    auto const number = dotted_numbers(std::string_view{*text}.substr(at + define.size())).numbers[0];
    if (number >= 1000) return CudaVersion::from_number(number);
  }
  std::string const real = site.real_path(folder);
  std::string_view const name = std::string_view{real}.substr(real.rfind('/') + 1);
  return starts_with(name, "cuda-") ? version_from_numbers(dotted_numbers(name.substr(5))) : std::nullopt;
}

inline constexpr char nvcc_on_path[] = "nvcc on PATH";

/// Who points at which version of the toolkit.
struct ToolkitWitness {
  /// A folder with a compiler, and not a library alone.
  bool is_toolkit = true;
  std::string name;
  std::string place;
  int major_number = 0;
  std::optional<int> minor_number;
};

[[nodiscard]] inline bool contradict(ToolkitWitness const& a, ToolkitWitness const& b) noexcept {
  return a.major_number != b.major_number || (a.minor_number && b.minor_number && *a.minor_number != *b.minor_number);
}

/// The toolkits that the environment points at, each as a fact.
[[nodiscard]] inline std::vector<ToolkitWitness> find_toolkits(Site const& site, RungReport& report) {
  std::vector<ToolkitWitness> witnesses;
  auto const add = [&](std::string name, std::string const& place, std::optional<CudaVersion> version) {
    report.add_fact(name, place + (version ? " (" + to_string(*version) + ")" : ""));
    if (version) witnesses.push_back({true, std::move(name), place, version->major_number, version->minor_number});
  };
  for (char const* const name : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDAToolkit_ROOT"}) {
    auto const folder = site.get(name);
    if (!folder || folder->empty()) continue;
    Look const look{site};
    auto const version = toolkit_version(look, *folder);
    add(name, *folder, version);
    bool const there = look.exists(look.real_path(*folder));
    bool const plausible = version || look.exists(look.real_path(*folder + "/include/cuda.h")) ||
                           look.exists(look.real_path(*folder + "/bin/nvcc"));
    if (plausible) continue;
    if (report.add_unknown("whether there is a toolkit in " + std::string{name} + "=" + *folder, look.failure()))
      continue;
    report.findings.push_back(
        {Severity::warning, "toolkit.no_toolkit", name, *folder, Diagnostic::no_offset,
         there ? "there is no CUDA toolkit in this folder: neither version.json nor bin/nvcc nor include/cuda.h"
               : "there is no such folder",
         "the driver does not look at it; build tools and frameworks do",
         "set it to the folder that has bin/nvcc, or unset " + std::string{name}});
  }
  for (std::string const& folder : search_folders(site, site.get("PATH").value_or(""), ":", "", 0)) {
    std::string const nvcc = folder + "/nvcc";
    if (!site.exists(site.real_path(nvcc))) continue;
    add(nvcc_on_path, nvcc, toolkit_version(site, folder_of(folder_of(site.real_path(nvcc)))));
    break;
  }
  std::string const list = site.get("LD_LIBRARY_PATH").value_or("");
  if (list.empty()) return witnesses;
  for (std::string const& folder : search_folders(site, list, ":;", "", LibrarySearch::native_machine)) {
    std::optional<CudaRuntime> found;
    Look const look{site};
    for (std::string const& name : look.list(look.real_path(folder)).value_or(std::vector<std::string>{})) {
      auto runtime = runtime_by_name(name).has_value() ? describe_runtime(site, folder + "/" + name) : std::nullopt;
      if (!runtime) continue;
      bool const better = !found || (!found->minor_number && runtime->minor_number) || runtime->path < found->path;
      if (better) found = std::move(runtime);
    }
    if (report.add_unknown("whether a libcudart is in " + folder + " of LD_LIBRARY_PATH", look.failure())) break;
    if (!found) continue;
    report.add_fact("libcudart on LD_LIBRARY_PATH", found->path + " (" + version_text(*found) + ")");
    witnesses.push_back({false, "LD_LIBRARY_PATH", found->path, found->major_number, found->minor_number});
    break;
  }
  return witnesses;
}

/// A program's place below the site's root; nothing where it lies elsewhere.
[[nodiscard]] inline std::optional<std::string> place_on_site(Site const& site, std::string path) {
  if (!path.empty() && path.front() != '/') {
    Site here;
    path = here.link("/proc/self/cwd").value_or("") + "/" + path;
  }
  if (site.root.empty()) return path;
  if (!starts_with(path, site.root + "/")) return std::nullopt;
  return path.substr(site.root.size());
}

/// Of a program that needs no libcudart: its runtime may be inside, which is the default of nvcc. `failure` tells what
/// else it may need.
inline void look_for_static_runtime(std::string const& program, std::optional<CudaVersion> driver,
                                    std::string const& failure, RungReport& report) {
  auto const targets = code_targets(program);
  if (!targets || to_string(*targets).empty()) return;
  if (report.add_unknown("which CUDA runtime " + program + " gets", failure)) return;
  std::string const inside = "it has GPU code and needs no libcudart, so that its runtime is inside, if it has one";
  constexpr MinorCompatibility newest = minor_compatibilities[std::size(minor_compatibilities) - 1];
  if (driver && driver->major_number >= newest.major_number) {  // then its version does not matter
    report.add_fact("runtime of " + program, inside + ": version unknown, at most " +
                                                 std::to_string(newest.major_number) + ".x, which the driver serves");
  } else {
    report.unknown.push_back("the version of the CUDA runtime of " + program + ": " + inside);
  }
}

/// The runtimes that a program would load, and those that it would not find.
inline void look_at_program(Site const& site, std::string const& program, std::optional<CudaVersion> driver,
                            RungReport& report) {
  auto const section = read_dynamic_section(program);
  if (!section) {  // a script, or GPU code in a file of its own, has no libraries
    if (!read_small_file(program, 1))
      report.unknown.push_back("the libraries of " + program + ", which cannot be read");
    return;
  }
  auto const place = place_on_site(site, program);
  if (!place) {
    report.unknown.push_back("the libraries of " + program + ": it does not lie below " + site.root);
    return;
  }
  bool has_runtime = false;
  Look const look{site};
  for (NeededLibrary const& library : needed_libraries(look, *place)) {
    if (!runtime_by_name(library.name)) continue;
    has_runtime = true;
    if (!library.path) {
      if (report.add_unknown("whether " + program + " gets " + library.name, look.failure())) continue;
      report.findings.push_back(
          {Severity::error, "toolkit.runtime_not_found", program, library.name, Diagnostic::no_offset,
           "it needs this CUDA runtime, which the loader would not find" +
               (library.needed_by == site.real_path(*place) ? "" : " (for " + library.needed_by + ")"),
           "the program ends before its first line: cannot open shared object file",
           "install that runtime, or add its folder to LD_LIBRARY_PATH"});
      continue;
    }
    auto const runtime = describe_runtime(site, *library.path);
    if (!runtime) continue;
    report.add_fact("runtime of " + program, runtime->path + " (" + version_text(*runtime) + ")");
    if (auto finding = check_driver_for(*runtime, driver, "toolkit.driver_too_old")) {
      report.findings.push_back(std::move(*finding));
    }
  }
  // Whoever calls a runtime needs libc too: what needs nothing is an object file, or GPU code alone.
  if (!has_runtime && !section->needed.empty()) look_for_static_runtime(program, driver, look.failure(), report);
}

/// The toolkit that would build, against the GPUs.
inline void compare_toolkit_and_gpus(std::vector<ToolkitWitness> const& witnesses, Machine const& machine,
                                     RungReport& report) {
  ToolkitWitness const* toolkit = nullptr;
  for (ToolkitWitness const& witness : witnesses) {
    if (!witness.is_toolkit || !witness.minor_number) continue;
    if (toolkit == nullptr || witness.name == nvcc_on_path) toolkit = &witness;
  }
  if (toolkit == nullptr) return;
  CudaVersion const version{toolkit->major_number, *toolkit->minor_number};
  std::vector<ComputeCapability> seen;
  for (Gpu const& gpu : machine.gpus) {
    if (!gpu.compute_capability) continue;
    ComputeCapability const cc = *gpu.compute_capability;
    if (std::find(seen.begin(), seen.end(), cc) != seen.end()) continue;
    seen.push_back(cc);
    GpuGeneration const* const row = find_generation(cc);
    Age const age = age_for_toolkit(cc, version);
    if (row == nullptr || (age != Age::gpu_too_old && age != Age::gpu_too_new)) continue;
    bool const old = age == Age::gpu_too_old;
    std::string const name = gpu.name + " (" + to_string(cc) + ")";
    report.findings.push_back(
        {Severity::warning, old ? "toolkit.gpu_too_old" : "toolkit.gpu_too_new", toolkit->name, toolkit->place,
         Diagnostic::no_offset,
         old ? "CUDA " + to_string(version) + " builds nothing for " + name + ": support has ended"
             : "CUDA " + to_string(version) + " does not know " + name + " yet",
         old ? "nvcc refuses the target (documented; tried with nvcc 13.0)"
             : "machine code cannot be built for it; PTX of this toolkit may run (documented)",
         "build with CUDA " + to_string(old ? row->last_toolkit : row->first_toolkit) +
             (old ? " or older" : " or newer")});
  }
}

}  // namespace detail

/// The toolkits that variables point at, whether they agree and know the GPUs, and the CUDA runtimes that this process
/// has loaded and the programs would load, each against the CUDA version that the driver serves. Programs are real
/// paths. Nothing is thrown but bad_alloc. Thread-safe.
[[nodiscard]] inline RungReport diagnose_toolkit(Site const& site, std::vector<std::string> const& programs,
                                                 std::optional<CudaVersion> driver, Machine const& machine = {}) {
  RungReport report;
  report.rung = Rung::toolkit;
#ifdef _WIN32
  (void)site;
  (void)programs;
  (void)driver;
  (void)machine;
  report.unknown.push_back("toolkits and runtimes are looked for on Linux only");
#else
  report.add_unknown("whether variables name another toolkit", site.variables_unknown);
  std::vector<detail::ToolkitWitness> const witnesses = detail::find_toolkits(site, report);
  for (std::size_t i = 1; i < witnesses.size(); ++i) {
    auto const& first = witnesses.front();
    auto const& other = witnesses[i];
    if (!detail::contradict(first, other)) continue;
    auto const text = [](detail::ToolkitWitness const& witness) {
      return std::to_string(witness.major_number) + "." +
             (witness.minor_number ? std::to_string(*witness.minor_number) : "x");
    };
    report.findings.push_back(
        {Severity::warning, "toolkit.mixed_versions", other.name, other.place, Diagnostic::no_offset,
         "it points at CUDA " + text(other) + ", and " + first.name + " (" + first.place + ") at CUDA " + text(first),
         "builds may take the compiler from one and libraries from the other", "make them name the same toolkit"});
  }
  detail::compare_toolkit_and_gpus(witnesses, machine, report);
  Look const look{site};
  std::vector<std::string> const mapped = mapped_libraries(look);
  report.add_unknown("which files are loaded", look.failure());
  bool has_runtime = false;
  for (std::string const& library : mapped) {
    auto const runtime = describe_runtime(site, library);
    if (!runtime) continue;
    has_runtime = true;
    report.add_fact("runtime loaded", library + " (" + version_text(*runtime) + ")");
    if (auto finding = check_driver_for(*runtime, driver, "toolkit.driver_too_old")) {
      report.findings.push_back(std::move(*finding));
    }
  }
  if (!has_runtime && !mapped.empty()) {
    detail::look_for_static_runtime(site.path_of(mapped.front()), driver, look.failure(), report);
  }
  for (std::string const& program : programs) {
    // What is in the process has found its libraries already, maybe not by the loader's rules alone.
    auto const place = detail::place_on_site(site, program);
    bool const is_mapped = place && std::find(mapped.begin(), mapped.end(), *place) != mapped.end();
    if (!is_mapped) detail::look_at_program(site, program, driver, report);
  }
#endif
  return report;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_TOOLKIT_HPP
