// gpu_code_checker FILE DRIVER|any partly|whole GPU...: says nothing and returns 0 where the GPU code in the file
// serves each GPU of the list, such as 9.0, under a driver of that CUDA version. What cuenv_require_gpu_code builds and
// runs: nothing of this machine, no driver and no variable, counts.
#include <cuenv/program.hpp>

#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t findings_listed = 3;  // for each GPU

/// The targets of the code in a file, as nvcc spells them.
struct Targets {
  std::set<std::string> names;

  void begin_module(cuenv::ImageModule const& module) { skip_ = module.device_link; }
  void entry(cuenv::ImageEntry const& entry) {
    if (skip_) return;
    std::string const ptx = entry.kind == cuenv::ImageKind::ptx ? " (PTX " + to_string(entry.ptx) + ")" : "";
    names.insert(to_string(entry.kind, entry.target) + ptx);
  }
  void end_module(cuenv::Damage) {}

 private:
  bool skip_ = false;
};

std::string targets_in(std::string const& path) {
  Targets targets;
  (void)cuenv::visit_images(path, targets);
  std::string text;
  for (std::string const& name : targets.names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "no GPU code" : text;
}

/// What is wrong with the file for one GPU; empty where nothing is.
std::string fault(cuenv::GpuService const& gpu, bool partly) {
  switch (gpu.service()) {
    case cuenv::Service::all: return {};
    case cuenv::Service::empty: return "there is no GPU code; name the target that holds the kernels";
    case cuenv::Service::none: return "it serves not at all";
    case cuenv::Service::partly: break;
  }
  if (partly && gpu.damaged == 0) return {};
  std::size_t const bad = gpu.incompatible + gpu.damaged;
  return "it serves partly: " + std::to_string(bad) + " of " +
         std::to_string(gpu.native + gpu.jit + gpu.unknown + bad) +
         " modules do not; for libraries that carry modules for one GPU each by design, PARTLY will do";
}

int check(std::string const& path, std::string_view driver, bool partly, std::vector<std::string_view> const& gpus) {
  std::vector<cuenv::LoadConditions> conditions;
  for (std::string_view const gpu : gpus) {
    conditions.push_back({cuenv::parse_compute_capability(gpu).value(), cuenv::parse_cuda_version(driver), {}});
  }
  std::string const name = path.substr(path.find_last_of("/\\") + 1);
  cuenv::FileReport const report = cuenv::judge_file(path, conditions, true, name);
  std::string text;
  std::string architectures;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    cuenv::ComputeCapability const gpu = conditions[i].gpu;
    std::string const what = fault(report.gpus[i], partly);
    if (what.empty()) continue;
    text += "\n  GPU " + to_string(gpu) + ": " + what;
    std::size_t count = 0;
    bool mended_by_code = false;
    for (cuenv::Diagnostic const& finding : report.findings) {
      if (!cuenv::detail::starts_with(finding.what, "for " + to_string(gpu) + ":")) continue;
      mended_by_code = mended_by_code || finding.fix.find(gencode_option(gpu)) != std::string::npos;
      if (++count <= findings_listed) text += "\n" + to_string(finding);
    }
    if (count > findings_listed) text += "\n  and more like these: cuenv check lists them";
    if (mended_by_code) architectures += " " + std::to_string(gpu.sm()) + "-real";
  }
  if (text.empty()) return 0;
  text = path + ": the GPU code does not run everywhere it has to" +
         (driver == "any" ? std::string{} : " under a driver of CUDA " + std::string{driver}) +
         "\n  in the file: " + targets_in(path) + text;
  if (!architectures.empty()) text += "\nin CMake: add" + architectures + " to the target's CUDA_ARCHITECTURES";
  std::fprintf(stderr, "%s\n", text.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 5) return 2;
  return check(argv[1], argv[2], std::string_view{argv[3]} == "partly", {argv + 4, argv + argc});
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
