#include <cuenv/diagnosis/variables.hpp>

#include "support/catch.hpp"
#include "support/described_machines.hpp"
#include "support/described_tree.hpp"

#include <string>
#include <utility>
#include <vector>

using cuenv_tests::provokes;
using cuenv_tests::spares;

namespace {

cuenv::RungReport diagnose(std::vector<cuenv::Assignment> variables) {
  return cuenv::diagnose_variables(cuenv::described_site("", std::move(variables)), cuenv_tests::two_h200());
}

}  // namespace

TEST_CASE("variables that mean what they say are facts alone", "[diagnosis][variables]") {
  auto const none = diagnose({{"HOME", "/home/ada"}});
  CHECK(none.rung == cuenv::Rung::variables);
  CHECK(none.findings.empty());
  CHECK(none.facts.at(0).value == "none is set, so every default holds");

  auto const report = diagnose({{"CUDA_VISIBLE_DEVICES", "1,0"}, {"CUDA_MODULE_LOADING", "EAGER"}, {"PATH", "/bin"}});
  CHECK(report.findings.empty());
  CHECK(report.health() == cuenv::Health::fine);
  REQUIRE(report.facts.size() == 2);
  CHECK(report.facts[0].name == "CUDA_VISIBLE_DEVICES");
  CHECK(report.facts[0].value == "1,0: logical 0 = physical 1, logical 1 = physical 0");
}

TEST_CASE("what the driver reads otherwise is found with the code it has elsewhere", "[diagnosis][variables]") {
  struct Case {
    cuenv::Assignment wrong;
    cuenv::Assignment right;
    char const* code;
    cuenv::Health health;
  };
  using cuenv::Health;
  for (Case const& one : std::vector<Case>{
           {{"CUDA_CACHE_MAXSIZE", "1G"},
            {"CUDA_CACHE_MAXSIZE", "1073741824"},
            "environment.misread",
            Health::doubtful},
           {{"CUDA_LAUNCH_BLOCKING", "1"}, {"CUDA_LAUNCH_BLOCKING", "0"}, "environment.slow", Health::fine},
           {{"CUDA_INJECTION64_PATH", "/x.so"}, {"CUDA_PATH", "/x"}, "environment.runs_code", Health::doubtful},
           {{"CUDA_VISABLE_DEVICES", "0"}, {"CUDA_VISIBLE_DEVICES", "0"}, "name.misspelt", Health::doubtful},
           {{"CUDA_MEMCPY_ASYNC", "1"}, {"CUDA_PATH", "/x"}, "name.no_effect", Health::doubtful},
           {{"CUDA_VISIBLE_DEVICES", "0,0"},
            {"CUDA_VISIBLE_DEVICES", "0,1"},
            "visible_devices.duplicate",
            Health::broken},
           {{"CUDA_VISIBLE_DEVICES", ""}, {"CUDA_VISIBLE_DEVICES", "0"}, "visible_devices.none", Health::broken}}) {
    INFO(one.code);
    auto const report = diagnose({one.wrong});
    CHECK(provokes(report, one.code));
    CHECK(report.health() == one.health);
    CHECK(spares(diagnose({one.right}), one.code));
  }
  CHECK(diagnose({{"CUDA_DEVICE_ORDER", "pci"}}).health() == cuenv::Health::broken);
}
