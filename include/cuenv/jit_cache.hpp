#ifndef CUENV_JIT_CACHE_HPP
#define CUENV_JIT_CACHE_HPP

#include <cuenv/detail/files.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/environment.hpp>
#include <cuenv/values.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <string>
#include <utility>

#ifndef _WIN32
#include <unistd.h>
#endif

// The cache in which the driver keeps what it has compiled from PTX.

CUENV_NAMESPACE_BEGIN
namespace detail {

/// True where the folder, or the nearest one above it that is there, can be written: the driver makes what is missing
/// (measured, 580). A cache that cannot be written is not read either (measured).
[[nodiscard]] inline bool can_be_written(std::string path) {
#ifdef _WIN32
  (void)path;
  return true;  // not looked at
#else
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  while (!path_exists(path)) {
    std::size_t const slash = path.rfind('/');
    if (slash == std::string::npos) return ::access(".", W_OK) == 0;
    path.resize(slash == 0 ? 1 : slash);
  }
  return ::access(path.c_str(), W_OK | X_OK) == 0;
#endif
}

}  // namespace detail

/// Whether code that the driver compiles is kept for the next run: by the variables, and by whether the folder (by
/// default $HOME/.nv/ComputeCache) can be written. The kind and the space of the file system are not looked at.
[[nodiscard]] inline bool jit_is_cached(Environment const& environment) {
  auto const disabled = environment.get("CUDA_CACHE_DISABLE");
  auto const size = environment.get("CUDA_CACHE_MAXSIZE");
  auto const path = environment.get("CUDA_CACHE_PATH");
  if (disabled && detail::reads_as_on(*disabled)) return false;
  if (size && detail::strtoull_base10(*size).value < 1024) return false;
  if (path && !detail::unusable_directory(*path).empty()) return false;
  auto const home = environment.get("HOME");
  if (!path && !home) return true;  // where the driver writes then is not established
  return detail::can_be_written(path ? *path : *home + "/.nv/ComputeCache");
}

CUENV_NAMESPACE_END

#endif  // CUENV_JIT_CACHE_HPP
