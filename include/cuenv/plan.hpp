#ifndef CUENV_PLAN_HPP
#define CUENV_PLAN_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/environment.hpp>
#include <cuenv/explain_visibility.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/mps.hpp>
#include <cuenv/settings.hpp>
#include <cuenv/variables.hpp>
#include <cuenv/version.hpp>
#include <cuenv/visibility.hpp>
#include <cuenv/visible_devices.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What a session would do to the environment: a pure decision, made before anything is touched.

CUENV_NAMESPACE_BEGIN

/// What becomes of one setting.
enum class Outcome {
  applied,      ///< the environment gets the setting's value
  already_set,  ///< it had that value, or one that means the same
  kept,         ///< it has another, which stays
  left          ///< CUDA would not see it any more, so nothing was changed
};

/// In words, for text and JSON: "already set", "left: too late".
[[nodiscard]] constexpr std::string_view to_string(Outcome outcome) noexcept {
  constexpr std::string_view names[] = {"applied", "already set", "kept from the environment", "left: too late"};
  return names[static_cast<std::size_t>(outcome)];
}

/// One variable of a plan. A text that is empty as an optional stands for a variable that is not set.
struct PlannedVariable {
  std::string_view name;               ///< of the table in variables.hpp
  std::optional<std::string> found;    ///< in the environment
  std::optional<std::string> wanted;   ///< by the settings, in canonical text
  Outcome outcome = Outcome::applied;  ///< only `applied` changes anything
  /// True where `found` is not what the process was started with: an earlier session or the program itself set it, so
  /// it is not the user's or the launcher's word.
  bool set_by_this_process = false;

  /// What the environment has afterwards.
  [[nodiscard]] std::optional<std::string> const& result() const noexcept {
    return outcome == Outcome::applied ? wanted : found;
  }
};

/// What a session is going to change, and what it noticed.
struct Plan {
  std::vector<PlannedVariable> variables;  ///< those that have a setting, or are brought by one
  /// With an error among them nothing may be applied.
  Diagnostics findings;

  /// The changes to make, in order.
  [[nodiscard]] std::vector<Assignment> assignments() const {
    std::vector<Assignment> list;
    for (PlannedVariable const& variable : variables) {
      if (variable.outcome == Outcome::applied) list.push_back({std::string{variable.name}, variable.wanted});
    }
    return list;
  }
};

namespace detail {

/// The two variables that decide on devices, kept as texts so that views of them stay good.
struct DeviceTexts {
  std::optional<std::string> visible;
  std::optional<std::string> order;

  [[nodiscard]] VisibilityVariables views() const {
    VisibilityVariables variables;
    if (visible) variables.visible = *visible;
    if (order) variables.order = *order;
    return variables;
  }
};

/// The variables with which the process was started; nothing where they are not known.
using StartVariables = std::optional<std::vector<Assignment>>;

[[nodiscard]] inline bool set_by_this_process(StartVariables const& start, PlannedVariable const& variable) {
  return start && text_in(*start, variable.name) != variable.found;
}

[[nodiscard]] inline DeviceTexts device_texts(Environment const& environment) {
  return {environment.get("CUDA_VISIBLE_DEVICES"), environment.get("CUDA_DEVICE_ORDER")};
}

/// True where both texts are known to give the same GPUs in the same order.
[[nodiscard]] inline bool same_devices(DeviceTexts const& a, DeviceTexts const& b, Machine const& machine) {
  if (a.visible == b.visible && a.order == b.order) return true;
  Visibility const one = resolve_visibility(a.views(), machine);
  Visibility const other = resolve_visibility(b.views(), machine);
  if (!one.known || !other.known || one.cu_init != other.cu_init || one.devices.size() != other.devices.size())
    return false;
  for (std::size_t i = 0; i < one.devices.size(); ++i) {
    if (!one.devices[i].physical || !(one.devices[i] == other.devices[i])) return false;
  }
  return true;
}

/// The text for logical indices: entry n of what is visible now. Problems are added where there is no such entry.
[[nodiscard]] CUENV_COLD inline std::optional<std::string> choose_among_visible(VisibleDevices const& wanted,
                                                                                DeviceTexts const& now,
                                                                                Machine const& machine,
                                                                                Diagnostics& findings) {
  auto const refuse = [&](std::string_view code, std::string what, std::string fix) {
    findings.push_back({Severity::error, code, std::string{visible_devices_name}, format_visible_devices(wanted),
                        Diagnostic::no_offset, std::move(what), "", std::move(fix)});
  };
  Visibility const visibility = resolve_visibility(now.views(), machine);
  if (now.visible && !visibility.known) {
    refuse("visible_devices.cannot_refine",
           "what '" + *now.visible + "' leaves visible is not known: " + std::string{visibility.reason_unknown},
           "override the variable, or choose by UUID");
    return std::nullopt;
  }
  std::vector<std::string> entries;  // what is visible now, as texts
  if (now.visible) {
    std::string_view rest = *now.visible;
    bool const ids = starts_with(rest, "GPU-") || starts_with(rest, "MIG-");
    auto const is_dropped = [&](std::string_view entry) {
      for (DroppedEntry const& dropped : visibility.dropped) {
        if (dropped.entry.data() == entry.data()) return true;
      }
      return false;
    };
    while (entries.size() < visibility.devices.size()) {
      std::string_view const entry = take_until(rest, ',');
      if (is_dropped(entry)) continue;  // MIG limits drop entries before the last one that counts
      auto const number = static_cast<std::uint32_t>(strtoull_base10(entry).value);
      entries.push_back(ids ? std::string{entry} : std::to_string(number));
    }
  }
  std::string text;
  auto const add = [&](std::string const& entry) { text += (text.empty() ? "" : ",") + entry; };
  for (int index : wanted.indices()) {
    auto const position = static_cast<std::size_t>(index);
    std::size_t const count = now.visible ? entries.size() : visibility.devices.size();
    if (position >= count && (now.visible || visibility.known)) {
      refuse("visible_devices.no_such_logical",
             "there is no logical device " + std::to_string(index) + ": " + std::to_string(count) +
                 (count == 1 ? " is" : " are") + " visible",
             indices_to_use(count));
      continue;
    }
    add(now.visible ? entries[position] : std::to_string(index));
  }
  for (DeviceId const& id : wanted.ids()) {
    std::string found;
    Visibility const one = resolve_visibility({id.text, std::nullopt}, machine);
    bool unknown = !one.known;
    for (VisibleDevice const& device : visibility.devices) {
      unknown = unknown || !device.physical;
      if (one.devices.size() == 1 && device.physical && device == one.devices.front()) found = id.text;
    }
    if (unknown) {
      refuse("visible_devices.cannot_refine",
             "which GPUs '" + *now.visible + "' leaves visible is not known before cuInit",
             "override the variable, or choose by logical index");
    } else if (found.empty()) {
      refuse("visible_devices.not_visible", "'" + id.text + "' is not among the GPUs that are visible now",
             "override the variable, or choose one that is visible");
    } else {
      add(found);
    }
  }
  if (has_error(findings)) return std::nullopt;
  return text;
}

/// True where a choice counts among what is visible.
[[nodiscard]] inline bool is_relative(VisibleDevices const& devices, Precedence precedence) noexcept {
  using Kind = VisibleDevices::Kind;
  return devices.kind() == Kind::logical || (devices.kind() == Kind::id && precedence == Precedence::refine);
}

/// The text for such a choice among what was visible when the process started.
[[nodiscard]] inline std::optional<std::string> chosen_from_the_start(VisibleDevices const& devices,
                                                                      std::vector<Assignment> const& start,
                                                                      Machine const& machine) {
  Diagnostics ignored;
  DeviceTexts const then{text_in(start, "CUDA_VISIBLE_DEVICES"), text_in(start, "CUDA_DEVICE_ORDER")};
  // Without a list there was nothing to choose among: the ids stood for themselves.
  if (!then.visible && devices.kind() == VisibleDevices::Kind::id) return format_visible_devices(devices);
  return choose_among_visible(devices, then, machine, ignored);
}

/// What the environment should hold for a choice of devices; an empty optional inside stands for "not set".
[[nodiscard]] inline std::optional<std::optional<std::string>> wanted_devices(VisibleDevices const& devices,
                                                                              Precedence precedence,
                                                                              DeviceTexts const& now,
                                                                              Machine const& machine,
                                                                              Diagnostics& findings) {
  using Kind = VisibleDevices::Kind;
  bool const refine = precedence == Precedence::refine && now.visible;
  bool const relative = devices.kind() == Kind::logical || (refine && devices.kind() == Kind::id);
  if (relative && precedence == Precedence::override && now.visible) {
    findings.push_back({Severity::error, "visible_devices.logical_override", std::string{visible_devices_name},
                        format_visible_devices(devices), Diagnostic::no_offset,
                        "logical indices choose among what is visible, so they cannot override it", "",
                        "override with physical indices or UUIDs, or refine"});
    return std::nullopt;
  }
  if (refine && devices.kind() == Kind::physical) {
    findings.push_back({Severity::error, "visible_devices.physical_refine", std::string{visible_devices_name},
                        format_visible_devices(devices), Diagnostic::no_offset,
                        "physical indices do not count what is visible, so they cannot refine it", "",
                        "refine with logical indices or UUIDs, or override"});
    return std::nullopt;
  }
  if (relative) {
    auto text = choose_among_visible(devices, now, machine, findings);
    if (!text) return std::nullopt;
    return std::optional<std::string>{std::move(text)};
  }
  if (devices.kind() == Kind::all) return refine ? now.visible : std::optional<std::string>{};
  auto text = visible_devices_text(devices, machine);
  if (!text) {
    findings.push_back({Severity::error, "visible_devices.hidden_by_mps", std::string{visible_devices_name},
                        format_visible_devices(devices), Diagnostic::no_offset,
                        "the MPS daemon of this process was not given all of these GPUs",
                        "it has physical GPU " + gpus_not_hidden(machine) + " alone, and its clients see no other",
                        "choose among them, start the daemon with the others, or set CUDA_MPS_PIPE_DIRECTORY to an "
                        "empty text to run without MPS"});
    return std::nullopt;
  }
  return text;
}

/// Order and list are one decision: plans both.
CUENV_COLD inline void plan_devices(Settings const& settings, Environment const& environment,
                                    StartVariables const& start, Machine const& machine, Plan& plan) {
  Settings::Entry const* list_entry = nullptr;
  Settings::Entry const* order_entry = nullptr;
  for (Settings::Entry const& entry : settings.entries()) {
    if (entry.variable->info->name == visible_devices.info.name) list_entry = &entry;
    if (entry.variable->info->name == device_order.info.name) order_entry = &entry;
  }
  DeviceTexts const now = device_texts(environment);
  DeviceTexts then = now;
  bool brings_pci_order = false;
  bool list_is_kept = now.visible.has_value();

  if (list_entry != nullptr) {
    VisibleDevices const devices = *settings.get(visible_devices);
    std::optional<std::string> const text = visible_devices_text(devices, machine);
    PlannedVariable planned{visible_devices.info.name, now.visible, {}, Outcome::applied};
    planned.set_by_this_process = set_by_this_process(start, planned);
    if (planned.set_by_this_process && is_relative(devices, list_entry->precedence) &&
        chosen_from_the_start(devices, *start, machine) == now.visible) {
      planned.wanted = now.visible;  // an earlier session has made this very choice
      planned.outcome = Outcome::already_set;
    } else if (planned.set_by_this_process && devices.kind() == VisibleDevices::Kind::physical &&
               list_entry->precedence == Precedence::refine && now.visible == text &&
               !text_in(*start, visible_devices_name)) {
      planned.wanted = now.visible;  // the same: there was nothing to refine then
      planned.outcome = Outcome::already_set;
      list_is_kept = false;
      brings_pci_order = true;
    } else if (now.visible && list_entry->precedence == Precedence::keep) {
      planned.wanted =
          devices.kind() == VisibleDevices::Kind::all ? std::optional<std::string>{} : text.value_or(list_entry->text);
      DeviceTexts alone{planned.wanted, devices.kind() == VisibleDevices::Kind::physical ? "PCI_BUS_ID" : now.order};
      bool const same = text && devices.kind() != VisibleDevices::Kind::logical && same_devices(now, alone, machine);
      planned.outcome = same ? Outcome::already_set : Outcome::kept;
    } else {
      auto wanted = wanted_devices(devices, list_entry->precedence, now, machine, plan.findings);
      if (!wanted) return;
      planned.wanted = *wanted;
      planned.outcome = planned.wanted == now.visible ? Outcome::already_set : Outcome::applied;
      then.visible = planned.wanted;
      // What was chosen among the entries of the environment is counted in the environment's order.
      list_is_kept = now.visible && planned.wanted &&
                     (devices.kind() == VisibleDevices::Kind::logical || list_entry->precedence == Precedence::refine);
      brings_pci_order = devices.kind() == VisibleDevices::Kind::physical;
    }
    plan.variables.push_back(std::move(planned));
  }

  if (order_entry == nullptr && !brings_pci_order) return;
  PlannedVariable order{device_order.info.name, now.order, order_entry != nullptr ? order_entry->text : "PCI_BUS_ID",
                        Outcome::applied};
  order.set_by_this_process = set_by_this_process(start, order);
  bool const override = (order_entry != nullptr && order_entry->precedence == Precedence::override) ||
                        (brings_pci_order && list_entry->precedence == Precedence::override);
  if (order.wanted == now.order) {
    order.outcome = Outcome::already_set;
  } else if (now.order && !override) {
    order.outcome = Outcome::kept;
    if (brings_pci_order && !same_devices({then.visible, now.order}, {then.visible, order.wanted}, machine)) {
      plan.findings.push_back({Severity::error, "device_order.contradicts_list", "CUDA_DEVICE_ORDER", *now.order,
                               Diagnostic::no_offset,
                               "the environment sets this order, and with it the physical indices " + *then.visible +
                                   " can select other GPUs",
                               "indices are counted in this order", "override the order, or choose the GPUs by UUID"});
    }
  } else if (list_is_kept && !same_devices({then.visible, now.order}, {then.visible, order.wanted}, machine)) {
    // A new order would change which GPUs the environment's own list means.
    order.outcome = Outcome::kept;
    plan.findings.push_back({override ? Severity::error : Severity::warning, "device_order.under_kept_list",
                             "CUDA_DEVICE_ORDER", *order.wanted, Diagnostic::no_offset,
                             "the order is not changed: CUDA_VISIBLE_DEVICES=" + *then.visible +
                                 " is the environment's and could mean other GPUs then",
                             "indices are counted in the order", "override both, or choose the GPUs by UUID"});
  }
  plan.variables.push_back(std::move(order));
}

/// A list that a setting puts in force must be had in full: where the machine is known, an entry that the driver would
/// drop is an error now.
inline void refuse_what_cannot_be_had(Settings const& settings, Environment const& environment, Machine const& machine,
                                      Plan& plan) {
  if (has_error(plan.findings)) return;
  DeviceTexts then = device_texts(environment);
  bool chosen = false;
  for (PlannedVariable const& variable : plan.variables) {
    if (variable.name == visible_devices.info.name) then.visible = variable.result();
    if (variable.name == device_order.info.name) then.order = variable.result();
    chosen = chosen || (variable.name == visible_devices.info.name && variable.outcome == Outcome::applied);
  }
  auto const devices = settings.get(visible_devices);
  // With no GPU at all the list is not what is wrong.
  if (!chosen || !then.visible || machine.gpus.empty() || devices->kind() == VisibleDevices::Kind::none) return;
  Visibility const visibility = resolve_visibility(then.views(), machine);
  if (!visibility.known || (visibility.dropped.empty() && visibility.cu_init == 0)) return;
  for (Diagnostic& finding : explain(visibility, then.views(), machine)) {
    if (finding.severity == Severity::warning) finding.severity = Severity::error;
    plan.findings.push_back(std::move(finding));
  }
}

}  // namespace detail

/// Decides on each setting, and looks at what the driver would make of the values that stay. The environment is read
/// and not changed. An unknown machine is allowed: then what would need it is refused, and nothing is guessed. Nothing
/// is thrown but bad_alloc. Thread-safe unless another thread writes the environment.
[[nodiscard]] CUENV_COLD inline Plan make_plan(Settings const& settings, Environment const& environment,
                                               Machine const& machine) {
  Plan plan;
  plan.findings = settings.problems();
  if (has_error(plan.findings)) return plan;
  auto const start = settings.entries().empty() ? std::nullopt : environment.all_at_start();
  detail::plan_devices(settings, environment, start, machine, plan);
  detail::refuse_what_cannot_be_had(settings, environment, machine, plan);
  for (Settings::Entry const& entry : settings.entries()) {
    std::string_view const name = entry.variable->info->name;
    if (name == visible_devices.info.name || name == device_order.info.name) continue;
    PlannedVariable planned{name, environment.get(std::string{name}), entry.text, Outcome::applied};
    planned.set_by_this_process = detail::set_by_this_process(start, planned);
    if (planned.found == planned.wanted) {
      planned.outcome = Outcome::already_set;
    } else if (planned.found && entry.precedence == Precedence::keep) {
      planned.outcome = Outcome::kept;
    }
    plan.variables.push_back(std::move(planned));
  }
  // Values of the environment that stay and do not mean what they seem to, or that cost more than one may remember.
  for (VariableRow const& row : settable_variables) {
    auto const found = environment.get(std::string{row.info->name});
    if (!found || row.effect == nullptr) continue;
    bool replaced = false;
    bool asked_for = false;
    for (PlannedVariable const& planned : plan.variables) {
      if (planned.name != row.info->name) continue;
      replaced = planned.outcome == Outcome::applied;
      asked_for = planned.outcome == Outcome::already_set;
    }
    if (replaced) continue;
    Effect const effect = row.effect(*found);
    if (!effect.problem.empty()) {
      plan.findings.push_back({Severity::warning, "environment.misread", std::string{row.info->name}, *found,
                               Diagnostic::no_offset, effect.problem, "it counts as " + effect.value, effect.fix});
    }
    if (asked_for) continue;  // the program's own choice needs no reminder
    if (auto note = check_slow_switch(row.info->name, *found)) plan.findings.push_back(std::move(*note));
  }
  return plan;
}

CUENV_NAMESPACE_END

#endif  // CUENV_PLAN_HPP
