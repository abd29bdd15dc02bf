#ifndef CUENV_DIAGNOSE_HPP
#define CUENV_DIAGNOSE_HPP

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

/// Climbs the ladder on a site: this machine's, or one that a folder describes. Nothing is thrown because a file is
/// missing, unreadable or nonsense: the rung says what is unknown. Thread-safe; where other threads run, CUDA is not
/// started even if asked for.
[[nodiscard]] inline Diagnosis diagnose(Site const& site, DiagnoseOptions const& options = {}) {
  Site const looked_at = options.pid == 0 ? site : site_of_process(site, options.pid);
  std::vector<std::string> programs = options.programs;
  std::vector<std::string> loaded;
  if (options.pid != 0) {
    for (std::string const& file : mapped_libraries(looked_at)) loaded.push_back(looked_at.root + file);
    programs.insert(programs.end(), loaded.begin(), loaded.end());
  }
  // First, since NVML starts a thread that stays (measured, driver 580), and a fork beside a thread is not safe.
  RungReport start;
  if (options.start_cuda) start = diagnose_start(looked_at);
  GpusFound gpus = diagnose_gpus(looked_at);
  auto const mps_folder = looked_at.get("CUDA_MPS_PIPE_DIRECTORY");
  if (mps_folder || looked_at.variables_unknown.empty()) apply_mps(gpus.machine, find_mps(mps_folder, looked_at.root));
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
  if (options.start_cuda) add(std::move(start));
  return diagnosis;
}

/// The same on this machine, for this process. Where it was not asked to start CUDA, it loads the driver library and
/// NVML and does not start CUDA; NVML takes most of some 30 ms, and leaves a thread behind (measured, driver 580), so
/// that a session which has to change the environment comes before, or is refused where setenv is not safe beside
/// threads. Not safe while another thread writes the environment.
[[nodiscard]] inline Diagnosis diagnose(DiagnoseOptions const& options = {}) { return diagnose(this_site(), options); }

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSE_HPP
