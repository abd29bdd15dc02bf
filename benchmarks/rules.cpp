// The pure rules: parsing, checking and formatting a full set of settings, resolving a list against 8 GPUs, and judging
// a module for 8 GPUs, which must not allocate.
#include <cuenv/cuenv.hpp>

#include "support/catch.hpp"
#include "support/described_machines.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>
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

/// A module of 16 entries: SASS and PTX for GPUs around 9.0.
cuenv::ImageModule module_of_16() {
  cuenv::ImageModule module;
  module.kind = cuenv::ModuleKind::fatbin;
  for (int sm : {70, 75, 80, 86, 89, 90, 100, 120}) {
    cuenv::ImageEntry entry;
    entry.kind = cuenv::ImageKind::cubin;
    entry.target.sm = sm;
    module.entries.push_back(entry);
    entry.kind = cuenv::ImageKind::ptx;
    entry.ptx = {8, 0};
    module.entries.push_back(entry);
  }
  return module;
}

/// The conditions of 8 GPUs, not all alike.
std::vector<cuenv::LoadConditions> eight_conditions() {
  std::vector<cuenv::LoadConditions> conditions;
  for (int cc : {75, 80, 86, 89, 90, 100, 103, 120}) {
    conditions.push_back({{cc / 10, cc % 10}, cuenv::CudaVersion{13, 0}, {}});
  }
  return conditions;
}

std::size_t allocations = 0;

}  // namespace

// Every allocation of this program is counted.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc{};
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("rules") {
  auto const set = full_set();
  REQUIRE(set.size() == std::size(cuenv::settable_variables));
  auto const machine = cuenv_tests::alike_gpus(8);
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

TEST_CASE("verdicts") {
  auto const module = module_of_16();
  auto const gpus = eight_conditions();
  REQUIRE(module.entries.size() * gpus.size() == 128);
  auto const judge_all = [&] {
    int loading = 0;
    for (auto const& gpu : gpus) loading += cuenv::judge(module, gpu).loads() ? 1 : 0;
    return loading;
  };
  std::size_t const before = allocations;
  int const loading = judge_all();
  std::size_t const made = allocations - before;
  CHECK(made == 0);
  CHECK(loading == 8);

  BENCHMARK("128 verdicts: a module of 16 entries for 8 GPUs") { return judge_all(); };
}
