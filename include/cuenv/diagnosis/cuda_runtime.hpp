#ifndef CUENV_DIAGNOSIS_CUDA_RUNTIME_HPP
#define CUENV_DIAGNOSIS_CUDA_RUNTIME_HPP

#include <cuenv/cuda_version.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/diagnosis/site.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/gpu_code_rules.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The CUDA runtime libraries (libcudart) that are found as files: which version each is, and which driver it needs.

CUENV_NAMESPACE_BEGIN

/// A libcudart.
struct CudaRuntime {
  std::string path;      ///< as `describe_runtime` was given it, below the site's root
  int major_number = 0;  ///< 12 of 12.4
  /// Unknown where only the SONAME is there to tell: libcudart.so.12 is any 12.x, libcudart.so.11.0 any 11.x.
  std::optional<int> minor_number;
};

/// "12.4", or "12.x" where the second number is not known.
[[nodiscard]] inline std::string version_text(CudaRuntime const& runtime) {
  return std::to_string(runtime.major_number) + "." +
         (runtime.minor_number ? std::to_string(*runtime.minor_number) : "x");
}

/// The drivers that runtimes of a major version run with, whatever their minor version. Source: CUDA compatibility
/// guide, minor version compatibility.
struct MinorCompatibility {
  int major_number;   ///< of the runtime's CUDA version
  int driver_branch;  ///< the oldest that runs it: 525 of 525.60.13
};
/// By the major version of CUDA.
inline constexpr MinorCompatibility minor_compatibilities[] = {{11, 450}, {12, 525}, {13, 580}};

/// The oldest CUDA version that a driver may serve for a runtime: since 11 the first of its major version, before that
/// its own. Source: CUDA compatibility guide; not measured.
[[nodiscard]] constexpr CudaVersion oldest_driver_for(CudaVersion runtime) noexcept {
  return runtime.major_number >= 11 ? CudaVersion{runtime.major_number, 0} : runtime;
}

/// The driver branch that goes with it; 0 where the tables do not know.
[[nodiscard]] constexpr int oldest_branch_for(CudaVersion runtime) noexcept {
  for (MinorCompatibility const& row : minor_compatibilities) {
    if (row.major_number == runtime.major_number) return row.driver_branch;
  }
  for (CudaRelease const& release : cuda_releases) {
    if (release.cuda == oldest_driver_for(runtime)) return release.driver_branch;
  }
  return 0;
}

namespace detail {

/// Up to three numbers with dots between them, from the start of a text: "12.4.127-py3" has 3.
struct DottedNumbers {
  int count = 0;
  int numbers[3] = {0, 0, 0};
};
[[nodiscard]] constexpr DottedNumbers dotted_numbers(std::string_view text) noexcept {
  DottedNumbers result;
  while (result.count < 3) {
    std::size_t digits = 0;
    while (digits < text.size() && is_digit(text[digits])) ++digits;
    auto const number = parse_decimal(text.substr(0, digits), 99999);
    if (!number) break;
    result.numbers[result.count++] = static_cast<int>(*number);
    if (digits == text.size() || text[digits] != '.') break;
    text.remove_prefix(digits + 1);
  }
  return result;
}

/// What a file's name tells: "libcudart.so.12.4.127", "libcudart.so.12", "libcudart-d0da41ae.so.11.0" (as some wheels
/// rename it). Nothing for another name.
[[nodiscard]] inline std::optional<CudaRuntime> runtime_by_name(std::string_view name) {
  std::size_t const so = name.find(".so.");
  if (!starts_with(name, "libcudart") || starts_with(name, "libcudart_static") || so == std::string_view::npos) {
    return std::nullopt;
  }
  DottedNumbers const found = dotted_numbers(name.substr(so + 4));
  if (found.count == 0) return std::nullopt;
  CudaRuntime runtime;
  runtime.major_number = found.numbers[0];
  // Up to 10.2 the SONAME had both numbers; that of every 11.x is libcudart.so.11.0.
  if (found.count == 3 || (found.count == 2 && found.numbers[0] <= 10)) runtime.minor_number = found.numbers[1];
  return runtime;
}

}  // namespace detail

/// The runtime behind a path below the site's root, whose version comes from the name of the file behind all links or,
/// for one that pip has installed (nvidia/cuda_runtime/lib, nvidia/cu13/lib), from the package's folder. Nothing where
/// the name is not a libcudart's. Nothing is thrown but bad_alloc.
[[nodiscard]] inline std::optional<CudaRuntime> describe_runtime(Site const& site, std::string const& path) {
  std::string const file = site.real_path(path);
  auto runtime = detail::runtime_by_name(std::string_view{file}.substr(file.rfind('/') + 1));
  if (!runtime) runtime = detail::runtime_by_name(std::string_view{path}.substr(path.rfind('/') + 1));
  if (!runtime) return std::nullopt;
  runtime->path = path;
  std::size_t const package = file.rfind("/nvidia/");
  if (runtime->minor_number || package == std::string::npos) return runtime;
  for (std::string const& name : site.list(file.substr(0, package)).value_or(std::vector<std::string>{})) {
    std::size_t const dash = name.find('-');
    if (!detail::starts_with(name, "nvidia_cuda_runtime") || !detail::ends_with(name, ".dist-info") ||
        dash == std::string::npos) {
      continue;
    }
    auto const found = detail::dotted_numbers(std::string_view{name}.substr(dash + 1));
    if (found.count >= 2 && found.numbers[0] == runtime->major_number) runtime->minor_number = found.numbers[1];
  }
  return runtime;
}

/// A finding where a driver is older than a runtime takes; nothing where it is not, or is not known. `code` is the
/// finding's.
[[nodiscard]] inline std::optional<Diagnostic> check_driver_for(CudaRuntime const& runtime,
                                                                std::optional<CudaVersion> driver,
                                                                std::string_view code) {
  CudaVersion const version{runtime.major_number, runtime.minor_number.value_or(0)};
  CudaVersion const oldest = oldest_driver_for(version);
  if (!driver || !(*driver < oldest)) return std::nullopt;
  int const branch = oldest_branch_for(version);
  std::string const needed = "a driver that serves CUDA " + to_string(oldest) + " or newer";
  return Diagnostic{Severity::error,
                    code,
                    runtime.path,
                    version_text(runtime),
                    Diagnostic::no_offset,
                    "this CUDA runtime needs " + needed + ", and the driver serves " + to_string(*driver),
                    "every call of the runtime fails with 35, INSUFFICIENT_DRIVER (documented, not measured)",
                    "install " + (branch == 0 ? needed : "driver " + std::to_string(branch) + " or newer") +
                        ", or use a build for CUDA " + to_string(*driver) + " or older"};
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_CUDA_RUNTIME_HPP
