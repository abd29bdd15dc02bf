#ifndef CUENV_EXAMPLES_CUENV_CHILD_HPP
#define CUENV_EXAMPLES_CUENV_CHILD_HPP

#include "commands.hpp"

#include <cuenv/cuenv.hpp>

#include <optional>
#include <string>
#include <vector>

namespace tool {

/// What a program is to be started with.
struct Child {
  /// Every variable that was asked for with the value it gets, those that have it already too.
  std::vector<cuenv::Assignment> variables;
  /// With an error among them the program is not started.
  cuenv::Diagnostics findings;
};

/// The settings of the options: those of the file, over them the assignments, over them the list of GPUs.
cuenv::Settings settings_of(ChildOptions const& options);

/// `list` with `folders` in front, each once and no empty entry added: an empty entry would be the current folder.
std::string with_folders_first(std::vector<std::string> const& folders, std::optional<std::string> const& list);

/// The variables of a program in this environment on this machine. Throws std::runtime_error for files and folders that
/// are not there.
Child plan_child(ChildOptions const& options, cuenv::Environment const& environment, cuenv::Machine const& machine);

}  // namespace tool

#endif  // CUENV_EXAMPLES_CUENV_CHILD_HPP
