#include <cuenv/explain.hpp>

#include "support/catch.hpp"
#include "support/described_machines.hpp"

#include <string>
#include <vector>

using cuenv::explain_variables;
using cuenv::Explanation;

namespace {

cuenv::Explanation explain_one(std::string const& name, std::string const& text) {
  auto const explanations = explain_variables({{"PATH", "/bin"}, {name, text}}, cuenv_tests::two_h200());
  REQUIRE(explanations.size() == 1);
  return explanations[0];
}

}  // namespace

TEST_CASE("a found text is explained with what the driver makes of it", "[explain]") {
  struct Row {
    char const* name;
    char const* text;
    char const* effect;
    bool has_finding;
  };
  for (Row const& row :
       {Row{"CUDA_LAUNCH_BLOCKING", "true", "off", true}, Row{"CUDA_LAUNCH_BLOCKING", "1x", "on", true},
        Row{"CUDA_LAUNCH_BLOCKING", "0", "off", false},
        Row{"CUDA_CACHE_MAXSIZE", "1G", "1 byte: nothing new is cached", true},
        Row{"CUDA_DEVICE_MAX_CONNECTIONS", "64", "32", true},
        Row{"CUDA_DEVICE_ORDER", "pci_bus_id", "no valid order: cuInit fails with 101", true},
        Row{"CUDA_MODULE_LOADING", "AUTO", "lazy", true}, Row{"CUDA_CACHE_PATH", "~/x", "nothing is cached", true},
        Row{"CUDA_VISIBLE_DEVICES", "1,0", "logical 0 = physical 1, logical 1 = physical 0", false},
        Row{"CUDA_VISIBLE_DEVICES", "0-1", "logical 0 = physical 0", true},
        Row{"CUDA_VISIBLE_DEVICES", "0,0", "no GPU: cuInit gives 101", true}}) {
    INFO(row.name << "=" << row.text);
    auto const explanation = explain_one(row.name, row.text);
    REQUIRE(explanation.effect);
    CHECK(explanation.effect->value == row.effect);
    CHECK(explanation.effect->evidence == cuenv::Evidence::measured);
    CHECK(explanation.findings.empty() != row.has_finding);
    if (row.has_finding) CHECK_FALSE(explanation.findings[0].fix.empty());
  }
}

TEST_CASE("what only documents say is marked so", "[explain]") {
  CHECK(explain_one("CUDA_SCALE_LAUNCH_QUEUES", "8x").effect->evidence == cuenv::Evidence::documented);
  CHECK(explain_one("CUDA_SCALE_LAUNCH_QUEUES", "8x").effect->value == "1x");
}

TEST_CASE("what is not known has no evidence", "[explain]") {
  auto const of = [](std::vector<cuenv::Assignment> const& variables, cuenv::Machine const& machine) {
    return explain_variables(variables, machine).back().effect.value();
  };
  auto const unknown = of({{"CUDA_VISIBLE_DEVICES", "0"}}, {});
  CHECK(unknown.value == "not known: the GPUs of this machine are not known");
  CHECK_FALSE(unknown.evidence);
  CHECK_FALSE(unknown.fatal);
  // What does not depend on the machine is known all the same.
  auto const invalid = of({{"CUDA_DEVICE_ORDER", "pci"}, {"CUDA_VISIBLE_DEVICES", "0"}}, {});
  CHECK(invalid.value == "no CUDA: the order is invalid");
  CHECK(invalid.evidence == cuenv::Evidence::measured);
  CHECK(invalid.fatal);
  CHECK(of({{"CUDA_VISIBLE_DEVICES", "0"}}, cuenv_tests::unlike_gpus()).evidence == cuenv::Evidence::documented);
}

TEST_CASE("variables of tools are explained without an effect of the driver's", "[explain]") {
  auto const explanation = explain_one("NVIDIA_VISIBLE_DEVICES", "void");
  CHECK_FALSE(explanation.effect);
  REQUIRE(explanation.info != nullptr);
  CHECK(explanation.info->read == cuenv::Moment::not_driver);
}

TEST_CASE("values that run code are pointed out", "[explain]") {
  CHECK(explain_one("CUDA_COREDUMP_FILE", "|cat").findings.at(0).code == "environment.runs_code");
  CHECK(explain_one("CUDA_COREDUMP_FILE", "core.%p").findings.empty());
  CHECK(explain_one("CUDA_LOG_FILE", "/tmp/log").findings.empty());  // it writes there, and runs nothing
  CHECK(explain_one("CUDA_CACHE_PATH", "/tmp/cache").findings.empty());
  CHECK(explain_one("CUDA_INJECTION64_PATH", "/x.so").findings.at(0).code == "environment.runs_code");
}

TEST_CASE("an invalid order is explained with the order, once, and the list says there is no CUDA", "[explain]") {
  auto const explanations =
      explain_variables({{"CUDA_DEVICE_ORDER", ""}, {"CUDA_VISIBLE_DEVICES", "0"}}, cuenv_tests::two_h200());
  REQUIRE(explanations.size() == 2);
  CHECK(explanations[0].findings.size() == 1);
  CHECK(explanations[0].effect->fatal);
  CHECK(explanations[1].effect->value == "no CUDA: the order is invalid");
  CHECK(explanations[1].findings.empty());
}

TEST_CASE("an index that an MPS daemon would count anew is pointed out", "[explain]") {
  auto const findings_of = [](std::string const& list, std::string const& pipe) {
    return explain_variables({{"CUDA_VISIBLE_DEVICES", list}, {"CUDA_MPS_PIPE_DIRECTORY", pipe}},
                             cuenv_tests::two_h200())
        .at(0)
        .findings;
  };
  auto const findings = findings_of("1", "/tmp/mps");
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].code == "visible_devices.mps");
  CHECK(to_string(findings[0]) ==
        "note: CUDA_VISIBLE_DEVICES=1: CUDA_MPS_PIPE_DIRECTORY=/tmp/mps: where an MPS daemon is found there, this "
        "program is its client\n"
        "  driver: then an index counts the daemon's GPUs, from 0 and in the order of the bus\n"
        "  fix: use UUIDs, which mean the same GPU to both");
  CHECK(findings_of("GPU-c07e", "/tmp/mps").empty());  // the same GPU to both
  CHECK(findings_of("1", "").empty());
  for (char const* hidden : {"-1", ""}) {
    CHECK(findings_of(hidden, "/tmp/mps").size() == 1);
    CHECK(findings_of(hidden, "/tmp/mps").at(0).code == "visible_devices.none");
  }
}

TEST_CASE("an index out of range inside a container may be one of the host", "[explain]") {
  auto const findings_of = [](std::string const& list, std::string const& given) {
    return explain_variables({{"CUDA_VISIBLE_DEVICES", list}, {"NVIDIA_VISIBLE_DEVICES", given}},
                             cuenv_tests::two_h200())
        .at(0)
        .findings;
  };
  for (std::string const given : {"5,3", "void"}) {  // CDI gives GPUs and writes void
    auto const findings = findings_of("0,3", given);
    REQUIRE(findings.size() == 2);
    CHECK(findings[0].code == "visible_devices.out_of_range");
    CHECK(findings[1].code == "visible_devices.container");
    CHECK(to_string(findings[1]) ==
          "note: CUDA_VISIBLE_DEVICES=0,3: NVIDIA_VISIBLE_DEVICES=" + given +
              ": a container has those GPUs of its host that it was given\n"
              "  driver: inside it they are counted from 0, whatever their index on the host (documented, not "
              "measured)\n"
              "  fix: remove CUDA_VISIBLE_DEVICES inside the container, or use UUIDs");
  }
  CHECK(findings_of("1", "5,3").empty());
  CHECK(findings_of("3", "").size() == 1);
  CHECK(findings_of("GPU-dead", "5,3").size() == 1);
}

TEST_CASE("unknown names are left out, slips are kept", "[explain]") {
  auto const explanations =
      explain_variables({{"HOME", "/"}, {"CUDA_VISABLE_DEVICES", "0"}, {"CUDA_WHATEVER", "1"}}, {});
  REQUIRE(explanations.size() == 1);
  CHECK(explanations[0].info == nullptr);
  CHECK(explanations[0].findings.at(0).code == "name.misspelt");
}
