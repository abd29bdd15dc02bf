#include <cuenv/image.hpp>

#include "support/catch.hpp"

using namespace cuenv;

TEST_CASE("targets are spelled as nvcc spells them", "[image]") {
  CHECK(to_string(ImageKind::cubin, Target{90, 'a'}) == "sm_90a");
  CHECK(to_string(ImageKind::ptx, Target{100, 'f'}) == "compute_100f");
  CHECK(to_string(ImageKind::lto_ir, Target{75, 0}) == "lto_75");
}

TEST_CASE("PTX versions are ordered by both numbers", "[image]") {
  CHECK(PtxVersion{8, 8} < PtxVersion{9, 0});
  CHECK(PtxVersion{9, 2} < PtxVersion{9, 10});
  CHECK_FALSE(PtxVersion{9, 0} < PtxVersion{9, 0});
  CHECK(to_string(PtxVersion{9, 10}) == "9.10");
}

TEST_CASE("every value has a name", "[image]") {
  CHECK(to_string(ImageKind::unknown) == "unknown");
  CHECK(to_string(Compression::zstd) == "zstd");
  CHECK(to_string(ModuleKind::ptx) == "ptx");
  CHECK(to_string(FileKind::thin_archive) == "thin archive");
  for (Damage const damage :
       {Damage::none, Damage::cut, Damage::header, Damage::payload, Damage::too_many, Damage::unreadable}) {
    CHECK_FALSE(to_string(damage).empty());
  }
}
