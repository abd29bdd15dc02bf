#include "child.hpp"
#include "machine.hpp"
#include "output.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

namespace tool {

int run(ChildOptions const& options, std::vector<std::string> const& command) {
  Child const child = plan_child(options, cuenv::process_environment, machine_here());
  for (cuenv::Diagnostic const& finding : child.findings) {
    // In one piece: under a launcher the lines of several ranks meet on one terminal.
    if (finding.severity != cuenv::Severity::note) std::cerr << to_string(finding) + '\n';
  }
  if (has_error(child.findings)) return refused;
  cuenv::apply_assignments(cuenv::process_environment, child.variables);
  std::vector<std::string> texts = command;
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  int const error = errno;
  std::cerr << "cuenv: " << cuenv::detail::printable(command[0]) << ": " << std::strerror(error) << '\n';
  return error == ENOENT ? not_found : not_executable;
}

}  // namespace tool
