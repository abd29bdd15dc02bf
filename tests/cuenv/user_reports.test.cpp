// What users have reported of programs without a check at the start, one case each: the name says what they see, the
// body is the smallest way there, and what cuenv answers. What takes a process of its own is in tests/process: a static
// object before main (static_initialiser, static_initialiser_too_late), fork (fork_after_init), threads and setenv
// (threads_before_main, applies_before_init) and a first start that failed (failed_then_corrected). That logical and
// physical indices do not convert is in must_not_compile.
#include <cuenv/explain.hpp>
#include <cuenv/rank_devices.hpp>
#include <cuenv/session.hpp>

#include "support/catch.hpp"
#include "support/described_machines.hpp"
#include "support/described_system.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using cuenv::Assignment;
using cuenv::logical;
using cuenv::physical;
using cuenv::Precedence;
using cuenv::Session;
using cuenv::Settings;
using cuenv::Severity;
using cuenv_tests::DescribedEnvironment;
using cuenv_tests::DescribedSystem;
using cuenv_tests::start_cuda_elsewhere;
using cuenv_tests::uuid_1;
using Variables = std::map<std::string, std::string>;

/// The error of a session that must be refused. The environment must be as it was.
template <class E>
E refused(DescribedSystem const& here, Settings const& settings = {}) {
  Variables const before = here.environment.variables;
  std::optional<E> caught;
  try {
    Session const session{settings, cuenv::SessionOptions::none, here.system};
  } catch (E const& error) {
    caught = error;
  }
  REQUIRE(caught);
  CHECK(here.environment.variables == before);
  return *caught;
}

/// All findings about these variables, as text.
std::string explained(std::vector<Assignment> const& variables, cuenv::Machine const& machine) {
  std::string text;
  for (auto const& explanation : cuenv::explain_variables(variables, machine)) {
    text += to_string(explanation.findings) + "\n";
  }
  return text;
}

std::string explained(std::string const& visible, cuenv::Machine const& machine) {
  return explained({{"CUDA_VISIBLE_DEVICES", visible}}, machine);
}

/// How many devices a list leaves.
std::size_t visible_count(std::string_view visible, cuenv::Machine const& machine) {
  return cuenv::resolve_visibility({visible, std::nullopt}, machine).devices.size();
}

template <class T>
Settings one_setting(cuenv::Variable<T> const& variable, T const& value, Precedence precedence = Precedence::keep) {
  Settings settings;
  settings.set(variable, value, precedence);
  return settings;
}

Settings list(cuenv::VisibleDevices const& devices, Precedence precedence = Precedence::keep) {
  return one_setting(cuenv::visible_devices, devices, precedence);
}

}  // namespace

// When the environment is read ----------------------------------------------------------------------------------------

TEST_CASE("the variable is set and every model lands on GPU 0, since CUDA had started before", "[user_reports]") {
  DescribedSystem here;
  REQUIRE(start_cuda_elsewhere() == 0);
  auto const error = refused<cuenv::TooLateError>(here, list({physical(1)}));
  CHECK_THAT(error.what(), ContainsSubstring("CUDA is already initialised in this process") &&
                               ContainsSubstring("a change now is ignored") &&
                               ContainsSubstring("make the session before anything uses CUDA, or start the program "
                                                 "with CUDA_VISIBLE_DEVICES=1"));
}

TEST_CASE("a library counts the GPUs while it is loaded, and nobody knows", "[user_reports]") {
  DescribedSystem here;
  REQUIRE(start_cuda_elsewhere() == 0);
  Session const session{{}, cuenv::SessionOptions::none, here.system};
  CHECK(session.report().attached);
  CHECK_THAT(to_string(session.report()), ContainsSubstring("CUDA was initialised already"));
}

TEST_CASE("initialization error in a forked worker", "[user_reports]") {
  simulated::Machine machine = simulated::shipped_machine("two_h200");
  machine.init_error = 3;  // what the driver answers in such a child
  DescribedSystem const here{machine};
  auto const error = refused<cuenv::DriverError>(here);
  CHECK(error.code() == 3);
  CHECK_THAT(error.what(), ContainsSubstring("forked from one that had started CUDA"));
}

TEST_CASE("the first call says no device, later ones say not initialised", "[user_reports]") {
  DescribedSystem here;
  here.environment.variables["CUDA_VISIBLE_DEVICES"] = "-1";
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto const error = refused<cuenv::DriverError>(here);
    CHECK(error.code() == 100);
    CHECK_THAT(error.what(), ContainsSubstring("CUDA_VISIBLE_DEVICES=-1") &&
                                 ContainsSubstring("every GPU is hidden (this machine shows 2 GPUs)") &&
                                 ContainsSubstring("remove the variable to see every GPU"));
  }
}

TEST_CASE("a crash in getenv of an unrelated thread", "[user_reports]") {
  DescribedSystem here;
  here.environment.threads = {"loader (4711)"};
  auto const error =
      refused<cuenv::EnvironmentError>(here, one_setting(cuenv::module_loading, cuenv::ModuleLoading::lazy));
  CHECK_THAT(error.what(), ContainsSubstring("loader (4711)") && ContainsSubstring("glibc before 2.41") &&
                               ContainsSubstring("first thing in main") && ContainsSubstring("restart_with"));
}

// What CUDA_VISIBLE_DEVICES means -------------------------------------------------------------------------------------

TEST_CASE("invalid literal for int(): a UUID in the list", "[user_reports]") {
  DescribedSystem here;
  here.environment.variables["CUDA_VISIBLE_DEVICES"] = uuid_1;
  Session const session{{}, cuenv::SessionOptions::none, here.system};
  CHECK(session.report().findings.empty());
  REQUIRE(session.devices().size() == 1);
  CHECK_THAT(to_string(session.devices()[0]),
             ContainsSubstring("logical 0  physical 1  " + std::string{uuid_1} + "  0000:00:07.0"));
}

TEST_CASE("MIG instances are listed and fewer are there", "[user_reports]") {
  auto const before_570 = cuenv_tests::mig_machine("550.54.14");
  auto const today = cuenv_tests::mig_machine("580.159.04");
  std::string const first = cuenv_tests::mig_uuid[0];
  std::string const two = first + "," + cuenv_tests::mig_uuid[2];
  CHECK(visible_count(first, today) == 1);
  CHECK(visible_count(two, today) == 2);
  CHECK(visible_count(two, before_570) == 1);
  CHECK_THAT(explained(two, before_570), ContainsSubstring("'" + std::string{cuenv_tests::mig_uuid[2]} + "'") &&
                                             ContainsSubstring("before driver 570 a process gets one MIG instance") &&
                                             ContainsSubstring("list one MIG instance, or update the driver"));
  CHECK_THAT(explained(first + "," + cuenv_tests::mig_uuid[1], today),
             ContainsSubstring("is a second compute instance of one GPU instance"));
  auto const everything = cuenv::resolve_visibility({}, today);
  CHECK(everything.devices.size() == 3);  // two instances and the whole GPU beside them
  CHECK(everything.documented_only);
}

TEST_CASE("a short UUID works in CUDA and the tools do not find it", "[user_reports]") {
  DescribedSystem here;
  here.environment.variables["CUDA_VISIBLE_DEVICES"] = "GPU-c07e";
  Session const session{{}, cuenv::SessionOptions::none, here.system};
  REQUIRE(session.devices().size() == 1);
  CHECK_THAT(to_string(session.devices()[0]), ContainsSubstring(uuid_1));  // complete, as NVML wants it

  auto const alike = cuenv_tests::alike_gpus(2);
  CHECK(visible_count("GPU-0", alike) == 0);
  CHECK_THAT(explained("GPU-0", alike), ContainsSubstring("'GPU-0' begins the UUID of more than one GPU") &&
                                            ContainsSubstring("the list ends here") &&
                                            ContainsSubstring("write 2 characters of the UUID or more"));
}

TEST_CASE("five GPUs are listed, two or none are there", "[user_reports]") {
  auto const four = cuenv_tests::alike_gpus(4);
  CHECK(visible_count("0,1,9,2,3", four) == 2);
  CHECK_THAT(explained("0,1,9,2,3", four),
             ContainsSubstring("at byte 4: '9' is out of range: this machine shows 4 GPUs") &&
                 ContainsSubstring("2 later entries are not looked at") && ContainsSubstring("use 0 to 3"));
  CHECK(visible_count("0,1,2,3,0", four) == 0);
  CHECK_THAT(explained("0,1,2,3,0", four),
             ContainsSubstring("at byte 8: '0' selects a GPU that an earlier entry has selected already") &&
                 ContainsSubstring("cuInit fails with 101") && ContainsSubstring("name each GPU once"));
  CHECK(visible_count("0,9,0", four) == 1);  // the cut comes first
  CHECK_THAT(explained("8", cuenv_tests::alike_gpus(8)),
             ContainsSubstring("'8' is out of range: this machine shows 8 GPUs") &&
                 ContainsSubstring("cuInit gives 100 (no device)") && ContainsSubstring("use 0 to 7"));
}

TEST_CASE("quotes, ranges and words of others leave one GPU or none, without a message", "[user_reports]") {
  struct Row {
    char const* text;
    std::size_t count;
    char const* fix;
  };
  for (Row const& row :
       {Row{"\"0\"", 0, "remove the quotes"}, Row{"\"0,1\"", 0, "remove the quotes"},
        Row{"0-1", 1, "list every index: 0,1,2"}, Row{"0;1", 1, "separate the entries by commas"},
        Row{"0 1", 1, "separate the entries by commas"}, Row{"0:0", 1, "separate the entries by commas"},
        Row{"$0", 0, "give an index or a UUID"}, Row{"all", 0, "that is a word of NVIDIA_VISIBLE_DEVICES"},
        Row{"void", 0, "that is a word of NVIDIA_VISIBLE_DEVICES"},
        Row{"NoDevFiles", 0, "Slurm gave this job no GPU"}}) {
    INFO(row.text);
    CHECK(visible_count(row.text, cuenv_tests::two_h200()) == row.count);
    CHECK_THAT(explained(row.text, cuenv_tests::two_h200()),
               ContainsSubstring("CUDA_VISIBLE_DEVICES=") && ContainsSubstring(row.fix));
  }
  for (char const* harmless : {"1\n", "1\r"}) CHECK(visible_count(harmless, cuenv_tests::two_h200()) == 1);
}

TEST_CASE("a setting has no effect, since its name or its word is a slip", "[user_reports]") {
  for (auto const& [name, meant] : Variables{{"CUDA_VISABLE_DEVICES", "CUDA_VISIBLE_DEVICES"},
                                             {"CUDA_VISIBLE_DEVIES", "CUDA_VISIBLE_DEVICES"},
                                             {"CUDA_CACHE_MAX_SIZE", "CUDA_CACHE_MAXSIZE"},
                                             {"CUDA_MAX_CONNECTIONS", "CUDA_DEVICE_MAX_CONNECTIONS"}}) {
    INFO(name);
    CHECK_THAT(
        explained({{name, "1"}}, cuenv_tests::two_h200()),
        ContainsSubstring("nothing reads a variable of this name") && ContainsSubstring("did you mean " + meant + "?"));
  }
  CHECK_THAT(explained({{"CUDA_MODULE_LOADING", "AUTO"}}, cuenv_tests::two_h200()),
             ContainsSubstring("every text but EAGER counts as lazy") && ContainsSubstring("write LAZY or EAGER"));
  CHECK(cuenv::explain_variables({{"MY_CUDA_SETTING", "1"}}, cuenv_tests::two_h200()).empty());
}

// Which GPU is that ---------------------------------------------------------------------------------------------------

TEST_CASE("GPU 0 of nvidia-smi is idle and the other one works", "[user_reports]") {
  CHECK_FALSE(cuenv::resolve_visibility({"0", std::nullopt}, cuenv_tests::unlike_gpus()).devices.at(0).physical);
  DescribedSystem here{simulated::shipped_machine("rtx_3090_4070")};
  here.environment.variables["CUDA_VISIBLE_DEVICES"] = "0";
  Session const session{{}, cuenv::SessionOptions::none, here.system};
  CHECK(session.devices().at(0).physical == physical(1));
  CHECK_THAT(to_string(session.report()), ContainsSubstring("index 0 is the fastest GPU and not nvidia-smi's GPU 0") &&
                                              ContainsSubstring("CUDA_DEVICE_ORDER=PCI_BUS_ID, or use UUIDs"));
}

TEST_CASE("invalid device everywhere, since the order is misspelt", "[user_reports]") {
  for (char const* text : {"pci_bus_id", "foo", "", " PCI_BUS_ID"}) {
    INFO("'" << text << "'");
    DescribedSystem here;
    here.environment.variables = {{"CUDA_DEVICE_ORDER", text}, {"CUDA_VISIBLE_DEVICES", "0"}};
    auto const error = refused<cuenv::DriverError>(here);
    CHECK(error.code() == 101);
    CHECK_THAT(error.what(), ContainsSubstring("CUDA_DEVICE_ORDER") &&
                                 ContainsSubstring("must be exactly PCI_BUS_ID or FASTEST_FIRST") &&
                                 ContainsSubstring("fix: CUDA_DEVICE_ORDER=PCI_BUS_ID"));
  }
}

TEST_CASE("invalid device ordinal, since the number of the variable is passed on", "[user_reports]") {
  DescribedSystem here{simulated::shipped_machine("four_h200")};
  here.environment.variables["CUDA_VISIBLE_DEVICES"] = "3";
  {
    Session const session{{}, cuenv::SessionOptions::none, here.system};
    CHECK(session.map().find(logical(3)) == nullptr);
    CHECK(session.map().find(physical(3)) == std::vector<cuenv::LogicalIndex>{logical(0)});
    CHECK_THROWS_WITH(session.load_check_bytes("", logical(3)),
                      ContainsSubstring("this many devices are visible: 1") && ContainsSubstring("logical GPU 3"));
  }
  // Hidden once already, and hidden again by a number that counts what is left.
  auto const error = refused<cuenv::SettingsError>(here, list({logical(3)}, Precedence::refine));
  CHECK_THAT(error.what(), ContainsSubstring("there is no logical device 3: 1 is visible"));
}

TEST_CASE("every rank lands on GPU 0, or its number is out of range", "[user_reports]") {
  auto const findings_of = [](Variables const& variables) {
    DescribedEnvironment const environment{variables};
    return to_string(
        cuenv::settings_for_rank(cuenv::find_local_rank(environment), {}, environment, cuenv_tests::alike_gpus(4))
            .problems());
  };
  for (char const* rank : {"0", "1", "2", "3"}) {
    std::string const found = findings_of({{"SLURM_LOCALID", rank}, {"SLURM_STEP_TASKS_PER_NODE", "4"}});
    CHECK_THAT(found, ContainsSubstring("local rank " + std::string{rank} + " of 4 takes logical GPU " + rank));
  }
  CHECK_THAT(findings_of({{"SLURM_LOCALID", "3"}, {"CUDA_VISIBLE_DEVICES", "3"}}),
             ContainsSubstring("local rank 3 keeps what this list leaves visible, 1 GPU: the launcher's choice"));
  CHECK_THAT(findings_of({}), ContainsSubstring("no launcher's variable says which local rank this process is"));
  CHECK_THAT(findings_of({{"OMPI_COMM_WORLD_LOCAL_RANK", ""}}),
             ContainsSubstring("error: OMPI_COMM_WORLD_LOCAL_RANK: it is set and empty"));
  CHECK_THAT(findings_of({{"SLURM_LOCALID", "0"}, {"SLURM_STEP_TASKS_PER_NODE", "2"}, {"CUDA_VISIBLE_DEVICES", "2"}}),
             ContainsSubstring("keeps what this list leaves visible"));
  CHECK_THAT(findings_of({{"SLURM_LOCALID", "4"}, {"SLURM_STEP_TASKS_PER_NODE", "5"}}),
             ContainsSubstring("local ranks 0 and 4 share logical GPU 0"));
}

TEST_CASE("no GPU in a container, with the index that was right on the host", "[user_reports]") {
  auto const one = cuenv_tests::alike_gpus(1);
  std::vector<Assignment> const carried{{"CUDA_VISIBLE_DEVICES", "1"}, {"NVIDIA_VISIBLE_DEVICES", "1"}};
  CHECK_THAT(explained(carried, one),
             ContainsSubstring("'1' is out of range: this machine shows 1 GPU") &&
                 ContainsSubstring("use 0, or a UUID: inside a container") &&
                 ContainsSubstring("NVIDIA_VISIBLE_DEVICES=1: a container has those GPUs of its host") &&
                 ContainsSubstring("remove CUDA_VISIBLE_DEVICES inside the container"));
  // Nothing is said of it where the list is fine, or where there is no such variable.
  CHECK(explained({{"CUDA_VISIBLE_DEVICES", "0"}, {"NVIDIA_VISIBLE_DEVICES", "1"}}, one) == "\n\n");
  CHECK_THAT(explained("1", one), !ContainsSubstring("NVIDIA_VISIBLE_DEVICES"));
}

TEST_CASE("a client of MPS sees no GPU or another one", "[user_reports]") {
  auto const machine = cuenv_tests::alike_gpus(4);
  auto const with_mps = [&](std::string const& visible) {
    return explained({{"CUDA_MPS_PIPE_DIRECTORY", "/run/mps"}, {"CUDA_VISIBLE_DEVICES", visible}}, machine);
  };
  CHECK_THAT(with_mps("2"), ContainsSubstring("note: CUDA_VISIBLE_DEVICES=2: CUDA_MPS_PIPE_DIRECTORY=/run/mps") &&
                                ContainsSubstring("an index counts the daemon's GPUs, from 0") &&
                                ContainsSubstring("use UUIDs"));
  for (char const* no_index : {"GPU-01", "-1", ""}) CHECK_THAT(with_mps(no_index), !ContainsSubstring("daemon"));
  CHECK_THAT(explained("2", machine), !ContainsSubstring("daemon"));

  simulated::Machine unreachable = simulated::shipped_machine("two_h200");
  unreachable.init_error = 805;
  DescribedSystem const here{unreachable};
  CHECK_THAT(refused<cuenv::DriverError>(here).what(), ContainsSubstring("the MPS daemon cannot be reached"));
}

TEST_CASE("each layer rewrites the list for the next, and the last measures the wrong GPU", "[user_reports]") {
  DescribedSystem here{simulated::shipped_machine("four_h200")};
  here.environment.variables["CUDA_VISIBLE_DEVICES"] = "2,3";
  Session const session{list({logical(1)}, Precedence::refine), cuenv::SessionOptions::none, here.system};
  CHECK(here.environment.variables["CUDA_VISIBLE_DEVICES"] == "3");
  REQUIRE(session.devices().size() == 1);
  CHECK(session.devices()[0].physical == physical(3));
  CHECK_THAT(to_string(session.devices()[0]), ContainsSubstring("GPU-e4d3c2b1-"));  // what to pass on
  CHECK_THAT(to_string(session.report()), ContainsSubstring("CUDA_VISIBLE_DEVICES: '3' applied, was '2,3'"));
}

// Other variables -----------------------------------------------------------------------------------------------------

TEST_CASE("CUDA_LAUNCH_BLOCKING is set and stack traces are still asynchronous", "[user_reports]") {
  for (char const* text : {"true", "yes", "2"}) {
    INFO(text);
    DescribedSystem here;
    here.environment.variables["CUDA_LAUNCH_BLOCKING"] = text;
    Session const session{{}, cuenv::SessionOptions::none, here.system};
    CHECK_THAT(to_string(session.report()), ContainsSubstring("CUDA_LAUNCH_BLOCKING=" + std::string{text}) &&
                                                ContainsSubstring("only the number 1 switches on, so this is off") &&
                                                ContainsSubstring("fix: write 1"));
  }
  DescribedSystem here;
  Session const session{{}, cuenv::SessionOptions::none, here.system};
  CUcontext context = nullptr;
  REQUIRE(session.driver().api.primary_ctx_retain(&context, 0) == CUDA_SUCCESS);
  CHECK_THAT(refused<cuenv::TooLateError>(here, one_setting(cuenv::launch_blocking, true)).what(),
             ContainsSubstring("has a context") && ContainsSubstring("it is read at context creation"));
}

TEST_CASE("the program is slower by a factor, since a switch for debugging was left on", "[user_reports]") {
  for (auto const& [name, cost] : Variables{{"CUDA_LAUNCH_BLOCKING", "nothing overlaps"},
                                            {"CUDA_CACHE_DISABLE", "every process compiles it anew"},
                                            {"CUDA_FORCE_PTX_JIT", "all PTX is compiled at run time"},
                                            {"CUDA_FORCE_JIT", "all PTX is compiled at run time"},
                                            {"CUDA_DEVICE_WAITS_ON_EXCEPTION", "hangs until a debugger comes"}}) {
    INFO(name);
    auto const explanations = cuenv::explain_variables({{name, "1"}}, cuenv_tests::two_h200());
    REQUIRE(explanations.size() == 1);
    REQUIRE(explanations[0].findings.size() == 1);
    auto const& note = explanations[0].findings[0];
    CHECK(note.severity == Severity::note);
    CHECK(note.code == "environment.slow");
    CHECK_THAT(note.driver, ContainsSubstring(cost));
    CHECK(note.fix == "remove it unless you are debugging");

    DescribedSystem here;
    here.environment.variables[name] = "1";
    Session const session{{}, cuenv::SessionOptions::none, here.system};
    REQUIRE(session.report().findings.size() == 1);
    CHECK(to_string(session.report().findings[0]) == to_string(note));
  }
  for (char const* off : {"0", "true", "2", ""}) CHECK_FALSE(cuenv::check_slow_switch("CUDA_LAUNCH_BLOCKING", off));
  CHECK_FALSE(cuenv::check_slow_switch("CUDA_DISABLE_PTX_JIT", "1"));
}

TEST_CASE("a switch that the program itself chose needs no reminder", "[user_reports]") {
  auto const notes = [](char const* found, bool wanted, Precedence precedence) {
    DescribedEnvironment const environment{{{"CUDA_LAUNCH_BLOCKING", found}}};
    return make_plan(one_setting(cuenv::launch_blocking, wanted, precedence), environment, cuenv_tests::two_h200())
        .findings.size();
  };
  CHECK(notes("1", true, Precedence::keep) == 0);
  CHECK(notes("1", false, Precedence::override) == 0);
  CHECK(notes("1", false, Precedence::keep) == 1);
  CHECK(notes("0", true, Precedence::override) == 0);
}

TEST_CASE("the cache and the loading mode cannot be toggled later", "[user_reports]") {
  DescribedSystem here;
  REQUIRE(start_cuda_elsewhere() == 0);
  Settings settings;
  settings.set(cuenv::cache_disable, true)
      .set(cuenv::module_loading, cuenv::ModuleLoading::eager)
      .set(cuenv::disable_ptx_jit, true);
  auto const error = refused<cuenv::TooLateError>(here, settings);
  CHECK(error.diagnostics().size() == 3);
  for (auto const& finding : error.diagnostics()) {
    CHECK_THAT(to_string(finding), ContainsSubstring("it is read at cuInit, and a change now is ignored") &&
                                       ContainsSubstring("start the program with " + finding.subject + "="));
  }
  Session const session{settings, cuenv::apply_what_still_works, here.system};
  CHECK(here.environment.variables.empty());
  for (auto const& variable : session.report().variables) CHECK(variable.outcome == cuenv::Outcome::left);
}

TEST_CASE("the user's value is overwritten without a word", "[user_reports]") {
  DescribedSystem here;
  here.environment.variables["CUDA_VISIBLE_DEVICES"] = "1";
  {
    Session const session{list({physical(0)}), cuenv::SessionOptions::none, here.system};
    CHECK(here.environment.variables == Variables{{"CUDA_VISIBLE_DEVICES", "1"}});
    CHECK_THAT(to_string(session.report()),
               ContainsSubstring("CUDA_VISIBLE_DEVICES: '1' kept from the environment, not '0'"));
  }
  DescribedSystem other;
  other.environment.variables["CUDA_VISIBLE_DEVICES"] = "1";
  Session const session{list({physical(0)}, Precedence::override), cuenv::SessionOptions::none, other.system};
  CHECK(other.environment.variables["CUDA_VISIBLE_DEVICES"] == "0");
  CHECK(session.report().variables.at(0).found == "1");  // what it takes to put it back
  CHECK_THAT(to_string(session.report()), ContainsSubstring("CUDA_VISIBLE_DEVICES: '0' applied, was '1'"));
}
