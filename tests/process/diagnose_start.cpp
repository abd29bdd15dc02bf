// CUDA is started in a child only: this process stays without it, and says why where no child can be had.
#include <cuenv/diagnose.hpp>

#include "support/check.hpp"

#include <sys/prctl.h>

#include <atomic>
#include <string>
#include <thread>

namespace {

cuenv::RungReport start() {
  cuenv::DiagnoseOptions options;
  options.start_cuda = true;
  return cuenv::diagnose(options).rungs.back();
}

}  // namespace

int main() {
  auto const driver = cuenv::open_driver_library(cuenv::DriverOpen::load);
  cuenv::RungReport const fine = start();
  check::that(fine.rung == cuenv::Rung::start, "the last rung is the start");
  check::that(fine.health() == cuenv::Health::fine, "CUDA starts in a child: " + to_string(cuenv::Diagnosis{{fine}}));
  check::that(fine.facts.size() == 3, "cuInit and two contexts");
  check::that(cuenv::driver_state(driver) == cuenv::DriverState::loaded, "this process has not started CUDA");

  std::atomic<bool> stop{false};
  std::thread other([&] {
    ::prctl(PR_SET_NAME, "cuenv-other");
    while (!stop) std::this_thread::yield();
  });
  cuenv::RungReport threads = start();
  while (threads.unknown.empty() || threads.unknown.front().find("cuenv-other") == std::string::npos) threads = start();
  stop = true;
  other.join();
  check::that(threads.health() == cuenv::Health::unknown, "no fork beside a thread");

  ::setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
  cuenv::RungReport const none = start();
  check::that(none.health() == cuenv::Health::broken && none.findings.front().code == "start.cuinit_fails",
              "no visible GPU is found");
  check::equal(none.findings.front().value, std::string{"100 (NO_DEVICE)"}, "code");
  ::unsetenv("CUDA_VISIBLE_DEVICES");

  check::equal(static_cast<int>(driver.api.init(0)), 0, "cuInit here");
  cuenv::RungReport const started = start();
  check::that(started.health() == cuenv::Health::unknown, "a process with CUDA has no child that could start it");
  return check::result();
}
