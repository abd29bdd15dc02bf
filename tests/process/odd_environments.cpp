// What execve allows in an environment and nobody expects: an entry without '=', a name that is there twice.
#include "expect.hpp"

#include <unistd.h>

#include <string>
#include <vector>

namespace {

int look() {
  auto const& environment = cuenv::process_environment;
  auto const start = environment.all_at_start();
  auto const at_start = [&](char const* name) { return cuenv::detail::text_in(*start, name); };
  if (!start) return 1;
  expect(!at_start("CUDA_LAUNCH_BLOCKING") && !environment.get("CUDA_LAUNCH_BLOCKING"), "without '=' it is not set");
  expect(at_start("CUDA_VISIBLE_DEVICES") == "1" && environment.get("CUDA_VISIBLE_DEVICES") == "1",
         "the first one counts");

  cuenv::Settings settings;
  settings.set(cuenv::visible_devices, {cuenv::physical(0)}, cuenv::Precedence::override);
  auto const lines = environment_for(settings, environment, {});
  int lists = 0;
  for (std::string const& line : lines) lists += line.compare(0, 21, "CUDA_VISIBLE_DEVICES=") == 0 ? 1 : 0;
  expect(lists == 1, "a child gets one list");
  return failed_expectations;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return look();
  std::vector<std::string> arguments{argv[0], "look"};
  std::vector<std::string> environment{"CUDA_LAUNCH_BLOCKING", "CUDA_VISIBLE_DEVICES=1", "=", "CUDA_VISIBLE_DEVICES=0"};
  execve("/proc/self/exe", cuenv::pointers_to(arguments).data(), cuenv::pointers_to(environment).data());
  return 1;
}
