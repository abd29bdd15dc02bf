// A session can be made again with equal settings, at the same time or later; with others it is refused.
#include "expect.hpp"
#include "simulated_state.hpp"

int main() {
  cuenv::Settings settings;
  settings.set(cuenv::visible_devices, {cuenv::physical(1), cuenv::physical(0)}).set(cuenv::cache_disable, true);
  cuenv::Settings other;
  other.set(cuenv::visible_devices, {cuenv::physical(0)}, cuenv::Precedence::override)
      .set(cuenv::device_max_connections, 4);
  {
    cuenv::Session const first{settings};
    cuenv::Session const second{settings};
    expect(!first.report().attached && second.report().attached, "the second attaches");
    expect(second.devices().size() == 2 && second.devices()[0].physical == cuenv::physical(1), "it has the devices");
  }
  cuenv::Session const later{settings};
  expect(later.report().attached, "one after the first has ended attaches");
  auto const error = thrown_by<cuenv::TooLateError>([&] { cuenv::Session const session{other}; });
  if (error) {
    expect(error->diagnostics().size() == 2, "both differences are named");
    expect_text(error->what(), "with the value '1,0'");
    expect_text(error->what(), "CUDA_DEVICE_MAX_CONNECTIONS=4");
  }
  expect(is_set_to("CUDA_VISIBLE_DEVICES", "1,0"), "the list is as before");
  expect(is_set_to("CUDA_DEVICE_MAX_CONNECTIONS", std::nullopt), "the connections are as before");
  // Without an override the first session's values are no word of the user's: the process was started without them.
  cuenv::Settings kept;
  kept.set(cuenv::visible_devices, {cuenv::physical(0)}).set(cuenv::cache_disable, false);
#ifdef _WIN32
  // There nothing tells what a process was started with: what it finds counts as the user's word, and stays.
  cuenv::Session const attached{kept};
  expect(attached.report().attached && attached.devices().size() == 2, "the values stay");
#else
  auto const differs = thrown_by<cuenv::TooLateError>([&] { cuenv::Session const session{kept}; });
  if (differs) expect(differs->diagnostics().size() == 2, "the list and the cache are named");
#endif
  expect(simulated_state().init_calls == 1, "cuInit was called once");
  return failed_expectations;
}
