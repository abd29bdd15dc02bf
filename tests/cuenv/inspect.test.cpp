#include <cuenv/inspect.hpp>
#include <cuenv/judge.hpp>

#include <support/image_builder.hpp>

#include "support/catch.hpp"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

using namespace cuenv;
using namespace image_builder;

namespace {

ImageFile look(std::string const& bytes, InspectOptions options = {}) {
  // A copy of exactly this size, so that a sanitizer sees every byte too many.
  std::vector<char> const exact(bytes.begin(), bytes.end());
  return inspect_bytes(exact.data(), exact.size(), options);
}

/// The verdict on a file as one module, for an H200 and the driver that was measured.
Verdict on_h200(std::string const& bytes) { return judge_as_module(look(bytes), {{9, 0}, CudaVersion{13, 0}, {}}); }

std::string const two_entries = container(cubin_entry(80) + ptx_entry(90));

}  // namespace

TEST_CASE("a fatbin file is told entry by entry", "[inspect]") {
  ImageFile const file = look(container(cubin_entry(90, flag_a) + ptx_entry(75) + entry(8, 90, "IR")));
  CHECK(file.summary.kind == FileKind::fatbin);
  CHECK(file.summary.damage == Damage::none);
  REQUIRE(file.modules.size() == 1);
  ImageModule const& module = file.modules[0];
  CHECK(module.kind == ModuleKind::fatbin);
  CHECK(module.section.empty());
  REQUIRE(module.entries.size() == 3);
  CHECK(module.entries[0].kind == ImageKind::cubin);
  CHECK(module.entries[0].target == Target{90, 'a'});
  CHECK(module.entries[0].inner == Target{90, 0});
  CHECK(module.entries[0].cubin_abi == 8);
  CHECK(module.entries[0].offset == 16);
  CHECK(module.entries[1].kind == ImageKind::ptx);
  CHECK(module.entries[1].ptx == PtxVersion{8, 0});
  CHECK(module.entries[1].head == PtxHead::good);
  CHECK(module.entries[2].kind == ImageKind::lto_ir);
}

TEST_CASE("kinds of files are told apart", "[inspect]") {
  CHECK(look("").summary.kind == FileKind::empty);
  CHECK(look("hello\n").summary.kind == FileKind::foreign);
  CHECK(look(std::string(5000, '\0')).summary.kind == FileKind::foreign);
  CHECK(look(ptx("8.0", "sm_90")).summary.kind == FileKind::ptx);
  CHECK(look(cubin(90)).summary.kind == FileKind::cubin);
  CHECK(look(elf({})).summary.kind == FileKind::elf);
  CHECK(look(pe({})).summary.kind == FileKind::pe);
  CHECK(look("MZ, a DOS program").summary.kind == FileKind::pe);
  CHECK(look(archive({})).summary.kind == FileKind::archive);
  CHECK(look("!<thin>\n").summary.kind == FileKind::thin_archive);
}

TEST_CASE("modules are found in the sections of an ELF file", "[inspect]") {
  std::string const gap(8, '\0');
  ImageFile const file = look(elf({{".text", "code"},
                                   {".nv_fatbin", two_entries + gap + container(cubin_entry(75)) + gap},
                                   {"__nv_relfatbin", two_entries},
                                   {".nv_fatbin.not", two_entries},
                                   {".nv_fatbin", two_entries, 8}}));
  CHECK(file.summary.damage == Damage::none);
  REQUIRE(file.modules.size() == 3);
  CHECK(file.modules[0].section == ".nv_fatbin");
  CHECK(file.modules[1].section == ".nv_fatbin");
  CHECK(file.modules[1].entries.at(0).target.sm == 75);
  CHECK(file.modules[2].section == "__nv_relfatbin");
}

TEST_CASE("without section headers the segments are searched", "[inspect]") {
  std::string const with = elf({{".text", std::string(40, 'x')}, {".nv_fatbin", two_entries + two_entries}});
  std::string const without = patched(patched(with, 40, u64(0)), 58, std::string(6, '\0'));
  ImageFile const file = look(without);
  CHECK(file.summary.damage == Damage::none);
  REQUIRE(file.modules.size() == 2);
  CHECK(file.modules[0].section.empty());
  CHECK(file.modules[0].offset == look(with).modules.at(0).offset);
}

TEST_CASE("the module of the device-link step is marked", "[inspect]") {
  std::string const record = u32(0x466243b1) + u32(1) + u64(0x5000) + u64(0) + u32(0x466243b1) + u32(2) +
                             u64(0x5000 + two_entries.size()) + u64(0);
  std::vector<Section> sections{{".nv_fatbin", two_entries + two_entries, 1, 0x5000},
                                {".nvFatBinSegment", record, 1, 0x9000}};
  ImageFile const file = look(elf(sections));
  REQUIRE(file.modules.size() == 2);
  CHECK_FALSE(file.modules[0].device_link);
  CHECK(file.modules[1].device_link);

  SECTION("also where only a relocation knows its address") {
    sections[1].data = patched(record, 24 + 8, u64(0));
    std::string const other = u64(0x9008) + u64(8) + u64(0x5000);
    std::string const relocation = u64(0x9000 + 24 + 8) + u64(8) + u64(0x5000 + two_entries.size());
    sections.push_back({".rela.dyn", other + relocation, 4});
    CHECK(look(elf(sections)).modules.at(1).device_link);
  }
}

TEST_CASE("modules are found in a Windows program", "[inspect]") {
  std::string const padding(8, '\0');
  std::string const record = u32(0x466243b1) + u32(2) + u64(0x140001000) + u64(0);
  ImageFile const file = look(pe({{".nv_fatb", two_entries + padding + two_entries + padding, 1, 0x1000},
                                  {".nvFatBi", record, 1, 0x3000},
                                  {".text", "code"},
                                  {"__nv_rel", two_entries}}));
  REQUIRE(file.modules.size() == 3);
  CHECK(file.modules[0].section == ".nv_fatb");
  CHECK(file.modules[0].device_link);
  CHECK_FALSE(file.modules[1].device_link);
  CHECK(file.modules[2].section == "__nv_rel");
}

TEST_CASE("modules are found in the members of an archive, by name", "[inspect]") {
  std::string const object = elf({{".nv_fatbin", two_entries}});
  SECTION("GNU") {
    ImageFile const file = look(archive({{"/", "symbols"},
                                         {"//", "a_name_that_is_too_long.o/\nanother_long_name.o/\n"},
                                         {"/27", object},
                                         {"short.o/", object},
                                         {"text/", "?"}}));
    CHECK(file.summary.damage == Damage::none);
    REQUIRE(file.modules.size() == 2);
    CHECK(file.modules[0].member == "another_long_name.o");
    CHECK(file.modules[1].member == "short.o");
    CHECK(file.modules[1].section == ".nv_fatbin");
  }
  SECTION("BSD") {
    ImageFile const file =
        look(archive({{"__.SYMDEF", "?"}, {"#1/20", std::string("object.o") + std::string(12, char{0}) + object}}));
    REQUIRE(file.modules.size() == 1);
    CHECK(file.modules[0].member == "object.o");
  }
  SECTION("an archive in an archive is left alone") {
    CHECK(look(archive({{"a/", archive({{"b/", object}})}})).modules.empty());
  }
}

TEST_CASE("a deep search finds what stands outside the sections", "[inspect]") {
  std::string const hidden = padded(cubin(75)) + two_entries;
  std::string const file = elf({{".nv_fatbin", two_entries}, {".data", hidden}});
  CHECK(look(file).modules.size() == 1);
  ImageFile const deep = look(file, {true});
  REQUIRE(deep.modules.size() == 3);
  CHECK(deep.modules[1].kind == ModuleKind::cubin);
  CHECK(deep.modules[1].entries.at(0).target.sm == 75);
  CHECK(deep.modules[2].kind == ModuleKind::fatbin);
  CHECK(look(std::string(8, 'x') + two_entries, {true}).modules.size() == 1);
}

TEST_CASE("what is not understood is unknown, and the rest is still read", "[inspect]") {
  SECTION("a container of a later version") {
    std::string const later = patched(two_entries, 4, u16(2));
    ImageFile const file = look(elf({{".nv_fatbin", later + two_entries}}));
    REQUIRE(file.modules.size() == 2);
    CHECK(file.modules[0].kind == ModuleKind::unknown);
    CHECK(file.modules[0].damage == Damage::none);
    CHECK(file.modules[1].kind == ModuleKind::fatbin);
  }
  SECTION("an entry of a later kind") {
    ImageFile const file = look(container(entry(0x40, 90, "?") + cubin_entry(90)));
    CHECK(file.modules.at(0).entries.at(0).kind == ImageKind::unknown);
    CHECK(on_h200(container(entry(0x40, 90, "?") + cubin_entry(90))).kind == VerdictKind::native);
    CHECK(on_h200(container(entry(0x40, 90, "?") + cubin_entry(80))).kind == VerdictKind::unknown);
  }
  SECTION("other bytes in the section") {
    ImageFile const file = look(elf({{".nv_fatbin", std::string(24, '?') + two_entries}}));
    REQUIRE(file.modules.size() == 2);
    CHECK(file.modules[0].kind == ModuleKind::unknown);
    CHECK(file.modules[1].entries.size() == 2);
  }
}

TEST_CASE("sizes that lie are damage, and end the walk", "[inspect][robustness]") {
  // 8: size of the container; 16: the first entry, with its header size at 4, stored size at 8.
  for (std::uint64_t const size : {std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{0} - 15,
                                   std::uint64_t{two_entries.size()} - 15, std::uint64_t{70}}) {
    CAPTURE(size);
    CHECK(on_h200(patched(two_entries, 8, u64(size))).kind == VerdictKind::damaged);
  }
  for (std::uint64_t const size : {0U, 1U, 63U, 0x7fffffffU, 0xffffffffU}) {
    CAPTURE(size);
    CHECK(on_h200(patched(two_entries, 16 + 4, u32(size))).kind == VerdictKind::damaged);
  }
  for (std::uint64_t const size :
       {~std::uint64_t{0}, ~std::uint64_t{0} - 63, std::uint64_t{1} << 63, std::uint64_t{0x100000}}) {
    CAPTURE(size);
    CHECK(on_h200(patched(two_entries, 16 + 8, u64(size))).kind == VerdictKind::damaged);
  }
  // Name and options outside the header; packed size above the stored size.
  CHECK(on_h200(patched(two_entries, 16 + 0x14, u32(0x10000))).kind == VerdictKind::damaged);
  CHECK(on_h200(patched(two_entries, 16 + 0x20, u32(0x10000))).kind == VerdictKind::damaged);
  CHECK(on_h200(patched(two_entries, 16 + 0x20, u32(64) + u32(0xffffffff))).kind == VerdictKind::damaged);
  std::string const packed = container(entry(1, 90, zstd_frame(300), flag_zstd, 300));
  CHECK(on_h200(packed).kind == VerdictKind::jit);
  CHECK(on_h200(patched(packed, 16 + 0x10, u32(0xffff))).kind == VerdictKind::damaged);
}

TEST_CASE("a container smaller than its own header does not hold up the walk", "[inspect][robustness]") {
  for (unsigned header_size = 0; header_size < 16; ++header_size) {
    for (unsigned body_size : {0U, 1U, 8U, 15U}) {
      CAPTURE(header_size, body_size);
      std::string const tiny = u32(0xba55ed50) + u16(1) + u16(header_size) + u64(body_size);
      CHECK(on_h200(tiny + std::string(16, '\0')).kind == VerdictKind::damaged);
      CHECK(look(tiny + two_entries).modules.size() == 2);
    }
  }
}

TEST_CASE("packed code must begin like what it is said to be", "[inspect][robustness]") {
  std::string const text = ptx("8.0", "sm_90");
  auto const verdict = [](std::string const& payload, std::uint64_t flags, std::size_t size) {
    return on_h200(container(entry(1, 90, payload, flags, size))).kind;
  };
  CHECK(verdict(zstd_frame(300), flag_zstd, 300) == VerdictKind::jit);
  CHECK(verdict(zstd_frame(300), flag_zstd, 301) == VerdictKind::damaged);
  CHECK(verdict(zstd_frame(300), flag_lz4, 300) == VerdictKind::damaged);
  CHECK(verdict(zstd_frame(300), 0, 0) == VerdictKind::damaged);
  CHECK(verdict(zstd_frame(300).substr(0, 9), flag_zstd, 300) == VerdictKind::damaged);
  CHECK(verdict(lz4_literals(text), flag_lz4, text.size()) == VerdictKind::jit);
  CHECK(verdict(lz4_literals(text), flag_lz4, text.size() + 1) == VerdictKind::damaged);
  CHECK(verdict(lz4_literals(text), flag_zstd, text.size()) == VerdictKind::damaged);
  CHECK(verdict(lz4_literals("text"), flag_lz4, 4) == VerdictKind::damaged);
  CHECK(on_h200(container(entry(2, 90, "not a cubin at all, but long enough for a header of an ELF file, is it not?")))
            .kind == VerdictKind::damaged);
}

TEST_CASE("PTX may stand behind a long comment", "[inspect]") {
  std::string const license = "/* " + std::string(6000, '*') + " */\n";
  CHECK(on_h200(license + ptx("8.0", "sm_90")).kind == VerdictKind::jit);
  CHECK(on_h200(license + ptx("9.0", "sm_100")).reason == Reason::ptx_above_gpu);
  auto const in_fatbin = [&](std::string const& text, std::uint64_t flags) {
    std::string const payload = flags == 0 ? text + '\0' : lz4_literals(text);
    return look(container(entry(1, 90, payload, flags, flags == 0 ? 0 : text.size()))).modules.at(0);
  };
  ImageModule const plain = in_fatbin(license + ptx("8.1", "sm_90"), 0);
  CHECK(plain.damage == Damage::none);
  CHECK(plain.entries.at(0).head == PtxHead::good);
  CHECK(plain.entries.at(0).ptx == PtxVersion{8, 1});
  ImageModule const packed = in_fatbin(license + ptx("8.1", "sm_90"), flag_lz4);
  CHECK(packed.damage == Damage::none);
  CHECK(packed.entries.at(0).head == PtxHead::unfinished);
  CHECK(in_fatbin(license, 0).damage == Damage::payload);
}

TEST_CASE("headers of an ELF file that lie are damage of the file", "[inspect][robustness]") {
  std::string const good = elf({{".nv_fatbin", two_entries}});
  CHECK(look(good).summary.damage == Damage::none);
  CHECK(look(patched(good, 40, u64(~std::uint64_t{0} - 8))).summary.damage != Damage::none);
  CHECK(look(patched(good, 58, u16(1))).summary.damage != Damage::none);
  CHECK(look(patched(good, 60, u16(0xfeff))).summary.damage != Damage::none);
  CHECK(look(patched(good, 62, u16(99))).summary.damage != Damage::none);
  // The code is still found, by search.
  CHECK(look(patched(good, 58, u16(1))).modules.size() == 1);

  SECTION("more sections than 65,279: the count is in the first header") {
    std::size_t const headers = good.size() - 3 * 64;
    CHECK(look(patched(patched(good, 60, u16(0)), headers + 32, u64(3))).modules.size() == 1);
    CHECK(look(patched(patched(good, 60, u16(0)), headers + 32, u64(std::uint64_t{1} << 60))).summary.damage !=
          Damage::none);
  }
  SECTION("more code sections than any real file") {
    CHECK(look(elf(std::vector<Section>(200, Section{".nv_fatbin", two_entries}))).summary.damage == Damage::too_many);
  }
  SECTION("32-bit and big-endian files hold nothing that is known") {
    CHECK(look(patched(good, 4, "\x01")).modules.empty());
    CHECK(look(patched(good, 5, "\x02")).modules.empty());
  }
}

TEST_CASE("a cut image is damaged wherever it is cut", "[inspect][robustness]") {
  for (std::string const& whole : {two_entries, cubin(90), container(entry(1, 90, zstd_frame(300), flag_zstd, 300))}) {
    for (std::size_t length = 4; length < whole.size(); ++length) {
      CAPTURE(whole.size(), length);
      CHECK(on_h200(whole.substr(0, length)).kind == VerdictKind::damaged);
    }
  }
}

TEST_CASE("no cut and no flipped bit of any kind of file leads astray", "[inspect][robustness]") {
  std::string const text = ptx("8.0", "sm_90");
  std::string const object = elf({{".nv_fatbin", two_entries}, {".nvFatBinSegment", std::string(48, '\0'), 1, 64}});
  for (std::string const& whole :
       {two_entries, object, pe({{".nv_fatb", two_entries}}), archive({{"//", "long/\n"}, {"/0", object}}), text,
        cubin(90, true), container(entry(1, 90, lz4_literals(text), flag_lz4, text.size()))}) {
    for (bool const deep : {false, true}) {
      for (std::size_t length = 0; length < whole.size(); ++length) (void)look(whole.substr(0, length), {deep, deep});
      for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        std::string flipped = whole;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
        ImageFile const file = look(flipped, {deep, deep});
        for (ImageModule const& module : file.modules) REQUIRE(module.offset + module.size <= whole.size());
      }
    }
  }
}

TEST_CASE("a file is read like its bytes", "[inspect]") {
  std::string const path = "cuenv_inspect_test.tmp";
  std::string const bytes = elf({{".text", std::string(9000, 'x')}, {".nv_fatbin", two_entries + two_entries}});
  std::FILE* const out = std::fopen(path.c_str(), "wb");
  REQUIRE(out != nullptr);
  std::fwrite(bytes.data(), 1, bytes.size(), out);
  std::fclose(out);
  ImageFile const file = inspect(path);
  std::remove(path.c_str());
  CHECK(file.summary.size == bytes.size());
  REQUIRE(file.modules.size() == 2);
  CHECK(file.modules[1].offset == look(bytes).modules.at(1).offset);
}

TEST_CASE("a file that shrinks while it is read is damaged, no more", "[inspect][robustness]") {
  struct Shrunk {
    std::string bytes;
    std::size_t left;
  } const file{two_entries, 300};
  detail::ByteSource const source{
      file.bytes.size(), nullptr,
      [](void const* context, std::uint64_t offset, unsigned char* to, std::size_t count) -> std::size_t {
        Shrunk const& shrunk = *static_cast<Shrunk const*>(context);
        std::size_t const end = offset + count < shrunk.left ? offset + count : shrunk.left;
        return offset >= end ? 0 : shrunk.bytes.copy(reinterpret_cast<char*>(to), end - offset, offset);
      },
      &file};
  ImageFile seen;
  detail::ImageCollector collector{seen};
  detail::ByteReader reader{source};
  seen.summary = detail::ImageWalk{collector, {}}.walk({reader, 0, reader.size()});
  REQUIRE(seen.modules.size() == 1);
  CHECK(seen.modules[0].damage != Damage::none);
}

TEST_CASE("what is no regular file is refused at once", "[inspect]") {
  CHECK_THROWS_AS(inspect("/no/such/file"), FileError);
#ifdef _WIN32
  CHECK_THROWS_AS(inspect("C:\\"), FileError);
  CHECK_THROWS_AS(inspect("NUL"), FileError);
#else
  CHECK_THROWS_AS(inspect("/dev"), FileError);
  CHECK_THROWS_AS(inspect("/dev/zero"), FileError);
#endif
}
