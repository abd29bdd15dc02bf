#ifndef CUENV_VARIABLES_HPP
#define CUENV_VARIABLES_HPP

#include <cuenv/diagnostic.hpp>
#include <cuenv/mps_values.hpp>
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

// Short forms, so that a row below is data and little else.

inline constexpr auto measured = Evidence::measured;
inline constexpr auto documented = Evidence::documented;
inline constexpr auto writes_files = Privilege::writes_files;

template <Evidence evidence = documented>
constexpr Variable<bool> switch_row(VariableInfo info) {
  info.accepted = "0 or 1";
  return {info, parse_switch, format_switch, switch_effect<evidence>};
}

template <class E>
constexpr Variable<E> word_row(VariableInfo const& info, Effect (*effect)(std::string_view)) {
  return {info, parse_word<E>, format_word<E>, effect};
}

template <int low, int high>
constexpr Variable<int> integer_row(VariableInfo const& info, Effect (*effect)(std::string_view) = as_written_effect) {
  return {info, parse_integer<low, high>, format_integer, effect};
}

constexpr Variable<std::string> text_row(VariableInfo const& info) {
  return {info, parse_text, format_text, as_written_effect};
}

[[nodiscard]] inline std::optional<VisibleDevices> parse_visible_devices_row(std::string_view, std::string_view text,
                                                                             Diagnostics& problems) {
  return parse_visible_devices(text, problems);
}

constexpr Variable<std::string> directory_row(VariableInfo const& info) {
  return {info, parse_directory, format_text, as_written_effect};
}

}  // namespace detail

// A row: name, accepted text, default, when it is read and how that is known, first and last CUDA version ("" where not
// established), platform ("" for every), purpose, privilege.

// Which devices -------------------------------------------------------------------------------------------------------

/// CUDA_VISIBLE_DEVICES: the GPUs of this process, in the order in which it numbers them.
inline constexpr Variable<VisibleDevices> visible_devices{
    {"CUDA_VISIBLE_DEVICES", "indices, GPU- or MIG- UUIDs, -1", "every GPU", Moment::init, detail::measured, "", "", "",
     "choose the GPUs of this process, and their order"},
    detail::parse_visible_devices_row,
    format_visible_devices,
    nullptr};

/// CUDA_DEVICE_ORDER: what an index in it means. Physical indices bring `pci_bus_id` with them.
inline constexpr Variable<DeviceOrder> device_order = detail::word_row<DeviceOrder>(
    {"CUDA_DEVICE_ORDER", "PCI_BUS_ID or FASTEST_FIRST", "FASTEST_FIRST", Moment::init, detail::measured, "", "", "",
     "what an index means: nvidia-smi's GPU, or a rank by speed"},
    detail::device_order_effect);

/// CUDA_MANAGED_FORCE_DEVICE_ALLOC: true puts managed memory on the GPU.
inline constexpr Variable<bool> managed_force_device_alloc{
    {"CUDA_MANAGED_FORCE_DEVICE_ALLOC", "0 or 1", "0", Moment::unknown, detail::documented, "", "", "",
     "put managed memory on the GPU; every GPU in use must reach the others"},
    detail::parse_switch,
    detail::format_switch,
    detail::nonzero_effect};

// Compiling PTX, and the cache for it ---------------------------------------------------------------------------------

/// CUDA_CACHE_PATH: the folder of what is compiled from PTX.
inline constexpr Variable<std::string> cache_path{
    {"CUDA_CACHE_PATH", "a directory", "$HOME/.nv/ComputeCache (Windows: %APPDATA%\\NVIDIA\\ComputeCache)",
     Moment::init, detail::measured, "", "", "", "where code compiled from PTX is kept", detail::writes_files},
    detail::parse_directory,
    detail::format_text,
    detail::cache_path_effect};

/// CUDA_CACHE_MAXSIZE: how large that folder may grow, to `gibibytes(4)` at most; below 1 KiB nothing new is kept.
inline constexpr Variable<ByteCount> cache_max_size{
    {"CUDA_CACHE_MAXSIZE", "0 to 4294967296, plain digits", "1073741824 (embedded: 268435456)", Moment::init,
     detail::measured, "", "", "", "how large the cache may grow, in bytes"},
    detail::parse_byte_count,
    detail::format_byte_count,
    detail::cache_max_size_effect};

/// CUDA_CACHE_DISABLE: true compiles PTX anew in each process.
inline constexpr Variable<bool> cache_disable = detail::switch_row<detail::measured>(
    {"CUDA_CACHE_DISABLE", "", "0", Moment::init, detail::measured, "", "", "", "compile PTX anew in each process"});

/// CUDA_FORCE_PTX_JIT: true passes machine code over, to prove that PTX is there.
inline constexpr Variable<bool> force_ptx_jit =
    detail::switch_row({"CUDA_FORCE_PTX_JIT", "", "0", Moment::init, detail::documented, "", "", "",
                        "ignore machine code and compile PTX; to prove that PTX is there. Wins over CUDA_FORCE_JIT"});

/// CUDA_FORCE_JIT: the same, since CUDA 13.1.
inline constexpr Variable<bool> force_jit =
    detail::switch_row({"CUDA_FORCE_JIT", "", "0", Moment::init, detail::documented, "13.1", "", "",
                        "the same as CUDA_FORCE_PTX_JIT; works on CUDA 13.0 too"});

/// CUDA_DISABLE_PTX_JIT: true refuses PTX, to prove that machine code is there.
inline constexpr Variable<bool> disable_ptx_jit = detail::switch_row<detail::measured>(
    {"CUDA_DISABLE_PTX_JIT", "", "0", Moment::init, detail::measured, "", "", "",
     "never compile PTX; to prove that machine code is there. Wins over CUDA_DISABLE_JIT"});

/// CUDA_DISABLE_JIT: the same, since CUDA 13.1.
inline constexpr Variable<bool> disable_jit =
    detail::switch_row({"CUDA_DISABLE_JIT", "", "0", Moment::init, detail::measured, "13.1", "", "",
                        "the same as CUDA_DISABLE_PTX_JIT; works on CUDA 13.0 too"});

/// CUDA_FORCE_PRELOAD_LIBRARIES: true loads the compiler's libraries in cuInit. Since CUDA 13.1.
inline constexpr Variable<bool> force_preload_libraries = detail::switch_row(
    {"CUDA_FORCE_PRELOAD_LIBRARIES", "", "documents disagree: 0 or 1", Moment::init, detail::documented, "13.1", "", "",
     "load the compiler's libraries in cuInit; against deadlocks of many threads"});

// Execution -----------------------------------------------------------------------------------------------------------

/// CUDA_LAUNCH_BLOCKING: true waits for each kernel at its launch.
inline constexpr Variable<bool> launch_blocking =
    detail::switch_row<detail::measured>({"CUDA_LAUNCH_BLOCKING", "", "0", Moment::context, detail::measured, "", "",
                                          "", "wait for each kernel at its launch; for debugging"});

/// CUDA_DEVICE_MAX_CONNECTIONS: hardware queues for streams, 1 to 32.
inline constexpr Variable<int> device_max_connections = detail::integer_row<1, 32>(
    {"CUDA_DEVICE_MAX_CONNECTIONS", "1 to 32", "8 (MPS clients from Volta on: 2)", Moment::init, detail::measured, "",
     "", "", "hardware queues that streams are spread over"},
    detail::max_connections_effect);

/// CUDA_DEVICE_MAX_COPY_CONNECTIONS: the same for copies alone, 1 to 32. Since CUDA 13.1.
inline constexpr Variable<int> device_max_copy_connections =
    detail::integer_row<1, 32>({"CUDA_DEVICE_MAX_COPY_CONNECTIONS", "1 to 32", "8", Moment::unknown, detail::documented,
                                "13.1", "", "", "the same for copies alone; compute capability 8.0 and later"});

/// CUDA_SCALE_LAUNCH_QUEUES: size of the command buffers. Since CUDA 13.1.
inline constexpr Variable<LaunchQueueScale> scale_launch_queues =
    detail::word_row<LaunchQueueScale>({"CUDA_SCALE_LAUNCH_QUEUES", "0.25x, 0.5x, 2x or 4x", "1x", Moment::unknown,
                                        detail::documented, "13.1", "", "", "size of the command buffers"},
                                       detail::launch_queue_effect);

/// CUDA_GRAPHS_USE_NODE_PRIORITY: true gives each node of a graph its own priority. Since CUDA 13.1.
inline constexpr Variable<bool> graphs_use_node_priority =
    detail::switch_row({"CUDA_GRAPHS_USE_NODE_PRIORITY", "", "0", Moment::unknown, detail::documented, "13.1", "", "",
                        "give each node of a graph its own priority"});

/// CUDA_DEVICE_WAITS_ON_EXCEPTION: true hangs at an exception until a debugger comes.
inline constexpr Variable<bool> device_waits_on_exception =
    detail::switch_row({"CUDA_DEVICE_WAITS_ON_EXCEPTION", "", "0", Moment::unknown, detail::documented, "", "", "",
                        "stop at an exception until a debugger comes: the program hangs without one"});

/// CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT: share of the L2 cache, in percent. Too much ends CUDA.
inline constexpr Variable<int> persisting_l2_percentage = detail::integer_row<0, 100>(
    {"CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT", "0 to 100, at most what the GPU can persist",
     "0 by the documents; an H200 set 11.25 MiB aside", Moment::init, detail::measured, "", "", "",
     "share of the L2 cache set aside; documented for MPS and 8.0 or later, works without MPS"},
    detail::l2_percentage_effect);

/// CUDA_DISABLE_PERF_BOOST: true saves power and costs latency. Linux, since CUDA 13.1.
inline constexpr Variable<bool> disable_perf_boost =
    detail::switch_row({"CUDA_DISABLE_PERF_BOOST", "", "0", Moment::unknown, detail::documented, "13.1", "", "Linux",
                        "less power, more latency"});

/// CUDA_PREFER_SPINLOCKS_ON_HOST: true lowers the latency of the driver's locks. Since CUDA 13.4.
inline constexpr Variable<bool> prefer_spinlocks_on_host =
    detail::switch_row({"CUDA_PREFER_SPINLOCKS_ON_HOST", "", "0", Moment::unknown, detail::documented, "13.4", "", "",
                        "lower latency of locks in driver and runtime; not in driver 580"});

/// CUDA_AUTO_BOOST: true lets the GPU's clocks boost. Deprecated.
inline constexpr Variable<bool> auto_boost =
    detail::switch_row({"CUDA_AUTO_BOOST", "", "as set by nvidia-smi", Moment::unknown, detail::documented, "", "", "",
                        "deprecated: use nvidia-smi for clocks"});

// Loading modules -----------------------------------------------------------------------------------------------------

/// CUDA_MODULE_LOADING: kernels are loaded at their first use, or all at the start. Since CUDA 11.7.
inline constexpr Variable<ModuleLoading> module_loading = detail::word_row<ModuleLoading>(
    {"CUDA_MODULE_LOADING", "DEFAULT, LAZY or EAGER", "LAZY (Linux since 12.2, Windows since 12.3)", Moment::init,
     detail::measured, "11.7", "", "", "load each kernel at its first use, or all at the start"},
    detail::module_loading_effect);

/// CUDA_MODULE_DATA_LOADING: the same for the data of modules.
inline constexpr Variable<ModuleLoading> module_data_loading = detail::word_row<ModuleLoading>(
    {"CUDA_MODULE_DATA_LOADING", "DEFAULT, LAZY or EAGER", "as CUDA_MODULE_LOADING", Moment::unknown,
     detail::documented, "", "", "", "the same for the data of modules"},
    detail::as_written_effect);

/// CUDA_BINARY_LOADER_THREAD_COUNT: threads that load machine code, 0 to 1024; 0 is one. Since CUDA 13.1.
inline constexpr Variable<int> binary_loader_thread_count =
    detail::integer_row<0, 1024>({"CUDA_BINARY_LOADER_THREAD_COUNT", "0 to 1024", "0: one thread", Moment::unknown,
                                  detail::documented, "13.1", "", "", "threads that load machine code"});

/// CUDA_DEVICE_DEFAULT_STACK_SIZE_MAX: true reserves the largest stack that a module can need. Since CUDA 13.4.
inline constexpr Variable<bool> default_stack_size_max =
    detail::switch_row({"CUDA_DEVICE_DEFAULT_STACK_SIZE_MAX", "", "0", Moment::module_load, detail::documented, "13.4",
                        "", "", "reserve the largest stack that a module can need; not in driver 580"});

// Logs and core dumps -------------------------------------------------------------------------------------------------

/// CUDA_LOG_FILE: where the driver's own words on errors go: a path, stdout or stderr. Since CUDA 12.9.
inline constexpr Variable<std::string> log_file{
    {"CUDA_LOG_FILE", "stdout, stderr or a file", "no log", Moment::unknown, detail::documented, "12.9", "", "",
     "the driver's own words on errors; a bad path is noticed at the first entry only", detail::writes_files},
    detail::parse_text,
    detail::format_text,
    detail::log_file_effect};

/// CUDA_ENABLE_COREDUMP_ON_EXCEPTION: true writes a GPU core dump at an exception.
inline constexpr Variable<bool> coredump_on_exception =
    detail::switch_row({"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "", "0", Moment::init, detail::documented, "", "", "",
                        "write a GPU core dump at an exception"});

/// CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION: false leaves the host's core dump out. Deprecated since CUDA 12.5.
inline constexpr Variable<bool> cpu_coredump_on_exception =
    detail::switch_row({"CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION", "", "1", Moment::init, detail::documented, "", "", "",
                        "a host core dump too; deprecated since 12.5: use the flag skip_abort"});

/// CUDA_ENABLE_LIGHTWEIGHT_COREDUMP: true leaves memory out of GPU core dumps. Until CUDA 12.9.
inline constexpr Variable<bool> lightweight_coredump =
    detail::switch_row({"CUDA_ENABLE_LIGHTWEIGHT_COREDUMP", "", "0", Moment::init, detail::documented, "", "12.9", "",
                        "small core dumps; deprecated since 12.5: use CUDA_COREDUMP_GENERATION_FLAGS"});

/// CUDA_COREDUMP_GENERATION_FLAGS: what GPU core dumps leave out, words with commas. Since CUDA 12.5.
inline constexpr Variable<std::string> coredump_generation_flags{
    {"CUDA_COREDUMP_GENERATION_FLAGS", "a comma list of flags", "none", Moment::init, detail::documented, "12.5", "",
     "", "what a core dump leaves out"},
    detail::parse_coredump_flags,
    detail::format_text,
    detail::coredump_flags_effect};

/// CUDA_COREDUMP_FILE: the path of GPU core dumps. Privileged: with a leading | it runs a command.
inline constexpr Variable<std::string> coredump_file =
    detail::text_row({"CUDA_COREDUMP_FILE", "a path with %h, %p, %t; with a leading | a shell command",
                      "core_TIME_HOST_PID.nvcudmp", Moment::init, detail::documented, "", "", "",
                      "where core dumps go; a leading | runs a command", Privilege::runs_code});

/// CUDA_ENABLE_USER_TRIGGERED_COREDUMP: true makes a pipe that asks for a GPU core dump.
inline constexpr Variable<bool> user_triggered_coredump =
    detail::switch_row({"CUDA_ENABLE_USER_TRIGGERED_COREDUMP", "", "0", Moment::init, detail::documented, "", "", "",
                        "a pipe that asks for a core dump; not on WSL"});

/// CUDA_COREDUMP_PIPE: the name of that pipe.
inline constexpr Variable<std::string> coredump_pipe =
    detail::text_row({"CUDA_COREDUMP_PIPE", "a name with %h, %p, %t", "corepipe.cuda.HOST.PID", Moment::init,
                      detail::documented, "", "", "", "the name of that pipe", detail::writes_files});

/// CUDA_COREDUMP_SHOW_PROGRESS: true says on standard error how far a core dump is.
inline constexpr Variable<bool> coredump_show_progress =
    detail::switch_row({"CUDA_COREDUMP_SHOW_PROGRESS", "", "0", Moment::init, detail::documented, "", "", "",
                        "say on stderr how far a core dump is"});

// MPS -----------------------------------------------------------------------------------------------------------------

/// CUDA_MPS_PIPE_DIRECTORY: the folder in which the MPS daemon is found; an empty text keeps CUDA from MPS. Linux.
inline constexpr Variable<std::string> mps_pipe_directory{
    {"CUDA_MPS_PIPE_DIRECTORY", "a directory; empty for no MPS", "/tmp/nvidia-mps", Moment::init, detail::measured, "",
     "", "Linux", "where the MPS daemon is found; a process that finds one becomes its client", detail::writes_files},
    detail::parse_mps_folder,
    detail::format_text,
    detail::mps_folder_effect};

/// CUDA_MPS_LOG_DIRECTORY: the folder in which the MPS daemon writes. Linux.
inline constexpr Variable<std::string> mps_log_directory = detail::directory_row(
    {"CUDA_MPS_LOG_DIRECTORY", "a directory", "/var/log/nvidia-mps", Moment::not_driver, detail::documented, "", "",
     "Linux", "where the MPS daemon writes; read when it starts", detail::writes_files});

/// CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: share of a GPU that an MPS client may use, 1 to 100 percent: the device then has
/// so many multiprocessors (of the 132 of an H200, 50 leave 66, 10 leave 12, and 5 and less leave 8; measured). Linux.
inline constexpr Variable<int> mps_active_thread_percentage = detail::integer_row<1, 100>(
    {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "1 to 100", "the daemon's own, or no limit", Moment::init, detail::measured,
     "", "", "Linux",
     "the share of each GPU's multiprocessors that an MPS client sees; the lower of its and the daemon's"},
    detail::mps_percentage_effect);

/// CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING: true reads that share for each context. Linux.
inline constexpr Variable<bool> mps_per_context_partitioning =
    detail::switch_row({"CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING", "", "0", Moment::init,
                        detail::documented, "", "", "Linux", "read the percentage anew for each context"});

/// CUDA_MPS_PINNED_DEVICE_MEM_LIMIT: memory of an MPS client on each GPU, as in 0=1G,1=512MB: by logical index or UUID;
/// less than CUDA itself takes (514 MiB on an H200) makes the context fail with 2 (out of memory; measured). Linux.
inline constexpr Variable<std::string> mps_pinned_device_mem_limit{
    {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "device=size, as 0=1G,1=512MB", "no limit", Moment::init, detail::measured, "",
     "", "Linux", "the memory that an MPS client may use on each logical GPU, CUDA's own part included"},
    detail::parse_memory_limits,
    detail::format_text,
    detail::memory_limits_effect};

/// CUDA_MPS_CLIENT_PRIORITY: of an MPS client: 0 is normal, 1 below normal. Linux.
inline constexpr Variable<int> mps_client_priority =
    detail::integer_row<0, 1>({"CUDA_MPS_CLIENT_PRIORITY", "0 normal or 1 below normal", "0", Moment::init,
                               detail::documented, "", "", "Linux", "a hint to MPS which client comes first"});

// The table -----------------------------------------------------------------------------------------------------------

/// A variable of any type, for code that works on texts.
struct VariableRow {
  VariableInfo const* info;  ///< never null
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

using SettableRows =
    Rows<visible_devices, device_order, managed_force_device_alloc, cache_path, cache_max_size, cache_disable,
         force_ptx_jit, force_jit, disable_ptx_jit, disable_jit, force_preload_libraries, launch_blocking,
         device_max_connections, device_max_copy_connections, scale_launch_queues, graphs_use_node_priority,
         device_waits_on_exception, persisting_l2_percentage, disable_perf_boost, prefer_spinlocks_on_host, auto_boost,
         module_loading, module_data_loading, binary_loader_thread_count, default_stack_size_max, log_file,
         coredump_on_exception, cpu_coredump_on_exception, lightweight_coredump, coredump_generation_flags,
         coredump_file, user_triggered_coredump, coredump_pipe, coredump_show_progress, mps_pipe_directory,
         mps_log_directory, mps_active_thread_percentage, mps_per_context_partitioning, mps_pinned_device_mem_limit,
         mps_client_priority>;

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

// Switches for debugging ----------------------------------------------------------------------------------------------

/// A switch that helps to find a mistake and makes every other run slow, or hang, when it is left on.
struct SlowSwitch {
  std::string_view name;  ///< one of `settable_variables`
  /// What it costs while it is on.
  std::string_view cost;
};

/// Every one of them.
inline constexpr SlowSwitch slow_switches[] = {
    {"CUDA_LAUNCH_BLOCKING", "the program waits at each launch until the kernel has ended, so nothing overlaps"},
    {"CUDA_CACHE_DISABLE", "what is compiled from PTX is not kept, so every process compiles it anew"},
    {"CUDA_FORCE_PTX_JIT", "machine code is ignored, and all PTX is compiled at run time"},
    {"CUDA_FORCE_JIT", "machine code is ignored, and all PTX is compiled at run time"},
    {"CUDA_DEVICE_WAITS_ON_EXCEPTION", "at an exception on the GPU the program hangs until a debugger comes"},
};

/// The note for such a switch where the text puts it on; nothing for other variables and texts. Pure.
[[nodiscard]] inline std::optional<Diagnostic> check_slow_switch(std::string_view name, std::string_view text) {
  for (SlowSwitch const& row : slow_switches) {
    if (row.name != name || !detail::reads_as_on(text)) continue;
    return Diagnostic{
        Severity::note,        "environment.slow",  std::string{name},     std::string{text},
        Diagnostic::no_offset, "this switch is on", std::string{row.cost}, "remove it unless you are debugging"};
  }
  return std::nullopt;
}

CUENV_NAMESPACE_END

#endif  // CUENV_VARIABLES_HPP
