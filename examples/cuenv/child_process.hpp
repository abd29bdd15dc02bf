#ifndef CUENV_EXAMPLES_CUENV_CHILD_PROCESS_HPP
#define CUENV_EXAMPLES_CUENV_CHILD_PROCESS_HPP

#include <cuenv/cuenv.hpp>

#include <string>
#include <vector>

namespace tool {

/// Starts this program anew with other arguments and a changed environment, and returns what it printed; nothing where
/// it could not be started or was killed. Safe in several threads at once.
std::string output_of_self(std::vector<std::string> const& arguments, std::vector<cuenv::Assignment> const& changes);

}  // namespace tool

#endif  // CUENV_EXAMPLES_CUENV_CHILD_PROCESS_HPP
