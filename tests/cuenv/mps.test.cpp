#include <cuenv/explain_visibility.hpp>
#include <cuenv/mps.hpp>

#include "support/catch.hpp"
#include "support/described_machines.hpp"
#include "support/described_tree.hpp"

#include <optional>
#include <string>
#include <vector>

using namespace cuenv_tests;
using namespace std::string_literals;
using cuenv::find_mps;
using cuenv::Machine;
using cuenv::Mps;
using cuenv::MpsState;
using cuenv::physical;
using cuenv::VisibleDevices;

namespace {

using Text = std::optional<std::string>;

Machine as_client(Machine machine, Text visible, Text order = {}) {
  Mps mps;
  mps.state = MpsState::running;
  mps.variables_known = true;
  mps.visible = std::move(visible);
  mps.order = std::move(order);
  cuenv::apply_mps(machine, mps);
  return machine;
}

/// "0: 1 0", what cuInit answers and the GPUs in logical order.
std::string seen(Machine const& machine, Text const& visible, Text const& order = {}) {
  cuenv::VisibilityVariables variables;
  if (visible) variables.visible = *visible;
  if (order) variables.order = *order;
  auto const visibility = cuenv::resolve_visibility(variables, machine);
  if (!visibility.known) return "unknown";
  std::string text = std::to_string(visibility.cu_init) + ":";
  for (auto const& device : visibility.devices) text += " " + std::to_string(device.physical.value().value);
  return text;
}

}  // namespace

// Measured on driver 580.159.04 with two H200, each daemon and client a fresh process; the UUIDs are replaced.
TEST_CASE("the client of an MPS daemon sees its GPUs, in the order of the bus", "[mps]") {
  struct Row {
    Text daemon, visible, order;
    std::string expected;
  };
  std::string const mig_of_0 = "MIG-" + std::string{uuid_0}.substr(4);
  std::vector<Row> const rows{{{}, {}, {}, "0: 0 1"},
                              {{}, "0", {}, "0: 0"},
                              {{}, "1", {}, "0: 1"},
                              {{}, "1,0", {}, "0: 1 0"},
                              {{}, "-1", {}, "100:"},
                              {{}, "", {}, "100:"},
                              {{}, uuid_0, {}, "0: 0"},
                              {{}, uuid_1, {}, "0: 1"},
                              {{}, std::string{uuid_1}.substr(0, 12), {}, "0: 1"},
                              {{}, mig_of_0, {}, "0: 0"},
                              {{}, "0,0", {}, "101:"},
                              {{}, "7", {}, "100:"},
                              {{}, "abc", {}, "100:"},
                              {{}, uuid_1 + ","s + uuid_0, {}, "0: 1 0"},
                              {{}, {}, "bad", "101:"},
                              {{}, {}, "PCI_BUS_ID", "0: 0 1"},
                              {{}, "1", "PCI_BUS_ID", "0: 1"},
                              {"1", "0", {}, "0: 1"},
                              {"1", "1", {}, "100:"},
                              {"1", "1,0", {}, "100:"},
                              {"1", uuid_0, {}, "100:"},
                              {"1", uuid_1, {}, "0: 1"},
                              {"1", "-1", {}, "100:"},
                              {"1", {}, {}, "0: 1"},
                              {"1,0", "0", {}, "0: 0"},
                              {"1,0", "1", {}, "0: 1"},
                              {"1,0", "1,0", {}, "0: 1 0"},
                              {"1,0", {}, {}, "0: 0 1"},
                              {"1,0", {}, "PCI_BUS_ID", "0: 0 1"},
                              {"1,0", "0", "PCI_BUS_ID", "0: 0"},
                              {uuid_1, {}, {}, "0: 1"},
                              {uuid_1, "0", {}, "0: 1"},
                              {uuid_1, uuid_1, {}, "0: 1"},
                              {uuid_1, uuid_0, {}, "100:"}};
  for (Row const& row : rows) {
    INFO("daemon " << row.daemon.value_or("(not set)") << ", client " << row.visible.value_or("(not set)"));
    CHECK(seen(as_client(two_h200(), row.daemon), row.visible, row.order) == row.expected);
  }
}

TEST_CASE("where the GPUs of a daemon are not known, nothing is predicted", "[mps]") {
  Mps mps;
  mps.state = MpsState::running;
  Machine machine = two_h200();
  cuenv::apply_mps(machine, mps);
  CHECK(seen(machine, "0") == "unknown");
  CHECK_THAT(std::string{machine.doubt}, ContainsSubstring("another user's"));
  CHECK(machine.reachable_gpus() == 2);

  mps.state = MpsState::unclear;
  machine = two_h200();
  cuenv::apply_mps(machine, mps);
  CHECK_THAT(std::string{machine.doubt}, ContainsSubstring("container"));

  Machine alone = described_machine({described_gpu(uuid_0, 1)});  // a daemon has at least one GPU
  cuenv::apply_mps(alone, mps);
  CHECK(seen(alone, "0") == "0: 0");

  CHECK(seen(as_client(unlike_gpus(), "0"), {}) == "unknown");  // the faster one, whichever that is
  CHECK(seen(as_client(unlike_gpus(), "0", "PCI_BUS_ID"), {}) == "0: 0");
  CHECK(seen(as_client(unlike_gpus(), "1,0", "PCI_BUS_ID"), {}, "PCI_BUS_ID") == "0: 0 1");
  CHECK(seen(as_client(two_h200(), "7"), {}) == "unknown");  // with such a list it would not have started

  for (MpsState const state : {MpsState::none, MpsState::ended}) {
    mps.state = state;
    machine = two_h200();
    cuenv::apply_mps(machine, mps);
    CHECK(seen(machine, "1") == "0: 1");
  }
}

TEST_CASE("GPUs that differ count as alike where the daemon has those that are", "[mps]") {
  Machine machine = described_machine({described_gpu(uuid_0, 1, "NVIDIA A100"), described_gpu(uuid_1, 2),
                                       described_gpu("GPU-d0000000-0000-0000-0000-000000000000", 3)});
  CHECK_FALSE(machine.gpus_are_alike());
  machine = as_client(machine, "GPU-d,"s + uuid_1);
  CHECK(machine.gpus_are_alike());
  CHECK(machine.reachable_gpus() == 2);
  CHECK(seen(machine, "1,0") == "0: 2 1");
}

TEST_CASE("physical indices are written as the client of a daemon counts", "[mps]") {
  Machine const machine = as_client(alike_gpus(4), "1,3");
  CHECK(cuenv::visible_devices_text({physical(3)}, machine) == "1");
  CHECK(cuenv::visible_devices_text({physical(3), physical(1)}, machine) == "1,0");
  CHECK(cuenv::visible_devices_text({physical(0)}, machine) == std::nullopt);
  CHECK(cuenv::visible_devices_text({physical(1), physical(2)}, machine) == std::nullopt);
  CHECK(cuenv::visible_devices_text({physical(7)}, machine) == "5");  // out of range before and after
  CHECK(cuenv::visible_devices_text({cuenv::logical(1)}, machine) == "logical:1");
  CHECK(cuenv::visible_devices_text({physical(7)}, two_h200()) == "7");
  CHECK(cuenv::visible_devices_text({physical(2147483647)}, two_h200()) == "2147483647");
  CHECK(cuenv::visible_devices_text(VisibleDevices::none(), machine) == "-1");
}

TEST_CASE("what a daemon hides is said", "[mps]") {
  Machine const machine = as_client(two_h200(), "1");
  auto const explained = [&](std::string const& visible) {
    cuenv::VisibilityVariables const variables{visible, {}};
    return to_string(cuenv::explain(cuenv::resolve_visibility(variables, machine), variables, machine));
  };
  CHECK_THAT(explained("1"), ContainsSubstring("out of range: the MPS daemon of this process has 1 of this machine's 2 "
                                               "GPUs") &&
                                 ContainsSubstring("use 0, or a UUID"));
  CHECK_THAT(explained(uuid_0), ContainsSubstring("begins the UUID of no GPU here: the MPS daemon"));
  CHECK_THAT(explained("-1"), ContainsSubstring("every GPU is hidden (the MPS daemon"));
  CHECK(explained("0").empty());
}

// "" stands for "/" there: the functions that look at files are for Linux.
#ifdef __linux__

TEST_CASE("a daemon is found by its folder, as CUDA finds it", "[mps]") {
  DescribedTree tree;
  CHECK(find_mps({}, tree.root()).state == MpsState::none);
  tree.file("/tmp/nvidia-mps/control");
  CHECK(find_mps({}, tree.root()).state == MpsState::ended);  // what it leaves when it quits
  tree.file("/tmp/nvidia-mps/nvidia-cuda-mps-control.pid", "717");
  CHECK(find_mps({}, tree.root()).state == MpsState::unclear);
  tree.file("/proc/717/comm", "bash\n");
  CHECK(find_mps({}, tree.root()).state == MpsState::unclear);
  tree.file("/proc/717/comm", "nvidia-cuda-mps\n");

  Mps mps = find_mps({}, tree.root());
  CHECK(mps.state == MpsState::running);
  CHECK(mps.folder == "/tmp/nvidia-mps");
  CHECK(mps.process == "717");
  CHECK_FALSE(mps.variables_known);

  tree.file("/proc/717/environ", "HOME=/root\0CUDA_VISIBLE_DEVICES=1,0\0"s);
  mps = find_mps({}, tree.root());
  CHECK(mps.variables_known);
  CHECK(mps.visible == "1,0");
  CHECK(mps.order == std::nullopt);
  tree.file("/proc/717/environ", "");
  CHECK_FALSE(find_mps({}, tree.root()).variables_known);

  CHECK(find_mps("", tree.root()).state == MpsState::none);  // an empty text is no folder
  CHECK(find_mps("/tmp/none", tree.root()).state == MpsState::none);
  CHECK(find_mps(" /tmp/nvidia-mps", tree.root()).state == MpsState::none);
  CHECK(find_mps("/tmp/nvidia-mps/", tree.root()).state == MpsState::running);
  CHECK(find_mps("/tmp/nvidia-mps/control", tree.root()).state == MpsState::none);
  CHECK(find_mps(tree.root() + "/tmp/nvidia-mps", "").state != MpsState::running);  // no such process here
}

TEST_CASE("a daemon that was killed leaves no doubt where every process is seen", "[mps]") {
  DescribedTree tree;
  tree.file("/tmp/nvidia-mps/control").file("/tmp/nvidia-mps/nvidia-cuda-mps-control.pid", "717");
  tree.link("/proc/self/ns/pid", "pid:[4026532001]");  // a container's
  CHECK(find_mps({}, tree.root()).state == MpsState::unclear);
  DescribedTree host;
  host.file("/tmp/nvidia-mps/control").file("/tmp/nvidia-mps/nvidia-cuda-mps-control.pid", "717");
  host.link("/proc/self/ns/pid", "pid:[4026531836]");
  Mps const mps = find_mps({}, host.root());
  CHECK(mps.state == MpsState::ended);
  CHECK(mps.process == "717");
}

TEST_CASE("a file of nonsense in the folder of a daemon is survived", "[mps]") {
  DescribedTree tree;
  tree.file("/m/control");
  for (std::string const& content :
       {""s, "x"s, "-1"s, "../../etc"s, "99999999999999999999"s, std::string(100, '1'), "7\0 8"s}) {
    tree.file("/m/nvidia-cuda-mps-control.pid", content);
    Mps const mps = find_mps("/m", tree.root());
    CHECK(mps.state == MpsState::unclear);
    CHECK(mps.process.empty());
  }
}

TEST_CASE("a daemon whose files cannot be read may run", "[mps]") {
  DescribedTree tree;
  tree.file("/m/control").link("/m/nvidia-cuda-mps-control.pid", "nvidia-cuda-mps-control.pid");  // a loop
  Mps mps = find_mps("/m", tree.root());
  CHECK(mps.state == MpsState::unclear);
  CHECK_THAT(mps.unread, ContainsSubstring("nvidia-cuda-mps-control.pid failed"));
  Machine machine = two_h200();
  cuenv::apply_mps(machine, mps);
  CHECK(machine.doubt == "whether an MPS daemon runs here cannot be read");
  CHECK(find_mps("/m/nvidia-cuda-mps-control.pid", tree.root()).state == MpsState::none);  // nor can CUDA enter it
}

#endif
