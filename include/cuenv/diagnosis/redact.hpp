#ifndef CUENV_DIAGNOSIS_REDACT_HPP
#define CUENV_DIAGNOSIS_REDACT_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnosis/rung.hpp>
#include <cuenv/diagnosis/site.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#ifndef _WIN32
#include <unistd.h>
#endif

CUENV_NAMESPACE_BEGIN

/// Replaces what tells who and where by stable placeholders: the same UUID gives the same one everywhere, and a part of
/// a UUID that begins only one of those seen gives that one's. For a report that is shown to strangers; other texts
/// that tell who, such as names of folders, stay. In doubt it hides: a date such as 20260102-1200 looks like a part of
/// a UUID. Not thread-safe: it remembers what it has seen.
class Redactor {
 public:
  /// A whole word that is replaced where it stands alone: a host or user name. Ignored where it is empty, or "root",
  /// which tells nothing and stands in too many words.
  void add_word(std::string word, std::string placeholder) {
    if (!word.empty() && word != "root") words_.push_back({std::move(word), std::move(placeholder)});
  }
  /// A folder that is replaced where a path begins with it. Ignored where it is empty, "/" or "/root", or the folder
  /// of all homes: the name behind that is hidden in any case.
  void add_folder(std::string folder, std::string placeholder) {
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    for (std::string_view const known : {"", "/", "/root", "/home", "/Users"}) {
      if (folder == known) return;
    }
    folders_.push_back({std::move(folder), std::move(placeholder)});
  }
  /// What tells who and where on a site: host name, user and home folder, from its variables and /proc. Several can be
  /// added: the caller's, and that of the process which is looked at.
  void add(Site const& site) {
    std::string const home = site.get("HOME").value_or("");
    if (!home.empty()) {
      for (std::string const& folder : {home, cleaned(home), site.real_path(home)}) add_folder(folder, "<home>");
    }
    for (char const* name : {"USER", "LOGNAME", "SUDO_USER"}) add_word(site.get(name).value_or(""), "<user>");
    std::string kernels{detail::trim(site.read("/proc/sys/kernel/hostname", 256).value_or(""))};
#ifndef _WIN32
    char name[257] = "";  // needs no file, which there may be too many of: the name must not stay
    if (site.root.empty() && ::gethostname(&name[0], sizeof name - 1) == 0) kernels = &name[0];
#endif
    for (std::string const& host : {kernels, site.get("HOSTNAME").value_or("")}) {
      add_word(host, "<host>");
      add_word(host.substr(0, host.find('.')), "<host>");
    }
  }
  /// Makes the whole UUIDs of a text known, so that their placeholders are numbered in this order.
  void learn(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      std::size_t const length = whole_length(text, at);
      if (length != 0) (void)placeholder_of(digits_of(text.substr(at, length)), true);
      at += length != 0 ? length : 1;
    }
  }

  /// The text with placeholders in it; UUIDs that it is the first to name become known.
  [[nodiscard]] std::string operator()(std::string_view text) {
    learn(text);
    Pieces pieces{{std::string{text}, false}};
    auto const replace = [&](Word const& word, bool (*part)(char) noexcept) {
      pieces = in_each(pieces, [&](std::string_view raw, std::size_t at) { return word_at(word, part, raw, at); });
    };
    for (Word const& folder : folders_) replace(folder, is_path_character);
    pieces = in_each(pieces, home_at);
    pieces = in_each(pieces, [this](std::string_view raw, std::size_t at) { return id_at(raw, at); });
    for (Word const& word : words_) replace(word, is_word_character);
    std::string result;
    for (Piece const& piece : pieces) result += piece.text;
    return result;
  }

 private:
  struct Word {
    std::string text;
    std::string placeholder;
  };
  /// A text is taken apart, so that nothing is replaced within a placeholder.
  struct Piece {
    std::string text;
    bool is_placeholder;
  };
  using Pieces = std::vector<Piece>;
  /// What is to be hidden at a place: as many characters, from `skip` behind it on.
  struct Match {
    std::size_t skip = 0;
    std::size_t length = 0;
    std::string placeholder = {};
  };

  [[nodiscard]] static constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
  [[nodiscard]] static constexpr bool is_hex(char c) noexcept {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  }
  [[nodiscard]] static constexpr bool is_word_character(char c) noexcept {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
  }
  [[nodiscard]] static constexpr bool is_path_character(char c) noexcept { return is_word_character(c) || c == '.'; }

  /// Replaces in each piece that is no placeholder what `match_at(text, at)` finds.
  template <class MatchAt>
  [[nodiscard]] static Pieces in_each(Pieces const& pieces, MatchAt match_at) {
    Pieces result;
    for (Piece const& piece : pieces) {
      if (piece.is_placeholder) {
        result.push_back(piece);
        continue;
      }
      std::string_view const text = piece.text;
      std::size_t from = 0;
      for (std::size_t at = 0; at < text.size();) {
        Match match = match_at(text, at);
        if (match.length == 0) {
          ++at;
          continue;
        }
        at += match.skip;
        result.push_back({std::string{text.substr(from, at - from)}, false});
        result.push_back({std::move(match.placeholder), true});
        at = from = at + match.length;
      }
      result.push_back({std::string{text.substr(from)}, false});
    }
    return result;
  }

  /// The word where it stands alone, by the characters that would make it part of another.
  [[nodiscard]] static Match word_at(Word const& word, bool (*part)(char) noexcept, std::string_view text,
                                     std::size_t at) {
    if (text.compare(at, word.text.size(), word.text) != 0) return {};
    std::size_t const end = at + word.text.size();
    bool const alone = (at == 0 || !part(text[at - 1])) && (end == text.size() || !part(text[end]));
    return alone ? Match{0, word.text.size(), word.placeholder} : Match{};
  }

  /// The name behind /home/ and /Users/, whoever's it is. Names have few limits: what follows may be a part of it
  /// unless it is a slash, a quote, a colon, or a comma and the like that ends a part of a sentence.
  [[nodiscard]] static Match home_at(std::string_view text, std::size_t at) {
    for (std::string_view const parent : {"/home/", "/Users/", "\\Users\\"}) {
      if (text.compare(at, parent.size(), parent) != 0) continue;
      std::size_t begin = at + parent.size();
      while (begin < text.size() && (text[begin] == '/' || text.compare(begin, 2, "./") == 0)) ++begin;
      std::size_t const first = name_end(text, begin);
      std::size_t end = first;
      for (int blanks = 0; blanks < 2 && end < text.size() && text[end] == ' '; ++blanks) {
        std::size_t const next = name_end(text, end + 1);
        if (next == end + 1) break;  // two blanks, or a path of its own
        end = next;
      }
      bool const goes_on = end < text.size() && (text[end] == '/' || text[end] == '\\');
      if (!goes_on) end = first;
      if (end > begin) return {begin - at, end - begin, "<user>"};
    }
    return {};
  }
  [[nodiscard]] static std::size_t name_end(std::string_view text, std::size_t at) {
    constexpr std::string_view ends = "/\\\"'`: \t\n";
    for (; at < text.size() && ends.find(text[at]) == std::string_view::npos; ++at) {
      bool const closes = text[at] == ',' || text[at] == ';' || text[at] == ')';
      if (closes && (at + 1 == text.size() || ends.find(text[at + 1]) != std::string_view::npos)) break;
    }
    return at;
  }

  /// Whether the groups of hexadecimal digits are there, with dashes between them.
  template <std::size_t Count>
  [[nodiscard]] static bool has_groups(std::string_view text, std::size_t at, std::size_t const (&groups)[Count]) {
    for (std::size_t i = 0; i < Count; ++i) {
      if (i > 0) {
        if (at >= text.size() || text[at] != '-') return false;
        ++at;
      }
      if (text.size() - at < groups[i]) return false;
      for (std::size_t const end = at + groups[i]; at < end; ++at) {
        if (!is_hex(text[at])) return false;
      }
    }
    return true;
  }
  /// The length of the whole UUID at this place, in any word; 0 where there is none. Without dashes it counts if it is
  /// no part of a longer number.
  [[nodiscard]] static std::size_t whole_length(std::string_view text, std::size_t at) {
    if (has_groups(text, at, {8, 4, 4, 4, 12})) return 36;
    bool const alone = (at == 0 || !is_hex(text[at - 1])) && (at + 32 >= text.size() || !is_hex(text[at + 32]));
    return alone && has_groups(text, at, {32}) ? 32 : 0;
  }
  /// The length of a tag, which stands before UUIDs; 0 where there is none.
  [[nodiscard]] static std::size_t tag_length(std::string_view text, std::size_t at) {
    std::string_view const word = text.substr(at, 3);
    bool const tag = detail::equal_ignoring_case(word, "GPU") || detail::equal_ignoring_case(word, "MIG");
    return tag && at + 3 < text.size() && (text[at + 3] == '-' || text[at + 3] == '_') ? 4 : 0;
  }

  /// Whole UUIDs; behind a tag the beginning of one, which is what the driver takes, or what was meant to be one; and
  /// the first two groups without a tag.
  [[nodiscard]] Match id_at(std::string_view text, std::size_t at) {
    if (std::size_t const whole = whole_length(text, at); whole != 0) {
      return {0, whole, placeholder_of(digits_of(text.substr(at, whole)), true)};
    }
    std::size_t const tag = tag_length(text, at);
    bool const part = tag != 0 || ((at == 0 || !is_hex(text[at - 1])) && has_groups(text, at, {8, 4}));
    if (!part) return {};
    std::size_t const begin = at + tag;
    std::size_t end = begin;
    bool digit = false;
    bool hex = true;
    bool dash = false;        // among the hexadecimal digits that it begins with
    std::size_t leading = 0;  // so many of those and dashes
    while (end < text.size() && is_word_character(text[end])) {
      if (end > at && (tag_length(text, end) != 0 || whole_length(text, end) != 0)) break;
      char const c = text[end++];
      digit = digit || is_digit(c);
      hex = hex && (is_hex(c) || c == '-');
      leading += hex ? 1 : 0;
      dash = dash || (hex && c == '-');
    }
    std::string const id = digits_of(text.substr(begin, end - begin));
    if (tag == 0) return {0, end - at, placeholder_of(id, false)};
    bool const any = id.find_first_of("0123456789abcdef") != std::string::npos;
    bool hide = any && leading >= 4 && (digit || dash);
    // "accelerated", "to-GPU" and "1g" are words; GPU_MAX_ALLOC is a variable.
    if (text[at + 3] == '-') hide = hide || (any && (hex || (digit && id.size() >= 4)));
    return hide ? Match{tag, end - begin, placeholder_of(id, false)} : Match{};
  }

  /// In small letters, and with dashes where they are left out.
  [[nodiscard]] static std::string digits_of(std::string_view id) {
    std::string result{id};
    for (char& c : result) c = detail::to_lower(c);
    if (id.size() == 32 && has_groups(id, 0, {32})) {
      for (std::size_t const at : {8U, 13U, 18U, 23U}) result.insert(at, 1, '-');
    }
    return result;
  }

  /// Without "//" and "/./".
  [[nodiscard]] static std::string cleaned(std::string_view path) {
    std::string result;
    while (!path.empty()) {
      std::string_view const part = detail::take_until(path, '/');
      if (!part.empty() && part != ".") result.append("/").append(part);
    }
    return result;
  }

  [[nodiscard]] std::string placeholder_of(std::string const& digits, bool whole) {
    std::size_t found = 0;
    std::size_t matches = 0;
    for (std::size_t i = 0; i < uuids_.size(); ++i) {
      if (uuids_[i] == digits) return "<uuid " + std::to_string(i + 1) + ">";
      if (!whole && detail::starts_with(uuids_[i], digits)) {
        found = i;
        ++matches;
      }
    }
    if (!whole) return matches == 1 ? "<uuid " + std::to_string(found + 1) + "...>" : "<uuid...>";
    uuids_.push_back(digits);
    return "<uuid " + std::to_string(uuids_.size()) + ">";
  }

  std::vector<Word> words_;
  std::vector<Word> folders_;
  std::vector<std::string> uuids_;
};

/// A redactor that knows what tells who and where on this site.
[[nodiscard]] inline Redactor redactor_of(Site const& site) {
  Redactor redactor;
  redactor.add(site);
  return redactor;
}

namespace detail {

/// Every text of a rung that can tell who or where.
template <class Use>
void for_each_text(RungReport& rung, Use use) {  // NOLINTBEGIN(misc-const-correctness): `use` may change them
  for (Fact& fact : rung.facts) {
    use(fact.name);
    use(fact.value);
  }
  for (std::string& reason : rung.unknown) use(reason);
  for (Diagnostic& finding : rung.findings) {
    for (std::string* text : {&finding.subject, &finding.value, &finding.what, &finding.driver, &finding.fix}) {
      use(*text);
    }
  }
}  // NOLINTEND(misc-const-correctness)

/// The place in the redacted text of an offset in the text: where the text can be cut without changing what comes out,
/// at the offset or the nearest before it, since within what is hidden there is no place.
[[nodiscard]] inline std::size_t redacted_offset(Redactor& redactor, std::string_view text, std::size_t offset) {
  std::string const whole = redactor(text);
  for (int tries = 0; offset > 0 && tries < 256; ++tries, --offset) {
    std::string const before = redactor(text.substr(0, offset));
    if (before + redactor(text.substr(offset)) == whole) return before.size();
  }
  return 0;
}

}  // namespace detail

/// The rungs with every text redacted. Offsets stay at the character that they meant.
[[nodiscard]] inline std::vector<RungReport> redact(std::vector<RungReport> rungs, Redactor redactor) {
  for (RungReport& rung : rungs) {  // whole UUIDs first: a part is then known as a part
    detail::for_each_text(rung, [&](std::string const& text) { redactor.learn(text); });
  }
  for (RungReport& rung : rungs) {
    for (Diagnostic& finding : rung.findings) {
      if (finding.offset == Diagnostic::no_offset || finding.offset > finding.value.size()) continue;
      finding.offset = detail::redacted_offset(redactor, finding.value, finding.offset);
    }
    detail::for_each_text(rung, [&](std::string& text) { text = redactor(text); });
  }
  return rungs;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_REDACT_HPP
