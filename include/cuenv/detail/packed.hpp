#ifndef CUENV_DETAIL_PACKED_HPP
#define CUENV_DETAIL_PACKED_HPP

#include <cuenv/detail/bytes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

// What can be said about packed code without unpacking it: the start of an LZ4 block is unpacked into a small buffer, a
// zstd frame is checked as far as its headers go.

CUENV_NAMESPACE_BEGIN
namespace detail {

/// The first bytes of an unpacked LZ4 block.
struct Lz4Head {
  std::array<unsigned char, 512> bytes{};
  std::size_t size = 0;
  /// False where the block contradicts itself.
  bool good = true;
  /// True where the block ended within `bytes`.
  bool whole = false;
};

/// Unpacks the start of a raw LZ4 block. `packed` are its first bytes, `packed_size` the bytes of all of it.
[[nodiscard]] constexpr Lz4Head lz4_head(Bytes packed, std::uint64_t packed_size) noexcept {
  Lz4Head head;
  std::size_t at = 0;
  // A length of 15 goes on in bytes that are added up, as long as they are 255.
  auto const length = [&](std::size_t nibble) {
    std::size_t value = nibble;
    if (nibble == 15) {
      unsigned char more = 255;
      while (more == 255 && at < packed.size()) {
        more = packed.u8(at++);
        value += more;
      }
    }
    return value;
  };
  while (at < packed.size() && head.size < head.bytes.size()) {
    unsigned char const token = packed.u8(at++);
    std::size_t const literals = length(token >> 4);
    if (at > packed_size || literals > packed_size - at) {
      head.good = false;
      return head;
    }
    for (std::size_t i = 0; i < literals && at < packed.size() && head.size < head.bytes.size(); ++i) {
      head.bytes[head.size++] = packed.u8(at++);
    }
    if (head.size == head.bytes.size() || (at >= packed.size() && at < packed_size)) return head;
    if (at == packed_size) {
      head.whole = true;
      return head;
    }
    if (packed.size() - at < 2) {
      head.good = packed.size() < packed_size;
      return head;
    }
    std::size_t const distance = packed.u16(at);
    at += 2;
    if (distance == 0 || distance > head.size) {
      head.good = false;
      return head;
    }
    std::size_t const match = length(token & 15U) + 4;
    for (std::size_t i = 0; i < match && head.size < head.bytes.size(); ++i) {
      head.bytes[head.size] = head.bytes[head.size - distance];
      ++head.size;
    }
    // The last five bytes of a block are always literals.
    if (at >= packed_size) {
      head.good = false;
      return head;
    }
  }
  return head;
}

/// Bytes one after the other.
class ByteCursor {
 public:
  explicit ByteCursor(ByteRange range) noexcept : range_{range} {}

  [[nodiscard]] std::uint64_t at() const noexcept { return at_; }
  [[nodiscard]] std::uint64_t left() const noexcept { return range_.size() - at_; }
  void skip(std::uint64_t count) noexcept { at_ += count < left() ? count : left(); }

  /// The next byte; 0 at the end, and where it cannot be read, which `failed` tells.
  [[nodiscard]] unsigned char next() {
    if (at_ < chunk_at_ || at_ - chunk_at_ >= chunk_.size()) {
      chunk_at_ = at_;
      chunk_ = range_.look(at_, ByteReader::window_size);
      if (chunk_.size() == 0) {
        failed_ = true;
        return 0;
      }
    }
    return chunk_.u8(static_cast<std::size_t>(at_++ - chunk_at_));
  }
  [[nodiscard]] bool failed() const noexcept { return failed_; }

 private:
  ByteRange range_;
  Bytes chunk_;
  std::uint64_t chunk_at_ = 0;
  std::uint64_t at_ = 0;
  bool failed_ = false;
};

/// Whether all of a raw LZ4 block makes sense and unpacks to exactly `size` bytes; nothing is unpacked. A driver given
/// a block that does not can crash (measured, 580).
[[nodiscard]] inline bool is_lz4_block(ByteRange packed, std::uint64_t size) {
  ByteCursor cursor{packed};
  std::uint64_t done = 0;
  auto const length = [&](std::uint64_t nibble) {
    std::uint64_t value = nibble;
    unsigned char more = nibble == 15 ? 255 : 0;
    while (more == 255 && cursor.left() != 0) {
      more = cursor.next();
      if (cursor.failed()) break;
      value += more;
    }
    return value;
  };
  while (cursor.left() != 0) {
    unsigned char const token = cursor.next();
    std::uint64_t const literals = length(token >> 4);
    if (literals > cursor.left() || literals > size - done) return false;
    cursor.skip(literals);
    done += literals;
    if (cursor.left() == 0) return done == size && !cursor.failed();
    if (cursor.left() < 2) return false;
    std::uint64_t const low = cursor.next();
    std::uint64_t const distance = low | std::uint64_t{cursor.next()} << 8;
    std::uint64_t const match = length(token & 15U) + 4;
    if (cursor.failed() || distance == 0 || distance > done || match > size - done) return false;
    done += match;
  }
  return false;  // a block ends with literals
}

/// The headers of a zstd frame.
struct ZstdHead {
  /// False where there is no frame, or one that does not unpack to the size that was said.
  bool good = false;
  bool has_checksum = false;
  /// Where the first block begins.
  std::size_t blocks = 0;
};

/// One block of a zstd frame, as its three bytes of header tell.
struct ZstdBlock {
  bool good = false;
  bool last = false;
  /// Bytes in the frame.
  std::uint32_t size = 0;
};

[[nodiscard]] constexpr ZstdBlock read_zstd_block(std::uint32_t header) noexcept {
  constexpr std::uint32_t largest = 128 * 1024;
  std::uint32_t const type = (header >> 1) & 3;
  std::uint32_t const size = (header >> 3) & 0x1fffff;
  return {type != 3 && size <= largest, (header & 1) != 0, type == 1 ? 1 : size};
}

/// Reads the first bytes of what should be a zstd frame of `size` unpacked bytes.
[[nodiscard]] constexpr ZstdHead read_zstd_head(Bytes packed, std::uint64_t size) noexcept {
  constexpr std::uint32_t magic = 0xfd2fb528;
  ZstdHead head;
  unsigned char const descriptor = packed.u8(4);
  bool const reserved = (descriptor & 0x08) != 0;
  if (packed.u32(0) != magic || reserved) return head;
  head.has_checksum = (descriptor & 0x04) != 0;
  bool const single_segment = (descriptor & 0x20) != 0;
  constexpr std::array<std::size_t, 4> dictionary_bytes{0, 1, 2, 4};
  std::size_t const at = 5 + (single_segment ? 0U : 1U) + dictionary_bytes[descriptor & 3U];
  std::size_t width = std::size_t{1} << (descriptor >> 6);
  if (width == 1 && !single_segment) width = 0;  // the size is not told
  std::uint64_t told = size;
  if (width == 1) told = packed.u8(at);
  if (width == 2) told = packed.u16(at) + std::uint64_t{256};
  if (width == 4) told = packed.u32(at);
  if (width == 8) told = packed.u64(at);
  head.blocks = at + width;
  head.good = told == size && head.blocks <= packed.size();
  return head;
}

/// False where `packed`, the first bytes of `packed_size`, cannot begin a zstd frame of `size` unpacked bytes.
[[nodiscard]] constexpr bool may_be_zstd_frame(Bytes packed, std::uint64_t packed_size, std::uint64_t size) noexcept {
  ZstdHead const head = read_zstd_head(packed, size);
  if (!head.good || packed.size() < head.blocks + 3) return false;
  ZstdBlock const block = read_zstd_block(packed.u32(head.blocks - 1) >> 8);
  return block.good && block.size <= packed_size - (head.blocks + 3);
}

/// Whether the blocks of a zstd frame follow one another up to its very end; nothing is unpacked.
[[nodiscard]] inline bool is_zstd_frame(ByteRange packed, std::uint64_t size) {
  ZstdHead const head = read_zstd_head(packed.look(0, 24), size);
  if (!head.good) return false;
  for (std::uint64_t at = head.blocks; packed.holds(at, 3);) {
    Bytes const header = packed.look(at, 3);
    ZstdBlock const block = read_zstd_block(header.u16(0) | std::uint32_t{header.u8(2)} << 16);
    at += 3;
    if (header.size() < 3 || !block.good || !packed.holds(at, block.size)) return false;
    at += block.size;
    if (block.last) return packed.size() - at == (head.has_checksum ? 4U : 0U);
  }
  return false;
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_PACKED_HPP
