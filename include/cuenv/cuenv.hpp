#ifndef CUENV_CUENV_HPP
#define CUENV_CUENV_HPP

/// Everything but the diagnosis, which few files of a program need and which takes as long to compile as all the rest
/// (include diagnose.hpp for it), and the optional adapters: cudart.hpp and nlohmann_json.hpp.

#include <cuenv/child_environment.hpp>
#include <cuenv/cuda_version.hpp>
#include <cuenv/device_map.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/driver.hpp>
#include <cuenv/environment.hpp>
#include <cuenv/error.hpp>
#include <cuenv/explain.hpp>
#include <cuenv/explain_visibility.hpp>
#include <cuenv/gpu.hpp>
#include <cuenv/gpu_code_rules.hpp>
#include <cuenv/gpu_generations.hpp>
#include <cuenv/image.hpp>
#include <cuenv/inspect.hpp>
#include <cuenv/jit_cache.hpp>
#include <cuenv/judge.hpp>
#include <cuenv/load.hpp>
#include <cuenv/local_rank.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/names.hpp>
#include <cuenv/nvml.hpp>
#include <cuenv/plan.hpp>
#include <cuenv/program.hpp>
#include <cuenv/rank_devices.hpp>
#include <cuenv/report.hpp>
#include <cuenv/result_code.hpp>
#include <cuenv/session.hpp>
#include <cuenv/settings.hpp>
#include <cuenv/system.hpp>
#include <cuenv/values.hpp>
#include <cuenv/variable.hpp>
#include <cuenv/variables.hpp>
#include <cuenv/verdict.hpp>
#include <cuenv/verdict_text.hpp>
#include <cuenv/version.hpp>
#include <cuenv/visibility.hpp>
#include <cuenv/visible_devices.hpp>

#endif  // CUENV_CUENV_HPP
