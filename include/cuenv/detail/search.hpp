#ifndef CUENV_DETAIL_SEARCH_HPP
#define CUENV_DETAIL_SEARCH_HPP

#include <cuenv/detail/bytes.hpp>
#include <cuenv/detail/text.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

// Looking for the place where something begins.

CUENV_NAMESPACE_BEGIN
namespace detail {

/// The first 8 bytes of every container seen: magic, version 1, a header of 16 bytes.
inline constexpr std::string_view container_mark{"\x50\xed\x55\xba\x01\x00\x10\x00", 8};
/// The first 7 bytes of a 64-bit little-endian ELF file.
inline constexpr std::string_view elf_mark{
    "\x7f"
    "ELF\x02\x01\x01",
    7};

/// What a search stops at.
enum class Mark { container, container_or_elf, not_zero };

/// The first place from `at` on, in steps of 8, where `mark` stands; the end of the range where there is none.
[[nodiscard]] inline std::uint64_t find_mark(ByteRange range, std::uint64_t at, Mark mark) {
  while (at < range.size()) {
    Bytes const chunk = range.look(at, ByteReader::window_size);
    if (chunk.size() == 0) return range.size();
    for (std::size_t i = 0; i < chunk.size(); i += 8) {
      std::size_t const left = chunk.size() - i < 8 ? chunk.size() - i : 8;
      unsigned char const* const bytes = chunk.data() + i;
      if (mark == Mark::not_zero) {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes, left);
        if (value != 0) return at + i;
      } else if (left == 8) {
        if (std::memcmp(bytes, container_mark.data(), 8) == 0) return at + i;
        if (mark == Mark::container_or_elf && std::memcmp(bytes, elf_mark.data(), elf_mark.size()) == 0) return at + i;
      }
    }
    at += chunk.size() < ByteReader::window_size ? chunk.size() + 8 : chunk.size();
  }
  return range.size();
}

/// Where a text's first character stands that is neither blank nor in a comment. A license may be long; what begins
/// later than `most` bytes is not looked for.
[[nodiscard]] inline std::uint64_t find_text_begin(ByteRange range, std::uint64_t most = std::uint64_t{1} << 20) {
  enum class State { blank, slash, line_comment, block_comment, star } state = State::blank;
  std::uint64_t const end = range.size() < most ? range.size() : most;
  for (std::uint64_t at = 0; at < end;) {
    Bytes const chunk = range.look(at, ByteReader::window_size);
    if (chunk.size() == 0) break;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      char const c = chunk.text()[i];
      switch (state) {
        case State::blank:
          if (c == '/') {
            state = State::slash;
          } else if (!is_space(c)) {
            return at + i;
          }
          break;
        case State::slash:
          if (c != '/' && c != '*') return at + i - 1;
          state = c == '/' ? State::line_comment : State::block_comment;
          break;
        case State::line_comment:
          if (c == '\n') state = State::blank;
          break;
        case State::block_comment:
          if (c == '*') state = State::star;
          break;
        case State::star:
          if (c != '*') state = c == '/' ? State::blank : State::block_comment;
          break;
      }
    }
    at += chunk.size();
  }
  return range.size();
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_SEARCH_HPP
