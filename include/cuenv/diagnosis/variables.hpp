#ifndef CUENV_DIAGNOSIS_VARIABLES_HPP
#define CUENV_DIAGNOSIS_VARIABLES_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnosis/rung.hpp>
#include <cuenv/diagnosis/site.hpp>
#include <cuenv/explain.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/version.hpp>

#include <string>
#include <utility>

CUENV_NAMESPACE_BEGIN

/// What the CUDA variables of the site's environment do: explain_variables as a rung. Each variable is a fact with what
/// the driver makes of it; findings keep the codes that they have there (environment.misread, environment.slow,
/// environment.runs_code, name.misspelt, name.no_effect, visible_devices.*, device_order.invalid). Pure but for the
/// site's values. Thread-safe.
[[nodiscard]] inline RungReport diagnose_variables(Site const& site, Machine const& machine) {
  RungReport report;
  report.rung = Rung::variables;
  for (Explanation& explanation : explain_variables(site.variables, machine)) {
    std::string value = detail::printable(explanation.text);
    // Where the text is not what the driver makes of it.
    if (explanation.effect && explanation.effect->value != explanation.text) {
      value += (value.empty() ? "(empty): " : ": ") + explanation.effect->value;
    }
    report.add_fact(explanation.name, std::move(value));
    append(report.findings, std::move(explanation.findings));
  }
  if (!report.add_unknown("which variables are set besides", site.variables_unknown) && report.facts.empty()) {
    report.add_fact("CUDA variables", "none is set, so every default holds");
  }
  return report;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_VARIABLES_HPP
