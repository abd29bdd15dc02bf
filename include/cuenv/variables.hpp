#ifndef CUENV_VARIABLES_HPP
#define CUENV_VARIABLES_HPP

#include <cuenv/diagnostic.hpp>
#include <cuenv/values.hpp>
#include <cuenv/variable.hpp>
#include <cuenv/version.hpp>
#include <cuenv/visible_devices.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// The variables that a session can set: a row for each, and its name in the list at the end. To add a variable, add
// both. Sources: the environment-variable appendices of the CUDA programming guide (11.x, 13.1, 13.4), the MPS,
// CUDA-GDB and driver API manuals; what is marked measured was seen on driver 580.159.04.

CUENV_NAMESPACE_BEGIN

namespace detail {

[[nodiscard]] inline std::optional<VisibleDevices> parse_visible_devices_row(std::string_view, std::string_view text,
                                                                             Diagnostics& problems) {
  return parse_visible_devices(text, problems);
}

template <class T>
constexpr Variable<T> variable(VariableInfo const& info,
                               std::optional<T> (*parse)(std::string_view, std::string_view, Diagnostics&),
                               std::string (*format)(T const&), Effect (*effect)(std::string_view)) {
  return {info, parse, format, effect};
}

template <Evidence evidence = Evidence::documented>
constexpr Variable<bool> switch_variable(VariableInfo info) {
  info.accepted = "0 or 1";
  return {info, parse_switch, format_switch, switch_effect<evidence>};
}

template <class E>
constexpr Variable<E> word_variable(VariableInfo const& info, Effect (*effect)(std::string_view)) {
  return {info, parse_word<E>, format_word<E>, effect};
}

template <int low, int high>
constexpr Variable<int> integer_variable(VariableInfo const& info,
                                         Effect (*effect)(std::string_view) = as_written_effect) {
  return {info, parse_integer<low, high>, format_integer, effect};
}

constexpr Variable<std::string> text_variable(VariableInfo const& info) {
  return {info, parse_text, format_text, as_written_effect};
}

inline constexpr auto measured = Evidence::measured;
inline constexpr auto documented = Evidence::documented;

}  // namespace detail

// Which devices -------------------------------------------------------------------------------------------------------

inline constexpr Variable<VisibleDevices> visible_devices{
    {"CUDA_VISIBLE_DEVICES", "indices, GPU- or MIG- UUIDs, -1", "every GPU", Moment::init, detail::measured, "", "", "",
     "choose the GPUs of this process, and their order"},
    detail::parse_visible_devices_row,
    format_visible_devices,
    nullptr};

inline constexpr Variable<DeviceOrder> device_order = detail::word_variable<DeviceOrder>(
    {"CUDA_DEVICE_ORDER", "PCI_BUS_ID or FASTEST_FIRST", "FASTEST_FIRST", Moment::init, detail::measured, "", "", "",
     "what an index means: nvidia-smi's GPU, or a rank by speed"},
    detail::device_order_effect);

// The cache of compiled code ------------------------------------------------------------------------------------------

inline constexpr Variable<std::string> cache_path{
    {"CUDA_CACHE_PATH", "a directory", "$HOME/.nv/ComputeCache (Windows: %APPDATA%\\NVIDIA\\ComputeCache)",
     Moment::init, detail::measured, "", "", "", "where code compiled from PTX is kept"},
    detail::parse_directory,
    detail::format_text,
    detail::cache_path_effect};

inline constexpr Variable<ByteCount> cache_max_size{
    {"CUDA_CACHE_MAXSIZE", "0 to 4294967296, plain digits", "1073741824 (embedded: 268435456)", Moment::init,
     detail::measured, "", "", "", "how large the cache may grow, in bytes"},
    detail::parse_byte_count,
    detail::format_byte_count,
    detail::cache_max_size_effect};

inline constexpr Variable<bool> cache_disable = detail::switch_variable<detail::measured>(
    {"CUDA_CACHE_DISABLE", "", "0", Moment::init, detail::measured, "", "", "", "compile PTX anew in each process"});

// Execution -----------------------------------------------------------------------------------------------------------

inline constexpr Variable<bool> launch_blocking =
    detail::switch_variable<detail::measured>({"CUDA_LAUNCH_BLOCKING", "", "0", Moment::context, detail::measured, "",
                                               "", "", "wait for each kernel at its launch; for debugging"});

inline constexpr Variable<int> device_max_connections = detail::integer_variable<1, 32>(
    {"CUDA_DEVICE_MAX_CONNECTIONS", "1 to 32", "8 (MPS clients from Volta on: 2)", Moment::init, detail::measured, "",
     "", "", "hardware queues that streams are spread over"},
    detail::max_connections_effect);

// The table -----------------------------------------------------------------------------------------------------------

/// A variable of any type, for code that works on texts.
struct VariableRow {
  VariableInfo const* info;
  /// The strict reading: the same value in its canonical text, or problems and nothing.
  std::optional<std::string> (*canonical)(std::string_view text, Diagnostics& problems);
  /// The driver's reading; null for CUDA_VISIBLE_DEVICES, which needs the machine.
  Effect (*effect)(std::string_view text);
};

namespace detail {

template <auto const& variable>
[[nodiscard]] std::optional<std::string> canonical_text(std::string_view text, Diagnostics& problems) {
  auto const value = variable.parse(variable.info.name, text, problems);
  if (!value) return std::nullopt;
  return variable.format(*value);
}

template <auto const&... variable>
struct Rows {
  static constexpr VariableRow rows[] = {{&variable.info, canonical_text<variable>, variable.effect}...};
};

using SettableRows = Rows<visible_devices, device_order, cache_path, cache_max_size, cache_disable, launch_blocking,
                          device_max_connections>;

}  // namespace detail

/// Every variable that a session can set, in the order of this file.
inline constexpr auto const& settable_variables = detail::SettableRows::rows;

/// The row of a variable, or null. Names are compared exactly, as the driver does.
[[nodiscard]] constexpr VariableRow const* find_variable(std::string_view name) noexcept {
  for (VariableRow const& row : settable_variables) {
    if (row.info->name == name) return &row;
  }
  return nullptr;
}

CUENV_NAMESPACE_END

#endif  // CUENV_VARIABLES_HPP
