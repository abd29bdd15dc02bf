#include <cuenv/explain_visibility.hpp>

#include "support/catch.hpp"
#include "support/described_machines.hpp"
#include "support/generated_text.hpp"
#include "support/visible_devices_table.hpp"

#include <string>
#include <vector>

using namespace cuenv_tests;
using cuenv::Diagnostic;
using cuenv::Diagnostics;
using cuenv::Severity;

namespace {

Diagnostics explained(cuenv::VisibilityVariables const& variables, cuenv::Machine const& machine) {
  return cuenv::explain(cuenv::resolve_visibility(variables, machine), variables, machine);
}

}  // namespace

TEST_CASE("a list that means what it says gives no finding", "[explain_visibility]") {
  for (char const* text : {"0", "1,0", "0, 1", "GPU-5a9c", "GPU-c0,GPU-5A9C1F04-3e7b-4d21-8c66-0b1d2e3f4a5b"}) {
    INFO(text);
    CHECK(explained({text, std::nullopt}, two_h200()).empty());
  }
  CHECK(explained({}, two_h200()).empty());
  CHECK(explained({"GPU-5a9c", std::nullopt}, unlike_gpus()).empty());
  CHECK(explained({"1", "PCI_BUS_ID"}, unlike_gpus()).empty());
}

TEST_CASE("each thing people write is explained with its place and what to type", "[explain_visibility]") {
  struct Row {
    char const* text;
    Severity severity;
    char const* code;
    std::size_t offset;
    char const* fix;
  };
  Row const rows[] = {
      {"\"0,1\"", Severity::error, "visible_devices.not_a_number", 0, "remove the quotes"},
      {"0-1", Severity::warning, "visible_devices.partly_read", 0, "list every index: 0,1,2"},
      {"0;1", Severity::warning, "visible_devices.partly_read", 0, "separate the entries by commas: 0,1"},
      {"0 1", Severity::warning, "visible_devices.partly_read", 0, "separate the entries by commas: 0,1"},
      {"0:1", Severity::warning, "visible_devices.partly_read", 0, "separate the entries by commas: 0,1"},
      {"cuda:0", Severity::error, "visible_devices.not_a_number", 0, "write the number alone: 0, not cuda:0"},
      {"NoDevFiles", Severity::error, "visible_devices.not_a_number", 0,
       "Slurm gave this job no GPU: ask for one with --gpus or --gres=gpu:1"},
      {"all", Severity::error, "visible_devices.not_a_number", 0,
       "that is a word of NVIDIA_VISIBLE_DEVICES; remove CUDA_VISIBLE_DEVICES to see every GPU"},
      {" GPU-5a9c", Severity::error, "visible_devices.not_a_number", 0, "remove the blank before the UUID"},
      {"GPU-5a9c, GPU-c07e", Severity::warning, "visible_devices.other_kind", 9,
       "remove the blanks around the entry, and use UUIDs alone"},
      {"GPU-5a9c,1", Severity::warning, "visible_devices.other_kind", 9, "use indices alone or UUIDs alone"},
      {"1,GPU-5a9c", Severity::warning, "visible_devices.other_kind", 2, "use indices alone or UUIDs alone"},
      {"GPU-dead", Severity::error, "visible_devices.no_such_uuid", 0, "copy the UUID from nvidia-smi -L"},
      {"c07e88d2-91ab-4f3c-a5d0-7e6f5d4c3b2a", Severity::error, "visible_devices.not_a_number", 0,
       "write the UUID with its tag: GPU-..."},
      {"GPU-", Severity::error, "visible_devices.bare_tag", 0, "copy the UUID from nvidia-smi -L"},
      {"0,-1,1", Severity::warning, "visible_devices.negative", 2, "remove it, or write -1 alone to hide every GPU"},
      {"0,0", Severity::error, "visible_devices.duplicate", 2, "name each GPU once"},
      {"0,", Severity::note, "visible_devices.empty", 2, "remove the comma"},
      {"0,,1", Severity::warning, "visible_devices.empty", 2, "remove the comma"},
      {"", Severity::error, "visible_devices.none", 0, "remove the variable to see every GPU"},
      {"-1", Severity::error, "visible_devices.none", 0, "remove the variable to see every GPU"},
      {"none", Severity::error, "visible_devices.not_a_number", 0, "write -1 for no GPU"},
      {"2", Severity::error, "visible_devices.out_of_range", 0,
       "use 0 to 1, or a UUID: inside a container, a job or MPS the indices count what is exposed there"},
      {"0x1", Severity::warning, "visible_devices.partly_read", 0, "write the number in decimal"},
      {"4294967296", Severity::warning, "visible_devices.partly_read", 0, "give an index or a UUID, -1 for no GPU"},
  };
  for (Row const& row : rows) {
    INFO(row.text);
    auto const findings = explained({row.text, std::nullopt}, two_h200());
    REQUIRE(findings.size() == 1);
    CHECK(to_string(findings[0].severity) == to_string(row.severity));
    CHECK(findings[0].code == row.code);
    CHECK(findings[0].offset == row.offset);
    CHECK(findings[0].fix == row.fix);
    CHECK(findings[0].subject == "CUDA_VISIBLE_DEVICES");
    CHECK(findings[0].value == row.text);
    CHECK_FALSE(findings[0].driver.empty());
  }
}

TEST_CASE("the entry that ends a list says how many it takes with it", "[explain_visibility]") {
  auto const findings = explained({"0,1,9,2,3", std::nullopt}, alike_gpus(4));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].what == "'9' is out of range: this machine shows 4 GPUs");
  CHECK(findings[0].driver == "the list ends here; 2 later entries are not looked at");
  auto const repeat = explained({"0,1,2,3,0", std::nullopt}, alike_gpus(4));
  REQUIRE(repeat.size() == 1);
  CHECK(repeat[0].driver == "cuInit fails with 101 (invalid device): no GPU is usable");
}

TEST_CASE("the beginning of several UUIDs selects none of them", "[explain_visibility]") {
  auto const second = explained({"GPU-01,GPU-0,GPU-02", std::nullopt}, alike_gpus(4));
  REQUIRE(second.size() == 1);
  CHECK(second[0].code == "visible_devices.ambiguous_uuid");
  CHECK(second[0].severity == Severity::warning);
  CHECK(second[0].offset == 7);
  CHECK(second[0].driver == "the list ends here; 1 later entry is not looked at");
  CHECK(explained({"GPU-0", std::nullopt}, alike_gpus(1)).empty());
}

TEST_CASE("of a UUID that is cut too short all that it can mean are named, and how much would do",
          "[explain_visibility]") {
  auto machine = two_h200();
  machine.gpus[1].uuid = cuenv::parse_uuid("5a9c1f04-3e7b-4d2f-8c66-0b1d2e3f4a5b");
  for (char const* text : {"GPU-5a9c", "GPU-5A9C1F04-3e7b-4d2", "GPU--"}) {
    INFO(text);
    auto const findings = explained({text, std::nullopt}, machine);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].code == "visible_devices.ambiguous_uuid");
    CHECK(findings[0].what == "'" + std::string{text} + "' begins the UUID of more than one GPU: " + uuid_0 +
                                  " (GPU 0), GPU-5a9c1f04-3e7b-4d2f-8c66-0b1d2e3f4a5b (GPU 1)");
    CHECK(findings[0].fix == "write 18 characters of the UUID or more, such as GPU-5a9c1f04-3e7b-4d21");
  }
  CHECK(explained({"GPU-5a9c1f04-3e7b-4d21", std::nullopt}, machine).empty());

  machine.gpus[1].uuid = machine.gpus[0].uuid;  // a broken description: no length would do
  CHECK(explained({"GPU-5a9c", std::nullopt}, machine).at(0).fix == "write more digits of the UUID");
}

TEST_CASE("what would do is one UUID's alone, and one character less is not", "[explain_visibility]") {
  Generator generator;
  int tried = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<cuenv::Gpu> gpus;
    for (unsigned gpu = 0; gpu < 5; ++gpu) {
      std::string digits = generator.text("01", 5);
      digits.resize(32, '0');
      digits[31] = static_cast<char>('0' + gpu);
      for (std::size_t const at : {8U, 13U, 18U, 23U}) digits.insert(at, 1, '-');
      gpus.push_back(described_gpu("GPU-" + digits, gpu + 1));
    }
    auto const machine = described_machine(gpus);
    auto const findings = explained({"GPU-0", std::nullopt}, machine);
    if (findings.empty() || findings[0].code != "visible_devices.ambiguous_uuid") continue;
    ++tried;
    auto const all = cuenv::detail::begun_uuids("GPU-0", machine);
    std::size_t const length = cuenv::detail::telling_length(all).value_or(0);
    bool shorter_does = true;
    for (auto const& one : all) {
      CHECK(explained({"GPU-" + one.uuid.substr(0, length), std::nullopt}, machine).empty());
      shorter_does =
          shorter_does && explained({"GPU-" + one.uuid.substr(0, length - 1), std::nullopt}, machine).empty();
    }
    CHECK_FALSE(shorter_does);
  }
  CHECK(tried > 100);
}

TEST_CASE("of many GPUs that a UUID can mean eight are named", "[explain_visibility]") {
  auto const findings = explained({"GPU-0", std::nullopt}, alike_gpus(12));
  REQUIRE(findings.size() == 1);
  CHECK_THAT(findings[0].what, ContainsSubstring("(GPU 0)") && ContainsSubstring("(GPU 7) and 4 more"));
  CHECK_THAT(findings[0].what, !ContainsSubstring("(GPU 8)"));
  CHECK(findings[0].fix == "write 2 characters of the UUID or more, such as GPU-00");
}

TEST_CASE("of MIG instances too, in both forms of their names", "[explain_visibility][mig]") {
  auto machine = mig_machine("580.1");
  machine.gpus[0].mig[1].uuid = cuenv::parse_uuid("10000000-0000-5000-8000-000000000009");
  auto const findings = explained({"MIG-1", std::nullopt}, machine);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].what == std::string{"'MIG-1' begins the UUID of more than one GPU: "} + mig_uuid[0] +
                                " (GPU 0), MIG-10000000-0000-5000-8000-000000000009 (GPU 0)");
  CHECK(findings[0].fix == std::string{"write 36 characters of the UUID or more, such as "} + mig_uuid[0]);

  machine.gpus[1] = machine.gpus[0];
  machine.gpus[1].uuid = cuenv::parse_uuid("5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4aff");
  auto const old_form = explained({"MIG-GPU-5a9c/2/0", std::nullopt}, machine);
  REQUIRE(old_form.size() == 1);
  CHECK_THAT(old_form[0].what, ContainsSubstring(uuid_0 + std::string{" (GPU 0), GPU-5a9c1f04"}));
  CHECK(old_form[0].fix ==
        "write 35 characters of the UUID or more, such as MIG-GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5/2/0");
}

TEST_CASE("an index of the host inside a container of one GPU is explained", "[explain_visibility]") {
  auto const findings = explained({"1", std::nullopt}, described_machine({described_gpu(uuid_1, 7)}));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].what == "'1' is out of range: this machine shows 1 GPU");
  CHECK_THAT(findings[0].fix, ContainsSubstring("use 0, or a UUID: inside a container"));
}

TEST_CASE("a machine without GPUs is said to have none", "[explain_visibility]") {
  auto const unset = explained({}, described_machine({}));
  REQUIRE(unset.size() == 1);
  CHECK(unset[0].code == "machine.no_gpu");
  CHECK(unset[0].subject == "machine");  // no variable is at fault
  auto const set = explained({"0", std::nullopt}, described_machine({}));
  REQUIRE(set.size() == 1);
  CHECK(set[0].what == "'0' is out of range: this machine shows 0 GPUs");
  CHECK_THAT(set[0].fix, ContainsSubstring("nvidia-smi -L"));
}

TEST_CASE("a wrong order is the first thing to say", "[explain_visibility]") {
  for (auto const& machine : {two_h200(), cuenv::Machine{}}) {
    auto const findings = explained({"0,0", "pci_bus_id"}, machine);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].code == "device_order.invalid");
    CHECK(findings[0].subject == "CUDA_DEVICE_ORDER");
    CHECK(findings[0].fix == "CUDA_DEVICE_ORDER=PCI_BUS_ID");
  }
}

TEST_CASE("indices of unlike GPUs in the order by speed are warned of", "[explain_visibility]") {
  for (auto order : {std::optional<std::string_view>{}, std::optional<std::string_view>{"FASTEST_FIRST"}}) {
    auto const findings = explained({"0", order}, unlike_gpus());
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].code == "device_order.unlike_gpus");
    CHECK(findings[0].subject == "CUDA_VISIBLE_DEVICES");
    CHECK(findings[0].value == "0");
    CHECK(findings[0].fix == "CUDA_DEVICE_ORDER=PCI_BUS_ID, or use UUIDs");
  }
}

TEST_CASE("the rules of MIG are named where they drop an entry", "[explain_visibility][mig]") {
  std::string const two_of_one = std::string{mig_uuid[0]} + "," + mig_uuid[1];
  auto const sibling = explained({two_of_one, std::nullopt}, mig_machine("580.1"));
  REQUIRE(sibling.size() == 1);
  CHECK(sibling[0].code == "visible_devices.same_gpu_instance");
  std::string const with_gpu = std::string{mig_uuid[0]} + "," + uuid_1;
  auto const old = explained({with_gpu, std::nullopt}, mig_machine("550.1"));
  REQUIRE(old.size() == 1);
  CHECK(old[0].code == "visible_devices.one_mig_only");
}

TEST_CASE("a measured value that ends CUDA has an error, and one that does not has none", "[explain_visibility]") {
  for (auto const& row : read_visible_devices_table(CUENV_TEST_DATA "/visible_devices_r580.tsv")) {
    INFO(cuenv::detail::printable(row.value));
    auto const findings = explained({row.value, std::nullopt}, two_h200());
    CHECK(has_error(findings) == (row.init_result != 0));
    for (Diagnostic const& finding : findings) {
      CHECK(finding.offset <= row.value.size());
      CHECK_FALSE(finding.fix.empty());
    }
  }
}

TEST_CASE("any bytes are explained without harm", "[explain_visibility]") {
  Generator generator;
  for (int i = 0; i < 3000; ++i) {
    std::string const text = i % 2 == 0 ? generator.bytes(30) : generator.text("GPU-MI5ac0/, 19", 30);
    for (auto const& machine : {two_h200(), unlike_gpus(), mig_machine("550.1"), described_machine({})}) {
      for (Diagnostic const& finding : explained({text, std::nullopt}, machine)) REQUIRE_FALSE(finding.what.empty());
    }
  }
}

TEST_CASE("behind the entry that voids the list nothing is explained", "[explain_visibility]") {
  std::string text = "0,0x";
  for (int i = 0; i < 800; ++i) text += ",0x";
  auto const findings = explained({text, std::nullopt}, two_h200());
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].code == "visible_devices.duplicate");
  CHECK(findings[0].offset == 2);
  CHECK(findings[1].code == "visible_devices.partly_read");  // why it is a duplicate
  CHECK(findings[1].offset == 2);
}

TEST_CASE("the dropped entries of a long MIG list are explained up to a hundred", "[explain_visibility]") {
  auto machine = described_machine({described_gpu(cuenv_tests::uuid_0, 6)});
  machine.gpus[0].mig_enabled = true;
  for (int i = 0; i < 2; ++i) {
    cuenv::MigInstance instance;
    instance.uuid = cuenv::Uuid{};
    instance.uuid->bytes[0] = static_cast<std::uint8_t>(i);
    instance.compute_instance = i;
    machine.gpus[0].mig.push_back(std::move(instance));
  }
  std::string text = "MIG-00";
  for (int i = 0; i < 300; ++i) text += ",MIG-01";
  CHECK(explained({text, std::nullopt}, machine).size() == 100);
}

TEST_CASE("unlike GPUs in no order that is set are told, with or without a list", "[explain_visibility]") {
  auto const findings = explained({}, unlike_gpus());
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].code == "device_order.unlike_gpus");
  CHECK(findings[0].severity == cuenv::Severity::note);
  CHECK(findings[0].subject == "CUDA_DEVICE_ORDER");  // there is no list to be about
  CHECK(findings[0].value.empty());
  CHECK(findings[0].fix == "CUDA_DEVICE_ORDER=PCI_BUS_ID");
  CHECK(explained({std::nullopt, "FASTEST_FIRST"}, unlike_gpus()).at(0).value == "FASTEST_FIRST");
  CHECK(explained({std::nullopt, "PCI_BUS_ID"}, unlike_gpus()).empty());
  CHECK(explained({}, two_h200()).empty());
}
