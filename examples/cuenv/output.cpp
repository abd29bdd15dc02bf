#include "output.hpp"

#include <algorithm>
#include <stdexcept>

namespace tool {

namespace {

constexpr std::size_t width = 80;

}  // namespace

std::string labelled(std::string_view label, std::string_view text, std::size_t column) {
  std::string line = "  " + std::string{label};
  line.resize(std::max(line.size() + 1, column), ' ');
  std::size_t const indent = line.size();
  std::string result;
  bool first = true;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view word = cuenv::detail::take_until(rest, ' ');
    if (!first && line.size() + 1 + word.size() > width) {
      result += line + "\n";
      line.assign(indent, ' ');
      first = true;
    }
    if (!first) line += ' ';
    // What has no blank for the whole width, such as a long list, is broken behind a comma where there is one.
    while (line.size() + word.size() > width && indent < width) {
      std::size_t const room = width - line.size();
      std::size_t const comma = word.substr(0, room).rfind(',');
      std::size_t const part = comma == std::string_view::npos || comma == 0 ? room : comma + 1;
      result += line.append(word.substr(0, part)) + "\n";
      line.assign(indent, ' ');
      word.remove_prefix(part);
    }
    line += word;
    first = false;
  }
  return result + line + "\n";
}

std::string labelled(cuenv::Diagnostic const& finding, Subject subject) {
  std::string what = cuenv::detail::printable(finding.what);
  std::string place = subject == Subject::named ? cuenv::detail::printable(finding.subject) : std::string{};
  if (finding.offset != cuenv::Diagnostic::no_offset) {
    place += (place.empty() ? "at byte " : " at byte ") + std::to_string(finding.offset);
  }
  if (!place.empty()) what = place + ": " + what;
  std::string text = labelled(to_string(finding.severity), what);
  if (!finding.driver.empty()) text += labelled("  driver", cuenv::detail::printable(finding.driver));
  if (!finding.fix.empty()) text += labelled("  fix", cuenv::detail::printable(finding.fix));
  return text;
}

std::string aligned(std::vector<std::vector<std::string>> const& rows) {
  std::vector<std::size_t> widths;
  for (auto const& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (auto const& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string text_of(Json const& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string version() {
  return std::to_string(CUENV_VERSION_MAJOR) + "." + std::to_string(CUENV_VERSION_MINOR) + "." +
         std::to_string(CUENV_VERSION_PATCH);
}

bool has_problem(cuenv::Diagnostics const& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](auto const& finding) { return finding.severity != cuenv::Severity::note; });
}

cuenv::Assignment parse_assignment(std::string const& text) {
  std::size_t const equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw std::runtime_error{"'" + cuenv::detail::printable(text) + "': write NAME=VALUE"};
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace tool
