// cudart.hpp on a real driver, without a driver, and with the toolkit's stub: runtime_contract gpu|CODE.
#include <cuenv/cudart.hpp>
#include <cuenv/cuenv.hpp>

#include "support/check.hpp"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

void runs_on_hopper(int*);
void runs_on_turing(int*);
void runs_on_blackwell(int*);

namespace {

void on_a_gpu() {
  cuenv::Session const session;
  int const last = static_cast<int>(session.devices().size()) - 1;
  check::equal(static_cast<int>(cudaSetDevice(last)), 0, "cudaSetDevice");
  check::that(cudaSetDevice(1000) != cudaSuccess, "an error is made pending");
  auto const pending = cudaPeekAtLastError();
  check::that(pending != cudaSuccess, "an error is pending");

  cuenv::require_kernel(runs_on_hopper, "runs_on_hopper");
  for (auto const& result : cuenv::check_kernel(runs_on_hopper)) check::equal(result.code, 0, "runs_on_hopper");
  for (auto const& result : cuenv::check_kernel(runs_on_turing)) check::equal(result.code, 209, "runs_on_turing");
  try {
    cuenv::require_kernel(runs_on_blackwell, "runs_on_blackwell");
    check::that(false, "a kernel for 12.0 alone is refused");
  } catch (cuenv::ImageError const& error) {
    std::cout << error.what() << '\n';
    check::equal(error.diagnostics().size(), session.devices().size(), "a finding for each GPU");
    auto const sm = std::to_string(session.devices()[0].compute_capability.sm());
    check::equal(error.diagnostics()[0].fix, "build with -gencode arch=compute_" + sm + ",code=sm_" + sm, "the fix");
  }

  int current = -1;
  check::equal(static_cast<int>(cudaGetDevice(&current)), 0, "cudaGetDevice");
  check::equal(current, last, "the current device is as before");
  check::equal(static_cast<int>(cudaGetLastError()), static_cast<int>(pending), "the pending error is as before");
}

void without_one(int code) {
  auto const pending = cudaPeekAtLastError();  // where there is no driver this very call gives its code
  try {
    (void)cuenv::check_kernel(runs_on_hopper);
    check::that(false, "the check throws");
  } catch (cuenv::DriverError const& error) {
    std::cout << error.what() << '\n';
    check::equal(error.code(), code, "code");
  }
  check::equal(static_cast<int>(cudaPeekAtLastError()), static_cast<int>(pending), "the pending error is as before");
}

}  // namespace

int main(int argc, char** argv) {
  std::string const what = argc > 1 ? argv[1] : "gpu";
  if (what == "gpu") {
    if (!std::ifstream{"/dev/nvidiactl"}.good() && !std::ifstream{"/dev/dxg"}.good()) {
      std::printf("skipped: there is no GPU here\n");
      return check::skipped;
    }
    on_a_gpu();
  } else {
    without_one(std::stoi(what));
  }
  return check::result();
}
