#include <cuenv/device_map.hpp>

#include "simulated.hpp"
#include "support/catch.hpp"
#include "support/described_environment.hpp"
#include "support/described_machines.hpp"

#include <memory>
#include <sstream>
#include <string>

using namespace cuenv_tests;
using cuenv::Device;
using cuenv::DeviceMap;

namespace {

/// The map that the simulated driver gives in a fresh process with these variables, joined with `machine`.
DeviceMap map_of(simulated::Machine const& simulated, cuenv::Machine const& machine,
                 DescribedEnvironment::Map variables) {
  auto const environment = std::make_shared<DescribedEnvironment>(std::move(variables));
  simulated::set_environment([environment](std::string const& name) { return environment->get(name); });
  simulated::install(simulated);
  auto const driver = simulated::open_driver(cuenv::DriverOpen::load);
  REQUIRE(driver.api.init(0) == CUDA_SUCCESS);
  int code = -1;
  DeviceMap map{cuenv::read_devices(driver.api, machine, code)};
  CHECK(code == 0);
  simulated::set_environment({});
  return map;
}

/// The physical index of each logical device: "1 0", "?" where it is not known.
std::string physical(DeviceMap const& map) {
  std::string text;
  for (Device const& device : map.devices()) {
    text += text.empty() ? "" : " ";
    text += device.physical ? std::to_string(device.physical->value) : "?";
  }
  return text;
}

cuenv::Machine rtx_machine() {
  auto const described = simulated::shipped_machine("rtx_3090_4070");
  auto machine = unlike_gpus();
  for (std::size_t i = 0; i < 2; ++i) {
    machine.gpus[i].uuid = cuenv::parse_uuid(described.gpus[i].uuid.substr(4));
    machine.gpus[i].pci = *cuenv::parse_pci_address(described.gpus[i].pci);
  }
  return machine;
}

}  // namespace

TEST_CASE("devices are mapped both ways", "[device_map]") {
  auto const map = map_of(simulated::shipped_machine("two_h200"), two_h200(), {{"CUDA_VISIBLE_DEVICES", "1,0"}});
  REQUIRE(map.devices().size() == 2);
  CHECK(physical(map) == "1 0");
  Device const& first = map.devices()[0];
  CHECK("GPU-" + to_string(first.uuid) == uuid_1);
  CHECK(to_string(first.pci) == "0000:00:07.0");
  CHECK(first.name == "Simulated NVIDIA H200");
  CHECK(first.compute_capability == cuenv::ComputeCapability{9, 0});
  CHECK_FALSE(first.is_mig);
  for (Device const& device : map.devices()) {
    CHECK(map.find(device.logical) == &device);
    CHECK(map.find(*device.physical) == std::vector<cuenv::LogicalIndex>{device.logical});
    CHECK(map.find(device.uuid) == std::vector<cuenv::LogicalIndex>{device.logical});
    CHECK(map.find(device.pci) == std::vector<cuenv::LogicalIndex>{device.logical});
  }
  CHECK(map.find(cuenv::logical(2)) == nullptr);
  CHECK(map.find(cuenv::logical(-1)) == nullptr);
  CHECK(map.find(cuenv::physical(2)).empty());
  CHECK(map.find(cuenv::Uuid{}).empty());
}

TEST_CASE("a hidden GPU has no logical device", "[device_map]") {
  auto const map = map_of(simulated::shipped_machine("two_h200"), two_h200(), {{"CUDA_VISIBLE_DEVICES", "GPU-c07e"}});
  CHECK(physical(map) == "1");
  CHECK(map.find(cuenv::physical(0)).empty());
  CHECK(map.find(cuenv::physical(1)).size() == 1);
}

TEST_CASE("the order by speed is mapped exactly", "[device_map]") {
  auto const simulated = simulated::shipped_machine("rtx_3090_4070");
  CHECK(physical(map_of(simulated, rtx_machine(), {})) == "1 0");
  CHECK(physical(map_of(simulated, rtx_machine(), {{"CUDA_VISIBLE_DEVICES", "0"}})) == "1");
  CHECK(physical(map_of(simulated, rtx_machine(), {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}})) == "0 1");
}

TEST_CASE("what the machine does not tell stays empty", "[device_map]") {
  auto const simulated = simulated::shipped_machine("two_h200");
  CHECK(physical(map_of(simulated, cuenv::Machine{}, {})) == "? ?");
  auto const other = described_machine({described_gpu("", 1)});
  CHECK(physical(map_of(simulated, other, {})) == "? ?");
}

TEST_CASE("a GPU whose UUID the machine does not tell is found by its place on the bus", "[device_map]") {
  auto machine = two_h200();
  machine.gpus[1].uuid.reset();
  auto const map = map_of(simulated::shipped_machine("two_h200"), machine, {});
  CHECK(physical(map) == "0 1");
  CHECK_FALSE(map.devices()[1].is_mig);
}

TEST_CASE("devices that share a GPU's place but not its UUID are its MIG instances", "[device_map][mig]") {
  auto machine = two_h200();
  machine.gpus[0].uuid->bytes[0] = 0xff;  // so the driver's device 0 has another UUID than the GPU there
  auto const map = map_of(simulated::shipped_machine("two_h200"), machine, {});
  CHECK(physical(map) == "0 1");
  CHECK(map.devices()[0].is_mig);
  CHECK_THAT(to_string(map.devices()[0]), ContainsSubstring("MIG-5a9c1f04"));

  auto devices = map.devices();
  devices[1].physical = devices[0].physical;
  CHECK(DeviceMap{devices}.find(cuenv::physical(0)).size() == 2);
}

TEST_CASE("without cuInit the driver's refusal is handed on", "[device_map]") {
  simulated::install(simulated::shipped_machine("two_h200"));
  int code = -1;
  CHECK(cuenv::read_devices(simulated::open_driver(cuenv::DriverOpen::load).api, two_h200(), code).empty());
  CHECK(code == 3);
}

TEST_CASE("a device is one line", "[device_map]") {
  Device device;
  device.name = "NVIDIA\nH200";
  device.uuid = *cuenv::parse_uuid(std::string{uuid_1}.substr(4));
  device.pci = {0, 7, 0, 0};
  device.compute_capability = {9, 0};
  std::ostringstream out;
  out << device;
  CHECK(out.str() == "logical 0  physical unknown  " + std::string{uuid_1} + "  0000:07:00.0  9.0  NVIDIA\\nH200");
  device.physical = cuenv::physical(1);
  CHECK_THAT(to_string(device), ContainsSubstring("physical 1  "));
}

TEST_CASE("of GPUs with one UUID or one address the other tells, and else nothing is invented", "[device_map]") {
  auto const simulated = simulated::shipped_machine("two_h200");
  auto machine = two_h200();
  machine.gpus[1].uuid = machine.gpus[0].uuid;
  CHECK(physical(map_of(simulated, machine, {})) == "0 1");
  machine = two_h200();
  machine.gpus[0].pci = machine.gpus[1].pci;
  CHECK(physical(map_of(simulated, machine, {})) == "0 1");
  machine.gpus[0].uuid.reset();
  machine.gpus[1].uuid.reset();
  CHECK(physical(map_of(simulated, machine, {})) == "? ?");
  machine = two_h200();
  machine.gpus[0] = machine.gpus[1];
  CHECK(physical(map_of(simulated, machine, {})) == "? ?");
}
