#include <cuenv/plan.hpp>

#include "support/catch.hpp"
#include "support/described_environment.hpp"
#include "support/described_machines.hpp"

#include <string>
#include <utility>

using namespace cuenv_tests;
using cuenv::Outcome;
using cuenv::Plan;
using cuenv::Precedence;
using cuenv::Settings;
using cuenv::VisibleDevices;

namespace {

/// The environment after the plan, "NAME=text NAME=text"; "refused: code" where the plan has an error.
std::string after(Settings const& settings, DescribedEnvironment::Map const& before, cuenv::Machine const& machine) {
  DescribedEnvironment const environment{before};
  Plan const plan = cuenv::make_plan(settings, environment, machine);
  for (cuenv::Diagnostic const& finding : plan.findings) {
    CHECK_FALSE(finding.what.empty());
    if (finding.severity == cuenv::Severity::error) return "refused: " + std::string{finding.code};
  }
  (void)cuenv::apply_assignments(environment, plan.assignments());
  for (cuenv::PlannedVariable const& variable : plan.variables) {
    CHECK(environment.get(std::string{variable.name}) == variable.result());
  }
  std::string text;
  for (auto const& [name, value] : environment.variables) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

Settings devices(VisibleDevices const& list, Precedence precedence = Precedence::keep) {
  Settings settings;
  settings.set(cuenv::visible_devices, list, precedence);
  return settings;
}

Settings order(cuenv::DeviceOrder value, Precedence precedence = Precedence::keep) {
  Settings settings;
  settings.set(cuenv::device_order, value, precedence);
  return settings;
}

Outcome outcome_of(Plan const& plan, std::string_view name) {
  for (cuenv::PlannedVariable const& variable : plan.variables) {
    if (variable.name == name) return variable.outcome;
  }
  FAIL("not planned: " << name);
  return Outcome::kept;
}

bool has_finding(Plan const& plan, std::string_view code, cuenv::Severity severity) {
  for (cuenv::Diagnostic const& finding : plan.findings) {
    if (finding.code == code && finding.severity == severity) return true;
  }
  return false;
}

constexpr auto pci = cuenv::DeviceOrder::pci_bus_id;
constexpr auto fastest = cuenv::DeviceOrder::fastest_first;

}  // namespace

TEST_CASE("a setting is applied, found already, kept back or overriding", "[plan]") {
  struct Row {
    DescribedEnvironment::Map before;
    Precedence precedence;
    Outcome outcome;
    std::string after;
  };
  Row const rows[] = {
      {{}, Precedence::keep, Outcome::applied, "4"},
      {{}, Precedence::override, Outcome::applied, "4"},
      {{{"CUDA_DEVICE_MAX_CONNECTIONS", "4"}}, Precedence::keep, Outcome::already_set, "4"},
      {{{"CUDA_DEVICE_MAX_CONNECTIONS", "4"}}, Precedence::override, Outcome::already_set, "4"},
      {{{"CUDA_DEVICE_MAX_CONNECTIONS", "16"}}, Precedence::keep, Outcome::kept, "16"},
      {{{"CUDA_DEVICE_MAX_CONNECTIONS", "16"}}, Precedence::override, Outcome::applied, "4"},
  };
  for (Row const& row : rows) {
    Settings settings;
    settings.set(cuenv::device_max_connections, 4, row.precedence);
    Plan const plan = cuenv::make_plan(settings, DescribedEnvironment{row.before}, two_h200());
    CHECK(plan.findings.empty());
    CHECK(outcome_of(plan, "CUDA_DEVICE_MAX_CONNECTIONS") == row.outcome);
    CHECK(after(settings, row.before, two_h200()) == "CUDA_DEVICE_MAX_CONNECTIONS=" + row.after);
  }
}

TEST_CASE("nothing is planned for settings with problems", "[plan]") {
  Settings settings;
  settings.set(cuenv::device_max_connections, 4).set(cuenv::cache_max_size, cuenv::gibibytes(9));
  Plan const plan = cuenv::make_plan(settings, DescribedEnvironment{}, two_h200());
  CHECK(has_error(plan.findings));
  CHECK(plan.assignments().empty());
}

TEST_CASE("a list of physical indices brings nvidia-smi's order", "[plan]") {
  auto const list = devices({cuenv::physical(1), cuenv::physical(0)});
  for (auto const& machine : {two_h200(), unlike_gpus(), cuenv::Machine{}}) {
    CHECK(after(list, {}, machine) == "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1,0");
    CHECK(after(list, {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}, machine) ==
          "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1,0");
  }
}

TEST_CASE("UUIDs, none and all bring no order", "[plan]") {
  CHECK(after(devices({cuenv::gpu("GPU-5a9c")}), {}, unlike_gpus()) == "CUDA_VISIBLE_DEVICES=GPU-5a9c");
  CHECK(after(devices(VisibleDevices::none()), {}, unlike_gpus()) == "CUDA_VISIBLE_DEVICES=-1");
  CHECK(after(devices(VisibleDevices::all()), {}, unlike_gpus()).empty());
}

TEST_CASE("the environment's order by speed under physical indices is refused unless it means the same", "[plan]") {
  auto const list = devices({cuenv::physical(1)});
  DescribedEnvironment::Map const before{{"CUDA_DEVICE_ORDER", "FASTEST_FIRST"}};
  CHECK(after(list, before, unlike_gpus()) == "refused: device_order.contradicts_list");
  CHECK(after(list, before, cuenv::Machine{}) == "refused: device_order.contradicts_list");
  CHECK(after(list, before, two_h200()) == "CUDA_DEVICE_ORDER=FASTEST_FIRST CUDA_VISIBLE_DEVICES=1");
  CHECK(after(list, {{"CUDA_DEVICE_ORDER", "pci_bus_id"}}, two_h200()) == "refused: device_order.contradicts_list");
  for (auto const& machine : {two_h200(), unlike_gpus(), cuenv::Machine{}}) {
    CHECK(after(devices({cuenv::physical(1)}, Precedence::override), before, machine) ==
          "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1");
  }
}

TEST_CASE("a kept list stays, and is already set where it means the same", "[plan]") {
  struct Row {
    char const* found;
    VisibleDevices wanted;
    Outcome outcome;
  };
  Row const rows[] = {
      {"0", {cuenv::physical(1)}, Outcome::kept},
      {"0", {cuenv::physical(0)}, Outcome::already_set},
      {" 0x", {cuenv::physical(0)}, Outcome::already_set},
      {"GPU-C07E,GPU-5a", {cuenv::physical(1), cuenv::physical(0)}, Outcome::already_set},
      {"1,0", {cuenv::physical(0), cuenv::physical(1)}, Outcome::kept},
      {"0,1", VisibleDevices::all(), Outcome::already_set},
      {"1,0", VisibleDevices::all(), Outcome::kept},
      {"", VisibleDevices::none(), Outcome::already_set},
      {"0", VisibleDevices::none(), Outcome::kept},
      {"1", {cuenv::gpu("GPU-c0")}, Outcome::already_set},
      {"0", {cuenv::gpu("GPU-c0")}, Outcome::kept},
      {"0", {cuenv::logical(0)}, Outcome::kept},
  };
  for (Row const& row : rows) {
    INFO(row.found << " / " << cuenv::format_visible_devices(row.wanted));
    DescribedEnvironment const environment{{{"CUDA_VISIBLE_DEVICES", row.found}}};
    Plan const plan = cuenv::make_plan(devices(row.wanted), environment, two_h200());
    CHECK(outcome_of(plan, "CUDA_VISIBLE_DEVICES") == row.outcome);
    CHECK(plan.assignments().empty());
  }
}

TEST_CASE("with unlike GPUs or an unknown machine a kept index is not taken for the wanted one", "[plan]") {
  DescribedEnvironment const environment{{{"CUDA_VISIBLE_DEVICES", "1"}}};
  for (auto const& machine : {unlike_gpus(), cuenv::Machine{}}) {
    Plan const plan = cuenv::make_plan(devices({cuenv::physical(1)}), environment, machine);
    CHECK(outcome_of(plan, "CUDA_VISIBLE_DEVICES") == Outcome::kept);
    CHECK(plan.assignments().empty());
  }
}

TEST_CASE("overriding replaces the list, and all removes it", "[plan]") {
  DescribedEnvironment::Map const before{{"CUDA_VISIBLE_DEVICES", "0"}};
  CHECK(after(devices({cuenv::physical(1)}, Precedence::override), before, unlike_gpus()) ==
        "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1");
  CHECK(after(devices({cuenv::gpu("GPU-c0")}, Precedence::override), before, unlike_gpus()) ==
        "CUDA_VISIBLE_DEVICES=GPU-c0");
  CHECK(after(devices(VisibleDevices::none(), Precedence::override), before, two_h200()) == "CUDA_VISIBLE_DEVICES=-1");
  CHECK(after(devices(VisibleDevices::all(), Precedence::override), before, two_h200()).empty());
  CHECK(after(devices({cuenv::logical(0)}, Precedence::override), before, two_h200()) ==
        "refused: visible_devices.logical_override");
}

TEST_CASE("a new order does not change what a kept list means", "[plan]") {
  DescribedEnvironment::Map const indices{{"CUDA_VISIBLE_DEVICES", "1"}};
  CHECK(after(order(pci), indices, two_h200()) == "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1");
  for (auto const& machine : {unlike_gpus(), cuenv::Machine{}}) {
    Plan const kept = cuenv::make_plan(order(pci), DescribedEnvironment{indices}, machine);
    CHECK(outcome_of(kept, "CUDA_DEVICE_ORDER") == Outcome::kept);
    CHECK(has_finding(kept, "device_order.under_kept_list", cuenv::Severity::warning));
    CHECK(after(order(pci), indices, machine) == "CUDA_VISIBLE_DEVICES=1");
    CHECK(after(order(pci, Precedence::override), indices, machine) == "refused: device_order.under_kept_list");
  }
  CHECK(after(order(pci), {{"CUDA_VISIBLE_DEVICES", "GPU-c0"}}, unlike_gpus()) ==
        "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=GPU-c0");
  CHECK(after(order(pci), {}, unlike_gpus()) == "CUDA_DEVICE_ORDER=PCI_BUS_ID");
  CHECK(after(order(fastest), {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}, unlike_gpus()) == "CUDA_DEVICE_ORDER=PCI_BUS_ID");
  CHECK(after(order(fastest, Precedence::override), {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}, unlike_gpus()) ==
        "CUDA_DEVICE_ORDER=FASTEST_FIRST");
}

TEST_CASE("refining chooses among what is visible, by logical index or UUID", "[plan]") {
  struct Row {
    char const* found;
    VisibleDevices wanted;
    char const* after;
  };
  Row const rows[] = {
      {"3,5,6", {cuenv::logical(2), cuenv::logical(0)}, "CUDA_VISIBLE_DEVICES=6,3"},
      {" 3x, +5", {cuenv::logical(1)}, "CUDA_VISIBLE_DEVICES=5"},
      {"3,9,5", {cuenv::logical(0)}, "CUDA_VISIBLE_DEVICES=3"},
      {"3,9,5", {cuenv::logical(1)}, "refused: visible_devices.no_such_logical"},
      {"3,3", {cuenv::logical(0)}, "refused: visible_devices.no_such_logical"},
      {"-1", {cuenv::logical(0)}, "refused: visible_devices.no_such_logical"},
      {"GPU-03,GPU-05", {cuenv::logical(1)}, "CUDA_VISIBLE_DEVICES=GPU-05"},
      {"3,5", {cuenv::gpu("GPU-05")}, "CUDA_VISIBLE_DEVICES=GPU-05"},
      {"GPU-03,GPU-05", {cuenv::gpu("GPU-05"), cuenv::gpu("GPU-03")}, "CUDA_VISIBLE_DEVICES=GPU-05,GPU-03"},
      {"3,5", {cuenv::gpu("GPU-04")}, "refused: visible_devices.not_visible"},
      {"3,5", {cuenv::gpu("GPU-ff")}, "refused: visible_devices.not_visible"},
      {"3,5", {cuenv::physical(3)}, "refused: visible_devices.physical_refine"},
      {"3,5", VisibleDevices::none(), "CUDA_VISIBLE_DEVICES=-1"},
      {"3,5", VisibleDevices::all(), "CUDA_VISIBLE_DEVICES=3,5"},  // all of what is visible
  };
  for (Row const& row : rows) {
    INFO(row.found << " / " << cuenv::format_visible_devices(row.wanted));
    CHECK(after(devices(row.wanted, Precedence::refine), {{"CUDA_VISIBLE_DEVICES", row.found}}, alike_gpus(8)) ==
          row.after);
  }
}

TEST_CASE("refining twice selects among what was selected", "[plan]") {
  DescribedEnvironment const environment{{{"CUDA_VISIBLE_DEVICES", "2,4,6"}}};
  for (auto const& [list, expected] :
       {std::pair{VisibleDevices{cuenv::logical(1), cuenv::logical(2)}, "4,6"},
        std::pair{VisibleDevices{cuenv::logical(1)}, "6"}, std::pair{VisibleDevices{cuenv::logical(0)}, "6"}}) {
    Plan const plan = cuenv::make_plan(devices(list, Precedence::refine), environment, alike_gpus(8));
    CHECK_FALSE(has_error(plan.findings));
    (void)cuenv::apply_assignments(environment, plan.assignments());
    CHECK(environment.get("CUDA_VISIBLE_DEVICES") == expected);
  }
}

TEST_CASE("refining where nothing is set chooses among all", "[plan]") {
  CHECK(after(devices({cuenv::logical(1)}, Precedence::refine), {}, two_h200()) == "CUDA_VISIBLE_DEVICES=1");
  CHECK(after(devices({cuenv::logical(2)}, Precedence::refine), {}, two_h200()) ==
        "refused: visible_devices.no_such_logical");
  CHECK(after(devices({cuenv::physical(1)}, Precedence::refine), {}, two_h200()) ==
        "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1");
  for (auto const& machine : {two_h200(), unlike_gpus(), cuenv::Machine{}}) {
    CHECK(after(devices({cuenv::gpu("GPU-c07e")}, Precedence::refine), {}, machine) == "CUDA_VISIBLE_DEVICES=GPU-c07e");
  }
  CHECK(after(devices(VisibleDevices::all(), Precedence::refine), {}, two_h200()).empty());
}

TEST_CASE("refining what is not known is refused, not guessed", "[plan]") {
  DescribedEnvironment::Map const before{{"CUDA_VISIBLE_DEVICES", "1,0"}};
  CHECK(after(devices({cuenv::logical(0)}, Precedence::refine), before, cuenv::Machine{}) ==
        "refused: visible_devices.cannot_refine");
  CHECK(after(devices({cuenv::gpu("GPU-c07e")}, Precedence::refine), before, cuenv::Machine{}) ==
        "refused: visible_devices.cannot_refine");
  CHECK(after(devices({cuenv::gpu("GPU-c07e")}, Precedence::refine), before, unlike_gpus()) ==
        "refused: visible_devices.cannot_refine");
  auto const asleep = described_machine({described_gpu("", 1), described_gpu(uuid_1, 2)});
  CHECK(after(devices({cuenv::gpu("GPU-c07e")}, Precedence::refine), before, asleep) ==
        "refused: visible_devices.cannot_refine");
  CHECK(after(devices({cuenv::logical(0)}, Precedence::refine), before, unlike_gpus()) == "CUDA_VISIBLE_DEVICES=1");
}

TEST_CASE("an index chosen by refining keeps the order in which it counts", "[plan]") {
  DescribedEnvironment::Map const before{{"CUDA_VISIBLE_DEVICES", "1,0"}};
  auto settings = devices({cuenv::logical(0)}, Precedence::refine);
  settings.set(cuenv::device_order, pci);
  CHECK(after(settings, before, unlike_gpus()) == "CUDA_VISIBLE_DEVICES=1");
  CHECK(after(settings, before, two_h200()) == "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1");
  settings.set(cuenv::device_order, pci, Precedence::override);
  CHECK(after(settings, before, unlike_gpus()) == "refused: device_order.under_kept_list");
}

TEST_CASE("refining passes over MIG instances that do not count", "[plan][mig]") {
  std::string const list = std::string{mig_uuid[0]} + "," + mig_uuid[1] + "," + mig_uuid[2];
  auto const second = devices({cuenv::logical(1)}, Precedence::refine);
  CHECK(after(second, {{"CUDA_VISIBLE_DEVICES", list}}, mig_machine("580.1")) ==
        std::string{"CUDA_VISIBLE_DEVICES="} + mig_uuid[2]);
  CHECK(after(second, {{"CUDA_VISIBLE_DEVICES", list}}, mig_machine("550.1")) ==
        "refused: visible_devices.no_such_logical");
}

TEST_CASE("a value of the environment that stays and is misread is a warning", "[plan]") {
  DescribedEnvironment const environment{
      {{"CUDA_LAUNCH_BLOCKING", "true"}, {"CUDA_CACHE_MAXSIZE", "1G"}, {"CUDA_DEVICE_MAX_CONNECTIONS", "16"}}};
  Plan const plan = cuenv::make_plan({}, environment, two_h200());
  REQUIRE(plan.findings.size() == 2);
  for (cuenv::Diagnostic const& finding : plan.findings) {
    CHECK(finding.code == "environment.misread");
    CHECK(finding.severity == cuenv::Severity::warning);
    CHECK_FALSE(finding.fix.empty());
  }
  CHECK(plan.assignments().empty());

  Settings settings;
  settings.set(cuenv::launch_blocking, true).set(cuenv::cache_max_size, cuenv::gibibytes(1), Precedence::override);
  Plan const changed = cuenv::make_plan(settings, environment, two_h200());
  REQUIRE(changed.findings.size() == 1);  // the one that is kept
  CHECK(changed.findings[0].subject == "CUDA_LAUNCH_BLOCKING");
  CHECK(outcome_of(changed, "CUDA_LAUNCH_BLOCKING") == Outcome::kept);
}

TEST_CASE("an order that ends CUDA is never kept without a word", "[plan]") {
  DescribedEnvironment const environment{{{"CUDA_DEVICE_ORDER", "pci_bus_id"}}};
  for (Settings const& settings : {Settings{}, order(pci)}) {
    Plan const plan = cuenv::make_plan(settings, environment, two_h200());
    REQUIRE(plan.findings.size() == 1);
    CHECK(plan.findings[0].subject == "CUDA_DEVICE_ORDER");
    CHECK(plan.findings[0].fix == "write PCI_BUS_ID");
  }
  CHECK(cuenv::make_plan(order(pci, Precedence::override), environment, two_h200()).findings.empty());
}

TEST_CASE("ids that refined nothing are in force the second time, whatever is known of the machine", "[plan]") {
  Settings const settings = devices({cuenv::gpu("GPU-5a9c1f04")}, Precedence::refine);
  cuenv::Machine unlike = two_h200();
  unlike.gpus[1].name = "another";
  for (cuenv::Machine const& machine : {cuenv::Machine{}, two_h200(), unlike}) {
    DescribedEnvironment environment;
    environment.start = DescribedEnvironment::Map{};
    cuenv::apply_assignments(environment, cuenv::make_plan(settings, environment, machine).assignments());
    CHECK(environment.get("CUDA_VISIBLE_DEVICES") == "GPU-5a9c1f04");
    Plan const again = cuenv::make_plan(settings, environment, machine);
    CHECK(to_string(again.findings).empty());
    REQUIRE(again.variables.size() == 1);
    CHECK(again.variables[0].outcome == Outcome::already_set);
  }
}

TEST_CASE("physical indices that refined nothing are in force the second time", "[plan]") {
  Settings const settings = devices({cuenv::physical(1)}, Precedence::refine);
  DescribedEnvironment environment;
  environment.start = DescribedEnvironment::Map{};
  cuenv::apply_assignments(environment, cuenv::make_plan(settings, environment, two_h200()).assignments());
  CHECK(environment.get("CUDA_VISIBLE_DEVICES") == "1");
  Plan const again = cuenv::make_plan(settings, environment, two_h200());
  CHECK(again.findings.empty());
  CHECK(again.assignments().empty());

  // The user's own list is refused as before, and so are other indices.
  environment.start = environment.variables;
  CHECK(has_error(cuenv::make_plan(settings, environment, two_h200()).findings));
  environment.start = DescribedEnvironment::Map{};
  CHECK(
      has_error(cuenv::make_plan(devices({cuenv::physical(0)}, Precedence::refine), environment, two_h200()).findings));
}

TEST_CASE("physical indices choose the same GPUs for the client of an MPS daemon", "[plan]") {
  cuenv::Machine machine = alike_gpus(4);
  machine.gpus[0].hidden_by_mps = true;
  machine.gpus[2].hidden_by_mps = true;
  CHECK(after(devices({cuenv::physical(3)}), {}, machine) == "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1");
  CHECK(after(devices({cuenv::physical(3), cuenv::physical(1)}), {}, machine) ==
        "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1,0");
  CHECK(after(devices({cuenv::physical(2)}), {}, machine) == "refused: visible_devices.hidden_by_mps");
  CHECK(after(devices({cuenv::physical(4)}), {}, machine) == "refused: visible_devices.out_of_range");
  CHECK(after(devices({cuenv::gpu("GPU-02")}), {}, machine) == "refused: visible_devices.no_such_uuid");

  // A value of the environment that stays: the same GPU by the daemon's count, and another.
  for (auto const& [visible, outcome] : {std::pair{"1", Outcome::already_set}, std::pair{"0", Outcome::kept}}) {
    DescribedEnvironment const environment{{{"CUDA_VISIBLE_DEVICES", visible}}};
    Plan const plan = cuenv::make_plan(devices({cuenv::physical(3)}), environment, machine);
    CHECK(outcome_of(plan, "CUDA_VISIBLE_DEVICES") == outcome);
  }
  // One that the daemon hides is no reason to change what stays.
  DescribedEnvironment const environment{{{"CUDA_VISIBLE_DEVICES", "0"}}};
  Plan const plan = cuenv::make_plan(devices({cuenv::physical(0)}), environment, machine);
  CHECK(outcome_of(plan, "CUDA_VISIBLE_DEVICES") == Outcome::kept);
  CHECK_FALSE(has_error(plan.findings));
}
