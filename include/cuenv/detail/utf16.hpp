#ifndef CUENV_DETAIL_UTF16_HPP
#define CUENV_DETAIL_UTF16_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Between the UTF-8 of cuenv and the UTF-16 of Windows. There a name or a value may hold half of a surrogate pair,
// which is no character; it becomes the three bytes that UTF-8 would have for it (this is known as WTF-8), and from
// them the same half again, so that nothing is lost on the way through cuenv.

CUENV_NAMESPACE_BEGIN
namespace detail {

/// `Unit` is of 16 bits: char16_t, and on Windows wchar_t.
template <class Unit>
[[nodiscard]] std::string to_utf8(std::basic_string_view<Unit> wide) {
  static_assert(sizeof(Unit) == 2);
  std::string text;
  text.reserve(wide.size());
  for (std::size_t i = 0; i < wide.size(); ++i) {
    std::uint32_t code = static_cast<std::uint16_t>(wide[i]);
    if ((code & 0xfc00) == 0xd800 && i + 1 < wide.size() && (wide[i + 1] & 0xfc00) == 0xdc00) {
      code = 0x10000 + ((code & 0x3ff) << 10) + (static_cast<std::uint32_t>(wide[++i]) & 0x3ff);
    }
    if (code < 0x80) {
      text += static_cast<char>(code);
      continue;
    }
    int const more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes after the first
    constexpr unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    text += static_cast<char>(first[more] | (code >> (6 * more)));
    for (int shift = 6 * (more - 1); shift >= 0; shift -= 6) text += static_cast<char>(0x80 | ((code >> shift) & 0x3f));
  }
  return text;
}

/// Nothing where the text is no UTF-8: what an 8-bit code page made must not become other characters in silence.
template <class Unit>
[[nodiscard]] std::optional<std::basic_string<Unit>> to_utf16(std::string_view text) {
  static_assert(sizeof(Unit) == 2);
  std::basic_string<Unit> wide;
  wide.reserve(text.size());
  while (!text.empty()) {
    auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    bool const half =
        text.size() > 2 && byte(0) == 0xed && byte(1) >= 0xa0 && byte(1) <= 0xbf && (byte(2) & 0xc0) == 0x80;
    std::size_t const length = half ? 3 : utf8_length(text);
    if (length == 0) return std::nullopt;
    std::uint32_t code = length == 1 ? byte(0) : byte(0) & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) code = (code << 6) | (byte(i) & 0x3fU);
    if (code >= 0x10000) {
      wide += static_cast<Unit>(0xd800 + ((code - 0x10000) >> 10));
      code = 0xdc00 + ((code - 0x10000) & 0x3ff);
    }
    wide += static_cast<Unit>(code);
    text.remove_prefix(length);
  }
  return wide;
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_UTF16_HPP
