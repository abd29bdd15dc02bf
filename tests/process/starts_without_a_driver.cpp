// A program that uses cuenv starts where there is no driver, and learns why there is no CUDA.
#include "expect.hpp"
#include "library.hpp"

int main() {
  if (open_library(cuenv::driver_library_name) != nullptr) {
    std::printf("skipped: there is a driver here\n");
    return 77;
  }
  cuenv::Settings settings;
  settings.set(cuenv::device_max_connections, 32);
  auto const error = thrown_by<cuenv::DriverError>([&] { cuenv::Session const session{settings}; });
  expect(error && error->code() == cuenv::DriverError::no_driver, "the code is that of no driver");
#ifdef _WIN32
  if (error) expect_text(error->what(), "(error 126)");
#else
  if (error) expect_text(error->what(), "libcuda.so.1: cannot open shared object file");
#endif
  expect(is_set_to("CUDA_DEVICE_MAX_CONNECTIONS", std::nullopt), "the environment is as before");

  cuenv::Session const session{settings, cuenv::absent_ok};
  expect(session.devices().empty(), "there are no devices");
  expect(session.absence() != nullptr, "the reason is kept");
  expect(is_set_to("CUDA_DEVICE_MAX_CONNECTIONS", "32"), "the environment is as applied");
  return failed_expectations;
}
