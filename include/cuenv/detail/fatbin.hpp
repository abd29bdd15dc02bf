#ifndef CUENV_DETAIL_FATBIN_HPP
#define CUENV_DETAIL_FATBIN_HPP

#include <cuenv/detail/bytes.hpp>
#include <cuenv/detail/cubin.hpp>
#include <cuenv/detail/packed.hpp>
#include <cuenv/detail/ptx.hpp>
#include <cuenv/image.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

// The container that nvcc's fatbinary tool writes: a header of 16 bytes, then entries, each a header of 64 bytes or
// more and its code. Found by reading files of CUDA 12.5 to 13.1; NVIDIA documents the outer header only
// (fatbinary_section.h).

CUENV_NAMESPACE_BEGIN
namespace detail {

struct FatbinHeader {
  static constexpr std::size_t size = 16;
  static constexpr std::uint32_t magic = 0xba55ed50;

  bool is_fatbin = false;
  std::uint16_t version = 0;
  std::uint16_t header_size = 0;
  /// Bytes after the header.
  std::uint64_t body_size = 0;
};

[[nodiscard]] constexpr FatbinHeader read_fatbin_header(Bytes bytes) noexcept {
  FatbinHeader header;
  header.is_fatbin = bytes.u32(0) == FatbinHeader::magic;
  header.version = bytes.u16(4);
  header.header_size = bytes.u16(6);
  header.body_size = bytes.u64(8);
  return header;
}

/// An entry as its header tells it, and the sizes that lead to the next one.
struct FatbinEntry {
  static constexpr std::size_t smallest_header = 64;

  ImageEntry image;
  std::uint32_t header_size = 0;
  std::uint64_t packed_size = 0;
  std::uint64_t flags = 0;
};

/// Decodes the first 64 bytes of an entry. The entry's version (0x0101) is not looked at, nor are the marks for 64 bits
/// and for the host's system: the driver ignores all three (measured, 580).
[[nodiscard]] constexpr FatbinEntry read_fatbin_entry(Bytes bytes) noexcept {
  constexpr std::uint64_t flag_debug = 0x2;
  constexpr std::uint64_t flag_lz4 = 0x2000;
  constexpr std::uint64_t flag_zstd = 0x8000;
  constexpr std::uint64_t flag_a = 0x100000;
  constexpr std::uint64_t flag_f = 0x200000;

  FatbinEntry entry;
  ImageEntry& image = entry.image;
  entry.header_size = bytes.u32(4);
  entry.flags = bytes.u64(0x28);
  image.stored = bytes.u64(8);
  image.debug = (entry.flags & flag_debug) != 0;
  image.target.sm = static_cast<int>(bytes.u32(0x1c) & 0xffffff);
  image.target.suffix = (entry.flags & flag_a) != 0 ? 'a' : (entry.flags & flag_f) != 0 ? 'f' : '\0';
  image.compression = (entry.flags & flag_zstd) != 0  ? Compression::zstd
                      : (entry.flags & flag_lz4) != 0 ? Compression::lz4
                                                      : Compression::none;
  bool const packed = image.compression != Compression::none;
  entry.packed_size = packed ? bytes.u32(0x10) : image.stored;
  image.size = packed ? bytes.u64(0x38) : image.stored;
  switch (bytes.u16(0)) {
    case 1:
      image.kind = ImageKind::ptx;
      image.ptx = {bytes.u16(0x1a), bytes.u16(0x18)};
      break;
    case 2:
      image.kind = ImageKind::cubin;
      image.cubin_abi = static_cast<std::uint8_t>(bytes.u16(0x18));
      break;
    case 8: image.kind = ImageKind::lto_ir; break;
    default: break;
  }

  // Names and options lie inside the header.
  std::uint32_t const options = bytes.u32(0x14);
  std::uint32_t const name = bytes.u32(0x20);
  std::uint32_t const name_length = bytes.u32(0x24);
  if (entry.header_size < FatbinEntry::smallest_header || options > entry.header_size || name > entry.header_size ||
      (name != 0 && name_length > entry.header_size - name) || (packed && entry.packed_size > image.stored)) {
    image.damage = Damage::header;
  }
  return entry;
}

/// Looks at the start of a cubin: of the whole of it, `size` bytes, only the header is there.
inline void look_into_cubin(ImageEntry& image, Bytes head) noexcept {
  if (head.size() < ElfHeader::size) {
    image.damage = Damage::payload;
    return;
  }
  ElfHeader const elf = read_elf_header(head);
  image.damage = cubin_header_damage(elf, image.size);
  if (image.damage != Damage::none) return;
  image.inner = cubin_target(elf);
  image.cubin_abi = elf.abi_version;
}

/// Looks at the start of a PTX text; `whole` where all of it is there.
inline void look_into_ptx(ImageEntry& image, std::string_view head, bool whole) noexcept {
  PtxText const text = read_ptx_head(head, whole);
  if (!text.is_ptx) {
    image.damage = Damage::payload;
    return;
  }
  image.head = text.head;
  image.inner = text.target;
  if (text.head != PtxHead::bad_version) image.ptx = text.version;
}

/// Compares an entry's code with its header, as far as its first bytes show. `range` is the code, padding included.
inline void look_into_entry(FatbinEntry& entry, ByteRange range) {
  ImageEntry& image = entry.image;
  bool const is_cubin = image.kind == ImageKind::cubin;
  if (!is_cubin && image.kind != ImageKind::ptx) return;  // a driver does not read the others
  bool const zstd = image.compression == Compression::zstd;
  std::size_t const wanted = zstd ? 24 : is_cubin ? ElfHeader::size : 512;
  Bytes head = range.look(0, entry.packed_size < wanted ? static_cast<std::size_t>(entry.packed_size) : wanted);
  if (zstd) {
    if (!may_be_zstd_frame(head, entry.packed_size, image.size)) image.damage = Damage::payload;
    return;
  }
  bool whole = head.size() == entry.packed_size;
  Lz4Head unpacked;
  if (image.compression == Compression::lz4) {
    unpacked = lz4_head(head, entry.packed_size);
    whole = unpacked.whole;
    if (!unpacked.good || unpacked.size > image.size || (whole && unpacked.size != image.size)) {
      image.damage = Damage::payload;
      return;
    }
    head = {unpacked.bytes.data(), unpacked.size};
  }
  if (is_cubin) {
    look_into_cubin(image, head);
  } else {
    look_into_ptx(image, head.text(), whole);
  }
}

/// Goes through all of an entry's code, as far as that is possible without unpacking it.
inline void look_through_entry(FatbinEntry& entry, ByteRange range) {
  ImageEntry& image = entry.image;
  bool const is_cubin = image.kind == ImageKind::cubin;
  if (!is_cubin && image.kind != ImageKind::ptx) return;
  ByteRange const packed = range.part(0, entry.packed_size);
  bool good = true;
  switch (image.compression) {
    case Compression::lz4: good = is_lz4_block(packed, image.size); break;
    case Compression::zstd: good = is_zstd_frame(packed, image.size); break;
    case Compression::none: good = !is_cubin || read_lone_cubin(packed).damage == Damage::none; break;
  }
  if (!good) image.damage = Damage::payload;
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_FATBIN_HPP
