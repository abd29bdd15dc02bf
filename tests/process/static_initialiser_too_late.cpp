// Another translation unit has started CUDA in a static object of its own: a session in main is refused.
#include "expect.hpp"

int cuda_started_statically();

int main() {
  expect(cuda_started_statically() == 0, "a static object has started CUDA");
  cuenv::Settings settings;
  settings.set(cuenv::device_max_connections, 16);
  auto const error = thrown_by<cuenv::TooLateError>([&] { cuenv::Session const session{settings}; });
  if (error) expect_text(error->what(), "CUDA_DEVICE_MAX_CONNECTIONS=16: CUDA is already initialised");
  expect(is_set_to("CUDA_DEVICE_MAX_CONNECTIONS", std::nullopt), "the environment is as before");
  return failed_expectations;
}
