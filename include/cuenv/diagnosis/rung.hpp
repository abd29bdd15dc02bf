#ifndef CUENV_DIAGNOSIS_RUNG_HPP
#define CUENV_DIAGNOSIS_RUNG_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

CUENV_NAMESPACE_BEGIN

/// The rungs between a GPU and a program on it, from the bottom. One that is broken breaks those above it.
enum class Rung { gpus, driver, toolkit, gpu_code, jit_cache, variables, surroundings, framework, process, start };

/// The name in text and JSON: "gpu code", "start of cuda".
[[nodiscard]] constexpr std::string_view to_string(Rung rung) noexcept {
  constexpr std::string_view names[] = {"gpus",      "driver",       "toolkit",   "gpu code", "jit cache",
                                        "variables", "surroundings", "framework", "process",  "start of cuda"};
  return names[static_cast<std::size_t>(rung)];
}

/// What was seen, as it is: "driver version", "580.159.04".
struct Fact {
  std::string name;   ///< what it is, in words for people
  std::string value;  ///< as it was found, unredacted; may be of any bytes
};

/// What is known of one rung.
enum class Health {
  fine,      ///< nothing to report, or notes only
  doubtful,  ///< a warning
  broken,    ///< an error: CUDA, or a program named, will not work
  unknown    ///< it could not be looked at, in part at least, and what was seen is fine
};

/// The name in text and JSON, which is the enumerator's.
[[nodiscard]] constexpr std::string_view to_string(Health health) noexcept {
  constexpr std::string_view names[] = {"fine", "doubtful", "broken", "unknown"};
  return names[static_cast<std::size_t>(health)];
}

/// What one rung looks like: the evidence, what is wrong, and what could not be learnt.
struct RungReport {
  Rung rung = Rung::gpus;  ///< which one this is
  /// In the order in which people want to read them.
  std::vector<Fact> facts;
  Diagnostics findings;  ///< what is wrong, and notes; empty on a healthy machine
  /// What could not be looked at and why, a sentence each without its full stop.
  std::vector<std::string> unknown;

  /// Appends a fact.
  void add_fact(std::string name, std::string value) { facts.push_back({std::move(name), std::move(value)}); }

  /// Adds what is not known, where there is a reason for that; says whether there is one.
  bool add_unknown(std::string what, std::string const& reason) {
    if (!reason.empty()) unknown.push_back(std::move(what) + ": " + reason);
    return !reason.empty();
  }

  /// By the worst finding; notes count as fine.
  [[nodiscard]] Health health() const noexcept {
    Health worst = unknown.empty() ? Health::fine : Health::unknown;
    for (Diagnostic const& finding : findings) {
      if (finding.severity == Severity::error) return Health::broken;
      if (finding.severity == Severity::warning) worst = Health::doubtful;
    }
    return worst;
  }
};

/// All rungs that were looked at, from the GPU upwards.
struct Diagnosis {
  std::vector<RungReport> rungs;  ///< from the bottom; those that were not asked for are left out

  /// The lowest rung that is broken, or null: mend it first, since the others stand on it.
  [[nodiscard]] RungReport const* first_broken() const noexcept {
    for (RungReport const& rung : rungs) {
      if (rung.health() == Health::broken) return &rung;
    }
    return nullptr;
  }
  /// As sound as the worst rung.
  [[nodiscard]] Health health() const noexcept {
    Health worst = Health::fine;
    for (RungReport const& rung : rungs) {
      Health const health = rung.health();
      if (health == Health::broken) return health;
      if (health == Health::doubtful || worst == Health::fine) worst = health;
    }
    return worst;
  }
};

/// The diagnosis as text for people, without a final newline.
[[nodiscard]] inline std::string to_string(Diagnosis const& diagnosis) {
  std::string text;
  for (RungReport const& rung : diagnosis.rungs) {
    if (!text.empty()) text += '\n';
    text += std::string{to_string(rung.rung)} + ": " + std::string{to_string(rung.health())};
    for (Fact const& fact : rung.facts) {
      text += "\n  " + detail::printable(fact.name) + ": " + detail::printable(fact.value);
    }
    for (Diagnostic const& finding : rung.findings) text += "\n  " + to_string(finding);
    for (std::string const& reason : rung.unknown) text += "\n  unknown: " + detail::printable(reason);
  }
  return text;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_RUNG_HPP
