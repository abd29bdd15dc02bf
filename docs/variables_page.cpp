// Prints docs/variables.md from the table of variables. A test compares the two.
#include <cuenv/names.hpp>
#include <cuenv/variables.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>

namespace {

/// What a variable is called in C++.
struct InCpp {
  cuenv::VariableInfo const* info;
  char const* name;
  char const* type;
};

template <class T, class U>
constexpr cuenv::VariableInfo const* row_of(cuenv::Variable<U> const& variable) {
  static_assert(std::is_same_v<T, U>, "the type in this list is another than the variable's");
  return &variable.info;
}

#define CUENV_IN_CPP(type, name) \
  { row_of<type>(cuenv::name), #name, #type }
using cuenv::ByteCount, cuenv::DeviceOrder, cuenv::LaunchQueueScale, cuenv::ModuleLoading, cuenv::VisibleDevices;
constexpr InCpp in_cpp[] = {CUENV_IN_CPP(VisibleDevices, visible_devices),
                            CUENV_IN_CPP(DeviceOrder, device_order),
                            CUENV_IN_CPP(bool, managed_force_device_alloc),
                            CUENV_IN_CPP(std::string, cache_path),
                            CUENV_IN_CPP(ByteCount, cache_max_size),
                            CUENV_IN_CPP(bool, cache_disable),
                            CUENV_IN_CPP(bool, force_ptx_jit),
                            CUENV_IN_CPP(bool, force_jit),
                            CUENV_IN_CPP(bool, disable_ptx_jit),
                            CUENV_IN_CPP(bool, disable_jit),
                            CUENV_IN_CPP(bool, force_preload_libraries),
                            CUENV_IN_CPP(bool, launch_blocking),
                            CUENV_IN_CPP(int, device_max_connections),
                            CUENV_IN_CPP(int, device_max_copy_connections),
                            CUENV_IN_CPP(LaunchQueueScale, scale_launch_queues),
                            CUENV_IN_CPP(bool, graphs_use_node_priority),
                            CUENV_IN_CPP(bool, device_waits_on_exception),
                            CUENV_IN_CPP(int, persisting_l2_percentage),
                            CUENV_IN_CPP(bool, disable_perf_boost),
                            CUENV_IN_CPP(bool, prefer_spinlocks_on_host),
                            CUENV_IN_CPP(bool, auto_boost),
                            CUENV_IN_CPP(ModuleLoading, module_loading),
                            CUENV_IN_CPP(ModuleLoading, module_data_loading),
                            CUENV_IN_CPP(int, binary_loader_thread_count),
                            CUENV_IN_CPP(bool, default_stack_size_max),
                            CUENV_IN_CPP(std::string, log_file),
                            CUENV_IN_CPP(bool, coredump_on_exception),
                            CUENV_IN_CPP(bool, cpu_coredump_on_exception),
                            CUENV_IN_CPP(bool, lightweight_coredump),
                            CUENV_IN_CPP(std::string, coredump_generation_flags),
                            CUENV_IN_CPP(std::string, coredump_file),
                            CUENV_IN_CPP(bool, user_triggered_coredump),
                            CUENV_IN_CPP(std::string, coredump_pipe),
                            CUENV_IN_CPP(bool, coredump_show_progress),
                            CUENV_IN_CPP(std::string, mps_pipe_directory),
                            CUENV_IN_CPP(std::string, mps_log_directory),
                            CUENV_IN_CPP(int, mps_active_thread_percentage),
                            CUENV_IN_CPP(bool, mps_per_context_partitioning),
                            CUENV_IN_CPP(std::string, mps_pinned_device_mem_limit),
                            CUENV_IN_CPP(int, mps_client_priority)};
#undef CUENV_IN_CPP

/// "`cuenv::cache_path`, a `std::string`"; a variable that is not in the list above ends the program.
std::string cpp_words(cuenv::VariableInfo const& info) {
  for (InCpp const& row : in_cpp) {
    if (row.info == &info) return "`cuenv::" + std::string{row.name} + "`, of type `" + row.type + "`";
  }
  std::fprintf(stderr, "%s is not in the list of C++ names\n", std::string{info.name}.c_str());
  std::exit(1);
}

/// As the cell of a table, where some characters mean something.
std::string cell(std::string_view text) {
  std::string result;
  for (char const c : text) {
    if (c == '|' || c == '\\' || c == '<') result += '\\';
    result += c;
  }
  return result.empty() ? "-" : result;
}

/// With a capital letter at its beginning.
std::string sentence(std::string_view text) {
  std::string result{text};
  if (result.front() >= 'a' && result.front() <= 'z') result.front() = static_cast<char>(result.front() - 'a' + 'A');
  return result;
}

std::string_view privilege(cuenv::VariableInfo const& info) {
  switch (info.privilege) {
    case cuenv::Privilege::none: break;
    case cuenv::Privilege::writes_files:
      return " Privileged: whoever sets it chooses where the process that reads it writes.";
    case cuenv::Privilege::runs_code: return " Privileged: whoever sets it can run code in the process.";
  }
  return "";
}

void row(cuenv::VariableInfo const& info, std::string const& cpp) {
  std::string const evidence = info.read == cuenv::Moment::unknown || info.read == cuenv::Moment::not_driver
                                   ? ""
                                   : " (" + std::string{to_string(info.read_evidence)} + ")";
  std::string const since = info.since.empty() ? "not established" : std::string{info.since};
  std::string const until = info.until.empty() ? "" : " to " + std::string{info.until};
  std::string const platform = info.platform.empty() ? "" : ", " + std::string{info.platform} + " only";
  std::printf("### %s\n\n%s.%s%s\n\n", std::string{info.name}.c_str(), sentence(info.purpose).c_str(),
              std::string{privilege(info)}.c_str(), cpp.c_str());
  std::printf("| accepted | default | read | CUDA |\n| --- | --- | --- | --- |\n");
  std::printf("| %s | %s | %s%s | %s%s%s |\n\n", cell(info.accepted).c_str(), cell(info.fallback).c_str(),
              std::string{to_string(info.read)}.c_str(), evidence.c_str(), since.c_str(), until.c_str(),
              platform.c_str());
}

}  // namespace

int main() {
  std::printf(
      "# Every variable\n\n"
      "Made from the tables in `variables.hpp` and `names.hpp` by `docs/variables_page.cpp`; a test compares the two.\n"
      "*Measured* is on driver 580.159.04 with H200, *documented* is what NVIDIA's manuals say. What is read in cuInit "
      "is\n"
      "read once, and a later change is ignored; at context creation and module load it is read again for each.\n\n"
      "## What a session can set\n\n");
  for (cuenv::VariableRow const& variable : cuenv::settable_variables) {
    row(*variable.info, " In C++: " + cpp_words(*variable.info) + ".");
  }
  std::printf("## What cuenv explains and does not set\n\n");
  for (cuenv::VariableInfo const& info : cuenv::related_variables) row(info, "");
  std::printf(
      "## Names that nothing reads\n\nRecommended here and there; in no document of NVIDIA's and not in the driver "
      "(580).\n\n| name | instead |\n| --- | --- |\n");
  for (cuenv::IneffectiveName const& name : cuenv::ineffective_names) {
    std::printf("| `%s` | %s |\n", std::string{name.name}.c_str(), cell(name.instead).c_str());
  }
  std::printf("\n## Switches that make every run slow when left on\n\n| name | cost |\n| --- | --- |\n");
  for (cuenv::SlowSwitch const& slow : cuenv::slow_switches) {
    std::printf("| `%s` | %s |\n", std::string{slow.name}.c_str(), cell(slow.cost).c_str());
  }
}
