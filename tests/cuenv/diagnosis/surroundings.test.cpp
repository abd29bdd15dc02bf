#include <cuenv/diagnosis/surroundings.hpp>

#include "support/catch.hpp"
#include "support/described_machines.hpp"
#include "support/described_system.hpp"
#include "support/described_tree.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

using namespace cuenv_tests;
using cuenv::Assignment;
using cuenv::diagnose_surroundings;
using cuenv::Health;
using cuenv::Severity;

namespace {

std::string const libraries = system_libraries;

cuenv::Machine machine_of_proc() {
  cuenv::Machine machine = two_h200();
  machine.source = cuenv::MachineSource::proc;
  return machine;
}

std::string status(unsigned user, unsigned group, std::string const& groups = "",
                   std::string const& capabilities = "0") {
  std::string const u = std::to_string(user);
  std::string const g = std::to_string(group);
  return "Name:\tprogram\nUmask:\t0022\nUid:\t" + u + "\t" + u + "\t" + u + "\t" + u + "\nGid:\t" + g + "\t" + g +
         "\t" + g + "\t" + g + "\nFDSize:\t64\nGroups:\t" + groups + " \nCapEff:\t000000000000000" + capabilities +
         "\n";
}

/// Two GPUs with their device nodes, and a user who may use them.
void healthy(DescribedTree& tree) {
  for (char const* node : {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia0", "nvidia1"}) {
    tree.file(std::string{"/dev/"} + node);
    REQUIRE(::chmod((tree.root() + "/dev/" + node).c_str(), 0666) == 0);
  }
  tree.file("/proc/self/status", status(::getuid() + 1, ::getgid() + 1));
}

/// The same in a container with the driver's libraries.
void container(DescribedTree& tree) {
  healthy(tree);
  tree.file("/.dockerenv").file(libraries + "libcuda.so.1").file(libraries + "libnvidia-ml.so.1");
}

cuenv::Diagnostic finding(cuenv::RungReport const& report, std::string_view code) {
  for (cuenv::Diagnostic const& one : report.findings) {
    if (one.code == code) return one;
  }
  FAIL("no such finding");
  return {};
}

/// Makes nodes private to their owner and looks at the machine as another user.
cuenv::RungReport with_modes(std::vector<std::string> const& nodes, unsigned mode, std::string const& process) {
  DescribedTree tree;
  healthy(tree);
  for (std::string const& node : nodes) REQUIRE(::chmod((tree.root() + "/dev/" + node).c_str(), mode) == 0);
  tree.file("/proc/self/status", process);
  return diagnose_surroundings(tree.site(), machine_of_proc());
}

}  // namespace

TEST_CASE("around a healthy machine nothing is found", "[diagnosis]") {
  DescribedTree tree;
  healthy(tree);
  auto const report = diagnose_surroundings(tree.site(), machine_of_proc());
  CHECK(report.rung == cuenv::Rung::surroundings);
  CHECK(report.health() == Health::fine);
  CHECK(report.findings.empty());
  CHECK(report.facts.empty());
}

TEST_CASE("in a container that was given its GPUs nothing is found", "[diagnosis]") {
  DescribedTree tree;
  container(tree);
  for (char const* devices : {"all", "void", "0,1", "GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b"}) {
    auto const report = diagnose_surroundings(
        tree.site({{"NVIDIA_VISIBLE_DEVICES", devices}, {"NVIDIA_DRIVER_CAPABILITIES", "compute,utility"}}),
        machine_of_proc());
    CAPTURE(devices);
    CHECK(report.findings.empty());
    CHECK(fact(report, "container") == "docker");
    CHECK(fact(report, "NVIDIA_VISIBLE_DEVICES") == devices);
    CHECK(report.health() == Health::fine);
  }
}

TEST_CASE("a container that was asked for without GPUs", "[diagnosis]") {
  DescribedTree tree;
  tree.file("/.dockerenv");
  std::vector<Assignment> const variables{{"NVIDIA_VISIBLE_DEVICES", "void"}};
  auto const report = diagnose_surroundings(tree.site(variables), {});
  CHECK(provokes(report, "surroundings.container_without_gpus"));
  CHECK_THAT(finding(report, "surroundings.container_without_gpus").fix, ContainsSubstring("--gpus all"));
  CHECK(spares(diagnose_surroundings(tree.site(variables), machine_of_proc()), "surroundings.container_without_gpus"));
  DescribedTree pod;
  auto const kubernetes = diagnose_surroundings(
      pod.site({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"NVIDIA_VISIBLE_DEVICES", "none"}}), {});
  CHECK_THAT(finding(kubernetes, "surroundings.container_without_gpus").fix, ContainsSubstring("nvidia.com/gpu"));
  CHECK(spares(diagnose_surroundings(DescribedTree{}.site(variables), {}), "surroundings.container_without_gpus"));
}

TEST_CASE("fewer GPUs than the container was asked for", "[diagnosis]") {
  DescribedTree tree;
  container(tree);
  auto const with = [&](char const* devices) {
    return diagnose_surroundings(tree.site({{"NVIDIA_VISIBLE_DEVICES", devices}}), machine_of_proc());
  };
  CHECK(provokes(with("0, 1 ,2"), "surroundings.fewer_gpus"));
  CHECK(spares(with("0,1"), "surroundings.fewer_gpus"));
  CHECK(spares(with("0,,1,"), "surroundings.fewer_gpus"));
  CHECK(spares(with("0:0,0:1,1:0"), "surroundings.fewer_gpus"));
  CHECK(spares(with("nvidia.com/gpu=0,b,c"), "surroundings.fewer_gpus"));
}

TEST_CASE("a container without the library for CUDA, or without NVML", "[diagnosis]") {
  DescribedTree no_compute;
  healthy(no_compute);
  no_compute.file("/.dockerenv").file(libraries + "libnvidia-ml.so.1");
  auto const first =
      diagnose_surroundings(no_compute.site({{"NVIDIA_DRIVER_CAPABILITIES", "utility"}}), machine_of_proc());
  CHECK(provokes(first, "surroundings.no_compute"));
  CHECK(spares(first, "surroundings.no_utility"));
  CHECK(first.health() == Health::broken);

  DescribedTree no_utility;
  healthy(no_utility);
  no_utility.file("/.dockerenv").file(libraries + "libcuda.so.1");
  auto const second = diagnose_surroundings(no_utility.site(), machine_of_proc());
  CHECK(provokes(second, "surroundings.no_utility"));
  CHECK(spares(second, "surroundings.no_compute"));
  CHECK(second.health() == Health::doubtful);
}

TEST_CASE("a simulated driver in a container comes without NVML", "[diagnosis]") {
  DescribedTree tree;
  healthy(tree);
  tree.file("/.dockerenv");
  DescribedSystem const described;
  cuenv::Site site = tree.site();
  site.system.open_driver = described.system.open_driver;
  CHECK(spares(diagnose_surroundings(site, machine_of_proc()), "surroundings.no_utility"));
}

TEST_CASE("WSL 1, and WSL 2 without a GPU", "[diagnosis]") {
  DescribedTree first;
  first.file("/proc/sys/kernel/osrelease", "4.4.0-19041-Microsoft\n");
  auto const one = diagnose_surroundings(first.site(), {});
  CHECK(provokes(one, "surroundings.wsl1"));
  CHECK(spares(one, "surroundings.wsl_no_gpu"));

  DescribedTree second;
  second.file("/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n");
  auto const two = diagnose_surroundings(second.site(), {});
  CHECK(provokes(two, "surroundings.wsl_no_gpu"));
  CHECK(spares(two, "surroundings.wsl1"));
  second.file("/dev/dxg");
  auto const good = diagnose_surroundings(second.site(), {});
  CHECK(spares(good, "surroundings.wsl_no_gpu"));
  CHECK(good.findings.empty());
  CHECK(fact(good, "WSL") == "2");
}

TEST_CASE("a libcuda in a conda prefix", "[diagnosis]") {
  DescribedTree tree;
  tree.directory("/opt/conda/cuda-compat");
  std::vector<Assignment> const variables{{"CONDA_PREFIX", "/opt/conda"}, {"CONDA_OVERRIDE_CUDA", "12.5"}};
  auto const good = diagnose_surroundings(tree.site(variables), {});
  CHECK(spares(good, "surroundings.conda_libcuda"));
  CHECK(fact(good, "conda") == "/opt/conda, with cuda-compat");
  CHECK(fact(good, "CONDA_OVERRIDE_CUDA") == "12.5");
  tree.file("/opt/conda/lib/libcuda.so.1");
  CHECK(provokes(diagnose_surroundings(tree.site(variables), {}), "surroundings.conda_libcuda"));
}

TEST_CASE("an MPS daemon, one that is gone, and none", "[diagnosis]") {
  DescribedTree tree;
  std::vector<Assignment> const set{{"CUDA_MPS_PIPE_DIRECTORY", "/run/mps"}};
  auto const none = diagnose_surroundings(tree.site(set), {});
  CHECK(provokes(none, "surroundings.mps_no_daemon"));
  CHECK(spares(diagnose_surroundings(tree.site(), {}), "surroundings.mps_no_daemon"));
  CHECK(spares(none, "surroundings.mps"));
  CHECK(spares(none, "surroundings.mps_stale"));

  tree.file("/run/mps/control");  // as a daemon leaves it that has quit
  auto const quit = diagnose_surroundings(tree.site(set), {});
  CHECK(provokes(quit, "surroundings.mps_no_daemon"));
  CHECK(finding(quit, "surroundings.mps_no_daemon").driver == "the program runs without MPS, and nothing says so");
  CHECK(spares(quit, "surroundings.mps"));
  auto const off = diagnose_surroundings(tree.site({{"CUDA_MPS_PIPE_DIRECTORY", ""}}), {});
  CHECK(spares(off, "surroundings.mps_no_daemon"));
  CHECK(fact(off, "MPS") == "off, since CUDA_MPS_PIPE_DIRECTORY is empty");

  tree.file("/run/mps/nvidia-cuda-mps-control.pid", "4711\n").file("/proc/4711/comm", "nvidia-cuda-mps\n");
  cuenv::Machine machine = two_h200();
  machine.gpus[0].hidden_by_mps = true;
  auto const running = diagnose_surroundings(tree.site(set), machine);
  CHECK(fact(running, "GPUs of the MPS daemon") == "1");
  CHECK(provokes(running, "surroundings.mps"));
  CHECK(finding(running, "surroundings.mps").severity == Severity::note);
  CHECK(spares(running, "surroundings.mps_stale"));
  CHECK(fact(running, "MPS") == "/run/mps");

  tree.file("/tmp/nvidia-mps/control").file("/tmp/nvidia-mps/nvidia-cuda-mps-control.pid", "4712\n");
  CHECK(provokes(diagnose_surroundings(tree.site(), {}), "surroundings.mps_stale"));
  tree.file("/.dockerenv");  // the daemon's number is the host's
  CHECK(spares(diagnose_surroundings(tree.site(), {}), "surroundings.mps_stale"));
  CHECK(provokes(diagnose_surroundings(tree.site(), {}), "surroundings.mps"));
}

TEST_CASE("an MPS daemon that serves another user", "[diagnosis]") {
  auto const process = [](std::string const& name, int parent, int user) {
    std::string const id = std::to_string(user);
    return "Name:\t" + name + "\nPPid:\t" + std::to_string(parent) + "\nUid:\t" + id + "\t" + id + "\t" + id + "\t" +
           id + "\n";
  };
  DescribedTree tree;
  tree.file("/tmp/nvidia-mps/control").file("/tmp/nvidia-mps/nvidia-cuda-mps-control.pid", "717");
  tree.file("/proc/717/comm", "nvidia-cuda-mps\n").file("/proc/717/status", process("nvidia-cuda-mps", 1, 0));
  tree.file("/proc/self/status", process("train", 1, 1000)).file("/proc/800/status", process("bash", 717, 0));
  CHECK(spares(diagnose_surroundings(tree.site(), {}), "surroundings.mps_other_user"));
  tree.file("/proc/801/status", process("nvidia-cuda-mps", 717, 1000));  // the server of this user
  CHECK(spares(diagnose_surroundings(tree.site(), {}), "surroundings.mps_other_user"));
  tree.file("/proc/801/status", process("nvidia-cuda-mps", 717, 1001));
  auto const report = diagnose_surroundings(tree.site(), {});
  CHECK(provokes(report, "surroundings.mps_other_user"));
  CHECK(finding(report, "surroundings.mps_other_user").value == "1001");
  CHECK_THAT(finding(report, "surroundings.mps_other_user").driver, ContainsSubstring("cuInit waits"));
}

TEST_CASE("a Slurm job without GPUs", "[diagnosis]") {
  DescribedTree tree;
  healthy(tree);
  auto const none = diagnose_surroundings(tree.site({{"SLURM_JOB_ID", "17"}, {"SLURM_JOB_GPUS", ""}}), {});
  CHECK(provokes(none, "surroundings.slurm_no_gpus"));
  CHECK(none.health() == Health::doubtful);
  auto const seen = diagnose_surroundings(tree.site({{"SLURM_JOB_ID", "17"}}), machine_of_proc());
  CHECK(finding(seen, "surroundings.slurm_no_gpus").severity == Severity::note);
  for (char const* name : {"SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE", "CUDA_VISIBLE_DEVICES"}) {
    CAPTURE(name);
    CHECK(spares(diagnose_surroundings(tree.site({{"SLURM_JOB_ID", "17"}, {name, "1"}}), machine_of_proc()),
                 "surroundings.slurm_no_gpus"));
  }
}

TEST_CASE("a device node that is missing", "[diagnosis]") {
  DescribedTree tree;
  tree.file("/dev/nvidiactl").file("/dev/nvidia0").file("/proc/self/status", status(::getuid(), ::getgid()));
  auto const report = diagnose_surroundings(tree.site(), machine_of_proc());
  CHECK(provokes(report, "surroundings.no_device_node"));
  CHECK(report.findings.size() == 1);
  CHECK(finding(report, "surroundings.no_device_node").subject == "/dev/nvidia-uvm");
  tree.file("/usr/bin/nvidia-modprobe");  // makes it when it is needed
  CHECK(spares(diagnose_surroundings(tree.site(), machine_of_proc()), "surroundings.no_device_node"));
  tree.file("/.dockerenv");  // not in a container
  CHECK(provokes(diagnose_surroundings(tree.site(), machine_of_proc()), "surroundings.no_device_node"));
  CHECK(spares(diagnose_surroundings(tree.site(), {}), "surroundings.no_device_node"));
}

TEST_CASE("MIG instances and their device nodes", "[diagnosis]") {
  DescribedTree tree;
  healthy(tree);
  cuenv::Machine machine = mig_machine("580.159.04");
  machine.source = cuenv::MachineSource::proc;
  CHECK(provokes(diagnose_surroundings(tree.site(), machine), "surroundings.no_mig_nodes"));
  tree.file("/dev/nvidia-caps/nvidia-cap1");
  CHECK(spares(diagnose_surroundings(tree.site(), machine), "surroundings.no_mig_nodes"));
}

TEST_CASE("device nodes that this user may not use", "[diagnosis]") {
  unsigned const other = ::getuid() + 1;
  unsigned const other_group = ::getgid() + 1;
  std::string const group = std::to_string(::getgid());
  std::vector<std::string> const all{"nvidiactl", "nvidia-uvm", "nvidia0", "nvidia1"};
  auto const refused = with_modes(all, 0660, status(other, other_group));
  CHECK(provokes(refused, "surroundings.device_permission"));
  CHECK(refused.findings.size() == 4);
  CHECK(refused.health() == Health::broken);
  CHECK(refused.findings[0].value == "660");
  CHECK(spares(with_modes(all, 0660, status(other, other_group, "4 " + group)), "surroundings.device_permission"));
  CHECK(spares(with_modes(all, 0660, status(other, ::getgid())), "surroundings.device_permission"));
  CHECK(spares(with_modes(all, 0600, status(::getuid(), other_group)), "surroundings.device_permission"));
  CHECK(spares(with_modes(all, 0600, status(other, other_group, "", "2")), "surroundings.device_permission"));  // root
  CHECK(provokes(with_modes(all, 0606, status(other, ::getgid())), "surroundings.device_permission"));
  auto const one = with_modes({"nvidia1"}, 0600, status(other, other_group));
  CHECK(finding(one, "surroundings.device_permission").severity == Severity::warning);
  auto const both = with_modes({"nvidia0", "nvidia1"}, 0600, status(other, other_group));
  CHECK(both.health() == Health::broken);
}

TEST_CASE("who a process is that says nothing of itself is unknown", "[diagnosis]") {
  for (char const* text : {"", "Uid:\t1\t2\nGid:\n", "Uid:\tx\ty\tz\t0\n", "Uid:\t1\t1\t1\t99999999999\n"}) {
    DescribedTree tree;
    healthy(tree);
    tree.file("/proc/self/status", text);
    CAPTURE(text);
    auto const report = diagnose_surroundings(tree.site(), machine_of_proc());
    CHECK(report.health() == Health::unknown);
    CHECK(spares(report, "surroundings.device_permission"));
  }
}

TEST_CASE("what cannot be read of the surroundings is not taken for absent", "[diagnosis]") {
  DescribedTree wsl;
  wsl.file("/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n").loop("/dev/dxg");
  auto const windows = diagnose_surroundings(wsl.site(), {});
  CHECK(spares(windows, "surroundings.wsl_no_gpu"));
  CHECK(could_not_read(windows, "/dev/dxg"));

  for (char const* const name : {"libcuda.so.1", "libnvidia-ml.so.1"}) {
    DescribedTree tree;
    container(tree);
    std::filesystem::remove(tree.root() + libraries + name);
    tree.loop(libraries + name);
    auto const report = diagnose_surroundings(tree.site(), machine_of_proc());
    CHECK(report.findings.empty());
    CHECK(could_not_read(report, name));
  }

  DescribedTree mps;
  mps.file("/mps/control");  // what this process cannot reach, CUDA cannot either; the number of the daemon is a file
  mps.loop("/mps/nvidia-cuda-mps-control.pid");
  auto const daemon = diagnose_surroundings(mps.site({{"CUDA_MPS_PIPE_DIRECTORY", "/mps"}}), {});
  CHECK(daemon.findings.empty());
  CHECK(could_not_read(daemon, "/mps/nvidia-cuda-mps-control.pid"));
}

TEST_CASE("device nodes that cannot be looked at are not taken for missing", "[diagnosis]") {
  DescribedTree tree;
  healthy(tree);
  for (char const* const node : {"nvidiactl", "nvidia-uvm"}) {
    std::filesystem::remove(tree.root() + "/dev/" + node);
    tree.loop(std::string{"/dev/"} + node);
  }
  tree.loop("/dev/nvidia-caps");
  cuenv::Machine machine = machine_of_proc();
  machine.gpus[0].mig.emplace_back();
  auto const report = diagnose_surroundings(tree.site(), machine);
  CHECK(report.findings.empty());
  for (char const* const node : {"nvidiactl", "nvidia-uvm", "nvidia-caps"}) {
    CHECK(could_not_read(report, std::string{"/dev/"} + node));
  }
  DescribedTree owner;
  healthy(owner);
  std::filesystem::remove(owner.root() + "/proc/self/status");
  owner.directory("/proc/self/status");
  CHECK(could_not_read(diagnose_surroundings(owner.site(), machine_of_proc()), "/proc/self/status"));
}
