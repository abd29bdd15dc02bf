#ifndef CUENV_DETAIL_ELF_HPP
#define CUENV_DETAIL_ELF_HPP

#include <cuenv/detail/bytes.hpp>
#include <cuenv/detail/cubin.hpp>
#include <cuenv/detail/host_code.hpp>
#include <cuenv/image.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

CUENV_NAMESPACE_BEGIN
namespace detail {

/// Names of the sections, as nvcc and clang write them (fatbinary_section.h).
inline constexpr std::array<std::string_view, 2> elf_code_sections{".nv_fatbin", "__nv_relfatbin"};
inline constexpr std::string_view elf_wrapper_section = ".nvFatBinSegment";

/// An ELF section header, as far as it matters.
struct ElfSection {
  std::uint32_t name = 0;
  std::uint32_t type = 0;
  std::uint64_t address = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t link = 0;
};

[[nodiscard]] constexpr ElfSection read_elf_section(Bytes bytes) noexcept {
  return {bytes.u32(0), bytes.u32(4), bytes.u64(16), bytes.u64(24), bytes.u64(32), bytes.u32(40)};
}

/// Completes records whose container only a relocation knows (lld's default): of the relative relocations, the addend.
inline void apply_elf_relocations(ByteRange file, ElfSection const& section, DeviceLinks& links) {
  constexpr std::size_t row = 24;
  constexpr std::size_t rows = ByteReader::window_size / row;
  constexpr std::uint64_t most = std::uint64_t{64} << 20;  // bytes of relocations that are looked through
  ByteRange const table = file.part(section.offset, section.size < most ? section.size : most);
  for (std::uint64_t at = 0; at < table.size(); at += row * rows) {
    Bytes const chunk = table.look(at, row * rows);
    for (std::size_t i = 0; i + row <= chunk.size(); i += row) {
      bool const names_no_symbol = (chunk.u64(i + 8) >> 32) == 0;
      if (names_no_symbol) links.relocate(chunk.u64(i), chunk.u64(i + 16));
    }
    if (chunk.size() < row * rows) return;
  }
}

/// Finds the code by the section headers. False where there are none that can be used.
inline bool find_code_by_sections(ByteRange file, ElfHeader const& elf, HostCode& code) {
  constexpr std::uint32_t type_nobits = 8;
  constexpr std::uint32_t type_rela = 4;
  if (elf.section_headers == 0) return false;
  ElfSection const first = read_elf_section(file.look(elf.section_headers, 64));
  // With 65,280 sections and more, the first header holds the numbers that do not fit.
  std::uint64_t const count = elf.section_header_count != 0 ? elf.section_header_count : first.size;
  std::uint32_t const names_at = elf.name_section != 0xffff ? elf.name_section : first.link;
  if (elf.section_header_size != 64 || count == 0 || names_at >= count ||
      !table_fits(elf.section_headers, 64, count, file.size())) {
    code.damage = elf.section_header_size != 64 ? Damage::header : Damage::cut;
    return false;
  }
  auto const section_at = [&](std::uint64_t i) {
    return read_elf_section(file.look(elf.section_headers + 64 * i, 64));
  };
  ElfSection const names = section_at(names_at);
  if (!file.holds(names.offset, names.size)) {
    code.damage = Damage::cut;
    return false;
  }
  ByteRange const name_table = file.part(names.offset, names.size);
  auto const named = [&](ElfSection const& section, std::string_view name) {
    std::string_view const found = name_table.look(section.name, name.size() + 1).text();
    return found.size() == name.size() + 1 && found.substr(0, name.size()) == name && found.back() == '\0';
  };
  for (std::uint64_t i = 1; i < count; ++i) {
    ElfSection const section = section_at(i);
    if (section.type == type_nobits || section.size == 0) continue;
    for (std::string_view const name : elf_code_sections) {
      if (!named(section, name)) continue;
      if (!file.holds(section.offset, section.size)) code.damage = Damage::cut;
      ByteRange const part = file.part(section.offset, section.size);
      code.add({name, part.begin() - file.begin(), part.size(), section.address});
      if (code.damage == Damage::too_many) return true;
    }
    if (named(section, elf_wrapper_section) && file.holds(section.offset, section.size)) {
      code.links.read(file.part(section.offset, section.size), section.address);
    }
  }
  constexpr std::uint16_t most_sections = 0xff00;
  for (std::uint64_t i = 1; code.links.incomplete() && i < count && i < most_sections; ++i) {
    ElfSection const section = section_at(i);
    if (section.type == type_rela) apply_elf_relocations(file, section, code.links);
  }
  return true;
}

/// Where there are no sections: the parts that a loader would map.
inline void find_code_by_segments(ByteRange file, ElfHeader const& elf, HostCode& code) {
  constexpr std::uint32_t type_load = 1;
  if (elf.program_header_size != 56 || !table_fits(elf.program_headers, 56, elf.program_header_count, file.size())) {
    if (elf.program_header_count != 0) code.damage = Damage::cut;
    return;
  }
  for (std::uint64_t i = 0; i < elf.program_header_count; ++i) {
    Bytes const header = file.look(elf.program_headers + 56 * i, 56);
    if (header.u32(0) != type_load) continue;
    std::uint64_t const offset = header.u64(8);
    std::uint64_t const size = header.u64(32);
    if (!file.holds(offset, size)) code.damage = Damage::cut;
    ByteRange const part = file.part(offset, size);
    if (part.size() != 0) code.add({{}, part.begin() - file.begin(), part.size(), header.u64(16)});
    if (code.damage == Damage::too_many) return;
  }
}

/// Finds the code in an ELF file for the host. A 32-bit or big-endian one has none that cuenv knows of.
[[nodiscard]] inline HostCode find_elf_code(ByteRange file) {
  HostCode code;
  Bytes const first = file.look(0, ElfHeader::size);
  ElfHeader const elf = read_elf_header(first);
  if (first.size() < ElfHeader::size) {
    code.damage = Damage::cut;
  } else if (elf.little_endian_64 && !find_code_by_sections(file, elf, code)) {
    find_code_by_segments(file, elf, code);
  }
  return code;
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_ELF_HPP
