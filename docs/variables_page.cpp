// Prints docs/variables.md from the table of variables. A test compares the two.
#include <cuenv/names.hpp>
#include <cuenv/variables.hpp>

#include <cstdio>
#include <string>

namespace {

/// As the cell of a table, where some characters mean something.
std::string cell(std::string_view text) {
  std::string result;
  for (char const c : text) {
    if (c == '|' || c == '\\' || c == '<') result += '\\';
    result += c;
  }
  return result.empty() ? "-" : result;
}

/// With a capital letter at its beginning.
std::string sentence(std::string_view text) {
  std::string result{text};
  if (result.front() >= 'a' && result.front() <= 'z') result.front() = static_cast<char>(result.front() - 'a' + 'A');
  return result;
}

std::string_view privilege(cuenv::VariableInfo const& info) {
  switch (info.privilege) {
    case cuenv::Privilege::none: break;
    case cuenv::Privilege::writes_files:
      return " Privileged: whoever sets it chooses where the process that reads it writes.";
    case cuenv::Privilege::runs_code: return " Privileged: whoever sets it can run code in the process.";
  }
  return "";
}

void row(cuenv::VariableInfo const& info) {
  std::string const evidence = info.read == cuenv::Moment::unknown || info.read == cuenv::Moment::not_driver
                                   ? ""
                                   : " (" + std::string{to_string(info.read_evidence)} + ")";
  std::string const since = info.since.empty() ? "not established" : std::string{info.since};
  std::string const until = info.until.empty() ? "" : " to " + std::string{info.until};
  std::string const platform = info.platform.empty() ? "" : ", " + std::string{info.platform} + " only";
  std::printf("### %s\n\n%s.%s\n\n", std::string{info.name}.c_str(), sentence(info.purpose).c_str(),
              std::string{privilege(info)}.c_str());
  std::printf("| accepted | default | read | CUDA |\n| --- | --- | --- | --- |\n");
  std::printf("| %s | %s | %s%s | %s%s%s |\n\n", cell(info.accepted).c_str(), cell(info.fallback).c_str(),
              std::string{to_string(info.read)}.c_str(), evidence.c_str(), since.c_str(), until.c_str(),
              platform.c_str());
}

}  // namespace

int main() {
  std::printf(
      "# Every variable\n\n"
      "Made from the tables in `variables.hpp` and `names.hpp` by `docs/variables_page.cpp`; a test compares the two.\n"
      "*Measured* is on driver 580.159.04 with H200, *documented* is what NVIDIA's manuals say. A variable is read "
      "once, at\n"
      "the moment given; a later change is ignored.\n\n"
      "## What a session can set\n\n");
  for (cuenv::VariableRow const& variable : cuenv::settable_variables) row(*variable.info);
  std::printf("## What cuenv explains and does not set\n\n");
  for (cuenv::VariableInfo const& info : cuenv::related_variables) row(info);
  std::printf(
      "## Names that nothing reads\n\nRecommended here and there; in no document of NVIDIA's and not in the driver "
      "(580).\n\n| name | instead |\n| --- | --- |\n");
  for (cuenv::IneffectiveName const& name : cuenv::ineffective_names) {
    std::printf("| `%s` | %s |\n", std::string{name.name}.c_str(), cell(name.instead).c_str());
  }
  std::printf("\n## Switches that make every run slow when left on\n\n| name | cost |\n| --- | --- |\n");
  for (cuenv::SlowSwitch const& slow : cuenv::slow_switches) {
    std::printf("| `%s` | %s |\n", std::string{slow.name}.c_str(), cell(slow.cost).c_str());
  }
}
