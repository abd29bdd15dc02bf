#ifndef CUENV_CUDA_VERSION_HPP
#define CUENV_CUDA_VERSION_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

CUENV_NAMESPACE_BEGIN

/// A version of CUDA, X.Y: of a toolkit, or the newest one that a driver serves.
struct CudaVersion {
  int major_number = 0;  ///< X; 0.0 stands for no version
  int minor_number = 0;  ///< Y

  /// From the form of cuDriverGetVersion, cudaRuntimeGetVersion and CUDA_VERSION: 13000 is 13.0, 12080 is 12.8.
  [[nodiscard]] static constexpr CudaVersion from_number(int number) noexcept {
    return {number / 1000, number % 1000 / 10};
  }
};

[[nodiscard]] constexpr bool operator==(CudaVersion a, CudaVersion b) noexcept {
  return a.major_number == b.major_number && a.minor_number == b.minor_number;
}
[[nodiscard]] constexpr bool operator!=(CudaVersion a, CudaVersion b) noexcept { return !(a == b); }
[[nodiscard]] constexpr bool operator<(CudaVersion a, CudaVersion b) noexcept {
  return a.major_number != b.major_number ? a.major_number < b.major_number : a.minor_number < b.minor_number;
}

/// "13.0", which `parse_cuda_version` reads.
[[nodiscard]] inline std::string to_string(CudaVersion version) {
  return std::to_string(version.major_number) + "." + std::to_string(version.minor_number);
}

/// "13.0" or "12.8"; nothing else in the text, at most three digits on each side.
[[nodiscard]] constexpr std::optional<CudaVersion> parse_cuda_version(std::string_view text) noexcept {
  std::size_t const dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  auto const first = detail::parse_decimal(text.substr(0, dot), 999);
  auto const second = detail::parse_decimal(text.substr(dot + 1), 999);
  if (!first || !second) return std::nullopt;
  return CudaVersion{static_cast<int>(*first), static_cast<int>(*second)};
}

CUENV_NAMESPACE_END

#endif  // CUENV_CUDA_VERSION_HPP
