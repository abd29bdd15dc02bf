#ifndef CUENV_DIAGNOSIS_FRAMEWORK_HPP
#define CUENV_DIAGNOSIS_FRAMEWORK_HPP

#include <cuenv/cuda_version.hpp>
#include <cuenv/detail/elf_dynamic.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/diagnosis/code_targets.hpp>
#include <cuenv/diagnosis/cuda_runtime.hpp>
#include <cuenv/diagnosis/library_search.hpp>
#include <cuenv/diagnosis/rung.hpp>
#include <cuenv/diagnosis/site.hpp>
#include <cuenv/error.hpp>
#include <cuenv/gpu.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/program.hpp>
#include <cuenv/verdict.hpp>
#include <cuenv/version.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// PyTorch in a Python environment, read from its files: no Python is run. Layouts as seen in wheels of PyTorch 1.13 to
// 2.8 and in conda's packages.

CUENV_NAMESPACE_BEGIN

/// The value of TORCH_CUDA_ARCH_LIST that has PyTorch and its extensions built for these GPUs, and for later ones by
/// PTX: "8.6;9.0+PTX". Empty where no compute capability is known.
[[nodiscard]] inline std::string torch_arch_list(std::vector<Gpu> const& gpus) {
  std::vector<ComputeCapability> capabilities;
  for (Gpu const& gpu : gpus) {
    if (gpu.compute_capability) capabilities.push_back(*gpu.compute_capability);
  }
  std::sort(capabilities.begin(), capabilities.end());
  capabilities.erase(std::unique(capabilities.begin(), capabilities.end()), capabilities.end());
  std::string text;
  for (ComputeCapability const cc : capabilities) text += (text.empty() ? "" : ";") + to_string(cc);
  return text.empty() ? text : text + "+PTX";
}

namespace detail {

/// What a line such as "cuda: Optional[str] = '12.6'" assigns, without quotation marks; nothing where there is none.
[[nodiscard]] inline std::optional<std::string> python_assignment(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    std::string_view left = trim(take_until(line, '='));
    if (trim(take_until(left, ':')) != name) continue;
    line = trim(take_until(line, '#'));
    bool const quoted =
        line.size() >= 2 && (line.front() == '\'' || line.front() == '"') && line.back() == line.front();
    return std::string{quoted ? line.substr(1, line.size() - 2) : line};
  }
  return std::nullopt;
}

/// The folders with the packages of a Python environment: the folder itself, or those below it.
[[nodiscard]] inline std::vector<std::string> package_folders(Site const& disk, std::string const& prefix) {
  if (ends_with(prefix, "-packages") || disk.exists(prefix + "/torch/version.py")) return {prefix};
  std::vector<std::string> folders;
  for (char const* const lib : {"/lib", "/lib64", "/local/lib"}) {
    auto names = disk.list(prefix + lib).value_or(std::vector<std::string>{});
    std::sort(names.begin(), names.end());
    for (std::string const& name : names) {
      if (!starts_with(name, "python3")) continue;
      for (char const* const packages : {"/site-packages", "/dist-packages"}) {
        std::string const folder = disk.real_path(prefix + lib + "/" + name + packages);
        bool const known = std::find(folders.begin(), folders.end(), folder) != folders.end();
        if (!known && disk.exists(folder)) folders.push_back(folder);
      }
    }
  }
  if (disk.exists(prefix + "/Lib/site-packages")) folders.push_back(prefix + "/Lib/site-packages");
  return folders;
}

/// Every libcudart of the environment, one for each file: pip's packages, those within PyTorch, and conda's.
[[nodiscard]] inline std::vector<CudaRuntime> runtimes_of(Site const& disk, std::string const& prefix,
                                                          std::string const& packages) {
  std::vector<std::string> folders{packages + "/torch/lib", prefix + "/lib"};
  auto const add_below = [&](std::string const& above) {
    for (std::string const& name : disk.list(above).value_or(std::vector<std::string>{})) {
      folders.push_back(above + "/" + name + "/lib");
    }
  };
  add_below(packages + "/nvidia");
  add_below(prefix + "/targets");
  std::vector<CudaRuntime> runtimes;
  std::vector<std::string> files;
  std::sort(folders.begin(), folders.end());
  for (std::string const& folder : folders) {
    auto names = disk.list(folder).value_or(std::vector<std::string>{});
    std::sort(names.begin(), names.end());
    for (std::string const& name : names) {
      auto runtime = runtime_by_name(name) ? describe_runtime(disk, folder + "/" + name) : std::nullopt;
      std::string const file = disk.real_path(folder + "/" + name);
      if (!runtime || std::find(files.begin(), files.end(), file) != files.end()) continue;
      files.push_back(file);
      runtimes.push_back(std::move(*runtime));
    }
  }
  return runtimes;
}

/// PyTorch as its files describe it.
struct Torch {
  std::string folder;
  std::string version;
  std::optional<CudaVersion> cuda;
  /// What it was built for in place of CUDA; empty where it was built for CUDA.
  std::string other_build;
  /// The library with its GPU code; empty where there is none.
  std::string library;
};

[[nodiscard]] inline std::optional<Torch> find_torch(Site const& disk, std::string const& packages) {
  Torch torch;
  torch.folder = packages + "/torch";
  auto const text = disk.read(torch.folder + "/version.py");
  if (!text) return std::nullopt;
  torch.version = python_assignment(*text, "__version__").value_or("unknown");
  std::string const cuda = python_assignment(*text, "cuda").value_or("");
  torch.cuda = parse_cuda_version(cuda);
  if (!torch.cuda && (cuda == "None" || ends_with(torch.version, "+cpu"))) {
    std::string const hip = python_assignment(*text, "hip").value_or("None");
    torch.other_build = hip == "None" ? "the CPU alone" : "ROCm " + hip;
  }
  for (char const* const name : {"libtorch_cuda.so", "libtorch_cuda_cu.so", "libtorch_cuda_cpp.so"}) {  // 1.10 to 1.12
    std::string const library = torch.folder + "/lib/" + name;
    if (torch.library.empty() && disk.exists(library)) torch.library = library;
  }
  return torch;
}

/// The GPU code of PyTorch against each kind of GPU.
inline void judge_torch(Torch const& torch, Machine const& machine, std::optional<CudaVersion> driver,
                        JitSwitches switches, RungReport& report) {
  auto const targets = code_targets(torch.library);
  if (!targets) {
    report.unknown.push_back("the GPU code of PyTorch: " + torch.library + " cannot be read");
    return;
  }
  std::string const built_for = to_string(*targets);
  report.add_fact("PyTorch is built for", built_for.empty() ? "no GPU that could be seen" : built_for);
  std::vector<LoadConditions> conditions;
  std::vector<std::string> names;
  std::size_t without_capability = 0;
  for (Gpu const& gpu : machine.gpus) {
    if (!gpu.compute_capability) {
      ++without_capability;
      continue;
    }
    bool known = false;
    for (LoadConditions const& earlier : conditions) known = known || earlier.gpu == *gpu.compute_capability;
    if (known) continue;
    conditions.push_back({*gpu.compute_capability, driver, switches});
    names.push_back(gpu.name + " (" + to_string(*gpu.compute_capability) + ")");
  }
  try {
    for (std::size_t i = 0; i < conditions.size(); ++i) {
      // As a program of its own: a library that need not serve would be searched byte by byte, all of its gigabyte.
      FileReport const file = judge_file(torch.library, {conditions[i]}, true);
      GpuService const count = file.gpus.front();
      std::size_t const good = count.native + count.jit + count.unknown;
      std::size_t const bad = count.incompatible + count.damaged;
      auto const find = [&](Severity severity, std::string_view code, std::string what, std::string answer) {
        report.findings.push_back(
            {severity, code, torch.library, built_for, Diagnostic::no_offset, std::move(what), std::move(answer),
             "install a build of PyTorch that names " + to_string(conditions[i].gpu) +
                 ", or build it with TORCH_CUDA_ARCH_LIST=\"" + torch_arch_list(machine.gpus) + "\""});
      };
      if (good + bad == 0) {
        report.unknown.push_back("whether PyTorch has code for " + names[i]);
      } else if (good == 0) {
        find(Severity::error, "framework.gpu_not_served",
             "it has no code that " + names[i] + " can run with this driver",
             file.findings.empty() ? "" : file.findings.front().driver);
      } else if (bad > good) {
        find(Severity::warning, "framework.gpu_partly_served",
             std::to_string(bad) + " of its " + std::to_string(good + bad) + " modules have no code for " + names[i],
             "kernels of those modules fail with 209, no kernel image (measured, 580, on 9.0)");
      } else if (count.native == 0 && count.jit > 0) {
        find(Severity::warning, "framework.jit_only", "for " + names[i] + " it has PTX alone",
             "each kernel is compiled at its first use, which can take minutes");
      }
    }
  } catch (FileError const&) {
    report.unknown.push_back("the GPU code of PyTorch: " + torch.library + " cannot be read any more");
  }
  if (without_capability > 0) {
    report.unknown.push_back("whether PyTorch has code for " + std::to_string(without_capability) +
                             " GPUs whose compute capability is not known");
  }
}

/// The runtime that PyTorch would load, and the others that are there.
inline void judge_torch_runtimes(Look const& disk, Torch const& torch, std::vector<CudaRuntime> const& runtimes,
                                 RungReport& report) {
  for (CudaRuntime const& runtime : runtimes) {
    report.add_fact("libcudart", runtime.path + " (" + version_text(runtime) + ")");
  }
  auto const section = read_dynamic_section(torch.library);
  if (!section) {
    report.unknown.push_back("the libraries of " + torch.library + ", which is no 64-bit ELF file that can be read");
    return;
  }
  for (std::string const& name : section->needed) {
    if (!runtime_by_name(name)) continue;
    LibrarySearch search;
    search.rpath = section->rpath;
    if (section->has_runpath) search.runpath = section->runpath;
    search.origin = torch.folder + "/lib";
    search.machine = section->machine;
    auto path = find_library(disk, name, search);
    for (CudaRuntime const& runtime : runtimes) {  // what its __init__.py would load in advance
      if (!path && ends_with(runtime.path, "/" + name)) path = runtime.path;
    }
    auto const loaded = path ? describe_runtime(disk, *path) : std::nullopt;
    if (!loaded && report.add_unknown("whether PyTorch gets " + name, disk.failure())) continue;
    if (!loaded) {
      report.findings.push_back({Severity::error, "framework.runtime_not_found", torch.library, name,
                                 Diagnostic::no_offset, "it needs this CUDA runtime, which is nowhere to be found",
                                 "import torch fails: cannot open shared object file",
                                 "install PyTorch again, with the packages that it depends on"});
      continue;
    }
    report.add_fact("libcudart of PyTorch", loaded->path + " (" + version_text(*loaded) + ")");
    bool const other = torch.cuda && (loaded->major_number != torch.cuda->major_number ||
                                      (loaded->minor_number && *loaded->minor_number < torch.cuda->minor_number));
    if (!other) continue;
    report.findings.push_back({Severity::warning, "framework.runtime_mismatch", loaded->path, version_text(*loaded),
                               Diagnostic::no_offset,
                               "PyTorch was built with CUDA " + to_string(*torch.cuda) + " and gets an older runtime",
                               "what the older one lacks is missed at import or at the first use (not measured)",
                               "remove its folder from LD_LIBRARY_PATH, or install PyTorch's own dependencies again"});
  }
}

}  // namespace detail

/// PyTorch in the Python environment at `prefix` (of a venv or conda, or a site-packages folder; a real path): its
/// build against the GPUs, its CUDA version against the driver and against the runtimes that are there. Nothing is
/// thrown but bad_alloc, and no Python is run. Thread-safe.
[[nodiscard]] inline RungReport diagnose_framework(Site const& site, std::string prefix, Machine const& machine,
                                                   std::optional<CudaVersion> driver) {
  RungReport report;
  report.rung = Rung::framework;
  Site real;  // the prefix is a real path
  real.variables = site.variables;
  Look const disk{real};
  while (prefix.size() > 1 && prefix.back() == '/') prefix.pop_back();
  if (!prefix.empty() && prefix.front() != '/') prefix = disk.link("/proc/self/cwd").value_or("") + "/" + prefix;
  auto const folders = detail::package_folders(disk, prefix);
  std::optional<detail::Torch> torch;
  std::string packages;
  for (std::string const& folder : folders) {
    if (!torch) torch = detail::find_torch(disk, packages = folder);
    for (char const* const other : {"tensorflow", "jaxlib", "cupy", "paddle", "mxnet"}) {
      if (disk.exists(folder + "/" + other)) report.unknown.push_back(std::string{other} + " is not looked at");
    }
  }
  if (folders.empty() && report.add_unknown("which packages are below " + prefix, disk.failure())) return report;
  if (folders.empty()) {
    report.findings.push_back({Severity::warning, "framework.no_packages", prefix, "", Diagnostic::no_offset,
                               "there is no lib/python3*/site-packages below this folder", "",
                               "name the folder that sys.prefix tells, or a site-packages folder"});
    return report;
  }
  if (!torch && report.add_unknown("whether PyTorch is in " + folders.front(), disk.failure())) return report;
  if (!torch) {
    report.add_fact("PyTorch", "not in " + folders.front());
    std::string const venv = disk.read(prefix + "/pyvenv.cfg", 4096).value_or("");
    if (detail::python_assignment(venv, "include-system-site-packages") == "true") {
      report.unknown.push_back("the packages of the Python behind this environment, which it uses too: " +
                               detail::python_assignment(venv, "home").value_or("its home is not known"));
    }
    return report;
  }
  report.add_fact("PyTorch", torch->version + " in " + torch->folder);
  std::string const list = torch_arch_list(machine.gpus);
  if (!list.empty()) report.add_fact("TORCH_CUDA_ARCH_LIST for these GPUs", list);
  if (!torch->other_build.empty()) {
    if (machine.gpus.empty()) {
      report.add_fact("PyTorch is built for", torch->other_build);
      return report;
    }
    report.findings.push_back(
        {Severity::error, "framework.no_cuda", torch->folder + "/version.py", torch->version, Diagnostic::no_offset,
         "this PyTorch is built for " + torch->other_build + ", and there is a GPU",
         "torch.cuda.is_available() is False, whatever the driver",
         "install a build for CUDA" + (driver ? " " + to_string(*driver) + " or older" : std::string{}) +
             ": see pytorch.org/get-started/locally"});
    return report;
  }
  report.add_fact("CUDA of PyTorch", torch->cuda ? to_string(*torch->cuda) : "unknown");
  if (!torch->cuda) report.unknown.emplace_back("which CUDA PyTorch was built with: version.py does not tell");
  if (torch->library.empty() && report.add_unknown("which library PyTorch's GPU code is in", disk.failure()))
    return report;
  if (torch->library.empty()) {
    report.findings.push_back({Severity::error, "framework.incomplete", torch->folder + "/lib/libtorch_cuda.so", "",
                               Diagnostic::no_offset, "PyTorch says that it is built for CUDA, and this file is absent",
                               "import torch fails, or finds no GPU", "install PyTorch again"});
    return report;
  }
  if (torch->cuda) {
    CudaRuntime const built_with{torch->folder, torch->cuda->major_number, torch->cuda->minor_number};
    if (auto finding = check_driver_for(built_with, driver, "framework.driver_too_old")) {
      report.findings.push_back(std::move(*finding));
    }
  }
  report.add_unknown("whether JIT is switched off or forced", site.variables_unknown);
  auto const force_ptx = site.get("CUDA_FORCE_PTX_JIT"), force = site.get("CUDA_FORCE_JIT");
  auto const disable_ptx = site.get("CUDA_DISABLE_PTX_JIT"), disable = site.get("CUDA_DISABLE_JIT");
  detail::judge_torch(*torch, machine, driver, jit_switches(JitVariables{force_ptx, force, disable_ptx, disable}),
                      report);
  detail::judge_torch_runtimes(disk, *torch, detail::runtimes_of(disk, prefix, packages), report);
  return report;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_FRAMEWORK_HPP
