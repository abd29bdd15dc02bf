// The toolkit's own stub library, found as libcuda.so.1: the error names it and its file.
#include "expect.hpp"

int main(int argc, char** argv) {
  cuenv::Settings settings;
  settings.set(cuenv::device_max_connections, 32);
  auto const error = thrown_by<cuenv::DriverError>([&] { cuenv::Session const session{settings}; });
  expect(error && error->code() == 34, "the code is 34");
  if (error) {
    expect_text(error->what(), "stub");
    expect_text(error->what(), argc > 1 ? argv[1] : "no argument");
    expect_text(error->what(), "LD_LIBRARY_PATH");
  }
  expect(is_set_to("CUDA_DEVICE_MAX_CONNECTIONS", std::nullopt), "the environment is as before");
  cuenv::Session const session{settings, cuenv::absent_ok};
  expect(session.devices().empty() && session.absence() != nullptr && session.absence()->code() == 34,
         "where CUDA may be absent the reason is kept");
  return failed_expectations;
}
