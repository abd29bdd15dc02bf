#ifndef CUENV_TESTS_SUPPORT_DESCRIBED_SYSTEM_HPP
#define CUENV_TESTS_SUPPORT_DESCRIBED_SYSTEM_HPP

#include <cuenv/system.hpp>

#include "described_environment.hpp"
#include "simulated.hpp"
#include "temporary_folder.hpp"

#include <string>
#include <utility>

namespace cuenv_tests {

/// A fresh process on a described machine, with an environment that the simulated driver reads as well.
class DescribedSystem {
 public:
  explicit DescribedSystem(simulated::Machine const& machine = simulated::shipped_machine("two_h200"),
                           simulated::Library library = simulated::Library::present) {
    simulated::write_root(machine, root_);
    simulated::install(machine, library, root_);
    simulated::set_environment([this](std::string const& name) { return environment.get(name); });
    system.environment = &environment;
    system.open_driver = simulated::open_driver;
    system.open_nvml = [] { return cuenv::NvmlLibrary{}; };
    system.root = root_;
  }
  ~DescribedSystem() { simulated::set_environment({}); }
  DescribedSystem(DescribedSystem const&) = delete;
  DescribedSystem& operator=(DescribedSystem const&) = delete;

  /// The folder that stands for "/".
  [[nodiscard]] std::string const& root() const noexcept { return root_; }

  DescribedEnvironment environment;
  cuenv::System system;

 private:
  TemporaryFolder folder_;
  std::string root_ = folder_.path.string();
};

/// As if other code had called cuInit.
inline int start_cuda_elsewhere() {
  return static_cast<int>(simulated::open_driver(cuenv::DriverOpen::load).api.init(0));
}

}  // namespace cuenv_tests

#endif  // CUENV_TESTS_SUPPORT_DESCRIBED_SYSTEM_HPP
