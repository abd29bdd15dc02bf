#ifndef CUENV_CUENV_HPP
#define CUENV_CUENV_HPP

/// @file
/// Everything but the diagnosis, which few files of a program need and which takes two thirds more time to compile
/// (include diagnose.hpp for it), and the optional adapters: cudart.hpp and nlohmann_json.hpp.

/// @namespace cuenv
/// The library. What holds wherever a comment says nothing else:
///
/// - What is thrown on purpose is an Error, and the comment names which; bad_alloc can come from whatever allocates.
/// - Functions depend on their arguments alone and are thread-safe. Those that touch the process, files or the driver
///   say so. Values are as safe as those of the standard library.
/// - Sizes and offsets are in bytes, offsets from 0. An empty optional stands for "not known" or "not set".
/// - A text is taken as it is, whatever its bytes. A view or pointer in a result points at a table or at an argument.
/// - Values compare member by member, versions and indices by their order too.
/// - "Measured" is on driver 580.159.04 with H200, Linux x86-64; "documented" is by NVIDIA's manuals.

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
#include <cuenv/mps.hpp>
#include <cuenv/mps_values.hpp>
#include <cuenv/names.hpp>
#include <cuenv/nvml.hpp>
#include <cuenv/plan.hpp>
#include <cuenv/program.hpp>
#include <cuenv/rank_devices.hpp>
#include <cuenv/report.hpp>
#include <cuenv/result_code.hpp>
#include <cuenv/service.hpp>
#include <cuenv/session.hpp>
#include <cuenv/settings.hpp>
#include <cuenv/system.hpp>
#include <cuenv/this_machine.hpp>
#include <cuenv/values.hpp>
#include <cuenv/variable.hpp>
#include <cuenv/variables.hpp>
#include <cuenv/verdict.hpp>
#include <cuenv/verdict_text.hpp>
#include <cuenv/version.hpp>
#include <cuenv/visibility.hpp>
#include <cuenv/visible_devices.hpp>

#endif  // CUENV_CUENV_HPP
