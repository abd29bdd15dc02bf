#include "child.hpp"
#include "machine.hpp"
#include "output.hpp"

#include <iostream>
#include <stdexcept>

namespace tool {

namespace {

/// In single quotes nothing is special to sh but the quote itself; any byte passes.
std::string quote_for_sh(std::string_view text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
  return quoted + "'";
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    std::size_t const length = cuenv::detail::utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

/// A quote is written twice; to PowerShell the typographic ones U+2018 to U+201B are quotes as well.
std::string quote_for_powershell(std::string_view text) {
  std::string quoted = "'";
  while (!text.empty()) {
    std::string_view const character = text.substr(0, cuenv::detail::utf8_length(text));
    bool const is_quote = character == "'" || (character >= "\xe2\x80\x98" && character <= "\xe2\x80\x9b");
    quoted += character;
    if (is_quote) quoted += character;
    text.remove_prefix(character.size());
  }
  return quoted + "'";
}

/// One line for a variable; throws std::runtime_error where the format cannot say it.
std::string line_for(cuenv::Assignment const& variable, std::string const& format) {
  auto const& [name, text] = variable;
  if (format == "sh") return text ? "export " + name + "=" + quote_for_sh(*text) : "unset " + name;
  if (text && !is_utf8(*text)) throw std::runtime_error{name + ": " + format + " takes UTF-8 only"};
  if (format == "powershell") {
    return text ? "$env:" + name + " = " + quote_for_powershell(*text)
                : "Remove-Item Env:" + name + " -ErrorAction SilentlyContinue";
  }
  // A file for --env-file: everything behind the first = is the value, and a line ends it.
  if (text && text->find_first_of("\r\n") != std::string::npos) {
    throw std::runtime_error{name + ": a file for docker --env-file cannot hold a value of more than one line"};
  }
  return text ? name + "=" + *text : "# " + name + " is not set";
}

}  // namespace

int env(ChildOptions const& options, std::string const& format) {
  Child const child = plan_child(options, cuenv::process_environment, machine_here());
  for (cuenv::Diagnostic const& finding : child.findings) {
    if (finding.severity != cuenv::Severity::note) std::cerr << to_string(finding) << '\n';
  }
  if (has_error(child.findings)) return refused;
  std::string text;
  for (cuenv::Assignment const& variable : child.variables) text += line_for(variable, format) + "\n";
  std::cout << text;
  return fine;
}

}  // namespace tool
