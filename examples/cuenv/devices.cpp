#include "commands.hpp"
#include "machine.hpp"
#include "output.hpp"

#include <iostream>
#include <utility>

namespace tool {

namespace {

using cuenv::detail::printable;

std::string cell(Json const& value) {
  if (value.is_null()) return "-";
  return value.is_string() ? printable(value.get<std::string>()) : value.dump();
}

/// The JSON document as text for people.
std::string devices_text(Json const& document, cuenv::VisibilityVariables const& variables,
                         cuenv::Diagnostics const& findings) {
  auto const set = [](std::optional<std::string_view> const& text) {
    return text ? "'" + printable(*text) + "'" : std::string{"not set"};
  };
  std::string text = aligned({{"CUDA_VISIBLE_DEVICES", set(variables.visible)},
                              {"CUDA_DEVICE_ORDER", set(variables.order)},
                              {"machine from", cell(document["source"])}});
  text += "cuInit                " +
          (document["cuInit"].is_null() ? std::string{"not known"}
                                        : cuenv::describe_result(document["cuInit"].get<int>())) +
          "\n";
  if (!document["devices"].empty()) {
    std::vector<std::vector<std::string>> rows{{"logical", "physical", "cc", "pci", "name"}};
    for (Json const& device : document["devices"]) {
      std::string name = cell(device["name"]);
      if (device["mig"].is_object()) name += " MIG " + cell(device["mig"]["profile"]);
      rows.push_back({cell(device["logical"]), cell(device["physical"]), cell(device["compute_capability"]),
                      cell(device["pci"]), std::move(name)});
    }
    std::string const table = aligned(rows);
    std::string_view lines = table;
    std::string_view const heading = cuenv::detail::take_until(lines, '\n');
    text += "\n" + std::string{heading} + "\n";
    for (Json const& device : document["devices"]) {  // each UUID has a line of its own
      text += std::string{cuenv::detail::take_until(lines, '\n')} + "\n";
      text += std::string(heading.find("pci"), ' ') + cell(device["uuid"]) + "\n";
    }
  }
  if (!findings.empty()) text += "\n";
  for (cuenv::Diagnostic const& finding : findings) text += labelled(finding, Subject::named);
  return text;
}

struct Answer {
  Json document;
  cuenv::Diagnostics findings;
};

Answer predicted(cuenv::VisibilityVariables const& variables, cuenv::Machine const& machine) {
  auto const visibility = cuenv::resolve_visibility(variables, machine);
  Answer answer{cuenv::visibility_json<Json>(visibility, variables, machine),
                cuenv::explain(visibility, variables, machine)};
  if (!visibility.known && !visibility.order_is_invalid) {
    answer.findings.push_back({cuenv::Severity::error, "machine.unknown", "machine", "", cuenv::Diagnostic::no_offset,
                               std::string{visibility.reason_unknown}, "",
                               "is the NVIDIA driver installed here? Ask it with --init"});
  }
  return answer;
}

/// Starts CUDA in this process. What the driver lists counts; what it drops is known from the prediction.
Answer asked(cuenv::VisibilityVariables const& variables) {
  cuenv::Session const session{{}, cuenv::absent_ok | cuenv::ask_nvml};
  std::string const& root = session.report().simulated_root;
  cuenv::Machine const machine = root.empty() ? machine_here() : cuenv::read_machine(root);
  Answer answer = predicted(variables, machine);
  answer.findings = session.report().findings;
  answer.document["source"] = "driver";
  answer.document["cuInit"] = 0;
  answer.document["reason_unknown"] = nullptr;
  answer.document["evidence"] = to_string(cuenv::Evidence::measured);
  Json devices = Json::array();
  for (cuenv::Device const& device : session.devices()) {
    Json json = device;
    for (cuenv::Gpu const& gpu : machine.gpus) {
      for (cuenv::MigInstance const& instance : gpu.mig) {
        if (device.is_mig && instance.uuid == device.uuid) json["mig"] = cuenv::detail::mig_json<Json>(instance);
      }
    }
    devices.push_back(std::move(json));
  }
  answer.document["devices"] = std::move(devices);
  if (auto const* const absence = session.absence()) {
    bool const answered = absence->code() != cuenv::DriverError::no_driver;
    answer.document["cuInit"] = answered ? Json(absence->code()) : Json(nullptr);
    if (!answered) {
      answer.document["evidence"] = nullptr;
      answer.document["reason_unknown"] = "CUDA was not started: there is no driver";
    }
    append(answer.findings, absence->diagnostics());
  }
  return answer;
}

}  // namespace

int devices(DevicesOptions const& options) {
  if (options.visible && options.init) {
    cuenv::apply_assignments(cuenv::process_environment, {{"CUDA_VISIBLE_DEVICES", options.visible}});
  }
  auto texts = cuenv::detail::device_texts(cuenv::process_environment);
  if (options.visible) texts.visible = options.visible;
  cuenv::VisibilityVariables const variables = texts.views();
  cuenv::Machine machine;
  if (!options.topology.empty()) {
    machine = parse_topology(read_file(options.topology), options.topology);
  } else if (!options.init) {
    machine = machine_here();
  }
  Answer answer = options.init ? asked(variables) : predicted(variables, machine);
  answer.document["findings"] = cuenv::detail::array_of<Json>(answer.findings);
  std::cout << (options.json ? text_of(answer.document) : devices_text(answer.document, variables, answer.findings));
  return has_problem(answer.findings) || answer.document["cuInit"] != 0 ? problems : fine;
}

}  // namespace tool
