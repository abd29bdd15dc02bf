#ifndef CUENV_TESTS_SUPPORT_TEMPORARY_FOLDER_HPP
#define CUENV_TESTS_SUPPORT_TEMPORARY_FOLDER_HPP

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace cuenv_tests {

/// A folder of its own, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "cuenv_test_XXXXXX").string();
    if (::mkdtemp(&name[0]) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(TemporaryFolder const&) = delete;
  TemporaryFolder& operator=(TemporaryFolder const&) = delete;

  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  /// The path of something in the folder.
  [[nodiscard]] std::string path(std::string const& name) const { return path_ + "/" + name; }
  /// Writes a file, and makes the folders above it.
  void write(std::string const& name, std::string const& content) const {
    std::filesystem::create_directories(std::filesystem::path{path(name)}.parent_path());
    std::ofstream{path(name), std::ios::binary} << content;
  }

 private:
  std::string path_;
};

}  // namespace cuenv_tests

#endif  // CUENV_TESTS_SUPPORT_TEMPORARY_FOLDER_HPP
