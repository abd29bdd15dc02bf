#ifndef CUENV_DETAIL_CUBIN_HPP
#define CUENV_DETAIL_CUBIN_HPP

#include <cuenv/detail/bytes.hpp>
#include <cuenv/image.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

CUENV_NAMESPACE_BEGIN
namespace detail {

/// The 64 bytes in front of every 64-bit ELF file.
struct ElfHeader {
  static constexpr std::size_t size = 64;
  static constexpr std::uint16_t machine_cuda = 190;

  bool is_elf = false;
  bool little_endian_64 = false;
  std::uint8_t os_abi = 0;
  std::uint8_t abi_version = 0;
  std::uint16_t machine = 0;
  std::uint64_t program_headers = 0;
  std::uint64_t section_headers = 0;
  std::uint32_t flags = 0;
  std::uint16_t program_header_size = 0;
  std::uint16_t program_header_count = 0;
  std::uint16_t section_header_size = 0;
  std::uint16_t section_header_count = 0;
  std::uint16_t name_section = 0;
};

[[nodiscard]] inline ElfHeader read_elf_header(Bytes bytes) noexcept {
  ElfHeader elf;
  elf.is_elf = bytes.starts_with(
      "\x7f"
      "ELF");
  elf.little_endian_64 = bytes.u8(4) == 2 && bytes.u8(5) == 1;
  elf.os_abi = bytes.u8(7);
  elf.abi_version = bytes.u8(8);
  elf.machine = bytes.u16(18);
  elf.program_headers = bytes.u64(32);
  elf.section_headers = bytes.u64(40);
  elf.flags = bytes.u32(48);
  elf.program_header_size = bytes.u16(54);
  elf.program_header_count = bytes.u16(56);
  elf.section_header_size = bytes.u16(58);
  elf.section_header_count = bytes.u16(60);
  elf.name_section = bytes.u16(62);
  return elf;
}

/// A table of `count` rows of `row` bytes at `offset` lies within `size` bytes.
[[nodiscard]] constexpr bool table_fits(std::uint64_t offset, std::uint64_t row, std::uint64_t count,
                                        std::uint64_t size) noexcept {
  return count == 0 || (offset <= size && row != 0 && count <= (size - offset) / row);
}

/// What a cubin's ELF header says of its target. EI_OSABI alone chooses between the two layouts of e_flags (measured,
/// driver 580: an ABI version of 7 in a newer file changes nothing, an older OSABI in a newer file does).
[[nodiscard]] constexpr Target cubin_target(ElfHeader const& elf) noexcept {
  constexpr std::uint8_t older = 0x33;  // toolkits up to 12.9, for GPUs before 10.0
  constexpr std::uint8_t newer = 0x41;
  if (elf.os_abi == older) {
    return {static_cast<int>(elf.flags & 0xff), (elf.flags & 0x800) != 0 ? 'a' : '\0'};
  }
  if (elf.os_abi == newer) {
    return {static_cast<int>((elf.flags >> 8) & 0xff), (elf.flags & 0x8) != 0 ? 'a' : '\0'};
  }
  return {};
}

/// What is wrong with a cubin of `size` bytes, as far as its header shows.
[[nodiscard]] constexpr Damage cubin_header_damage(ElfHeader const& elf, std::uint64_t size) noexcept {
  if (!elf.is_elf || !elf.little_endian_64 || elf.machine != ElfHeader::machine_cuda) return Damage::payload;
  if (cubin_target(elf).sm == 0) return Damage::header;
  if (elf.section_header_count != 0 && elf.section_header_size != 64) return Damage::header;
  if (elf.program_header_count != 0 && elf.program_header_size != 56) return Damage::header;
  if (elf.section_header_count == 0 || elf.name_section >= elf.section_header_count) return Damage::header;
  if (!table_fits(elf.section_headers, 64, elf.section_header_count, size)) return Damage::cut;
  if (!table_fits(elf.program_headers, 56, elf.program_header_count, size)) return Damage::cut;
  return Damage::none;
}

/// A cubin that stands alone: its sections are looked at, for its extent and for its 'a' or 'f'.
struct LoneCubin {
  Target target;
  std::uint8_t abi = 0;
  /// Where its last part ends.
  std::uint64_t size = 0;
  Damage damage = Damage::none;
};

/// The 'a' that CUDA 13 and newer write into section .nv.compat: records of format, attribute and value, of which
/// attribute 9 is 1 for 'a'.
[[nodiscard]] inline bool compat_says_a(Bytes records) noexcept {
  for (std::size_t at = 0; at + 4 <= records.size();) {
    unsigned char const format = records.u8(at);
    unsigned char const attribute = records.u8(at + 1);
    if (format == 2 && attribute == 9) return records.u8(at + 2) == 1;
    if (format == 4) {
      at += 4 + std::size_t{records.u16(at + 2)};
    } else if (format == 2 || format == 3) {
      at += 4;
    } else {
      return false;
    }
  }
  return false;
}

/// The suffix of "-arch sm_100f" in the compiler's command line, which note .note.nv.tkinfo keeps; 0 for none. The mark
/// 'f' of a lone cubin is nowhere else.
[[nodiscard]] inline char command_line_suffix(std::string_view note) noexcept {
  std::size_t at = note.find("-arch sm_");
  if (at == std::string_view::npos) return 0;
  at += 9;
  while (at < note.size() && note[at] >= '0' && note[at] <= '9') ++at;
  return at < note.size() && (note[at] == 'a' || note[at] == 'f') ? note[at] : '\0';
}

/// Reads the cubin that begins where `range` begins; the range may be larger than the cubin.
[[nodiscard]] inline LoneCubin read_lone_cubin(ByteRange range) {
  constexpr std::uint32_t type_nobits = 8;
  constexpr std::uint32_t type_note = 7;
  constexpr std::uint32_t type_compat = 0x70000086;
  LoneCubin cubin;
  Bytes const first = range.look(0, ElfHeader::size);
  if (first.size() < ElfHeader::size) {
    cubin.size = range.size();
    cubin.damage = Damage::cut;
    return cubin;
  }
  ElfHeader const elf = read_elf_header(first);
  cubin.target = cubin_target(elf);
  cubin.abi = elf.abi_version;
  cubin.size = ElfHeader::size;
  cubin.damage = cubin_header_damage(elf, range.size());
  if (cubin.damage != Damage::none) return cubin;

  auto const reach = [&](std::uint64_t offset, std::uint64_t size) {
    if (!range.holds(offset, size)) {
      if (cubin.damage == Damage::none) cubin.damage = Damage::cut;
    } else if (offset + size > cubin.size) {
      cubin.size = offset + size;
    }
  };
  reach(elf.section_headers, std::uint64_t{64} * elf.section_header_count);
  reach(elf.program_headers, std::uint64_t{56} * elf.program_header_count);
  for (std::uint32_t i = 0; i < elf.section_header_count; ++i) {
    Bytes const section = range.look(elf.section_headers + std::uint64_t{64} * i, 64);
    if (section.size() < 64) {
      cubin.damage = Damage::unreadable;
      return cubin;
    }
    std::uint32_t const type = section.u32(4);
    std::uint64_t const offset = section.u64(24);
    std::uint64_t const size = section.u64(32);
    if (type == 0 || type == type_nobits) continue;
    reach(offset, size);
    if (cubin.target.suffix != 0 || !range.holds(offset, size)) continue;
    Bytes const content = range.look(offset, size < 4096 ? static_cast<std::size_t>(size) : 4096);
    if (type == type_compat && compat_says_a(content)) cubin.target.suffix = 'a';
    if (type == type_note) cubin.target.suffix = command_line_suffix(content.text());
  }
  for (std::uint32_t i = 0; i < elf.program_header_count; ++i) {
    Bytes const segment = range.look(elf.program_headers + std::uint64_t{56} * i, 56);
    if (segment.size() < 56) {
      cubin.damage = Damage::unreadable;
      return cubin;
    }
    reach(segment.u64(8), segment.u64(32));
  }
  return cubin;
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_CUBIN_HPP
