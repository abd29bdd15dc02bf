// The verdict against what a real driver answered, image by image (data/images_h200_r580.tsv).

#include <cuenv/inspect.hpp>
#include <cuenv/judge.hpp>
#include <cuenv/verdict_text.hpp>

#include <support/table.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

using namespace cuenv;

namespace {

std::string const corpus = CUENV_TEST_CORPUS_DIR;

/// Images on which the prediction differs from the driver's answer, and why that is right or cannot be helped.
std::map<std::string, std::string> const exceptions{
    {"broken_entry_size_past_end.fatbin",
     "stricter: the driver does not compare the entry's size with the container's"},
    {"broken_trunc_3640.fatbin", "stricter: a cut file of which the driver happens not to need the end"},
    {"broken_trunc_3647.fatbin", "stricter: a cut file of which the driver happens not to need the end"},
    {"broken_trunc_3567.cubin", "stricter: a cut file of which the driver happens not to need the end"},
    {"broken_ptx_syntax.ptx", "jit, not verified: only the compiler sees a syntax error"},
    {"broken_ptx_truncated.ptx", "jit, not verified: only the compiler sees that the text ends too early"},
    {"broken_ptx_needs_90a.ptx", "jit, not verified: only the compiler knows what an instruction needs"},
    {"ptxform_target_debug.ptx", "jit, not verified: only the compiler sees that debug information is missing"},
    {"broken_zstd_bytes.fatbin", "jit, not verified: only a decompressor sees the damage"},
    {"lie_hdr90_ptx120.fatbin", "jit, not verified: only a decompressor sees that the text has another target"},
};

struct Image {
  std::string file;
  std::string value;
  /// Without a switch, then with each of the four.
  std::vector<std::string> loads;
  std::string data;
  std::string library;
};

std::vector<Image> measured_images() {
  std::vector<Image> images;
  for (std::vector<std::string> const& row : read_table(CUENV_TEST_DATA "/images_h200_r580.tsv")) {
    REQUIRE(row.size() == 9);
    images.push_back({row[0], row[1], {row[2], row[3], row[4], row[5], row[6]}, row[7], row[8]});
  }
  return images;
}

/// The switches of a column: none, force, disable, and the same by their other names.
LoadConditions conditions_of(std::size_t column) {
  return {{9, 0}, CudaVersion{13, 0}, {column == 1 || column == 3, column == 2 || column == 4}};
}

bool never_came_back(std::string const& answer) { return answer == "HANG" || answer == "CRASH"; }

bool exists(std::string const& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file != nullptr) std::fclose(file);
  return file != nullptr;
}

}  // namespace

TEST_CASE("the prediction equals what the driver answered", "[corpus]") {
  std::vector<Image> const images = measured_images();
  CHECK(images.size() == 265);
  std::size_t present = 0;
  std::map<std::string, int> differences;
  for (Image const& image : images) {
    if (!exists(corpus + "/" + image.file)) continue;  // another release of nvcc may write files of other sizes
    ++present;
    bool dangerous = never_came_back(image.data) || never_came_back(image.library);
    for (std::string const& answer : image.loads) dangerous = dangerous || never_came_back(answer);
    ImageFile const file = inspect(corpus + "/" + image.file, {false, true});
    for (std::size_t column = 0; column < image.loads.size(); ++column) {
      std::string const& answer = image.loads[column];
      Verdict const verdict = judge_as_module(file, conditions_of(column));
      CAPTURE(image.file, column, answer, to_string(verdict.kind), reason_text(verdict, conditions_of(column)));
      if (dangerous) CHECK(verdict.kind == VerdictKind::damaged);
      if (verdict.kind == VerdictKind::damaged) CHECK_FALSE(verdict.code);
      if (verdict.kind == VerdictKind::jit) CHECK_FALSE(verdict.code);
      if (never_came_back(answer)) continue;
      bool const same = answer == "0" ? verdict.loads()
                                      : verdict.kind == VerdictKind::damaged ||
                                            (verdict.code && std::to_string(*verdict.code) == answer);
      if (!same) ++differences[image.file];
      if (!same && exceptions.count(image.file) == 0) FAIL_CHECK("differs from the driver");
    }
  }
  CHECK(present >= 255);
  if (present != images.size()) WARN(images.size() - present << " measured images were not built");
  for (auto const& [name, reason] : exceptions) {
    CAPTURE(name, reason);
    if (exists(corpus + "/" + name)) CHECK(differences.count(name) == 1);  // else it is no exception any more
  }
}

TEST_CASE("the first look finds all that a thorough one finds", "[corpus]") {
  for (Image const& image : measured_images()) {
    if (!exists(corpus + "/" + image.file)) continue;
    Verdict const first = judge_as_module(inspect(corpus + "/" + image.file), conditions_of(0));
    Verdict const thorough = judge_as_module(inspect(corpus + "/" + image.file, {false, true}), conditions_of(0));
    CAPTURE(image.file);
    CHECK(first.kind == thorough.kind);
  }
}

TEST_CASE("the entry that the driver took", "[corpus]") {
  // A name such as select_p90_e90 lists the entries in order; each writes its own number.
  std::map<std::string, std::string> const values{
      {"e80", "8001"}, {"e90", "9001"}, {"e90b", "9011"}, {"e90a", "9002"}, {"p75", "7503"},
      {"p80", "8003"}, {"p90", "9003"}, {"p90b", "9013"}, {"p90a", "9004"}, {"p120", "12003"}};
  int checked = 0;
  for (Image const& image : measured_images()) {
    if (image.file.rfind("select_", 0) != 0) continue;
    std::vector<std::string> entries;
    std::string const names = image.file.substr(7, image.file.find('.') - 7);
    for (std::size_t at = 0; at <= names.size();) {
      std::size_t const end = names.find('_', at) == std::string::npos ? names.size() : names.find('_', at);
      entries.push_back(values.at(names.substr(at, end - at)));
      at = end + 1;
    }
    Verdict const verdict = judge_as_module(inspect(corpus + "/" + image.file), conditions_of(0));
    CAPTURE(image.file);
    REQUIRE(verdict.entry < entries.size());
    CHECK(entries[verdict.entry] == image.value);
    ++checked;
  }
  CHECK(checked == 13);
}

TEST_CASE("programs, libraries and objects made by nvcc", "[corpus]") {
  struct Expected {
    char const* name;
    FileKind kind;
    std::size_t modules;
    std::size_t device_links;
    char const* section;
  };
  for (Expected const& expected :
       {Expected{"one.o", FileKind::elf, 1, 0, ".nv_fatbin"},
        Expected{"one_rdc.o", FileKind::elf, 1, 0, "__nv_relfatbin"},
        Expected{"libtwo.a", FileKind::archive, 2, 0, ".nv_fatbin"},
        Expected{"libtwo.so", FileKind::elf, 2, 0, ".nv_fatbin"},
        Expected{"libtwo_stripped.so", FileKind::elf, 2, 0, ".nv_fatbin"},
        Expected{"libtwo_no_sections.so", FileKind::elf, 2, 0, ""},
        Expected{"libtwo_lld.so", FileKind::elf, 2, 0, ".nv_fatbin"},
        Expected{"exe", FileKind::elf, 4, 1, ".nv_fatbin"}, Expected{"exe_lld", FileKind::elf, 4, 1, ".nv_fatbin"},
        Expected{"exe_rdc", FileKind::elf, 4, 1, "__nv_relfatbin"}, Expected{"plain", FileKind::elf, 0, 0, ""}}) {
    std::string const path = corpus + "/host/" + expected.name;
    CAPTURE(path);
    if (!exists(path)) {
      WARN("not built: " << path);
      continue;
    }
    ImageFile const file = inspect(path);
    CHECK(file.summary.kind == expected.kind);
    CHECK(file.summary.damage == Damage::none);
    CHECK(file.modules.size() == expected.modules);
    std::size_t device_links = 0;
    for (ImageModule const& module : file.modules) {
      if (module.device_link) {
        ++device_links;
        continue;
      }
      CHECK(module.section == expected.section);
      CHECK(module.member.empty() == (expected.kind != FileKind::archive));
      CHECK(judge(module, conditions_of(0)).kind == VerdictKind::native);
      REQUIRE(module.entries.size() == 3);
      CHECK(module.entries[0].target == Target{75, 0});
      CHECK(module.entries[1].target == Target{90, 'a'});
      CHECK(module.entries[2].kind == ImageKind::ptx);
    }
    CHECK(device_links == expected.device_links);
    CHECK(judge_as_module(file, conditions_of(0)).code == 200);
  }
}

TEST_CASE("a lone cubin tells its a and f", "[corpus]") {
  for (char const* const target : {"75", "90", "90a", "100", "100a", "100f", "121f"}) {
    ImageFile const file = inspect(corpus + "/cubin_sm_" + target + ".cubin");
    CAPTURE(target);
    REQUIRE(file.modules.size() == 1);
    CHECK(to_string(ImageKind::cubin, file.modules[0].entries.at(0).target) == std::string{"sm_"} + target);
  }
}

TEST_CASE("every cut of a real image is damage", "[corpus][robustness]") {
  for (char const* const name : {"cubin_sm_90.cubin", "multi_80_p100f_p90a.fatbin", "comp_all_speed.fatbin",
                                 "comp_all_size.fatbin", "lineinfo_90.fatbin"}) {
    std::ifstream in{corpus + "/" + name, std::ios::binary};
    std::string const whole{std::istreambuf_iterator<char>{in}, {}};
    REQUIRE(whole.size() > 300);
    for (std::size_t length = 4; length < whole.size(); ++length) {
      std::vector<char> const cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
      CAPTURE(name, length);
      Verdict const verdict = judge_as_module(inspect_bytes(cut.data(), cut.size()), conditions_of(0));
      if (verdict.kind != VerdictKind::damaged) FAIL_CHECK("not damaged");
    }
  }
}
