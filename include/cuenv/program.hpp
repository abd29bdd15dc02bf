#ifndef CUENV_PROGRAM_HPP
#define CUENV_PROGRAM_HPP

#include <cuenv/detail/files.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/environment.hpp>
#include <cuenv/error.hpp>
#include <cuenv/image.hpp>
#include <cuenv/inspect.hpp>
#include <cuenv/jit_cache.hpp>
#include <cuenv/judge.hpp>
#include <cuenv/service.hpp>
#include <cuenv/values.hpp>
#include <cuenv/variables.hpp>
#include <cuenv/verdict.hpp>
#include <cuenv/verdict_text.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#ifdef _WIN32
#include <cuenv/detail/windows.hpp>
#else
#include <link.h>
#include <unistd.h>
#endif

// The GPU code of the running program, read from its files: no driver, no context.

CUENV_NAMESPACE_BEGIN

/// One file of the program.
struct FileReport {
  std::string path;  ///< as the loader has it, or as the caller wrote it
  /// True for the executable and the libraries that the caller named.
  bool required = false;
  /// For each GPU that was asked for, in that order.
  std::vector<GpuService> gpus;
  /// For each of them the verdict on the first module that should serve it and does not; nothing where all do.
  std::vector<std::optional<Verdict>> refusals;
  /// Errors for a required file's modules that do not serve; a warning for another library that serves a GPU not at
  /// all.
  Diagnostics findings;
};

/// The files of the program that hold GPU code, and what cannot be read.
struct ProgramReport {
  std::vector<FileReport> files;  ///< executable, loaded libraries, named ones that are not
  /// Modules that the driver has to compile at their first use on one GPU, summed over files; of unlike GPUs the most.
  std::size_t jit_modules = 0;
  /// False where the environment keeps compiled code from being cached, so that this happens in each run.
  bool jit_is_cached = true;
  /// Notes, and a warning where code is compiled anew in each run.
  Diagnostics findings;
};

/// The switches over the driver's compiler that an environment has. Thread-safe unless another thread writes it.
[[nodiscard]] inline JitSwitches jit_switches(Environment const& environment) {
  auto const force_ptx = environment.get("CUDA_FORCE_PTX_JIT");
  auto const force = environment.get("CUDA_FORCE_JIT");
  auto const disable_ptx = environment.get("CUDA_DISABLE_PTX_JIT");
  auto const disable = environment.get("CUDA_DISABLE_JIT");
  return jit_switches(JitVariables{force_ptx, force, disable_ptx, disable});
}

namespace detail {

/// The executable, under a name that stays good when the file was replaced or deleted meanwhile.
[[nodiscard]] inline std::string own_file() {
#ifdef _WIN32
  return win32::file_of_module(nullptr);
#else
  return "/proc/self/exe";
#endif
}

/// Whether a library is a part of the driver: what it brings along for its own use is not the program's. (The names on
/// Windows are documented or seen in driver packages; not measured.)
[[nodiscard]] inline bool is_of_driver(std::string_view path) noexcept {
  std::string_view const name = file_name(path);
#ifdef _WIN32
  for (std::string_view const prefix : {"nvcuda", "nvml", "nvapi", "nvfatbin", "nvptxjit", "nvdxgdmal", "nvgpucomp"}) {
    if (equal_ignoring_case(name.substr(0, prefix.size()), prefix)) return true;
  }
  return false;
#else
  return starts_with(name, "libcuda.so") || starts_with(name, "libnvidia-");
#endif
}

}  // namespace detail

/// The files of this process that can hold GPU code: the executable first, then the loaded libraries but the driver's
/// own, in the loader's order. Nothing is thrown but bad_alloc. Thread-safe.
[[nodiscard]] inline std::vector<std::string> loaded_files() {
  std::vector<std::string> files;
#ifdef _WIN32
  for (std::string& file : detail::win32::loaded_files()) {
    if (files.empty() || !detail::is_of_driver(file)) files.push_back(std::move(file));
  }
#else
  std::string program(4096, '\0');
  ::ssize_t const length = ::readlink("/proc/self/exe", program.data(), program.size());
  files.push_back(length > 0 ? program.substr(0, static_cast<std::size_t>(length)) : std::string{"/proc/self/exe"});
  ::dl_iterate_phdr(
      [](::dl_phdr_info* info, std::size_t, void* list) {
        std::string_view const path =
            info->dlpi_name == nullptr ? std::string_view{} : std::string_view{info->dlpi_name};
        if (path.find('/') != std::string_view::npos && !detail::is_of_driver(path)) {
          static_cast<std::vector<std::string>*>(list)->emplace_back(path);
        }
        return 0;
      },
      &files);
#endif
  return files;
}

namespace detail {

/// Judges each module of a file for several GPUs while it is read: memory grows with the number of GPUs only.
class ServiceVisitor {
 public:
  ServiceVisitor(FileReport& report, std::vector<LoadConditions> const& conditions)
      : report_{report}, conditions_{conditions}, counts_(conditions.size()), part_findings_(conditions.size()) {
    report_.refusals.resize(conditions.size());
    part_refusals_.resize(conditions.size());
  }

  void begin_module(ImageModule const& module) {
    module_ = module;
    judges_.clear();
    for (LoadConditions const& conditions : conditions_) judges_.emplace_back(module.kind, conditions);
  }
  void entry(ImageEntry const& entry) {
    for (ModuleJudge& judge : judges_) judge.add(entry);
  }
  void end_module(Damage damage) {
    for (std::size_t gpu = 0; gpu < judges_.size(); ++gpu) {
      Verdict const verdict = judges_[gpu].verdict(damage);
      counts_[gpu].add(module_, verdict.kind);
      bool const damaged = verdict.kind == VerdictKind::damaged;
      bool const serves = !(damaged || verdict.kind == VerdictKind::incompatible) || (module_.device_link && !damaged);
      bool const is_part = ServiceCount::is_relocatable(module_) && !damaged;
      auto& refusal = (is_part ? part_refusals_ : report_.refusals)[gpu];
      if (!serves && !refusal) refusal = verdict;
      bool said = !report_.required || serves;
      // The same for each like GPU is said once.
      for (std::size_t earlier = 0; earlier < gpu; ++earlier)
        said = said || conditions_[earlier].gpu == conditions_[gpu].gpu;
      if (said) continue;
      Refused& refused = is_part ? part_findings_[gpu] : findings_;
      if (refused.named.size() >= most_findings) {
        ++refused.more;
        continue;
      }
      Diagnostic finding = to_diagnostic(verdict, conditions_[gpu], where());
      finding.what = "for " + to_string(conditions_[gpu].gpu) + ": " + finding.what;
      refused.named.push_back(std::move(finding));
    }
  }
  /// After the visit.
  void finish() {
    report(std::move(findings_));
    for (std::size_t gpu = 0; gpu < counts_.size(); ++gpu) {
      report_.gpus.push_back(counts_[gpu].service());
      if (counts_[gpu].linked_code_serves()) continue;
      report(std::move(part_findings_[gpu]));
      if (!report_.refusals[gpu]) report_.refusals[gpu] = part_refusals_[gpu];
    }
  }

 private:
  static constexpr std::size_t most_findings = 64;  // no one reads more, and one change to the build mends them all

  /// Modules that do not serve: the first by name, the others by number.
  struct Refused {
    Diagnostics named;
    std::size_t more = 0;
  };

  void report(Refused refused) {
    append(report_.findings, std::move(refused.named));
    if (refused.more == 0) return;
    report_.findings.push_back({Severity::error, "program.more_modules", report_.path, "", Diagnostic::no_offset,
                                std::to_string(refused.more) + " more like these are not named", "",
                                "see all of them with: cuenv check " + report_.path + " --all"});
  }
  [[nodiscard]] std::string where() const {
    return report_.path + (module_.section.empty() ? "" : " " + module_.section) +
           (module_.member.empty() ? "" : " (" + module_.member + ")") + " at byte " + std::to_string(module_.offset);
  }

  FileReport& report_;
  std::vector<LoadConditions> const& conditions_;
  std::vector<ServiceCount> counts_;
  Refused findings_;
  std::vector<Refused> part_findings_;
  std::vector<std::optional<Verdict>> part_refusals_;
  std::vector<ModuleJudge> judges_;
  ImageModule module_;
};

}  // namespace detail

/// Judges one file's modules for each GPU; `shown` is what findings call it, the path where it is empty. Throws
/// FileError where it cannot be read. Thread-safe.
[[nodiscard]] inline FileReport judge_file(std::string const& path, std::vector<LoadConditions> const& gpus,
                                           bool required, std::string const& shown = {}, InspectOptions options = {}) {
  FileReport report;
  report.path = shown.empty() ? path : shown;
  report.required = required;
  detail::ServiceVisitor visitor{report, gpus};
  FileSummary const summary = visit_images(path, visitor, options);
  visitor.finish();
  bool serves_some_not = false;
  for (GpuService const& gpu : report.gpus) serves_some_not = serves_some_not || gpu.service() == Service::none;
  if (!required && serves_some_not && !options.deep) {
    // Some libraries keep code of their own outside the usual sections: cuFFT has one module in them, for an older GPU.
    options.deep = true;
    return judge_file(path, gpus, required, shown, options);
  }
  if (required && summary.damage != Damage::none) {
    report.findings.push_back({Severity::warning, "program.file_damaged", report.path, "", Diagnostic::no_offset,
                               "the file around its GPU code is odd, so that some may not have been found: " +
                                   std::string{to_string(summary.damage)},
                               "", "build or copy the file again"});
  }
  for (std::size_t gpu = 0; !required && gpu < gpus.size(); ++gpu) {
    if (report.gpus[gpu].service() != Service::none) continue;
    report.findings.push_back(
        {Severity::warning, "program.library_serves_not_at_all", report.path, "", Diagnostic::no_offset,
         "none of its " + std::to_string(report.gpus[gpu].incompatible + report.gpus[gpu].damaged) +
             " modules, in sections or elsewhere, has code for " + to_string(gpus[gpu].gpu),
         "what it starts on such a GPU fails with 209",
         "use a build of this library with " + gencode_option(gpus[gpu].gpu)});
    break;
  }
  return report;
}

/// Judges the GPU code of this process for each GPU: the executable, the named libraries (which need not be loaded),
/// and every other library that is loaded. `jit_is_cached` is what the driver found when it was started. Throws
/// FileError where the executable or a named library cannot be read; of another library a note says so. Thread-safe.
[[nodiscard]] inline ProgramReport judge_program(std::vector<LoadConditions> const& gpus,
                                                 std::vector<std::string> const& libraries, bool jit_is_cached) {
  ProgramReport program;
  std::vector<std::string> paths = loaded_files();
  std::size_t const executable = 0;
  std::vector<bool> required(paths.size(), false);
  std::vector<std::size_t> jit_modules(gpus.size());
  required[executable] = true;
  for (std::string const& library : libraries) {
    bool loaded = false;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      // A name without a folder is a loaded library's.
      bool const same =
          detail::is_same_path(paths[i], library) || detail::is_same_path(detail::file_name(paths[i]), library);
      if (same) required[i] = loaded = true;
    }
    if (loaded) continue;
    paths.push_back(library);
    required.push_back(true);
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    try {
      FileReport report = judge_file(i == executable ? detail::own_file() : paths[i], gpus, required[i], paths[i]);
      bool empty = true;
      for (GpuService const& gpu : report.gpus) empty = empty && gpu.service() == Service::empty;
      if (required[i] && empty && i != executable && !gpus.empty()) {
        report.findings.push_back({Severity::warning, "program.no_gpu_code", paths[i], "", Diagnostic::no_offset,
                                   "this library holds no GPU code that has to serve", "", "check the path"});
      }
      bool holds_code = report.required;
      for (GpuService const& gpu : report.gpus) {
        holds_code = holds_code || gpu.service() != Service::empty;
      }
      for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) jit_modules[gpu] += report.gpus[gpu].jit;
      if (holds_code) program.files.push_back(std::move(report));
    } catch (FileError const& error) {
      if (required[i]) throw;
      for (Diagnostic note : error.diagnostics()) {  // deleted or replaced since it was loaded, say
        note.severity = Severity::note;
        program.findings.push_back(std::move(note));
      }
    }
  }
  for (std::size_t const count : jit_modules) {
    if (count > program.jit_modules) program.jit_modules = count;
  }
  program.jit_is_cached = jit_is_cached;
  if (program.jit_modules > 0) {
    program.findings.push_back(
        {program.jit_is_cached ? Severity::note : Severity::warning, "program.jit", "GPU code", "",
         Diagnostic::no_offset,
         std::to_string(program.jit_modules) + (program.jit_modules == 1 ? " module has" : " modules have") +
             " to be compiled at the first use" +
             (program.jit_is_cached ? "" : ", and in each run anew, since nothing is cached"),
         "",
         program.jit_is_cached
             ? ""
             : "remove CUDA_CACHE_DISABLE, CUDA_CACHE_MAXSIZE and CUDA_CACHE_PATH, or build machine code"});
  }
  return program;
}

/// The same in an environment that a driver would be started in now. Not safe while another thread writes it.
[[nodiscard]] inline ProgramReport judge_program(std::vector<LoadConditions> const& gpus,
                                                 std::vector<std::string> const& libraries = {},
                                                 Environment const& environment = process_environment) {
  return judge_program(gpus, libraries, jit_is_cached(environment));
}

/// All GPU code that this program's executable carries. Throws FileError where it cannot be read. Thread-safe.
[[nodiscard]] inline ImageFile own_images(InspectOptions options = {}) { return inspect(detail::own_file(), options); }

CUENV_NAMESPACE_END

#endif  // CUENV_PROGRAM_HPP
