#ifndef CUENV_VERDICT_TEXT_HPP
#define CUENV_VERDICT_TEXT_HPP

#include <cuenv/cuda_version.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/gpu.hpp>
#include <cuenv/gpu_code_rules.hpp>
#include <cuenv/image.hpp>
#include <cuenv/verdict.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

CUENV_NAMESPACE_BEGIN

/// The enumerator's name, in text and JSON.
[[nodiscard]] constexpr std::string_view to_string(VerdictKind kind) noexcept {
  switch (kind) {
    case VerdictKind::native: return "native";
    case VerdictKind::jit: return "jit";
    case VerdictKind::incompatible: return "incompatible";
    case VerdictKind::damaged: return "damaged";
    case VerdictKind::unknown: return "unknown";
    case VerdictKind::nothing: break;
  }
  return "nothing";
}

/// The enumerator's name, in JSON.
[[nodiscard]] constexpr std::string_view to_string(Reason reason) noexcept {
  constexpr std::string_view names[] = {"matches",
                                        "empty_file",
                                        "no_gpu_code",
                                        "no_entries",
                                        "host_file",
                                        "damage",
                                        "only_lto_ir",
                                        "older_gpu_only",
                                        "newer_gpu_only",
                                        "ptx_above_gpu",
                                        "other_family",
                                        "other_gpu_only",
                                        "unknown_kind",
                                        "unknown_family",
                                        "integrated_gpu",
                                        "cubins_passed_over",
                                        "jit_disabled",
                                        "lying_header",
                                        "ptx_without_target",
                                        "ptx_32_bit",
                                        "ptx_too_old_for_target",
                                        "ptx_newer_than_driver",
                                        "compression_newer_than_driver"};
  static_assert(sizeof names / sizeof *names == static_cast<std::size_t>(Reason::compression_newer_than_driver) + 1);
  return names[static_cast<std::size_t>(reason)];
}

/// The nvcc option that adds code for a GPU: "-gencode arch=compute_90,code=sm_90", or the same with code=compute_90.
[[nodiscard]] inline std::string gencode_option(ComputeCapability gpu, ImageKind kind = ImageKind::cubin) {
  Target const target{gpu.sm(), 0};
  return "-gencode arch=" + to_string(ImageKind::ptx, target) + ",code=" + to_string(kind, target);
}

/// "driver 595 (CUDA 13.2) or newer", for PTX that needs it; as much of it as the tables know.
[[nodiscard]] inline std::string driver_for(PtxVersion ptx) {
  auto const release = first_release_with(ptx);
  if (!release) return "a driver newer than that of CUDA " + to_string(cuda_releases[cuda_releases.size() - 1].cuda);
  std::string const cuda = "CUDA " + to_string(release->cuda);
  if (release->driver_branch == 0) return "a driver of " + cuda + " or newer";
  return "driver " + std::to_string(release->driver_branch) + " (" + cuda + ") or newer";
}

/// Why the verdict is what it is, as a sentence without its full stop.
[[nodiscard]] inline std::string reason_text(Verdict const& verdict, LoadConditions const& conditions) {
  std::string const gpu = to_string(conditions.gpu);
  std::string const code = to_string(verdict.image, verdict.target);
  std::string const driver = conditions.driver ? "CUDA " + to_string(*conditions.driver) : "an unknown CUDA version";
  switch (verdict.reason) {
    case Reason::matches:
      if (verdict.kind == VerdictKind::native) return "the code for " + code + " runs on " + gpu + " as it is";
      return "the driver compiles the PTX for " + code + " at its first use";
    case Reason::empty_file: return "the file is empty";
    case Reason::no_gpu_code: return "the file is no GPU code, and holds none";
    case Reason::no_entries: return "there is no GPU code in it";
    case Reason::host_file: return "a program, library or archive is not loaded as GPU code; the modules in it are";
    case Reason::damage: return "the GPU code is damaged: " + std::string{to_string(verdict.damage)};
    case Reason::only_lto_ir:
      return "there is only link-time IR (" + code + "), which has to be linked before a driver can load it";
    case Reason::older_gpu_only:
      return "the nearest code is for " + code + ", an older GPU, and there is no PTX that could be compiled for " +
             gpu;
    case Reason::newer_gpu_only: return "the nearest code is for " + code + ", which a GPU of " + gpu + " cannot run";
    case Reason::ptx_above_gpu: return "the PTX is for " + code + ", above the GPU's " + gpu;
    case Reason::other_family: return code + " is family-specific: " + gpu + " is not in its family, or older than it";
    case Reason::other_gpu_only:
      return code + " is architecture-specific: no other GPU can run it, so " + gpu + " cannot";
    case Reason::unknown_kind: return "it is of a kind that this version of cuenv does not know";
    case Reason::unknown_family: return code + " is of a family that this version of cuenv does not know";
    case Reason::integrated_gpu:
      return "NVIDIA promises no binary compatibility of " + code + " with " + gpu +
             ", since one of them is an integrated GPU";
    case Reason::cubins_passed_over:
      return "the code for " + code +
             " would run, but the environment forces JIT compilation and there is no PTX for it";
    case Reason::jit_disabled:
      return "only the PTX for " + code + " would do for " + gpu + ", and the environment switches JIT compilation off";
    case Reason::lying_header: return "the entry header says " + code + ", the code in it is for another target";
    case Reason::ptx_without_target: return "the PTX does not begin with a .version and a .target that can be read";
    case Reason::ptx_32_bit:
      return "the PTX uses 32-bit addresses (no .address_size 64), which no 64-bit program can load";
    case Reason::ptx_too_old_for_target:
      return "PTX " + to_string(verdict.ptx) + " does not know its target: " + code + " needs PTX " +
             to_string(oldest_ptx(verdict.target));
    case Reason::ptx_newer_than_driver:
      return "PTX " + to_string(verdict.ptx) + " is newer than the driver, which serves " + driver +
             (conditions.driver ? " and so PTX " + to_string(newest_ptx(*conditions.driver)) : "");
    case Reason::compression_newer_than_driver: break;
  }
  return "the code is packed with zstd, which drivers before CUDA 12.4 cannot read; this one serves " + driver;
}

/// What makes it run: an option for nvcc, a driver, a variable to unset. Empty where nothing needs to be done.
[[nodiscard]] inline std::string fix_line(Verdict const& verdict, LoadConditions const& conditions) {
  std::string add = "build with " + gencode_option(conditions.gpu);
  switch (verdict.reason) {
    case Reason::matches: return {};
    case Reason::host_file: return "name GPU code, or use require_images for programs and libraries";
    case Reason::empty_file:
    case Reason::no_gpu_code:
    case Reason::damage: return "build or copy the file again";
    case Reason::unknown_kind:
    case Reason::unknown_family: return "use a newer cuenv, or load it and see";
    case Reason::cubins_passed_over:
      return "unset CUDA_FORCE_PTX_JIT and CUDA_FORCE_JIT, or build with " +
             gencode_option(conditions.gpu, ImageKind::ptx);
    case Reason::jit_disabled: return add + ", or unset CUDA_DISABLE_PTX_JIT and CUDA_DISABLE_JIT";
    case Reason::ptx_newer_than_driver: return "install " + driver_for(verdict.ptx) + ", or " + add;
    case Reason::compression_newer_than_driver:
      return "install driver 550 (CUDA 12.4) or newer, or build with --compress-mode=speed";
    case Reason::ptx_32_bit: return "build with -m64";
    case Reason::ptx_too_old_for_target:
      return "raise the .version to " + to_string(oldest_ptx(verdict.target)) + " or more";
    case Reason::lying_header:
    case Reason::ptx_without_target: return "build the file again";
    default: return add;
  }
}

/// The verdict as a finding about `subject`, such as a path with a section and an offset: an error where it will not
/// load, a warning where nobody can tell, a note otherwise.
[[nodiscard]] inline Diagnostic to_diagnostic(Verdict const& verdict, LoadConditions const& conditions,
                                              std::string subject) {
  Diagnostic diagnostic;
  switch (verdict.kind) {
    case VerdictKind::native:
    case VerdictKind::jit:
      diagnostic.severity = Severity::note;
      diagnostic.code = "image.loads";
      break;
    case VerdictKind::unknown:
      diagnostic.severity = Severity::warning;
      diagnostic.code = "image.unknown";
      break;
    case VerdictKind::incompatible: diagnostic.code = "image.incompatible"; break;
    case VerdictKind::damaged: diagnostic.code = "image.damaged"; break;
    case VerdictKind::nothing: diagnostic.code = "image.nothing"; break;
  }
  diagnostic.subject = std::move(subject);
  diagnostic.what = reason_text(verdict, conditions);
  if (verdict.code && *verdict.code != load_code::success) {
    diagnostic.driver = "loading it answers " + std::to_string(*verdict.code);
  }
  diagnostic.fix = fix_line(verdict, conditions);
  return diagnostic;
}

CUENV_NAMESPACE_END

#endif  // CUENV_VERDICT_TEXT_HPP
