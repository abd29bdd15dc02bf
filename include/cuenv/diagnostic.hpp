#ifndef CUENV_DIAGNOSTIC_HPP
#define CUENV_DIAGNOSTIC_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

CUENV_NAMESPACE_BEGIN

/// How much a finding matters: a note informs, a warning is about something that probably is not meant, an error means
/// that what was asked for cannot be had.
enum class Severity { note, warning, error };

/// One finding: where it was found, what is wrong, what the driver makes of it, and what to type instead.
struct Diagnostic {
  static constexpr std::size_t no_offset = static_cast<std::size_t>(-1);  ///< the `offset` of a finding about all of it

  Severity severity = Severity::error;  ///< an error is what makes a list of findings a failure
  /// Stable and machine-readable, such as "visible_devices.duplicate". Always a string literal.
  std::string_view code;
  /// The variable or file that the finding is about.
  std::string subject;
  /// The text that was found there, as it is; may be empty.
  std::string value;
  /// Place in `value`, in bytes from 0; `no_offset` where the finding is about all of it.
  std::size_t offset = no_offset;
  /// What is wrong, as a sentence without its full stop.
  std::string what;
  /// What the driver does with it; empty where that adds nothing.
  std::string driver;
  /// What to type or do instead; empty where there is nothing to be done.
  std::string fix;
};

/// Findings in the order in which they were made. A list with an error in it stands for a failure.
using Diagnostics = std::vector<Diagnostic>;

/// True when at least one finding is an error.
[[nodiscard]] inline bool has_error(Diagnostics const& diagnostics) noexcept {
  for (Diagnostic const& diagnostic : diagnostics) {
    if (diagnostic.severity == Severity::error) return true;
  }
  return false;
}

/// Appends the findings of `from` to `to`.
inline void append(Diagnostics& to, Diagnostics from) {
  for (Diagnostic& diagnostic : from) to.push_back(std::move(diagnostic));
}

/// "note", "warning" or "error", in text and JSON.
[[nodiscard]] inline std::string_view to_string(Severity severity) noexcept {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: break;
  }
  return "error";
}

namespace detail {

/// Lines of a text, each made printable, the second and later ones indented.
[[nodiscard]] inline std::string printable_lines(std::string_view text) {
  std::string result = printable(take_until(text, '\n'));
  while (!text.empty()) result += "\n    " + printable(take_until(text, '\n'));
  return result;
}

}  // namespace detail

/// One finding as text, mostly of one to three lines, without a final newline. Bytes that are no printable ASCII or
/// UTF-8 are shown as `\xNN`, so the text is safe to print.
[[nodiscard]] CUENV_COLD inline std::string to_string(Diagnostic const& diagnostic) {
  std::string text{to_string(diagnostic.severity)};
  if (!diagnostic.subject.empty()) {
    text += ": " + detail::printable(diagnostic.subject);
    if (!diagnostic.value.empty()) text += "=" + detail::printable(diagnostic.value);
    if (diagnostic.offset != Diagnostic::no_offset) text += " at byte " + std::to_string(diagnostic.offset);
  }
  text += ": " + detail::printable(diagnostic.what);
  if (!diagnostic.driver.empty()) text += "\n  driver: " + detail::printable_lines(diagnostic.driver);
  if (!diagnostic.fix.empty()) text += "\n  fix: " + detail::printable(diagnostic.fix);
  return text;
}

/// All findings as text, one after the other, without a final newline.
[[nodiscard]] CUENV_COLD inline std::string to_string(Diagnostics const& diagnostics) {
  std::string text;
  for (Diagnostic const& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    text += to_string(diagnostic);
  }
  return text;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSTIC_HPP
