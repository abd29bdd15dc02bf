#ifndef CUENV_EXPLAIN_HPP
#define CUENV_EXPLAIN_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/environment.hpp>
#include <cuenv/explain_visibility.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/names.hpp>
#include <cuenv/variable.hpp>
#include <cuenv/variables.hpp>
#include <cuenv/version.hpp>
#include <cuenv/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

CUENV_NAMESPACE_BEGIN

/// What one variable of an environment means.
struct Explanation {
  std::string name;  ///< as it stands in the environment
  std::string text;  ///< as it stands there; may be of any bytes
  /// What is known of the variable; null for a name that cuenv does not know.
  VariableInfo const* info = nullptr;
  /// What the driver makes of the text; empty for variables of tools and containers, and for unknown names. Where it
  /// takes more to know than this machine tells, the value says so, and it has no evidence.
  std::optional<Effect> effect;
  /// What is wrong with the name or the text, and what to type instead.
  Diagnostics findings;
};

namespace detail {

/// "logical 0 = physical 1, logical 1 = physical 0", or why CUDA will not start.
[[nodiscard]] inline std::string visibility_words(Visibility const& visibility) {
  if (visibility.order_is_invalid) return "no CUDA: the order is invalid";
  if (!visibility.known) return "not known: " + std::string{visibility.reason_unknown};
  if (visibility.cu_init != 0) return "no GPU: cuInit gives " + std::to_string(visibility.cu_init);
  std::string words;
  for (std::size_t i = 0; i < visibility.devices.size(); ++i) {
    auto const& physical = visibility.devices[i].physical;
    words += (i == 0 ? "logical " : ", logical ") + std::to_string(i) + " = physical " +
             (physical ? std::to_string(physical->value) : "unknown");
  }
  return words;
}

/// What other variables mean for indices in CUDA_VISIBLE_DEVICES: an MPS daemon counts anew, and so does a container.
inline void explain_renumbering(std::vector<Assignment> const& variables, std::string_view visible,
                                Visibility const& visibility, Diagnostics& findings) {
  Strtoull const first = strtoull_base10(visible);
  bool const indices = first.used != 0 && static_cast<std::int32_t>(static_cast<std::uint32_t>(first.value)) >= 0;
  bool out_of_range = false;
  for (DroppedEntry const& dropped : visibility.dropped) {
    out_of_range = out_of_range || dropped.reason == DropReason::out_of_range;
  }
  auto const note = [&](std::string_view code, std::string what, std::string driver, std::string fix) {
    findings.push_back({Severity::note, code, std::string{visible_devices_name}, std::string{visible},
                        Diagnostic::no_offset, std::move(what), std::move(driver), std::move(fix)});
  };
  for (Assignment const& variable : variables) {
    if (!variable.text || variable.text->empty()) continue;
    std::string const shown = variable.name + "=" + *variable.text;
    if (indices && variable.name == mps_pipe_directory.info.name) {
      note("visible_devices.mps", shown + ": where an MPS daemon is found there, this program is its client",
           "then an index counts the daemon's GPUs, from 0 and in the order of the bus",
           "use UUIDs, which mean the same GPU to both");
    }
    if (out_of_range && variable.name == "NVIDIA_VISIBLE_DEVICES") {
      note("visible_devices.container", shown + ": a container has those GPUs of its host that it was given",
           "inside it they are counted from 0, whatever their index on the host (documented, not measured)",
           "remove CUDA_VISIBLE_DEVICES inside the container, or use UUIDs");
    }
  }
}

}  // namespace detail

/// Explains every CUDA variable among the given ones, in their order: those that cuenv knows, and names that look like
/// a slip. Other variables are left out. Pure; nothing is thrown for any text.
[[nodiscard]] inline std::vector<Explanation> explain_variables(std::vector<Assignment> const& variables,
                                                                Machine const& machine) {
  VisibilityVariables visibility_variables;
  for (Assignment const& variable : variables) {
    if (!variable.text) continue;
    if (variable.name == visible_devices.info.name) visibility_variables.visible = *variable.text;
    if (variable.name == device_order.info.name) visibility_variables.order = *variable.text;
  }
  std::vector<Explanation> explanations;
  for (Assignment const& variable : variables) {
    if (!variable.text) continue;
    Explanation explanation;
    explanation.name = variable.name;
    explanation.text = *variable.text;
    explanation.info = find_variable_info(variable.name);
    VariableRow const* const row = find_variable(variable.name);
    if (row != nullptr && row->effect != nullptr) {
      explanation.effect = row->effect(*variable.text);
      if (!explanation.effect->problem.empty()) {
        explanation.findings.push_back({explanation.effect->fatal ? Severity::error : Severity::warning,
                                        "environment.misread", variable.name, *variable.text, Diagnostic::no_offset,
                                        explanation.effect->problem, "it counts as " + explanation.effect->value,
                                        explanation.effect->fix});
      }
      if (auto note = check_slow_switch(variable.name, *variable.text))
        explanation.findings.push_back(std::move(*note));
    } else if (row != nullptr) {  // CUDA_VISIBLE_DEVICES, which takes the machine and the order
      Visibility const visibility = resolve_visibility(visibility_variables, machine);
      explanation.effect = Effect{detail::visibility_words(visibility), evidence_of(visibility)};
      explanation.effect->fatal = visibility.order_is_invalid || visibility.cu_init != 0;
      for (Diagnostic& finding : explain(visibility, visibility_variables, machine)) {
        if (finding.subject != device_order.info.name) explanation.findings.push_back(std::move(finding));
      }
      detail::explain_renumbering(variables, *variable.text, visibility, explanation.findings);
    } else if (auto finding = check_name(variable.name, *variable.text)) {
      explanation.findings.push_back(std::move(*finding));
    } else if (explanation.info == nullptr) {
      continue;
    }
    if (explanation.info != nullptr && explanation.info->privilege == Privilege::runs_code && !variable.text->empty() &&
        (variable.name != "CUDA_COREDUMP_FILE" || variable.text->front() == '|')) {
      explanation.findings.push_back({Severity::warning, "environment.runs_code", variable.name, *variable.text,
                                      Diagnostic::no_offset, "whoever sets this runs code in the process", "",
                                      "make sure that you know who set it"});
    }
    explanations.push_back(std::move(explanation));
  }
  return explanations;
}

CUENV_NAMESPACE_END

#endif  // CUENV_EXPLAIN_HPP
