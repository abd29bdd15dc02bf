// What is found in NVIDIA's own libraries against what another program counted there (data/real_files.tsv).

#include <cuenv/inspect.hpp>

#include <support/table.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

using namespace cuenv;

namespace {

std::string described(ImageEntry const& entry) {
  std::string text{to_string(entry.kind)};
  text += " " + to_string(entry.kind, entry.target) + " ";
  if (entry.kind == ImageKind::ptx) text += "ptx " + to_string(entry.ptx) + " ";
  return text += to_string(entry.compression);
}

}  // namespace

TEST_CASE("the GPU code in NVIDIA's libraries", "[real_files]") {
  std::map<std::string, std::map<std::string, int>> expected;
  std::map<std::string, std::uint64_t> sizes;
  for (std::vector<std::string> const& row : read_table(CUENV_TEST_DATA "/real_files.tsv")) {
    sizes[row.at(0)] = std::stoull(row.at(1));
    expected[row.at(0)][row.at(2)] = std::stoi(row.at(3));
  }
  REQUIRE(expected.size() == 3);  // the libraries themselves are not on every machine
  for (auto const& [name, counts] : expected) {
    std::string const path = std::string{CUENV_TEST_CUDA_LIBRARIES} + "/" + name;
    ImageFile file;
    try {
      file = inspect(path);
    } catch (FileError const&) {
      WARN("skipped, not here: " << path);
      continue;
    }
    if (file.summary.size != sizes[name]) {
      WARN("skipped, another version: " << path);
      continue;
    }
    std::map<std::string, int> found;
    for (ImageModule const& module : file.modules) {
      ++found[module.section];
      CHECK(module.damage == Damage::none);
      for (ImageEntry const& entry : module.entries) ++found[described(entry)];
    }
    CAPTURE(path);
    CHECK(found == counts);
  }
}
