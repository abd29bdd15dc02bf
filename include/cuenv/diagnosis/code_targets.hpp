#ifndef CUENV_DIAGNOSIS_CODE_TARGETS_HPP
#define CUENV_DIAGNOSIS_CODE_TARGETS_HPP

#include <cuenv/error.hpp>
#include <cuenv/image.hpp>
#include <cuenv/inspect.hpp>
#include <cuenv/version.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

CUENV_NAMESPACE_BEGIN

/// What a file's GPU code was built for, each target once, lowest first.
struct CodeTargets {
  std::vector<Target> machine_code;  ///< of cubins: sm_90, sm_90a
  std::vector<Target> ptx;           ///< compute_90, compute_90a
};

/// "sm_80 sm_90 compute_90": as the options of nvcc name them.
[[nodiscard]] inline std::string to_string(CodeTargets const& targets) {
  std::string text;
  auto const add = [&](char const* prefix, Target target) {
    text += (text.empty() ? "" : " ") + (prefix + std::to_string(target.sm));
    if (target.suffix != 0) text += target.suffix;
  };
  for (Target const target : targets.machine_code) add("sm_", target);
  for (Target const target : targets.ptx) add("compute_", target);
  return text;
}

namespace detail {

struct TargetCollector {
  CodeTargets& targets;
  bool device_link = false;

  void begin_module(ImageModule const& module) { device_link = module.device_link; }
  void entry(ImageEntry const& entry) {
    if (device_link || (entry.kind != ImageKind::cubin && entry.kind != ImageKind::ptx)) return;
    auto& list = entry.kind == ImageKind::cubin ? targets.machine_code : targets.ptx;
    if (std::find(list.begin(), list.end(), entry.target) == list.end()) list.push_back(entry.target);
  }
  void end_module(Damage) {}
};

}  // namespace detail

/// The targets of a file's GPU code; nothing where the file cannot be read, which throws nothing. Thread-safe. What
/// nvcc's device link adds to each program is not counted: mostly it holds nothing that could run.
[[nodiscard]] inline std::optional<CodeTargets> code_targets(std::string const& path) {
  CodeTargets targets;
  try {
    (void)visit_images(path, detail::TargetCollector{targets});
  } catch (FileError const&) {
    return std::nullopt;
  }
  auto const lower = [](Target a, Target b) { return a.sm != b.sm ? a.sm < b.sm : a.suffix < b.suffix; };
  std::sort(targets.machine_code.begin(), targets.machine_code.end(), lower);
  std::sort(targets.ptx.begin(), targets.ptx.end(), lower);
  return targets;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_CODE_TARGETS_HPP
