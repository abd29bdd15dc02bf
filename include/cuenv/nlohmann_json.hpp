#ifndef CUENV_NLOHMANN_JSON_HPP
#define CUENV_NLOHMANN_JSON_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/device_map.hpp>
#include <cuenv/diagnosis/rung.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/environment.hpp>
#include <cuenv/explain.hpp>
#include <cuenv/explain_visibility.hpp>
#include <cuenv/gpu.hpp>
#include <cuenv/image.hpp>
#include <cuenv/load.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/plan.hpp>
#include <cuenv/report.hpp>
#include <cuenv/variable.hpp>
#include <cuenv/variables.hpp>
#include <cuenv/verdict.hpp>
#include <cuenv/verdict_text.hpp>
#include <cuenv/version.hpp>
#include <cuenv/visibility.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// For programs that have nlohmann/json: `nlohmann::json(session.report())` and the like. What is not known is null.
// Texts that are not UTF-8 have U+FFFD for each byte that does not fit, and beside them "<name>_hex" with all bytes.

CUENV_NAMESPACE_BEGIN

/// The version of every form in this header. It changes when a member is removed or changes its meaning.
inline constexpr int json_schema = 1;

/// Puts a text of any bytes into an object, under `key`; where it is not UTF-8 the bytes in hex go under `key`_hex.
template <class Json>
void put_text(Json& object, std::string const& key, std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string shown;
  bool replaced = false;
  for (std::string_view rest = text; !rest.empty();) {
    std::size_t const length = detail::utf8_length(rest);
    shown += length == 0 ? std::string_view{"\xef\xbf\xbd"} : rest.substr(0, length);
    rest.remove_prefix(length == 0 ? 1 : length);
    replaced = replaced || length == 0;
  }
  object[key] = std::move(shown);
  if (!replaced) return;
  std::string hex;
  for (char c : text) {
    auto const byte = static_cast<unsigned char>(c);
    hex += digits[byte >> 4];
    hex += digits[byte & 15];
  }
  object[key + "_hex"] = std::move(hex);
}

/// The same; nothing becomes null.
template <class Json>
void put_text(Json& object, std::string const& key, std::optional<std::string> const& text) {
  if (text) {
    put_text(object, key, std::string_view{*text});
  } else {
    object[key] = nullptr;
  }
}

namespace detail {

/// Null for a text that is empty because nothing is established.
template <class Json>
[[nodiscard]] Json text_or_null(std::string_view text) {
  return text.empty() ? Json(nullptr) : Json(std::string{text});
}

template <class Json>
[[nodiscard]] Json evidence_json(std::optional<Evidence> evidence) {
  return evidence ? Json(std::string{to_string(*evidence)}) : Json(nullptr);
}

template <class Json>
[[nodiscard]] Json array_of(Diagnostics const& findings) {
  Json list = Json::array();
  for (Diagnostic const& finding : findings) list.push_back(Json(finding));
  return list;
}

template <class Json>
[[nodiscard]] Json mig_json(MigInstance const& instance) {
  Json json = Json::object();
  json["gpu_instance"] = instance.gpu_instance;
  json["compute_instance"] = instance.compute_instance;
  json["profile"] = text_or_null<Json>(instance.profile);
  return json;
}

}  // namespace detail

/// What nlohmann/json looks for when it is given a value of cuenv: each makes an object with the members of the struct.
/// Here and below nothing is thrown but bad_alloc, whatever bytes are in the texts.
template <class Json>
void to_json(Json& json, Diagnostic const& finding) {
  json = Json::object();
  json["severity"] = std::string{to_string(finding.severity)};
  json["code"] = std::string{finding.code};
  put_text(json, "subject", std::string_view{finding.subject});
  put_text(json, "value", std::string_view{finding.value});
  json["offset"] = finding.offset == Diagnostic::no_offset ? Json(nullptr) : Json(finding.offset);
  put_text(json, "what", std::string_view{finding.what});
  put_text(json, "driver", std::string_view{finding.driver});
  put_text(json, "fix", std::string_view{finding.fix});
}

/// "facts" are of "name" and "value", "unknown" of "reason"; each may have a _hex beside it.
template <class Json>
void to_json(Json& json, RungReport const& report) {
  json = Json::object();
  json["rung"] = std::string{to_string(report.rung)};
  json["health"] = std::string{to_string(report.health())};
  json["facts"] = Json::array();
  for (Fact const& fact : report.facts) {
    Json row = Json::object();
    put_text(row, "name", std::string_view{fact.name});
    put_text(row, "value", std::string_view{fact.value});
    json["facts"].push_back(std::move(row));
  }
  json["findings"] = detail::array_of<Json>(report.findings);
  json["unknown"] = Json::array();
  for (std::string const& reason : report.unknown) {
    Json row = Json::object();
    put_text(row, "reason", std::string_view{reason});
    json["unknown"].push_back(std::move(row));
  }
}

/// "first_broken" is the name of that rung, or null.
template <class Json>
void to_json(Json& json, Diagnosis const& diagnosis) {
  json = Json::object();
  json["health"] = std::string{to_string(diagnosis.health())};
  json["first_broken"] = nullptr;
  if (RungReport const* const broken = diagnosis.first_broken()) {
    json["first_broken"] = std::string{to_string(broken->rung)};
  }
  json["rungs"] = Json::array();
  for (RungReport const& rung : diagnosis.rungs) json["rungs"].push_back(Json(rung));
}

/// "uuid" has its tag. "mig" is null for a whole GPU, and its members are null, since the driver does not tell them.
template <class Json>
void to_json(Json& json, Device const& device) {
  json = Json::object();
  json["logical"] = device.logical.value;
  json["physical"] = device.physical ? Json(device.physical->value) : Json(nullptr);
  json["uuid"] = (device.is_mig ? "MIG-" : "GPU-") + to_string(device.uuid);
  json["pci"] = to_string(device.pci);
  put_text(json, "name", std::string_view{device.name});
  json["compute_capability"] = to_string(device.compute_capability);
  json["mig"] = nullptr;
  if (device.is_mig) {
    json["mig"] = Json::object();
    for (char const* key : {"gpu_instance", "compute_instance", "profile"}) json["mig"][key] = nullptr;
  }
}

/// "reason" is the enumerator's name.
template <class Json>
void to_json(Json& json, DroppedEntry const& dropped) {
  json = Json::object();
  put_text(json, "entry", dropped.entry);
  json["offset"] = dropped.offset;
  json["reason"] = std::string{to_string(dropped.reason)};
}

/// "code" is what cuInit answers: 100 or 101.
template <class Json>
void to_json(Json& json, VoidEntry const& entry) {
  json = Json::object();
  put_text(json, "entry", entry.entry);
  json["offset"] = entry.offset;
  json["code"] = entry.code;
}

/// A whole GPU or a MIG instance as a machine describes it, at a place among the logical devices.
template <class Json>
[[nodiscard]] Json visible_device_json(std::size_t logical, VisibleDevice const& device, Machine const& machine) {
  Json json = Json::object();
  json["logical"] = logical;
  for (char const* key : {"physical", "uuid", "pci", "name", "compute_capability", "mig"}) json[key] = nullptr;
  if (!device.physical || static_cast<std::size_t>(device.physical->value) >= machine.gpus.size()) return json;
  Gpu const& gpu = machine.gpus[static_cast<std::size_t>(device.physical->value)];
  json["physical"] = device.physical->value;
  json["pci"] = to_string(gpu.pci);
  if (!gpu.name.empty()) put_text(json, "name", std::string_view{gpu.name});
  if (gpu.compute_capability) json["compute_capability"] = to_string(*gpu.compute_capability);
  if (device.mig && *device.mig < gpu.mig.size()) {
    MigInstance const& instance = gpu.mig[*device.mig];
    if (instance.uuid) json["uuid"] = "MIG-" + to_string(*instance.uuid);
    json["mig"] = detail::mig_json<Json>(instance);
  } else if (gpu.uuid) {
    json["uuid"] = "GPU-" + to_string(*gpu.uuid);
  }
  return json;
}

/// What the driver makes of the two variables on a machine, as one object. "order" is the order that holds, the default
/// where the variable is not set or too long; "cuInit" and "evidence" are null where the machine does not tell enough,
/// and "reason_unknown" says why, which is null elsewhere.
template <class Json>
[[nodiscard]] Json visibility_json(Visibility const& visibility, VisibilityVariables const& variables,
                                   Machine const& machine) {
  Json json = Json::object();
  json["schema"] = json_schema;
  json["visible"] = nullptr;
  if (variables.visible) put_text(json, "visible", *variables.visible);
  put_text(
      json, "order",
      visibility.order_is_ignored ? device_order.info.fallback : variables.order.value_or(device_order.info.fallback));
  json["order_is_invalid"] = visibility.order_is_invalid;
  json["order_is_ignored"] = visibility.order_is_ignored;
  json["list_is_ignored"] = visibility.list_is_ignored;
  json["source"] = std::string{to_string(machine.source)};
  bool const known = visibility.known || visibility.order_is_invalid;
  json["reason_unknown"] = known ? Json(nullptr) : Json(std::string{visibility.reason_unknown});
  json["cuInit"] = !known ? Json(nullptr) : Json(visibility.order_is_invalid ? 101 : visibility.cu_init);
  json["devices"] = Json::array();
  if (visibility.known) {
    for (std::size_t i = 0; i < visibility.devices.size(); ++i) {
      json["devices"].push_back(visible_device_json<Json>(i, visibility.devices[i], machine));
    }
  }
  json["dropped"] = Json::array();
  for (DroppedEntry const& dropped : visibility.dropped) json["dropped"].push_back(Json(dropped));
  json["error"] = visibility.error ? Json(*visibility.error) : Json(nullptr);
  json["evidence"] = detail::evidence_json<Json>(evidence_of(visibility));
  return json;
}

/// "default" is `fallback`; "since", "until" and "platform" are null where they are empty in the struct.
template <class Json>
void to_json(Json& json, VariableInfo const& info) {
  json = Json::object();
  json["name"] = std::string{info.name};
  json["accepted"] = std::string{info.accepted};
  json["default"] = std::string{info.fallback};
  json["read"] = std::string{to_string(info.read)};
  json["read_evidence"] = std::string{to_string(info.read_evidence)};
  json["since"] = detail::text_or_null<Json>(info.since);
  json["until"] = detail::text_or_null<Json>(info.until);
  json["platform"] = detail::text_or_null<Json>(info.platform);
  json["purpose"] = std::string{info.purpose};
  json["privileged"] = info.privilege != Privilege::none;
}

/// "about" is what is known of the variable: null for a name that cuenv does not know. "effective" is in words, which
/// say where it is not known what the driver makes of the text; then "evidence" is null.
template <class Json>
void to_json(Json& json, Explanation const& explanation) {
  json = Json::object();
  put_text(json, "name", std::string_view{explanation.name});
  put_text(json, "text", std::string_view{explanation.text});
  json["effective"] = nullptr;
  json["evidence"] = nullptr;
  json["fatal"] = false;
  if (explanation.effect) {
    put_text(json, "effective", std::string_view{explanation.effect->value});
    json["evidence"] = detail::evidence_json<Json>(explanation.effect->evidence);
    json["fatal"] = explanation.effect->fatal;
  }
  json["about"] = explanation.info != nullptr ? Json(*explanation.info) : Json(nullptr);
  json["findings"] = detail::array_of<Json>(explanation.findings);
}

namespace detail {

template <class Json>
[[nodiscard]] Json variable_json(std::string_view name, std::optional<std::string> const& found,
                                 std::optional<std::string> const& wanted, Outcome outcome) {
  Json json = Json::object();
  put_text(json, "name", name);
  put_text(json, "found", found);
  put_text(json, "wanted", wanted);
  json["outcome"] = std::string{to_string(outcome)};
  return json;
}

}  // namespace detail

/// "found" and "wanted" are null for a variable that is not set; "outcome" is in words.
template <class Json>
void to_json(Json& json, PlannedVariable const& variable) {
  json = detail::variable_json<Json>(variable.name, variable.found, variable.wanted, variable.outcome);
  json["set_by_this_process"] = variable.set_by_this_process;
}

/// The same, without "set_by_this_process".
template <class Json>
void to_json(Json& json, ReportedVariable const& variable) {
  json = detail::variable_json<Json>(variable.name, variable.found, variable.wanted, variable.outcome);
}

/// Its variables and findings.
template <class Json>
void to_json(Json& json, Plan const& plan) {
  json = Json::object();
  json["variables"] = Json::array();
  for (PlannedVariable const& variable : plan.variables) json["variables"].push_back(Json(variable));
  json["findings"] = detail::array_of<Json>(plan.findings);
}

/// "cuda" is a text, "13.0"; what is 0 or empty in the struct is null.
template <class Json>
void to_json(Json& json, Report const& report) {
  json = Json::object();
  json["variables"] = Json::array();
  for (ReportedVariable const& variable : report.variables) json["variables"].push_back(Json(variable));
  json["attached"] = report.attached;
  json["cuda"] = report.driver_cuda_version == 0 ? Json(nullptr)
                                                 : Json(std::to_string(report.driver_cuda_version / 1000) + "." +
                                                        std::to_string(report.driver_cuda_version % 1000 / 10));
  json["driver"] = detail::text_or_null<Json>(report.driver_version);
  json["driver_path"] = nullptr;
  if (!report.driver_path.empty()) put_text(json, "driver_path", std::string_view{report.driver_path});
  json["simulated_root"] = nullptr;
  if (!report.simulated_root.empty()) put_text(json, "simulated_root", std::string_view{report.simulated_root});
  json["absence"] = nullptr;
  if (!report.absence.empty()) put_text(json, "absence", std::string_view{report.absence});
  json["machine_source"] = std::string{to_string(report.machine_source)};
  json["findings"] = detail::array_of<Json>(report.findings);
}

/// "reason" is the enumerator's name; "target" is as nvcc spells it, "ptx" a version, and "damage" in words. Null is
/// what there is not.
template <class Json>
void to_json(Json& json, Verdict const& verdict) {
  bool const has_target = verdict.entry != Verdict::no_entry && verdict.target.sm != 0;
  json = Json::object();
  json["kind"] = std::string{to_string(verdict.kind)};
  json["reason"] = std::string{to_string(verdict.reason)};
  json["entry"] = verdict.entry == Verdict::no_entry ? Json(nullptr) : Json(verdict.entry);
  json["verified"] = verdict.verified;
  json["code"] = verdict.code ? Json(*verdict.code) : Json(nullptr);
  json["damage"] = verdict.damage == Damage::none ? Json(nullptr) : Json(std::string{to_string(verdict.damage)});
  json["image"] = verdict.entry == Verdict::no_entry ? Json(nullptr) : Json(std::string{to_string(verdict.image)});
  json["target"] = has_target ? Json(to_string(verdict.image, verdict.target)) : Json(nullptr);
  json["ptx"] = verdict.ptx == PtxVersion{} ? Json(nullptr) : Json(to_string(verdict.ptx));
}

/// "code" is what the driver answered; -1 where the image was kept from it and nobody can say what it would answer.
/// "function" is null unless one failed; "verdict" is what was to be expected.
template <class Json>
void to_json(Json& json, LoadResult const& result) {
  json = Json::object();
  json["logical"] = result.device.value;
  json["loads"] = result.loads();
  json["code"] = result.code;
  json["no_context"] = result.no_context;
  json["kept_from_driver"] = result.kept_from_driver;
  json["verdict"] = Json(result.verdict);
  json["function"] = nullptr;
  if (!result.function.empty()) put_text(json, "function", std::string_view{result.function});
  put_text(json, "log", std::string_view{result.log});
}

CUENV_NAMESPACE_END

#endif  // CUENV_NLOHMANN_JSON_HPP
