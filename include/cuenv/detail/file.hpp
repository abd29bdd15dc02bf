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
  explicit File(std::string const& path) {
    if (path.find('\0') != std::string::npos) refuse(path, "cannot be opened: its name has a NUL byte");
#ifdef _WIN32
    // Not tried on Windows. The path is UTF-8.
    int const length = ::MultiByteToWideChar(CP_UTF8, 0, path.c_str(), -1, nullptr, 0);
    std::wstring wide(static_cast<std::size_t>(length > 0 ? length : 1), L'\0');
    ::MultiByteToWideChar(CP_UTF8, 0, path.c_str(), -1, &wide[0], length);
    handle_ = ::CreateFileW(wide.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                            OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
    if (handle_ == INVALID_HANDLE_VALUE) refuse(path, "cannot be opened: error " + std::to_string(::GetLastError()));
    LARGE_INTEGER size{};
    if (::GetFileType(handle_) != FILE_TYPE_DISK || ::GetFileSizeEx(handle_, &size) == 0) {
      ::CloseHandle(handle_);
      refuse(path, "is no regular file");
    }
    size_ = static_cast<std::uint64_t>(size.QuadPart);
#else
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
#endif
  }

  ~File() {
#ifdef _WIN32
    ::CloseHandle(handle_);
#else
    ::close(descriptor_);
#endif
  }
  File(File const&) = delete;
  File& operator=(File const&) = delete;

  /// Bytes in the file when it was opened.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Copies up to `count` bytes at `offset`, and says how many; fewer where the file ends or fails.
  [[nodiscard]] std::size_t read(std::uint64_t offset, unsigned char* to, std::size_t count) const noexcept {
    std::size_t done = 0;
    while (done < count) {
#ifdef _WIN32
      OVERLAPPED place{};
      place.Offset = static_cast<DWORD>((offset + done) & 0xffffffffU);
      place.OffsetHigh = static_cast<DWORD>((offset + done) >> 32);
      std::size_t const left = count - done;
      DWORD const wanted = left < 0x40000000U ? static_cast<DWORD>(left) : 0x40000000U;
      DWORD got = 0;
      if (::ReadFile(handle_, to + done, wanted, &got, &place) == 0 || got == 0) break;
      done += got;
#else
      ::ssize_t const got = ::pread(descriptor_, to + done, count - done, static_cast< ::off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
#endif
    }
    return done;
  }

  /// This file as a source; the file must outlive it.
  [[nodiscard]] ByteSource source() const noexcept {
    return {size_, nullptr,
            [](void const* file, std::uint64_t offset, unsigned char* to, std::size_t count) {
              return static_cast<File const*>(file)->read(offset, to, count);
            },
            this};
  }

 private:
  [[noreturn]] static void refuse(std::string const& path, std::string what) {
    if (path.empty()) what = "the path is empty";
    throw FileError{{Diagnostic{
        Severity::error, "file.unreadable", path, {}, Diagnostic::no_offset, std::move(what), {}, "check the path"}}};
  }

#ifdef _WIN32
  HANDLE handle_ = INVALID_HANDLE_VALUE;
#else
  int descriptor_ = -1;
#endif
  std::uint64_t size_ = 0;
};

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_FILE_HPP
