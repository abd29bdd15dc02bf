#ifndef CUENV_DETAIL_ELF_DYNAMIC_HPP
#define CUENV_DETAIL_ELF_DYNAMIC_HPP

#include <cuenv/detail/bytes.hpp>
#include <cuenv/detail/cubin.hpp>
#include <cuenv/detail/file.hpp>
#include <cuenv/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

CUENV_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::uint16_t elf_x86_64 = 62;
inline constexpr std::uint16_t elf_aarch64 = 183;

/// What an ELF file tells the loader. Source: gABI, "Dynamic Section"; DT_RUNPATH makes DT_RPATH void (ld.so(8)).
struct DynamicSection {
  /// e_machine: elf_x86_64, elf_aarch64 or another's number.
  std::uint16_t machine = 0;
  std::vector<std::string> needed;
  std::string soname;
  std::string rpath;
  std::string runpath;
  bool has_runpath = false;
  /// False where a part of it lies outside the file, or there is more than anyone would write.
  bool whole = true;
};

/// The text at `offset` up to its NUL byte; nothing where it does not end within the range, or is absurdly long.
[[nodiscard]] inline std::optional<std::string> read_c_string(ByteRange table, std::uint64_t offset) {
  constexpr std::size_t longest = 65536;  // paths of some package managers take kilobytes
  std::string text;
  while (text.size() < longest && table.holds(offset, text.size())) {
    std::string_view const chunk = table.look(offset + text.size(), 256).text();
    if (chunk.empty()) return std::nullopt;
    std::size_t const end = chunk.find('\0');
    text += chunk.substr(0, end);
    if (end != std::string_view::npos) return text;
  }
  return std::nullopt;
}

/// Reads it as the loader does, by the program headers. Nothing for what is no 64-bit little-endian ELF file; a file
/// without the section, such as a static program, needs nothing.
[[nodiscard]] inline std::optional<DynamicSection> read_dynamic_section(ByteRange file) {
  constexpr std::uint32_t type_load = 1;
  constexpr std::uint32_t type_dynamic = 2;
  constexpr std::size_t most_needed = 1024;
  constexpr std::uint64_t most_rows = 16384;
  Bytes const first = file.look(0, ElfHeader::size);
  ElfHeader const elf = read_elf_header(first);
  if (first.size() < ElfHeader::size || !elf.is_elf || !elf.little_endian_64) return std::nullopt;
  DynamicSection section;
  section.machine = elf.machine;
  if (elf.program_header_count == 0) return section;
  if (elf.program_header_size != 56 || !table_fits(elf.program_headers, 56, elf.program_header_count, file.size())) {
    section.whole = false;
    return section;
  }
  struct Segment {
    std::uint32_t type;
    std::uint64_t offset, address, size;
  };
  auto const segment_at = [&](std::uint64_t i) {
    Bytes const header = file.look(elf.program_headers + 56 * i, 56);
    return Segment{header.u32(0), header.u64(8), header.u64(16), header.u64(32)};
  };
  std::optional<Segment> dynamic;
  for (std::uint64_t i = 0; i < elf.program_header_count && !dynamic; ++i) {
    if (Segment const segment = segment_at(i); segment.type == type_dynamic) dynamic = segment;
  }
  if (!dynamic) return section;
  section.whole = file.holds(dynamic->offset, dynamic->size) && dynamic->size / 16 <= most_rows;

  std::uint64_t table_address = 0;
  std::uint64_t table_size = 0;
  std::vector<std::uint64_t> needed;
  std::optional<std::uint64_t> soname, rpath, runpath;
  ByteRange const rows = file.part(dynamic->offset, dynamic->size);
  for (std::uint64_t i = 0; i < most_rows; ++i) {
    Bytes const row = rows.look(16 * i, 16);
    if (row.size() < 16 || row.u64(0) == 0) break;
    std::uint64_t const value = row.u64(8);
    switch (row.u64(0)) {
      case 1:
        if (needed.size() < most_needed) needed.push_back(value);
        section.whole = section.whole && needed.size() < most_needed;
        break;
      case 5: table_address = value; break;
      case 10: table_size = value; break;
      case 14: soname = value; break;
      case 15: rpath = value; break;
      case 29: runpath = value; break;
      default: break;
    }
  }
  std::optional<ByteRange> names;
  for (std::uint64_t i = 0; i < elf.program_header_count && !names; ++i) {
    Segment const segment = segment_at(i);
    if (segment.type != type_load || table_address < segment.address) continue;
    std::uint64_t const inside = table_address - segment.address;
    if (inside >= segment.size || inside >= file.size()) continue;
    names = file.part(segment.offset, segment.size).part(inside, table_size);
  }
  auto const name_at = [&](std::uint64_t offset) {
    auto text = names ? read_c_string(*names, offset) : std::nullopt;
    if (!text) section.whole = false;
    return text.value_or(std::string{});
  };
  for (std::uint64_t const offset : needed) {
    if (std::string name = name_at(offset); !name.empty()) section.needed.push_back(std::move(name));
  }
  if (soname) section.soname = name_at(*soname);
  if (rpath) section.rpath = name_at(*rpath);
  if (runpath) section.runpath = name_at(*runpath);
  section.has_runpath = runpath.has_value();
  return section;
}

/// The same for a file; nothing where it cannot be read, and then `failure` says why if it is empty.
[[nodiscard]] inline std::optional<DynamicSection> read_dynamic_section(std::string const& path,
                                                                        std::string* failure = nullptr) {
  try {
    File const file{path};
    ByteReader reader{file.source()};
    return read_dynamic_section({reader, 0, reader.size()});
  } catch (FileError const& error) {
    if (failure != nullptr && failure->empty()) *failure = failure_words(error);
    return std::nullopt;
  }
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_ELF_DYNAMIC_HPP
