#ifndef CUENV_DETAIL_FILE_HPP
#define CUENV_DETAIL_FILE_HPP

#include <cuenv/detail/bytes.hpp>
#include <cuenv/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#ifdef _WIN32
#include <cuenv/detail/windows.hpp>
#else
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#endif

CUENV_NAMESPACE_BEGIN
namespace detail {

/// A regular file, open for reading at any place. It is read, never mapped: a file that is cut by somebody else while
/// it is open gives short reads, where a mapping gives SIGBUS.
class File {
 public:
  /// Throws FileError where `path` is no regular file that can be read. Never waits: a pipe or a device is refused.
#ifdef _WIN32
  explicit File(std::string const& path) : path_{path}, file_{path} {
    if (path.find('\0') != std::string::npos) refuse(path, nul_in_name);
    if (!file_.problem().empty()) refuse(path, file_.problem());
  }
  ~File() = default;
#else
  explicit File(std::string const& path) : path_{path} {
    if (path.find('\0') != std::string::npos) refuse(path, nul_in_name);
    do {
      descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    } while (descriptor_ < 0 && errno == EINTR);
    if (descriptor_ < 0) refuse(path, std::string{"cannot be opened: "} + std::strerror(errno));
    struct ::stat status {};
    char const* problem = nullptr;
    if (::fstat(descriptor_, &status) != 0) {
      problem = "cannot be examined";
    } else if (S_ISDIR(status.st_mode)) {
      problem = "is a directory";
    } else if (!S_ISREG(status.st_mode)) {
      problem = "is no regular file";
    }
    if (problem != nullptr) {
      ::close(descriptor_);
      refuse(path, problem);
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
  ~File() { ::close(descriptor_); }
#endif
  File(File const&) = delete;
  File& operator=(File const&) = delete;

  /// Bytes in the file when it was opened.
  [[nodiscard]] std::uint64_t size() const noexcept {
#ifdef _WIN32
    return file_.size();
#else
    return size_;
#endif
  }

  /// Copies up to `count` bytes at `offset`, and says how many; fewer where the file ends. Throws FileError where
  /// reading fails: what is not there is damage, what the disk does not give is none.
  [[nodiscard]] std::size_t read(std::uint64_t offset, unsigned char* to, std::size_t count) const {
    std::size_t done = 0;
    while (done < count) {
#ifdef _WIN32
      auto const got = file_.read_some(offset + done, to + done, count - done);
      if (!got) refuse(path_, "cannot be read: " + win32::error_text(win32::GetLastError()), check_the_disk);
      if (*got == 0) break;
      done += *got;
#else
      ::ssize_t const got = ::pread(descriptor_, to + done, count - done, static_cast< ::off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse(path_, std::string{"cannot be read: "} + std::strerror(errno), check_the_disk);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
#endif
    }
    return done;
  }

  /// This file as a source; the file must outlive it.
  [[nodiscard]] ByteSource source() const noexcept {
    return {size(), nullptr,
            [](void const* file, std::uint64_t offset, unsigned char* to, std::size_t count) {
              return static_cast<File const*>(file)->read(offset, to, count);
            },
            this};
  }

 private:
  static constexpr char const* check_the_disk = "copy the file from elsewhere, and check the disk";
  static constexpr char const* nul_in_name = "cannot be opened: its name has a NUL byte";

  [[noreturn]] static void refuse(std::string const& path, std::string what, char const* fix = "check the path") {
    if (path.empty()) what = "the path is empty";
    throw FileError{
        {Diagnostic{Severity::error, "file.unreadable", path, {}, Diagnostic::no_offset, std::move(what), {}, fix}}};
  }

  std::string path_;
#ifdef _WIN32
  win32::ReadableFile file_;
#else
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
#endif
};

/// "/lib/a.so cannot be opened: Too many open files"
[[nodiscard]] inline std::string failure_words(FileError const& error) {
  Diagnostic const& finding = error.diagnostics().front();
  return finding.subject + " " + finding.what;
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_FILE_HPP
