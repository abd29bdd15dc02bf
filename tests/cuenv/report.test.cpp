#include <cuenv/report.hpp>

#include "support/catch.hpp"

TEST_CASE("a report says what became of each variable", "[report]") {
  cuenv::Report report;
  report.driver_cuda_version = 12040;
  report.driver_version = "550.54.15";
  report.driver_path = "/usr/lib/libcuda.so.1";
  report.simulated_root = "/tmp/root";
  report.attached = true;
  report.variables = {{"A", std::nullopt, "1", cuenv::Outcome::applied},
                      {"B", "2", std::nullopt, cuenv::Outcome::applied},
                      {"C", "3", "3", cuenv::Outcome::already_set},
                      {"D", "0,1\n", "0", cuenv::Outcome::kept}};
  report.findings.push_back(
      {cuenv::Severity::note, "code", "E", "", cuenv::Diagnostic::no_offset, "something was seen", "", ""});
  CHECK(to_string(report) ==
        "CUDA 12.4, driver 550.54.15, from /usr/lib/libcuda.so.1\n"
        "SIMULATED machine, described in /tmp/root\n"
        "CUDA was initialised already\n"
        "A: '1' applied, was (not set)\n"
        "B: (not set) applied, was '2'\n"
        "C: '3' was set already\n"
        "D: '0,1\\n' kept from the environment, not '0'\n"
        "note: E: something was seen");
}

TEST_CASE("a report does not invent versions", "[report]") {
  CHECK(to_string(cuenv::Report{}) == "CUDA version unknown, driver version unknown");
}
