#ifndef CUENV_TESTS_SUPPORT_TEMPORARY_FOLDER_HPP
#define CUENV_TESTS_SUPPORT_TEMPORARY_FOLDER_HPP

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace cuenv_tests {

/// A new folder that goes away with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "cuenv-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path = name;
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

}  // namespace cuenv_tests

#endif  // CUENV_TESTS_SUPPORT_TEMPORARY_FOLDER_HPP
