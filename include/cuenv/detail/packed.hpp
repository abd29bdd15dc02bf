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

/// False where `packed`, the first bytes of `packed_size`, cannot begin a zstd frame of `size` unpacked bytes.
[[nodiscard]] constexpr bool may_be_zstd_frame(Bytes packed, std::uint64_t packed_size, std::uint64_t size) noexcept {
  constexpr std::uint32_t magic = 0xfd2fb528;
  constexpr std::uint32_t largest_block = 128 * 1024;
  if (packed.size() < 9 || packed.u32(0) != magic) return false;
  unsigned char const descriptor = packed.u8(4);
  if ((descriptor & 0x08) != 0) return false;  // reserved
  bool const single_segment = (descriptor & 0x20) != 0;
  constexpr std::array<std::size_t, 4> dictionary_bytes{0, 1, 2, 4};
  std::size_t at = 5 + (single_segment ? 0U : 1U) + dictionary_bytes[descriptor & 3U];
  switch (descriptor >> 6) {
    case 0:
      if (single_segment && packed.u8(at) != size) return false;
      at += single_segment ? 1U : 0U;
      break;
    case 1:
      if (packed.u16(at) + std::uint64_t{256} != size) return false;
      at += 2;
      break;
    case 2:
      if (packed.u32(at) != size) return false;
      at += 4;
      break;
    default:
      if (packed.u64(at) != size) return false;
      at += 8;
      break;
  }
  if (at + 3 > packed.size()) return false;
  std::uint32_t const block = packed.u32(at - 1) >> 8;
  std::uint32_t const type = (block >> 1) & 3;
  std::uint32_t const length = block >> 3;
  if (type == 3 || (type != 1 && length > largest_block)) return false;
  return (type == 1 ? 1U : length) <= packed_size - (at + 3);
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_PACKED_HPP
