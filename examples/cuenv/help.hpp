#ifndef CUENV_EXAMPLES_CUENV_HELP_HPP
#define CUENV_EXAMPLES_CUENV_HELP_HPP

#include <CLI/CLI.hpp>

#include <string>

// What the tool says of itself, and of arguments that it does not understand.

namespace tool {

/// What a command is for, how it is called, its arguments and options, and its footer. No line is wider than 80
/// columns, as long as none of the footer is. `name` is what was typed for it: "cuenv cache clear".
std::string help_text(CLI::App const& command, std::string const& name);

/// What is wrong with the arguments that `app` has tried to read, what was probably meant, and where there is help.
std::string misuse_text(CLI::App const& app, CLI::ParseError const& error);

}  // namespace tool

#endif  // CUENV_EXAMPLES_CUENV_HELP_HPP
