#include <cuenv/settings.hpp>

#include "support/catch.hpp"
#include "support/generated_text.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

using cuenv::Precedence;
using cuenv::Settings;

TEST_CASE("good settings have no problems and keep their order", "[settings]") {
  Settings settings;
  settings.set(cuenv::visible_devices, {cuenv::physical(1), cuenv::physical(0)})
      .set(cuenv::cache_max_size, cuenv::gibibytes(2))
      .set(cuenv::device_max_connections, 32, Precedence::override);
  CHECK(settings.problems().empty());
  REQUIRE(settings.entries().size() == 3);
  CHECK(settings.entries()[0].text == "1,0");
  CHECK(settings.entries()[1].text == "2147483648");
  CHECK(settings.entries()[2].variable->info->name == "CUDA_DEVICE_MAX_CONNECTIONS");
  CHECK(settings.entries()[2].precedence == Precedence::override);
  CHECK(settings.get(cuenv::cache_max_size) == cuenv::gibibytes(2));
  CHECK(settings.get(cuenv::launch_blocking) == std::nullopt);
}

TEST_CASE("all problems are reported together", "[settings]") {
  Settings settings;
  settings.set(cuenv::visible_devices, {cuenv::physical(0), cuenv::physical(0)})
      .set(cuenv::cache_max_size, cuenv::gibibytes(5))
      .set(cuenv::device_max_connections, 0)
      .set(cuenv::device_order, static_cast<cuenv::DeviceOrder>(7))
      .set(cuenv::cache_path, "~/cache")
      .set_text("CUDA_LAUNCH_BLOCKING", "true")
      .set_text("CUDA_NONSENSE", "1");
  auto const problems = settings.problems();
  char const* const subjects[] = {"CUDA_VISIBLE_DEVICES", "CUDA_CACHE_MAXSIZE", "CUDA_DEVICE_MAX_CONNECTIONS",
                                  "CUDA_DEVICE_ORDER",    "CUDA_CACHE_PATH",    "CUDA_LAUNCH_BLOCKING",
                                  "CUDA_NONSENSE"};
  REQUIRE(problems.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(problems[i].subject == subjects[i]);
    CHECK_FALSE(problems[i].what.empty());
    CHECK_FALSE(problems[i].fix.empty());
  }
  CHECK(settings.entries().empty());
}

TEST_CASE("values whose text would mean something else are refused", "[settings]") {
  struct Row {
    cuenv::VisibleDevices list;
    char const* text;
    char const* code;
  };
  Row const rows[] = {
      {{cuenv::physical(-1)}, "-1", "value.not_as_written"},  // it would hide every GPU
      {{cuenv::physical(-2)}, "-2", "visible_devices.malformed"},
      {{cuenv::logical(-1)}, "logical:-1", "visible_devices.malformed"},
      {{cuenv::gpu("all")}, "all", "value.not_as_written"},
      {{cuenv::gpu("none")}, "none", "value.not_as_written"},
      {{cuenv::gpu("1")}, "1", "value.not_as_written"},                          // an index
      {{cuenv::gpu("GPU-5a,GPU-c0")}, "GPU-5a,GPU-c0", "value.not_as_written"},  // two
      {{cuenv::gpu("")}, "", "visible_devices.empty"},
      {{cuenv::gpu(" GPU-5a")}, " GPU-5a", "visible_devices.malformed"},
      {{}, "", "visible_devices.empty"},
  };
  for (Row const& row : rows) {
    Settings settings;
    settings.set(cuenv::visible_devices, {cuenv::physical(0)}).set(cuenv::visible_devices, row.list);
    INFO(row.text);
    REQUIRE(settings.problems().size() == 1);
    CHECK(settings.problems()[0].subject == "CUDA_VISIBLE_DEVICES");
    CHECK(settings.problems()[0].value == row.text);
    CHECK(settings.problems()[0].code == row.code);
    CHECK(settings.entries().empty());
  }
  Settings settings;
  settings.set(cuenv::visible_devices, {cuenv::physical(-1)});
  CHECK(settings.problems()[0].offset == cuenv::Diagnostic::no_offset);
  CHECK(settings.problems()[0].fix == "give an index from 0 on, a UUID, all() or none()");
  settings.set(cuenv::visible_devices, {cuenv::physical(1)});
  CHECK(settings.problems().empty());
}

TEST_CASE("a NUL is refused with its place", "[settings]") {
  Settings settings;
  settings.set(cuenv::cache_path, std::string("/a\0b", 4));
  REQUIRE(settings.problems().size() == 1);
  CHECK(settings.problems()[0].code == "value.contains_nul");
  CHECK(settings.problems()[0].offset == 2);
  CHECK(settings.entries().empty());
}

TEST_CASE("the last choice wins and clears the problem of an earlier one", "[settings]") {
  Settings settings;
  settings.set(cuenv::device_max_connections, 33).set(cuenv::launch_blocking, true);
  CHECK(settings.problems().size() == 1);
  settings.set(cuenv::device_max_connections, 4);
  CHECK(settings.problems().empty());
  settings.set_text("CUDA_DEVICE_MAX_CONNECTIONS", "5", Precedence::override);
  CHECK(settings.get(cuenv::device_max_connections) == 5);
  CHECK(settings.entries().size() == 2);
  settings.set(cuenv::device_max_connections, 0);
  CHECK(settings.get(cuenv::device_max_connections) == std::nullopt);
  CHECK(settings.problems().size() == 1);
}

TEST_CASE("a misspelt name is answered with the right one", "[settings]") {
  struct Row {
    char const* name;
    char const* meant;
  };
  Row const rows[] = {
      {"CUDA_VISABLE_DEVICES", "CUDA_VISIBLE_DEVICES"}, {"CUDA_VISIBLE_DEVIES", "CUDA_VISIBLE_DEVICES"},
      {"CUDA_VISIBLE_DEVICE", "CUDA_VISIBLE_DEVICES"},  {"CUDA_CACHE_MAX_SIZE", "CUDA_CACHE_MAXSIZE"},
      {"CUDA_LAUCH_BLOCKING", "CUDA_LAUNCH_BLOCKING"},  {"CUDA_DEVICE_ODRER", "CUDA_DEVICE_ORDER"},
      {"CUDA_CACHE_DISABLED", "CUDA_CACHE_DISABLE"},    {"CUDA_MAX_CONNECTIONS", "CUDA_DEVICE_MAX_CONNECTIONS"},
  };
  for (Row const& row : rows) {
    INFO(row.name);
    Settings settings;
    settings.set_text(row.name, "1");
    REQUIRE(settings.problems().size() == 1);
    CHECK(settings.problems()[0].code == "settings.unknown_variable");
    CHECK(settings.problems()[0].fix == std::string{"did you mean "} + row.meant + "?");
  }
  for (char const* name : {"", "PATH", "OMP_NUM_THREADS", "NCCL_DEBUG"}) {
    INFO(name);
    Settings settings;
    settings.set_text(name, "1");
    REQUIRE(settings.problems().size() == 1);
    CHECK_THAT(settings.problems()[0].fix, ContainsSubstring("check the name"));
  }
}

TEST_CASE("physical indices contradict the order by speed, whichever is said first", "[settings]") {
  for (bool list_first : {true, false}) {
    Settings settings;
    if (list_first) settings.set(cuenv::visible_devices, {cuenv::physical(0)});
    settings.set(cuenv::device_order, cuenv::DeviceOrder::fastest_first);
    if (!list_first) settings.set(cuenv::visible_devices, {cuenv::physical(0)});
    REQUIRE(settings.problems().size() == 1);
    CHECK(settings.problems()[0].code == "settings.order_contradicts_list");
    settings.set(cuenv::visible_devices, {cuenv::gpu("GPU-5a9c")});
    CHECK(settings.problems().empty());
  }
}

TEST_CASE("only the visible devices can be refined", "[settings]") {
  Settings settings;
  settings.set(cuenv::visible_devices, {cuenv::logical(0)}, Precedence::refine);
  CHECK(settings.problems().empty());
  settings.set(cuenv::launch_blocking, true, Precedence::refine);
  REQUIRE(settings.problems().size() == 1);
  CHECK(settings.problems()[0].code == "settings.refine");
}

TEST_CASE("a settings file has comments, blanks and lines of any system", "[settings]") {
  auto const settings = cuenv::parse_settings(
      "# a comment\r\n\r\n  CUDA_VISIBLE_DEVICES =  1, 0 \r\n\tCUDA_CACHE_PATH=/a=b c\n   # "
      "another\nCUDA_LAUNCH_BLOCKING=1",
      Precedence::override);
  CHECK(settings.problems().empty());
  REQUIRE(settings.entries().size() == 3);
  CHECK(settings.entries()[0].text == "1,0");
  CHECK(settings.entries()[0].precedence == Precedence::override);
  CHECK(settings.get(cuenv::cache_path) == "/a=b c");
  CHECK(settings.get(cuenv::launch_blocking) == true);
  CHECK(cuenv::parse_settings("").entries().empty());
  CHECK(cuenv::parse_settings("\n\n#\n").problems().empty());
}

TEST_CASE("every problem of a settings file names its line", "[settings]") {
  auto const settings = cuenv::parse_settings(
      "CUDA_LAUNCH_BLOCKING = yes\n"
      "no equals here\n"
      "CUDA_DEVICE_MAX_CONNECTIONS = 8\n"
      "CUDA_DEVICE_MAX_CONNECTIONS = 9\n"
      "CUDA_VISABLE_DEVICES = 0\n"
      "CUDA_CACHE_MAXSIZE = \n"
      "= 3\n"
      "CUDA_VISIBLE_DEVICES = 0,0,x\n");
  struct Row {
    char const* line;
    char const* code;
  };
  Row const rows[] = {{"line 1", "value.not_a_switch"},        {"line 2", "settings.no_equals"},
                      {"line 4", "settings.repeated"},         {"line 5", "settings.unknown_variable"},
                      {"line 6", "value.not_a_byte_count"},    {"line 7", "settings.unknown_variable"},
                      {"line 8", "visible_devices.duplicate"}, {"line 8", "visible_devices.malformed"}};
  auto const problems = settings.problems();
  REQUIRE(problems.size() == std::size(rows));
  for (std::size_t i = 0; i < problems.size(); ++i) {
    CHECK_THAT(to_string(problems[i]), ContainsSubstring(rows[i].line));
    CHECK(problems[i].code == rows[i].code);
    CHECK_FALSE(problems[i].fix.empty());
  }
  CHECK(settings.get(cuenv::device_max_connections) == 8);
}

TEST_CASE("a settings file that contradicts itself is refused", "[settings]") {
  auto const settings = cuenv::parse_settings("CUDA_DEVICE_ORDER=FASTEST_FIRST\nCUDA_VISIBLE_DEVICES=1\n");
  REQUIRE(settings.problems().size() == 1);
  CHECK(settings.problems()[0].code == "settings.order_contradicts_list");
}

TEST_CASE("settings come from any map of names to texts", "[settings]") {
  auto const ordered = cuenv::settings_from(
      std::map<std::string, std::string>{{"CUDA_CACHE_DISABLE", "1"}, {"CUDA_DEVICE_ORDER", "foo"}});
  CHECK(ordered.get(cuenv::cache_disable) == true);
  REQUIRE(ordered.problems().size() == 1);
  CHECK(ordered.problems()[0].subject == "CUDA_DEVICE_ORDER");
  auto const list = cuenv::settings_from(
      std::vector<std::pair<char const*, std::string_view>>{{"CUDA_VISIBLE_DEVICES", "none"}}, Precedence::override);
  CHECK(list.get(cuenv::visible_devices) == cuenv::VisibleDevices::none());
  CHECK(list.entries()[0].precedence == Precedence::override);
}

TEST_CASE("any bytes as a settings file give settings or problems", "[settings]") {
  cuenv_tests::Generator generator;
  for (int i = 0; i < 2000; ++i) {
    std::string const text = generator.text("CUDA_=\n\r #", 30) + "\nCUDA_VISIBLE_DEVICES=" + generator.bytes(8);
    INFO(cuenv::detail::printable(text));
    auto const settings = cuenv::parse_settings(text);
    bool const one_of_both = !settings.entries().empty() || !settings.problems().empty();
    REQUIRE(one_of_both);
    for (auto const& problem : settings.problems()) REQUIRE_FALSE(problem.what.empty());
  }
}

TEST_CASE("a byte order mark is no part of the first name", "[settings]") {
  auto const settings = cuenv::parse_settings(
      "\xef\xbb\xbf"
      "CUDA_LAUNCH_BLOCKING = 1\r\nCUDA_CACHE_DISABLE = 0\r\n");
  CHECK(settings.problems().empty());
  CHECK(settings.get(cuenv::launch_blocking) == true);
  CHECK(settings.get(cuenv::cache_disable) == false);
  CHECK(cuenv::parse_settings("CUDA_LAUNCH_BLOCKING = 1\n\xef\xbb\xbf"
                              "CUDA_CACHE_DISABLE = 0\n")
            .problems()
            .size() == 1);
}
