#ifndef CUENV_TESTS_SIMULATED_SIMULATED_HPP
#define CUENV_TESTS_SIMULATED_SIMULATED_HPP

#include "environment.hpp"
#include "machine.hpp"
#include "state.h"

#include <cuenv/driver.hpp>

#include <string>

/// The simulated driver inside the test program: no library is loaded, the entry points are handed over as a table.
namespace simulated {

enum class Library { present, absent };

/// A fresh process on this machine: nothing loaded, nothing initialised. Where the library is absent, loading it fails
/// in the loader's words. `root` is what the driver gives as the folder that stands for "/".
void install(Machine machine, Library library = Library::present, std::string root = "/simulated/in/memory");

/// As if somebody else had loaded the library already.
void preload();

/// Where the driver finds its variables from now on; an empty function: getenv. Outlives an install.
void set_environment(Environment environment);

/// In the place of cuenv::open_driver_library.
[[nodiscard]] cuenv::DriverLibrary open_driver(cuenv::DriverOpen how);

/// What the driver did and read so far.
[[nodiscard]] CuenvSimulatedState const& state();

/// A machine of the folder `machines`, by the name of its file without ".txt": "two_h200", "rtx_3090_4070".
[[nodiscard]] Machine shipped_machine(std::string const& name);

}  // namespace simulated

#endif  // CUENV_TESTS_SIMULATED_SIMULATED_HPP
