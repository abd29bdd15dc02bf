#include "commands.hpp"
#include "machine.hpp"
#include "output.hpp"

#include <cstddef>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

namespace tool {

namespace {

using cuenv::detail::printable;

/// The explanations; of given variables, also those that say no more than that the name is not known.
std::vector<cuenv::Explanation> explanations_of(std::vector<cuenv::Assignment> const& variables, bool given,
                                                cuenv::Machine const& machine) {
  auto known = cuenv::explain_variables(variables, machine);
  if (!given) return known;
  std::vector<cuenv::Explanation> all;
  std::size_t next = 0;
  for (cuenv::Assignment const& variable : variables) {
    if (next < known.size() && known[next].name == variable.name && known[next].text == *variable.text) {
      all.push_back(std::move(known[next++]));
      continue;
    }
    cuenv::Explanation unknown;
    unknown.name = variable.name;
    unknown.text = *variable.text;
    unknown.findings.push_back({cuenv::Severity::note, "name.unknown", variable.name, *variable.text,
                                cuenv::Diagnostic::no_offset, "cuenv does not know this variable", "", ""});
    all.push_back(std::move(unknown));
  }
  return all;
}

/// A text, cut where it is long and nothing points into it: NVIDIA_REQUIRE_CUDA of NVIDIA's images has 1.7 kB.
std::string shown_text(cuenv::Explanation const& explanation) {
  constexpr std::size_t most = 200;
  std::string_view const text = explanation.text;
  if (text.size() <= most || !explanation.findings.empty()) return "'" + printable(text) + "'";
  return "'" + printable(text.substr(0, most)) + "'... (" + std::to_string(text.size()) + " bytes; --json has all)";
}

std::string explanation_text(cuenv::Explanation const& explanation, std::string const& source) {
  std::string text = printable(explanation.name) + "=" + shown_text(explanation) + "\n";
  auto const with = [](std::string const& value, std::optional<cuenv::Evidence> evidence) {
    return evidence ? value + " (" + std::string{to_string(*evidence)} + ")" : value;
  };
  if (explanation.effect) {
    text += labelled("effective", with(printable(explanation.effect->value), explanation.effect->evidence));
  }
  if (explanation.info != nullptr) {
    cuenv::VariableInfo const& info = *explanation.info;
    text += labelled("default", info.fallback);
    text += labelled("read", with(std::string{to_string(info.read)}, info.read_evidence));
    text += labelled("purpose", info.purpose);
  }
  if (!source.empty()) text += labelled("from", source);
  for (cuenv::Diagnostic const& finding : explanation.findings) text += labelled(finding, Subject::omitted);
  return text;
}

}  // namespace

int explain(ExplainOptions const& options) {
  bool const given = !options.assignments.empty();
  std::vector<cuenv::Assignment> variables;
  for (std::string const& text : options.assignments) variables.push_back(parse_assignment(text));
  if (!given) variables = cuenv::process_environment.all();
  auto const explanations = explanations_of(variables, given, machine_here());

  std::string const source = given ? "argument" : "environment";
  Json document{{"schema", cuenv::json_schema}, {"variables", Json::array()}};
  std::string text;
  bool problem = false;
  for (cuenv::Explanation const& explanation : explanations) {
    Json json = explanation;
    json["source"] = source;
    document["variables"].push_back(std::move(json));
    text += (text.empty() ? "" : "\n") + explanation_text(explanation, given ? "" : source);
    problem = problem || has_problem(explanation.findings);
  }
  if (text.empty()) text = "no CUDA variable is set: every default holds\n";
  std::cout << (options.json ? text_of(document) : text);
  return problem ? problems : fine;
}

}  // namespace tool
