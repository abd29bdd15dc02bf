#ifndef CUENV_REPORT_HPP
#define CUENV_REPORT_HPP

#include <cuenv/device_map.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/plan.hpp>
#include <cuenv/version.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

CUENV_NAMESPACE_BEGIN

/// A variable as a session left it, with texts of its own.
struct ReportedVariable {
  std::string name;                    ///< of the variable
  std::optional<std::string> found;    ///< before the session
  std::optional<std::string> wanted;   ///< by the settings
  Outcome outcome = Outcome::applied;  ///< what became of the setting
};

/// What a session did, saw and noticed.
struct Report {
  std::vector<ReportedVariable> variables;  ///< in the order in which they were set
  /// True when CUDA was initialised by somebody else, or by an earlier session.
  bool attached = false;
  /// cuDriverGetVersion: 13000 is CUDA 13.0; 0 where unknown.
  int driver_cuda_version = 0;
  /// The file of the driver library.
  std::string driver_path;
  /// "" on a real machine, else the folder that describes the simulated one.
  std::string simulated_root;
  MachineSource machine_source = MachineSource::unknown;  ///< who told of the physical GPUs
  std::string driver_version;                             ///< such as "580.159.04"; empty where unknown
  /// Why there is no CUDA, as text; empty when there is.
  std::string absence;
  /// Notes and warnings.
  Diagnostics findings;
};

/// The report as text for people, without a final newline.
[[nodiscard]] inline std::string to_string(Report const& report) {
  auto const shown = [](std::optional<std::string> const& text) {
    return text ? "'" + detail::printable(*text) + "'" : std::string{"(not set)"};
  };
  int const cuda = report.driver_cuda_version;
  std::string text = cuda == 0 ? "CUDA version unknown"
                               : "CUDA " + std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
  text += ", driver " + (report.driver_version.empty() ? "version unknown" : report.driver_version);
  if (!report.driver_path.empty()) text += ", from " + detail::printable(report.driver_path);
  if (!report.simulated_root.empty())
    text += "\nSIMULATED machine, described in " + detail::printable(report.simulated_root);
  if (report.attached) text += "\nCUDA was initialised already";
  for (ReportedVariable const& variable : report.variables) {
    text += "\n" + variable.name + ": ";
    switch (variable.outcome) {
      case Outcome::applied: text += shown(variable.wanted) + " applied, was " + shown(variable.found); break;
      case Outcome::already_set: text += shown(variable.found) + " was set already"; break;
      case Outcome::left: text += shown(variable.found) + " left, too late for " + shown(variable.wanted); break;
      case Outcome::kept:
        text += shown(variable.found) + " kept from the environment, not " + shown(variable.wanted);
        break;
    }
  }
  if (!report.absence.empty()) text += "\n" + report.absence;
  for (Diagnostic const& finding : report.findings) text += "\n" + to_string(finding);
  return text;
}

CUENV_NAMESPACE_END

#endif  // CUENV_REPORT_HPP
