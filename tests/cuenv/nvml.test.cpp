#include <cuenv/nvml.hpp>

#include "support/catch.hpp"
#include "support/described_machines.hpp"

#include <array>
#include <cstdio>
#include <string>

using namespace cuenv_tests;
using cuenv::MachineSource;
using cuenv::NvmlApi;

namespace {

/// What the table below answers from. GPU 0 sits behind GPU 1 on the bus and is split into two instances, of which the
/// second place is empty.
struct Management {
  int init_answer = 0;
  int started = 0;
  int stopped = 0;
  bool lost = false;  // GPU 1 cannot be asked
} management;

// A handle is the address of one of these: two GPUs, then the instances of GPU 0.
std::array<char, 4> parts{};

NvmlApi::Handle handle(std::size_t part) { return reinterpret_cast<NvmlApi::Handle>(&parts.at(part)); }
std::size_t part_of(NvmlApi::Handle handle) {
  return static_cast<std::size_t>(reinterpret_cast<char*>(handle) - parts.data());
}

int put(std::string const& text, char* to, unsigned size) {
  return std::snprintf(to, size, "%s", text.c_str()) < static_cast<int>(size) ? 0 : 7;
}

NvmlApi table() {
  NvmlApi api;
  api.init = [] { return management.started += management.init_answer == 0 ? 1 : 0, management.init_answer; };
  api.shutdown = [] { return ++management.stopped, 0; };
  api.error_string = [](int) { return "Driver Not Loaded"; };
  api.driver_version = [](char* to, unsigned size) { return put("580.159.04", to, size); };
  api.device_count = [](unsigned* count) { return *count = 2, 0; };
  api.device_by_index = [](unsigned index, NvmlApi::Handle* to) {
    if (management.lost && index == 1) return 15;
    return *to = handle(index), 0;
  };
  api.uuid = [](NvmlApi::Handle of, char* to, unsigned size) {
    char const* const uuids[] = {uuid_0, uuid_1, mig_uuid[0], mig_uuid[2]};
    return put(uuids[part_of(of)], to, size);
  };
  api.name = [](NvmlApi::Handle, char* to, unsigned size) { return put("NVIDIA H200", to, size); };
  api.pci_info = [](NvmlApi::Handle of, NvmlApi::PciInfo* to) {
    to->bus = part_of(of) == 0 ? 9U : 8U;
    return 0;
  };
  api.compute_capability = [](NvmlApi::Handle, int* x, int* y) { return *x = 9, *y = 0, 0; };
  api.mig_mode = [](NvmlApi::Handle of, unsigned* now, unsigned* later) {
    if (part_of(of) == 1) return 3;  // not supported
    return *now = *later = 1, 0;
  };
  api.max_mig_devices = [](NvmlApi::Handle, unsigned* count) { return *count = 3, 0; };
  api.mig_device = [](NvmlApi::Handle, unsigned index, NvmlApi::Handle* to) {
    if (index == 1) return 6;  // none here
    return *to = handle(index == 0 ? 2 : 3), 0;
  };
  api.gpu_instance = [](NvmlApi::Handle of, unsigned* id) { return *id = part_of(of) == 2 ? 1 : 2, 0; };
  api.compute_instance = [](NvmlApi::Handle, unsigned* id) { return *id = 0, 0; };
  return api;
}

cuenv::Machine read(NvmlApi const& api, std::string& error) {
  return cuenv::read_machine_from_nvml(cuenv::NvmlLibrary{api, true, ""}, error);
}

}  // namespace

TEST_CASE("the management library describes GPUs and MIG instances in the order of the bus", "[nvml]") {
  management = {};
  std::string error;
  auto const machine = read(table(), error);
  CHECK(error.empty());
  CHECK(machine.source == MachineSource::nvml);
  CHECK(machine.driver_version == "580.159.04");
  REQUIRE(machine.gpus.size() == 2);
  CHECK("GPU-" + to_string(*machine.gpus[0].uuid) == uuid_1);
  CHECK("GPU-" + to_string(*machine.gpus[1].uuid) == uuid_0);
  CHECK(to_string(machine.gpus[0].pci) == "0000:08:00.0");
  CHECK(machine.gpus[0].name == "NVIDIA H200");
  CHECK(machine.gpus[0].compute_capability == cuenv::ComputeCapability{9, 0});
  CHECK_FALSE(machine.gpus[0].mig_enabled);
  CHECK(machine.gpus[1].mig_enabled);
  REQUIRE(machine.gpus[1].mig.size() == 2);
  CHECK("MIG-" + to_string(*machine.gpus[1].mig[1].uuid) == mig_uuid[2]);
  CHECK(machine.gpus[1].mig[1].gpu_instance == 2);
  CHECK(management.started == 1);
  CHECK(management.stopped == 1);
}

TEST_CASE("without the management library the machine stays unknown, and the reason is said", "[nvml]") {
  management = {};
  std::string error;
  CHECK(cuenv::read_machine_from_nvml(cuenv::NvmlLibrary{{}, false, "cannot open"}, error).source ==
        MachineSource::unknown);
  CHECK(error == "cannot open");

  management.init_answer = 9;
  CHECK(read(table(), error).source == MachineSource::unknown);
  CHECK(error == "nvmlInit gave 9 (Driver Not Loaded)");
  CHECK(management.stopped == 0);

  CHECK(read(NvmlApi{}, error).source == MachineSource::unknown);
  CHECK_THAT(error, ContainsSubstring("lacks a function"));
}

TEST_CASE("an older management library without the lesser functions still lists the GPUs", "[nvml]") {
  management = {};
  NvmlApi api = table();
  api.driver_version = nullptr;
  api.error_string = nullptr;
  api.uuid = nullptr;
  api.name = nullptr;
  api.compute_capability = nullptr;
  api.mig_mode = nullptr;
  std::string error;
  auto const machine = read(api, error);
  CHECK(machine.source == MachineSource::nvml);
  REQUIRE(machine.gpus.size() == 2);
  CHECK_FALSE(machine.gpus[0].uuid);
  CHECK_FALSE(machine.gpus[1].mig_enabled);
  management.init_answer = 9;
  (void)read(api, error);
  CHECK(error == "nvmlInit gave 9");
}

TEST_CASE("a count that fails leaves the machine unknown", "[nvml]") {
  management = {};
  NvmlApi api = table();
  api.device_count = [](unsigned*) { return 999; };
  std::string error;
  auto const machine = read(api, error);
  CHECK(machine.source == MachineSource::unknown);
  CHECK(machine.gpus.empty());
  CHECK(management.stopped == 1);
}

TEST_CASE("with a GPU that cannot be asked the indices are unknown, since those behind it would shift", "[nvml]") {
  management = {};
  management.lost = true;
  std::string error;
  auto const machine = cuenv::read_machine_from_nvml(cuenv::NvmlLibrary{table(), true, ""}, error);
  CHECK(machine.source == cuenv::MachineSource::unknown);
  CHECK(machine.gpus.empty());
  CHECK_THAT(error, ContainsSubstring("GPU 1"));
}
