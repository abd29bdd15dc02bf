#include <cuenv/diagnosis/rung.hpp>

#include "support/catch.hpp"

namespace {

cuenv::Diagnostic finding(cuenv::Severity severity) {
  cuenv::Diagnostic diagnostic;
  diagnostic.severity = severity;
  return diagnostic;
}

}  // namespace

TEST_CASE("a rung is as sound as its worst finding", "[diagnosis]") {
  cuenv::RungReport report;
  CHECK(report.health() == cuenv::Health::fine);
  report.findings.push_back(finding(cuenv::Severity::note));
  CHECK(report.health() == cuenv::Health::fine);
  CHECK_FALSE(report.add_unknown("nothing", ""));
  CHECK(report.unknown.empty());
  CHECK(report.add_unknown("the size", "the folder cannot be read"));
  CHECK(report.unknown == std::vector<std::string>{"the size: the folder cannot be read"});
  CHECK(report.health() == cuenv::Health::unknown);
  report.findings.push_back(finding(cuenv::Severity::warning));
  CHECK(report.health() == cuenv::Health::doubtful);
  report.findings.push_back(finding(cuenv::Severity::error));
  CHECK(report.health() == cuenv::Health::broken);
  CHECK(to_string(report.health()) == "broken");
}
