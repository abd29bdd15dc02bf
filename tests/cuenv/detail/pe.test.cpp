#include <cuenv/detail/pe.hpp>

#include <support/image_builder.hpp>

#include "support/catch.hpp"

#include <string>

using namespace cuenv;
using namespace cuenv::detail;
using namespace image_builder;

namespace {

HostCode find(std::string const& bytes) {
  ByteReader reader{memory_source(bytes.data(), bytes.size())};
  return find_pe_code({reader, 0, bytes.size()});
}

// Where the COFF header and the first section header stand in what the builder makes.
constexpr std::size_t coff = 64 + 4;
constexpr std::size_t first_section = 64 + 24 + 112;

}  // namespace

TEST_CASE("code sections of a Windows program are found by their short names", "[pe]") {
  HostCode const code =
      find(pe({{".text", "no"}, {".nv_fatb", std::string(600, 'x'), 1, 0x2000}, {"__nv_rel", "1234"}}));
  CHECK(code.damage == Damage::none);
  REQUIRE(code.count == 2);
  CHECK(code.ranges[0].section == ".nv_fatb");
  CHECK(code.ranges[0].size == 600);
  CHECK(code.ranges[0].address == 0x140002000);
  CHECK(code.ranges[1].section == "__nv_rel");
}

TEST_CASE("long names stand in a table", "[pe]") {
  std::string file = pe({{"/4", "12345678"}});
  std::size_t const symbols = file.size();
  file += std::string(18, '\0') + u32(15) + std::string(".nv_fatbin\0", 11);
  file = patched(file, coff + 8, u32(symbols) + u32(1));
  REQUIRE(find(file).count == 1);
  CHECK(find(file).ranges[0].section == ".nv_fatbin");
  CHECK(find(patched(file, coff + 8, u32(0xffffffff) + u32(0xffffffff))).count == 0);
}

TEST_CASE("headers of a Windows program that lie", "[pe]") {
  std::string const good = pe({{".nv_fatb", "12345678"}});
  CHECK(find(good).count == 1);
  CHECK(find(patched(good, 0x3c, u32(0xffffffff))).count == 0);
  CHECK(find(patched(good, 64, "NE")).count == 0);
  CHECK(find(patched(good, coff + 2, u16(0xffff))).damage == Damage::cut);
  CHECK(find(patched(good, coff + 16, u16(0xffff))).damage == Damage::cut);
  CHECK(find(patched(good, first_section + 8, u32(0xffffffff) + u32(0) + u32(0xffffffff))).damage == Damage::cut);
  CHECK(find(patched(good, first_section + 20, u32(0xfffffff0))).damage == Damage::cut);
  CHECK(find("MZ").count == 0);
}
