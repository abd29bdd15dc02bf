#ifndef CUENV_DETAIL_PTX_HPP
#define CUENV_DETAIL_PTX_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/image.hpp>

#include <cstddef>
#include <string_view>

CUENV_NAMESPACE_BEGIN
namespace detail {

/// The head of a PTX text: what stands before its first declaration.
struct PtxText {
  /// False where the first thing in the text is no .version: for a driver that is no PTX at all (measured, 580). True
  /// also where nothing but comments was seen of a longer text.
  bool is_ptx = false;
  PtxHead head = PtxHead::unfinished;
  PtxVersion version;
  /// Of several targets the highest, which is the one that decides (tried with ptxas 13.0).
  Target target;
};

/// Reads directives one by one. `whole` says that the text ends where the bytes end; otherwise the end of the bytes
/// means that nothing more is known.
class PtxLexer {
 public:
  constexpr PtxLexer(std::string_view text, bool whole) noexcept : text_{text}, whole_{whole} {
    std::size_t const nul = text_.find('\0');
    if (nul == std::string_view::npos) return;
    text_ = text_.substr(0, nul);
    whole_ = true;
  }

  /// True when the bytes ran out before the text did.
  [[nodiscard]] constexpr bool ran_out() const noexcept { return !whole_ && at_ >= text_.size(); }

  constexpr void skip_blanks_and_comments() noexcept {
    while (at_ < text_.size()) {
      bool const half_a_mark = text_[at_] == '/' && at_ + 1 == text_.size() && !whole_;
      if (is_space(text_[at_]) || half_a_mark) {
        ++at_;
      } else if (starts_with(text_.substr(at_), "//")) {
        skip_past("\n");
      } else if (starts_with(text_.substr(at_), "/*")) {
        at_ += 2;
        skip_past("*/");
      } else {
        return;
      }
    }
  }

  /// Blanks within a line: between .version and its number nothing else may stand.
  constexpr void skip_line_blanks() noexcept {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  /// Letters, digits, '_' and, in front, a dot.
  [[nodiscard]] constexpr std::string_view word() noexcept {
    std::size_t const begin = at_;
    if (at_ < text_.size() && text_[at_] == '.') ++at_;
    while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '_' || is_letter(text_[at_]))) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  [[nodiscard]] constexpr std::string_view digits() noexcept {
    std::size_t const begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  [[nodiscard]] constexpr bool take(char c) noexcept {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

 private:
  [[nodiscard]] static constexpr bool is_letter(char c) noexcept {
    char const lower = to_lower(c);
    return lower >= 'a' && lower <= 'z';
  }
  constexpr void skip_past(std::string_view mark) noexcept {
    std::size_t const found = text_.find(mark, at_);
    at_ = found == std::string_view::npos ? text_.size() : found + mark.size();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool whole_;
};

/// "sm_90a", or its synonym "compute_90a"; `sm` 0 for any other word.
[[nodiscard]] constexpr Target parse_ptx_target(std::string_view word) noexcept {
  if (starts_with(word, "sm_")) {
    word.remove_prefix(3);
  } else if (starts_with(word, "compute_")) {
    word.remove_prefix(8);
  } else {
    return {};
  }
  char suffix = 0;
  if (!word.empty() && (word.back() == 'a' || word.back() == 'f')) {
    suffix = word.back();
    word.remove_suffix(1);
  }
  auto const sm = parse_decimal(word, 9999);
  return sm ? Target{static_cast<int>(*sm), suffix} : Target{};
}

/// Reads the head of a PTX text as ptxas 13.0 does: comments and blanks anywhere but between .version and its number,
/// any number of .target lines, then .address_size, which is 32 where it is missing.
[[nodiscard]] constexpr PtxText read_ptx_head(std::string_view bytes, bool whole) noexcept {
  PtxText text;
  PtxLexer lexer{bytes, whole};
  // What touches the end of the bytes may go on behind it, so nothing is concluded from it.
  auto const ended = [&](PtxHead head) {
    text.head = lexer.ran_out() ? PtxHead::unfinished : head;
    if (text.head == PtxHead::unfinished) text.target = {};
    return text;
  };

  lexer.skip_blanks_and_comments();
  text.is_ptx = lexer.word() == ".version" || lexer.ran_out();
  if (!text.is_ptx || lexer.ran_out()) return text;
  lexer.skip_line_blanks();
  auto const first = parse_decimal(lexer.digits(), 9999);
  if (!first || !lexer.take('.')) return ended(PtxHead::bad_version);
  auto const second = parse_decimal(lexer.digits(), 9999);
  if (!second || lexer.ran_out()) return ended(PtxHead::bad_version);
  text.version = {static_cast<int>(*first), static_cast<int>(*second)};

  for (;;) {
    lexer.skip_blanks_and_comments();
    std::string_view const directive = lexer.word();
    if (directive == ".target" && !lexer.ran_out()) {
      do {
        lexer.skip_blanks_and_comments();
        Target const target = parse_ptx_target(lexer.word());
        if (target.sm > text.target.sm || (target.sm == text.target.sm && target.suffix != 0)) text.target = target;
        lexer.skip_blanks_and_comments();
      } while (lexer.take(','));
      continue;
    }
    if (text.target.sm == 0) return ended(PtxHead::no_target);
    if (directive != ".address_size") return ended(PtxHead::bits_32);
    lexer.skip_blanks_and_comments();
    return ended(lexer.digits() == "64" ? PtxHead::good : PtxHead::bits_32);
  }
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_PTX_HPP
