// Other code of the process has called cuInit: what would be ignored is refused, what would not is done.
#include "expect.hpp"
#include "simulated_state.hpp"

int main() {
  expect(start_cuda_elsewhere() == 0, "CUDA was started by other code");
  cuenv::Settings settings;
  settings.set(cuenv::visible_devices, {cuenv::physical(1)})
      .set(cuenv::device_max_connections, 32)
      .set(cuenv::launch_blocking, true);
  auto const error = thrown_by<cuenv::TooLateError>([&] { cuenv::Session const session{settings}; });
  if (error) {
    expect(error->diagnostics().size() == 3, "list, order and connections are named");
    expect_text(error->what(), "CUDA_VISIBLE_DEVICES=1: CUDA is already initialised in this process");
    expect_text(error->what(), "CUDA_DEVICE_MAX_CONNECTIONS=32");
  }
  for (char const* name :
       {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_LAUNCH_BLOCKING"}) {
    expect(is_set_to(name, std::nullopt), std::string{name} + " is not set");
  }
  cuenv::Settings late_enough;
  late_enough.set(cuenv::launch_blocking, true);
  cuenv::Session const session{late_enough};
  expect(session.report().attached && session.devices().size() == 2, "the session attaches");
  expect(is_set_to("CUDA_LAUNCH_BLOCKING", "1"), "launch blocking is set");
  expect(simulated_state().init_calls == 1, "cuInit was not called again");
  return failed_expectations;
}
