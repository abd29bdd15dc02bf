#include <cuenv/detail/compat_note.hpp>

#include "support/catch.hpp"
#include "support/generated_text.hpp"
#include "support/image_builder.hpp"
#include "support/temporary_folder.hpp"

#include <string>
#include <vector>

using namespace cuenv::detail;
using namespace image_builder;

namespace {

std::vector<int> read(std::string const& bytes) {
  ByteReader reader{memory_source(bytes.data(), bytes.size())};
  return read_compat_branches({reader, 0, bytes.size()});
}

Section note(std::string const& json, std::string name = std::string{"NVIDIA Corporation"} + '\0') {
  std::string const content = u32(name.size()) + u32(json.size()) + u32(0) + padded(name) + json;
  return {".note.cuda.fwd_compatibility", content, 7};
}

std::string const json =
    R"({"Format": 1, "CUDA Version": "13.1", "Driver": [535, 550, 570, 575, 580, 590], "Device": [1, 2, 7]})";

}  // namespace

TEST_CASE("the note of a compat library names the branches that it serves", "[elf]") {
  std::vector<int> const served{535, 550, 570, 575, 580, 590};
  std::string const library = elf({{".text", "code"}, {".note.other", std::string(64, 'x'), 7}, note(json)});
  CHECK(read(library) == served);
  cuenv_tests::TemporaryFolder folder;
  folder.write("libcuda.so.590.44.01", library);
  CHECK(read_compat_branches((folder.path / "libcuda.so.590.44.01").string()) == served);
  std::string failure;
  CHECK(read_compat_branches((folder.path / "libcuda.so.590.44.01").string(), &failure) == served);
  CHECK(failure.empty());
  CHECK(read_compat_branches(folder.path.string(), &failure).empty());
  CHECK(failure == folder.path.string() + " is a directory");
}

TEST_CASE("without that note nothing is known", "[elf]") {
  CHECK(read("").empty());
  CHECK(read("no ELF file").empty());
  CHECK(read(elf({})).empty());
  CHECK(read(elf({note(json, std::string{"GNU"} + '\0')})).empty());
  CHECK(read(elf({note(R"({"CUDA Version": "13.1", "Device": [1]})")})).empty());
  CHECK(read(elf({note(R"({"Driver": [], "Device": [1]})")})).empty());
  CHECK(read(elf({note(R"({"Driver": 580)")})).empty());
  CHECK(read(elf({note(R"({"Driver": [x, -1, 580, 999999999999)")})) == std::vector<int>{580});
}

TEST_CASE("no damage makes the reader of notes read outside or hang", "[elf]") {
  std::string const good = elf({{".text", "code"}, note(json)});
  cuenv_tests::Generator generator;
  for (std::size_t size = 0; size < good.size(); ++size) (void)read(good.substr(0, size));
  for (int i = 0; i < 5000; ++i) {
    std::string bad = good;
    for (int j = 0; j < 3; ++j) bad[generator.below(bad.size())] = static_cast<char>(generator.below(256));
    CHECK(read(bad).size() < 100);
  }
}
