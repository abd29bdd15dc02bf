#include <cuenv/detail/elf.hpp>

#include <support/image_builder.hpp>

#include "support/catch.hpp"

#include <string>

using namespace cuenv;
using namespace cuenv::detail;
using namespace image_builder;

namespace {

HostCode find(std::string const& bytes) {
  ByteReader reader{memory_source(bytes.data(), bytes.size())};
  return find_elf_code({reader, 0, bytes.size()});
}

}  // namespace

TEST_CASE("code sections of an ELF file are found by their whole names", "[elf]") {
  HostCode const code = find(elf({{".nv_fatbin", "12345678", 1, 0x1000},
                                  {".nv_fatbin2", "no"},
                                  {".nv_fatbi", "no"},
                                  {"__nv_relfatbin", "1234"},
                                  {".nv_fatbin", "takes no room", 8},
                                  {".nv_fatbin", ""}}));
  CHECK(code.damage == Damage::none);
  REQUIRE(code.count == 2);
  CHECK(code.ranges[0].section == ".nv_fatbin");
  CHECK(code.ranges[0].size == 8);
  CHECK(code.ranges[0].address == 0x1000);
  CHECK(code.ranges[1].section == "__nv_relfatbin");
}

TEST_CASE("a section that reaches past the end is cut there", "[elf]") {
  std::string const good = elf({{".nv_fatbin", "12345678"}});
  std::size_t const header = good.size() - 2 * 64;
  HostCode const code = find(patched(good, header + 32, u64(~std::uint64_t{0})));
  CHECK(code.damage == Damage::cut);
  REQUIRE(code.count == 1);
  CHECK(code.ranges[0].offset + code.ranges[0].size == good.size());
  CHECK(find(patched(good, header + 24, u64(~std::uint64_t{0}))).damage == Damage::cut);
  CHECK(find(patched(good, header, u32(0xffffffff))).count == 0);
}

TEST_CASE("without section headers the loaded segments count", "[elf]") {
  std::string const good = elf({{".nv_fatbin", "12345678"}});
  std::string const stripped = patched(patched(good, 40, u64(0)), 58, std::string(6, '\0'));
  HostCode const code = find(stripped);
  CHECK(code.damage == Damage::none);
  REQUIRE(code.count == 1);
  CHECK(code.ranges[0].section.empty());
  CHECK(find(patched(stripped, 32, u64(~std::uint64_t{0} - 7))).damage == Damage::cut);
  CHECK(find(patched(stripped, 54, u16(1))).damage == Damage::cut);
  CHECK(find(patched(stripped, 64 + 32, u64(~std::uint64_t{0}))).damage == Damage::cut);
  CHECK(find(good.substr(0, 20)).damage == Damage::cut);
}
