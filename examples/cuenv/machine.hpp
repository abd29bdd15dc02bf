#ifndef CUENV_EXAMPLES_CUENV_MACHINE_HPP
#define CUENV_EXAMPLES_CUENV_MACHINE_HPP

#include <cuenv/cuenv.hpp>

#include <string>
#include <string_view>

namespace tool {

/// The GPUs of this machine, without starting CUDA: the kernel driver's list, and where that is missing NVML's. What
/// the kernel driver does not tell (compute capability, MIG) is taken from NVML.
cuenv::Machine machine_here();

/// A machine described in JSON: an object with "gpus", a list of objects with "uuid", "pci", "name" and
/// "compute_capability", where wanted "index", "mig_enabled" and "mig" (a list of objects with "uuid", "gi", "ci",
/// "profile"); besides, where wanted, "driver". Other members are not looked at. Throws std::runtime_error, which names
/// the place.
cuenv::Machine parse_topology(std::string_view text, std::string const& file);

/// The content of a file; throws std::runtime_error.
std::string read_file(std::string const& path);

}  // namespace tool

#endif  // CUENV_EXAMPLES_CUENV_MACHINE_HPP
