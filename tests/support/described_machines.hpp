#ifndef CUENV_TESTS_SUPPORT_DESCRIBED_MACHINES_HPP
#define CUENV_TESTS_SUPPORT_DESCRIBED_MACHINES_HPP

#include <cuenv/machine.hpp>

#include <string>
#include <utility>
#include <vector>

/// Machines for tests of the pure rules.
namespace cuenv_tests {

inline constexpr char const* uuid_0 = "GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b";
inline constexpr char const* uuid_1 = "GPU-c07e88d2-91ab-4f3c-a5d0-7e6f5d4c3b2a";

/// A GPU by its UUID (with the tag; any other text: unknown) and bus number.
inline cuenv::Gpu described_gpu(std::string const& uuid, unsigned bus, std::string name = "NVIDIA H200") {
  cuenv::Gpu gpu;
  if (uuid.size() == 40) gpu.uuid = cuenv::parse_uuid(uuid.substr(4));
  gpu.pci = {0, bus, 0, 0};
  gpu.name = std::move(name);
  return gpu;
}

inline cuenv::Machine described_machine(std::vector<cuenv::Gpu> gpus, std::string driver = "580.159.04") {
  cuenv::Machine machine;
  machine.gpus = std::move(gpus);
  machine.source = cuenv::MachineSource::described;
  machine.driver_version = std::move(driver);
  return machine;
}

/// The machine of the measurements, with its UUIDs and bus addresses replaced.
inline cuenv::Machine two_h200() {
  cuenv::Machine machine = described_machine({described_gpu(uuid_0, 0), described_gpu(uuid_1, 0)});
  machine.gpus[0].pci = *cuenv::parse_pci_address("0000:00:06.0");
  machine.gpus[1].pci = *cuenv::parse_pci_address("0000:00:07.0");
  return machine;
}

/// As many GPUs of one kind; all UUIDs begin differently: GPU-00000000-..., GPU-01000000-...
inline cuenv::Machine alike_gpus(unsigned count) {
  std::vector<cuenv::Gpu> gpus;
  for (unsigned i = 0; i < count; ++i) {
    cuenv::Gpu gpu = described_gpu("", i + 1);
    gpu.uuid = cuenv::Uuid{};
    gpu.uuid->bytes[0] = static_cast<unsigned char>(i);
    gpus.push_back(std::move(gpu));
  }
  return described_machine(std::move(gpus));
}

/// Two GPUs that CUDA may number in another order than the bus.
inline cuenv::Machine unlike_gpus() {
  return described_machine(
      {described_gpu(uuid_0, 1, "NVIDIA GeForce RTX 3090"), described_gpu(uuid_1, 2, "NVIDIA GeForce RTX 4070")});
}

inline constexpr char const* mig_uuid[] = {"MIG-10000000-0000-5000-8000-000000000001",
                                           "MIG-20000000-0000-5000-8000-000000000002",
                                           "MIG-30000000-0000-5000-8000-000000000003"};

/// GPU 0 is split: GPU instance 1 with two compute instances, GPU instance 2 with one. GPU 1 is whole.
inline cuenv::Machine mig_machine(std::string driver) {
  cuenv::Machine machine = described_machine({described_gpu(uuid_0, 1), described_gpu(uuid_1, 2)}, std::move(driver));
  cuenv::Gpu& gpu = machine.gpus[0];
  gpu.mig_enabled = true;
  auto const instance = [](std::size_t i, int gpu_instance, int compute_instance) {
    return cuenv::MigInstance{cuenv::parse_uuid(std::string{mig_uuid[i]}.substr(4)), gpu_instance, compute_instance,
                              "1g.18gb"};
  };
  gpu.mig = {instance(0, 1, 0), instance(1, 1, 1), instance(2, 2, 0)};
  return machine;
}

}  // namespace cuenv_tests

#endif  // CUENV_TESTS_SUPPORT_DESCRIBED_MACHINES_HPP
