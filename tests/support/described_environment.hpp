#ifndef CUENV_TESTS_SUPPORT_DESCRIBED_ENVIRONMENT_HPP
#define CUENV_TESTS_SUPPORT_DESCRIBED_ENVIRONMENT_HPP

#include <cuenv/environment.hpp>

#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cuenv_tests {

/// An environment that is a map. Setting or removing the variable that `refused` names fails with EPERM.
class DescribedEnvironment final : public cuenv::Environment {
 public:
  using Map = std::map<std::string, std::string>;

  DescribedEnvironment() = default;
  DescribedEnvironment(Map values) : variables{std::move(values)} {}

  [[nodiscard]] std::optional<std::string> get(std::string const& name) const override {
    auto const found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>{found->second};
  }
  int set(cuenv::Assignment const& assignment) const override {
    if (assignment.name == refused) return EPERM;
    if (assignment.text) {
      variables[assignment.name] = *assignment.text;
    } else {
      variables.erase(assignment.name);
    }
    return 0;
  }
  [[nodiscard]] std::vector<cuenv::Assignment> all() const override { return list_of(variables); }

  /// Known only where `start` is filled.
  [[nodiscard]] std::optional<std::vector<cuenv::Assignment>> all_at_start() const override {
    if (!start) return std::nullopt;
    return list_of(*start);
  }
  [[nodiscard]] std::vector<std::string> threads_in_danger() const override { return threads; }

  std::optional<Map> start;
  std::vector<std::string> threads;
  mutable Map variables;
  std::string refused;

 private:
  [[nodiscard]] static std::vector<cuenv::Assignment> list_of(Map const& map) {
    std::vector<cuenv::Assignment> list;
    for (auto const& [name, text] : map) list.push_back({name, text});
    return list;
  }
};

}  // namespace cuenv_tests

#endif  // CUENV_TESTS_SUPPORT_DESCRIBED_ENVIRONMENT_HPP
