// The pure rules: parsing, checking and formatting a full set of settings, and resolving a list against 8 GPUs.
#include <cuenv/cuenv.hpp>

#include "support/catch.hpp"

#include <string>
#include <utility>
#include <vector>

namespace {

/// A value for every settable variable, as text.
std::vector<std::pair<std::string, std::string>> full_set() {
  std::vector<std::pair<std::string, std::string>> set;
  for (cuenv::VariableRow const& row : cuenv::settable_variables) {
    for (char const* text : {"1", "PCI_BUS_ID", "LAZY", "2x", "skip_abort,gzip_compress", "0=1G,1=512MB", "/tmp/x"}) {
      cuenv::Diagnostics problems;
      if (!row.canonical(text, problems)) continue;
      set.emplace_back(row.info->name, text);
      break;
    }
  }
  return set;
}

cuenv::Machine eight_gpus() {
  cuenv::Machine machine;
  machine.source = cuenv::MachineSource::described;
  machine.driver_version = "580.159.04";
  for (unsigned i = 0; i < 8; ++i) {
    cuenv::Gpu gpu;
    gpu.name = "NVIDIA H200";
    gpu.pci = {0, i + 1, 0, 0};
    gpu.uuid = cuenv::Uuid{};
    for (std::size_t b = 0; b < 16; ++b) gpu.uuid->bytes[b] = static_cast<std::uint8_t>(37 * i + 11 * b + 5);
    machine.gpus.push_back(gpu);
  }
  return machine;
}

}  // namespace

TEST_CASE("rules") {
  auto const set = full_set();
  REQUIRE(set.size() == std::size(cuenv::settable_variables));
  auto const machine = eight_gpus();
  std::string uuids;
  for (auto const& gpu : machine.gpus) uuids += (uuids.empty() ? "GPU-" : ",GPU-") + to_string(*gpu.uuid);
  REQUIRE(cuenv::resolve_visibility({uuids, {}}, machine).devices.size() == 8);

  BENCHMARK("a full set of settings: parse, check, format") { return cuenv::settings_from(set).problems().size(); };
  BENCHMARK("resolve 8 indices against 8 GPUs") {
    return cuenv::resolve_visibility({"7,6,5,4,3,2,1,0", "PCI_BUS_ID"}, machine).devices.size();
  };
  BENCHMARK("resolve 8 UUIDs against 8 GPUs") {
    return cuenv::resolve_visibility({uuids, {}}, machine).devices.size();
  };
  BENCHMARK("resolve a list that is cut") {
    return cuenv::resolve_visibility({"0,9,2,3,4,5,6,7", "PCI_BUS_ID"}, machine).dropped.size();
  };
}
