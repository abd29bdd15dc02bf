#include <cuenv/detail/bytes.hpp>

#include "support/catch.hpp"

#include <cstring>
#include <string>
#include <vector>

using namespace cuenv::detail;

namespace {

/// A source that is read, and counts how often; `left` bytes of it can be.
struct Counted {
  std::vector<unsigned char> bytes;
  std::size_t left;
  mutable int reads = 0;

  explicit Counted(std::size_t size) : bytes(size), left{size} {
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 256);
  }
  [[nodiscard]] ByteSource source() const {
    return {bytes.size(), nullptr,
            [](void const* context, std::uint64_t offset, unsigned char* to, std::size_t count) -> std::size_t {
              Counted const& counted = *static_cast<Counted const*>(context);
              ++counted.reads;
              if (offset >= counted.left) return 0;
              std::size_t const there = counted.left - static_cast<std::size_t>(offset);
              std::size_t const copied = count < there ? count : there;
              std::memcpy(to, counted.bytes.data() + offset, copied);
              return copied;
            },
            this};
  }
};

}  // namespace

TEST_CASE("numbers are little endian, and zero outside", "[bytes]") {
  unsigned char const data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  Bytes const bytes{data, sizeof data};
  CHECK(bytes.u16(0) == 0x0201);
  CHECK(bytes.u32(1) == 0x05040302);
  CHECK(bytes.u64(1) == 0x0908070605040302);
  CHECK(bytes.u64(2) == 0);
  CHECK(bytes.u8(9) == 0);
  CHECK(bytes.u16(~std::size_t{0}) == 0);
  CHECK(Bytes{}.u32(0) == 0);
  CHECK(bytes.starts_with("\x01\x02"));
  CHECK_FALSE(Bytes{}.starts_with("x"));
}

TEST_CASE("every look shows the right bytes, however it jumps", "[bytes]") {
  Counted const counted{20000};
  ByteReader reader{counted.source()};
  std::uint32_t random = 1;
  for (int i = 0; i < 5000; ++i) {
    random = random * 1664525 + 1013904223;
    std::size_t const offset = (random >> 8) % 21000;
    std::size_t const count = random % 5000;
    Bytes const seen = reader.look(offset, count);
    std::size_t const there = offset < 20000 ? 20000 - offset : 0;
    std::size_t const wanted = count < ByteReader::window_size ? count : ByteReader::window_size;
    REQUIRE(seen.size() == (wanted < there ? wanted : there));
    REQUIRE((seen.size() == 0 || std::memcmp(seen.data(), counted.bytes.data() + offset, seen.size()) == 0));
  }
}

TEST_CASE("headers close to each other come with one read", "[bytes]") {
  Counted const counted{100000};
  ByteReader reader{counted.source()};
  for (std::uint64_t at = 0; at < 4000; at += 100) (void)reader.look(at, 64);
  CHECK(counted.reads <= 3);
}

TEST_CASE("a source that fails gives fewer bytes", "[bytes]") {
  Counted counted{10000};
  counted.left = 5000;
  ByteReader reader{counted.source()};
  CHECK(reader.look(4990, 64).size() == 10);
  CHECK(reader.look(6000, 64).size() == 0);
  CHECK(reader.look(10000, 1).size() == 0);
}

TEST_CASE("a range cannot be left", "[bytes]") {
  Counted const counted{1000};
  ByteReader reader{counted.source()};
  ByteRange const range{reader, 100, 50};
  CHECK(range.look(40, 64).size() == 10);
  CHECK(range.look(50, 1).size() == 0);
  CHECK(range.look(~std::uint64_t{0}, 1).size() == 0);
  CHECK(range.holds(0, 50));
  CHECK_FALSE(range.holds(1, 50));
  CHECK_FALSE(range.holds(~std::uint64_t{0}, 2));
  CHECK_FALSE(range.holds(2, ~std::uint64_t{0}));
  ByteRange const part = range.part(10, ~std::uint64_t{0});
  CHECK(part.begin() == 110);
  CHECK(part.size() == 40);
  CHECK(range.part(99, 1).size() == 0);
}
