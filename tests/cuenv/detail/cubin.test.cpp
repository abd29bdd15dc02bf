#include <cuenv/detail/cubin.hpp>

#include <support/image_builder.hpp>

#include "support/catch.hpp"

#include <string>

using namespace cuenv;
using namespace cuenv::detail;
using namespace image_builder;

namespace {

LoneCubin read(std::string const& bytes) {
  ByteReader reader{memory_source(bytes.data(), bytes.size())};
  return read_lone_cubin({reader, 0, bytes.size()});
}

constexpr std::uint32_t type_compat = 0x70000086;

}  // namespace

TEST_CASE("a cubin tells its target in two layouts", "[cubin]") {
  CHECK(read(cubin(90)).target == Target{90, 0});
  CHECK(read(cubin(121)).target == Target{121, 0});
  CHECK(read(cubin(89, true)).target == Target{89, 0});
  CHECK(read(elf({}, {190, 0x33, 7, 0x5a0d5a})).target == Target{90, 'a'});
  CHECK(read(elf({}, {190, 0x41, 8, 0x0600780a})).target == Target{120, 'a'});
  // EI_OSABI decides, not the ABI version (measured).
  CHECK(read(elf({}, {190, 0x41, 7, 0x06005a04})).target == Target{90, 0});
  CHECK(read(elf({}, {190, 0x33, 8, 0x06005a04})).target == Target{4, 'a'});
  CHECK(read(elf({}, {190, 0x41, 8, 0})).damage == Damage::header);
  CHECK(read(elf({}, {190, 0x00, 8, 0x06005a04})).damage == Damage::header);
}

TEST_CASE("sections tell the a and the f of a newer cubin", "[cubin]") {
  std::string const other = std::string("\x02\x02\x01\x00\x04\x0b\x04\x00wide", 12);
  CHECK(read(cubin(90, false, {{".nv.compat", other + std::string("\x02\x09\x01\x00", 4), type_compat}})).target ==
        Target{90, 'a'});
  CHECK(read(cubin(90, false, {{".nv.compat", other + std::string("\x02\x09\x00\x00", 4), type_compat}})).target ==
        Target{90, 0});
  CHECK(read(cubin(90, false, {{".nv.compat", std::string(64, '\x04'), type_compat}})).target == Target{90, 0});
  CHECK(read(cubin(100, false, {{".note.nv.tkinfo", "ptxas -arch sm_100f -m 64 ", 7}})).target == Target{100, 'f'});
  CHECK(read(cubin(100, false, {{".note.nv.tkinfo", "ptxas -arch sm_100", 7}})).target == Target{100, 0});
}

TEST_CASE("a cubin ends where its last part ends", "[cubin]") {
  std::string const bytes = cubin(90, false, {{".text", "code"}, {".nobits", std::string(99, 'x'), 8}});
  CHECK(read(bytes).size == bytes.size());
  CHECK(read(bytes + "more").size == bytes.size());
  CHECK(read(bytes + "more").damage == Damage::none);
  CHECK(read(bytes.substr(0, bytes.size() - 1)).damage == Damage::cut);
}

TEST_CASE("headers of a cubin that lie", "[cubin]") {
  std::string const good = cubin(90, false, {{".text", "code"}});
  std::size_t const headers = good.size() - 3 * 64;
  CHECK(read(good).damage == Damage::none);
  for (auto const& [at, bytes] :
       {std::pair{4, u16(1)}, std::pair{5, u16(2)}, std::pair{32, u64(~std::uint64_t{0})},
        std::pair{40, u64(~std::uint64_t{0} - 64)}, std::pair{54, u16(1)}, std::pair{56, u16(0xffff)},
        std::pair{58, u16(0)}, std::pair{60, u16(0xffff)}, std::pair{60, u16(0)}, std::pair{62, u16(3)}}) {
    CAPTURE(at);
    CHECK(read(patched(good, static_cast<std::size_t>(at), bytes)).damage != Damage::none);
  }
  CHECK(read(patched(good, headers + 64 + 24, u64(~std::uint64_t{0}))).damage == Damage::cut);
  CHECK(read(patched(good, headers + 64 + 32, u64(~std::uint64_t{0}))).damage == Damage::cut);
}
