#ifndef CUENV_DETAIL_TEXT_HPP
#define CUENV_DETAIL_TEXT_HPP

#include <cuenv/version.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Text rules without a locale: only ASCII digits are digits, only ASCII letters have a case.

CUENV_NAMESPACE_BEGIN
namespace detail {

/// C's isspace in the "C" locale, which is what the driver skips before a number (measured, driver 580).
[[nodiscard]] constexpr bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

[[nodiscard]] constexpr char to_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// The value of a hexadecimal digit, or -1.
[[nodiscard]] constexpr int hex_digit(char c) noexcept {
  if (is_digit(c)) return c - '0';
  c = to_lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

[[nodiscard]] constexpr bool starts_with(std::string_view text, std::string_view prefix) noexcept {
  return text.substr(0, prefix.size()) == prefix;
}

[[nodiscard]] constexpr bool ends_with(std::string_view text, std::string_view suffix) noexcept {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

/// Equal but for the case of ASCII letters.
[[nodiscard]] constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (to_lower(a[i]) != to_lower(b[i])) return false;
  }
  return true;
}

[[nodiscard]] constexpr std::string_view trim(std::string_view text) noexcept {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// The part of `text` before the first `separator`, which is removed from it together with the separator.
[[nodiscard]] constexpr std::string_view take_until(std::string_view& text, char separator) noexcept {
  std::size_t const end = text.find(separator);
  std::string_view const head = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return head;
}

/// A number that is the whole text: decimal digits only, at most `limit`. Signs, blanks and "4abc" are refused.
[[nodiscard]] constexpr std::optional<std::uint64_t> parse_decimal(std::string_view text,
                                                                   std::uint64_t limit = UINT64_MAX) noexcept {
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (char c : text) {
    if (!is_digit(c)) return std::nullopt;
    auto const digit = static_cast<std::uint64_t>(c - '0');
    if (value > (UINT64_MAX - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  if (value > limit) return std::nullopt;
  return value;
}

/// What C's strtoull, base 10, on a 64-bit machine makes of a text.
struct Strtoull {
  std::uint64_t value = 0;
  /// Bytes used, 0 when there is no number.
  std::size_t used = 0;
};

/// Leading white space and one sign are skipped, a minus negates the result, what does not fit saturates, and the text
/// behind the digits is left. This is how the driver reads its numbers (measured, driver 580).
[[nodiscard]] constexpr Strtoull strtoull_base10(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size() && is_space(text[at])) ++at;
  bool negative = false;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) negative = text[at++] == '-';
  std::size_t const first_digit = at;
  std::uint64_t value = 0;
  bool saturated = false;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    auto const digit = static_cast<std::uint64_t>(text[at] - '0');
    if (value > (UINT64_MAX - digit) / 10) saturated = true;
    value = value * 10 + digit;
  }
  if (at == first_digit) return {};
  if (saturated) return {UINT64_MAX, at};
  return {negative ? std::uint64_t{0} - value : value, at};
}

/// Number of bytes of the well-formed UTF-8 sequence at the start of `text`, 0 when there is none.
[[nodiscard]] constexpr std::size_t utf8_length(std::string_view text) noexcept {
  if (text.empty()) return 0;
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char const lead = byte(0);
  if (lead < 0x80) return 1;
  std::size_t const length = lead >= 0xf0 && lead <= 0xf4  ? 4
                             : lead >= 0xe0 && lead < 0xf0 ? 3
                             : lead >= 0xc2 && lead < 0xe0 ? 2
                                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and what lies beyond U+10FFFF are no characters.
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;
  if (lead == 0xed && byte(1) > 0x9f) return 0;
  if (lead == 0xf0 && byte(1) < 0x90) return 0;
  if (lead == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

/// True for a character, of more than one byte, that shows nothing, looks like a blank or turns the direction of what
/// follows: no-break space, zero-width characters, separators of lines, marks and overrides of direction, byte order
/// mark. They get into a variable from a web page, and whoever reads the text must see them.
[[nodiscard]] constexpr bool is_invisible(std::string_view character) noexcept {
  if (character.size() == 2) return character == "\xc2\xa0" || character == "\xc2\xad";
  if (character.size() != 3) return false;
  return (character >= "\xe2\x80\x8b" && character <= "\xe2\x80\x8f") ||  // U+200B to U+200F
         (character >= "\xe2\x80\xa8" && character <= "\xe2\x80\xaf") ||  // U+2028 to U+202F
         (character >= "\xe2\x81\xa0" && character <= "\xe2\x81\xaf") ||  // U+2060 to U+206F
         character == "\xef\xbb\xbf";                                     // U+FEFF
}

/// `text` with control characters, invisible ones and what is not UTF-8 written as \n, \t or \xNN.
[[nodiscard]] inline std::string printable(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    std::size_t const length = utf8_length(text);
    auto const byte = static_cast<unsigned char>(text.front());
    bool const c1_control = length == 2 && byte == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    if (length > 1 && is_invisible(text.substr(0, length))) {
      for (char c : text.substr(0, length)) {
        result += "\\x";
        result += digits[static_cast<unsigned char>(c) >> 4];
        result += digits[static_cast<unsigned char>(c) & 15];
      }
      text.remove_prefix(length);
      continue;
    }
    if (length > 1 && !c1_control) {
      result += text.substr(0, length);
      text.remove_prefix(length);
      continue;
    }
    if (byte >= 0x20 && byte < 0x7f) {
      result += text.front();
    } else if (byte == '\n') {
      result += "\\n";
    } else if (byte == '\t') {
      result += "\\t";
    } else {
      result += "\\x";
      result += digits[byte >> 4];
      result += digits[byte & 15];
    }
    text.remove_prefix(1);
  }
  return result;
}

/// Number of single-character edits between two texts (insert, delete, replace, swap of neighbours), counted up to
/// `limit`; more than that gives `limit + 1`.
[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (a.size() > b.size() + limit || b.size() > a.size() + limit) return limit + 1;
  std::size_t const columns = b.size() + 1;
  std::string rows(3 * columns, '\0');  // three rows of small numbers; names are far shorter than 255
  if (a.size() > 200 || b.size() > 200) return limit + 1;
  auto const cell = [&](std::size_t row, std::size_t column) -> char& { return rows[(row % 3) * columns + column]; };
  for (std::size_t j = 0; j <= b.size(); ++j) cell(0, j) = static_cast<char>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    cell(i, 0) = static_cast<char>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      auto const number = [&](std::size_t row, std::size_t column) {
        return static_cast<unsigned char>(cell(row, column));
      };
      unsigned best = number(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0U : 1U);
      if (number(i - 1, j) + 1U < best) best = number(i - 1, j) + 1U;
      if (number(i, j - 1) + 1U < best) best = number(i, j - 1) + 1U;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && number(i - 2, j - 2) + 1U < best) {
        best = number(i - 2, j - 2) + 1U;
      }
      cell(i, j) = static_cast<char>(best);
    }
  }
  std::size_t const distance = static_cast<unsigned char>(cell(a.size(), b.size()));
  return distance > limit ? limit + 1 : distance;
}

/// Of the names that it is shown, the one nearest to a text: for "did you mean". Both must outlive it.
class NearestName {
 public:
  /// A name that takes more than `limit` edits is not near.
  NearestName(std::string_view text, std::size_t limit) noexcept : text_{text}, limit_{limit} {}

  /// Of names that are as near as another the first counts.
  void consider(std::string_view name) {
    std::size_t const distance = edit_distance(text_, name, limit_);
    if (distance > limit_) return;
    found_ = name;
    limit_ = distance == 0 ? 0 : distance - 1;
  }
  /// Empty where no name was near.
  [[nodiscard]] std::string_view found() const noexcept { return found_; }

 private:
  std::string_view text_;
  std::size_t limit_;
  std::string_view found_;
};

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_TEXT_HPP
