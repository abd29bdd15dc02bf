// The header in two translation units of one program: each definition is inline, and both see one another's work.
#include "expect.hpp"

std::size_t devices_seen_elsewhere(cuenv::Session const& session);
cuenv::Variable<int> const* variable_seen_elsewhere();
bool second_unit_attaches(cuenv::Settings const& settings);

int main() {
  cuenv::Settings settings;
  settings.set(cuenv::device_max_connections, 16);
  cuenv::Session const session{settings};
  expect(devices_seen_elsewhere(session) == 2, "a session can be handed over");
  expect(variable_seen_elsewhere() == &cuenv::device_max_connections, "a variable is one object");
  expect(second_unit_attaches(settings), "a session of the other unit attaches");
  return failed_expectations;
}
