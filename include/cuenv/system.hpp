#ifndef CUENV_SYSTEM_HPP
#define CUENV_SYSTEM_HPP

#include <cuenv/driver.hpp>
#include <cuenv/environment.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/nvml.hpp>
#include <cuenv/version.hpp>

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

CUENV_NAMESPACE_BEGIN

/// The places where cuenv touches the world, as a value: the default is this machine and this process, and a test
/// describes another.
struct System {
  Environment const* environment = &process_environment;               ///< never null; must outlive its user
  DriverLibrary (*open_driver)(DriverOpen how) = open_driver_library;  ///< never null; must not start CUDA
  NvmlLibrary (*open_nvml)() = open_nvml_library;                      ///< never null; called where NVML is asked
  /// The folder that stands for "/" when /proc and /dev are read; "" for the real one.
  std::string root;
};

/// How far CUDA is in this process.
enum class DriverState {
  not_loaded,      ///< the driver library is not in the process
  loaded,          ///< it is, and cuInit has not succeeded yet
  failed,          ///< the same, and a session of this program has seen cuInit fail; it may succeed after a correction
  forked,          ///< this process was forked from one in which a session had started CUDA: it cannot be used here
  initialised,     ///< cuInit has succeeded: most variables have been read
  context_active,  ///< besides, a primary context exists, or a context is current in this thread
  stub,            ///< what is loaded is the toolkit's stub, which answers 34
  unusable         ///< it answers something else
};

/// In words: "not loaded", "context active".
[[nodiscard]] constexpr std::string_view to_string(DriverState state) noexcept {
  constexpr std::string_view names[] = {"not loaded",  "loaded",         "failed", "forked",
                                        "initialised", "context active", "stub",   "unusable"};
  return names[static_cast<std::size_t>(state)];
}

namespace detail {

/// What the sessions of this program have seen of cuInit. A memory for words only: a library with hidden symbols has
/// one of its own, and nothing is decided by it.
struct InitHistory {
  std::atomic<long> started_in_process{0};
  std::atomic<long> failed_in_process{0};
};

inline InitHistory& init_history() noexcept {
  static InitHistory history;
  return history;
}

[[nodiscard]] inline long process_id() noexcept {
#ifdef _WIN32
  return static_cast<long>(win32::GetCurrentProcessId());
#else
  return ::getpid();
#endif
}

}  // namespace detail

/// Asks without changing anything: cuDeviceGetCount answers 3 before cuInit, 0 after it, 34 from the stub (measured,
/// driver 580). A first cuInit that failed, and a process forked from an initialised one, answer 3 as well and cannot
/// be told from no start at all, but where a session of this program saw it. Contexts that are not primary and not
/// current in this thread are not seen. Thread-safe.
[[nodiscard]] inline DriverState driver_state(DriverLibrary const& driver) noexcept {
  if (!driver.loaded) return DriverState::not_loaded;
  DriverApi const& api = driver.api;
  int count = 0;
  if (api.device_get_count == nullptr) return DriverState::unusable;
  int const answer = api.device_get_count(&count);
  if (answer == CUDA_ERROR_NOT_INITIALIZED) {
    auto const& history = detail::init_history();
    long const started = history.started_in_process;
    if (started != 0 && started != detail::process_id()) return DriverState::forked;
    return history.failed_in_process == detail::process_id() ? DriverState::failed : DriverState::loaded;
  }
  if (answer == CUDA_ERROR_STUB_LIBRARY) return DriverState::stub;
  if (answer != CUDA_SUCCESS) return DriverState::unusable;
  CUcontext context = nullptr;
  if (api.ctx_get_current != nullptr && api.ctx_get_current(&context) == CUDA_SUCCESS && context != nullptr) {
    return DriverState::context_active;
  }
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    unsigned flags = 0;
    int active = 0;
    if (api.device_get == nullptr || api.primary_ctx_get_state == nullptr) break;
    if (api.device_get(&device, i) != CUDA_SUCCESS) continue;
    if (api.primary_ctx_get_state(device, &flags, &active) == CUDA_SUCCESS && active != 0) {
      return DriverState::context_active;
    }
  }
  return DriverState::initialised;
}

CUENV_NAMESPACE_END

#endif  // CUENV_SYSTEM_HPP
