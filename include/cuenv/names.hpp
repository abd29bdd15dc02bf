#ifndef CUENV_NAMES_HPP
#define CUENV_NAMES_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/variable.hpp>
#include <cuenv/variables.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// Names of variables that a session does not set: those of tools and containers, those that do nothing, and slips of
// the pen. Sources: the container toolkit's and CUDA's documents; what is in the 580 driver was looked up in the
// library.

CUENV_NAMESPACE_BEGIN

/// Variables that belong to CUDA and are read by a tool, a library or the container runtime. They can be explained, and
/// a session does not set them.
inline constexpr VariableInfo related_variables[] = {
    {"CUDA_INJECTION64_PATH", "a shared library", "none", Moment::init, Evidence::documented, "", "", "",
     "code that the driver loads before the program's own work: profilers. Runs whatever it names",
     Privilege::runs_code},
    {"NVIDIA_TF32_OVERRIDE", "0", "none", Moment::not_driver, Evidence::documented, "", "", "",
     "0: cuBLAS and cuDNN must not use TF32"},
    {"TORCH_CUDA_ARCH_LIST", "entries as 8.6, 9.0a, 9.0+PTX", "the visible GPUs", Moment::not_driver,
     Evidence::documented, "", "", "", "what PyTorch extensions are built for"},
    {"CUDAARCHS", "CMake's list of architectures", "none", Moment::not_driver, Evidence::documented, "", "", "",
     "what CMake builds for"},
    {"CUDACXX", "a compiler", "nvcc", Moment::not_driver, Evidence::documented, "", "", "",
     "the CUDA compiler of CMake"},
    {"CUDA_PATH", "a toolkit's folder", "none", Moment::not_driver, Evidence::documented, "", "", "",
     "where tools look for the toolkit; CMake after CUDAToolkit_ROOT"},
    {"CUDA_HOME", "a toolkit's folder", "none", Moment::not_driver, Evidence::documented, "", "", "",
     "where some tools look for the toolkit; CMake does not"},
    {"NVIDIA_VISIBLE_DEVICES", "indices, UUIDs, all, none or void", "void; all in images without NVIDIA_REQUIRE_CUDA",
     Moment::not_driver, Evidence::documented, "", "", "Linux", "the GPUs a container gets; read when it is created"},
    {"NVIDIA_DRIVER_CAPABILITIES", "compute, utility, graphics, video, display, compat32, ngx or all",
     "utility,compute", Moment::not_driver, Evidence::documented, "", "", "Linux",
     "the driver's parts a container gets"},
    {"NVIDIA_REQUIRE_CUDA", "conditions; a comma is and, a blank is or", "none", Moment::not_driver,
     Evidence::documented, "", "", "Linux", "what a container's host must have"},
    {"NVIDIA_DISABLE_REQUIRE", "true or false", "false", Moment::not_driver, Evidence::documented, "", "", "Linux",
     "skip these conditions"},
    {"NVIDIA_IMEX_CHANNELS", "a list of channels", "none", Moment::not_driver, Evidence::documented, "", "", "Linux",
     "the IMEX channels a container gets"},
    {"NVIDIA_CTK_LIBCUDA_DIR", "folders", "none", Moment::not_driver, Evidence::documented, "", "", "Linux",
     "set by the container toolkit: where the driver's libraries are on the host"},
};

/// A name that is recommended here and there and that nothing reads.
struct IneffectiveName {
  std::string_view name;  ///< compared exactly
  /// What to use in its place; may be empty.
  std::string_view instead;
};

/// In no document of NVIDIA's and not in the 580 driver library.
inline constexpr IneffectiveName ineffective_names[] = {
    {"CUDA_MEMCPY_ASYNC", "use cudaMemcpyAsync in the program"},
    {"CUDA_MEMCPY_SYNC", "use cudaMemcpy in the program"},
    {"CUDA_MEMCPY_KEEP_STREAM_ORDER", "copies in one stream keep their order anyway"},
    {"CUDA_ENABLE_CRC_CHECK", ""},
    {"CUDA_DEVICE_WARP_SIZE", "the warp size is 32 on every GPU"},
    {"CUDA_FPE_CONTROL", ""},
    {"CUDA_DEVICE_DEBUG_SYNC", "use CUDA_LAUNCH_BLOCKING=1"},
    {"CUDA_MPS_DEVICE_MEM_LIMIT", "use CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"},
};

/// Null for a name that is not one of them.
[[nodiscard]] constexpr VariableInfo const* find_related_variable(std::string_view name) noexcept {
  for (VariableInfo const& info : related_variables) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

/// The row of any variable that cuenv knows, settable or not; null for another name.
[[nodiscard]] constexpr VariableInfo const* find_variable_info(std::string_view name) noexcept {
  VariableRow const* const row = find_variable(name);
  return row != nullptr ? row->info : find_related_variable(name);
}

namespace detail {

/// Names that are near a known one and are names of their own: used by toolkits, or found in the 580 driver library.
inline constexpr std::string_view names_in_their_own_right[] = {"CUDA_ROOT",
                                                                "CUDA_VERSION",
                                                                "CUDA_DEVCODE_PATH",
                                                                "CUDA_DEVCODE_CACHE",
                                                                "CUDA_BIN_PATH",
                                                                "CUDA_LIB_PATH",
                                                                "CUDA_INC_PATH",
                                                                "NVIDIA_REQUIRE_DRIVER",
                                                                "NVIDIA_REQUIRE_ARCH",
                                                                "NVIDIA_REQUIRE_BRAND",
                                                                "CUDA_CACHE_GPU_CODE_BINARIES",
                                                                "CUDA_ARCH_LIST"};

/// Every word between underscores of `part` is in `whole`, in the same order, and only one is missing.
[[nodiscard]] constexpr bool misses_one_word(std::string_view part, std::string_view whole) noexcept {
  std::size_t words = 0;
  std::size_t missing = 0;
  while (!part.empty()) {
    std::string_view const word = take_until(part, '_');
    ++words;
    for (;; ++missing) {
      if (whole.empty()) return false;
      if (take_until(whole, '_') == word) break;
    }
  }
  for (; !whole.empty(); ++missing) (void)take_until(whole, '_');
  return words >= 3 && missing == 1;
}

}  // namespace detail

/// What is probably wrong with the name of a variable: a slip near a known name, or a name that nothing reads. Nothing
/// for known names, for names that do not begin with CUDA_ or NVIDIA_, and for names that are not near a known one:
/// those are somebody else's and left alone.
[[nodiscard]] inline std::optional<Diagnostic> check_name(std::string_view name, std::string_view text) {
  if (!detail::starts_with(name, "CUDA_") && !detail::starts_with(name, "NVIDIA_")) return std::nullopt;
  if (find_variable_info(name) != nullptr) return std::nullopt;
  Diagnostic finding{Severity::warning,
                     "name.no_effect",
                     std::string{name},
                     std::string{text},
                     Diagnostic::no_offset,
                     "nothing reads a variable of this name",
                     "",
                     ""};
  for (IneffectiveName const& row : ineffective_names) {
    if (row.name != name) continue;
    finding.fix = row.instead.empty() ? std::string{"remove it"} : std::string{row.instead};
    return finding;
  }
  for (std::string_view own : detail::names_in_their_own_right) {
    if (own == name) return std::nullopt;
  }
  // A slip or two, and short names are near one another anyway; else a name that lacks a word.
  detail::NearestName nearest{name, name.size() < 14 ? std::size_t{1} : std::size_t{2}};
  std::string_view longer;
  auto const consider = [&](std::string_view known) {
    nearest.consider(known);
    if (longer.empty() && detail::misses_one_word(name, known)) longer = known;
  };
  for (VariableRow const& row : settable_variables) consider(row.info->name);
  for (VariableInfo const& info : related_variables) consider(info.name);
  std::string_view const meant = nearest.found().empty() ? longer : nearest.found();
  if (meant.empty()) return std::nullopt;
  finding.code = "name.misspelt";
  finding.fix = "did you mean " + std::string{meant} + "?";
  return finding;
}

CUENV_NAMESPACE_END

#endif  // CUENV_NAMES_HPP
