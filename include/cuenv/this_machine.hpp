#ifndef CUENV_THIS_MACHINE_HPP
#define CUENV_THIS_MACHINE_HPP

#include <cuenv/driver.hpp>
#include <cuenv/environment.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/mps.hpp>
#include <cuenv/system.hpp>
#include <cuenv/version.hpp>

#include <string>

CUENV_NAMESPACE_BEGIN

/// The GPUs of the machine that this process would run CUDA on: the simulated one where a simulated driver is on the
/// loader's path, and those that an MPS daemon hides marked. Loads the driver library, which does not start CUDA.
/// Nothing is thrown but bad_alloc. Thread-safe unless another thread writes the environment.
[[nodiscard]] inline Machine read_this_machine(System const& system = {}) {
  DriverLibrary const driver = system.open_driver(DriverOpen::load);
  std::string const& root = driver.simulated_root.empty() ? system.root : driver.simulated_root;
  Machine machine = read_machine(root);
  apply_mps(machine, *system.environment, root);
  return machine;
}

CUENV_NAMESPACE_END

#endif  // CUENV_THIS_MACHINE_HPP
