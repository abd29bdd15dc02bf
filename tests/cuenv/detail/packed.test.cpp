#include <cuenv/detail/packed.hpp>

#include <support/image_builder.hpp>

#include "support/catch.hpp"

#include <string>

using namespace cuenv::detail;
using namespace image_builder;

namespace {

Bytes bytes_of(std::string const& text) { return {reinterpret_cast<unsigned char const*>(text.data()), text.size()}; }

Lz4Head head_of(std::string const& block) { return lz4_head(bytes_of(block), block.size()); }

bool whole_block(std::string const& block, std::size_t size) {
  ByteReader reader{memory_source(block.data(), block.size())};
  return is_lz4_block({reader, 0, block.size()}, size);
}
bool whole_frame(std::string const& frame, std::size_t size) {
  ByteReader reader{memory_source(frame.data(), frame.size())};
  return is_zstd_frame({reader, 0, frame.size()}, size);
}

/// "abcabcabcabcabc" and then "12345": three literals, a match of 12 at distance 3, five literals.
std::string const block = std::string(
    "\x38"
    "abc\x03\x00\x50"
    "12345",
    12);

}  // namespace

TEST_CASE("an LZ4 block is unpacked", "[packed]") {
  Lz4Head const head = head_of(block);
  CHECK(head.good);
  CHECK(head.whole);
  CHECK(std::string(head.bytes.begin(), head.bytes.begin() + 20) == "abcabcabcabcabc12345");
  CHECK(head.size == 20);
  CHECK(whole_block(block, 20));
  for (std::size_t const size : {300U, 15U, 14U, 269U, 270U, 271U}) {
    std::string const literals(size, 'x');
    Lz4Head const plain = head_of(lz4_literals(literals));
    CHECK((plain.good && plain.whole && plain.size == size));
    CHECK(whole_block(lz4_literals(literals), size));
    CHECK_FALSE(whole_block(lz4_literals(literals), size + 1));
    CHECK_FALSE(whole_block(lz4_literals(literals), size - 1));
  }
}

TEST_CASE("only the start of a long LZ4 block is unpacked", "[packed]") {
  Lz4Head const head = head_of(lz4_literals(std::string(10000, 'x')));
  CHECK(head.good);
  CHECK_FALSE(head.whole);
  CHECK(head.size == head.bytes.size());
  CHECK(whole_block(lz4_literals(std::string(10000, 'x')), 10000));
}

TEST_CASE("LZ4 blocks that make no sense", "[packed]") {
  std::string const far = patched(block, 4, u16(4));      // reaches before the beginning
  std::string const nowhere = patched(block, 4, u16(0));  // repeats nothing
  for (std::string const& wrong : {far, nowhere, block.substr(0, 6), block.substr(0, 5),
                                   std::string("\x50"
                                               "ab")}) {
    CHECK_FALSE(head_of(wrong).good);
    CHECK_FALSE(whole_block(wrong, 20));
  }
  CHECK_FALSE(whole_block("", 0));
  CHECK_FALSE(whole_block(block, 19));
}

TEST_CASE("what is damaged far from the start is seen by going through all", "[packed]") {
  std::string text(5000, 'x');
  std::string wrong = lz4_literals(text).substr(0, 4000);
  CHECK_FALSE(whole_block(wrong, 5000));
  // A block of literals, a good match, and then one that reaches back too far.
  std::string chain =
      std::string("\xf0", 1) + std::string(20, '\xff') + '\0' + std::string(15 + 20 * 255, 'x') + u16(1);
  std::string const good = chain + std::string(
                                       "\x50"
                                       "12345");
  std::string const bad = chain + std::string(
                                      "\x00\xff\xff\x50"
                                      "12345",
                                      9);
  CHECK(whole_block(good, 15 + 20 * 255 + 4 + 5));
  CHECK(lz4_head(bytes_of(bad), bad.size()).good);
  CHECK_FALSE(whole_block(bad, 15 + 20 * 255 + 8 + 5));
}

TEST_CASE("the headers of a zstd frame", "[packed]") {
  std::string const frame = zstd_frame(300);
  auto const may_be = [](std::string const& bytes, std::size_t size) {
    return may_be_zstd_frame(bytes_of(bytes), bytes.size(), size);
  };
  CHECK(may_be(frame, 300));
  CHECK(whole_frame(frame, 300));
  CHECK_FALSE(may_be(frame, 299));
  CHECK_FALSE(may_be(patched(frame, 0, "x"), 300));
  CHECK_FALSE(may_be(patched(frame, 4, "\x68"), 300));                   // a reserved bit
  CHECK_FALSE(may_be(patched(frame, 7, number(7, 3)), 300));             // a reserved type of block
  CHECK_FALSE(may_be(patched(frame, 7, number(900 << 3 | 5, 3)), 300));  // a block beyond the end
  for (std::size_t length = 0; length < frame.size(); ++length) {
    CHECK_FALSE(may_be(frame.substr(0, length), 300));
    CHECK_FALSE(whole_frame(frame.substr(0, length), 300));
  }
  CHECK_FALSE(whole_frame(frame + "x", 300));
  CHECK_FALSE(whole_frame(patched(frame, 7, number(20 << 3 | 4, 3)), 300));  // never a last block
}

TEST_CASE("every width of a zstd frame's size", "[packed]") {
  std::string const magic = "\x28\xb5\x2f\xfd";
  std::string const last_block = number(5 << 3 | 4 | 1, 3) + "12345";
  CHECK(whole_frame(magic + "\x20" + "\x63" + last_block, 99));
  CHECK(whole_frame(magic + "\xa0" + u32(70000) + last_block, 70000));
  CHECK(whole_frame(magic + "\xe0" + u64(70000) + last_block, 70000));
  CHECK(whole_frame(magic + std::string("\0\x58", 2) + last_block, 12345));  // a window, and no size
  CHECK(whole_frame(magic + "\x24" + "\x63" + last_block + "sum!", 99));     // with a checksum
  CHECK_FALSE(whole_frame(magic + "\x24" + "\x63" + last_block, 99));
}
