#ifndef CUENV_DETAIL_PE_HPP
#define CUENV_DETAIL_PE_HPP

#include <cuenv/detail/bytes.hpp>
#include <cuenv/detail/host_code.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/image.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

CUENV_NAMESPACE_BEGIN
namespace detail {

/// Section names of a Windows program are cut to 8 bytes, unless they stand in the table of long names.
inline constexpr std::array<std::string_view, 4> pe_code_sections{".nv_fatb", ".nv_fatbin", "__nv_rel",
                                                                  "__nv_relfatbin"};
inline constexpr std::array<std::string_view, 2> pe_wrapper_sections{".nvFatBi", ".nvFatBinSegment"};

/// Finds the code in a Windows executable or DLL.
[[nodiscard]] inline HostCode find_pe_code(ByteRange file) {
  HostCode code;
  std::uint64_t const pe = file.look(0x3c, 4).u32(0);
  Bytes const header = file.look(pe, 24);
  if (header.size() < 24 || !header.starts_with(std::string_view{"PE\0\0", 4})) {
    return code;  // a DOS program
  }
  std::uint32_t const section_count = header.u16(6);
  std::uint64_t const symbols = header.u32(12);
  std::uint64_t const symbol_count = header.u32(16);
  std::uint64_t const optional_size = header.u16(20);
  Bytes const optional = file.look(pe + 24, 32);
  bool const is_64_bit = optional.u16(0) == 0x20b;
  std::uint64_t const image_base = is_64_bit ? optional.u64(24) : optional.u32(28);
  std::uint64_t const sections = pe + 24 + optional_size;
  std::uint64_t const long_names = symbols + 18 * symbol_count;

  for (std::uint32_t i = 0; i < section_count; ++i) {
    Bytes const section = file.look(sections + std::uint64_t{40} * i, 40);
    if (section.size() < 40) {
      code.damage = Damage::cut;
      return code;
    }
    std::uint32_t const virtual_size = section.u32(8);
    std::uint64_t const address = image_base + section.u32(12);
    std::uint64_t const offset = section.u32(20);
    // The stored size is rounded up; what lies beyond the true one is padding.
    std::uint64_t const size = virtual_size != 0 && virtual_size < section.u32(16) ? virtual_size : section.u32(16);
    std::string_view name = section.text().substr(0, 8);
    name = name.substr(0, name.find('\0'));
    if (name.size() > 1 && name.front() == '/' && symbols != 0) {
      auto const place = parse_decimal(name.substr(1));
      std::string_view const text = place ? file.look(long_names + *place, 32).text() : std::string_view{};
      name = text.substr(0, text.find('\0'));
    }
    for (std::string_view const known : pe_code_sections) {
      if (name != known || size == 0) continue;
      if (!file.holds(offset, size)) code.damage = Damage::cut;
      ByteRange const part = file.part(offset, size);
      code.add({known, part.begin() - file.begin(), part.size(), address});
      if (code.damage == Damage::too_many) return code;
    }
    for (std::string_view const known : pe_wrapper_sections) {
      if (name != known) continue;
      code.links.read(file.part(offset, size), address);
      break;  // what `name` points to may have been read over
    }
  }
  return code;
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_PE_HPP
