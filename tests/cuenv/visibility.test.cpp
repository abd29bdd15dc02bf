#include <cuenv/explain_visibility.hpp>
#include <cuenv/visibility.hpp>
#include <cuenv/visible_devices.hpp>

#include "support/catch.hpp"
#include "support/described_machines.hpp"
#include "support/generated_text.hpp"
#include "support/temporary_folder.hpp"
#include "support/visible_devices_table.hpp"

#include <string>
#include <vector>

using namespace cuenv_tests;
using cuenv::Diagnostics;
using cuenv::DropReason;
using cuenv::Visibility;
using cuenv::VisibilityVariables;

namespace {

Visibility resolve(std::string_view visible, cuenv::Machine const& machine,
                   std::optional<std::string_view> order = std::nullopt) {
  return cuenv::resolve_visibility({visible, order}, machine);
}

/// "0 1", "?" for an unknown GPU, "0:2" for the MIG instance at position 2.
std::string shown(Visibility const& visibility) {
  std::string text;
  for (auto const& device : visibility.devices) {
    text += text.empty() ? "" : " ";
    text += device.physical ? std::to_string(device.physical->value) : "?";
    if (device.mig) text += ":" + std::to_string(*device.mig);
  }
  return text;
}

}  // namespace

TEST_CASE("all measured values of CUDA_VISIBLE_DEVICES come out as on the driver", "[visibility]") {
  REQUIRE(read_visible_devices_table(CUENV_TEST_DATA "/visible_devices_r580.tsv").size() == 508);
  for (std::string const& file : visible_devices_tables(CUENV_TEST_DATA)) {
    cuenv::Machine const machine = read_table_machine(file);
    auto const table = read_visible_devices_table(file);
    REQUIRE(!table.empty());
    for (VisibleDevicesCase const& row : table) {
      INFO(file + ": " + cuenv::detail::printable(row.value) + " in the order " +
           row.order.value_or("that is not set"));
      Visibility const visibility =
          resolve(row.value, machine, row.order ? std::optional<std::string_view>{*row.order} : std::nullopt);
      std::vector<int> physical;
      for (auto const& device : visibility.devices) {
        REQUIRE(device.physical);
        physical.push_back(device.physical->value);
      }
      CHECK(visibility.known);
      CHECK_FALSE(visibility.documented_only);
      CHECK(visibility.cu_init == row.init_result);
      CHECK(physical == row.physical);
      if (!visibility.order_is_invalid) CHECK(visibility.error.has_value() == (row.init_result != 0));
    }
  }
}

TEST_CASE("an order that is too long counts as not set", "[visibility]") {
  // Measured on driver 580 by bisection, CUDA_VISIBLE_DEVICES not set.
  for (std::string const& word : {std::string(1023, 'x'), "PCI_BUS_ID" + std::string(1013, ' ')}) {
    VisibilityVariables variables;
    variables.order = word;
    CHECK(resolve_visibility(variables, two_h200()).cu_init == 101);
    std::string const longer = word + " ";
    variables.order = longer;
    Visibility const ignored = resolve_visibility(variables, two_h200());
    CHECK(ignored.cu_init == 0);
    CHECK(ignored.order_is_ignored);
    CHECK(explain(ignored, variables, two_h200()).front().code == "device_order.too_long");
  }
}

TEST_CASE("a list that is too long is explained, and refused as a setting", "[visibility]") {
  std::string const list = "GPU-" + std::string(3000, '-');
  VisibilityVariables variables;
  variables.visible = list;
  Visibility const ignored = resolve_visibility(variables, two_h200());
  CHECK(ignored.devices.size() == 2);
  auto const findings = explain(ignored, variables, two_h200());
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].code == "visible_devices.too_long");
  Diagnostics problems;
  CHECK_FALSE(cuenv::parse_visible_devices(list, problems));
  CHECK(problems.front().code == "visible_devices.too_long");
  std::string sixty_four;  // as many UUIDs as a machine can have GPUs do fit
  for (int i = 0; i < 64; ++i) {
    sixty_four += (i == 0 ? "GPU-" : ",GPU-") + std::to_string(10 + i) + "9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b";
  }
  problems.clear();
  CHECK(cuenv::parse_visible_devices(sixty_four, problems));
}

TEST_CASE("a measured table is read with its GPUs and orders, and a simulated one is refused", "[visibility]") {
  TemporaryFolder const folder;
  std::string const text =
      "# Driver 570.1, CUDA 12.8\n#   GPU 0: GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b at 0000:00:06.0\n"
      "\"0,\\t1\"\t0\t0,1\t\"PCI_BUS_ID\"\n\"0\"\t101\t-\t\"\"\n\"2\"\t100\t-\n";
  folder.write("visible_devices_x.tsv", text);
  folder.write("other.tsv", text);
  std::string const file = (folder.path / "visible_devices_x.tsv").string();
  CHECK(visible_devices_tables(folder.path.string()) == std::vector<std::string>{file});
  auto const machine = read_table_machine(file);
  REQUIRE(machine.gpus.size() == 1);
  CHECK(machine.driver_branch() == 570);
  CHECK("GPU-" + to_string(*machine.gpus[0].uuid) == uuid_0);
  auto const table = read_visible_devices_table(file);
  REQUIRE(table.size() == 3);
  CHECK(table[0].value == "0,\t1");
  CHECK(table[0].order == "PCI_BUS_ID");
  CHECK(table[1].order == "");
  CHECK_FALSE(table[2].order);
  folder.write("visible_devices_y.tsv", "# SIMULATED: nothing\n" + text);
  CHECK_THROWS(read_table_machine((folder.path / "visible_devices_y.tsv").string()));
}

TEST_CASE("a dropped entry has its place and its reason", "[visibility]") {
  struct Row {
    char const* text;
    std::size_t offset;
    DropReason reason;
  };
  Row const rows[] = {
      {"0,,1", 2, DropReason::empty},
      {"0,", 2, DropReason::empty},
      {"", 0, DropReason::empty},
      {"0, ,1", 2, DropReason::empty},
      {"0,x", 2, DropReason::not_a_number},
      {"all", 0, DropReason::not_a_number},
      {" GPU-5a9c", 0, DropReason::not_a_number},
      {"0,-1,1", 2, DropReason::negative},
      {"4294967295", 0, DropReason::negative},
      {"1,9,0", 2, DropReason::out_of_range},
      {"GPU-", 0, DropReason::bare_tag},
      {"GPU-5a9c,MIG-", 9, DropReason::bare_tag},
      {"GPU-dead", 0, DropReason::no_such_uuid},
      {"GPU-5a9c,1", 9, DropReason::other_kind},
      {"1,GPU-5a9c", 2, DropReason::other_kind},
  };
  for (Row const& row : rows) {
    INFO(row.text);
    Visibility const visibility = resolve(row.text, two_h200());
    REQUIRE_FALSE(visibility.dropped.empty());
    CHECK(visibility.dropped[0].offset == row.offset);
    CHECK(to_string(visibility.dropped[0].reason) == to_string(row.reason));
    for (std::size_t i = 1; i < visibility.dropped.size(); ++i) {
      CHECK(visibility.dropped[i].reason == DropReason::after_the_end);
    }
  }
}

TEST_CASE("a repeat voids the list, a bad entry before it saves the rest", "[visibility]") {
  auto const four = alike_gpus(4);
  auto const repeat = resolve("0,1,2,3,0", four);
  CHECK(repeat.cu_init == 101);
  REQUIRE(repeat.error);
  CHECK(repeat.error->offset == 8);
  CHECK(repeat.error->entry == "0");
  CHECK(repeat.devices.empty());
  CHECK(shown(resolve("0,9,0", four)) == "0");
  CHECK(shown(resolve("0,1,9,2,3", four)) == "0 1");
  CHECK(resolve("0,1,9,2,3", four).dropped.size() == 3);
  CHECK(resolve("0,0,9", four).cu_init == 101);
  CHECK(resolve("4", four).cu_init == 100);
}

TEST_CASE("an id that begins two UUIDs is ambiguous until it has enough digits", "[visibility]") {
  auto const machine = described_machine({described_gpu("GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b", 1),
                                          described_gpu("GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5c", 2)});
  auto const ambiguous = resolve("GPU-5A9C,GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5c", machine);
  CHECK(ambiguous.cu_init == 100);
  REQUIRE(ambiguous.dropped.size() == 2);
  CHECK(ambiguous.dropped[0].reason == DropReason::ambiguous_uuid);
  CHECK(shown(resolve("GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5c", machine)) == "1");
}

TEST_CASE("without a value every GPU is visible, and a machine without GPUs has no device", "[visibility]") {
  CHECK(shown(cuenv::resolve_visibility({}, two_h200())) == "0 1");
  auto const empty = described_machine({});
  CHECK(cuenv::resolve_visibility({}, empty).cu_init == 100);
  for (char const* text : {"0", "", "-1", "GPU-5a9c"}) {
    CHECK(resolve(text, empty).cu_init == 100);
    CHECK(resolve(text, empty).devices.empty());
  }
}

TEST_CASE("an order that is not one of the two words ends CUDA", "[visibility]") {
  for (char const* order : {"pci_bus_id", " PCI_BUS_ID", "PCI_BUS_ID ", "foo", ""}) {
    INFO(order);
    auto const visibility = resolve("0", two_h200(), order);
    CHECK(visibility.order_is_invalid);
    CHECK(visibility.cu_init == 101);
    CHECK(visibility.devices.empty());
    CHECK(resolve("0", cuenv::Machine{}, order).order_is_invalid);
  }
  CHECK(shown(resolve("1,0", two_h200(), "PCI_BUS_ID")) == "1 0");
  CHECK(shown(resolve("1,0", two_h200(), "FASTEST_FIRST")) == "1 0");
}

TEST_CASE("with unlike GPUs an index names a GPU only in the order of the bus", "[visibility]") {
  auto const machine = unlike_gpus();
  for (auto order : {std::optional<std::string_view>{}, std::optional<std::string_view>{"FASTEST_FIRST"}}) {
    auto const visibility = resolve("1,0", machine, order);
    CHECK(visibility.known);
    CHECK(visibility.documented_only);
    CHECK(visibility.cu_init == 0);
    CHECK(shown(visibility) == "? ?");
    CHECK(resolve("0,0", machine, order).cu_init == 101);  // which GPU it is does not matter for that
  }
  CHECK(shown(resolve("1,0", machine, "PCI_BUS_ID")) == "1 0");
  CHECK(shown(resolve("GPU-c0,GPU-5a", machine)) == "1 0");
}

TEST_CASE("what the machine does not tell is not guessed", "[visibility]") {
  CHECK_FALSE(resolve("0", cuenv::Machine{}).known);
  CHECK_FALSE(cuenv::resolve_visibility({}, cuenv::Machine{}).known);
  auto const asleep = described_machine({described_gpu("", 1), described_gpu(uuid_1, 2)});
  CHECK_FALSE(resolve("GPU-c07e", asleep).known);
  CHECK_FALSE(resolve("GPU-c07e", asleep).reason_unknown.empty());
  CHECK(shown(resolve("1,0", asleep)) == "1 0");
}

TEST_CASE("MIG from driver 570: one compute instance of each GPU instance, whole GPUs beside them",
          "[visibility][mig]") {
  auto const machine = mig_machine("580.159.04");
  auto const unset = cuenv::resolve_visibility({}, machine);
  CHECK(unset.documented_only);
  CHECK(resolve("0", machine, "PCI_BUS_ID").documented_only);
  CHECK(shown(cuenv::resolve_visibility({std::nullopt, "PCI_BUS_ID"}, machine)) == "0:0 0:2 1");
  CHECK(shown(resolve("2,1", machine, "PCI_BUS_ID")) == "1 0:2");

  std::string const first = mig_uuid[0];
  std::string const sibling = mig_uuid[1];
  std::string const other = mig_uuid[2];
  CHECK(shown(resolve(first + "," + other, machine)) == "0:0 0:2");
  CHECK(shown(resolve(other + "," + uuid_1, machine)) == "0:2 1");
  auto const limited = resolve(first + "," + sibling + "," + other, machine);
  CHECK(shown(limited) == "0:0 0:2");
  REQUIRE(limited.dropped.size() == 1);
  CHECK(limited.dropped[0].reason == DropReason::same_gpu_instance);
  CHECK(limited.dropped[0].offset == first.size() + 1);
  CHECK(resolve(first + "," + first, machine).cu_init == 101);
  CHECK(resolve("MIG-4", machine).cu_init == 100);
}

TEST_CASE("MIG before driver 570: one instance, and no whole GPU beside it", "[visibility][mig]") {
  auto const machine = mig_machine("550.54.15");
  CHECK(shown(cuenv::resolve_visibility({std::nullopt, "PCI_BUS_ID"}, machine)) == "0:0");
  std::string const first = mig_uuid[0];
  std::string const other = mig_uuid[2];
  for (std::string const& text : {first + "," + other, first + "," + uuid_1}) {
    INFO(text);
    auto const visibility = resolve(text, machine);
    CHECK(shown(visibility) == "0:0");
    REQUIRE(visibility.dropped.size() == 1);
    CHECK(visibility.dropped[0].reason == DropReason::one_mig_only);
    CHECK(visibility.documented_only);
  }
  CHECK(shown(resolve(other, machine)) == "0:2");
}

TEST_CASE("the older MIG form names the GPU and both instances", "[visibility][mig]") {
  auto const machine = mig_machine("580.159.04");
  std::string const form = std::string{"MIG-"} + uuid_0;
  CHECK(shown(resolve(form + "/1/1", machine)) == "0:1");
  CHECK(shown(resolve(form + "/2/0", machine)) == "0:2");
  for (char const* bad : {"/3/0", "/1/2", "/1", "", "/x/0", "/1/0x"})
    CHECK(resolve(form + bad, machine).cu_init == 100);
  CHECK(resolve(form + "/1/0", two_h200()).cu_init == 100);  // measured with MIG off
  CHECK(shown(resolve("MIG-" + std::string{uuid_1}.substr(4), two_h200())) == "1");
}

TEST_CASE("any bytes give devices of the machine and a consistent answer", "[visibility]") {
  Generator generator;
  cuenv::Machine const machines[] = {two_h200(), unlike_gpus(), mig_machine("550.1"), mig_machine("580.1"),
                                     described_machine({})};
  for (int i = 0; i < 5000; ++i) {
    std::string const text = i % 3 == 0   ? generator.bytes(40)
                             : i % 3 == 1 ? generator.text("0123,- +", 12)
                                          : generator.text("GPU-MI5ac0/,", 30);
    INFO(cuenv::detail::printable(text));
    for (auto const& machine : machines) {
      auto const visibility = resolve(text, machine);
      bool const code_fits = visibility.cu_init == 0 ? !visibility.devices.empty()
                                                     : visibility.devices.empty() && visibility.error.has_value();
      REQUIRE(code_fits);
      for (auto const& dropped : visibility.dropped) {
        REQUIRE(std::string_view{text}.substr(dropped.offset, dropped.entry.size()) == dropped.entry);
      }
    }
  }
}

TEST_CASE("the longest list of repeats is void without keeping them", "[visibility]") {
  std::string text = "1,0";
  for (int i = 0; text.size() + 3 <= cuenv::longest_device_list; ++i) text += i % 2 == 0 ? ",0x" : ",1";
  auto const visibility = cuenv::resolve_visibility({text, std::nullopt}, cuenv_tests::two_h200());
  CHECK(visibility.cu_init == 101);
  CHECK(visibility.devices.empty());
  CHECK(visibility.dropped.empty());
  REQUIRE(visibility.error);
  CHECK(visibility.error->offset == 4);
}
