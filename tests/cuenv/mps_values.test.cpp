#include <cuenv/variables.hpp>

#include "support/catch.hpp"

#include <string>

using cuenv::Diagnostics;
using cuenv::Effect;
using cuenv::Evidence;

// Measured as a client of a daemon: driver 580.159.04, H200 with 132 multiprocessors. The numbers of multiprocessors
// are what the driver listed; the texts with the same number count alike.
TEST_CASE("what the driver makes of a percentage", "[mps_values]") {
  struct Row {
    std::string text;
    int multiprocessors;
    std::string value;
    bool plain;
  };
  for (Row const& row : {Row{"50", 66, "50 percent", true},        Row{"1", 8, "1 percent", true},
                         Row{"100", 132, "100 percent", true},     Row{"2", 8, "2 percent", true},
                         Row{"10", 12, "10 percent", true},        Row{"10.5", 12, "10.5 percent", true},
                         Row{"99.9", 130, "99.9 percent", true},   Row{"0.5", 8, "0.5 percent", true},
                         Row{"0.0001", 8, "0.0001 percent", true}, Row{"1e1", 12, "10 percent", true},
                         Row{".5", 8, ".5 percent", false},        Row{"0x32", 66, "50 percent", true},
                         Row{"+50", 66, "50 percent", false},      Row{" 50", 66, "50 percent", false},
                         Row{"\t50", 66, "50 percent", false},     Row{"50 ", 66, "50 percent", false},
                         Row{"50%", 66, "50 percent", false},      Row{"50abc", 66, "50 percent", false},
                         Row{"50,25", 66, "50 percent", false},    Row{"0", 132, "no limit", false},
                         Row{"-0", 132, "no limit", false},        Row{"-5", 132, "no limit", false},
                         Row{"101", 132, "no limit", false},       Row{"100.5", 132, "no limit", false},
                         Row{"150", 132, "no limit", false},       Row{"4294967346", 132, "no limit", false},
                         Row{"abc", 132, "no limit", false},       Row{"", 132, "no limit", false},
                         Row{"nan", 132, "no limit", false},       Row{"inf", 132, "no limit", false}}) {
    INFO("'" << row.text << "'");
    Effect const effect = cuenv::mps_active_thread_percentage.effect(row.text);
    CHECK(effect.value == row.value);
    CHECK((effect.value == "no limit" || effect.value == "100 percent") == (row.multiprocessors == 132));
    CHECK(effect.evidence == Evidence::measured);
    CHECK(effect.problem.empty() == row.plain);
    CHECK(effect.fix.empty() == row.plain);
  }
  CHECK(cuenv::mps_active_thread_percentage.effect("50%").fix == "write 50");
}

// Measured likewise: the limit is what cuMemGetInfo left, the 514 MiB of CUDA itself added.
TEST_CASE("what the driver makes of memory limits", "[mps_values]") {
  struct Row {
    std::string text, value;
    bool plain;
  };
  for (Row const& row :
       {Row{"0=1G", "0: 1 GiB", true},
        Row{"0=1024M", "0: 1024 MiB", true},
        Row{"0=1024MB", "0: 1024 MiB", true},
        Row{"0=4GB", "0: 4 GiB", true},
        Row{"0=600M", "0: 600 MiB", true},
        Row{"1=1G,0=2G", "1: 1 GiB, 0: 2 GiB", true},
        Row{"GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b=1G", "GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b: 1 GiB", true},
        Row{"0=1g", "0: 1 GiB", false},
        Row{"0=1GiB", "0: 1 GiB", false},
        Row{"0=1Gx", "0: 1 GiB", false},
        Row{"0=1G ", "0: 1 GiB", false},
        Row{"0 = 1G", "0: 1 GiB", false},
        Row{"0=1G;1=1G", "0: 1 GiB", false},
        Row{"0=1", "0: 1 MiB", false},
        Row{"0=1K", "0: 1 MiB", false},
        Row{"0=1T", "0: 1 MiB", false},
        Row{"0=1.5G", "0: 1 MiB", false},
        Row{"0=1073741824", "0: 1073741824 MiB", false},
        Row{"0=0", "0: no limit", false},
        Row{"0=-1", "0: no limit", false},
        Row{"1G", "no limit", false},
        Row{"abc", "no limit", false},
        Row{"0=", "no limit", false},
        Row{"=1G", "no limit", false},
        Row{"0:1G", "no limit", false},
        Row{",0=1G", "no limit", false},
        Row{" 0=1G", "no limit", false},
        Row{"0=1G,x", "no limit", false},
        Row{"0=1G,", "0: 1 GiB", false},
        Row{"0=1G,,", "no limit", false},
        Row{"0=1G ,1=1G", "0: 1 GiB, 1: 1 GiB", false},
        Row{"0=1G, 1=1G", "no limit", false},
        Row{"00=1G", "00: 1 GiB", true},
        Row{"+0=1G", "no limit", false},
        Row{"0=+1G", "0: 1 GiB", false},
        Row{"0= 1G", "0: 1 GiB", false},
        Row{"0=0x1G", "0: no limit", false},
        Row{"GPU-=1G", "no limit", false},
        Row{"0=1G=2G", "0: 1 GiB", false},
        Row{"0a=1G", "0a: 1 GiB", false},
        Row{"0;=1G", "0;: 1 GiB", false},
        Row{"0x0=1G", "0x0: 1 GiB", false},
        Row{"-1=1G", "no limit", false},
        Row{"", "no limit", false}}) {
    INFO("'" << row.text << "'");
    Effect const effect = cuenv::mps_pinned_device_mem_limit.effect(row.text);
    CHECK(effect.value == row.value);
    CHECK(effect.problem.empty() == row.plain);
    CHECK(effect.fix.empty() == row.plain);
    Diagnostics problems;
    CHECK(cuenv::mps_pinned_device_mem_limit.parse("NAME", row.text, problems).has_value() == row.plain);
  }
}

TEST_CASE("the folder of MPS may be empty, and a tilde is no home", "[mps_values]") {
  Diagnostics problems;
  auto const& variable = cuenv::mps_pipe_directory;
  CHECK(variable.parse(variable.info.name, "", problems) == "");
  CHECK(variable.effect("").value == "CUDA runs without MPS");
  CHECK(variable.parse(variable.info.name, "/run/mps", problems) == "/run/mps");
  CHECK(variable.effect("/run/mps").problem.empty());
  CHECK(problems.empty());
  for (char const* text : {"~/mps", " /run/mps"}) {
    problems.clear();
    CHECK(variable.parse(variable.info.name, text, problems) == std::nullopt);
    REQUIRE(problems.size() == 1);
    CHECK(problems.front().code == "value.unusable_directory");
    CHECK_THAT(problems.front().driver, ContainsSubstring("without MPS"));
    CHECK_FALSE(variable.effect(text).problem.empty());
  }
}
