#ifndef CUENV_JIT_CACHE_HPP
#define CUENV_JIT_CACHE_HPP

#include <cuenv/detail/files.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/environment.hpp>
#include <cuenv/values.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#ifdef _WIN32
#include <cuenv/detail/windows.hpp>
#else
#include <unistd.h>
#endif

// The cache in which the driver keeps what it has compiled from PTX.

CUENV_NAMESPACE_BEGIN

/// What the variables say of the cache, before anybody looks at the disk.
struct JitCacheSettings {
  /// As it is written, so a relative path is one of the working directory; empty where it is not established.
  std::string folder;
  /// The variable that names the folder: CUDA_CACHE_PATH, or HOME (Windows: APPDATA).
  std::string_view named_by;
  /// The variable that keeps anything new from being stored; empty where the cache is on.
  std::string_view off_by;
  std::string_view off_reason;  ///< why it does, as a sentence without its full stop
  /// Bytes that the cache may have; older entries go (CUDA programming guide).
  std::uint64_t limit = std::uint64_t{1} << 30;
};

/// Reads the variables as the driver does (measured, 580, on Linux; the place on Windows from the CUDA programming
/// guide). Where HOME is not set either, the place is not established. Nothing is thrown but bad_alloc. Thread-safe
/// unless another thread writes the environment.
[[nodiscard]] inline JitCacheSettings jit_cache_settings(Environment const& environment) {
  JitCacheSettings settings;
  auto const off = [&](std::string_view variable, std::string_view reason) {
    if (settings.off_by.empty()) settings.off_reason = reason, settings.off_by = variable;
  };
  auto const disabled = environment.get("CUDA_CACHE_DISABLE");
  if (disabled && detail::reads_as_on(*disabled)) off("CUDA_CACHE_DISABLE", "it switches the cache off");
  if (auto const size = environment.get("CUDA_CACHE_MAXSIZE")) {
    constexpr std::uint64_t largest = std::uint64_t{1} << 32;  // larger and negative numbers act as large
    std::uint64_t const bytes = detail::strtoull_base10(*size).value;
    settings.limit = bytes < largest ? bytes : largest;
    if (bytes < 1024) off("CUDA_CACHE_MAXSIZE", "nothing new fits into so few bytes");  // an entry has some thousand
  }
  if (auto path = environment.get("CUDA_CACHE_PATH")) {
    std::string_view const reason = detail::unusable_directory(*path);
    if (!reason.empty()) off("CUDA_CACHE_PATH", reason);
    settings.named_by = "CUDA_CACHE_PATH";
    if (reason.empty()) settings.folder = std::move(*path);
    return settings;
  }
#ifdef _WIN32
  settings.named_by = "APPDATA";
  if (auto const data = environment.get("APPDATA")) settings.folder = *data + "\\NVIDIA\\ComputeCache";
#else
  settings.named_by = "HOME";
  if (auto const home = environment.get("HOME")) settings.folder = *home + "/.nv/ComputeCache";
#endif
  return settings;
}

/// What something directly in a cache's folder is, by its name: the driver writes a file `index` and two levels of
/// folders of one hexadecimal digit, with files in the lower ones (measured, 580).
enum class JitCacheEntry { index, folder, foreign };

/// Which of them a name is: by the name alone, so that a folder `index` is not told from a file.
[[nodiscard]] constexpr JitCacheEntry jit_cache_entry(std::string_view name) noexcept {
  if (name == "index") return JitCacheEntry::index;
  return name.size() == 1 && detail::hex_digit(name.front()) >= 0 ? JitCacheEntry::folder : JitCacheEntry::foreign;
}

/// Whether a file in the lower folders has a name as the driver gives it: 14 hexadecimal digits in lower case
/// (measured, 580: 40 entries).
[[nodiscard]] constexpr bool is_jit_cache_file(std::string_view name) noexcept {
  for (char const c : name) {
    if (detail::hex_digit(c) < 0 || detail::to_lower(c) != c) return false;
  }
  return name.size() == 14;
}

/// The index has 16 bytes and 16 more for each entry (measured, 580).
inline constexpr std::uint64_t smallest_jit_cache_index = 16;

/// Whether a folder with these names in it is a driver's cache and nothing else: an index, and nothing foreign. A cache
/// whose index was removed works as well (measured, 580), and does not count here: other programs keep such folders
/// too.
[[nodiscard]] inline bool is_jit_cache(std::vector<std::string> const& names) noexcept {
  bool has_index = false;
  for (std::string const& name : names) {
    JitCacheEntry const entry = jit_cache_entry(name);
    if (entry == JitCacheEntry::foreign) return false;
    has_index = has_index || entry == JitCacheEntry::index;
  }
  return has_index;
}

namespace detail {

/// The folder, or the nearest one above it that is there: the driver makes what is missing (measured, 580).
[[nodiscard]] inline std::string nearest_existing(std::string path) {
  std::size_t const root = root_length(path);  // a drive that is not there has nothing above it
  while (path.size() > root && path.find_last_of(path_separators) == path.size() - 1) path.pop_back();
  while (path.size() > root && !path_exists(path)) path = folder_of(path);
  return path;
}

/// True where this user can make files in a folder.
[[nodiscard]] inline bool can_be_written(std::string const& folder) {
#ifdef _WIN32
  return win32::can_add_files(folder);
#else
  return path_exists(folder + "/.") && ::access(folder.c_str(), W_OK | X_OK) == 0;
#endif
}

}  // namespace detail

/// Whether code that the driver compiles is kept for the next run: by the variables, and by whether the folder can be
/// written; one that cannot is not read either (measured, 580). More is said by diagnose_jit_cache. Nothing is thrown
/// but bad_alloc. Thread-safe unless another thread writes the environment.
[[nodiscard]] inline bool jit_is_cached(Environment const& environment) {
  JitCacheSettings const settings = jit_cache_settings(environment);
  if (!settings.off_by.empty()) return false;
  return settings.folder.empty() || detail::can_be_written(detail::nearest_existing(settings.folder));
}

CUENV_NAMESPACE_END

#endif  // CUENV_JIT_CACHE_HPP
