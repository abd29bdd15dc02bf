// A cuInit that failed is no start: with the variable corrected a new session succeeds.
#include "expect.hpp"
#include "simulated_state.hpp"

int main() {
  set_variable("CUDA_VISIBLE_DEVICES", "7");
  auto const error = thrown_by<cuenv::DriverError>([] { cuenv::Session const session; });
  expect(error && error->code() == 100, "the code is 100");
  if (error) expect_text(error->what(), "'7' is out of range: this machine shows 2 GPUs");
  cuenv::Settings settings;
  settings.set(cuenv::visible_devices, {cuenv::physical(1)}, cuenv::Precedence::override);
  cuenv::Session const session{settings};
  expect(session.devices().size() == 1 && session.devices()[0].physical == cuenv::physical(1), "GPU 1 is visible");
  expect(!session.report().attached, "the failed start does not count");
  expect(simulated_state().init_calls == 2, "cuInit was called twice");
  return failed_expectations;
}
