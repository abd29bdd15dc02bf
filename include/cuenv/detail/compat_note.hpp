#ifndef CUENV_DETAIL_COMPAT_NOTE_HPP
#define CUENV_DETAIL_COMPAT_NOTE_HPP

#include <cuenv/detail/bytes.hpp>
#include <cuenv/detail/cubin.hpp>
#include <cuenv/detail/elf.hpp>
#include <cuenv/detail/file.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

CUENV_NAMESPACE_BEGIN
namespace detail {

/// The branches of the kernel module that a libcuda for forward compatibility says it serves: the list "Driver" in the
/// JSON of its ELF note .note.cuda.fwd_compatibility. Empty where there is no such note. Source: NVIDIA's container
/// toolkit, which decides by it whether such a library comes first. Not tried on a real library.
[[nodiscard]] inline std::vector<int> read_compat_branches(ByteRange file) {
  constexpr std::uint32_t type_note = 7;
  constexpr std::size_t name_at = 12;  // behind three numbers: size of the name, size of the rest, kind
  constexpr std::size_t most = 4096;
  std::vector<int> branches;
  Bytes const first = file.look(0, ElfHeader::size);
  ElfHeader const elf = read_elf_header(first);
  if (!elf.is_elf || !elf.little_endian_64 || elf.section_header_size != 64 ||
      !table_fits(elf.section_headers, 64, elf.section_header_count, file.size())) {
    return branches;
  }
  for (std::uint64_t i = 0; i < elf.section_header_count; ++i) {
    ElfSection const section = read_elf_section(file.look(elf.section_headers + 64 * i, 64));
    if (section.type != type_note || section.size > most || !file.holds(section.offset, section.size)) continue;
    std::string_view const note = file.look(section.offset, static_cast<std::size_t>(section.size)).text();
    if (note.size() < name_at || !starts_with(note.substr(name_at), "NVIDIA Corporation")) continue;
    std::size_t const key = note.find("\"Driver\"");
    std::size_t const begin = note.find('[', key == std::string_view::npos ? note.size() : key);
    if (begin == std::string_view::npos) continue;
    std::string_view list = note.substr(begin + 1);
    list = list.substr(0, list.find(']'));
    while (!list.empty()) {
      if (auto const branch = parse_decimal(trim(take_until(list, ',')), 99999))
        branches.push_back(static_cast<int>(*branch));
    }
    return branches;
  }
  return branches;
}

/// The same for a file; empty where it cannot be read, and then `failure` says why if it is empty.
[[nodiscard]] inline std::vector<int> read_compat_branches(std::string const& path, std::string* failure = nullptr) {
  try {
    File const file{path};
    ByteReader reader{file.source()};
    return read_compat_branches({reader, 0, reader.size()});
  } catch (FileError const& error) {
    if (failure != nullptr && failure->empty()) *failure = failure_words(error);
    return {};
  }
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_COMPAT_NOTE_HPP
