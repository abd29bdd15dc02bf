#include "child_process.hpp"
#include "commands.hpp"
#include "generated_lists.hpp"
#include "machine.hpp"
#include "output.hpp"
#include "table.hpp"

#include <measured_values.hpp>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace tool {

namespace {

using cuenv::Machine;
using cuenv::detail::printable;

/// One process to start, and what is expected of it: by cuenv's rules, and by the table where that holds here. An
/// answer is words: "cuInit 0, GPUs 1 0", "on", "lazy"; "-" is a GPU that cannot be known beforehand.
struct Case {
  std::string variable;
  std::string value;
  std::string expected;
  std::string measured;  // empty: the table does not speak of this machine
  std::string seen;
  std::optional<std::string> order = {};  // of CUDA_VISIBLE_DEVICES; none: CUDA_DEVICE_ORDER is not set
  std::string made_up = {};               // of a generated list: what --save writes in place of the value
};

std::string devices_outcome(int cu_init, std::vector<std::string> const& physical) {
  std::string text = "cuInit " + std::to_string(cu_init);
  if (cu_init != 0) return text;
  text += ", GPUs";
  for (std::string const& index : physical) text += " " + index;
  return text;
}

std::string predicted(cuenv::VisibilityVariables const& variables, Machine const& machine) {
  auto const visibility = cuenv::resolve_visibility(variables, machine);
  std::vector<std::string> physical;
  for (auto const& device : visibility.devices) {
    physical.push_back(device.physical ? std::to_string(device.physical->value) : "-");
  }
  return devices_outcome(visibility.order_is_invalid ? 101 : visibility.cu_init, physical);
}

/// The table's outcome, where it must hold on this machine: as many GPUs, all alike, and each entry alone means here
/// what it meant there (UUIDs of other GPUs can begin alike, or with a digit).
std::string measured(MeasuredValue const& row, std::string const& value, Machine const& there, Machine const& here) {
  if (here.reachable_gpus() != there.gpus.size() || !here.gpus_are_alike()) return {};
  std::string_view rest_there = row.value;
  std::string_view rest_here = value;
  while (!rest_there.empty() || !rest_here.empty()) {
    std::string_view const entry_there = cuenv::detail::take_until(rest_there, ',');
    std::string_view const entry_here = cuenv::detail::take_until(rest_here, ',');
    if (predicted({entry_there, row.order}, there) != predicted({entry_here, row.order}, here)) return {};
  }
  std::vector<std::string> physical;
  for (int index : row.physical) physical.push_back(std::to_string(index));
  return devices_outcome(row.cu_init, physical);
}

constexpr std::string_view orders[] = {"PCI_BUS_ID", "FASTEST_FIRST", "pci_bus_id", " PCI_BUS_ID", "foo", ""};
constexpr std::string_view loading_modes[] = {"EAGER", "eager", "Eager",  "LAZY",   "DEFAULT",
                                              "",      "foo",   "EAGER ", " EAGER", "EAGERx"};
constexpr std::string_view switches[] = {
    "1", "01", " 1",   "\t1",  "1 ",  "+1", "1x", "1.9", "1,0", "4294967297", "-4294967295",         "0", "2",
    "3", "-1", "true", "TRUE", "yes", "on", "Y",  "a",   "0x1", "",           "18446744073709551617"};

std::vector<Case> cases_for(MeasuredTable const& table, Machine const& machine) {
  Machine there;
  there.source = cuenv::MachineSource::described;
  there.gpus = table.gpus;
  std::vector<Case> cases;
  for (MeasuredValue const& row : table.values) {
    std::string const value = with_uuids_of(row.value, table.gpus, machine.gpus);
    cases.push_back({"CUDA_VISIBLE_DEVICES", value, predicted({value, row.order}, machine),
                     measured(row, value, there, machine), "", row.order});
  }
  for (std::string_view order : orders) {
    cases.push_back({"CUDA_DEVICE_ORDER", std::string{order}, predicted({std::nullopt, order}, machine), "", ""});
  }
  for (std::string_view mode : loading_modes) {
    cases.push_back({"CUDA_MODULE_LOADING", std::string{mode}, cuenv::module_loading.effect(mode).value, "", ""});
  }
  for (std::string_view text : switches) {
    cases.push_back({"CUDA_DISABLE_PTX_JIT", std::string{text}, cuenv::disable_ptx_jit.effect(text).value, "", ""});
  }
  return cases;
}

std::vector<Case> generated_cases(Machine const& machine, std::size_t count, std::uint64_t seed) {
  std::vector<Case> cases;
  for (GeneratedList const& list : generated_lists(machine, count, seed)) {
    cases.push_back({"CUDA_VISIBLE_DEVICES", list.value, predicted({list.value, list.order}, machine), "", "",
                     list.order, list.made_up});
  }
  return cases;
}

/// The answer of a process with the variables set; null where it gave none.
Json probed(std::vector<cuenv::Assignment> const& changes, bool jit) {
  std::vector<cuenv::Assignment> all;
  for (char const* name : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_MODULE_LOADING", "CUDA_DISABLE_PTX_JIT",
                           "CUDA_DISABLE_JIT", "CUDA_FORCE_PTX_JIT", "CUDA_FORCE_JIT"}) {
    all.push_back({name, std::nullopt});
  }
  all.push_back({"CUDA_CACHE_DISABLE", "1"});  // the user's cache is left alone
  all.insert(all.end(), changes.begin(), changes.end());
  std::vector<std::string> arguments{"probe"};
  if (jit) arguments.emplace_back("--jit");
  return Json::parse(output_of_self(arguments, all), nullptr, false);
}

/// What the process saw of the variable.
std::string seen(std::string const& variable, Json const& answer, Machine const& machine) {
  if (!answer.is_object()) return "the process died";
  if (!answer["cuInit"].is_number_integer()) return "no driver";
  int const code = answer["cuInit"].get<int>();
  if (code == 0 && variable == "CUDA_MODULE_LOADING") {
    return answer["module_loading"].is_string() ? answer["module_loading"].get<std::string>() : "not known";
  }
  if (code == 0 && variable == "CUDA_DISABLE_PTX_JIT") {
    int const jit = answer["jit"].get<int>();
    return jit == 0 ? "off" : jit == CUDA_ERROR_JIT_COMPILATION_DISABLED ? "on" : "result " + std::to_string(jit);
  }
  std::vector<std::string> physical;
  for (Json const& device : answer["devices"]) {
    std::string const uuid = device["uuid"].get<std::string>();
    std::string found = uuid;
    for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
      if (machine.gpus[i].uuid && uuid == "GPU-" + to_string(*machine.gpus[i].uuid)) found = std::to_string(i);
    }
    physical.push_back(found);
  }
  return devices_outcome(code, physical);
}

/// Equal, or different only in what is not known beforehand.
bool agrees(std::string const& expected, std::string const& seen) {
  std::string_view a = expected;
  std::string_view b = seen;
  while (!a.empty() || !b.empty()) {
    std::string_view const one = cuenv::detail::take_until(a, ' ');
    std::string_view const other = cuenv::detail::take_until(b, ' ');
    if (one != other && (one != "-" || other.empty())) return false;
  }
  return true;
}

void run_all(std::vector<Case>& cases, Machine const& machine, unsigned jobs) {
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < jobs; ++i) {
    workers.emplace_back([&] {
      for (std::size_t at = next++; at < cases.size(); at = next++) {
        Case& one = cases[at];
        std::vector<cuenv::Assignment> changes{{one.variable, one.value}};
        if (one.order) changes.push_back({"CUDA_DEVICE_ORDER", one.order});
        one.seen = seen(one.variable, probed(changes, one.variable == "CUDA_DISABLE_PTX_JIT"), machine);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

Json difference_json(Case const& one, std::string const& against, std::string const& expected) {
  Json json;
  json["variable"] = one.variable;
  cuenv::put_text(json, "value", std::string_view{one.value});
  if (one.order) cuenv::put_text(json, "order", std::string_view{*one.order});
  json["against"] = against;
  json["expected"] = expected;
  json["seen"] = one.seen;
  return json;
}

Json report_json(std::vector<Case> const& cases, Machine const& machine, Json const& first) {
  Json document;
  document["schema"] = cuenv::json_schema;
  document["cuenv"] = version();
  cuenv::put_text(document, "driver", std::string_view{machine.driver_version});
  int const cuda = first["cuda"].get<int>();
  document["cuda"] = std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
  document["simulated"] = first["simulated"];
  document["gpus"] = Json::array();
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    Json gpu = cuenv::visible_device_json<Json>(i, {cuenv::physical(static_cast<int>(i)), std::nullopt}, machine);
    gpu.erase("logical");
    gpu["mig"] = machine.gpus[i].mig_enabled;
    document["gpus"].push_back(std::move(gpu));
  }
  document["values"] = cases.size();
  document["compared_with_table"] =
      std::count_if(cases.begin(), cases.end(), [](Case const& one) { return !one.measured.empty(); });
  document["differences"] = Json::array();
  for (Case const& one : cases) {
    if (!agrees(one.expected, one.seen)) document["differences"].push_back(difference_json(one, "cuenv", one.expected));
    if (!one.measured.empty() && one.measured != one.seen) {
      document["differences"].push_back(difference_json(one, "table", one.measured));
    }
  }
  return document;
}

std::string report_text(Json const& document) {
  auto const text_at = [](Json const& object, char const* key) {
    return printable(object[key].is_string() ? object[key].get<std::string>() : "unknown");
  };
  std::string text;
  std::string const simulated = document["simulated"] == true ? " (SIMULATED)" : "";
  text += labelled("driver", text_at(document, "driver") + ", CUDA " + text_at(document, "cuda") + simulated);
  for (Json const& gpu : document["gpus"]) {
    text +=
        labelled("GPU " + gpu["physical"].dump(), text_at(gpu, "name") + ", " + text_at(gpu, "compute_capability") +
                                                      ", " + text_at(gpu, "pci") + (gpu["mig"] == true ? ", MIG" : ""));
  }
  text += labelled("values", document["values"].dump() + ", a process each; " +
                                 (document.contains("seed")
                                      ? "generated from seed " + document["seed"].dump()
                                      : document["compared_with_table"].dump() + " also compared with the table"));
  text += labelled("differ", document["differences"].empty() ? "none" : std::to_string(document["differences"].size()));
  for (Json const& difference : document["differences"]) {
    text += "\n" + text_at(difference, "variable") + "='" + text_at(difference, "value") + "'";
    if (difference.contains("order")) text += " CUDA_DEVICE_ORDER='" + text_at(difference, "order") + "'";
    text += "\n";
    text += labelled("expected", text_at(difference, "expected") + " (" + text_at(difference, "against") + ")");
    text += labelled("seen", text_at(difference, "seen"));
  }
  return "cuenv " + text_at(document, "cuenv") + " verify\n" + text;
}

/// The row that --save writes: what the driver made of a generated list; nothing where it gave no devices by index.
std::optional<MeasuredValue> measured_row(Case const& one) {
  MeasuredValue row{one.made_up, 0, {}, one.order};
  std::string_view text = one.seen;  // "cuInit 0, GPUs 1 0"
  if (cuenv::detail::take_until(text, ' ') != "cuInit") return std::nullopt;
  auto const code = cuenv::detail::parse_decimal(cuenv::detail::take_until(text, ','), 9999);
  if (!code) return std::nullopt;
  row.cu_init = static_cast<int>(*code);
  if (cuenv::detail::starts_with(text, " GPUs ")) text.remove_prefix(6);
  while (!text.empty()) {
    auto const index = cuenv::detail::parse_decimal(cuenv::detail::take_until(text, ' '), 999);
    if (!index) return std::nullopt;
    row.physical.push_back(static_cast<int>(*index));
  }
  return row;
}

/// Returns how many lists were left out, since they had no outcome to write.
std::size_t save(VerifyOptions const& options, std::vector<Case> const& cases, Machine const& machine,
                 Json const& document) {
  bool const simulated = document["simulated"] == true;
  std::string const command =
      "cuenv verify --generated " + std::to_string(options.generated) + " --seed " + std::to_string(options.seed);
  std::string text =
      std::string{simulated ? "# SIMULATED: no real driver was asked, and nothing here is measured.\n" : ""} +
      "# Generated values of CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, and what " +
      (simulated ? "the simulated" : "a real") + " driver made of them: " + command + ".\n# Driver " +
      machine.driver_version + ", CUDA " + document["cuda"].get<std::string>() + ", " +
      std::to_string(machine.gpus.size()) + " x " + printable(machine.gpus.front().name) +
      ", MIG off.\n"
      "# One fresh process per list. The outcomes are the driver's; the UUIDs are made up, and share as many first\n"
      "# characters as the machine's own:\n";
  Machine const made_up = with_made_up_uuids(machine);
  for (std::size_t gpu = 0; gpu < made_up.gpus.size(); ++gpu) text += table_gpu(gpu, made_up.gpus[gpu]);
  text +=
      "# Columns, separated by a tab: the value in quotes (escapes: \\\" \\\\ \\t \\n \\r, and \\xHH for any other "
      "byte);\n"
      "# the result of cuInit; the GPUs behind the logical devices, in their order (\"-\": none); CUDA_DEVICE_ORDER "
      "in\n"
      "# quotes, where it is set.\n";
  std::size_t left_out = 0;
  for (Case const& one : cases) {
    auto const row = measured_row(one);
    if (row) text += table_row(*row);
    left_out += row ? 0U : 1U;
  }
  std::ofstream file{options.save, std::ios::binary};
  file << text;
  if (!file.flush()) throw std::runtime_error{options.save + ": it cannot be written"};
  return left_out;
}

/// Why lists cannot be generated for the machine, or saved; empty where they can.
std::string no_generated_lists(VerifyOptions const& options, Machine const& machine) {
  for (cuenv::Gpu const& gpu : machine.gpus) {
    if (!gpu.uuid) return "the UUID of every GPU must be known for generated lists";
    if (gpu.mig_enabled) return "MIG must be off for generated lists";
  }
  if (!options.save.empty() && !machine.gpus_are_alike()) {
    return "what unlike GPUs give is not saved: a table says nothing of their speed";
  }
  if (!options.save.empty() && (machine.reachable_gpus() != machine.gpus.size() || !machine.doubt.empty())) {
    return "what an MPS client gets is not saved: a table says nothing of the daemon";
  }
  return {};
}

}  // namespace

int verify(VerifyOptions const& options) {
  bool const generated = options.generated != 0;
  std::string const file = options.data.empty() ? "the built-in table" : options.data;
  MeasuredTable const table =
      parse_table(options.data.empty() ? std::string{measured_values} : read_file(options.data), file);
  Machine const machine = machine_here();
  Json const first = probed({}, false);
  if (machine.gpus.empty() || !first.is_object() || first["cuInit"] != 0) {
    std::string const reason = !first.is_object()        ? "the first process died"
                               : first.contains("error") ? first["error"].get<std::string>()
                               : first["cuInit"] != 0    ? "cuInit gives " + first["cuInit"].dump()
                                                         : "the GPUs of this machine are not known";
    Json document{{"schema", cuenv::json_schema}};
    cuenv::put_text(document, "error", std::string_view{reason});
    if (options.json) std::cout << text_of(document);
    std::cerr << "cuenv: there is no driver to compare with: " << printable(reason) << '\n';
    return problems;
  }
  if (std::string const reason = no_generated_lists(options, machine); generated && !reason.empty()) {
    throw std::runtime_error{reason};
  }
  std::vector<Case> cases =
      generated ? generated_cases(machine, options.generated, options.seed) : cases_for(table, machine);
  unsigned const cores = std::thread::hardware_concurrency();
  run_all(cases, machine, options.jobs != 0 ? options.jobs : std::clamp(cores, 1U, 8U));
  Json document = report_json(cases, machine, first);
  if (generated) document["seed"] = options.seed;
  if (!options.save.empty()) {
    std::size_t const left_out = save(options, cases, machine, document);
    if (left_out > 0)
      std::cerr << "cuenv: " << options.save << ": " << left_out << " lists without an answer left out\n";
  }
  std::cout << (options.json ? text_of(document) : report_text(document));
  return document["differences"].empty() ? fine : problems;
}

}  // namespace tool
