#include <cuenv/diagnosis/driver.hpp>

#include "support/catch.hpp"
#include "support/described_machines.hpp"
#include "support/described_system.hpp"
#include "support/described_tree.hpp"
#include "support/image_builder.hpp"

#include <filesystem>
#include <string>
#include <vector>

using namespace cuenv_tests;
using cuenv::CudaVersion;
using cuenv::diagnose_driver;
using cuenv::Health;

namespace {

std::string const libraries = system_libraries;

std::string version_text(std::string const& version, bool open = true) {
  return std::string{"NVRM version: NVIDIA UNIX "} +
         (open ? "Open Kernel Module for x86_64  " : "x86_64 Kernel Module  ") + version +
         "  Release Build  (dvs-builder@U22)  Tue Jan  1 00:00:00 UTC 2030\nGCC version:  gcc version 12.3.0\n";
}

void library(DescribedTree& tree, std::string const& folder, std::string const& name, std::string const& version) {
  tree.file(folder + name + "." + version, "\177ELF").link(folder + name + ".1", name + "." + version);
}

/// A machine with a driver as its installer leaves it.
void installed(DescribedTree& tree, std::string const& module = "580.159.04", std::string const& files = "580.159.04") {
  tree.file("/proc/driver/nvidia/version", version_text(module));
  for (char const* name : {"libcuda.so", "libnvidia-ml.so", "libnvidia-ptxjitcompiler.so"}) {
    library(tree, libraries, name, files);
  }
}

cuenv::Diagnostic finding(cuenv::RungReport const& report, std::string_view code) {
  for (cuenv::Diagnostic const& one : report.findings) {
    if (one.code == code) return one;
  }
  FAIL("no such finding");
  return {};
}

/// A tree whose compat library comes first.
cuenv::RungReport with_compat(std::string const& module, std::string const& compat, cuenv::Machine const& machine) {
  DescribedTree tree;
  installed(tree, module, module);
  library(tree, "/usr/local/cuda-12.8/compat/", "libcuda.so", compat);
  tree.link("/usr/local/cuda", "cuda-12.8");
  return diagnose_driver(tree.site({{"LD_LIBRARY_PATH", "/opt/lib:/usr/local/cuda/compat/"}}), machine).report;
}

cuenv::RungReport with_gpu(std::string const& id, bool open, bool container = false) {
  DescribedTree tree;
  installed(tree);
  tree.file("/proc/driver/nvidia/version", version_text("580.159.04", open));
  std::string const device = "/sys/bus/pci/devices/0000:01:00.0";
  tree.file(device + "/vendor", "0x10de\n").file(device + "/class", "0x030000\n").file(device + "/device", id);
  if (container) tree.file("/.dockerenv");
  return diagnose_driver(tree.site(), {}).report;
}

}  // namespace

TEST_CASE("a driver as it is installed is fine", "[diagnosis]") {
  DescribedTree tree;
  installed(tree);
  auto const found = diagnose_driver(tree.site(), two_h200());
  CHECK(found.report.rung == cuenv::Rung::driver);
  CHECK(found.report.findings.empty());
  CHECK(found.report.health() == Health::fine);
  CHECK(found.library == libraries + "libcuda.so.580.159.04");
  CHECK(found.cuda == CudaVersion{13, 0});
  CHECK(found.jit_compiler == true);
  CHECK(fact(found.report, "kernel module") == "580.159.04, open");
  CHECK(fact(found.report, "CUDA") == "13.0, by its branch");
}

TEST_CASE("a driver that is loaded answers for itself", "[diagnosis]") {
  DescribedSystem described;
  cuenv::Site site;
  site.system = described.system;
  site.root = described.root();
  site.hardware_root = described.root();
  auto const found = diagnose_driver(site, two_h200());
  CHECK(found.report.findings.empty());
  CHECK(found.cuda == CudaVersion{13, 0});
  CHECK(fact(found.report, "CUDA") == "13.0");
  CHECK(found.jit_compiler == std::nullopt);  // it was not found by the search
  TemporaryFolder other;                      // a machine with a driver of its own
  other.write("usr/lib/libnvidia-ml.so.535.183.01", "");
  std::filesystem::create_symlink("libnvidia-ml.so.535.183.01", other.path / "usr/lib/libnvidia-ml.so.1");
  site.root = other.path.string();
  CHECK(spares(diagnose_driver(site, two_h200()).report, "driver.nvml_version"));
}

TEST_CASE("a kernel module that is not loaded", "[diagnosis]") {
  DescribedTree tree;
  library(tree, libraries, "libcuda.so", "580.159.04");
  auto const report = diagnose_driver(tree.site(), {}).report;
  CHECK(provokes(report, "driver.not_loaded"));
  CHECK(report.health() == Health::broken);
  CHECK(spares(diagnose_driver(tree.site(), two_h200()).report, "driver.not_loaded"));  // a sandbox without that file
  DescribedTree no_gpu;                                                                 // that is what is wrong there
  no_gpu.file("/sys/bus/pci/devices/0000:00:02.0/vendor", "0x8086\n");
  CHECK(spares(diagnose_driver(no_gpu.site(), {}).report, "driver.not_loaded"));
  tree.file("/sys/module/nvidia/version", "580.159.04\n");
  auto const by_sys = diagnose_driver(tree.site(), {}).report;
  CHECK(spares(by_sys, "driver.not_loaded"));
  CHECK(fact(by_sys, "kernel module") == "580.159.04");
}

TEST_CASE("a driver library that is missing", "[diagnosis]") {
  DescribedTree tree;
  tree.file("/proc/driver/nvidia/version", version_text("580.159.04"));
  auto const found = diagnose_driver(tree.site(), two_h200());
  CHECK(provokes(found.report, "driver.no_library"));
  CHECK(found.library.empty());
  CHECK(found.cuda == std::nullopt);
  CHECK(found.jit_compiler == std::nullopt);
  CHECK_THAT(finding(found.report, "driver.no_library").fix, ContainsSubstring("580.159.04"));
  tree.file("/.dockerenv");
  CHECK_THAT(finding(diagnose_driver(tree.site(), two_h200()).report, "driver.no_library").fix,
             ContainsSubstring("NVIDIA_DRIVER_CAPABILITIES"));
  installed(tree);
  CHECK(spares(diagnose_driver(tree.site(), two_h200()).report, "driver.no_library"));
}

TEST_CASE("only the unversioned name of the library", "[diagnosis]") {
  DescribedTree tree;
  tree.file("/proc/driver/nvidia/version", version_text("580.159.04")).file(libraries + "libcuda.so");
  auto const report = diagnose_driver(tree.site(), two_h200()).report;
  CHECK(provokes(report, "driver.unversioned_only"));
  CHECK(spares(report, "driver.no_library"));
  installed(tree);
  CHECK(spares(diagnose_driver(tree.site(), two_h200()).report, "driver.unversioned_only"));
}

TEST_CASE("a library that the loader refuses", "[diagnosis]") {
  DescribedTree tree;
  installed(tree);
  cuenv::Site site = tree.site();
  CHECK(spares(diagnose_driver(site, two_h200()).report, "driver.cannot_load"));
  site.system.open_driver = [](cuenv::DriverOpen) {
    cuenv::DriverLibrary driver;
    driver.error = "libcuda.so.1: file too short";
    return driver;
  };
  auto const report = diagnose_driver(site, two_h200()).report;
  CHECK(provokes(report, "driver.cannot_load"));
  CHECK_THAT(finding(report, "driver.cannot_load").what, ContainsSubstring("file too short"));
}

TEST_CASE("the toolkit's stub by its path", "[diagnosis]") {
  DescribedTree tree;
  installed(tree);
  tree.file("/usr/local/cuda-13.0/lib64/stubs/libcuda.so")
      .link("/usr/local/cuda-13.0/lib64/stubs/libcuda.so.1", "libcuda.so");
  CHECK(spares(diagnose_driver(tree.site(), two_h200()).report, "driver.stub"));
  auto const report =
      diagnose_driver(tree.site({{"LD_LIBRARY_PATH", "/usr/local/cuda-13.0/lib64/stubs"}}), two_h200()).report;
  CHECK(provokes(report, "driver.stub"));
  CHECK(report.findings.size() == 1);
  CHECK(finding(report, "driver.stub").subject == "LD_LIBRARY_PATH");
  CHECK(finding(report, "driver.stub").fix == "remove /usr/local/cuda-13.0/lib64/stubs from LD_LIBRARY_PATH");
}

TEST_CASE("the toolkit's stub by its answer", "[diagnosis]") {
  DescribedTree tree;
  installed(tree);
  cuenv::Site site = tree.site();
  site.system.open_driver = [](cuenv::DriverOpen) {
    cuenv::DriverLibrary driver;
    driver.loaded = true;
    driver.path = "/opt/app/lib/libcuda.so.1";
    driver.api.device_get_count = [](int*) { return CUDA_ERROR_STUB_LIBRARY; };
    driver.api.driver_get_version = [](int*) { return CUDA_ERROR_STUB_LIBRARY; };
    return driver;
  };
  auto const found = diagnose_driver(site, two_h200());
  CHECK(provokes(found.report, "driver.stub"));
  CHECK_THAT(finding(found.report, "driver.stub").fix, ContainsSubstring("/opt/app/lib"));
  CHECK(found.cuda == std::nullopt);
}

TEST_CASE("a library and a kernel module of two versions", "[diagnosis]") {
  DescribedTree tree;
  installed(tree, "575.57.08", "580.159.04");
  auto const report = diagnose_driver(tree.site(), two_h200()).report;
  CHECK(provokes(report, "driver.mismatch"));
  CHECK(spares(report, "driver.nvml_version"));  // said once
  CHECK_THAT(finding(report, "driver.mismatch").fix, ContainsSubstring("reboot"));
  tree.file("/.dockerenv");
  CHECK_THAT(finding(diagnose_driver(tree.site(), two_h200()).report, "driver.mismatch").fix,
             ContainsSubstring("container"));
  DescribedTree same;
  installed(same);
  CHECK(spares(diagnose_driver(same.site(), two_h200()).report, "driver.mismatch"));
}

TEST_CASE("an NVML of another version", "[diagnosis]") {
  DescribedTree tree;
  tree.file("/proc/driver/nvidia/version", version_text("580.159.04"));
  library(tree, libraries, "libcuda.so", "580.159.04");
  CHECK(spares(diagnose_driver(tree.site(), two_h200()).report, "driver.nvml_version"));
  library(tree, libraries, "libnvidia-ml.so", "535.183.01");
  CHECK(provokes(diagnose_driver(tree.site(), two_h200()).report, "driver.nvml_version"));
}

TEST_CASE("a forward-compatibility library and the kernel module", "[diagnosis]") {
  auto const fits = with_compat("535.183.01", "570.86.10", two_h200());
  CHECK(fits.findings.empty());
  CHECK(fact(fits, "forward compatibility") == "/usr/local/cuda/compat");
  CHECK(spares(fits, "driver.compat_older"));
  CHECK(spares(fits, "driver.compat_branch"));
  CHECK(spares(fits, "driver.compat_gpu"));
  CHECK(spares(fits, "driver.mismatch"));

  auto const older = with_compat("580.159.04", "570.86.10", two_h200());
  CHECK(provokes(older, "driver.compat_older"));
  CHECK(spares(older, "driver.compat_branch"));
  CHECK(finding(older, "driver.compat_older").fix == "remove /usr/local/cuda/compat/ from LD_LIBRARY_PATH");
  CHECK(provokes(with_compat("550.90.07", "570.86.10", two_h200()), "driver.compat_branch"));
  CHECK(with_compat("570.86.10", "570.86.15", two_h200()).findings.empty());
  CHECK(with_compat("570.86.15", "570.86.10", two_h200()).findings.empty());  // what the driver does is not known
}

TEST_CASE("what a compat library says of itself counts before the table", "[diagnosis]") {
  std::string const json = R"({"Format": 1, "CUDA Version": "12.8", "Driver": [535, 550], "Device": [1]})";
  std::string const name = std::string{"NVIDIA Corporation"} + std::string(6, '\0');
  std::string const bytes =
      image_builder::u32(19) + image_builder::u32(json.size()) + image_builder::u32(0) + name + json;
  DescribedTree tree;
  installed(tree, "550.90.07", "550.90.07");
  std::string const folder = "/usr/local/cuda-12.8/compat/";
  tree.file(folder + "libcuda.so.570.86.10", image_builder::elf({{".note.cuda.fwd_compatibility", bytes, 7}},
                                                                {cuenv::LibrarySearch::native_machine, 0, 0, 0}))
      .link(folder + "libcuda.so.1", "libcuda.so.570.86.10");
  auto const report = diagnose_driver(tree.site({{"LD_LIBRARY_PATH", folder}}), two_h200()).report;
  CHECK(fact(report, "forward compatibility") == "/usr/local/cuda-12.8/compat");
  CHECK(spares(report, "driver.compat_branch"));
}

TEST_CASE("forward compatibility on a GPU that does not support it", "[diagnosis]") {
  CHECK(provokes(with_compat("535.183.01", "570.86.10", unlike_gpus()), "driver.compat_gpu"));
}

TEST_CASE("a Linux driver in WSL", "[diagnosis]") {
  DescribedTree tree;
  tree.file("/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n")
      .file("/usr/lib/wsl/lib/libcuda.so.1.1")
      .file("/usr/lib/wsl/lib/libcuda.so.1");
  auto const missing = diagnose_driver(tree.site(), {}).report;
  CHECK(provokes(missing, "driver.no_library"));
  CHECK_THAT(finding(missing, "driver.no_library").fix, ContainsSubstring("ldconfig"));
  tree.file("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
      .file("/etc/ld.so.conf.d/ld.wsl.conf", "/usr/lib/wsl/lib\n");
  auto const right = diagnose_driver(tree.site(), {});
  CHECK(right.report.findings.empty());
  CHECK(right.library == "/usr/lib/wsl/lib/libcuda.so.1");
  CHECK(right.jit_compiler == std::nullopt);
  CHECK(spares(right.report, "driver.not_wsl"));
  library(tree, libraries, "libcuda.so", "550.90.07");
  auto const wrong = diagnose_driver(tree.site({{"LD_LIBRARY_PATH", libraries}}), {}).report;
  CHECK(provokes(wrong, "driver.not_wsl"));
}

TEST_CASE("a GPU that needs the other kind of kernel module", "[diagnosis]") {
  CHECK(provokes(with_gpu("0x2b85", false), "driver.needs_open"));
  CHECK(spares(with_gpu("0x2b85", true), "driver.needs_open"));
  CHECK(spares(with_gpu("0x2b85", false, true), "driver.needs_open"));  // the host's, maybe
  CHECK(provokes(with_gpu("0x1b06", true), "driver.needs_proprietary"));
  CHECK(spares(with_gpu("0x1b06", false), "driver.needs_proprietary"));
  CHECK(with_gpu("0x2335", true).findings.empty());
}

TEST_CASE("a machine with NVSwitch and without its service", "[diagnosis]") {
  DescribedTree tree;
  installed(tree);
  tree.directory("/proc/driver/nvidia-nvswitch/devices");
  CHECK(spares(diagnose_driver(tree.site(), two_h200()).report, "driver.fabric_manager"));
  tree.file("/proc/driver/nvidia-nvswitch/devices/0000:05:00.0/information", "Device Name: NVSwitch\n")
      .file("/proc/1/comm", "systemd\n");
  CHECK(provokes(diagnose_driver(tree.site(), two_h200()).report, "driver.fabric_manager"));
  tree.file("/proc/4711/comm", "nv-fabricmanage\n");
  CHECK(spares(diagnose_driver(tree.site(), two_h200()).report, "driver.fabric_manager"));
}

TEST_CASE("without the compiler for PTX", "[diagnosis]") {
  DescribedTree tree;
  tree.file("/proc/driver/nvidia/version", version_text("580.159.04"));
  library(tree, libraries, "libcuda.so", "580.159.04");
  CHECK(diagnose_driver(tree.site(), two_h200()).jit_compiler == false);
  library(tree, libraries, "libnvidia-ptxjitcompiler.so", "580.159.04");
  CHECK(diagnose_driver(tree.site(), two_h200()).jit_compiler == true);
  // A file that is no library, first on the loader's path: the driver answers 221 (measured, driver 580).
  tree.file("/first/libnvidia-ptxjitcompiler.so.1", "no library");
  auto const hidden = diagnose_driver(tree.site({{"LD_LIBRARY_PATH", "/first"}}), two_h200());
  CHECK(hidden.jit_compiler == false);
  CHECK(hidden.jit_compiler_file == "/first/libnvidia-ptxjitcompiler.so.1");
}

TEST_CASE("versions are read from the names of files", "[diagnosis]") {
  using cuenv::detail::version_of_library;
  CHECK(version_of_library("/usr/lib/libcuda.so.580.159.04") == "580.159.04");
  for (char const* other : {"/usr/lib/libcuda.so.1", "/usr/lib/libcuda.so.1.1", "/usr/lib/libcuda.so", "libcuda.so.",
                            "", "/x.so.580.1/libcuda.so", "libcuda.so.580.1-beta", "libcuda.so.580"}) {
    CAPTURE(other);
    CHECK(version_of_library(other).empty());
  }
  CHECK(cuenv::detail::cuda_of_branch(535) == CudaVersion{12, 2});
  CHECK(cuenv::detail::cuda_of_branch(450) == CudaVersion{11, 0});
  CHECK(cuenv::detail::cuda_of_branch(99999) == CudaVersion{13, 4});
  CHECK(cuenv::detail::cuda_of_branch(0) == std::nullopt);
}

TEST_CASE("a version that is nonsense is unknown, and not taken for one", "[diagnosis]") {
  for (char const* const file : {"/proc/driver/nvidia/version", "/sys/module/nvidia/version"}) {
    DescribedTree tree;
    tree.file(file, "garbage\n");
    auto const found = diagnose_driver(tree.site(), {});
    CHECK(fact(found.report, "kernel module") == no_fact);
    CHECK(spares(found.report, "driver.not_loaded"));
    CHECK(found.report.unknown.size() == 1);
  }
}

TEST_CASE("what cannot be read of the driver is not taken for absent", "[diagnosis]") {
  DescribedTree tree;
  tree.loop("/proc/driver/nvidia/version").loop(libraries + "libcuda.so.1");
  auto const report = diagnose_driver(tree.site(), {}).report;
  CHECK(report.findings.empty());
  CHECK(could_not_read(report, "/proc/driver/nvidia/version"));
  CHECK(could_not_read(report, "libcuda.so.1"));
  CHECK(report.health() == Health::unknown);

  DescribedTree folder;
  folder.directory("/sys/module/nvidia/version").directory("/etc/ld.so.cache");
  auto const other = diagnose_driver(folder.site(), {}).report;
  CHECK(other.findings.empty());
  CHECK(could_not_read(other, "/sys/module/nvidia/version"));
  CHECK(could_not_read(other, "/etc/ld.so.cache"));
}

TEST_CASE("a compiler that cannot be read may be one", "[diagnosis]") {
  DescribedTree tree;
  installed(tree);
  tree.link("/first/libnvidia-ptxjitcompiler.so.1", libraries + "libnvidia-ptxjitcompiler.so.1")
      .directory("/odd/libnvidia-ptxjitcompiler.so.1");
  CHECK(diagnose_driver(tree.site({{"LD_LIBRARY_PATH", "/first"}}), two_h200()).jit_compiler == true);
  auto const odd = diagnose_driver(tree.site({{"LD_LIBRARY_PATH", "/odd"}}), two_h200());
  CHECK(odd.jit_compiler == std::nullopt);
  CHECK(odd.jit_compiler_file.empty());
  CHECK(could_not_read(odd.report, "/odd/libnvidia-ptxjitcompiler.so.1"));
  CHECK(odd.report.findings.empty());
}

TEST_CASE("a service that may run, and a package that may serve", "[diagnosis]") {
  DescribedTree tree;
  installed(tree);
  tree.directory("/proc/driver/nvidia-nvswitch/devices/0").directory("/proc/4711/comm");
  auto const running = diagnose_driver(tree.site(), two_h200()).report;
  CHECK(spares(running, "driver.fabric_manager"));
  CHECK(could_not_read(running, "/proc/4711/comm"));
  DescribedTree switches;
  installed(switches);
  switches.loop("/proc/driver/nvidia-nvswitch/devices");
  CHECK(could_not_read(diagnose_driver(switches.site(), two_h200()).report, "/proc/driver/nvidia-nvswitch/devices"));

  DescribedTree package;
  installed(package, "550.54.15", "550.54.15");
  package.directory("/compat/libcuda.so.580.65.06").link("/compat/libcuda.so.1", "libcuda.so.580.65.06");
  auto const served = diagnose_driver(package.site({{"LD_LIBRARY_PATH", "/compat"}}), two_h200()).report;
  CHECK(spares(served, "driver.compat_branch"));
  REQUIRE_FALSE(served.unknown.empty());
  CHECK_THAT(served.unknown.front(), ContainsSubstring("/compat/libcuda.so.580.65.06 is a directory"));
}
