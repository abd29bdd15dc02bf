#ifndef CUENV_CHILD_ENVIRONMENT_HPP
#define CUENV_CHILD_ENVIRONMENT_HPP

#include <cuenv/detail/files.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/environment.hpp>
#include <cuenv/error.hpp>
#include <cuenv/explain_visibility.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/plan.hpp>
#include <cuenv/settings.hpp>
#include <cuenv/system.hpp>
#include <cuenv/this_machine.hpp>
#include <cuenv/variables.hpp>
#include <cuenv/version.hpp>
#include <cuenv/visibility.hpp>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Settings for another process: a child, or this program started anew.

CUENV_NAMESPACE_BEGIN

namespace detail {

/// An environment that is a list: what a child will have.
class ListedEnvironment final : public Environment {
 public:
  explicit ListedEnvironment(std::vector<Assignment> variables) : variables_{std::move(variables)} {}

  [[nodiscard]] std::optional<std::string> get(std::string const& name) const override {
    return text_in(variables_, name);
  }
  int set(Assignment const& assignment) const override {
    bool found = false;  // a name can be there twice, and programs do not agree on which counts: all are changed
    for (Assignment& variable : variables_) {
      if (!is_same_variable(variable.name, assignment.name)) continue;
      variable.text = found ? std::nullopt : assignment.text;
      found = true;
    }
    if (!found) variables_.push_back(assignment);
    return 0;
  }
  [[nodiscard]] std::vector<Assignment> all() const override { return variables_; }
  /// "NAME=value" for each variable that is set.
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (Assignment const& variable : variables_) {
      if (variable.text) lines.push_back(variable.name + "=" + *variable.text);
    }
    return lines;
  }

 private:
  mutable std::vector<Assignment> variables_;  // setting a variable is const in an Environment: it is the process's
};

/// Of the child's cuInit nobody here gets the answer: what it is known to fail of with 101 is an error now. With 100 it
/// has no device, which may be meant.
inline void refuse_what_ends_cuda(Environment const& child, Machine const& machine, Diagnostics& findings) {
  DeviceTexts const texts = device_texts(child);
  Visibility const visibility = resolve_visibility(texts.views(), machine);
  if (visibility.order_is_invalid) {
    for (Diagnostic& finding : findings) {
      bool const of_the_order = finding.subject == device_order.info.name && finding.code == "environment.misread";
      if (of_the_order) finding.severity = Severity::error;
    }
  } else if (visibility.cu_init == 101) {
    for (Diagnostic& finding : explain(visibility, texts.views(), machine)) {
      if (finding.severity == Severity::error) findings.push_back(std::move(finding));
    }
  }
}

}  // namespace detail

/// What posix_spawn and execve take: a pointer to each text, and a null pointer behind the last. Good for as long as
/// the vector and its texts stay as they are.
[[nodiscard]] inline std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The environment of a child with the settings in force, as "NAME=value" lines, and `pointers_to` them for posix_spawn
/// or execve. The own environment is read and not changed, so the own session and other threads are not touched.
/// `findings`, where given, gets the plan's notes and warnings. Throws SettingsError as a session would, and where a
/// value that stays makes the child's cuInit fail with 101: a CUDA_DEVICE_ORDER that is no valid word, a list that
/// names a GPU twice. The machine is by default this one, for which the driver library is loaded and CUDA not started.
/// Thread-safe unless another thread writes the environment.
[[nodiscard]] inline std::vector<std::string> environment_for(Settings const& settings,
                                                              Environment const& environment = process_environment,
                                                              Machine const& machine = read_this_machine(),
                                                              Diagnostics* findings = nullptr) {
  Plan plan = make_plan(settings, environment, machine);
  if (has_error(plan.findings)) throw SettingsError{std::move(plan.findings)};
  detail::ListedEnvironment const child{environment.all()};
  for (Assignment const& assignment : plan.assignments()) (void)child.set(assignment);
  detail::refuse_what_ends_cuda(child, machine, plan.findings);
  if (has_error(plan.findings)) throw SettingsError{std::move(plan.findings)};
  if (findings != nullptr) append(*findings, std::move(plan.findings));
  return child.lines();
}

#ifdef __linux__

/// Starts this program anew, with the same arguments, the same process id and the settings in its environment; returns
/// when they are in force already, which is so the second time. For a program whose libraries start threads before
/// main, where changing the environment is dangerous. Call it first thing in main: what was done before is lost, and
/// files that are open without O_CLOEXEC stay open. Throws SettingsError as a session would, and EnvironmentError where
/// the program cannot be started anew; then nothing has changed. Other threads end with the program, so that they may
/// run, but none may write the environment meanwhile. Loads the driver library; CUDA is not started. Linux only.
inline void restart_with(Settings const& settings) {
  Machine const machine = read_this_machine();
  Plan const plan = make_plan(settings, process_environment, machine);
  if (has_error(plan.findings)) throw SettingsError{plan.findings};
  if (plan.assignments().empty()) return;
  auto const refuse = [](std::string what) {
    throw EnvironmentError{
        {{Severity::error, "environment.no_restart", "/proc/self/exe", "", Diagnostic::no_offset,
          "the program cannot be started anew: " + std::move(what), "", "start it with the variables set"}}};
  };
  detail::ListedEnvironment const child{process_environment.all()};
  for (Assignment const& assignment : plan.assignments()) (void)child.set(assignment);
  // A choice among what is visible may be another then: it would go on for ever, or be refused.
  Plan const again = make_plan(settings, child, machine);
  if (has_error(again.findings) || !again.assignments().empty()) {
    refuse("the settings would not be in force then either, such as logical GPU 1 where it is the only one left");
  }
  std::vector<std::string> environment = child.lines();
  constexpr std::size_t most = std::size_t{1} << 22;
  auto const command_line = detail::read_small_file("/proc/self/cmdline", most);
  if (!command_line || command_line->empty() || command_line->size() == most) refuse("its arguments are not known");
  std::vector<std::string> arguments;
  for (std::string_view rest = *command_line; !rest.empty();) {
    arguments.emplace_back(detail::take_until(rest, '\0'));
  }
  ::execve("/proc/self/exe", pointers_to(arguments).data(), pointers_to(environment).data());
  refuse(std::strerror(errno));
}

#endif

CUENV_NAMESPACE_END

#endif  // CUENV_CHILD_ENVIRONMENT_HPP
