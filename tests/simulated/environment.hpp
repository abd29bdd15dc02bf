#ifndef CUENV_TESTS_SIMULATED_ENVIRONMENT_HPP
#define CUENV_TESTS_SIMULATED_ENVIRONMENT_HPP

#include "machine.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// How the driver reads the text of its environment variables: measured on driver 580.
namespace simulated {

/// Finds a variable's value; nothing where it is not set.
using Environment = std::function<std::optional<std::string>(std::string const&)>;

/// getenv.
[[nodiscard]] std::optional<std::string> process_environment(std::string const& name);

/// C's strtoul, base 10: leading white space, one sign, digits; what follows is ignored; no digits: 0. Saturates at 64
/// bits; a minus sign wraps around.
[[nodiscard]] std::uint64_t to_number(std::string const& text);

/// The number cut to 32 bits.
[[nodiscard]] std::uint32_t to_number_32(std::string const& text);

/// On only if the number, cut to 32 bits, is 1.
[[nodiscard]] bool is_on(std::optional<std::string> const& value);

/// What CUDA_DEVICE_ORDER and CUDA_VISIBLE_DEVICES leave of the machine: `result` is that of cuInit.
struct VisibleGpus {
  int result = 0;
  std::vector<SimulatedGpu> gpus;
};

[[nodiscard]] VisibleGpus visible_gpus(Machine const& machine, Environment const& environment);

/// Everything that cuInit reads and keeps.
struct Settings {
  bool disable_jit = false;
  bool force_jit = false;
  bool eager_loading = false;
  int max_connections = 8;
  int persisting_l2_percentage = -1;  // -1: not set
  bool cache_disabled = false;
  std::uint64_t cache_max_size = 0;
  std::optional<std::string> cache_path;
};

[[nodiscard]] Settings read_settings(Machine const& machine, Environment const& environment);

}  // namespace simulated

#endif  // CUENV_TESTS_SIMULATED_ENVIRONMENT_HPP
