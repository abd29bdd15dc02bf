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

CUENV_NAMESPACE_BEGIN

/// Replaces what tells who and where by stable placeholders: the same UUID gives the same one everywhere, and a part of
/// a UUID that begins only one of those seen gives that one's. For a report that is shown to strangers; other texts
/// that tell who, such as names of folders, stay. Not thread-safe: it remembers what it has seen.
class Redactor {
 public:
  /// A whole word that is replaced where it stands alone: a host or user name. Ignored where it is empty, or "root",
  /// which tells nothing and stands in too many words.
  void add_word(std::string word, std::string placeholder) {
    if (!word.empty() && word != "root") words_.push_back({std::move(word), std::move(placeholder)});
  }
  /// A folder that is replaced where a path begins with it. Ignored where it is empty, "/" or "/root".
  void add_folder(std::string folder, std::string placeholder) {
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    if (folder.size() > 1 && folder != "/root") folders_.push_back({std::move(folder), std::move(placeholder)});
  }
  /// Makes the UUIDs of a text known, so that their placeholders are numbered in this order.
  void learn(std::string_view text) { (void)replace_uuids(text, Replace::whole_only); }

  /// The text with placeholders in it; UUIDs that it is the first to name become known.
  [[nodiscard]] std::string operator()(std::string_view text) {
    std::string result = replace_uuids(text, Replace::parts_too);
    for (Word const& folder : folders_) result = replace(result, folder, is_path_character);
    result = replace_homes(result);
    for (Word const& word : words_) result = replace(result, word, is_word_character);
    return result;
  }

 private:
  struct Word {
    std::string text;
    std::string placeholder;
  };

  [[nodiscard]] static constexpr bool is_word_character(char c) noexcept {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
  }
  [[nodiscard]] static constexpr bool is_path_character(char c) noexcept { return is_word_character(c) || c == '.'; }
  [[nodiscard]] static constexpr bool is_uuid_character(char c) noexcept {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '-';
  }

  /// Where the word stands alone, by the characters that would make it part of another.
  [[nodiscard]] static std::string replace(std::string_view text, Word const& word, bool (*part)(char) noexcept) {
    std::string result;
    std::size_t from = 0;
    for (std::size_t at = 0; (at = text.find(word.text, at)) != std::string_view::npos;) {
      std::size_t const end = at + word.text.size();
      bool const alone = (at == 0 || !part(text[at - 1])) && (end == text.size() || !part(text[end]));
      if (alone) {
        result.append(text.substr(from, at - from)).append(word.placeholder);
        from = end;
      }
      at = end;
    }
    return result.append(text.substr(from));
  }

  /// The name behind /home/ and /Users/, whoever's it is.
  [[nodiscard]] static std::string replace_homes(std::string text) {
    for (std::string_view const parent : {"/home/", "/Users/"}) {
      for (std::size_t at = 0; (at = text.find(parent, at)) != std::string::npos;) {
        at += parent.size();
        std::size_t end = at;
        while (end < text.size() && (is_path_character(text[end]) || static_cast<unsigned char>(text[end]) >= 0x80))
          ++end;
        if (end > at) text.replace(at, end - at, "<user>");
      }
    }
    return text;
  }

  enum class Replace { whole_only, parts_too };

  /// Whole UUIDs with or without a tag, and behind a tag the beginning of one, which is what the driver takes.
  [[nodiscard]] std::string replace_uuids(std::string_view text, Replace replace) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
      bool const tag = detail::equal_ignoring_case(text.substr(at, 4), "GPU-") ||
                       detail::equal_ignoring_case(text.substr(at, 4), "MIG-");
      bool const begins = at == 0 || !is_word_character(text[at - 1]);
      std::size_t const start = at + (tag ? 4 : 0);
      std::size_t end = start;
      while (end < text.size() && end - start < uuid_length && is_uuid_character(text[end])) ++end;
      std::string const digits = lower_case(text.substr(start, end - start));
      bool const whole = looks_whole(digits);
      bool const is_end = end == text.size() || !is_word_character(text[end]);
      bool const part = replace == Replace::parts_too && tag && is_end &&
                        digits.find_first_of("0123456789abcdef") != std::string::npos;
      if (part || (whole && (tag || begins))) {
        result.append(text.substr(at, start - at)).append(placeholder_of(digits, whole));
        at = end;
      } else {
        result += text[at++];
      }
    }
    return result;
  }

  [[nodiscard]] static std::string lower_case(std::string_view text) {
    std::string result{text};
    for (char& c : result) c = detail::to_lower(c);
    return result;
  }
  [[nodiscard]] static bool looks_whole(std::string_view text) noexcept {
    if (text.size() != uuid_length) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      bool const dash = i == 8 || i == 13 || i == 18 || i == 23;
      if ((text[i] == '-') != dash) return false;
    }
    return true;
  }

  [[nodiscard]] std::string placeholder_of(std::string const& digits, bool whole) {
    std::size_t found = uuids_.size();
    std::size_t matches = 0;
    for (std::size_t i = 0; i < uuids_.size(); ++i) {
      if (uuids_[i] == digits) return "<uuid " + std::to_string(i + 1) + ">";
      if (!whole && detail::starts_with(uuids_[i], digits)) {
        found = i;
        ++matches;
      }
    }
    if (matches == 1) return "<uuid " + std::to_string(found + 1) + "...>";
    if (matches > 1) return "<uuid...>";
    uuids_.push_back(digits);
    return "<uuid " + std::to_string(uuids_.size()) + ">";
  }

  static constexpr std::size_t uuid_length = 36;
  std::vector<Word> words_;
  std::vector<Word> folders_;
  std::vector<std::string> uuids_;
};

/// What tells who and where on this site: host name, user and home folder, from its variables and /proc.
[[nodiscard]] inline Redactor redactor_of(Site const& site) {
  Redactor redactor;
  redactor.add_folder(site.get("HOME").value_or(""), "<home>");
  for (char const* name : {"USER", "LOGNAME", "SUDO_USER"}) redactor.add_word(site.get(name).value_or(""), "<user>");
  std::string const host{detail::trim(site.read("/proc/sys/kernel/hostname", 256).value_or(""))};
  redactor.add_word(host, "<host>");
  redactor.add_word(host.substr(0, host.find('.')), "<host>");
  redactor.add_word(site.get("HOSTNAME").value_or(""), "<host>");
  return redactor;
}

/// The rungs with every text redacted. Offsets stay at the character that they meant.
[[nodiscard]] inline std::vector<RungReport> redact(std::vector<RungReport> rungs, Redactor redactor) {
  for (RungReport const& rung : rungs) {  // whole UUIDs first: a part is then known as a part
    for (Fact const& fact : rung.facts) redactor.learn(fact.value);
    for (Diagnostic const& finding : rung.findings) redactor.learn(finding.value);
  }
  for (RungReport& rung : rungs) {
    for (Fact& fact : rung.facts) {
      fact.name = redactor(fact.name);
      fact.value = redactor(fact.value);
    }
    for (std::string& reason : rung.unknown) reason = redactor(reason);
    for (Diagnostic& finding : rung.findings) {
      if (finding.offset != Diagnostic::no_offset && finding.offset <= finding.value.size()) {
        finding.offset = redactor(std::string_view{finding.value}.substr(0, finding.offset)).size();
      }
      for (std::string* text : {&finding.subject, &finding.value, &finding.what, &finding.driver, &finding.fix}) {
        *text = redactor(*text);
      }
    }
  }
  return rungs;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_REDACT_HPP
