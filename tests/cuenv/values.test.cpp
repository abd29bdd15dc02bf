#include <cuenv/values.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

using namespace cuenv::detail;
using cuenv::Effect;

// What a driver 580.159.04 made of the texts, on an H200.

TEST_CASE("a switch is on only when its leading number is 1", "[values]") {
  for (char const* text : {"1", "01", " 1", "\t1", "1 ", "+1", "1x", "1.9", "1,0", "4294967297", "-4294967295"}) {
    INFO(text);
    Effect const effect = switch_effect<cuenv::Evidence::measured>(text);
    CHECK(effect.value == "on");
    CHECK(effect.problem.empty() == (std::string{text} == "1"));
    CHECK(effect.fix == (std::string{text} == "1" ? "" : "write 1"));
  }
  for (char const* text :
       {"0", "2", "3", "-1", "true", "TRUE", "yes", "on", "Y", "a", "0x1", "", "18446744073709551617"}) {
    INFO(text);
    Effect const effect = switch_effect<cuenv::Evidence::measured>(text);
    CHECK(effect.value == "off");
    CHECK(effect.problem.empty() == (std::string{text} == "0"));
    CHECK_FALSE(effect.fatal);
    CHECK(effect.evidence == cuenv::Evidence::measured);
  }
  CHECK(switch_effect<cuenv::Evidence::documented>("true").fix == "write 1");
  CHECK(switch_effect<cuenv::Evidence::documented>("a").fix == "write 0 or 1");
}

TEST_CASE("connections are 1 to 32, the default for no number, 32 for more", "[values]") {
  for (int i = 1; i <= 32; ++i) {
    Effect const effect = max_connections_effect(std::to_string(i));
    CHECK(effect.value == std::to_string(i));
    CHECK(effect.problem.empty());
  }
  struct Row {
    char const* text;
    char const* value;
  };
  Row const rows[] = {{"0", "8"},
                      {"", "8"},
                      {"abc", "8"},
                      {"0x20", "8"},
                      {"33", "32"},
                      {"64", "32"},
                      {"1000", "32"},
                      {"-1", "32"},
                      {"18446744073709551615", "32"},
                      {"+32", "32"},
                      {" 32", "32"},
                      {"32x", "32"},
                      {"32,1", "32"},
                      {"4294967328", "32"},
                      {"-4294967264", "32"},
                      {"1.9", "1"}};
  for (Row const& row : rows) {
    INFO(row.text);
    Effect const effect = max_connections_effect(row.text);
    CHECK(effect.value == row.value);
    CHECK_FALSE(effect.problem.empty());
    CHECK(effect.fix == std::string{"write "} + row.value);
  }
}

TEST_CASE("the size of the cache is read without units", "[values]") {
  struct Row {
    char const* text;
    char const* value;
    bool means_it;
  };
  Row const rows[] = {
      {"1G", "1 byte: nothing new is cached", false},
      {"1M", "1 byte: nothing new is cached", false},
      {"1e9", "1 byte: nothing new is cached", false},
      {"1,048,576", "1 byte: nothing new is cached", false},
      {"4096M", "4096 bytes", false},
      {"abc", "0 bytes: nothing new is cached", false},
      {"", "0 bytes: nothing new is cached", false},
      {"0", "0 bytes: nothing new is cached", true},
      {"0x10000", "0 bytes: nothing new is cached", false},
      {"1048576x", "1048576 bytes", false},
      {" 1048576", "1048576 bytes", false},
      {"+1048576", "1048576 bytes", false},
      {"1048576", "1048576 bytes", true},
      {"4294967296", "4294967296 bytes", true},
      {"4294967297", "4294967296 bytes", false},
      {"-1", "4294967296 bytes", false},
      {"99999999999999999999999", "4294967296 bytes", false},
  };
  for (Row const& row : rows) {
    INFO(row.text);
    Effect const effect = cache_max_size_effect(row.text);
    CHECK(effect.value == row.value);
    CHECK(effect.problem.empty() == row.means_it);
    CHECK(effect.fix.empty() == row.means_it);
    CHECK_FALSE(effect.fatal);
  }
  CHECK(cache_max_size_effect("1G").fix == "write 1073741824");
  CHECK(cache_max_size_effect("512k").fix == "write 524288");
  CHECK(cache_max_size_effect("5G").fix == "write the number of bytes in plain digits");  // beyond 4 GiB
}

TEST_CASE("a cache path that cannot be used caches nothing", "[values]") {
  for (char const* text : {"", "~/x", "/dev/null", "/proc", "/proc/x"}) {
    INFO(text);
    Effect const effect = cache_path_effect(text);
    CHECK(effect.value == "nothing is cached");
    CHECK_FALSE(effect.problem.empty());
    CHECK_FALSE(effect.fix.empty());
  }
  for (char const* text : {"/a/b/c", "relative/folder", "/a/", "/process", "a~b"}) {
    INFO(text);
    CHECK(cache_path_effect(text).value == text);
    CHECK(cache_path_effect(text).problem.empty());
  }
}

TEST_CASE("the device order is one of two words, or there is no CUDA", "[values]") {
  for (char const* text : {"PCI_BUS_ID", "FASTEST_FIRST"}) {
    CHECK(device_order_effect(text).value == text);
    CHECK_FALSE(device_order_effect(text).fatal);
    CHECK(device_order_effect(text).problem.empty());
  }
  for (char const* text : {"pci_bus_id", " PCI_BUS_ID", "PCI_BUS_ID ", "foo", ""}) {
    INFO(text);
    CHECK(device_order_effect(text).fatal);
    CHECK_FALSE(device_order_effect(text).problem.empty());
    CHECK(device_order_effect(text).fix == "write PCI_BUS_ID");
  }
  CHECK(device_order_effect("fastest_first").fix == "write FASTEST_FIRST");
  CHECK(device_order_effect(std::string(1023, 'x')).fatal);
  auto const ignored = device_order_effect("PCI_BUS_ID" + std::string(1014, ' '));
  CHECK_FALSE(ignored.fatal);  // as if it were not set
  CHECK(ignored.value == "FASTEST_FIRST");
  CHECK(ignored.problem == "it is longer than the driver takes");
  CHECK(ignored.fix == "write PCI_BUS_ID");
}

TEST_CASE("modules are loaded eagerly for EAGER in any case and nothing else", "[values]") {
  for (char const* text : {"EAGER", "eager", "Eager"}) {
    CHECK(module_loading_effect(text).value == "eager");
    CHECK(module_loading_effect(text).problem.empty());
  }
  for (char const* text : {"LAZY", "DEFAULT", "lazy"}) {
    CHECK(module_loading_effect(text).value == "lazy");
    CHECK(module_loading_effect(text).problem.empty());
  }
  for (char const* text : {"", "foo", "AUTO", "EAGER ", " EAGER", "EAGERx"}) {
    INFO(text);
    CHECK(module_loading_effect(text).value == "lazy");
    CHECK_FALSE(module_loading_effect(text).problem.empty());
  }
  CHECK(module_loading_effect(" EAGER").fix == "write EAGER");
  CHECK(module_loading_effect("AUTO").fix == "write LAZY or EAGER");
}

TEST_CASE("a share of the L2 cache beyond what the GPU persists ends the context", "[values]") {
  struct Row {
    char const* text;
    char const* value;
    bool means_it;
  };
  Row const rows[] = {{"0", "0 percent", true},
                      {"1", "1 percent", true},
                      {"25", "25 percent", true},
                      {"50", "50 percent", true},
                      {"51", "51 percent", true},
                      {"60", "60 percent", true},
                      {"62", "62 percent", true},
                      {"50x", "50 percent", false},
                      {"1.5", "1 percent", false},
                      {"", "0 percent", false},
                      {"abc", "0 percent", false},
                      {"-1", "0 percent", false},
                      {"4294967346", "50 percent", false},
                      {"18446744073709551615", "0 percent", false}};
  for (Row const& row : rows) {
    INFO(row.text);
    Effect const effect = l2_percentage_effect(row.text);
    CHECK(effect.value == row.value);
    CHECK(effect.problem.empty() == row.means_it);
    CHECK_FALSE(effect.fatal);
  }
  for (char const* text : {"63", "65", "70", "74", "75", "76", "80", "90", "95", "99", "100", "101"}) {
    INFO(text);
    Effect const effect = l2_percentage_effect(text);
    CHECK(effect.fatal);
    CHECK_THAT(effect.problem, ContainsSubstring("creating a context fails"));
    CHECK(effect.fix == "write 62 or less");
  }
}

TEST_CASE("command buffers are scaled by four words, and by nothing else", "[values]") {
  for (char const* text : {"0.25x", "0.5x", "2x", "4x"}) CHECK(launch_queue_effect(text).value == text);
  for (char const* text : {"", "1x", "2X", "2", "8x"}) {
    CHECK(launch_queue_effect(text).value == "1x");
    CHECK_FALSE(launch_queue_effect(text).problem.empty());
    CHECK(launch_queue_effect(text).evidence == cuenv::Evidence::documented);
  }
}

TEST_CASE("byte counts have units in C++ and saturate", "[values]") {
  CHECK(cuenv::kibibytes(3).bytes == 3072);
  CHECK(cuenv::mebibytes(1).bytes == 1048576);
  CHECK(cuenv::gibibytes(2) == cuenv::bytes(2147483648));
  CHECK(cuenv::gibibytes(UINT64_MAX).bytes == UINT64_MAX);
  CHECK(cuenv::gibibytes(1ULL << 34).bytes == UINT64_MAX);
}
