#ifndef CUENV_TESTS_SUPPORT_DESCRIBED_TREE_HPP
#define CUENV_TESTS_SUPPORT_DESCRIBED_TREE_HPP

#include "support/temporary_folder.hpp"

#include <cuenv/diagnosis/rung.hpp>
#include <cuenv/diagnosis/site.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cuenv_tests {

/// A folder that stands for "/" of a machine, made file by file; it goes away with the object.
class DescribedTree {
 public:
  DescribedTree& file(std::string const& path, std::string const& content = "") {
    folder_.write(path.substr(path.find_first_not_of('/')), content);
    return *this;
  }
  DescribedTree& directory(std::string const& path) {
    std::filesystem::create_directories(root() + path);
    return *this;
  }
  /// A symbolic link; an absolute target starts at the root of the tree.
  DescribedTree& link(std::string const& path, std::string const& target) {
    std::filesystem::create_directories(std::filesystem::path{root() + path}.parent_path());
    std::filesystem::create_symlink(target, root() + path);
    return *this;
  }
  /// A link to itself: something is there, and nobody can read it, not even root.
  DescribedTree& loop(std::string const& path) { return link(path, path.substr(path.rfind('/') + 1)); }
  [[nodiscard]] std::string root() const { return folder_.path.string(); }
  [[nodiscard]] cuenv::Site site(std::vector<cuenv::Assignment> variables = {}) const {
    return cuenv::described_site(root(), std::move(variables));
  }

 private:
  TemporaryFolder folder_;
};

/// The folder in which the loader finds libraries for this processor.
#ifdef __aarch64__
inline constexpr char const* system_libraries = "/usr/lib/aarch64-linux-gnu/";
#else
inline constexpr char const* system_libraries = "/usr/lib/x86_64-linux-gnu/";
#endif

inline constexpr char const* no_fact = "no such fact";

/// The value of the first fact of that name, or no_fact.
[[nodiscard]] inline std::string fact(cuenv::RungReport const& report, std::string_view name) {
  for (cuenv::Fact const& one : report.facts) {
    if (one.name == name) return one.value;
  }
  return no_fact;
}

/// Whether a finding of that code is there. Each code of a diagnosis has a test that says `provokes(report, "code")`,
/// and one that says `spares(report, "code")`.
[[nodiscard]] inline bool provokes(cuenv::RungReport const& report, std::string_view code) {
  for (cuenv::Diagnostic const& finding : report.findings) {
    if (finding.code == code) return true;
  }
  return false;
}
[[nodiscard]] inline bool spares(cuenv::RungReport const& report, std::string_view code) {
  return !provokes(report, code);
}

/// Whether it is said to be unknown that reading a path failed, which may be written without the root.
[[nodiscard]] inline bool could_not_read(cuenv::RungReport const& report, std::string const& path) {
  for (std::string const& reason : report.unknown) {
    std::size_t const reading = reason.find(": reading ");
    if (reading != std::string::npos && reason.find(path + " failed: ", reading) != std::string::npos) return true;
  }
  return false;
}

}  // namespace cuenv_tests

#endif  // CUENV_TESTS_SUPPORT_DESCRIBED_TREE_HPP
