#ifndef CUENV_JUDGE_HPP
#define CUENV_JUDGE_HPP

#include <cuenv/cuda_version.hpp>
#include <cuenv/gpu_code_rules.hpp>
#include <cuenv/image.hpp>
#include <cuenv/verdict.hpp>

#include <cstddef>
#include <optional>

CUENV_NAMESPACE_BEGIN

/// Judges one module, entry by entry, in constant memory: what a visitor of visit_images needs. Never throws, never
/// allocates.
class ModuleJudge {
 public:
  /// For a module of this kind, with no entries yet.
  constexpr ModuleJudge(ModuleKind kind, LoadConditions const& conditions) noexcept
      : kind_{kind}, conditions_{conditions} {}

  /// Takes the next entry into account.
  constexpr void add(ImageEntry const& entry) noexcept {
    std::size_t const index = count_++;
    if (entry.damage != Damage::none && damage_ == Damage::none) damage_ = entry.damage;
    Candidate const candidate{entry, index};
    switch (entry.kind) {
      case ImageKind::cubin: add_cubin(candidate); break;
      case ImageKind::ptx: add_ptx(candidate); break;
      case ImageKind::lto_ir: miss(candidate, Reason::only_lto_ir); break;
      case ImageKind::unknown: miss(candidate, Reason::unknown_kind); break;
    }
  }

  /// The verdict on the entries so far. `damage` is what the visit said of the module itself.
  [[nodiscard]] constexpr Verdict verdict(Damage damage) const noexcept {
    if (damage == Damage::none) damage = damage_;
    if (damage != Damage::none) {
      Verdict verdict;
      verdict.kind = VerdictKind::damaged;
      verdict.reason = Reason::damage;
      verdict.damage = damage;
      return verdict;
    }
    if (kind_ == ModuleKind::unknown) {
      return refusal(VerdictKind::unknown, Reason::unknown_kind, {}, as_measured(load_code::invalid_image));
    }
    if (cubin_.index != Verdict::no_entry) return verdict_on_cubin();
    if (ptx_.index != Verdict::no_entry) return verdict_on_ptx();
    if (count_ == 0) return refusal(VerdictKind::nothing, Reason::no_entries, {}, load_code::no_binary_for_gpu);
    switch (miss_reason_) {
      case Reason::unknown_kind:
        return refusal(VerdictKind::unknown, miss_reason_, miss_,
                       kind_ == ModuleKind::fatbin ? as_measured(load_code::no_binary_for_gpu) : std::nullopt);
      case Reason::unknown_family:
      case Reason::integrated_gpu: return refusal(VerdictKind::unknown, miss_reason_, miss_, std::nullopt);
      default: return refusal(VerdictKind::incompatible, miss_reason_, miss_, load_code::no_binary_for_gpu);
    }
  }

 private:
  struct Candidate {
    ImageEntry entry;
    std::size_t index = Verdict::no_entry;
  };

  /// Which of two usable entries the driver prefers: the higher target, then 'a' over 'f' over neither (measured, 580,
  /// for 'a'; the place of 'f' is an assumption).
  [[nodiscard]] static constexpr int rank(Target target) noexcept {
    return target.sm * 4 + (target.suffix == 'a' ? 2 : target.suffix == 'f' ? 1 : 0);
  }

  constexpr void add_cubin(Candidate const& candidate) noexcept {
    Fit const fit = fit_of_cubin(candidate.entry.target, conditions_.gpu);
    if (kind_ == ModuleKind::cubin && candidate.entry.target.sm == 0) {
      miss(candidate, Reason::unknown_kind);
    } else if (fit != Fit::yes) {
      miss(candidate, reason_of(fit));
    } else if (kind_ == ModuleKind::fatbin && conditions_.switches.force_jit) {
      miss(candidate, Reason::cubins_passed_over);
    } else if (cubin_.index == Verdict::no_entry || rank(candidate.entry.target) > rank(cubin_.entry.target)) {
      cubin_ = candidate;  // of two equal cubins the first (measured, 580)
    }
  }

  /// A fatbin's PTX is chosen by its header; of a lone text there is nothing to choose.
  constexpr void add_ptx(Candidate const& candidate) noexcept {
    Fit const fit = fit_of_ptx(candidate.entry.target, conditions_.gpu);
    if (kind_ == ModuleKind::fatbin && fit != Fit::yes) {
      miss(candidate, reason_of(fit));
    } else if (ptx_.index == Verdict::no_entry || rank(candidate.entry.target) >= rank(ptx_.entry.target)) {
      ptx_ = candidate;  // of two equal ones the last (measured, 580)
    }
  }

  constexpr void miss(Candidate const& candidate, Reason reason) noexcept {
    int const distance_now = distance(miss_.entry.target);
    bool const nearer = miss_.index == Verdict::no_entry || reason > miss_reason_ ||
                        (reason == miss_reason_ && distance(candidate.entry.target) < distance_now);
    if (!nearer) return;
    miss_ = candidate;
    miss_reason_ = reason;
  }

  [[nodiscard]] constexpr int distance(Target target) const noexcept {
    int const difference = target.sm - conditions_.gpu.sm();
    return difference < 0 ? -difference : difference;
  }

  [[nodiscard]] static constexpr Reason reason_of(Fit fit) noexcept {
    switch (fit) {
      case Fit::yes: return Reason::matches;
      case Fit::doubtful: return Reason::integrated_gpu;
      case Fit::unknown_family: return Reason::unknown_family;
      case Fit::older: return Reason::older_gpu_only;
      case Fit::newer: return Reason::newer_gpu_only;
      case Fit::other_specific: return Reason::other_gpu_only;
      case Fit::other_family: return Reason::other_family;
      case Fit::ptx_above_device: break;
    }
    return Reason::ptx_above_gpu;
  }

  [[nodiscard]] constexpr bool cannot_unpack(ImageEntry const& entry) const noexcept {
    return entry.compression == Compression::zstd && conditions_.driver && *conditions_.driver < first_with_zstd;
  }

  /// A code that newer drivers, which may know what is unknown here, need not answer.
  [[nodiscard]] constexpr std::optional<int> as_measured(int code) const noexcept {
    if (conditions_.driver && !(measured_driver < *conditions_.driver)) return code;
    return std::nullopt;
  }

  [[nodiscard]] static constexpr Verdict refusal(VerdictKind kind, Reason reason, Candidate const& candidate,
                                                 std::optional<int> code) noexcept {
    Verdict verdict;
    verdict.kind = kind;
    verdict.reason = reason;
    verdict.entry = candidate.index;
    verdict.verified = code.has_value();
    verdict.code = code;
    verdict.image = candidate.entry.kind;
    verdict.target = candidate.entry.target;
    verdict.ptx = candidate.entry.ptx;
    return verdict;
  }

  [[nodiscard]] constexpr Verdict verdict_on_cubin() const noexcept {
    ImageEntry const& entry = cubin_.entry;
    auto const incompatible = VerdictKind::incompatible;
    if (cannot_unpack(entry)) {
      return refusal(incompatible, Reason::compression_newer_than_driver, cubin_, load_code::invalid_image);
    }
    // The header chose it; then the driver looks at the code (measured, 580: 300).
    if (entry.inner.sm != 0 && entry.inner.sm != entry.target.sm) {
      bool const runs = fit_of_cubin(entry.inner, conditions_.gpu) == Fit::yes;
      if (!runs) return refusal(incompatible, Reason::lying_header, cubin_, load_code::invalid_source);
      return refusal(VerdictKind::native, Reason::lying_header, cubin_, std::nullopt);
    }
    return refusal(VerdictKind::native, Reason::matches, cubin_, load_code::success);
  }

  /// What the driver finds in the text, in the order in which it looks.
  [[nodiscard]] constexpr Verdict verdict_on_ptx() const noexcept {
    ImageEntry const& entry = ptx_.entry;
    auto const incompatible = VerdictKind::incompatible;
    if (conditions_.switches.disable_jit) {
      return refusal(incompatible, Reason::jit_disabled, ptx_, load_code::jit_compilation_disabled);
    }
    if (cannot_unpack(entry)) {
      return refusal(incompatible, Reason::compression_newer_than_driver, ptx_, load_code::invalid_image);
    }
    if (entry.head == PtxHead::bad_version) {
      return refusal(incompatible, Reason::ptx_without_target, ptx_, std::nullopt);
    }
    if (conditions_.driver && newest_ptx(*conditions_.driver) < entry.ptx) {
      // Reports from drivers of CUDA 10 tell of another code.
      bool const certain = !(*conditions_.driver < CudaVersion{11, 0});
      return refusal(incompatible, Reason::ptx_newer_than_driver, ptx_,
                     certain ? std::optional<int>{load_code::unsupported_ptx_version} : std::nullopt);
    }
    if (entry.head == PtxHead::no_target) {
      return refusal(incompatible, Reason::ptx_without_target, ptx_, load_code::invalid_ptx);
    }
    if (entry.inner.sm != 0) {
      if (Fit const fit = fit_of_ptx(entry.inner, conditions_.gpu); fit == Fit::unknown_family) {
        return refusal(VerdictKind::unknown, Reason::unknown_family, ptx_, std::nullopt);
      } else if (fit != Fit::yes) {
        bool const lies = entry.inner.sm != entry.target.sm;
        return refusal(incompatible, lies ? Reason::lying_header : reason_of(fit), ptx_, load_code::invalid_ptx);
      }
      PtxVersion const oldest = oldest_ptx(entry.inner);
      if (entry.ptx < oldest) {
        return refusal(incompatible, Reason::ptx_too_old_for_target, ptx_, load_code::invalid_ptx);
      }
    }
    if (entry.head == PtxHead::bits_32) {
      return refusal(incompatible, Reason::ptx_32_bit, ptx_, load_code::invalid_ptx);
    }
    return refusal(VerdictKind::jit, Reason::matches, ptx_, std::nullopt);
  }

  ModuleKind kind_;
  LoadConditions conditions_;
  std::size_t count_ = 0;
  Damage damage_ = Damage::none;
  Candidate cubin_;
  Candidate ptx_;
  Candidate miss_;
  Reason miss_reason_ = Reason::no_entries;
};

/// The verdict on one module. Pure: it depends on its arguments alone. Never throws, never allocates.
[[nodiscard]] inline Verdict judge(ImageModule const& module, LoadConditions const& conditions) noexcept {
  ModuleJudge judge{module.kind, conditions};
  for (ImageEntry const& entry : module.entries) judge.add(entry);
  return judge.verdict(module.damage);
}

/// The verdict on a file that is to be loaded as one module, by its path or its bytes (cuModuleLoad and its like): of a
/// fatbin file with several containers only the first counts (measured, 580). A program or library is no module; its
/// modules are judged one by one.
[[nodiscard]] inline Verdict judge_as_module(ImageFile const& file, LoadConditions const& conditions) noexcept {
  Verdict verdict;
  verdict.code = load_code::invalid_image;
  verdict.verified = true;
  switch (file.summary.kind) {
    case FileKind::fatbin:
    case FileKind::cubin:
    case FileKind::ptx:
      if (!file.modules.empty()) return judge(file.modules.front(), conditions);
      break;
    case FileKind::elf:
    case FileKind::pe:
    case FileKind::archive:
    case FileKind::thin_archive: verdict.reason = file.modules.empty() ? Reason::no_gpu_code : Reason::host_file; break;
    case FileKind::empty: verdict.reason = Reason::empty_file; break;
    case FileKind::foreign: verdict.reason = Reason::no_gpu_code; break;
  }
  if (file.summary.damage != Damage::none) {
    verdict.kind = VerdictKind::damaged;
    verdict.reason = Reason::damage;
    verdict.damage = file.summary.damage;
    verdict.code = std::nullopt;
    verdict.verified = false;
  }
  return verdict;
}

CUENV_NAMESPACE_END

#endif  // CUENV_JUDGE_HPP
