#include <cuenv/diagnosis/start.hpp>

#include "support/catch.hpp"
#include "support/described_tree.hpp"

using cuenv_tests::provokes;
using cuenv_tests::spares;

TEST_CASE("an answer of a start survives as text", "[diagnosis]") {
  cuenv::StartAnswer answer;
  CHECK(cuenv::detail::start_as_text(answer).empty());
  answer.cu_init = 0;
  answer.contexts = {0, 2};
  auto const read = cuenv::detail::start_from_text(cuenv::detail::start_as_text(answer));
  CHECK(read.cu_init == 0);
  CHECK(read.contexts == std::vector<int>{0, 2});
  for (char const* cut : {"", "0\n", "0\n2", "x\nend\n", "0\n-1\nend\n", "0\n99999999999\nend\n"}) {
    CHECK_FALSE(cuenv::detail::start_from_text(cut).cu_init);
  }
}

TEST_CASE("a start is told by its codes", "[diagnosis]") {
  auto const fine = cuenv::report_start({0, {0, 0}}, "");
  CHECK(fine.health() == cuenv::Health::fine);
  CHECK(spares(fine, "start.cuinit_fails"));
  CHECK(spares(fine, "start.context_fails"));
  CHECK(spares(fine, "start.no_answer"));

  auto const failed = cuenv::report_start({802, {}}, "");
  CHECK(provokes(failed, "start.cuinit_fails"));
  CHECK(failed.findings.front().fix.find("fabricmanager") != std::string::npos);

  auto const context = cuenv::report_start({0, {0, 46}}, "");
  CHECK(provokes(context, "start.context_fails"));
  CHECK(context.findings.front().subject == "context of logical GPU 1");

  auto const crashed = cuenv::report_start({}, "it was ended by signal 11");
  CHECK(provokes(crashed, "start.no_answer"));
  CHECK(crashed.findings.front().what.find("signal 11") != std::string::npos);
}

TEST_CASE("without a driver a start is unknown, not wrong", "[diagnosis]") {
  cuenv_tests::DescribedTree tree;
  auto const report = diagnose_start(tree.site());
  CHECK(report.findings.empty());
  CHECK(report.health() == cuenv::Health::unknown);
}
