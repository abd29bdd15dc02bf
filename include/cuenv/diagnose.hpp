#ifndef CUENV_DIAGNOSE_HPP
#define CUENV_DIAGNOSE_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnosis/driver.hpp>
#include <cuenv/diagnosis/framework.hpp>
#include <cuenv/diagnosis/gpu_code.hpp>
#include <cuenv/diagnosis/gpus.hpp>
#include <cuenv/diagnosis/jit_cache.hpp>
#include <cuenv/diagnosis/process.hpp>
#include <cuenv/diagnosis/rung.hpp>
#include <cuenv/diagnosis/site.hpp>
#include <cuenv/diagnosis/start.hpp>
#include <cuenv/diagnosis/surroundings.hpp>
#include <cuenv/diagnosis/toolkit.hpp>
#include <cuenv/diagnosis/variables.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/system.hpp>
#include <cuenv/version.hpp>

#include <string>
#include <utility>
#include <vector>

CUENV_NAMESPACE_BEGIN

/// What a diagnosis looks at besides the machine.
struct DiagnoseOptions {
  /// Programs and libraries whose GPU code and CUDA runtime are looked at.
  std::vector<std::string> programs;
  /// The prefix of a Python environment whose framework is looked at; "" for none.
  std::string python_prefix;
  /// A running process that is looked at from outside, in place of this one; 0 for none.
  long pid = 0;
  /// Starts CUDA, in a child of this process. Without it CUDA is never initialised.
  bool start_cuda = false;
};

/// All rungs that were looked at, from the GPU upwards.
struct Diagnosis {
  std::vector<RungReport> rungs;

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

/// Climbs the ladder on a site: this machine's, or one that a folder describes. Nothing is thrown because a file is
/// missing, unreadable or nonsense: the rung says what is unknown. Not safe while another thread changes the
/// environment.
[[nodiscard]] inline Diagnosis diagnose(Site const& site, DiagnoseOptions const& options = {}) {
  Site const looked_at = options.pid == 0 ? site : site_of_process(site, options.pid);
  std::vector<std::string> programs = options.programs;
  std::vector<std::string> loaded;
  if (options.pid != 0) {
    for (std::string const& file : mapped_libraries(looked_at)) loaded.push_back(looked_at.root + file);
    programs.insert(programs.end(), loaded.begin(), loaded.end());
  }
  GpusFound gpus = diagnose_gpus(looked_at);
  DriverFound driver = diagnose_driver(looked_at, gpus.machine);
  GpuCodeFound code = diagnose_gpu_code(looked_at, options.programs, gpus.machine, driver, loaded);

  Diagnosis diagnosis;
  auto const add = [&](RungReport report) { diagnosis.rungs.push_back(std::move(report)); };
  add(std::move(gpus.report));
  add(std::move(driver.report));
  add(diagnose_toolkit(looked_at, programs, driver.cuda, gpus.machine));
  add(std::move(code.report));
  add(diagnose_jit_cache(looked_at, code.needs_jit));
  add(diagnose_variables(looked_at, gpus.machine));
  add(diagnose_surroundings(looked_at, gpus.machine));
  if (!options.python_prefix.empty()) {
    add(diagnose_framework(looked_at, options.python_prefix, gpus.machine, driver.cuda));
  }
  if (options.pid != 0) add(diagnose_process(looked_at, gpus.machine));
  if (options.start_cuda) add(diagnose_start(looked_at));
  return diagnosis;
}

/// The same on this machine, for this process: where it was not asked to start CUDA, it loads the driver library and
/// NVML and starts neither a thread nor CUDA. Takes some 30 ms, of which NVML takes most.
[[nodiscard]] inline Diagnosis diagnose(DiagnoseOptions const& options = {}) { return diagnose(this_site(), options); }

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

#endif  // CUENV_DIAGNOSE_HPP
