// docs/articles.md, line by line: what the page says that the driver does is what cuenv says.
#include <cuenv/cuenv.hpp>

#include "support/catch.hpp"
#include "support/described_environment.hpp"
#include "support/described_machines.hpp"
#include "support/temporary_folder.hpp"

#include <fstream>
#include <map>
#include <set>
#include <string>

namespace {

cuenv::Visibility with(char const* visible, std::optional<std::string> order = std::nullopt) {
  cuenv::VisibilityVariables variables;
  if (visible != nullptr) variables.visible = visible;
  variables.order = std::move(order);
  return resolve_visibility(variables, cuenv_tests::two_h200());
}

std::string effect(std::string_view name, std::string_view text) {
  return cuenv::find_variable(name)->effect(text).value;
}

cuenv::Fit sass(int sm, char suffix, int first, int second) {
  return fit_of_cubin(cuenv::Target{sm, suffix}, cuenv::ComputeCapability{first, second});
}

bool reads_nothing(char const* name) {
  auto const finding = cuenv::check_name(name, "1");
  return finding && finding->code == "name.no_effect";
}

bool is(int first, int second, std::string_view architecture) {
  return architecture_of(cuenv::ComputeCapability{first, second}) == architecture;
}

bool is_cached(std::string const& folder) {
  return jit_is_cached(cuenv_tests::DescribedEnvironment{{{"CUDA_CACHE_PATH", folder}}});
}

/// What a driver of this CUDA version answers to PTX of 13.1, which is 9.1, on a Hopper GPU.
int ptx_answer(cuenv::CudaVersion driver) {
  cuenv_tests::TemporaryFolder const folder;
  folder.write("newer.ptx", ".version 9.1\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n ret;\n}\n");
  auto const file = cuenv::inspect((folder.path / "newer.ptx").string());
  return judge_as_module(file, {cuenv::ComputeCapability{9, 0}, driver, {}}).code.value_or(0);
}

/// The first column of each line of the page, and its test.
std::map<std::string, bool (*)()> const lines{
    {"`CUDA_DEVICE_ORDER` is `PCI_BUS_ID` by default",
     [] { return cuenv::device_order.info.fallback == "FASTEST_FIRST"; }},
    {"`CUDA_DEVICE_ORDER=pci_bus_id` will do", [] { return with(nullptr, "pci_bus_id").cu_init == 101; }},
    {"an entry that is no GPU is skipped", [] { return with("0,9,1").devices.size() == 1; }},
    {"`CUDA_VISIBLE_DEVICES=0,0` shows a GPU twice", [] { return with("0,0").cu_init == 101; }},
    {"`CUDA_VISIBLE_DEVICES=all` shows every GPU", [] { return with("all").cu_init == 100; }},
    {"`CUDA_DEVICE_MAX_CONNECTIONS=64` gives 64 connections",
     [] { return effect("CUDA_DEVICE_MAX_CONNECTIONS", "64") == "32"; }},
    {"`CUDA_LAUNCH_BLOCKING=true` makes launches wait",
     [] { return effect("CUDA_LAUNCH_BLOCKING", "true") == "off" && effect("CUDA_LAUNCH_BLOCKING", "1") == "on"; }},
    {"`CUDA_CACHE_MAXSIZE=4G` makes the cache larger",
     [] { return effect("CUDA_CACHE_MAXSIZE", "4G") == "4 bytes: nothing new is cached"; }},
    {"a shared read-only JIT cache saves every user the compilation",
     [] { return is_cached(CUENV_DOCS) && !is_cached("/proc/sys/kernel"); }},
    {"`CUDA_MEMCPY_ASYNC`, `CUDA_MEMCPY_SYNC`, `CUDA_MEMCPY_KEEP_STREAM_ORDER` change copies",
     [] {
       return reads_nothing("CUDA_MEMCPY_ASYNC") && reads_nothing("CUDA_MEMCPY_SYNC") &&
              reads_nothing("CUDA_MEMCPY_KEEP_STREAM_ORDER") && !reads_nothing("CUDA_CACHE_PATH");
     }},
    {"8.0 is Turing, 9.0 is Ada",
     [] { return is(7, 5, "Turing") && is(8, 0, "Ampere") && is(8, 9, "Ada") && is(9, 0, "Hopper"); }},
    {"Blackwell is 10.x",
     [] {
       for (auto const& cc : {std::pair{10, 0}, {10, 3}, {11, 0}, {12, 0}, {12, 1}}) {
         if (!is(cc.first, cc.second, "Blackwell")) return false;
       }
       return sass(100, 0, 11, 0) != cuenv::Fit::yes && sass(100, 0, 12, 0) != cuenv::Fit::yes &&
              sass(110, 0, 12, 0) != cuenv::Fit::yes;
     }},
    {"code for `sm_90` runs on a GeForce RTX 40", [] { return sass(90, 0, 8, 9) == cuenv::Fit::newer; }},
    {"code for `sm_86` needs a rebuild for 8.9",
     [] { return sass(86, 0, 8, 9) == cuenv::Fit::yes && sass(89, 0, 8, 6) != cuenv::Fit::yes; }},
    {"`sm_90a` code runs on Hopper and later",
     [] {
       return sass(90, 'a', 9, 0) == cuenv::Fit::yes && sass(90, 'a', 10, 0) != cuenv::Fit::yes &&
              sass(90, 'a', 12, 0) != cuenv::Fit::yes;
     }},
    {"PTX runs on every newer GPU with every driver",
     [] {
       return ptx_answer({13, 0}) == 222 && ptx_answer({13, 1}) == 0;
     }},
};

}  // namespace

TEST_CASE("each line of what articles say has a test, and it holds", "[docs]") {
  std::ifstream page{CUENV_DOCS "/articles.md"};
  REQUIRE(page);
  std::set<std::string> seen;
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("| ", 0) != 0 || line.rfind("| ---", 0) == 0 || line.rfind("| articles say", 0) == 0) continue;
    std::string const claim = line.substr(2, line.find(" | ") - 2);
    INFO(claim);
    REQUIRE(lines.count(claim) == 1);
    CHECK(lines.at(claim)());
    seen.insert(claim);
  }
  CHECK(seen.size() == lines.size());
}
