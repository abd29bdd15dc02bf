#ifndef CUENV_GPU_CODE_RULES_HPP
#define CUENV_GPU_CODE_RULES_HPP

#include <cuenv/cuda_version.hpp>
#include <cuenv/gpu.hpp>
#include <cuenv/image.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

// Which code runs on which GPU, and which driver can read it: tables, each with its source, and a few functions that
// look things up in them. All of it is constexpr and depends on nothing but its arguments.

CUENV_NAMESPACE_BEGIN

/// What one CUDA release brought: the first driver branch that serves it (0 where that is not known yet), and the PTX
/// version that its compiler knows.
struct CudaRelease {
  CudaVersion cuda;   ///< the release
  int driver_branch;  ///< 580 of 580.65.06; 0 where not known yet
  PtxVersion ptx;     ///< the newest that its compiler writes and its driver reads
};

/// Oldest first. Source: release history of the PTX ISA manual; driver branches from the CUDA release notes.
inline constexpr std::array<CudaRelease, 33> cuda_releases{{
    {{7, 5}, 352, {4, 3}},  {{8, 0}, 361, {5, 0}},  {{9, 0}, 384, {6, 0}},  {{9, 1}, 387, {6, 1}},
    {{9, 2}, 396, {6, 2}},  {{10, 0}, 400, {6, 3}}, {{10, 1}, 418, {6, 4}}, {{10, 2}, 440, {6, 5}},
    {{11, 0}, 445, {7, 0}}, {{11, 1}, 455, {7, 1}}, {{11, 2}, 460, {7, 2}}, {{11, 3}, 465, {7, 3}},
    {{11, 4}, 470, {7, 4}}, {{11, 5}, 495, {7, 5}}, {{11, 6}, 510, {7, 6}}, {{11, 7}, 515, {7, 7}},
    {{11, 8}, 520, {7, 8}}, {{12, 0}, 525, {8, 0}}, {{12, 1}, 530, {8, 1}}, {{12, 2}, 535, {8, 2}},
    {{12, 3}, 545, {8, 3}}, {{12, 4}, 550, {8, 4}}, {{12, 5}, 555, {8, 5}}, {{12, 6}, 560, {8, 5}},
    {{12, 7}, 565, {8, 6}}, {{12, 8}, 570, {8, 7}}, {{12, 9}, 575, {8, 8}}, {{13, 0}, 580, {9, 0}},
    {{13, 1}, 590, {9, 1}}, {{13, 2}, 595, {9, 2}}, {{13, 3}, 610, {9, 3}}, {{13, 4}, 615, {9, 4}},
    {{13, 5}, 0, {9, 5}},
}};

/// A target and the first PTX version that knows it, in its plain form, with 'a' and with 'f'; 0.0 where there is none.
struct TargetIntroduction {
  int sm;               ///< the number in sm_90
  PtxVersion plain;     ///< for sm_90
  PtxVersion specific;  ///< for sm_90a; 0.0: there is none
  PtxVersion family;    ///< for sm_100f; 0.0: there is none
};

/// Source: .target in the PTX ISA manual, tried with ptxas 13.0.
inline constexpr std::array<TargetIntroduction, 31> target_introductions{{
    {10, {1, 0}, {}, {}},          {11, {1, 0}, {}, {}},          {12, {1, 2}, {}, {}},
    {13, {1, 2}, {}, {}},          {20, {2, 0}, {}, {}},          {30, {3, 0}, {}, {}},
    {32, {4, 0}, {}, {}},          {35, {3, 1}, {}, {}},          {37, {4, 1}, {}, {}},
    {50, {4, 0}, {}, {}},          {52, {4, 1}, {}, {}},          {53, {4, 2}, {}, {}},
    {60, {5, 0}, {}, {}},          {61, {5, 0}, {}, {}},          {62, {5, 0}, {}, {}},
    {70, {6, 0}, {}, {}},          {72, {6, 1}, {}, {}},          {75, {6, 3}, {}, {}},
    {80, {7, 0}, {}, {}},          {86, {7, 1}, {}, {}},          {87, {7, 4}, {}, {}},
    {88, {9, 0}, {}, {}},          {89, {7, 8}, {}, {}},          {90, {7, 8}, {8, 0}, {}},
    {100, {8, 6}, {8, 6}, {8, 8}}, {101, {8, 6}, {8, 6}, {8, 8}}, {103, {8, 8}, {8, 8}, {8, 8}},
    {107, {9, 4}, {9, 4}, {9, 4}}, {110, {9, 0}, {9, 0}, {9, 0}}, {120, {8, 7}, {8, 7}, {8, 8}},
    {121, {8, 8}, {8, 8}, {8, 8}},
}};

/// GPUs that share family-specific ('f') code: what was built for one runs on it and on the later ones of its row.
/// Source: CUDA programming guide 13 (compute capabilities), PTX ISA manual (sm_101 is sm_110's older number).
inline constexpr std::array<std::array<int, 3>, 3> gpu_families{{{100, 103, 107}, {101, 110, 0}, {120, 121, 0}}};

/// GPUs of Tegra and its successors, on one chip with the host. Up to 12.x the programming guide keeps them out of
/// binary compatibility, from and to the others; 13 no longer says so, and field reports contradict each other.
inline constexpr std::array<int, 7> integrated_gpus{32, 53, 62, 72, 87, 101, 110};

/// The first release whose driver reads code packed with zstd (nvcc manual, --compress-mode).
inline constexpr CudaVersion first_with_zstd{12, 4};

/// The driver on which the rules were measured; what is said of newer ones rests on documents.
inline constexpr CudaVersion measured_driver{13, 0};

/// Whether a piece of code is for a GPU.
enum class Fit : std::uint8_t {
  yes,
  doubtful,         ///< sources contradict each other: an integrated GPU is involved
  unknown_family,   ///< family-specific code of a family newer than this table
  older,            ///< SASS for an older GPU
  newer,            ///< SASS for a newer GPU
  other_specific,   ///< 'a' code of another GPU
  other_family,     ///< 'f' code of another family, or of a later member
  ptx_above_device  ///< PTX for a newer GPU
};

namespace detail {

[[nodiscard]] constexpr bool is_integrated(int sm) noexcept {
  for (int const known : integrated_gpus) {
    if (known == sm) return true;
  }
  return false;
}

/// The row of gpu_families that has `sm`, or the number of rows.
[[nodiscard]] constexpr std::size_t family_of(int sm) noexcept {
  for (std::size_t i = 0; i < gpu_families.size(); ++i) {
    for (int const member : gpu_families[i]) {
      if (member == sm && sm != 0) return i;
    }
  }
  return gpu_families.size();
}

[[nodiscard]] constexpr Fit fit_of_family_code(int sm, int device) noexcept {
  constexpr int newest_known_generation = 12;
  if (sm == device && sm >= 100) return Fit::yes;
  if (family_of(sm) == gpu_families.size()) {
    return sm / 10 > newest_known_generation && sm / 10 == device / 10 ? Fit::unknown_family : Fit::other_family;
  }
  return family_of(sm) == family_of(device) && sm <= device ? Fit::yes : Fit::other_family;
}

}  // namespace detail

/// Whether SASS for `target` runs on a GPU. Source: CUDA programming guide, binary compatibility: same major revision,
/// minor revision not above the GPU's; 'a' on the very GPU only; 'f' in its family. Measured on 9.0.
[[nodiscard]] constexpr Fit fit_of_cubin(Target target, ComputeCapability device) noexcept {
  int const sm = device.sm();
  if (target.suffix == 'f') return detail::fit_of_family_code(target.sm, sm);
  if (target.sm == sm) return Fit::yes;
  bool const renamed = (target.sm == 101 && sm == 110) || (target.sm == 110 && sm == 101);
  if (renamed) return Fit::doubtful;
  if (target.suffix == 'a') return Fit::other_specific;
  if (target.sm / 10 != sm / 10) return target.sm < sm ? Fit::older : Fit::newer;
  if (target.sm > sm) return Fit::newer;
  return detail::is_integrated(target.sm) || detail::is_integrated(sm) ? Fit::doubtful : Fit::yes;
}

/// Whether a driver compiles PTX for `target` for a GPU. Source: PTX ISA manual, .target; 26 targets tried against 23
/// GPUs with ptxas 13.0. Measured on 9.0.
[[nodiscard]] constexpr Fit fit_of_ptx(Target target, ComputeCapability device) noexcept {
  int const sm = device.sm();
  if (target.suffix == 'f') return detail::fit_of_family_code(target.sm, sm);
  if (target.suffix == 'a') {
    bool const same = target.sm == sm || (target.sm == 101 && sm == 110);
    return same ? Fit::yes : Fit::other_specific;
  }
  return target.sm <= sm ? Fit::yes : Fit::ptx_above_device;
}

/// The newest PTX that a driver compiles, given the CUDA version it serves. Drivers newer than the table are taken to
/// go on as from 11.0 to 13.x: PTX major is CUDA major less 4, the minor numbers agree.
[[nodiscard]] constexpr PtxVersion newest_ptx(CudaVersion driver) noexcept {
  PtxVersion newest;
  for (CudaRelease const& release : cuda_releases) {
    if (!(driver < release.cuda)) newest = release.ptx;
  }
  CudaRelease const& last = cuda_releases[cuda_releases.size() - 1];
  return last.cuda < driver ? PtxVersion{driver.major_number - 4, driver.minor_number} : newest;
}

/// The first release whose driver compiles this PTX; nothing where the table has none.
[[nodiscard]] constexpr std::optional<CudaRelease> first_release_with(PtxVersion ptx) noexcept {
  for (CudaRelease const& release : cuda_releases) {
    if (!(release.ptx < ptx)) return release;
  }
  return std::nullopt;
}

/// The oldest PTX version in which `target` may stand; 0.0 where the table does not know the target.
[[nodiscard]] constexpr PtxVersion oldest_ptx(Target target) noexcept {
  for (TargetIntroduction const& row : target_introductions) {
    if (row.sm == target.sm) return target.suffix == 'a' ? row.specific : target.suffix == 'f' ? row.family : row.plain;
  }
  return {};
}

CUENV_NAMESPACE_END

#endif  // CUENV_GPU_CODE_RULES_HPP
