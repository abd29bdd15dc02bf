#include "child.hpp"

#include "machine.hpp"
#include "output.hpp"

#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace tool {

namespace {

/// Logical indices choose among what the environment shows; everything else that is typed replaces it.
void choose(cuenv::Settings& settings, std::string const& name, std::string const& text) {
  bool const relative = name == cuenv::visible_devices.info.name && text.find("logical:") != std::string::npos;
  settings.set_text(name, text, relative ? cuenv::Precedence::refine : cuenv::Precedence::override);
}

/// Where programs are looked for while PATH is not set: to set it must not hide them.
std::string default_path() {
  std::string path(::confstr(_CS_PATH, nullptr, 0), '\0');
  (void)::confstr(_CS_PATH, path.data(), path.size());
  while (!path.empty() && path.back() == '\0') path.pop_back();
  return path;
}

/// The folders of a toolkit: programs, and libraries where they are. The same folder under two names counts once.
struct Toolkit {
  std::string root;
  std::vector<std::string> libraries;
};

Toolkit find_toolkit(std::string const& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  Toolkit toolkit;
  toolkit.root = fs::absolute(folder, error).lexically_normal().string();
  while (toolkit.root.size() > 1 && toolkit.root.back() == '/') toolkit.root.pop_back();
  if (!fs::is_directory(toolkit.root + "/bin", error)) {
    throw std::runtime_error{"--toolkit " + folder + ": it has no folder bin, so it is no CUDA toolkit"};
  }
  if (toolkit.root.find(':') != std::string::npos) {
    throw std::runtime_error{"--toolkit " + folder + ": PATH cannot hold a folder with a colon in its name"};
  }
  for (char const* name : {"/lib64", "/targets/x86_64-linux/lib", "/targets/sbsa-linux/lib"}) {
    std::string const library = toolkit.root + name;
    bool known = !fs::is_directory(library, error);
    for (std::string const& earlier : toolkit.libraries) known = known || fs::equivalent(library, earlier, error);
    if (!known) toolkit.libraries.push_back(library);
  }
  return toolkit;
}

}  // namespace

std::string with_folders_first(std::vector<std::string> const& folders, std::optional<std::string> const& list) {
  std::string text;
  for (std::string const& folder : folders) text += (text.empty() ? "" : ":") + folder;
  if (!list || list->empty()) return text;
  std::string_view rest = *list;
  for (bool more = true; more;) {
    more = rest.find(':') != std::string_view::npos;
    std::string_view const entry = cuenv::detail::take_until(rest, ':');
    bool repeated = false;
    for (std::string const& folder : folders) repeated = repeated || entry == folder;
    if (!repeated) text += ":" + std::string{entry};
  }
  return text;
}

cuenv::Settings settings_of(ChildOptions const& options) {
  cuenv::Settings settings;
  if (!options.settings_file.empty()) {
    auto const from_file = cuenv::parse_settings(read_file(options.settings_file), cuenv::Precedence::override);
    for (auto const& entry : from_file.entries()) {
      choose(settings, std::string{entry.variable->info->name}, entry.text);
    }
    for (cuenv::Diagnostic problem : from_file.problems()) {
      problem.subject = options.settings_file + ": " + problem.subject;
      settings.add_problem(std::move(problem));
    }
  }
  for (std::string const& text : options.assignments) {
    cuenv::Assignment const assignment = parse_assignment(text);
    if (options.visible && assignment.name == cuenv::visible_devices.info.name) {
      throw std::runtime_error{"give CUDA_VISIBLE_DEVICES or --visible, not both"};
    }
    choose(settings, assignment.name, *assignment.text);
  }
  if (options.visible) choose(settings, std::string{cuenv::visible_devices.info.name}, *options.visible);
  return settings;
}

Child plan_child(ChildOptions const& options, cuenv::Environment const& environment, cuenv::Machine const& machine) {
  Child child;
  cuenv::Settings settings = settings_of(options);
  if (options.per_rank) {
    if (settings.get(cuenv::visible_devices)) {
      throw std::runtime_error{"give --per-rank or a list of devices, not both"};
    }
    settings = cuenv::settings_for_rank(cuenv::find_local_rank(environment), *options.per_rank, environment, machine,
                                        std::move(settings));
  }
  cuenv::Plan plan = cuenv::make_plan(settings, environment, machine);
  child.findings = std::move(plan.findings);
  for (cuenv::PlannedVariable const& variable : plan.variables) {
    child.variables.push_back({std::string{variable.name}, variable.result()});
  }
  // What the driver will make of the devices. A list that was asked for must be had; one that was found is a warning.
  if (!has_error(child.findings)) {
    cuenv::detail::DeviceTexts texts = cuenv::detail::device_texts(environment);
    for (cuenv::Assignment const& variable : child.variables) {
      if (variable.name == cuenv::visible_devices.info.name) texts.visible = variable.text;
      if (variable.name == cuenv::device_order.info.name) texts.order = variable.text;
    }
    auto const visibility = cuenv::resolve_visibility(texts.views(), machine);
    bool const asked = settings.get(cuenv::visible_devices).has_value();
    for (cuenv::Diagnostic& finding : cuenv::explain(visibility, texts.views(), machine)) {
      bool const note = finding.severity == cuenv::Severity::note;
      // What is wrong with the order is among the plan's findings.
      if (!note && finding.subject == cuenv::device_order.info.name) continue;
      if (finding.code == "visible_devices.none") continue;
      bool const dropped = !visibility.dropped.empty() || visibility.error.has_value();
      bool const refuse = asked && dropped && !note;
      finding.severity = refuse                                       ? cuenv::Severity::error
                         : finding.severity == cuenv::Severity::error ? cuenv::Severity::warning
                                                                      : finding.severity;
      child.findings.push_back(std::move(finding));
    }
  }
  if (!options.toolkit.empty()) {
    Toolkit const toolkit = find_toolkit(options.toolkit);
    auto path = environment.get("PATH");
    if (!path) path = default_path();
    child.variables.push_back({"PATH", with_folders_first({toolkit.root + "/bin"}, path)});
    if (!toolkit.libraries.empty()) {
      child.variables.push_back(
          {"LD_LIBRARY_PATH", with_folders_first(toolkit.libraries, environment.get("LD_LIBRARY_PATH"))});
    }
    child.variables.push_back({"CUDA_HOME", toolkit.root});
    child.variables.push_back({"CUDA_PATH", toolkit.root});
  }
  return child;
}

}  // namespace tool
