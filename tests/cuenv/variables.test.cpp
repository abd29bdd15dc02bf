#include <cuenv/variables.hpp>

#include "support/catch.hpp"
#include "support/generated_text.hpp"

#include <set>
#include <string>
#include <vector>

using cuenv::Diagnostic;
using cuenv::Diagnostics;

namespace {

template <class T>
void check_round_trip(cuenv::Variable<T> const& variable, T const& value) {
  Diagnostics problems;
  std::string const text = variable.format(value);
  INFO(variable.info.name << "=" << text);
  auto const read = variable.parse(variable.info.name, text, problems);
  REQUIRE(problems.empty());
  REQUIRE(read);
  CHECK(*read == value);
  CHECK(variable.format(*read) == text);
}

}  // namespace

TEST_CASE("every row of the table is complete and its name unique", "[variables]") {
  std::set<std::string_view> names;
  for (cuenv::VariableRow const& row : cuenv::settable_variables) {
    INFO(row.info->name);
    CHECK(names.insert(row.info->name).second);
    CHECK(cuenv::find_variable(row.info->name) == &row);
    CHECK_FALSE(row.info->accepted.empty());
    CHECK_FALSE(row.info->fallback.empty());
    CHECK_FALSE(row.info->purpose.empty());
    CHECK((row.effect != nullptr || row.info->name == "CUDA_VISIBLE_DEVICES"));
  }
}

TEST_CASE("a variable is found by its exact name", "[variables]") {
  CHECK(cuenv::find_variable("CUDA_CACHE_PATH") != nullptr);
  for (char const* name : {"", "cuda_cache_path", "CUDA_CACHE_PATH ", "CUDA_CACHE", "PATH"}) {
    CHECK(cuenv::find_variable(name) == nullptr);
  }
}

TEST_CASE("variables are read at the moments that were measured", "[variables]") {
  for (cuenv::VariableRow const& row : cuenv::settable_variables) {
    if (row.info->read_evidence != cuenv::Evidence::measured) continue;
    bool const blocking = row.info->name == "CUDA_LAUNCH_BLOCKING";
    CHECK(to_string(row.info->read) == (blocking ? "context creation" : "cuInit"));
  }
}

TEST_CASE("what names a place to write, or what is run, is privileged", "[variables]") {
  std::string writes;
  std::string runs;
  for (cuenv::VariableRow const& row : cuenv::settable_variables) {
    if (row.info->privilege == cuenv::Privilege::writes_files) writes += std::string{row.info->name} + "\n";
    if (row.info->privilege == cuenv::Privilege::runs_code) runs += std::string{row.info->name} + "\n";
  }
  CHECK(writes ==
        "CUDA_CACHE_PATH\nCUDA_LOG_FILE\nCUDA_COREDUMP_PIPE\nCUDA_MPS_PIPE_DIRECTORY\nCUDA_MPS_LOG_DIRECTORY\n");
  CHECK(runs == "CUDA_COREDUMP_FILE\n");
}

TEST_CASE("what is formatted is read as the same value", "[variables]") {
  for (bool on : {false, true}) {
    check_round_trip(cuenv::launch_blocking, on);
    check_round_trip(cuenv::cache_disable, on);
  }
  for (auto order : {cuenv::DeviceOrder::fastest_first, cuenv::DeviceOrder::pci_bus_id}) {
    check_round_trip(cuenv::device_order, order);
  }
  for (auto loading : {cuenv::ModuleLoading::by_default, cuenv::ModuleLoading::lazy, cuenv::ModuleLoading::eager}) {
    check_round_trip(cuenv::module_loading, loading);
    check_round_trip(cuenv::module_data_loading, loading);
  }
  for (auto scale : {cuenv::LaunchQueueScale::quarter, cuenv::LaunchQueueScale::half, cuenv::LaunchQueueScale::twice,
                     cuenv::LaunchQueueScale::four_times}) {
    check_round_trip(cuenv::scale_launch_queues, scale);
  }
  for (int percent = 0; percent <= 100; ++percent) check_round_trip(cuenv::persisting_l2_percentage, percent);
  for (char const* text : {"stdout", "/var/log/cuda %p", "\xff"}) check_round_trip(cuenv::log_file, std::string{text});
  check_round_trip(cuenv::coredump_generation_flags, std::string{"skip_abort,gzip_compress"});
  check_round_trip(cuenv::mps_pinned_device_mem_limit, std::string{"0=1G,1=512MB"});
  check_round_trip(cuenv::mps_pinned_device_mem_limit, std::string{"GPU-5a9c=2M"});
  for (int connections = 1; connections <= 32; ++connections) {
    check_round_trip(cuenv::device_max_connections, connections);
  }
  cuenv_tests::Generator generator;
  for (std::uint64_t edge : {0ULL, 1ULL, 4294967295ULL, 4294967296ULL}) {
    check_round_trip(cuenv::cache_max_size, cuenv::bytes(edge));
  }
  for (int i = 0; i < 300; ++i) {
    check_round_trip(cuenv::cache_max_size, cuenv::bytes(generator.number() % 4294967297U));
    check_round_trip(cuenv::cache_path, "/" + generator.text("ab /.~=,\n\xc3\xa9\xff", 20));
  }
}

TEST_CASE("the rows' canonical text stands for itself", "[variables]") {
  cuenv_tests::Generator generator;
  int accepted = 0;
  for (cuenv::VariableRow const& row : cuenv::settable_variables) {
    for (int i = 0; i < 3000; ++i) {
      Diagnostics problems;
      auto const canonical = row.canonical(generator.text("0123 ,-", 5), problems);
      if (!canonical) continue;
      ++accepted;
      REQUIRE(row.canonical(*canonical, problems) == canonical);
    }
  }
  CHECK(accepted > 1000);
}

TEST_CASE("a text that does not mean what it says is refused with its place and a fix", "[variables]") {
  struct Row {
    char const* name;
    char const* text;
    char const* code;
    std::size_t offset;
    char const* fix;
  };
  constexpr std::size_t none = Diagnostic::no_offset;
  Row const rows[] = {
      {"CUDA_LAUNCH_BLOCKING", "true", "value.not_a_switch", 0, "write 1 for on or 0 for off"},
      {"CUDA_LAUNCH_BLOCKING", "", "value.not_a_switch", 0, "write 1 for on or 0 for off"},
      {"CUDA_LAUNCH_BLOCKING", "01", "value.not_a_switch", 0, "write 1 for on or 0 for off"},
      {"CUDA_CACHE_DISABLE", "2", "value.not_a_switch", 0, "write 1 for on or 0 for off"},
      {"CUDA_DEVICE_MAX_CONNECTIONS", "0", "value.out_of_range", 0, "write a number from 1 to 32"},
      {"CUDA_DEVICE_MAX_CONNECTIONS", "33", "value.out_of_range", 0, "write a number from 1 to 32"},
      {"CUDA_DEVICE_MAX_CONNECTIONS", "4294967328", "value.out_of_range", 0, "write a number from 1 to 32"},
      {"CUDA_DEVICE_MAX_CONNECTIONS", "99999999999999999999999", "value.out_of_range", 0,
       "write a number from 1 to 32"},
      {"CUDA_DEVICE_MAX_CONNECTIONS", "32x", "value.not_a_number", 2, "write a number from 1 to 32"},
      {"CUDA_DEVICE_MAX_CONNECTIONS", "-1", "value.not_a_number", 0, "write a number from 1 to 32"},
      {"CUDA_DEVICE_MAX_CONNECTIONS", "", "value.not_a_number", 0, "write a number from 1 to 32"},
      {"CUDA_CACHE_MAXSIZE", "1G", "value.not_a_byte_count", 1, "write 1073741824"},
      {"CUDA_CACHE_MAXSIZE", "4gb", "value.not_a_byte_count", 1, "write 4294967296"},
      {"CUDA_CACHE_MAXSIZE", "5G", "value.not_a_byte_count", 1, "write the number of bytes in plain digits"},
      {"CUDA_CACHE_MAXSIZE", "0x10", "value.not_a_byte_count", 1, "write the number of bytes in plain digits"},
      {"CUDA_CACHE_MAXSIZE", "4294967297", "value.out_of_range", 0, "write 4294967296"},
      {"CUDA_CACHE_MAXSIZE", "99999999999999999999999", "value.out_of_range", 0, "write 4294967296"},
      {"CUDA_CACHE_PATH", "", "value.unusable_directory", none, "write the full path of a directory"},
      {"CUDA_CACHE_PATH", "~/cache", "value.unusable_directory", 0, "write the home directory in full"},
      {"CUDA_CACHE_PATH", "/dev/null", "value.unusable_directory", 0, "write the full path of a directory"},
      {"CUDA_DEVICE_ORDER", "pci_bus_id", "value.unknown_word", 0, "write PCI_BUS_ID"},
      {"CUDA_DEVICE_ORDER", " FASTEST_FIRST", "value.unknown_word", 0, "write FASTEST_FIRST"},
      {"CUDA_DEVICE_ORDER", "", "value.unknown_word", 0, "write FASTEST_FIRST or PCI_BUS_ID"},
      {"CUDA_MODULE_LOADING", "AUTO", "value.unknown_word", 0, "write DEFAULT, LAZY or EAGER"},
      {"CUDA_MODULE_LOADING", "eager ", "value.unknown_word", 0, "write EAGER"},
      {"CUDA_SCALE_LAUNCH_QUEUES", "1x", "value.unknown_word", 0, "write 0.25x, 0.5x, 2x or 4x"},
      {"CUDA_LOG_FILE", "", "value.empty", none, "give a value, or leave the setting out"},
      {"CUDA_COREDUMP_GENERATION_FLAGS", "skip_abort, log_only", "value.unknown_word", 11,
       "write skip_abort, skip_global_memory or another of the documented flags, without blanks"},
      {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "1G", "value.not_a_memory_limit", 0, "write it as 0=1G,1=512MB"},
      {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "", "value.not_a_memory_limit", 0, "write it as 0=1G,1=512MB"},
      {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=1K", "value.not_a_memory_limit", 0, "write it as 0=1G,1=512MB"},
      {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=1G,1=512", "value.not_a_memory_limit", 5, "write it as 0=1G,1=512MB"},
      {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=1G,1=1G,x=1G", "value.not_a_memory_limit", 10,
       "write it as 0=1G,1=512MB"},
      {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=1G,,1=1G", "value.not_a_memory_limit", 5, "write it as 0=1G,1=512MB"},
      {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=1G,", "value.not_a_memory_limit", 5, "write it as 0=1G,1=512MB"},
  };
  for (Row const& row : rows) {
    INFO(row.name << "=" << row.text);
    Diagnostics problems;
    CHECK_FALSE(cuenv::find_variable(row.name)->canonical(row.text, problems));
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].subject == row.name);
    CHECK(problems[0].value == row.text);
    CHECK(problems[0].code == row.code);
    CHECK(problems[0].offset == row.offset);
    CHECK(problems[0].fix == row.fix);
    CHECK(problems[0].severity == cuenv::Severity::error);
  }
}

TEST_CASE("every refusal of any bytes says where and what to do, and nothing is thrown", "[variables]") {
  cuenv_tests::Generator generator;
  for (int i = 0; i < 3000; ++i) {
    std::string const text = i % 2 == 0 ? generator.bytes(16) : generator.text("01239,-GPUxeE ~/", 12);
    for (cuenv::VariableRow const& row : cuenv::settable_variables) {
      INFO(row.info->name << "=" << cuenv::detail::printable(text));
      Diagnostics problems;
      auto const canonical = row.canonical(text, problems);
      REQUIRE(canonical.has_value() == problems.empty());
      if (row.effect != nullptr) REQUIRE(row.effect(text).problem.empty() == row.effect(text).fix.empty());
      for (Diagnostic const& problem : problems) {
        bool const points_inside = problem.offset == Diagnostic::no_offset || problem.offset <= text.size();
        REQUIRE(points_inside);
        REQUIRE(problem.subject == row.info->name);
        REQUIRE(problem.value == text);
        REQUIRE_FALSE(problem.what.empty());
        REQUIRE_FALSE(problem.fix.empty());
      }
    }
  }
}

TEST_CASE("what the strict reading accepts the driver reads without a problem", "[variables]") {
  cuenv_tests::Generator generator;
  for (cuenv::VariableRow const& row : cuenv::settable_variables) {
    if (row.effect == nullptr) continue;
    for (int i = 0; i < 2000; ++i) {
      Diagnostics problems;
      auto const canonical = row.canonical(generator.text("0123456789", 4), problems);
      if (!canonical) continue;
      INFO(row.info->name << "=" << *canonical);
      if (row.effect(*canonical).fatal) {  // depends on the GPU, and is said
        REQUIRE(row.info->name == cuenv::persisting_l2_percentage.info.name);
        continue;
      }
      REQUIRE(row.effect(*canonical).problem.empty());
    }
  }
  CHECK(cuenv::device_order.effect("PCI_BUS_ID").problem.empty());
}
