#include <cuenv/detail/elf_dynamic.hpp>

#include "support/catch.hpp"
#include "support/shared_object.hpp"
#include "support/temporary_folder.hpp"

#include <optional>
#include <string>
#include <vector>

using namespace cuenv::detail;
using cuenv_tests::shared_object;

namespace {

std::optional<DynamicSection> read(std::string const& bytes) {
  ByteReader reader{memory_source(bytes.data(), bytes.size())};
  return read_dynamic_section({reader, 0, bytes.size()});
}

}  // namespace

TEST_CASE("what a library tells the loader is read", "[elf]") {
  auto const section = read(shared_object({{"libcudart.so.12", "libc.so.6"}, "libx.so.1", "/a", "$ORIGIN/../lib"}));
  REQUIRE(section);
  CHECK(section->whole);
  CHECK(section->machine == elf_x86_64);
  CHECK(section->needed == std::vector<std::string>{"libcudart.so.12", "libc.so.6"});
  CHECK(section->soname == "libx.so.1");
  CHECK(section->rpath == "/a");
  CHECK(section->runpath == "$ORIGIN/../lib");
  CHECK(section->has_runpath);
}

TEST_CASE("a search path of several kilobytes is read whole", "[elf]") {
  std::string const path = "/" + std::string(9000, 'x');
  auto const section = read(shared_object({{}, "", path}));
  REQUIRE(section);
  CHECK(section->rpath == path);
  CHECK_FALSE(section->has_runpath);
}

TEST_CASE("a static program needs nothing, and another kind of file says nothing", "[elf]") {
  auto const section = read(image_builder::elf({}));
  REQUIRE(section);
  CHECK(section->whole);
  CHECK(section->needed.empty());
  CHECK_FALSE(read("#!/bin/sh\n"));
  CHECK_FALSE(read(""));
  std::string const good = shared_object({{"libc.so.6"}});
  CHECK_FALSE(read(image_builder::patched(good, 4, "\x01")));  // 32 bit
  CHECK_FALSE(read(image_builder::patched(good, 5, "\x02")));  // big endian
  CHECK_FALSE(read_dynamic_section(std::string{"/nowhere/at/all"}));
}

TEST_CASE("this program's own dynamic section is read", "[elf]") {
  auto const section = read_dynamic_section(std::string{"/proc/self/exe"});
  REQUIRE(section);
  CHECK(section->whole);
  bool needs_libc = false;
  for (std::string const& name : section->needed) needs_libc = needs_libc || name == "libc.so.6";
  CHECK(needs_libc);
}

TEST_CASE("no damage makes the reader read outside, hang or grow", "[elf]") {
  std::string const good = shared_object({{"libcudart.so.12", "libc.so.6"}, "libx.so.1", "/a", "$ORIGIN/../lib"});
  std::size_t read_names = 0;
  for (std::size_t size = 0; size < good.size(); ++size) {
    if (auto const section = read(good.substr(0, size))) read_names += section->needed.size();
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (char const* const value : {"\x01", "\x7f", "\xff"}) {
      if (auto const section = read(image_builder::patched(good, at, value))) read_names += section->needed.size();
    }
    if (at + 8 > good.size()) continue;
    if (auto const section = read(image_builder::patched(good, at, std::string(8, '\xff')))) {
      read_names += section->needed.size();
      CHECK(section->needed.size() <= 1024);
    }
  }
  CHECK(read_names > 0);
}

TEST_CASE("a dynamic section without end is cut", "[elf]") {
  std::vector<std::string> const many(3000, "libc.so.6");
  auto const section = read(shared_object({many}));
  REQUIRE(section);
  CHECK(section->needed.size() == 1024);
  CHECK_FALSE(section->whole);
}
