// Settings are in the environment of the process before the driver reads it.
#include "expect.hpp"
#include "simulated_state.hpp"

int main() {
  cuenv::Settings settings;
  settings.set(cuenv::visible_devices, {cuenv::physical(1)})
      .set(cuenv::cache_max_size, cuenv::gibibytes(2))
      .set(cuenv::cache_path, std::string{"/tmp/cuenv-cache"})
      .set(cuenv::device_max_connections, 32)
      .set(cuenv::launch_blocking, true);
  {
    cuenv::Session const session{settings};
    expect(session.devices().size() == 1 && session.devices()[0].physical == cuenv::physical(1), "GPU 1 is visible");
    expect_text(to_string(session.report()), "SIMULATED machine");
    auto const& state = simulated_state();
    expect(state.initialised == 1 && state.init_calls == 1, "cuInit was called once");
    expect(state.contexts_made == 0, "no context was made");
    expect(state.max_connections == 32, "the driver read the connections");
    expect(state.cache_max_size == 2147483648ULL, "the driver read the size of the cache");
    expect(state.cache_path != nullptr && std::string{state.cache_path} == "/tmp/cuenv-cache", "and its path");
    expect(session.load_check_bytes(".version 8.0\n.target sm_75\n.address_size 64\n", cuenv::logical(0)).loads(),
           "a context can be made");
    expect(simulated_state().launch_blocking == 1, "the context read that launches block");
  }
  expect(is_set_to("CUDA_VISIBLE_DEVICES", "1"), "CUDA_VISIBLE_DEVICES is set after the session");
  expect(is_set_to("CUDA_DEVICE_ORDER", "PCI_BUS_ID"), "CUDA_DEVICE_ORDER is set after the session");
  expect(is_set_to("CUDA_CACHE_MAXSIZE", "2147483648"), "CUDA_CACHE_MAXSIZE is set after the session");
  return failed_expectations;
}
