#ifndef CUENV_TESTS_SUPPORT_TEMPORARY_FOLDER_HPP
#define CUENV_TESTS_SUPPORT_TEMPORARY_FOLDER_HPP

#ifndef _WIN32
#include <sys/stat.h>
#endif

#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>

namespace cuenv_tests {

/// A new folder that goes away with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::random_device random;
    for (int attempt = 0; attempt < 100; ++attempt) {
      path = std::filesystem::temp_directory_path() / ("cuenv-test-" + std::to_string(random()));
      if (std::filesystem::create_directory(path)) return;
    }
    throw std::runtime_error("no temporary folder");
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TemporaryFolder(TemporaryFolder const&) = delete;
  TemporaryFolder& operator=(TemporaryFolder const&) = delete;

  /// Writes a file and the folders above it.
  void write(std::string const& name, std::string const& content) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream{path / name, std::ios::binary} << content;
  }

  std::filesystem::path path;
};

/// A path as cuenv takes it. The type of u8string differs between C++17 and C++20.
inline std::string utf8_of(std::filesystem::path const& path) {
  auto const text = path.u8string();
  return {text.begin(), text.end()};
}

/// A file that would make a reader wait. Windows has no such files: there nothing is made.
inline void make_pipe(std::filesystem::path const& path) {
#ifdef _WIN32
  (void)path;
#else
  if (::mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("no pipe");
#endif
}

/// The system's words for a file that is not there, or a part of them.
#ifdef _WIN32
inline constexpr char const* no_such_file = "(error 2)";
#else
inline constexpr char const* no_such_file = "No such file or directory";
#endif

}  // namespace cuenv_tests

#endif  // CUENV_TESTS_SUPPORT_TEMPORARY_FOLDER_HPP
