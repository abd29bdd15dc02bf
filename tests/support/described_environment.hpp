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

/// An environment that is a map. `set` fails for one name, where asked to.
class DescribedEnvironment final : public cuenv::Environment {
 public:
  using Map = std::map<std::string, std::string>;

  DescribedEnvironment() = default;
  DescribedEnvironment(Map variables) : variables_{std::move(variables)} {}

  [[nodiscard]] std::optional<std::string> get(std::string const& name) const override {
    auto const found = variables_.find(name);
    return found == variables_.end() ? std::nullopt : std::optional<std::string>{found->second};
  }

  int set(cuenv::Assignment const& assignment) const override {
    if (assignment.name == failing_name) return ENOMEM;
    if (assignment.text) {
      variables_[assignment.name] = *assignment.text;
    } else {
      variables_.erase(assignment.name);
    }
    return 0;
  }

  [[nodiscard]] std::vector<cuenv::Assignment> all() const override {
    std::vector<cuenv::Assignment> list;
    for (auto const& [name, text] : variables_) list.push_back({name, text});
    return list;
  }

  [[nodiscard]] Map const& variables() const noexcept { return variables_; }

  std::string failing_name;

 private:
  mutable Map variables_;
};

}  // namespace cuenv_tests

#endif  // CUENV_TESTS_SUPPORT_DESCRIBED_ENVIRONMENT_HPP
