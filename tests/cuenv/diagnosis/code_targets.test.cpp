#include <cuenv/diagnosis/code_targets.hpp>

#include "support/catch.hpp"
#include "support/image_builder.hpp"
#include "support/temporary_folder.hpp"

using namespace image_builder;

TEST_CASE("the targets of a file's GPU code, each once", "[targets]") {
  cuenv_tests::TemporaryFolder folder;
  folder.write("code", elf({{".nv_fatbin", container(cubin_entry(90) + cubin_entry(80) + ptx_entry(90)) +
                                               container(cubin_entry(90, flag_a) + cubin_entry(80))}}));
  folder.write("none", "text");
  auto const path = [&](char const* name) { return (folder.path / name).string(); };
  CHECK(to_string(cuenv::code_targets(path("code")).value()) == "sm_80 sm_90 sm_90a compute_90");
  CHECK(to_string(cuenv::code_targets(path("none")).value()).empty());
  CHECK_FALSE(cuenv::code_targets(path("absent")));
}
