// A session in a static object works, since cuenv has no state that would have to be initialised before.
#include "expect.hpp"
#include "simulated_state.hpp"

namespace {

cuenv::Settings connections() {
  cuenv::Settings settings;
  settings.set(cuenv::device_max_connections, 16);
  return settings;
}

cuenv::Session const session{connections()};

}  // namespace

int main() {
  expect(session.devices().size() == 2, "it has its devices");
  expect(simulated_state().max_connections == 16, "the driver read the setting");
  expect(start_cuda_elsewhere() == 0, "other code may start CUDA later");
  expect(simulated_state().max_connections == 16, "and finds the setting in force");
  return failed_expectations;
}
