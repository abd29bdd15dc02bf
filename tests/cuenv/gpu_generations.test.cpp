#include <cuenv/gpu_generations.hpp>

#include "support/catch.hpp"

#include <optional>
#include <string_view>

using cuenv::Age;
using cuenv::ComputeCapability;
using cuenv::CudaVersion;

TEST_CASE("a compute capability has an architecture", "[gpu_generations]") {
  CHECK(cuenv::architecture_of({9, 0}) == "Hopper");
  CHECK(cuenv::architecture_of({8, 9}) == "Ada");
  for (int const sm : {100, 101, 103, 110, 120, 121}) {
    CHECK(cuenv::architecture_of(ComputeCapability::from_sm(sm)) == "Blackwell");
  }
  CHECK(cuenv::architecture_of({10, 7}) == "Rubin");
  CHECK(cuenv::architecture_of({99, 0}).empty());
}

TEST_CASE("every target of the PTX manual from Fermi on has a row, and no toolkit is older than its PTX",
          "[gpu_generations]") {
  for (cuenv::TargetIntroduction const& target : cuenv::target_introductions) {
    if (target.sm < 20) continue;
    CAPTURE(target.sm);
    auto const* const row = cuenv::find_generation(ComputeCapability::from_sm(target.sm));
    REQUIRE(row != nullptr);
    CHECK_FALSE(row->architecture.empty());
    if (row->first_toolkit < CudaVersion{8, 0}) continue;  // the table of releases begins there
    CHECK_FALSE(cuenv::newest_ptx(row->first_toolkit) < target.plain);
  }
}

TEST_CASE("a toolkit can be too old or too new for a GPU", "[gpu_generations]") {
  CHECK(cuenv::age_for_toolkit({9, 0}, {11, 7}) == Age::gpu_too_new);
  CHECK(cuenv::age_for_toolkit({9, 0}, {11, 8}) == Age::fits);
  CHECK(cuenv::age_for_toolkit({9, 0}, {13, 4}) == Age::fits);
  CHECK(cuenv::age_for_toolkit({7, 0}, {12, 9}) == Age::fits);
  CHECK(cuenv::age_for_toolkit({7, 0}, {13, 0}) == Age::gpu_too_old);
  CHECK(cuenv::age_for_toolkit({3, 7}, {12, 0}) == Age::gpu_too_old);
  CHECK(cuenv::age_for_toolkit({12, 0}, {12, 6}) == Age::gpu_too_new);
  CHECK(cuenv::age_for_toolkit({99, 0}, {13, 0}) == Age::unknown);
}

TEST_CASE("a driver can be too old or too new for a GPU", "[gpu_generations]") {
  CHECK(cuenv::age_for_driver({3, 5}, 470) == Age::fits);
  CHECK(cuenv::age_for_driver({3, 5}, 535) == Age::gpu_too_old);
  CHECK(cuenv::age_for_driver({6, 1}, 580) == Age::fits);
  CHECK(cuenv::age_for_driver({6, 1}, 590) == Age::gpu_too_old);
  CHECK(cuenv::age_for_driver({12, 0}, 550) == Age::gpu_too_new);
  CHECK(cuenv::age_for_driver({12, 0}, 570) == Age::fits);
  CHECK(cuenv::age_for_driver({5, 0}, 340) == Age::fits);  // how early is not in the table
  CHECK(cuenv::age_for_driver({99, 0}, 580) == Age::unknown);
  CHECK(cuenv::first_driver_branch({9, 0}) == 520);
  CHECK(cuenv::first_driver_branch({2, 0}) == 0);
  CHECK(cuenv::needs_open_module({10, 0}));
  CHECK_FALSE(cuenv::needs_open_module({9, 0}));
  CHECK(cuenv::needs_proprietary_module({7, 0}));
  CHECK_FALSE(cuenv::needs_proprietary_module({7, 5}));
}

TEST_CASE("a GPU is known by its PCI device id and by its name, and the two agree", "[gpu_generations]") {
  struct Row {
    unsigned id;
    std::string_view name;
    int sm;
  };
  // From the PCI ID database and the list of the open kernel modules.
  Row const rows[] = {
      {0x102d, "Tesla K80", 37},
      {0x15f8, "Tesla P100-PCIE-16GB", 60},
      {0x1b06, "NVIDIA GeForce GTX 1080 Ti", 61},
      {0x1db6, "Tesla V100-PCIE-32GB", 70},
      {0x1eb5, "Quadro RTX 5000 with Max-Q Design", 75},
      {0x1eb8, "Tesla T4", 75},
      {0x2191, "NVIDIA GeForce GTX 1660 Ti", 75},
      {0x20b2, "NVIDIA A100-SXM4-80GB", 80},
      {0x2204, "NVIDIA GeForce RTX 3090", 86},
      {0x2230, "NVIDIA RTX A6000", 86},
      {0x25a0, "NVIDIA GeForce RTX 3050Ti Laptop GPU", 86},
      {0x25a7, "NVIDIA GeForce RTX 2050", 86},
      {0x25b2, "NVIDIA RTX A400", 86},
      {0x25b6, "NVIDIA A2", 86},
      {0x2822, "NVIDIA GeForce RTX 3050 A Laptop GPU", 89},
      {0x26b1, "NVIDIA RTX 6000 Ada Generation", 89},
      {0x26b9, "NVIDIA L40S", 89},
      {0x27b8, "NVIDIA L4", 89},
      {0x232c, "NVIDIA H20-3e", 90},
      {0x2335, "NVIDIA H200", 90},
      {0x2342, "NVIDIA GH200 480GB", 90},
      {0x2901, "NVIDIA B200", 100},
      {0x3182, "NVIDIA B300 SXM6 AC", 103},
      {0x2b85, "NVIDIA GeForce RTX 5090", 120},
      {0x2e12, "NVIDIA GB10", 121},
  };
  for (Row const& row : rows) {
    CAPTURE(row.name);
    CHECK(cuenv::capability_of_pci_device(row.id) == ComputeCapability::from_sm(row.sm));
    CHECK(cuenv::capability_of_name(row.name) == ComputeCapability::from_sm(row.sm));
  }
}

TEST_CASE("a GPU that no table has stays unknown", "[gpu_generations]") {
  CHECK(cuenv::capability_of_pci_device(0) == std::nullopt);
  CHECK(cuenv::capability_of_pci_device(0x22a3) == std::nullopt);  // an NVSwitch
  CHECK(cuenv::capability_of_pci_device(0xffffffff) == std::nullopt);
  for (std::string_view const name : {"", "NVIDIA", "NVIDIA GeForce GTX 960M", "NVIDIA H2001", "XH200", "RTX", "#", "A",
                                      "NVIDIA Adam", "NVIDIA GeForce RTX 9090", "NVIDIA GeForce GTX 860M"}) {
    CAPTURE(name);
    CHECK(cuenv::capability_of_name(name) == std::nullopt);
  }
}
