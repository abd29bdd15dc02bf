#include <cuenv/visible_devices.hpp>

#include "support/catch.hpp"
#include "support/described_machines.hpp"
#include "support/generated_text.hpp"

#include <string>
#include <vector>

using namespace cuenv_tests;
using cuenv::Diagnostics;
using cuenv::VisibleDevices;

TEST_CASE("lists are written as CUDA reads them", "[visible_devices]") {
  CHECK(cuenv::format_visible_devices({cuenv::physical(1), cuenv::physical(0)}) == "1,0");
  CHECK(cuenv::format_visible_devices({cuenv::gpu("GPU-5a9c"), cuenv::mig("MIG-10")}) == "GPU-5a9c,MIG-10");
  CHECK(cuenv::format_visible_devices({cuenv::logical(1), cuenv::logical(0)}) == "logical:1,logical:0");
  CHECK(cuenv::format_visible_devices(VisibleDevices::none()) == "-1");
  CHECK(cuenv::format_visible_devices(VisibleDevices::all()) == "all");
  CHECK(cuenv::format_visible_devices({cuenv::DeviceId{*cuenv::parse_uuid(std::string{uuid_0}.substr(4))}}) == uuid_0);
}

TEST_CASE("what a list is written as is read as the same list", "[visible_devices]") {
  Generator generator;
  std::vector<VisibleDevices> lists{VisibleDevices::all(), VisibleDevices::none()};
  for (int i = 0; i < 500; ++i) {
    std::vector<cuenv::PhysicalIndex> physical;
    std::vector<cuenv::LogicalIndex> logical;
    std::vector<cuenv::DeviceId> ids;
    std::size_t const count = 1 + generator.below(6);
    std::string const uuid = to_string(*cuenv::parse_uuid(std::string{uuid_0}.substr(4)));
    for (std::size_t n = 0; n < count; ++n) {
      int const index = static_cast<int>(generator.below(1000000) * 16 + n);  // no repeats
      physical.push_back(cuenv::physical(index));
      logical.push_back(cuenv::logical(index));
      std::string id = uuid.substr(0, 1 + generator.below(36));
      id[0] = static_cast<char>('0' + n);
      ids.push_back(n % 2 == 0 ? cuenv::gpu("GPU-" + id) : cuenv::mig("MIG-" + id));
    }
    lists.emplace_back(physical);
    lists.emplace_back(logical);
    lists.emplace_back(ids);
  }
  lists.push_back({cuenv::mig("MIG-" + std::string{uuid_0} + "/1/0")});
  lists.push_back({cuenv::physical(2147483647)});
  for (VisibleDevices const& list : lists) {
    Diagnostics problems;
    std::string const text = cuenv::format_visible_devices(list);
    INFO(text);
    auto const read = cuenv::parse_visible_devices(text, problems);
    REQUIRE(problems.empty());
    REQUIRE(read);
    REQUIRE(*read == list);
  }
}

TEST_CASE("blanks around an index and the word none are fine", "[visible_devices]") {
  Diagnostics problems;
  CHECK(cuenv::parse_visible_devices(" 1 , 0\r\n", problems) == VisibleDevices{cuenv::physical(1), cuenv::physical(0)});
  CHECK(cuenv::parse_visible_devices("none", problems) == VisibleDevices::none());
  CHECK(cuenv::parse_visible_devices("gpu", problems) == std::nullopt);
  CHECK(problems.size() == 1);
}

TEST_CASE("every problem of a list is reported, each with its place", "[visible_devices]") {
  struct Problem {
    std::size_t offset;
    char const* code;
  };
  struct Row {
    char const* text;
    std::vector<Problem> problems;
  };
  Row const rows[] = {
      {"", {{0, "visible_devices.empty"}}},
      {"  ", {{0, "visible_devices.empty"}}},
      {"0,", {{2, "visible_devices.empty_entry"}}},
      {",0", {{0, "visible_devices.empty_entry"}}},
      {"0,0", {{2, "visible_devices.duplicate"}}},
      {"0,00", {{2, "visible_devices.duplicate"}}},
      {"GPU-5a,GPU-5A", {{7, "visible_devices.duplicate"}}},
      {"GPU-5a9c,1", {{9, "visible_devices.mixed_kinds"}}},
      {"0,logical:1", {{2, "visible_devices.mixed_kinds"}}},
      {"0,-1", {{2, "visible_devices.malformed"}}},
      {"+0", {{0, "visible_devices.malformed"}}},
      {"0x1", {{0, "visible_devices.malformed"}}},
      {"4294967296", {{0, "visible_devices.malformed"}}},
      {"all,0", {{0, "visible_devices.malformed"}}},
      {"GPU-", {{0, "visible_devices.malformed"}}},
      {"GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b0", {{0, "visible_devices.malformed"}}},
      {"GPU-5a9c1f0443", {{0, "visible_devices.malformed"}}},
      {"MIG-GPU-5a9c/1/0", {{0, "visible_devices.malformed"}}},
      {"x,0,,0,1;2,GPU-5a",
       {{0, "visible_devices.malformed"},
        {4, "visible_devices.empty_entry"},
        {5, "visible_devices.duplicate"},
        {7, "visible_devices.malformed"},
        {11, "visible_devices.mixed_kinds"}}},
  };
  for (Row const& row : rows) {
    INFO(row.text);
    Diagnostics problems;
    CHECK_FALSE(cuenv::parse_visible_devices(row.text, problems));
    REQUIRE(problems.size() == row.problems.size());
    for (std::size_t i = 0; i < problems.size(); ++i) {
      CHECK(problems[i].offset == row.problems[i].offset);
      CHECK(problems[i].code == row.problems[i].code);
      CHECK(problems[i].subject == "CUDA_VISIBLE_DEVICES");
      CHECK(problems[i].value == row.text);
      CHECK_FALSE(problems[i].fix.empty());
    }
  }
}

TEST_CASE("what people write and CUDA does not read has a hint", "[visible_devices]") {
  struct Row {
    char const* entry;
    char const* hint;
  };
  Row const rows[] = {
      {"\"0", "remove the quotes"},
      {"1\"", "remove the quotes"},
      {"'0'", "remove the quotes"},
      {"[0", "remove the brackets and write 0,1"},
      {"0-3", "list every index: 0,1,2"},
      {"all", "that is a word of NVIDIA_VISIBLE_DEVICES; remove CUDA_VISIBLE_DEVICES to see every GPU"},
      {"void", "that is a word of NVIDIA_VISIBLE_DEVICES; remove CUDA_VISIBLE_DEVICES to see every GPU"},
      {"none", "write -1 for no GPU"},
      {"NoDevFiles", "Slurm gave this job no GPU: ask for one with --gpus or --gres=gpu:1"},
      {"cuda:0", "write the number alone: 0, not cuda:0"},
      {"CUDA:1", "write the number alone: 0, not cuda:0"},
      {" GPU-5a9c", "remove the blank before the UUID"},
      {"GPU-5a9c ", "remove the blank behind the UUID"},
      {"gpu-5a9c", "write the tag in capitals: GPU-... or MIG-..."},
      {"GPU-xyz", "copy the UUID from nvidia-smi -L"},
      {"0;1", "separate the entries by commas: 0,1"},
      {"0 1", "separate the entries by commas: 0,1"},
      {"0:1", "separate the entries by commas: 0,1"},
      {"0x1", "write the number in decimal"},
      {"1.5", "write the number alone"},
      {"5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b", "write the UUID with its tag: GPU-..."},
      {"12345678-3e7b-4d21-8c66-0b1d2e3f4a5b", "write the UUID with its tag: GPU-..."},
      {"c07e88d2", "write the UUID with its tag: GPU-..."},
      {"", "give an index or a UUID, -1 for no GPU, or remove the variable for all"},
      {"$0", "give an index or a UUID, -1 for no GPU"},
  };
  for (Row const& row : rows) {
    INFO(row.entry);
    CHECK(cuenv::detail::visible_devices_hint(row.entry) == row.hint);
  }
}

TEST_CASE("any bytes are read or refused, and what is read is written back the same", "[visible_devices]") {
  Generator generator;
  int accepted = 0;
  for (int i = 0; i < 10000; ++i) {
    std::string const text = i % 3 == 0   ? generator.bytes(30)
                             : i % 3 == 1 ? generator.text("012, ", 6)
                                          : "GPU-" + generator.text("GPU-MIG5a,/", 20);
    INFO(cuenv::detail::printable(text));
    Diagnostics problems;
    auto const list = cuenv::parse_visible_devices(text, problems);
    REQUIRE(list.has_value() == problems.empty());
    (void)cuenv::detail::visible_devices_hint(text);
    if (!list) continue;
    ++accepted;
    REQUIRE(cuenv::parse_visible_devices(cuenv::format_visible_devices(*list), problems) == list);
  }
  CHECK(accepted > 100);
}

TEST_CASE("a long list of faults takes neither time nor memory squared", "[visible_devices]") {
  std::string malformed = "x";
  std::string repeated = "GPU-5A";
  for (int i = 1; i < 1000; ++i) malformed += ",x";
  for (int i = 1; i < 300; ++i) {
    repeated += i % 2 == 0 ? ",GPU-5A" : ",gpu-5a";
  }
  for (std::string const& text : {malformed, repeated}) {
    Diagnostics problems;
    CHECK_FALSE(cuenv::parse_visible_devices(text, problems));
    REQUIRE(problems.size() == 101);  // a hundred, and one that says that there are more
    CHECK(problems.back().code == "visible_devices.too_many_problems");
  }
  std::string good = "0";
  for (int i = 1; i < 600; ++i) good += "," + std::to_string(i);
  Diagnostics problems;
  auto const list = cuenv::parse_visible_devices(good, problems);
  REQUIRE(list);
  CHECK(list->indices().size() == 600);
  CHECK(problems.empty());
}
