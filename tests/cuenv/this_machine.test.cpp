#include <cuenv/session.hpp>
#include <cuenv/this_machine.hpp>

#include "support/catch.hpp"
#include "support/described_system.hpp"

#include <filesystem>
#include <fstream>
#include <string>

using namespace cuenv_tests;
using namespace std::string_literals;

namespace {

/// A daemon in /mps that was started with GPU 1 alone.
void describe_daemon(std::string const& root) {
  for (auto const& [name, content] : {std::pair{"/mps/control", ""s},
                                      {"/mps/nvidia-cuda-mps-control.pid", "717"s},
                                      {"/proc/717/comm", "nvidia-cuda-mps\n"s},
                                      {"/proc/717/environ", "CUDA_VISIBLE_DEVICES=1\0"s}}) {
    std::filesystem::create_directories(std::filesystem::path{root + name}.parent_path());
    std::ofstream{root + name, std::ios::binary} << content;
  }
}

}  // namespace

TEST_CASE("the machine of a process lacks what its MPS daemon hides", "[this_machine]") {
  DescribedSystem described;
  describe_daemon(described.root());
  cuenv::Machine machine = cuenv::read_this_machine(described.system);
  REQUIRE(machine.gpus.size() == 2);
  CHECK(machine.reachable_gpus() == 2);  // another folder

  described.environment.variables["CUDA_MPS_PIPE_DIRECTORY"] = "/mps";
  machine = cuenv::read_this_machine(described.system);
  CHECK(machine.gpus[0].hidden_by_mps);
  CHECK_FALSE(machine.gpus[1].hidden_by_mps);

  cuenv::Settings settings;
  settings.set(cuenv::visible_devices, {cuenv::physical(0)});
  try {
    cuenv::Session const session{settings, {}, described.system};
    FAIL("the daemon hides GPU 0");
  } catch (cuenv::SettingsError const& error) {
    CHECK_THAT(error.what(), ContainsSubstring("the MPS daemon of this process was not given all of these GPUs") &&
                                 ContainsSubstring("it has physical GPU 1 alone"));
  }
}
