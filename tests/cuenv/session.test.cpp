#include <cuenv/session.hpp>

#include "support/catch.hpp"
#include "support/described_system.hpp"

#include <filesystem>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using cuenv::logical;
using cuenv::physical;
using cuenv::Precedence;
using cuenv::Session;
using cuenv::Settings;
using cuenv_tests::DescribedSystem;
using cuenv_tests::start_cuda_elsewhere;
using Variables = std::map<std::string, std::string>;

/// The error of a session that must be refused. The environment must be as it was.
template <class E>
E refused(DescribedSystem const& here, Settings const& settings = {},
          cuenv::SessionOptions options = cuenv::SessionOptions::none) {
  Variables const before = here.environment.variables;
  try {
    Session const session{settings, options, here.system};
  } catch (E const& error) {
    CHECK(here.environment.variables == before);
    return error;
  } catch (std::exception const& error) {
    FAIL("an error of another kind: " << error.what());
  }
  FAIL("no error");
  throw 0;  // not reached
}

bool names(cuenv::Error const& error, std::string const& subject) {
  for (auto const& finding : error.diagnostics()) {
    if (finding.subject == subject) return true;
  }
  return false;
}

std::string codes(cuenv::Diagnostics const& findings) {
  std::string text;
  for (auto const& finding : findings) text += std::string{finding.code} + " ";
  return text;
}

std::vector<int> physical_indices(Session const& session) {
  std::vector<int> list;
  for (auto const& device : session.devices()) list.push_back(device.physical ? device.physical->value : -1);
  return list;
}

Settings swapped_and_more() {
  Settings settings;
  settings.set(cuenv::visible_devices, {physical(1), physical(0)})
      .set(cuenv::cache_max_size, cuenv::gibibytes(2))
      .set(cuenv::device_max_connections, 32);
  return settings;
}

simulated::Machine two_h200() { return simulated::shipped_machine("two_h200"); }

template <auto member>
cuenv::DriverLibrary open_without(cuenv::DriverOpen how) {
  auto library = simulated::open_driver(how);
  library.api.*member = nullptr;
  return library;
}

}  // namespace

// Starting ------------------------------------------------------------------------------------------------------------

TEST_CASE("a session without settings changes nothing and knows every device", "[session]") {
  DescribedSystem here;
  Session const session{{}, cuenv::SessionOptions::none, here.system};
  CHECK(here.environment.variables.empty());
  REQUIRE(session.devices().size() == 2);
  CHECK(to_string(session.devices()[1]) ==
        "logical 1  physical 1  GPU-c07e88d2-91ab-4f3c-a5d0-7e6f5d4c3b2a  0000:00:07.0  9.0  Simulated NVIDIA H200");
  CHECK(session.absence() == nullptr);
  CHECK_FALSE(session.report().attached);
  CHECK(session.report().findings.empty());
  CHECK(simulated::state().init_calls == 1);
  CHECK(simulated::state().contexts_made == 0);
}

TEST_CASE("settings are in the environment before the driver reads it, and stay after the session", "[session]") {
  DescribedSystem here;
  here.environment.variables["HOME"] = "/home/user";
  {
    Session const session{swapped_and_more(), cuenv::SessionOptions::none, here.system};
    CHECK(physical_indices(session) == std::vector<int>{1, 0});
    CHECK(session.map().find(physical(0)) == std::vector<cuenv::LogicalIndex>{logical(1)});
  }
  CHECK(here.environment.variables == Variables{{"HOME", "/home/user"},
                                                {"CUDA_VISIBLE_DEVICES", "1,0"},
                                                {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                                                {"CUDA_CACHE_MAXSIZE", "2147483648"},
                                                {"CUDA_DEVICE_MAX_CONNECTIONS", "32"}});
  CHECK(simulated::state().max_connections == 32);
  CHECK(simulated::state().cache_max_size == 2147483648U);
}

TEST_CASE("physical indices are nvidia-smi's for reduced and reordered lists", "[session]") {
  for (auto const& [value, expected] : std::vector<std::pair<std::string, std::vector<int>>>{
           {"1", {1}}, {"1,0", {1, 0}}, {"GPU-c07e", {1}}, {"GPU-c07e,GPU-5a9c", {1, 0}}, {"0,7,1", {0}}}) {
    INFO(value);
    DescribedSystem here;
    here.environment.variables["CUDA_VISIBLE_DEVICES"] = value;
    Session const session{{}, cuenv::SessionOptions::none, here.system};
    CHECK(physical_indices(session) == expected);
  }
}

TEST_CASE("an excluded GPU and one without a device node have no physical index", "[session]") {
  simulated::Machine machine = two_h200();
  machine.gpus[0].excluded = true;
  DescribedSystem here{machine};
  Session const session{{}, cuenv::SessionOptions::none, here.system};
  CHECK(physical_indices(session) == std::vector<int>{0});
  CHECK(session.devices()[0].pci == *cuenv::parse_pci_address("0000:00:07.0"));
}

TEST_CASE("with unlike GPUs the order by speed is exact once the driver has been asked", "[session]") {
  DescribedSystem here{simulated::shipped_machine("rtx_3090_4070")};
  Session const session{{}, cuenv::SessionOptions::none, here.system};
  CHECK(physical_indices(session) == std::vector<int>{1, 0});
  CHECK(session.map().find(physical(1)) == std::vector<cuenv::LogicalIndex>{logical(0)});
  CHECK(session.devices()[0].compute_capability == cuenv::ComputeCapability{8, 9});
}

TEST_CASE("with unlike GPUs physical indices bring the order of the bus", "[session]") {
  DescribedSystem here{simulated::shipped_machine("rtx_3090_4070")};
  Settings settings;
  settings.set(cuenv::visible_devices, {physical(0), physical(1)});
  Session const session{settings, cuenv::SessionOptions::none, here.system};
  CHECK(here.environment.variables["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID");
  CHECK(physical_indices(session) == std::vector<int>{0, 1});
  CHECK(session.report().findings.empty());
}

TEST_CASE("an index list of unlike GPUs without the order of the bus is worth a warning", "[session]") {
  DescribedSystem here{simulated::shipped_machine("rtx_3090_4070")};
  here.environment.variables["CUDA_VISIBLE_DEVICES"] = "0";
  Session const session{{}, cuenv::SessionOptions::none, here.system};
  CHECK(physical_indices(session) == std::vector<int>{1});
  CHECK(codes(session.report().findings) == "device_order.unlike_gpus ");
}

TEST_CASE("where nothing describes the GPUs physical indices are empty", "[session]") {
  DescribedSystem here;
  std::filesystem::remove_all(here.root() + "/proc");
  Session const session{{}, cuenv::ask_nvml, here.system};
  CHECK(physical_indices(session) == std::vector<int>{-1, -1});
  CHECK(session.report().machine_source == cuenv::MachineSource::unknown);
  CHECK(codes(session.report().findings) == "machine.no_nvml ");
}

TEST_CASE("a session cannot be copied or moved", "[session]") {
  CHECK_FALSE(std::is_copy_constructible_v<Session>);
  CHECK_FALSE(std::is_move_constructible_v<Session>);
  CHECK_FALSE(std::is_copy_assignable_v<Session>);
  CHECK_FALSE(std::is_move_assignable_v<Session>);
}

// Settings that are wrong ---------------------------------------------------------------------------------------------

TEST_CASE("all wrong settings are named in one error, and CUDA is not started", "[session]") {
  DescribedSystem here;
  Settings settings;
  settings.set(cuenv::visible_devices, cuenv::VisibleDevices{})
      .set(cuenv::device_max_connections, 33)
      .set(cuenv::cache_max_size, cuenv::gibibytes(5))
      .set_text("CUDA_DEVICE_ORDER", "pci_bus_id")
      .set_text("CUDA_LAUNCH_BLOCKING", "true")
      .set_text("CUDA_CACHE_PATH", "~/cache")
      .set_text("CUDA_VISIBLE_DEVICE", "0");
  auto const error = refused<cuenv::SettingsError>(here, settings);
  for (char const* name : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_CACHE_MAXSIZE",
                           "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING", "CUDA_CACHE_PATH", "CUDA_VISIBLE_DEVICE"}) {
    INFO(name);
    CHECK(names(error, name));
  }
  CHECK(error.diagnostics().size() == 7);
  for (auto const& finding : error.diagnostics()) CHECK_FALSE(finding.fix.empty());
  CHECK(simulated::state().init_calls == 0);
}

TEST_CASE("wrong settings are an error also where CUDA may be absent", "[session]") {
  DescribedSystem here{two_h200(), simulated::Library::absent};
  Settings settings;
  settings.set(cuenv::device_max_connections, 0);
  refused<cuenv::SettingsError>(here, settings, cuenv::absent_ok);
}

TEST_CASE("a list that cannot be had in full is refused before CUDA starts", "[session]") {
  for (auto const& list : {cuenv::VisibleDevices{physical(7)}, cuenv::VisibleDevices{physical(1), physical(7)}}) {
    DescribedSystem here;
    Settings settings;
    settings.set(cuenv::visible_devices, list);
    auto const error = refused<cuenv::SettingsError>(here, settings);
    CHECK_THAT(error.what(), ContainsSubstring("'7' is out of range: this machine shows 2 GPUs"));
    CHECK(simulated::state().init_calls == 0);
  }
}

// The environment has a value already ---------------------------------------------------------------------------------

TEST_CASE("the environment wins, and the report says so", "[session]") {
  DescribedSystem here;
  here.environment.variables = {{"CUDA_VISIBLE_DEVICES", "0"}, {"CUDA_DEVICE_MAX_CONNECTIONS", "4"}};
  Variables const before = here.environment.variables;
  Settings settings;
  settings.set(cuenv::visible_devices, {cuenv::gpu("GPU-c07e")}).set(cuenv::device_max_connections, 32);
  Session const session{settings, cuenv::SessionOptions::none, here.system};
  CHECK(here.environment.variables == before);
  CHECK(simulated::state().max_connections == 4);
  CHECK(physical_indices(session) == std::vector<int>{0});
  for (auto const& variable : session.report().variables) CHECK(variable.outcome == cuenv::Outcome::kept);
  CHECK_THAT(to_string(session.report()),
             ContainsSubstring("CUDA_DEVICE_MAX_CONNECTIONS: '4' kept from the environment, not '32'"));
}

TEST_CASE("a setting that overrides wins, and the report says what was there", "[session]") {
  DescribedSystem here;
  here.environment.variables = {{"CUDA_VISIBLE_DEVICES", "0"}, {"CUDA_DEVICE_MAX_CONNECTIONS", "4"}};
  Settings settings;
  settings.set(cuenv::visible_devices, {physical(1)}, Precedence::override)
      .set(cuenv::device_max_connections, 32, Precedence::override);
  Session const session{settings, cuenv::SessionOptions::none, here.system};
  CHECK(simulated::state().max_connections == 32);
  CHECK(physical_indices(session) == std::vector<int>{1});
  CHECK_THAT(to_string(session.report()),
             ContainsSubstring("CUDA_VISIBLE_DEVICES: '1' applied, was '0'") &&
                 ContainsSubstring("CUDA_DEVICE_ORDER: 'PCI_BUS_ID' applied, was (not set)"));
}

TEST_CASE("a setting for every GPU removes the variable", "[session]") {
  DescribedSystem here;
  here.environment.variables = {{"CUDA_VISIBLE_DEVICES", "0"}};
  Settings settings;
  settings.set(cuenv::visible_devices, cuenv::VisibleDevices::all(), Precedence::override);
  Session const session{settings, cuenv::SessionOptions::none, here.system};
  CHECK(here.environment.variables.empty());
  CHECK(session.devices().size() == 2);
}

TEST_CASE("a kept value that ends CUDA is an error that names it", "[session]") {
  Settings settings;
  settings.set(cuenv::visible_devices, {cuenv::gpu("GPU-c07e")}).set(cuenv::device_max_connections, 32);
  for (auto const& [value, code] : std::vector<std::pair<std::string, int>>{
           {"0,0", 101}, {"GPU-5a9c,GPU-5a", 101}, {"", 100}, {"-1", 100}, {"2", 100}, {"all", 100}, {"GPU-ff", 100}}) {
    INFO(value);
    DescribedSystem here;
    here.environment.variables["CUDA_VISIBLE_DEVICES"] = value;
    auto const error = refused<cuenv::DriverError>(here, settings);
    CHECK(error.code() == code);
    CHECK(names(error, "CUDA_VISIBLE_DEVICES"));
  }
  Settings order;
  order.set(cuenv::device_order, cuenv::DeviceOrder::pci_bus_id);
  DescribedSystem here;
  here.environment.variables["CUDA_DEVICE_ORDER"] = "pci_bus_id";
  auto const error = refused<cuenv::DriverError>(here, order);
  CHECK(error.code() == 101);
  CHECK(names(error, "CUDA_DEVICE_ORDER"));
}

TEST_CASE("a value that ends CUDA can be overridden", "[session]") {
  DescribedSystem here;
  here.environment.variables = {{"CUDA_VISIBLE_DEVICES", "0,0"}, {"CUDA_DEVICE_ORDER", "foo"}};
  Settings settings;
  settings.set(cuenv::visible_devices, {physical(1)}, Precedence::override);
  Session const session{settings, cuenv::SessionOptions::none, here.system};
  CHECK(physical_indices(session) == std::vector<int>{1});
}

TEST_CASE("values of the environment that mean something else are noticed", "[session]") {
  DescribedSystem here;
  here.environment.variables = {{"CUDA_CACHE_MAXSIZE", "1G"}, {"CUDA_VISIBLE_DEVICES", "0, 1x"}};
  Session const session{{}, cuenv::SessionOptions::none, here.system};
  CHECK(session.devices().size() == 2);
  CHECK(codes(session.report().findings) == "environment.misread visible_devices.partly_read ");
}

TEST_CASE("when the system refuses a variable the earlier ones are put back", "[session]") {
  DescribedSystem here;
  here.environment.variables = {{"CUDA_VISIBLE_DEVICES", "0"}, {"HOME", "/"}};
  here.environment.refused = "CUDA_DEVICE_MAX_CONNECTIONS";
  Settings settings;
  settings.set(cuenv::visible_devices, {physical(1)}, Precedence::override)
      .set(cuenv::cache_disable, true)
      .set(cuenv::device_max_connections, 32)
      .set(cuenv::launch_blocking, true);
  auto const error = refused<cuenv::EnvironmentError>(here, settings);
  CHECK(names(error, "CUDA_DEVICE_MAX_CONNECTIONS"));
  CHECK_THAT(error.what(), ContainsSubstring("Operation not permitted"));
  CHECK(simulated::state().init_calls == 0);
}

// CUDA has started already --------------------------------------------------------------------------------------------

TEST_CASE("a session attaches to a started CUDA when nothing is left to change", "[session]") {
  DescribedSystem here;
  here.environment.variables = {{"CUDA_DEVICE_MAX_CONNECTIONS", "32"}};
  REQUIRE(start_cuda_elsewhere() == 0);
  Settings settings;
  settings.set(cuenv::device_max_connections, 32).set(cuenv::visible_devices, cuenv::VisibleDevices::all());
  Session const session{settings, cuenv::SessionOptions::none, here.system};
  CHECK(session.report().attached);
  CHECK(session.devices().size() == 2);
  CHECK(simulated::state().init_calls == 1);
  CHECK_THAT(to_string(session.report()), ContainsSubstring("CUDA was initialised already"));
}

TEST_CASE("a library that is loaded and not initialised is no hindrance", "[session]") {
  DescribedSystem here;
  simulated::preload();
  Session const session{swapped_and_more(), cuenv::SessionOptions::none, here.system};
  CHECK_FALSE(session.report().attached);
  CHECK(physical_indices(session) == std::vector<int>{1, 0});
}

TEST_CASE("after CUDA has started every setting that would be ignored is named", "[session]") {
  DescribedSystem here;
  here.environment.variables = {{"CUDA_CACHE_DISABLE", "1"}};
  REQUIRE(start_cuda_elsewhere() == 0);
  Settings settings = swapped_and_more();
  settings.set(cuenv::cache_disable, true)
      .set(cuenv::launch_blocking, true)
      .set(cuenv::cache_path, std::string{"/var/cache/cuda"});
  auto const error = refused<cuenv::TooLateError>(here, settings);
  for (char const* name : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_CACHE_MAXSIZE",
                           "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_CACHE_PATH"}) {
    INFO(name);
    CHECK(names(error, name));
  }
  CHECK(codes(error.diagnostics()) ==
        "settings.too_late settings.too_late settings.too_late settings.too_late settings.too_late ");
  cuenv::Diagnostic const& size = error.diagnostics()[2];
  CHECK(to_string(size) ==
        "error: CUDA_CACHE_MAXSIZE=2147483648: CUDA is already initialised in this process, without this variable\n"
        "  driver: it is read at cuInit, and a change now is ignored\n"
        "  fix: make the session before anything uses CUDA, or start the program with CUDA_CACHE_MAXSIZE=2147483648");
  refused<cuenv::TooLateError>(here, settings, cuenv::absent_ok);
}

TEST_CASE("removing a variable too late is refused without advice to empty it", "[session]") {
  DescribedSystem here;
  here.environment.variables = {{"CUDA_VISIBLE_DEVICES", "0"}};
  REQUIRE(start_cuda_elsewhere() == 0);
  Settings settings;
  settings.set(cuenv::visible_devices, cuenv::VisibleDevices::all(), Precedence::override);
  auto const error = refused<cuenv::TooLateError>(here, settings);
  CHECK(codes(error.diagnostics()) == "settings.too_late ");
  CHECK(error.diagnostics()[0].value == "(not set)");
  CHECK_THAT(error.what(), ContainsSubstring("with the value '0'") &&
                               ContainsSubstring("start the program without CUDA_VISIBLE_DEVICES"));
}

TEST_CASE("launch blocking can be set until there is a context", "[session]") {
  DescribedSystem here;
  REQUIRE(start_cuda_elsewhere() == 0);
  Settings on;
  on.set(cuenv::launch_blocking, true, Precedence::override);
  Settings off;
  off.set(cuenv::launch_blocking, false, Precedence::override);
  Session const session{on, cuenv::SessionOptions::none, here.system};
  CHECK(session.report().attached);
  CHECK(here.environment.variables == Variables{{"CUDA_LAUNCH_BLOCKING", "1"}});

  CUcontext context = nullptr;
  REQUIRE(session.driver().api.primary_ctx_retain(&context, 0) == CUDA_SUCCESS);
  CHECK(simulated::state().launch_blocking == 1);
  auto const error = refused<cuenv::TooLateError>(here, off);
  CHECK(codes(error.diagnostics()) == "settings.too_late ");
  CHECK(names(error, "CUDA_LAUNCH_BLOCKING"));
  CHECK_THAT(error.what(), ContainsSubstring("CUDA is already initialised and has a context in this process") &&
                               ContainsSubstring("it is read at context creation, and a change now is ignored"));
  Session const again{on, cuenv::SessionOptions::none, here.system};
  CHECK(again.report().attached);

  REQUIRE(session.driver().api.primary_ctx_release(0) == CUDA_SUCCESS);
  Session const later{off, cuenv::SessionOptions::none, here.system};
  CHECK(here.environment.variables == Variables{{"CUDA_LAUNCH_BLOCKING", "0"}});
}

TEST_CASE("a second session with equal settings attaches", "[session]") {
  DescribedSystem here;
  Session const first{swapped_and_more(), cuenv::SessionOptions::none, here.system};
  Variables const between = here.environment.variables;
  Session const second{swapped_and_more(), cuenv::SessionOptions::none, here.system};
  CHECK(second.report().attached);
  CHECK(physical_indices(second) == physical_indices(first));
  CHECK(here.environment.variables == between);
  CHECK(simulated::state().init_calls == 1);
  for (auto const& variable : second.report().variables) CHECK(variable.outcome == cuenv::Outcome::already_set);
}

TEST_CASE("a second session with other settings is refused, and the differences are named", "[session]") {
  DescribedSystem here;
  Session const first{swapped_and_more(), cuenv::SessionOptions::none, here.system};
  Settings other;
  other.set(cuenv::visible_devices, {physical(0)}, Precedence::override)
      .set(cuenv::cache_max_size, cuenv::gibibytes(2), Precedence::override)
      .set(cuenv::device_max_connections, 8, Precedence::override)
      .set(cuenv::cache_disable, true);
  auto const error = refused<cuenv::TooLateError>(here, other);
  CHECK(names(error, "CUDA_VISIBLE_DEVICES"));
  CHECK(names(error, "CUDA_DEVICE_MAX_CONNECTIONS"));
  CHECK(names(error, "CUDA_CACHE_DISABLE"));
  CHECK(error.diagnostics().size() == 3);
  CHECK_THAT(error.what(), ContainsSubstring("with the value '32'"));
}

TEST_CASE("a variable that was changed after CUDA had started does not fool a session", "[session]") {
  DescribedSystem here;
  here.environment.variables = {{"CUDA_VISIBLE_DEVICES", "0"}};
  REQUIRE(start_cuda_elsewhere() == 0);
  here.environment.variables = {{"CUDA_VISIBLE_DEVICES", "1"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  SECTION("when it asks for these devices it is refused") {
    Settings settings;
    settings.set(cuenv::visible_devices, {physical(1)});
    auto const error = refused<cuenv::TooLateError>(here, settings);
    CHECK(names(error, "CUDA_VISIBLE_DEVICES"));
    CHECK_THAT(error.what(), ContainsSubstring("the variables were changed after CUDA had started"));
  }
  SECTION("when it does not the driver counts, and the report says so") {
    Session const session{{}, cuenv::SessionOptions::none, here.system};
    CHECK(physical_indices(session) == std::vector<int>{0});
    CHECK(codes(session.report().findings) == "devices.differ_from_environment ");
  }
}

TEST_CASE("a value that the driver never read is not explained as if it had", "[session]") {
  DescribedSystem here;
  REQUIRE(start_cuda_elsewhere() == 0);
  here.environment.variables = {{"CUDA_VISIBLE_DEVICES", "0,0"}};
  Session const session{{}, cuenv::SessionOptions::none, here.system};
  CHECK(physical_indices(session) == std::vector<int>{0, 1});
  CHECK(codes(session.report().findings) == "devices.differ_from_environment ");
  CHECK_FALSE(cuenv::has_error(session.report().findings));
}

TEST_CASE("where driver and prediction differ the driver counts and a warning says so", "[session]") {
  simulated::Machine machine = two_h200();
  DescribedSystem here{machine};
  machine.gpus.push_back(machine.gpus[1]);  // /proc shows one more
  machine.gpus[2].uuid = "GPU-ffffffff-91ab-4f3c-a5d0-7e6f5d4c3b2a";
  machine.gpus[2].pci = "0000:00:08.0";
  machine.gpus[2].minor_number = 2;
  simulated::write_root(machine, here.root());
  Session const session{{}, cuenv::SessionOptions::none, here.system};
  CHECK(session.devices().size() == 2);
  REQUIRE(codes(session.report().findings) == "devices.differ_from_environment ");
  CHECK(session.report().findings[0].severity == cuenv::Severity::warning);
  CHECK_THAT(to_string(session.report()), ContainsSubstring("GPU-c07e88d2-91ab-4f3c-a5d0-7e6f5d4c3b2a"));
}

// No CUDA -------------------------------------------------------------------------------------------------------------

TEST_CASE("without a driver the error has the loader's words", "[session]") {
  DescribedSystem here{two_h200(), simulated::Library::absent};
  auto const error = refused<cuenv::DriverError>(here, swapped_and_more());
  CHECK(error.code() == cuenv::DriverError::no_driver);
  CHECK(codes(error.diagnostics()) == "driver.not_found ");
  CHECK(names(error, cuenv::driver_library_name));
  CHECK(error.diagnostics()[0].severity == cuenv::Severity::error);
  CHECK_THAT(error.diagnostics()[0].driver, ContainsSubstring("libcuda.so.1: cannot open shared object file"));
  CHECK_THAT(error.diagnostics()[0].fix, ContainsSubstring("the kernel driver is here") &&
                                             ContainsSubstring("NVIDIA_DRIVER_CAPABILITIES must have compute"));
}

TEST_CASE("without a driver and without a kernel driver the advice is to install one", "[session]") {
  DescribedSystem here{two_h200(), simulated::Library::absent};
  std::filesystem::remove_all(here.root() + "/dev");
  auto const error = refused<cuenv::DriverError>(here, swapped_and_more());
  CHECK(error.code() == cuenv::DriverError::no_driver);
  CHECK(codes(error.diagnostics()) == "driver.not_found ");
  CHECK_THAT(error.diagnostics()[0].fix, ContainsSubstring("install the NVIDIA driver"));
}

TEST_CASE("a driver that does not start keeps its code and explains it", "[session]") {
  struct Case {
    int code;
    char const* words;
  };
  for (Case const& one : {Case{802, "fabric manager"}, Case{803, "different versions"}, Case{804, "compat"},
                          Case{999, "dmesg"}, Case{3, "forked"}, Case{805, "MPS"}, Case{777, "777"}}) {
    INFO(one.code);
    simulated::Machine machine = two_h200();
    machine.init_error = one.code;
    DescribedSystem here{machine};
    // A wrong order would give 101 and explains no other code.
    here.environment.variables["CUDA_DEVICE_ORDER"] = "foo";
    auto const error = refused<cuenv::DriverError>(here);
    CHECK(error.code() == one.code);
    CHECK(codes(error.diagnostics()) == "driver.init_failed ");  // the order explains nothing
    CHECK(names(error, "cuInit"));
    CHECK_THAT(error.what(), ContainsSubstring(one.words));
    CHECK(error.diagnostics()[0].driver == "library " + here.root() + "/usr/lib/libcuda.so.1");
    CHECK(error.diagnostics()[0].fix.empty() == (one.code == 777));

    Session const session{{}, cuenv::absent_ok, here.system};
    CHECK(session.devices().empty());
    REQUIRE(session.absence() != nullptr);
    CHECK(session.absence()->code() == one.code);
    CHECK_THAT(session.absence()->what(), ContainsSubstring(one.words));
  }
}

TEST_CASE("the toolkit's stub is told apart", "[session]") {
  simulated::Machine machine = two_h200();
  machine.stub = true;
  DescribedSystem here{machine};
  bool const preloaded = GENERATE(false, true);
  if (preloaded) simulated::preload();
  auto const error = refused<cuenv::DriverError>(here, swapped_and_more());
  CHECK(error.code() == 34);
  CHECK_THAT(error.what(), ContainsSubstring("stub") && ContainsSubstring(here.root() + "/usr/lib/libcuda.so.1"));
}

TEST_CASE("no device and a void setting are different stories", "[session]") {
  DescribedSystem here;
  SECTION("hidden by -1") {
    here.environment.variables["CUDA_VISIBLE_DEVICES"] = "-1";
    auto const error = refused<cuenv::DriverError>(here);
    CHECK(error.code() == 100);
    CHECK_THAT(error.what(), ContainsSubstring("every GPU is hidden (this machine shows 2 GPUs)"));
  }
  SECTION("hidden by an empty list") {
    here.environment.variables["CUDA_VISIBLE_DEVICES"] = "";
    auto const error = refused<cuenv::DriverError>(here);
    CHECK(error.code() == 100);
    CHECK_THAT(error.what(), ContainsSubstring("every GPU is hidden"));
  }
  SECTION("out of range") {
    here.environment.variables["CUDA_VISIBLE_DEVICES"] = "2,0";
    auto const error = refused<cuenv::DriverError>(here);
    CHECK(error.code() == 100);
    CHECK_THAT(error.what(), ContainsSubstring("'2' is out of range") && ContainsSubstring("use 0 to 1"));
  }
  SECTION("twice") {
    here.environment.variables["CUDA_VISIBLE_DEVICES"] = "1,0,1";
    auto const error = refused<cuenv::DriverError>(here);
    CHECK(error.code() == 101);
    REQUIRE(codes(error.diagnostics()) == "driver.init_failed visible_devices.duplicate ");
    CHECK(error.diagnostics().front().fix.empty());  // the other finding knows better
    CHECK(error.diagnostics().back().subject == "CUDA_VISIBLE_DEVICES");
    CHECK(error.diagnostics().back().offset == 4);
  }
  SECTION("an unknown order") {
    here.environment.variables["CUDA_DEVICE_ORDER"] = "";
    auto const error = refused<cuenv::DriverError>(here);
    CHECK(error.code() == 101);
    CHECK(names(error, "CUDA_DEVICE_ORDER"));
    CHECK_FALSE(names(error, "CUDA_VISIBLE_DEVICES"));
  }
  SECTION("an unknown order, and nothing known of the GPUs") {
    std::filesystem::remove_all(here.root() + "/proc");
    here.environment.variables["CUDA_DEVICE_ORDER"] = "PCI";
    auto const error = refused<cuenv::DriverError>(here);
    CHECK(error.code() == 101);
    CHECK(names(error, "CUDA_DEVICE_ORDER"));
  }
}

TEST_CASE("a machine without GPUs says so", "[session]") {
  simulated::Machine machine = two_h200();
  machine.gpus.clear();
  DescribedSystem here{machine};
  SECTION("with an empty folder") {
    std::filesystem::create_directories(here.root() + "/proc/driver/nvidia/gpus");
    auto const error = refused<cuenv::DriverError>(here, swapped_and_more());
    CHECK(error.code() == 100);
    CHECK_THAT(error.what(), ContainsSubstring("this machine shows 0 GPUs"));
  }
  SECTION("with an empty folder and no settings") {
    std::filesystem::create_directories(here.root() + "/proc/driver/nvidia/gpus");
    auto const error = refused<cuenv::DriverError>(here);
    CHECK(error.code() == 100);
    CHECK_THAT(error.what(), ContainsSubstring("this machine shows no GPU"));
  }
  SECTION("without the folder") {
    auto const error = refused<cuenv::DriverError>(here);
    CHECK(error.code() == 100);
    CHECK_THAT(error.what(), ContainsSubstring("nvidia-smi -L"));
  }
}

TEST_CASE("a driver that lacks an entry point is refused before it is used", "[session]") {
  using Api = cuenv::DriverApi;
  DescribedSystem here;
  for (auto const open :
       {open_without<&Api::init>, open_without<&Api::device_get_count>, open_without<&Api::device_get>,
        open_without<&Api::device_get_name>, open_without<&Api::device_get_uuid>,
        open_without<&Api::device_get_pci_bus_id>, open_without<&Api::device_get_attribute>,
        open_without<&Api::primary_ctx_retain>, open_without<&Api::primary_ctx_release>,
        open_without<&Api::ctx_push_current>, open_without<&Api::ctx_pop_current>,
        open_without<&Api::module_load_data_ex>, open_without<&Api::module_unload>}) {
    here.system.open_driver = open;
    auto const error = refused<cuenv::DriverError>(here, swapped_and_more());
    CHECK(error.code() == cuenv::DriverError::no_driver);
    CHECK(codes(error.diagnostics()) == "driver.incomplete ");
    CHECK(names(error, here.root() + "/usr/lib/libcuda.so.1"));
    CHECK(error.diagnostics()[0].fix == "update the driver: CUDA 11.0 or newer");
    CHECK(simulated::state().init_calls == 0);
    Session const session{{}, cuenv::absent_ok, here.system};
    CHECK(session.devices().empty());
    CHECK(session.absence() != nullptr);
  }
}

TEST_CASE("entry points that serve convenience alone may be missing", "[session]") {
  using Api = cuenv::DriverApi;
  for (auto const open : {open_without<&Api::driver_get_version>, open_without<&Api::ctx_get_current>,
                          open_without<&Api::primary_ctx_get_state>, open_without<&Api::get_error_name>,
                          open_without<&Api::func_load>, open_without<&Api::module_get_loading_mode>}) {
    DescribedSystem here;
    here.system.open_driver = open;
    Session const session{swapped_and_more(), cuenv::SessionOptions::none, here.system};
    CHECK(session.devices().size() == 2);
    Session const second{swapped_and_more(), cuenv::SessionOptions::none, here.system};
    CHECK(second.report().attached);
  }
}

TEST_CASE("where CUDA may be absent a session has no devices and keeps the reason", "[session]") {
  struct Case {
    simulated::Library library;
    bool stub;
    Variables variables;
    int code;
  };
  for (Case const& one : {Case{simulated::Library::absent, false, {}, cuenv::DriverError::no_driver},
                          Case{simulated::Library::present, true, {}, 34},
                          Case{simulated::Library::present, false, {{"CUDA_VISIBLE_DEVICES", "-1"}}, 100},
                          Case{simulated::Library::present, false, {{"CUDA_VISIBLE_DEVICES", "0,0"}}, 101}}) {
    INFO(one.code);
    simulated::Machine machine = two_h200();
    machine.stub = one.stub;
    DescribedSystem here{machine, one.library};
    here.environment.variables = one.variables;
    Settings settings;
    settings.set(cuenv::cache_disable, true);
    Session const session{settings, cuenv::absent_ok, here.system};
    CHECK(session.devices().empty());
    CHECK(session.map().find(logical(0)) == nullptr);
    REQUIRE(session.absence() != nullptr);
    CHECK(session.absence()->code() == one.code);
    CHECK_FALSE(session.absence()->diagnostics().empty());
    Variables expected = one.variables;
    expected["CUDA_CACHE_DISABLE"] = "1";
    CHECK(here.environment.variables == expected);
    try {
      session.require_image_bytes("x", "kernels in memory");
      FAIL("there is no GPU to load it on");
    } catch (cuenv::ImageError const& error) {
      REQUIRE(codes(error.diagnostics()) == "image.no_device ");
      CHECK(error.diagnostics()[0].subject == "kernels in memory");
      CHECK(error.diagnostics()[0].driver == session.absence()->what());
    }
    try {
      (void)session.load_check_bytes("x", logical(0));
      FAIL("there is no logical GPU 0");
    } catch (cuenv::ImageError const& error) {
      REQUIRE(codes(error.diagnostics()) == "devices.no_such_logical ");
      CHECK(error.diagnostics()[0].fix == "make GPUs visible first");
    }
  }
}

TEST_CASE("a start that failed can be made again with the variable corrected", "[session]") {
  DescribedSystem here;
  here.environment.variables["CUDA_VISIBLE_DEVICES"] = "5";
  CHECK(refused<cuenv::DriverError>(here).code() == 100);
  here.environment.variables["CUDA_VISIBLE_DEVICES"] = "1";
  Session const session{{}, cuenv::SessionOptions::none, here.system};
  CHECK(physical_indices(session) == std::vector<int>{1});
}

// The report ----------------------------------------------------------------------------------------------------------

TEST_CASE("the report names versions, library, simulation and each variable", "[session]") {
  DescribedSystem here;
  here.environment.variables["CUDA_DEVICE_MAX_CONNECTIONS"] = "32";
  Session const session{swapped_and_more(), cuenv::SessionOptions::none, here.system};
  CHECK(to_string(session.report()) == "CUDA 13.0, driver 580.159.04, from " + here.root() + "/usr/lib/libcuda.so.1\n" +
                                           "SIMULATED machine, described in " + here.root() +
                                           "\n"
                                           "CUDA_VISIBLE_DEVICES: '1,0' applied, was (not set)\n"
                                           "CUDA_DEVICE_ORDER: 'PCI_BUS_ID' applied, was (not set)\n"
                                           "CUDA_CACHE_MAXSIZE: '2147483648' applied, was (not set)\n"
                                           "CUDA_DEVICE_MAX_CONNECTIONS: '32' was set already");
}

TEST_CASE("the report of a machine without a driver invents no version", "[session]") {
  DescribedSystem here{two_h200(), simulated::Library::absent};
  Session const session{{}, cuenv::absent_ok, here.system};
  CHECK_THAT(to_string(session.report()), !ContainsSubstring("CUDA 0.0"));
}

TEST_CASE("what an earlier session has set is no word of the user's: other settings are refused", "[session]") {
  DescribedSystem here;
  here.environment.start = here.environment.variables;
  Settings first;
  first.set(cuenv::visible_devices, {physical(1)})
      .set(cuenv::device_max_connections, 16)
      .set(cuenv::launch_blocking, true);
  Session const started{first, cuenv::SessionOptions::none, here.system};
  Session const again{first, cuenv::SessionOptions::none, here.system};
  CHECK(again.report().attached);

  Settings other;
  other.set(cuenv::visible_devices, {physical(0)})
      .set(cuenv::device_max_connections, 8)
      .set(cuenv::launch_blocking, false);
  auto const before = here.environment.variables;
  try {
    Session const second{other, cuenv::SessionOptions::none, here.system};
    FAIL("the session is refused");
  } catch (cuenv::TooLateError const& error) {
    REQUIRE(error.diagnostics().size() == 3);
    CHECK(error.diagnostics()[0].subject == "CUDA_VISIBLE_DEVICES");
    CHECK(error.diagnostics()[1].subject == "CUDA_DEVICE_MAX_CONNECTIONS");
    CHECK(error.diagnostics()[2].subject == "CUDA_LAUNCH_BLOCKING");
  }
  CHECK(here.environment.variables == before);
}

TEST_CASE("a choice among what is visible can be made again", "[session]") {
  DescribedSystem here;
  here.environment.variables["CUDA_VISIBLE_DEVICES"] = "1,0";
  here.environment.start = here.environment.variables;
  Settings settings;
  settings.set(cuenv::visible_devices, {logical(1)}, cuenv::Precedence::refine);
  Session const first{settings, cuenv::SessionOptions::none, here.system};
  CHECK(here.environment.variables.at("CUDA_VISIBLE_DEVICES") == "0");
  Session const second{settings, cuenv::SessionOptions::none, here.system};
  CHECK(second.report().attached);
  REQUIRE(second.report().variables.size() == 1);
  CHECK(second.report().variables[0].outcome == cuenv::Outcome::already_set);
}

TEST_CASE("by choice what still works is applied and the rest is named", "[session]") {
  DescribedSystem here;
  REQUIRE(cuenv_tests::start_cuda_elsewhere() == 0);
  Settings settings;
  settings.set(cuenv::visible_devices, {physical(1)}).set(cuenv::cache_disable, true).set(cuenv::launch_blocking, true);
  Session const session{settings, cuenv::apply_what_still_works, here.system};
  CHECK(here.environment.variables == Variables{{"CUDA_LAUNCH_BLOCKING", "1"}});
  CHECK(session.devices().size() == 2);
  std::size_t left = 0;
  for (auto const& variable : session.report().variables) left += variable.outcome == cuenv::Outcome::left ? 1 : 0;
  CHECK(left == 3);  // the list, the order that comes with it, and the cache
  CHECK_THAT(to_string(session.report()), ContainsSubstring("CUDA_CACHE_DISABLE: (not set) left, too late for '1'"));
}

TEST_CASE("with other threads the environment is changed only where that is safe or accepted", "[session]") {
  DescribedSystem here;
  here.environment.threads = {"worker (17)", "pool (18)"};
  Settings settings;
  settings.set(cuenv::cache_disable, true);
  auto const error = refused<cuenv::EnvironmentError>(here, settings);
  CHECK(codes(error.diagnostics()) == "environment.threads ");
  CHECK(names(error, "environment"));
  CHECK_THAT(error.diagnostics()[0].what, ContainsSubstring("worker (17), pool (18)"));
  CHECK_THAT(error.diagnostics()[0].fix, ContainsSubstring("cuenv::restart_with(settings)"));
  CHECK(here.environment.variables.empty());
  {
    Session const nothing_to_change{{}, cuenv::SessionOptions::none, here.system};
    CHECK(nothing_to_change.devices().size() == 2);
  }
  simulated::install(simulated::shipped_machine("two_h200"), simulated::Library::present, here.root());
  Session const accepted{settings, cuenv::despite_threads, here.system};
  CHECK(here.environment.variables.at("CUDA_CACHE_DISABLE") == "1");
}

TEST_CASE("a share of the L2 cache that no context could get is an error of the session", "[session]") {
  std::string const name = "CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT";
  {
    DescribedSystem here;
    Settings settings;
    settings.set(cuenv::persisting_l2_percentage, 63);
    auto const error = refused<cuenv::DriverError>(here, settings);
    CHECK(error.code() == 1);
    REQUIRE(codes(error.diagnostics()) == "persisting_l2.too_much ");
    CHECK(error.diagnostics().at(0).subject == name);
    CHECK(error.diagnostics().at(0).value == "63");
    CHECK(error.diagnostics().at(0).what == "logical GPU 0 can set aside 62 percent of its L2 cache at most");
    CHECK(error.diagnostics().at(0).driver == "every context on it fails with 1 (invalid value)");
    CHECK(error.diagnostics().at(0).fix == "write 62 or less");
  }
  DescribedSystem here;
  here.environment.variables[name] = "62";
  Session const session{{}, cuenv::SessionOptions::none, here.system};
  CHECK(session.devices().size() == 2);
}
