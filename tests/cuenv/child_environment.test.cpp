#include <cuenv/child_environment.hpp>

#include "support/catch.hpp"
#include "support/described_environment.hpp"
#include "support/described_machines.hpp"

#include <string>
#include <vector>

using cuenv::Precedence;
using cuenv::Settings;
using cuenv_tests::DescribedEnvironment;
using Lines = std::vector<std::string>;

TEST_CASE("a child's environment has the settings, and the own one is not touched", "[child_environment]") {
  DescribedEnvironment const own{{{"CUDA_VISIBLE_DEVICES", "1,0"}, {"EMPTY", ""}, {"HOME", "/home/user=x"}}};
  auto const before = own.variables;
  Settings settings;
  settings.set(cuenv::visible_devices, {cuenv::logical(1)}, Precedence::refine).set(cuenv::launch_blocking, true);
  CHECK(environment_for(settings, own, cuenv_tests::two_h200()) ==
        Lines{"CUDA_VISIBLE_DEVICES=0", "EMPTY=", "HOME=/home/user=x", "CUDA_LAUNCH_BLOCKING=1"});
  CHECK(own.variables == before);
}

TEST_CASE("a child's environment lacks what a setting removes", "[child_environment]") {
  DescribedEnvironment const own{{{"CUDA_VISIBLE_DEVICES", "1"}, {"HOME", "/"}}};
  Settings settings;
  settings.set(cuenv::visible_devices, cuenv::VisibleDevices::all(), Precedence::override);
  CHECK(environment_for(settings, own, cuenv_tests::two_h200()) == Lines{"HOME=/"});
}

TEST_CASE("a child keeps what its parent keeps, and the findings say what is odd", "[child_environment]") {
  DescribedEnvironment const own{{{"CUDA_LAUNCH_BLOCKING", "yes"}}};
  Settings settings;
  settings.set(cuenv::launch_blocking, true);
  cuenv::Diagnostics findings;
  CHECK(environment_for(settings, own, cuenv_tests::two_h200(), &findings) == Lines{"CUDA_LAUNCH_BLOCKING=yes"});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].subject == "CUDA_LAUNCH_BLOCKING");
}

TEST_CASE("a child is refused what a session is refused", "[child_environment]") {
  DescribedEnvironment const own;
  Settings settings;
  settings.set(cuenv::visible_devices, {cuenv::logical(2)}, Precedence::refine);
  CHECK_THROWS_AS(environment_for(settings, own, cuenv_tests::two_h200()), cuenv::SettingsError);
}

TEST_CASE("a child is refused a value that ends CUDA in it, and keeps what may be meant", "[child_environment]") {
  auto const thrown = [](Settings const& settings, DescribedEnvironment::Map const& variables,
                         cuenv::Machine const& machine) -> std::string {
    DescribedEnvironment const own{variables};
    try {
      (void)environment_for(settings, own, machine);
    } catch (cuenv::SettingsError const& error) {
      return error.what();
    }
    return {};
  };
  for (auto const& machine : {cuenv_tests::two_h200(), cuenv::Machine{}}) {
    for (char const* order : {"pci_bus_id", "", "PCI_BUS_ID "}) {
      CHECK_THAT(thrown({}, {{"CUDA_DEVICE_ORDER", order}}, machine),
                 ContainsSubstring("it must be exactly PCI_BUS_ID or FASTEST_FIRST") &&
                     ContainsSubstring("cuInit fails with 101") && ContainsSubstring("write PCI_BUS_ID"));
    }
    Settings settings;
    settings.set(cuenv::device_order, cuenv::DeviceOrder::pci_bus_id);
    CHECK_THAT(thrown(settings, {{"CUDA_DEVICE_ORDER", "pci"}}, machine), ContainsSubstring("write PCI_BUS_ID"));
    Settings replaces;
    replaces.set(cuenv::device_order, cuenv::DeviceOrder::pci_bus_id, Precedence::override);
    CHECK(thrown(replaces, {{"CUDA_DEVICE_ORDER", "pci"}}, machine).empty());
  }
  CHECK_THAT(thrown({}, {{"CUDA_VISIBLE_DEVICES", "0,0"}}, cuenv_tests::two_h200()),
             ContainsSubstring("an earlier entry has selected already"));
  CHECK(thrown({}, {{"CUDA_VISIBLE_DEVICES", "0,0"}}, {}).empty());  // nobody knows what 0 is
  for (char const* hidden : {"", "-1", "9"}) {
    CHECK(thrown({}, {{"CUDA_VISIBLE_DEVICES", hidden}}, cuenv_tests::two_h200()).empty());
  }
}

TEST_CASE("pointers end with a null pointer", "[child_environment]") {
  Lines texts{"A=1", "B="};
  auto const pointers = cuenv::pointers_to(texts);
  REQUIRE(pointers.size() == 3);
  CHECK(pointers[1] == std::string{"B="});
  CHECK(pointers[2] == nullptr);
  texts.clear();
  CHECK(cuenv::pointers_to(texts).size() == 1);
}

TEST_CASE("a name that is there twice is set once and removed altogether", "[child_environment]") {
  cuenv::detail::ListedEnvironment const child{{{"A", "1"}, {"B", "2"}, {"A", "3"}}};
  CHECK(child.set({"A", "4"}) == 0);
  CHECK(child.lines() == Lines{"A=4", "B=2"});
  cuenv::detail::ListedEnvironment const other{{{"A", "1"}, {"B", "2"}, {"A", "3"}}};
  CHECK(other.set({"A", std::nullopt}) == 0);
  CHECK(other.get("A") == std::nullopt);
  CHECK(other.lines() == Lines{"B=2"});
}
