#include "commands.hpp"
#include "output.hpp"

#include <cuenv/diagnose.hpp>
#include <cuenv/diagnosis/redact.hpp>

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace tool {

namespace {

using cuenv::Health;
using cuenv::RungReport;
using cuenv::detail::printable;

constexpr std::size_t rung_width = 15;  // the longest rung and two blanks
constexpr std::size_t health_width = 10;
constexpr std::size_t line_width = 80;

/// Colour means nothing that the word does not say, and is off where the output is no terminal or NO_COLOR is set.
bool is_coloured() {
  char const* const no_colour = std::getenv("NO_COLOR");
  return (no_colour == nullptr || *no_colour == '\0') && ::isatty(STDOUT_FILENO) == 1;
}

std::string health_word(Health health, bool coloured) {
  constexpr char const* colours[] = {"\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[36m"};
  std::string word{to_string(health)};
  std::size_t const length = word.size();
  if (coloured) word = colours[static_cast<std::size_t>(health)] + word + "\x1b[0m";
  return word.append(health_width - length, ' ');
}

/// Of each rung one line: its health, and as many facts as find room.
std::string summary_line(RungReport const& rung, bool coloured) {
  std::string line{to_string(rung.rung)};
  line.append(rung_width - line.size(), ' ');
  std::size_t used = line.size() + health_width;
  line += health_word(rung.health(), coloured);
  bool first = true;
  for (cuenv::Fact const& fact : rung.facts) {
    std::string text = (first ? "" : "; ") + printable(fact.name) + " " + printable(fact.value);
    std::size_t const room = line_width - used;
    constexpr std::string_view cut = " ...";
    if (text.size() > room && (!first || room < cut.size())) continue;
    if (text.size() > room) {  // the first is shown in part
      std::size_t const blank = text.rfind(' ', room - cut.size());
      text.resize(blank == std::string::npos ? room - cut.size() : blank);
      text += cut;
    }
    line += text;
    used += text.size();
    first = false;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

/// What has to be told of a rung beyond its line.
std::string details(RungReport const& rung, bool all) {
  std::string text;
  for (cuenv::Fact const& fact : rung.facts) {
    if (all) text += labelled(printable(fact.name), printable(fact.value));
  }
  for (cuenv::Diagnostic finding : rung.findings) {
    if (!finding.value.empty()) finding.subject += (finding.subject.empty() ? "" : "=") + finding.value;
    text += labelled(finding, Subject::named);
  }
  for (std::string const& reason : rung.unknown) text += labelled("unknown", printable(reason));
  return text.empty() ? text : "\n" + std::string{to_string(rung.rung)} + "\n" + text;
}

/// What to type first: the fix of the first finding that is as bad as the rung.
std::string verdict_line(cuenv::Diagnosis const& diagnosis) {
  Health const health = diagnosis.health();
  if (health == Health::fine) return "Nothing is wrong.\n";
  if (health == Health::unknown) return "Nothing is wrong, as far as could be seen.\n";
  for (RungReport const& rung : diagnosis.rungs) {
    if (rung.health() != health) continue;
    std::string text =
        health == Health::broken ? "The first broken rung: " : "Nothing is broken. The first doubtful rung: ";
    text += std::string{to_string(rung.rung)} + ".";
    auto const severity = health == Health::broken ? cuenv::Severity::error : cuenv::Severity::warning;
    for (cuenv::Diagnostic const& finding : rung.findings) {
      if (finding.severity != severity) continue;
      return text + (finding.fix.empty() ? " See above.\n" : "\n" + labelled("type", printable(finding.fix)));
    }
  }
  return {};
}

/// A file that was named and cannot be read is wrong use; the rest is told all the same.
bool can_be_read(std::string const& path) {
  try {
    cuenv::detail::File const file{path};
    return true;
  } catch (cuenv::FileError const&) {
    return false;
  }
}

}  // namespace

int doctor(DoctorOptions const& options) {
  cuenv::Site const site =
      options.root.empty() ? cuenv::this_site() : cuenv::described_site(options.root, cuenv::process_environment.all());
  if (!options.root.empty() && !site.exists("/."))
    throw std::runtime_error{printable(options.root) + ": it is no folder that can be opened"};
  if (options.diagnose.pid != 0 && !site.exists("/proc/" + std::to_string(options.diagnose.pid))) {
    throw std::runtime_error{"there is no process " + std::to_string(options.diagnose.pid)};
  }
  cuenv::Redactor redactor = cuenv::redactor_of(site);  // before the process can end
  if (options.diagnose.pid != 0) redactor.add(cuenv::site_of_process(site, options.diagnose.pid));
  cuenv::Diagnosis diagnosis = cuenv::diagnose(site, options.diagnose);
  if (options.redact) diagnosis.rungs = redact(std::move(diagnosis.rungs), std::move(redactor));

  bool const simulated = !site.system.open_driver(cuenv::DriverOpen::load).simulated_root.empty();
  if (options.json) {
    Json document{{"schema", cuenv::json_schema}, {"command", "doctor"}, {"simulated", simulated}};
    document.update(Json(diagnosis));
    std::cout << text_of(document);
  } else {
    bool const coloured = is_coloured();
    std::string text;
    for (RungReport const& rung : diagnosis.rungs) text += summary_line(rung, coloured);
    for (RungReport const& rung : diagnosis.rungs) text += details(rung, options.all);
    std::cout << text << "\n" << verdict_line(diagnosis);
    if (simulated) std::cout << "The driver here is a SIMULATED one.\n";
  }
  bool all_read = true;
  for (std::string const& program : options.diagnose.programs) {
    if (can_be_read(program)) continue;
    all_read = false;
    std::cerr << "cuenv: " << printable(program) << " cannot be read\n";
  }
  if (!all_read) return wrong_use;
  Health const health = diagnosis.health();
  return health == Health::broken || health == Health::doubtful ? problems : fine;
}

}  // namespace tool
