#ifndef CUENV_DETAIL_ARCHIVE_HPP
#define CUENV_DETAIL_ARCHIVE_HPP

#include <cuenv/detail/bytes.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/image.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

CUENV_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::string_view archive_magic = "!<arch>\n";
inline constexpr std::string_view thin_archive_magic = "!<thin>\n";

/// Longest member name that is kept.
inline constexpr std::size_t longest_member_name = 255;

/// Calls `visit(name, range)` for each file that an archive (GNU, BSD or Microsoft) holds; its tables are left out.
template <class Visit>
Damage visit_archive_members(ByteRange archive, Visit&& visit) {
  constexpr std::size_t header_size = 60;
  ByteRange long_names = archive.part(0, 0);
  for (std::uint64_t at = archive_magic.size(); at < archive.size();) {
    Bytes const header = archive.look(at, header_size);
    if (header.size() < header_size) return header.u8(0) == '\n' && header.size() <= 1 ? Damage::none : Damage::cut;
    std::string_view const text = header.text();
    if (text.substr(58, 2) != "`\n") return Damage::header;
    auto const size = parse_decimal(trim(text.substr(48, 10)));
    if (!size) return Damage::header;
    std::uint64_t const begin = at + header_size;
    if (!archive.holds(begin, *size)) return Damage::cut;
    ByteRange member = archive.part(begin, *size);
    at = begin + *size + (*size & 1);

    std::string name{trim(text.substr(0, 16))};
    if (name == "//") {
      long_names = member;
      continue;
    }
    if (name == "/" || name == "/SYM64/" || starts_with(name, "__.SYMDEF")) continue;
    if (name.size() > 1 && name.front() == '/') {
      // "/123": the name stands at 123 in the table of long names and ends with a slash or a zero.
      auto const place = parse_decimal(std::string_view{name}.substr(1));
      std::string_view const rest = place ? long_names.look(*place, longest_member_name).text() : std::string_view{};
      name = std::string{rest.substr(0, rest.find_first_of(std::string_view{"\n\0", 2}))};
    } else if (starts_with(name, "#1/")) {
      // "#1/20": the name is the first 20 bytes of the member.
      auto const length = parse_decimal(std::string_view{name}.substr(3));
      if (!length || *length > member.size()) return Damage::header;
      std::string_view const bytes =
          member.look(0, *length < longest_member_name ? static_cast<std::size_t>(*length) : longest_member_name)
              .text();
      name = std::string{bytes.substr(0, bytes.find('\0'))};
      member = member.part(*length, member.size() - *length);
      if (starts_with(name, "__.SYMDEF")) continue;
    }
    if (!name.empty() && name.back() == '/') name.pop_back();
    visit(name, member);
  }
  return Damage::none;
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_ARCHIVE_HPP
