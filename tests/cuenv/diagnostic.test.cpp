#include <cuenv/diagnostic.hpp>

#include "support/catch.hpp"

using cuenv::Diagnostic;
using cuenv::Severity;

TEST_CASE("a finding is written with its place, the driver's view and the fix", "[diagnostic]") {
  Diagnostic finding{Severity::error,     "some.code",          "CUDA_X", "0,9", 2,
                     "9 is out of range", "the list ends here", "use 0"};
  CHECK(to_string(finding) ==
        "error: CUDA_X=0,9 at byte 2: 9 is out of range\n  driver: the list ends here\n  fix: use 0");
}

TEST_CASE("parts of a finding that are empty are left out", "[diagnostic]") {
  Diagnostic finding;
  finding.severity = Severity::note;
  finding.what = "this is so";
  CHECK(to_string(finding) == "note: this is so");
  finding.subject = "NVML";
  CHECK(to_string(finding) == "note: NVML: this is so");
}

TEST_CASE("a finding's text cannot drive a terminal", "[diagnostic]") {
  Diagnostic finding{Severity::warning, "c", "N\x1b", "\xff\n", Diagnostic::no_offset, "w\x1b", "a\nb\x1b", "f\n"};
  CHECK(to_string(finding) == "warning: N\\x1b=\\xff\\n: w\\x1b\n  driver: a\n    b\\x1b\n  fix: f\\n");
}

TEST_CASE("findings are an error when one of them is", "[diagnostic]") {
  cuenv::Diagnostics findings(1);
  findings[0].severity = Severity::warning;
  CHECK_FALSE(has_error(findings));
  append(findings, cuenv::Diagnostics(2));
  CHECK(findings.size() == 3);
  CHECK(has_error(findings));
  findings[0].what = findings[1].what = findings[2].what = "x";
  CHECK(to_string(findings) == "warning: x\nerror: x\nerror: x");
  CHECK(to_string(cuenv::Diagnostics{}).empty());
}
