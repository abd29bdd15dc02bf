#ifndef CUENV_DETAIL_FILES_HPP
#define CUENV_DETAIL_FILES_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#ifdef _WIN32
#include <cuenv/detail/windows.hpp>
#else
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#endif

// Small files, folders and links, such as those of /proc. Nothing is thrown: who gets nothing from a reader learns from
// `failure`, if he asks, whether something may be there all the same. Paths.

CUENV_NAMESPACE_BEGIN
namespace detail {

#ifdef _WIN32
using win32::error_text;
using win32::says_absent;
#else
/// Whether an error says that there is nothing of that name, or that nothing could have it. After any other, such as
/// "Permission denied" or "Too many open files", something may be there.
[[nodiscard]] constexpr bool says_absent(int error) noexcept {
  return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG || error == ESRCH;  // a process that has ended
}
[[nodiscard]] inline std::string error_text(int error) { return std::strerror(error); }
#endif

/// Puts into words that a path could not be read, unless it is absent, there is an earlier failure, or nobody asks.
template <class Number>
void note_failure(std::string* failure, std::string const& path, Number error) {
  if (failure == nullptr || !failure->empty() || says_absent(error)) return;
  *failure = "reading " + path + " failed: " + error_text(error);
}

[[nodiscard]] inline bool path_exists(std::string const& path, std::string* failure = nullptr) {
#ifdef _WIN32
  bool const exists = win32::attributes(path) != win32::no_attributes;
  if (!exists) note_failure(failure, path, win32::GetLastError());
#else
  struct ::stat status {};
  bool const exists = ::stat(path.c_str(), &status) == 0;
  if (!exists) note_failure(failure, path, errno);
#endif
  return exists;
}

/// Whose a file is, and what its mode lets others do; nothing if it does not exist.
struct FileOwner {
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  /// The nine bits rwxrwxrwx.
  std::uint32_t mode = 0;
};
[[nodiscard]] inline std::optional<FileOwner> file_owner(std::string const& path, std::string* failure = nullptr) {
#ifdef _WIN32
  (void)path;  // it has neither
  (void)failure;
  return std::nullopt;
#else
  struct ::stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    note_failure(failure, path, errno);
    return std::nullopt;
  }
  return FileOwner{status.st_uid, status.st_gid, static_cast<std::uint32_t>(status.st_mode & 0777U)};
#endif
}

/// The content of a text file, cut at `limit` bytes; nothing if it cannot be read.
[[nodiscard]] inline std::optional<std::string> read_small_file(std::string const& path, std::size_t limit = 65536,
                                                                std::string* failure = nullptr) {
#ifdef _WIN32
  win32::ReadableFile const file{path};
  if (!file.problem().empty()) {
    note_failure(failure, path, file.error());
    return std::nullopt;
  }
  std::string content(file.size() < limit ? static_cast<std::size_t>(file.size()) : limit, '\0');
  std::size_t size = 0;
  while (size < content.size()) {
    auto const got = file.read_some(size, &content[size], content.size() - size);
    if (!got) {
      note_failure(failure, path, win32::GetLastError());
      return std::nullopt;
    }
    if (*got == 0) break;
    size += *got;
  }
  content.resize(size);
  return content;
#else
  // O_NONBLOCK: a FIFO of that name must not make the program wait.
  int const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    note_failure(failure, path, errno);
    return std::nullopt;
  }
  std::string content;
  std::size_t size = 0;
  int error = 0;
  while (size < limit) {
    if (size == content.size()) {  // room as it is needed: most files are far smaller than their limit
      std::size_t const more = size < 4096 ? 4096 : size;
      content.resize(more < limit - size ? size + more : limit);
    }
    ::ssize_t const got = ::read(file, &content[size], content.size() - size);
    if (got < 0) error = errno;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  ::close(file);
  if (error != 0) {
    note_failure(failure, path, error);
    return std::nullopt;
  }
  content.resize(size);
  return content;
#endif
}

/// The names in a folder without "." and "..", in no order; nothing if it cannot be read to its end.
[[nodiscard]] inline std::optional<std::vector<std::string>> list_directory(std::string const& path,
                                                                            std::string* failure = nullptr) {
#ifdef _WIN32
  auto names = win32::list_directory(path);
  if (!names) note_failure(failure, path, win32::GetLastError());
  return names;
#else
  ::DIR* const directory = ::opendir(path.c_str());
  if (directory == nullptr) {
    note_failure(failure, path, errno);
    return std::nullopt;
  }
  std::vector<std::string> names;
  errno = 0;  // readdir says by it alone why there is no more
  while (::dirent const* const entry = ::readdir(directory)) {
    std::string name{static_cast<char const*>(entry->d_name)};
    if (name != "." && name != "..") names.push_back(std::move(name));
    errno = 0;
  }
  int const error = errno;
  ::closedir(directory);
  if (error == 0) return names;
  note_failure(failure, path, error);
  return std::nullopt;
#endif
}

/// Where a symbolic link points, as it is written; nothing where there is no link. On Windows none is looked at.
[[nodiscard]] inline std::optional<std::string> read_link(std::string const& path, std::string* failure = nullptr) {
#ifdef _WIN32
  (void)path;
  (void)failure;
  return std::nullopt;
#else
  std::string target(4096, '\0');
  auto const length = ::readlink(path.c_str(), target.data(), target.size());
  bool const is_no_link = length < 0 && errno == EINVAL;
  if (length < 0 && !is_no_link) note_failure(failure, path, errno);
  if (length < 0 || static_cast<std::size_t>(length) == target.size()) return std::nullopt;
  target.resize(static_cast<std::size_t>(length));
  return target;
#endif
}

/// What separates the parts of a path: on Windows either slash.
#ifdef _WIN32
inline constexpr std::string_view path_separators = "/\\";
#else
inline constexpr std::string_view path_separators = "/";
#endif

/// The length of what a path cannot lose: the "/", on Windows with the drive before it.
[[nodiscard]] constexpr std::size_t root_length(std::string_view path) noexcept {
#ifdef _WIN32
  return path.size() > 1 && path[1] == ':' ? 3 : 1;
#else
  (void)path;
  return 1;
#endif
}

/// The folder that a path lies in, which for the root is the root; "." where the path is a name alone.
[[nodiscard]] inline std::string folder_of(std::string_view path) {
  std::size_t const slash = path.find_last_of(path_separators);
  if (slash == std::string_view::npos) return ".";
  std::size_t const root = root_length(path);
  return std::string{path.substr(0, slash < root ? root : slash)};
}

/// A path's last part.
[[nodiscard]] constexpr std::string_view file_name(std::string_view path) noexcept {
  return path.substr(path.find_last_of(path_separators) + 1);
}

/// Whether two spellings are one path, without a look at the disk: on Windows case and kind of slash do not count.
[[nodiscard]] inline bool is_same_path(std::string_view a, std::string_view b) noexcept {
#ifdef _WIN32
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    bool const both_separate =
        path_separators.find(a[i]) != std::string_view::npos && path_separators.find(b[i]) != std::string_view::npos;
    if (!both_separate && to_lower(a[i]) != to_lower(b[i])) return false;
  }
  return true;
#else
  return a == b;
#endif
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_FILES_HPP
