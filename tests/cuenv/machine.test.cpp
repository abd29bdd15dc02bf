#include <cuenv/machine.hpp>

#include "simulated.hpp"
#include "support/catch.hpp"
#include "support/described_machines.hpp"
#include "support/generated_text.hpp"
#include "support/temporary_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <string>

using namespace cuenv_tests;
using cuenv::MachineSource;

namespace {

std::string const gpus_folder = "proc/driver/nvidia/gpus/";

/// The folder of a GPU, below the machine's.
std::string folder_of(std::string pci) {
#ifdef _WIN32
  std::replace(pci.begin(), pci.end(), ':', '-');  // no character of a file's name there
#endif
  return gpus_folder + pci;
}

cuenv::Machine read(TemporaryFolder const& root) { return cuenv::read_machine(root.path.string()); }

/// The GPUs by the last digit of their bus: "1 2 9".
std::string buses(cuenv::Machine const& machine) {
  std::string text;
  for (cuenv::Gpu const& gpu : machine.gpus) text += (text.empty() ? "" : " ") + std::to_string(gpu.pci.bus);
  return text;
}

std::string information(std::string const& pci, int minor) {
  return "Model: \t\t NVIDIA H200\nBus Location: \t " + pci + "\nDevice Minor: \t " + std::to_string(minor) + "\n";
}

}  // namespace

TEST_CASE("the kernel driver's files describe the GPUs", "[machine]") {
  TemporaryFolder root;
  simulated::write_root(simulated::shipped_machine("two_h200"), root.path.string());
  auto const machine = read(root);
  CHECK(machine.source == MachineSource::proc);
  CHECK(machine.driver_version == "580.159.04");
  CHECK(machine.driver_branch() == 580);
  CHECK(machine.gpus_are_alike());
  REQUIRE(machine.gpus.size() == 2);
  CHECK("GPU-" + to_string(*machine.gpus[0].uuid) == uuid_0);
  CHECK("GPU-" + to_string(*machine.gpus[1].uuid) == uuid_1);
  CHECK(to_string(machine.gpus[1].pci) == "0000:00:07.0");
  CHECK(machine.gpus[0].name == "NVIDIA H200");
  CHECK_FALSE(machine.gpus[0].compute_capability);
  CHECK_FALSE(machine.gpus[0].mig_enabled);
}

TEST_CASE("unlike GPUs are seen as such", "[machine]") {
  TemporaryFolder root;
  simulated::write_root(simulated::shipped_machine("rtx_3090_4070"), root.path.string());
  CHECK_FALSE(read(root).gpus_are_alike());
  CHECK(read(root).driver_branch() == 535);
}

TEST_CASE("a GPU that is excluded or has no device node here is not counted", "[machine]") {
  auto described = simulated::shipped_machine("two_h200");
  {
    TemporaryFolder root;
    simulated::write_root(described, root.path.string());
    std::filesystem::remove(root.path / "dev/nvidia0");  // as in a container that got GPU 1 alone
    auto const machine = read(root);
    REQUIRE(machine.gpus.size() == 1);
    CHECK("GPU-" + to_string(*machine.gpus[0].uuid) == uuid_1);
  }
  described.gpus[1].excluded = true;
  TemporaryFolder root;
  simulated::write_root(described, root.path.string());
  auto const machine = read(root);
  REQUIRE(machine.gpus.size() == 1);
  CHECK("GPU-" + to_string(*machine.gpus[0].uuid) == uuid_0);
}

TEST_CASE("a UUID printed as question marks is unknown, the GPU is not", "[machine]") {
  TemporaryFolder root;
  std::string const marks = "GPU-" + std::string(8, '?') + "-" + std::string(4, '?') + "-" + std::string(4, '?') + "-" +
                            std::string(4, '?') + "-" + std::string(12, '?');
  root.write(folder_of("0000:01:00.0") + "/information",
             information("0000:01:00.0", 0) + "GPU UUID: \t " + marks + "\n");
  root.write("dev/nvidia0", "");
  auto const machine = read(root);
  REQUIRE(machine.gpus.size() == 1);
  CHECK_FALSE(machine.gpus[0].uuid);
  CHECK(machine.gpus[0].name == "NVIDIA H200");
}

TEST_CASE("GPUs are in the order of the bus, whatever the order of folders and minor numbers", "[machine]") {
  TemporaryFolder root;
  int minor = 0;
  for (char const* pci : {"0000:0a:00.0", "0000:09:00.0", "0000:c1:00.0", "0000:01:00.0", "0000:10:00.0"}) {
    root.write(gpus_folder + pci + "/information", information(pci, minor));
    root.write("dev/nvidia" + std::to_string(minor++), "");
  }
  CHECK(buses(read(root)) == "1 9 10 16 193");
}

TEST_CASE("no folder means that nothing is known, an empty one that there is no GPU", "[machine]") {
  TemporaryFolder root;
  CHECK(read(root).source == MachineSource::unknown);
  CHECK(read(root).driver_version.empty());
  std::filesystem::create_directories(root.path / gpus_folder);
  CHECK(read(root).source == MachineSource::proc);
  CHECK(read(root).gpus.empty());
  CHECK(cuenv::read_machine("/does/not/exist").source == MachineSource::unknown);
}

TEST_CASE("what is no description of a GPU is passed over", "[machine]") {
  TemporaryFolder root;
  root.write("dev/nvidia0", "");
  root.write("dev/nvidia1", "");
  root.write(folder_of("0000:01:00.0") + "/information", information("0000:01:00.0", 0));
  root.write(folder_of("0000:02:00.0") + "/information", "");                              // no minor number
  root.write(folder_of("0000:03:00.0") + "/information", "Device Minor: 0x\n");            // no number
  root.write(folder_of("0000:04:00.0") + "/information", "Device Minor: 1/../nvidia1\n");  // no number either
  root.write(folder_of("0000:05:00.0") + "/other", "");
  root.write(folder_of("0000:06:00.0"), "a file where a folder should be");
  root.write(gpus_folder + "nonsense/information", "Device Minor: 0\n");  // no place on the bus
  std::filesystem::create_directories(root.path / folder_of("0000:07:00.0") / "information");
  std::filesystem::create_directories(root.path / folder_of("0000:08:00.0"));
  make_pipe(root.path / folder_of("0000:08:00.0") / "information");  // does not wait
  root.write(folder_of("0000:09:00.0") + "/information", "Device Minor: 1\nBus Location: somewhere\n");
#ifdef _WIN32
  CHECK(buses(read(root)) == "1");  // there no folder has the name of a place on the bus
#else
  CHECK(buses(read(root)) == "1 9");
#endif
}

TEST_CASE("of a huge file only the beginning is read", "[machine]") {
  TemporaryFolder root;
  root.write("dev/nvidia0", "");
  root.write(folder_of("0000:01:00.0") + "/information", information("0000:01:00.0", 0) + std::string(8U << 20, 'x'));
  root.write(folder_of("0000:02:00.0") + "/information", std::string(8U << 20, '\n') + information("0000:02:00.0", 0));
  root.write("proc/driver/nvidia/version", std::string(8U << 20, ' '));
  CHECK(buses(read(root)) == "1");
  CHECK(read(root).driver_version.empty());
}

TEST_CASE("any bytes as a description are read without harm", "[machine]") {
  Generator generator;
  for (int i = 0; i < 3000; ++i) {
    auto const found = cuenv::detail::parse_gpu_information("Device Minor:" + generator.text("0123456789 \t", 12) +
                                                            "\n" + generator.bytes(40) + "\nGPU UUID: GPU-" +
                                                            generator.text("0123456789abcdef-", 40));
    if (found.minor_number) REQUIRE(*found.minor_number <= 1000000);
    std::string const version = cuenv::detail::parse_driver_version(generator.text("580.15x \n\t", 20));
    bool const is_version = version.empty() || version.find_first_not_of("0123456789.") == std::string::npos;
    REQUIRE(is_version);
  }
}

TEST_CASE("the driver's version is found in both lines that drivers print", "[machine]") {
  struct Row {
    char const* text;
    char const* version;
  };
  Row const rows[] = {
      {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue Jan  1 00:00:00 UTC 2030\nGCC version: "
       "12.2.0\n",
       "580.159.04"},
      {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (root@x)\n", "570.86.15"},
      {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  580  \n", ""},
      {"\nNVRM version: 580.1\n", ""},
      {"", ""},
  };
  for (Row const& row : rows) CHECK(cuenv::detail::parse_driver_version(row.text) == row.version);
}

TEST_CASE("an unknown driver counts as the newest", "[machine]") {
  CHECK(described_machine({}, "").driver_branch() > 570);
  CHECK(described_machine({}, "x").driver_branch() > 570);
  CHECK(described_machine({}, "99999999999999999999999").driver_branch() > 570);
  CHECK(described_machine({}, "470.57.02").driver_branch() == 470);
}

TEST_CASE("GPUs are alike by name, and not when one is split", "[machine]") {
  CHECK(described_machine({}).gpus_are_alike());
  CHECK(two_h200().gpus_are_alike());
  CHECK_FALSE(unlike_gpus().gpus_are_alike());
  CHECK_FALSE(mig_machine("580.1").gpus_are_alike());
}
