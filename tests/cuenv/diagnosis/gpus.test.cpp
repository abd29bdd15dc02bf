#include <cuenv/diagnosis/gpus.hpp>

#include "simulated.hpp"
#include "support/catch.hpp"
#include "support/described_machines.hpp"
#include "support/described_tree.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

using namespace cuenv_tests;
using cuenv::Health;

namespace {

/// A device as /sys shows it: an H200 unless the id says something else.
void pci(DescribedTree& tree, std::string const& address, std::string const& driver, std::string const& id = "0x2335",
         std::string const& kind = "0x030200") {
  std::string const device = "/sys/bus/pci/devices/" + address;
  tree.file(device + "/vendor", "0x10de\n").file(device + "/class", kind + "\n").file(device + "/device", id + "\n");
  if (!driver.empty()) tree.link(device + "/driver", "../../../bus/pci/drivers/" + driver);
}

void disk_root(DescribedTree& tree) {
  tree.file("/proc/self/mountinfo", "28 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n");
}

/// The machine of the measurements: two H200 on 00:06.0 and 00:07.0, driver 580.159.04.
void two_h200_tree(DescribedTree& tree) {
  simulated::write_root(simulated::shipped_machine("two_h200"), tree.root());
  pci(tree, "0000:00:06.0", "nvidia");
  pci(tree, "0000:00:07.0", "nvidia");
  disk_root(tree);
}

/// What NVML answers: these GPUs.
std::vector<cuenv::Gpu> nvml_gpus;

cuenv::NvmlLibrary open_described_nvml() {
  using Api = cuenv::NvmlApi;
  static auto const gpu_of = [](Api::Handle handle) -> cuenv::Gpu const& {
    return *reinterpret_cast<cuenv::Gpu const*>(handle);
  };
  cuenv::NvmlLibrary library;
  library.loaded = true;
  Api& api = library.api;
  api.init = [] { return 0; };
  api.shutdown = [] { return 0; };
  api.device_count = [](unsigned* count) { return *count = static_cast<unsigned>(nvml_gpus.size()), 0; };
  api.device_by_index = [](unsigned index, Api::Handle* to) {
    return *to = reinterpret_cast<Api::Handle>(&nvml_gpus.at(index)), 0;
  };
  api.uuid = [](Api::Handle of, char* to, unsigned size) {
    (void)std::snprintf(to, size, "GPU-%s", to_string(*gpu_of(of).uuid).c_str());
    return 0;
  };
  api.name = [](Api::Handle of, char* to, unsigned size) {
    return std::snprintf(to, size, "%s", gpu_of(of).name.c_str()) < 0 ? 1 : 0;
  };
  api.pci_info = [](Api::Handle of, Api::PciInfo* to) {
    cuenv::PciAddress const address = gpu_of(of).pci;
    to->domain = address.domain;
    to->bus = address.bus;
    to->device = address.device;
    return 0;
  };
  api.compute_capability = [](Api::Handle, int* x, int* y) { return *x = 9, *y = 0, 0; };
  api.mig_mode = [](Api::Handle of, unsigned* now, unsigned* later) {
    return *now = *later = gpu_of(of).mig_enabled ? 1U : 0U, 0;
  };
  return library;
}

cuenv::Site with_nvml(cuenv::Site site, std::vector<cuenv::Gpu> gpus) {
  nvml_gpus = std::move(gpus);
  site.system.open_nvml = open_described_nvml;
  return site;
}

cuenv::Severity severity_of(cuenv::RungReport const& report, std::string_view code) {
  auto const found = std::find_if(report.findings.begin(), report.findings.end(),
                                  [&](cuenv::Diagnostic const& finding) { return finding.code == code; });
  REQUIRE(found != report.findings.end());
  return found->severity;
}

/// A machine whose one GPU nobody can use yet.
cuenv::RungReport one_gpu(std::string const& driver, std::string const& id, std::string const& version) {
  DescribedTree tree;
  pci(tree, "0000:01:00.0", driver, id, "0x030000");
  disk_root(tree);
  if (!version.empty()) {
    tree.file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + version + "  x\n");
    tree.directory("/proc/driver/nvidia/gpus");
  }
  return cuenv::diagnose_gpus(tree.site()).report;
}

}  // namespace

TEST_CASE("on a healthy machine the GPUs are told and nothing is found", "[diagnosis]") {
  DescribedTree tree;
  two_h200_tree(tree);
  auto const found = cuenv::diagnose_gpus(tree.site());
  CHECK(found.report.rung == cuenv::Rung::gpus);
  CHECK(found.report.health() == Health::fine);
  CHECK(found.report.findings.empty());
  CHECK(found.report.unknown.empty());
  REQUIRE(found.machine.gpus.size() == 2);
  CHECK(found.machine.source == cuenv::MachineSource::proc);
  CHECK(found.machine.gpus[1].compute_capability == cuenv::ComputeCapability{9, 0});
  CHECK(fact(found.report, "GPU 0") ==
        std::string{"NVIDIA H200, compute capability 9.0 (Hopper), by a table, PCI 0000:00:06.0, "} + uuid_0 +
            ", kernel driver nvidia");
}

TEST_CASE("NVML adds what files cannot tell", "[diagnosis]") {
  DescribedTree tree;
  two_h200_tree(tree);
  auto const found = cuenv::diagnose_gpus(with_nvml(tree.site(), two_h200().gpus));
  CHECK(found.report.findings.empty());
  CHECK(found.machine.source == cuenv::MachineSource::proc);
  CHECK(fact(found.report, "GPU 1") == std::string{"NVIDIA H200, compute capability 9.0 (Hopper), PCI 0000:00:07.0, "} +
                                           uuid_1 + ", MIG off, kernel driver nvidia");
  CHECK(spares(found.report, "gpu.not_in_nvml"));
  CHECK(spares(found.report, "gpu.mig_empty"));
}

TEST_CASE("where the files list no GPU, NVML's list counts", "[diagnosis]") {
  DescribedTree tree;
  tree.file("/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n").file("/dev/dxg");
  auto const found = cuenv::diagnose_gpus(with_nvml(tree.site(), two_h200().gpus));
  CHECK(found.report.health() == Health::fine);
  REQUIRE(found.machine.gpus.size() == 2);
  CHECK(found.machine.source == cuenv::MachineSource::nvml);
  CHECK(cuenv::diagnose_gpus(tree.site()).report.health() == Health::unknown);
}

TEST_CASE("a GPU that NVML does not list is reported, one of another machine is not", "[diagnosis]") {
  DescribedTree tree;
  two_h200_tree(tree);
  auto gpus = two_h200().gpus;
  gpus.pop_back();
  CHECK(provokes(cuenv::diagnose_gpus(with_nvml(tree.site(), gpus)).report, "gpu.not_in_nvml"));
  gpus[0].uuid = cuenv::Uuid{};  // a simulated driver's files beside a real NVML
  CHECK(spares(cuenv::diagnose_gpus(with_nvml(tree.site(), gpus)).report, "gpu.not_in_nvml"));
}

TEST_CASE("a GPU with MIG on and no instance cannot be used", "[diagnosis]") {
  DescribedTree tree;
  two_h200_tree(tree);
  auto gpus = two_h200().gpus;
  gpus[0].mig_enabled = true;
  auto const one = cuenv::diagnose_gpus(with_nvml(tree.site(), gpus)).report;
  CHECK(provokes(one, "gpu.mig_empty"));
  CHECK(severity_of(one, "gpu.mig_empty") == cuenv::Severity::warning);
  gpus[1].mig_enabled = true;
  CHECK(cuenv::diagnose_gpus(with_nvml(tree.site(), gpus)).report.health() == Health::broken);
}

TEST_CASE("a GPU without a kernel driver", "[diagnosis]") {
  auto const report = one_gpu("", "0x2335", "");
  CHECK(provokes(report, "gpu.no_driver"));
  CHECK(report.health() == Health::broken);
  CHECK(spares(report, "gpu.none"));
  CHECK_THAT(fact(report, "on the bus only"), ContainsSubstring("Hopper"));
  CHECK(spares(one_gpu("nouveau", "0x2335", ""), "gpu.no_driver"));
}

TEST_CASE("a GPU that another kernel driver holds", "[diagnosis]") {
  CHECK(provokes(one_gpu("nouveau", "0x2204", ""), "gpu.nouveau"));
  CHECK(spares(one_gpu("vfio-pci", "0x2204", ""), "gpu.nouveau"));
  CHECK(provokes(one_gpu("vfio-pci", "0x2204", ""), "gpu.passed_through"));
  CHECK(spares(one_gpu("nouveau", "0x2204", ""), "gpu.passed_through"));
  CHECK(provokes(one_gpu("pciback", "0x2204", ""), "gpu.other_driver"));
  CHECK(spares(one_gpu("nouveau", "0x2204", ""), "gpu.other_driver"));
  CHECK(one_gpu("vfio-pci", "0x2204", "").health() == Health::broken);
}

TEST_CASE("one GPU of several for a virtual machine is a note, one without a driver a warning", "[diagnosis]") {
  DescribedTree tree;
  two_h200_tree(tree);
  pci(tree, "0000:00:08.0", "vfio-pci");
  CHECK(severity_of(cuenv::diagnose_gpus(tree.site()).report, "gpu.passed_through") == cuenv::Severity::note);
  pci(tree, "0000:00:09.0", "");
  auto const report = cuenv::diagnose_gpus(tree.site()).report;
  CHECK(severity_of(report, "gpu.no_driver") == cuenv::Severity::warning);
  CHECK(report.health() == Health::doubtful);
}

TEST_CASE("a GPU and a driver of different times", "[diagnosis]") {
  auto const old = one_gpu("nvidia", "0x102d", "550.90.07");
  CHECK(provokes(old, "gpu.too_old_for_driver"));
  CHECK(old.findings.at(0).fix == "install a driver of branch 470");
  CHECK(spares(one_gpu("nvidia", "0x102d", "470.256.02"), "gpu.too_old_for_driver"));
  CHECK(provokes(one_gpu("nvidia", "0x1b06", "590.48.01"), "gpu.too_old_for_driver"));
  CHECK(provokes(one_gpu("", "0x1b06", "590.48.01"), "gpu.too_old_for_driver"));  // refused, so nobody holds it
  CHECK(spares(one_gpu("", "0x1b06", ""), "gpu.too_old_for_driver"));
  CHECK(provokes(one_gpu("", "0x2335", "580.159.04"), "gpu.no_driver"));
  CHECK(provokes(one_gpu("nvidia", "0x2b85", "550.90.07"), "gpu.too_new_for_driver"));
  CHECK(spares(one_gpu("nvidia", "0x2b85", "570.86.15"), "gpu.too_new_for_driver"));
  CHECK(spares(one_gpu("nvidia", "0x1b06", "580.95.05"), "gpu.too_old_for_driver"));
}

TEST_CASE("a GPU that its driver does not start", "[diagnosis]") {
  CHECK(provokes(one_gpu("nvidia", "0x2335", "580.159.04"), "gpu.not_started"));
  CHECK(spares(one_gpu("nvidia", "0x102d", "550.90.07"), "gpu.not_started"));
  DescribedTree tree;
  two_h200_tree(tree);
  tree.file("/.dockerenv");
  pci(tree, "0000:00:08.0", "nvidia");  // the host's, for another container
  auto const report = cuenv::diagnose_gpus(tree.site()).report;
  CHECK(spares(report, "gpu.not_started"));
  CHECK(report.findings.empty());
  CHECK(fact(report, "on the bus only") == "PCI 0000:00:08.0, 9.0 (Hopper), kernel driver nvidia");
}

TEST_CASE("a GPU without a device node", "[diagnosis]") {
  DescribedTree tree;
  two_h200_tree(tree);
  std::filesystem::remove(tree.root() + "/dev/nvidia1");
  auto const report = cuenv::diagnose_gpus(tree.site()).report;
  CHECK(provokes(report, "gpu.no_device_node"));
  CHECK(severity_of(report, "gpu.no_device_node") == cuenv::Severity::warning);
  CHECK(report.findings.at(0).fix == "nvidia-modprobe -u -c 1");
  tree.file("/.dockerenv");  // a container that was given the first only: as meant
  auto const inside = cuenv::diagnose_gpus(tree.site()).report;
  CHECK(spares(inside, "gpu.no_device_node"));
  CHECK(inside.findings.empty());
  CHECK(spares(inside, "gpu.not_exposed"));
  CHECK(fact(inside, "GPUs of the host without a node here") == "0000:00:07.0");
}

TEST_CASE("a container without any of its host's GPUs", "[diagnosis]") {
  DescribedTree tree;
  pci(tree, "0000:00:06.0", "nvidia");
  tree.file("/.dockerenv");
  auto const report = cuenv::diagnose_gpus(tree.site()).report;
  CHECK(provokes(report, "gpu.not_exposed"));
  CHECK(report.findings.size() == 1);
  CHECK(report.health() == Health::broken);
}

TEST_CASE("an excluded GPU", "[diagnosis]") {
  auto described = simulated::shipped_machine("two_h200");
  described.gpus[1].excluded = true;
  DescribedTree tree;
  simulated::write_root(described, tree.root());
  disk_root(tree);
  auto const report = cuenv::diagnose_gpus(tree.site()).report;
  CHECK(provokes(report, "gpu.excluded"));
  CHECK(severity_of(report, "gpu.excluded") == cuenv::Severity::note);
  CHECK(spares(report, "gpu.no_device_node"));
  DescribedTree healthy;
  two_h200_tree(healthy);
  CHECK(spares(cuenv::diagnose_gpus(healthy.site()).report, "gpu.excluded"));
}

TEST_CASE("unlike GPUs want an order", "[diagnosis]") {
  DescribedTree tree;
  simulated::write_root(simulated::shipped_machine("rtx_3090_4070"), tree.root());
  auto const found = cuenv::diagnose_gpus(tree.site());
  CHECK(provokes(found.report, "gpu.order_unset"));
  CHECK(found.report.health() == Health::fine);
  CHECK(found.machine.gpus.at(0).compute_capability == cuenv::ComputeCapability{8, 6});  // by its name
  CHECK(spares(cuenv::diagnose_gpus(tree.site({{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}})).report, "gpu.order_unset"));
  CHECK(spares(cuenv::diagnose_gpus(tree.site({{"CUDA_VISIBLE_DEVICES", "GPU-0d4e6a12"}})).report, "gpu.order_unset"));
  cuenv::Site lost = tree.site();
  lost.variables_unknown = "the environment cannot be read";  // it may be set
  CHECK(spares(cuenv::diagnose_gpus(lost).report, "gpu.order_unset"));
}

TEST_CASE("a machine without a GPU", "[diagnosis]") {
  DescribedTree tree;
  tree.file("/sys/bus/pci/devices/0000:00:02.0/vendor", "0x8086\n");
  pci(tree, "0000:05:00.0", "nvidia-nvswitch", "0x22a3", "0x068000");
  CHECK(provokes(cuenv::diagnose_gpus(tree.site()).report, "gpu.none"));
  tree.file("/etc/nv_tegra_release");
  auto const jetson = cuenv::diagnose_gpus(tree.site()).report;
  CHECK(spares(jetson, "gpu.none"));
  CHECK(jetson.health() == Health::unknown);
  CHECK(cuenv::diagnose_gpus(DescribedTree{}.site()).report.health() == Health::unknown);
}

TEST_CASE("what is no device is passed over, and so is a virtual function", "[diagnosis]") {
  DescribedTree tree;
  tree.file("/sys/bus/pci/devices/nonsense/vendor", "0x10de\n")
      .file("/sys/bus/pci/devices/0000:01:00.0/vendor", "10de");
  pci(tree, "0000:02:00.0", "", "0x", "0x0302zz");
  pci(tree, "0000:03:00.0", "", "0x2335");
  tree.directory("/sys/bus/pci/devices/0000:03:00.0/physfn");
  pci(tree, "0000:04:00.0", "nvidia", "");
  auto const gpus = cuenv::detail::read_pci_gpus(tree.site());
  REQUIRE(gpus);
  REQUIRE(gpus->size() == 1);
  CHECK(gpus->front().device_id == 0);
  CHECK(gpus->front().driver == "nvidia");
}

TEST_CASE("what cannot be read of the GPUs is not taken for absent", "[diagnosis]") {
  DescribedTree tree;
  tree.loop("/sys/bus/pci/devices");
  auto const bus = cuenv::diagnose_gpus(tree.site()).report;
  CHECK(could_not_read(bus, "/sys/bus/pci/devices/"));
  CHECK(bus.findings.empty());
  CHECK(bus.unknown.size() == 1);

  DescribedTree vendor;
  vendor.directory("/sys/bus/pci/devices/0000:01:00.0/vendor");
  CHECK(could_not_read(cuenv::diagnose_gpus(vendor.site()).report, "/vendor"));
  CHECK(spares(cuenv::diagnose_gpus(vendor.site()).report, "gpu.none"));

  for (bool const in_container : {false, true}) {
    DescribedTree node;
    two_h200_tree(node);
    std::filesystem::remove(node.root() + "/dev/nvidia1");
    if (in_container) node.file("/.dockerenv");
    node.loop("/dev/nvidia1");
    auto const found = cuenv::diagnose_gpus(node.site());
    CHECK(found.machine.gpus.size() == 1);
    CHECK(could_not_read(found.report, "/dev/nvidia1"));
    CHECK(found.report.findings.empty());
    CHECK(found.report.health() == Health::unknown);
  }
  DescribedTree listed;
  pci(listed, "0000:01:00.0", "nvidia");
  listed.loop("/proc/driver/nvidia/gpus");
  CHECK(spares(cuenv::diagnose_gpus(listed.site()).report, "gpu.not_started"));
  CHECK(spares(cuenv::diagnose_gpus(listed.file("/.dockerenv").site()).report, "gpu.not_exposed"));
}
