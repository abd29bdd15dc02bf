#include <cuenv/names.hpp>

#include "support/catch.hpp"

#include <string>

using cuenv::check_name;

TEST_CASE("a misspelt name is reported with the right one", "[names]") {
  struct Row {
    char const* name;
    char const* meant;
  };
  // The first five stand in public configurations, messages and documents.
  for (Row const& row :
       {Row{"CUDA_VISABLE_DEVICES", "CUDA_VISIBLE_DEVICES"}, Row{"CUDA_VISIBLE_DEVIES", "CUDA_VISIBLE_DEVICES"},
        Row{"CUDA_CACHE_MAX_SIZE", "CUDA_CACHE_MAXSIZE"}, Row{"CUDA_MAX_CONNECTIONS", "CUDA_DEVICE_MAX_CONNECTIONS"},
        Row{"CUDA_VISIBLE_DEVICE", "CUDA_VISIBLE_DEVICES"}, Row{"CUDA_DEVICE_ORDR", "CUDA_DEVICE_ORDER"},
        Row{"NVIDIA_VISIBLE_DEVICE", "NVIDIA_VISIBLE_DEVICES"}, Row{"CUDA_LAUCNH_BLOCKING", "CUDA_LAUNCH_BLOCKING"}}) {
    INFO(row.name);
    auto const finding = check_name(row.name, "0");
    REQUIRE(finding);
    CHECK(finding->code == "name.misspelt");
    CHECK(finding->severity == cuenv::Severity::warning);
    CHECK(finding->fix == "did you mean " + std::string{row.meant} + "?");
  }
}

TEST_CASE("names that articles recommend and nothing reads are reported", "[names]") {
  for (cuenv::IneffectiveName const& row : cuenv::ineffective_names) {
    INFO(row.name);
    auto const finding = check_name(row.name, "1");
    REQUIRE(finding);
    CHECK(finding->code == "name.no_effect");
    CHECK_FALSE(finding->fix.empty());
  }
  CHECK(check_name("CUDA_MPS_DEVICE_MEM_LIMIT", "0=1G")->fix == "use CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
}

TEST_CASE("known names and other people's names are left alone", "[names]") {
  for (cuenv::VariableRow const& row : cuenv::settable_variables) CHECK_FALSE(check_name(row.info->name, ""));
  for (cuenv::VariableInfo const& info : cuenv::related_variables) CHECK_FALSE(check_name(info.name, ""));
  // Names of toolkits, and undocumented ones of the 580 driver library.
  for (char const* name :
       {"PATH", "CUDA_DEVICE", "CUDA_VERSION", "CUDA_ROOT", "CUDA_PATH_V12_4", "CUDA_TOOLKIT_ROOT_DIR",
        "NVIDIA_PRODUCT_NAME", "NVIDIA_REQUIRE_DRIVER", "CUDA_CACHE_GPU_CODE_BINARIES", "CUDA_DEVCODE_PATH",
        "CUDA_PREFER_FAMILY_CONDITIONAL_BINARY", "CUDA_DISABLE_CUDA_IN_GRAPHICS", "CUDA_GRID_SIZE_COMPAT",
        "CUDA_MANAGED_FORCE_STREAM_ATTACH", "CUDA_", "NVIDIA_", "CUDA_X", "OMP_NUM_THREADS", ""}) {
    INFO(name);
    CHECK_FALSE(check_name(name, "1"));
  }
}
