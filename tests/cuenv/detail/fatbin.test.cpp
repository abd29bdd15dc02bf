#include <cuenv/detail/fatbin.hpp>

#include <support/image_builder.hpp>

#include "support/catch.hpp"

#include <string>

using namespace cuenv;
using namespace cuenv::detail;
using namespace image_builder;

namespace {

FatbinEntry read(std::string const& bytes) {
  return read_fatbin_entry({reinterpret_cast<unsigned char const*>(bytes.data()), bytes.size()});
}

}  // namespace

TEST_CASE("the header of a container", "[fatbin]") {
  std::string const bytes = container("12345678");
  FatbinHeader const header =
      read_fatbin_header({reinterpret_cast<unsigned char const*>(bytes.data()), FatbinHeader::size});
  CHECK(header.is_fatbin);
  CHECK(header.version == 1);
  CHECK(header.header_size == 16);
  CHECK(header.body_size == 8);
}

TEST_CASE("the header of an entry", "[fatbin]") {
  FatbinEntry const plain = read(entry(2, 90, std::string(99, 'x'), flag_a | 0x2));
  CHECK(plain.image.kind == ImageKind::cubin);
  CHECK(plain.image.target == Target{90, 'a'});
  CHECK(plain.image.debug);
  CHECK(plain.image.stored == 104);
  CHECK(plain.image.size == 104);
  CHECK(plain.packed_size == 104);
  CHECK(plain.image.cubin_abi == 8);
  CHECK(plain.image.damage == Damage::none);

  FatbinEntry const packed = read(entry(1, 100, std::string(99, 'x'), flag_f | flag_zstd, 1234, 9U << 16 | 1));
  CHECK(packed.image.kind == ImageKind::ptx);
  CHECK(packed.image.target == Target{100, 'f'});
  CHECK(packed.image.ptx == PtxVersion{9, 1});
  CHECK(packed.image.compression == Compression::zstd);
  CHECK(packed.image.stored == 104);
  CHECK(packed.packed_size == 99);
  CHECK(packed.image.size == 1234);

  CHECK(read(entry(1, 90, "x", flag_lz4, 9)).image.compression == Compression::lz4);
  CHECK(read(entry(8, 90, "x")).image.kind == ImageKind::lto_ir);
  CHECK(read(entry(0x40, 90, "x")).image.kind == ImageKind::unknown);
}

TEST_CASE("what the driver ignores is ignored", "[fatbin]") {
  std::string const good = entry(2, 90, "x");
  CHECK(read(patched(good, 2, u16(2))).image.damage == Damage::none);        // the entry's version
  CHECK(read(patched(good, 0x28, u64(0x40))).image.damage == Damage::none);  // not 64 bits, made for Windows
}
