// The visible devices: predicted without CUDA, listed by NVML, and counted by cuInit in a child, by turns. Prints one
// line of JSON, in microseconds and as medians of the ratios.
//
//   predict_benchmark BARE [ROOT]   the program of bare.cpp; the folder that stands for "/", for a trial without a GPU
#include <cuenv/machine.hpp>
#include <cuenv/nvml.hpp>
#include <cuenv/visibility.hpp>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stopwatch.hpp"

namespace {

std::optional<std::string_view> variable(char const* name) {
  char const* const text = std::getenv(name);
  return text == nullptr ? std::nullopt : std::optional<std::string_view>{text};
}

bool run(char const* program) {
  char* arguments[] = {const_cast<char*>(program), nullptr};
  ::pid_t child = 0;
  int status = 1;
  return ::posix_spawn(&child, program, nullptr, nullptr, arguments, environ) == 0 &&
         ::waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  std::string const root = argc == 3 ? argv[2] : "";
  // Their output is not looked at.
  int const output = ::dup(STDOUT_FILENO);
  if (output < 0 || std::freopen("/dev/null", "w", stdout) == nullptr) return 1;
  std::vector<double> predicted;
  std::vector<double> nvml;
  std::vector<double> child;
  std::vector<double> predicted_before_child;
  std::size_t devices = 0;
  std::size_t listed = 0;
  bool ran = true;
  auto const predict = [&] {
    return microseconds([&] {
      cuenv::Machine const machine = cuenv::read_machine(root);
      devices = cuenv::resolve_visibility({variable("CUDA_VISIBLE_DEVICES"), variable("CUDA_DEVICE_ORDER")}, machine)
                    .devices.size();
    });
  };
  std::string error;
  for (int round = 0; round < 51; ++round) {
    predicted.push_back(predict());
    nvml.push_back(
        microseconds([&] { listed = cuenv::read_machine_from_nvml(cuenv::open_nvml_library(), error).gpus.size(); }));
  }
  for (int round = 0; round < 11; ++round) {
    predicted_before_child.push_back(predict());
    child.push_back(microseconds([&] { ran = run(argv[1]) && ran; }));
  }
  if (devices == 0 || listed == 0 || !ran) {
    std::fprintf(stderr, "predicted %zu devices; NVML lists %zu %s; cuInit in a child %s\n", devices, listed,
                 error.c_str(), ran ? "succeeds" : "fails");
    return 1;
  }
  ::dprintf(output,
            "{\"devices\": %zu, \"predict_us\": %.1f, \"nvml_us\": %.1f, \"child_us\": %.1f, \"nvml_ratio\": %.1f, "
            "\"child_ratio\": %.1f}\n",
            devices, median(predicted), median(nvml), median(child), paired_ratio(nvml, predicted),
            paired_ratio(child, predicted_before_child));
}
