#ifndef CUENV_VERDICT_HPP
#define CUENV_VERDICT_HPP

#include <cuenv/cuda_version.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/gpu.hpp>
#include <cuenv/image.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

CUENV_NAMESPACE_BEGIN

/// The environment's switches over the compiler in the driver, as they are in effect.
struct JitSwitches {
  /// CUDA_FORCE_PTX_JIT or CUDA_FORCE_JIT: cubins in fatbins are passed over; a lone .cubin still loads (measured,
  /// 580).
  bool force_jit = false;
  /// CUDA_DISABLE_PTX_JIT or CUDA_DISABLE_JIT: PTX is refused.
  bool disable_jit = false;
};

/// The texts of the four variables behind the switches; nothing for one that is not set.
struct JitVariables {
  std::optional<std::string_view> force_ptx_jit;    ///< CUDA_FORCE_PTX_JIT
  std::optional<std::string_view> force_jit;        ///< CUDA_FORCE_JIT, since CUDA 13.1; works on 13.0 too
  std::optional<std::string_view> disable_ptx_jit;  ///< CUDA_DISABLE_PTX_JIT
  std::optional<std::string_view> disable_jit;      ///< CUDA_DISABLE_JIT, since CUDA 13.1; works on 13.0 too
};

/// What the driver makes of the variables: on where the text is a number of value 1 in its lower 32 bits (measured,
/// 580); of two names for one switch the longer counts where both are set (CUDA programming guide).
[[nodiscard]] constexpr JitSwitches jit_switches(JitVariables const& variables) noexcept {
  auto const is_on = [](std::optional<std::string_view> longer, std::optional<std::string_view> other) {
    if (!longer) longer = other;
    return longer && (detail::strtoull_base10(*longer).value & 0xffffffff) == 1;
  };
  return {is_on(variables.force_ptx_jit, variables.force_jit), is_on(variables.disable_ptx_jit, variables.disable_jit)};
}

/// Where code is to be loaded.
struct LoadConditions {
  ComputeCapability gpu;  ///< of the one GPU that the verdict is for
  /// The CUDA version that the driver serves (cuDriverGetVersion); without it, no limit of a driver is looked at.
  std::optional<CudaVersion> driver;
  JitSwitches switches;  ///< none, unless `jit_switches` is asked
};

/// The short answer. `native`: SASS that runs as it is. `jit`: the driver has to compile PTX first. `incompatible`:
/// code, but none for this GPU or driver. `damaged`: must not be given to a driver. `unknown`: not understood, and no
/// error. `nothing`: no GPU code.
enum class VerdictKind : std::uint8_t { native, jit, incompatible, damaged, unknown, nothing };

/// Why. Of all entries that the driver cannot take, the nearest miss counts: those further down in this list are
/// nearer.
enum class Reason : std::uint8_t {
  matches,                       ///< it loads, as it is or compiled
  empty_file,                    ///< of 0 bytes
  no_gpu_code,                   ///< a file of another kind
  no_entries,                    ///< a container, and nothing in it
  host_file,                     ///< a program or library: its modules are loaded one by one, not the file
  damage,                        ///< see Verdict::damage
  only_lto_ir,                   ///< link-time IR, which no driver loads by itself
  older_gpu_only,                ///< SASS for older GPUs
  newer_gpu_only,                ///< SASS for newer GPUs
  ptx_above_gpu,                 ///< PTX for newer GPUs
  other_family,                  ///< 'f' code of another family
  other_gpu_only,                ///< 'a' code of another GPU
  unknown_kind,                  ///< code or a container that this version of cuenv does not know
  unknown_family,                ///< 'f' code of a family that this version of cuenv does not know
  integrated_gpu,                ///< sources contradict each other on code for, or on, integrated GPUs
  cubins_passed_over,            ///< SASS would match, but JIT is forced and there is no PTX
  jit_disabled,                  ///< PTX would do, but JIT is switched off
  lying_header,                  ///< the code is for another target than the entry header says
  ptx_without_target,            ///< no .target, or no .version, that can be read
  ptx_32_bit,                    ///< PTX with 32-bit addresses
  ptx_too_old_for_target,        ///< its .version is older than its .target
  ptx_newer_than_driver,         ///< from a newer toolkit than the driver's CUDA version
  compression_newer_than_driver  ///< packed with zstd, which drivers read since CUDA 12.4
};

/// The verdict on one module for one GPU and driver. A plain value; text for people is made by reason_text and
/// fix_line.
struct Verdict {
  static constexpr std::size_t no_entry = static_cast<std::size_t>(-1);  ///< an `entry` of none

  VerdictKind kind = VerdictKind::nothing;  ///< the short answer
  Reason reason = Reason::no_entries;       ///< why, in `reason_text`'s words
  /// Index of the entry that the driver takes or, where it takes none, of the nearest miss; `no_entry` where there is
  /// none.
  std::size_t entry = no_entry;
  /// False where something stays open that only the driver's compiler or a decompressor can know. PTX is never verified
  /// here: only compiling it shows that it compiles.
  bool verified = false;
  /// What loading would answer, as a CUresult: 0 when it loads. Nothing where that is not certain, as for what is
  /// damaged or not verified.
  std::optional<int> code;
  Damage damage = Damage::none;          ///< of the module, or of that entry
  ImageKind image = ImageKind::unknown;  ///< what that entry is; unknown where there is none
  Target target;                         ///< what it was built for
  PtxVersion ptx;                        ///< its version, for PTX

  /// True where the driver will take it, as it is or compiled. False for `unknown` too, where only loading tells.
  [[nodiscard]] constexpr bool loads() const noexcept {
    return kind == VerdictKind::native || kind == VerdictKind::jit;
  }
};

/// CUresult values that a verdict can hold, by number.
namespace load_code {
inline constexpr int success = 0;                     ///< CUDA_SUCCESS
inline constexpr int invalid_image = 200;             ///< CUDA_ERROR_INVALID_IMAGE
inline constexpr int no_binary_for_gpu = 209;         ///< CUDA_ERROR_NO_BINARY_FOR_GPU
inline constexpr int invalid_ptx = 218;               ///< CUDA_ERROR_INVALID_PTX
inline constexpr int unsupported_ptx_version = 222;   ///< CUDA_ERROR_UNSUPPORTED_PTX_VERSION
inline constexpr int jit_compilation_disabled = 223;  ///< CUDA_ERROR_JIT_COMPILATION_DISABLED
inline constexpr int invalid_source = 300;            ///< CUDA_ERROR_INVALID_SOURCE
}  // namespace load_code

CUENV_NAMESPACE_END

#endif  // CUENV_VERDICT_HPP
