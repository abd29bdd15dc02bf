// Two shared libraries that were built apart, each with a session: they agree through the driver and not through
// variables of cuenv.
#include "expect.hpp"
#include "simulated_state.hpp"

namespace {

using Start = int(int connections, int override_kept, char* text, unsigned long size);

Start* start_of(char const* path) {
  auto* const start = library_function<Start>(open_library(path), "start_session");
  if (start == nullptr) {
    expect(false, std::string{path} + " is a library with start_session");
    std::exit(1);
  }
  return start;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Start* const first = start_of(argv[1]);
  Start* const second = start_of(argv[2]);
  char text[2048] = "";
  expect(first(16, 0, text, sizeof text) == 1, std::string{"the first starts CUDA "} + text);
  expect(second(16, 0, text, sizeof text) == 2, std::string{"the second, with equal settings, attaches "} + text);
  expect(first(16, 1, text, sizeof text) == 2, std::string{"and so does the first again "} + text);
  expect(second(8, 1, text, sizeof text) == 3, "the second, with other settings, is refused");
  expect_text(text, "CUDA_DEVICE_MAX_CONNECTIONS=8: CUDA is already initialised in this process, with the value '16'");
  expect(is_set_to("CUDA_DEVICE_MAX_CONNECTIONS", "16"), "the environment is the first's");
  expect(simulated_state().init_calls == 1 && simulated_state().max_connections == 16, "CUDA was started once");
  return failed_expectations;
}
