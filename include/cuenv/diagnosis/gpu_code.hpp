#ifndef CUENV_DIAGNOSIS_GPU_CODE_HPP
#define CUENV_DIAGNOSIS_GPU_CODE_HPP

#include <cuenv/child_environment.hpp>
#include <cuenv/diagnosis/driver.hpp>
#include <cuenv/diagnosis/rung.hpp>
#include <cuenv/diagnosis/site.hpp>
#include <cuenv/error.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/plan.hpp>
#include <cuenv/program.hpp>
#include <cuenv/result_code.hpp>
#include <cuenv/verdict.hpp>
#include <cuenv/verdict_text.hpp>
#include <cuenv/version.hpp>
#include <cuenv/visibility.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

CUENV_NAMESPACE_BEGIN

/// Whether the GPU code of the programs runs on the GPUs.
struct GpuCodeFound {
  /// The driver has to compile PTX of at least one program for at least one visible GPU.
  bool needs_jit = false;
  RungReport report;  ///< of `Rung::gpu_code`
};

namespace detail {

/// Which GPUs of the machine a process would see: positions in its list.
struct GpusInSight {
  std::vector<std::size_t> gpus;
  /// The one that is device 0; nothing where only the driver knows.
  std::optional<std::size_t> device_0;
};

/// All of them where the variables show none, or where only the driver knows which.
[[nodiscard]] inline GpusInSight gpus_in_sight(Visibility const& visibility, Machine const& machine) {
  GpusInSight sight;
  bool exact = visibility.known && visibility.cu_init == 0;
  for (VisibleDevice const& device : visibility.devices) {
    exact = exact && device.physical;
    if (exact) sight.gpus.push_back(static_cast<std::size_t>(device.physical->value));
  }
  if (exact && !sight.gpus.empty()) {
    sight.device_0 = sight.gpus.front();
    return sight;
  }
  sight.gpus.clear();
  for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) sight.gpus.push_back(gpu);
  return sight;
}

/// "GPU 0 (NVIDIA H200, 9.0)", and for several "GPUs 0, 1 (NVIDIA H200, 9.0)": GPUs of one compute capability.
[[nodiscard]] inline std::string gpu_words(std::vector<std::size_t> const& gpus, Machine const& machine) {
  std::string text = gpus.size() == 1 ? "GPU " : "GPUs ";
  std::string names;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    Gpu const& gpu = machine.gpus[gpus[i]];
    text += (i == 0 ? "" : ", ") + std::to_string(gpus[i]);
    if (names.find(gpu.name) == std::string::npos || i == 0) names += (i == 0 ? "" : ", ") + gpu.name;
  }
  auto const& capability = machine.gpus[gpus.front()].compute_capability;
  return text + " (" + names + (capability ? ", " + to_string(*capability) : std::string{}) + ")";
}

/// What the refusals of a module have in common: one code for each thing that mends it.
[[nodiscard]] constexpr std::string_view code_of_refusal(Reason reason) noexcept {
  switch (reason) {
    case Reason::damage:
    case Reason::lying_header: return "gpu_code.damaged";
    case Reason::ptx_newer_than_driver: return "gpu_code.ptx_newer_than_driver";
    case Reason::compression_newer_than_driver: return "gpu_code.compression_newer_than_driver";
    case Reason::jit_disabled: return "gpu_code.jit_disabled";
    case Reason::cubins_passed_over: return "gpu_code.jit_forced";
    default: return "gpu_code.none_for_gpu";
  }
}

/// "unset CUDA_DISABLE_PTX_JIT": those of the variables that are set.
[[nodiscard]] inline std::string unset_line(Site const& site, std::string_view longer, std::string_view other) {
  std::string line = "unset";
  for (std::string_view const name : {longer, other}) {
    if (site.get(name)) line += " " + std::string{name};
  }
  return line;
}

/// How to start the program on one of `able`: by the index of nvidia-smi, where MIG does not change how CUDA counts,
/// or by the UUID. Empty where there is no such GPU.
[[nodiscard]] inline std::string line_for_gpu(std::vector<std::size_t> const& able, Machine const& machine) {
  bool mig = false;
  for (Gpu const& gpu : machine.gpus) mig = mig || gpu.mig_enabled;
  for (std::size_t const index : able) {
    Gpu const& gpu = machine.gpus[index];
    if (gpu.mig_enabled) continue;
    std::string const by_uuid = gpu.uuid ? "CUDA_VISIBLE_DEVICES=GPU-" + to_string(*gpu.uuid) : std::string{};
    if (mig && by_uuid.empty()) continue;
    if (mig) return "run it with " + by_uuid;
    return "run it with CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=" + std::to_string(index) +
           (by_uuid.empty() ? "" : " (or " + by_uuid + ")");
  }
  return {};
}

/// One program, judged for the GPUs of a machine whose compute capability is known.
struct JudgedProgram {
  std::string path;
  FileReport file;
  /// Positions in the machine's list, beside the entries of `file.gpus`, and which of them are in sight.
  std::vector<std::size_t> gpus;
  std::vector<bool> in_sight;
  std::vector<LoadConditions> conditions;

  [[nodiscard]] bool serves(std::size_t at) const noexcept {
    Service const service = file.gpus[at].service();
    return service == Service::all || service == Service::empty;
  }
};

/// The finding about the GPUs of one compute capability, of which `at` is the first, and which the program does not
/// serve, in whole or in part.
[[nodiscard]] inline Diagnostic refusal_finding(Site const& site, JudgedProgram const& program, Machine const& machine,
                                                GpusInSight const& sight, std::size_t at) {
  Verdict const& refusal = *program.file.refusals[at];
  LoadConditions const& conditions = program.conditions[at];
  std::vector<std::size_t> unable;
  std::vector<std::size_t> able_in_sight;
  std::vector<std::size_t> able;
  bool device_0_is_served = false;
  for (std::size_t i = 0; i < program.gpus.size(); ++i) {
    if (program.in_sight[i] && program.conditions[i].gpu == conditions.gpu) unable.push_back(program.gpus[i]);
    if (!program.serves(i)) continue;
    (program.in_sight[i] ? able_in_sight : able).push_back(program.gpus[i]);
    device_0_is_served = device_0_is_served || sight.device_0 == program.gpus[i];
  }
  bool const some_serve = !able_in_sight.empty();
  able.insert(able.begin(), able_in_sight.begin(), able_in_sight.end());

  Diagnostic finding;
  finding.code = code_of_refusal(refusal.reason);
  finding.subject = program.path;
  bool const partly = program.file.gpus[at].service() == Service::partly;
  finding.severity = partly || device_0_is_served ? Severity::warning : Severity::error;
  GpuService const& service = program.file.gpus[at];
  std::string const modules =
      std::to_string(service.incompatible + service.damaged) + " of " +
      std::to_string(service.incompatible + service.damaged + service.native + service.jit + service.unknown) +
      " modules";
  finding.what =
      gpu_words(unable, machine) + " cannot run " + (partly ? modules : "it") + ": " + reason_text(refusal, conditions);
  bool const no_code = finding.code == "gpu_code.none_for_gpu";
  bool const machine_code = refusal.image == ImageKind::cubin && refusal.reason != Reason::older_gpu_only;
  if (no_code && machine_code) finding.what += ", and there is no PTX that could be compiled";
  if (partly) finding.what += ". Large libraries carry modules for one GPU each by design";
  if (some_serve && !partly) {
    finding.what += ". Of the GPUs in sight " + gpu_words({able_in_sight.front()}, machine) + " can";
    if (!sight.device_0) finding.what += "; which of them is device 0 only the driver knows";
  }
  if (refusal.code && *refusal.code != load_code::success) {
    finding.driver = "loading it answers " + describe_result(*refusal.code);
  }
  if (no_code) {
    finding.driver += std::string{finding.driver.empty() ? "" : "; "} +
                      "clearing the JIT cache cannot help: nothing is compiled here that could be in it";
  }
  std::string const line = line_for_gpu(able, machine);
  if (refusal.reason == Reason::jit_disabled) {
    finding.fix = unset_line(site, "CUDA_DISABLE_PTX_JIT", "CUDA_DISABLE_JIT");
  } else if (refusal.reason == Reason::cubins_passed_over) {
    finding.fix = unset_line(site, "CUDA_FORCE_PTX_JIT", "CUDA_FORCE_JIT");
  } else {
    finding.fix = (line.empty() || partly ? "" : line + ", or ") + fix_line(refusal, conditions);
  }
  return finding;
}

/// What one program means for the rung.
inline void add_program(Site const& site, JudgedProgram const& program, Machine const& machine,
                        GpusInSight const& sight, GpuCodeFound& found) {
  std::string words;
  bool empty = true;
  for (std::size_t at = 0; at < program.gpus.size(); ++at) {
    GpuService const& service = program.file.gpus[at];
    empty = empty && service.service() == Service::empty;
    bool repeats = false;  // the same for each like GPU is said once
    for (std::size_t earlier = 0; earlier < at; ++earlier) {
      repeats = repeats || (program.conditions[earlier].gpu == program.conditions[at].gpu && program.in_sight[earlier]);
    }
    if (!program.in_sight[at] || repeats) continue;
    found.needs_jit = found.needs_jit || service.jit > 0;
    constexpr std::string_view runs[] = {"runs on ", "runs in part on ", "not on ", "nothing for "};
    std::string_view const how = runs[static_cast<std::size_t>(service.service())];
    words += (words.empty() ? "" : ", ") + std::string{how} + to_string(program.conditions[at].gpu) +
             (service.jit > 0 ? " by compiling PTX" : "");
    if (program.file.refusals[at]) {
      found.report.findings.push_back(refusal_finding(site, program, machine, sight, at));
    }
  }
  found.report.add_fact(program.path, empty ? "no GPU code that has to serve" : words);
}

/// What a process has in its memory; a file that is gone meanwhile is left out.
inline void add_loaded(std::vector<std::string> const& loaded, JudgedProgram const& judged, GpuCodeFound& found) {
  std::vector<LoadConditions> in_sight;
  for (std::size_t at = 0; at < judged.gpus.size(); ++at) {
    if (judged.in_sight[at]) in_sight.push_back(judged.conditions[at]);
  }
  std::size_t with_code = 0;
  for (std::string const& path : loaded) {
    try {
      FileReport file = judge_file(path, in_sight, false);
      bool has_code = false;
      for (GpuService const& gpu : file.gpus) {
        has_code = has_code || gpu.service() != Service::empty;
        found.needs_jit = found.needs_jit || gpu.jit > 0;
      }
      with_code += has_code ? 1 : 0;
      append(found.report.findings, std::move(file.findings));
    } catch (FileError const& error) {
      std::string failure;
      if (path_exists(path, &failure) || !failure.empty()) found.report.unknown.push_back(failure_words(error));
    }
  }
  found.report.add_fact("loaded files with GPU code", std::to_string(with_code));
}

}  // namespace detail

/// Whether the GPU code in `programs` (programs, libraries, or GPU code by itself; paths as they are) runs on each GPU
/// that a process of this site would see, and if not, on which GPU of the machine it does, or what to build. The
/// verdicts are those of judge_file: documented rules, measured on 9.0 and driver 580. Reads the files alone and never
/// throws for what is in them; files that cannot be read are in `unknown`. `loaded` are files that a process has in its
/// memory: a finding is made only of one that serves a GPU in sight not at all, since libraries carry modules for one
/// GPU each by design. Thread-safe.
[[nodiscard]] inline GpuCodeFound diagnose_gpu_code(Site const& site, std::vector<std::string> const& programs,
                                                    Machine const& machine, DriverFound const& driver,
                                                    std::vector<std::string> const& loaded = {}) {
  GpuCodeFound found;
  RungReport& report = found.report;
  report.rung = Rung::gpu_code;
  if (programs.empty() && loaded.empty()) {
    report.add_fact("programs", "none named");
    return found;
  }
  report.add_unknown("which GPUs the program sees, and whether JIT is switched off or forced", site.variables_unknown);
  detail::ListedEnvironment const environment{site.variables};
  detail::DeviceTexts const texts = detail::device_texts(environment);
  Visibility const visibility =
      site.variables_unknown.empty() ? resolve_visibility(texts.views(), machine) : Visibility{};
  detail::GpusInSight const sight = detail::gpus_in_sight(visibility, machine);
  JitSwitches const switches = jit_switches(environment);

  detail::JudgedProgram judged;
  for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
    bool in_sight = false;
    for (std::size_t const visible : sight.gpus) in_sight = in_sight || visible == gpu;
    auto const& capability = machine.gpus[gpu].compute_capability;
    if (capability) {
      judged.gpus.push_back(gpu);
      judged.in_sight.push_back(in_sight);
      judged.conditions.push_back({*capability, driver.cuda, switches});
    } else if (in_sight) {
      report.unknown.push_back("the compute capability of GPU " + std::to_string(gpu) + " (" + machine.gpus[gpu].name +
                               ") is not known, so nothing is said of code for it");
    }
  }
  if (machine.gpus.empty()) report.unknown.push_back("no GPU is known here, so nobody can say whether the code runs");
  if (!driver.cuda) {
    report.unknown.push_back("the driver's CUDA version is not known, so its limits for PTX were not looked at");
  }
  for (std::string const& path : programs) {
    try {
      judged.path = path;
      judged.file = judge_file(path, judged.conditions, true);
    } catch (FileError const& error) {
      report.unknown.push_back(detail::failure_words(error));
      continue;
    }
    if (!judged.gpus.empty()) detail::add_program(site, judged, machine, sight, found);
  }
  if (!loaded.empty()) detail::add_loaded(loaded, judged, found);
  if (found.needs_jit && driver.jit_compiler == false) {
    ResultCode const& row = *find_result_code(221);
    report.findings.push_back({Severity::error, "gpu_code.no_jit_compiler", "libnvidia-ptxjitcompiler.so.1",
                               driver.jit_compiler_file, Diagnostic::no_offset, std::string{row.meaning},
                               "loading PTX answers " + describe_result(row.code), std::string{row.fix}});
  }
  return found;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_GPU_CODE_HPP
