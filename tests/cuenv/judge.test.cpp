#include <cuenv/inspect.hpp>
#include <cuenv/judge.hpp>

#include <support/image_builder.hpp>

#include "support/catch.hpp"

#include <string>

using namespace cuenv;
using namespace image_builder;

namespace {

LoadConditions const h200{{9, 0}, CudaVersion{13, 0}, {}};

Verdict verdict(std::string const& bytes, LoadConditions const& conditions = h200) {
  return judge_as_module(inspect_bytes(bytes.data(), bytes.size()), conditions);
}
Verdict fatbin_verdict(std::string const& entries, LoadConditions const& conditions = h200) {
  return verdict(container(entries), conditions);
}
LoadConditions with_driver(int number) {
  LoadConditions conditions = h200;
  conditions.driver = CudaVersion::from_number(number);
  return conditions;
}
LoadConditions on(int sm) { return {ComputeCapability::from_sm(sm), CudaVersion{13, 0}, {}}; }

}  // namespace

TEST_CASE("which entry the driver takes", "[judge]") {
  // As measured: any cubin before any PTX, 'a' before none, of two equal cubins the first, of two equal PTX the last.
  CHECK(fatbin_verdict(cubin_entry(90) + cubin_entry(90, flag_a)).entry == 1);
  CHECK(fatbin_verdict(cubin_entry(90, flag_a) + cubin_entry(90)).entry == 0);
  CHECK(fatbin_verdict(cubin_entry(90) + cubin_entry(90)).entry == 0);
  CHECK(fatbin_verdict(ptx_entry(90) + cubin_entry(90)).entry == 1);
  CHECK(fatbin_verdict(ptx_entry(75) + ptx_entry(80)).entry == 1);
  CHECK(fatbin_verdict(ptx_entry(90) + ptx_entry(80)).entry == 0);
  CHECK(fatbin_verdict(ptx_entry(90) + ptx_entry(90)).entry == 1);
  CHECK(fatbin_verdict(cubin_entry(80) + ptx_entry(80) + ptx_entry(100, "8.6")).entry == 1);
  // The nearest SASS below the GPU.
  CHECK(fatbin_verdict(cubin_entry(80) + cubin_entry(86), on(89)).entry == 1);
}

TEST_CASE("native code is verified and loads", "[judge]") {
  Verdict const native = fatbin_verdict(cubin_entry(80) + cubin_entry(90));
  CHECK(native.kind == VerdictKind::native);
  CHECK(native.verified);
  CHECK(native.code == 0);
  CHECK(native.loads());
  CHECK(native.target == Target{90, 0});
  CHECK(verdict(cubin(86, true), on(89)).kind == VerdictKind::native);
}

TEST_CASE("PTX is never verified: only the compiler knows", "[judge]") {
  Verdict const jit = fatbin_verdict(cubin_entry(80) + ptx_entry(80));
  CHECK(jit.kind == VerdictKind::jit);
  CHECK_FALSE(jit.verified);
  CHECK_FALSE(jit.code);
  CHECK(jit.loads());
  CHECK(verdict(ptx("8.0", "sm_90")).kind == VerdictKind::jit);
}

TEST_CASE("of several misses the nearest is told", "[judge]") {
  auto const miss = [](std::string const& entries, LoadConditions const& conditions = h200) {
    Verdict const verdict = fatbin_verdict(entries, conditions);
    CHECK(verdict.kind == VerdictKind::incompatible);
    CHECK(verdict.code == 209);
    CHECK_FALSE(verdict.loads());
    return verdict;
  };
  CHECK(miss(cubin_entry(75) + cubin_entry(89) + cubin_entry(80)).entry == 1);
  CHECK(miss(cubin_entry(75)).reason == Reason::older_gpu_only);
  CHECK(miss(cubin_entry(120) + cubin_entry(100)).entry == 1);
  CHECK(miss(cubin_entry(100)).reason == Reason::newer_gpu_only);
  CHECK(miss(cubin_entry(80) + ptx_entry(120, "8.7")).reason == Reason::ptx_above_gpu);
  CHECK(miss(cubin_entry(100, flag_a), on(103)).reason == Reason::other_gpu_only);
  CHECK(miss(cubin_entry(103, flag_f), on(100)).reason == Reason::other_family);
  CHECK(miss(entry(8, 90, "IR")).reason == Reason::only_lto_ir);
  // JIT code for later GPUs is nearer than SASS for other ones; code for another GPU of the same kind nearer still.
  CHECK(miss(ptx_entry(100, "8.6") + cubin_entry(100, flag_a)).entry == 1);
}

TEST_CASE("drivers have limits", "[judge]") {
  Verdict const newer = fatbin_verdict(ptx_entry(90, "9.2"));
  CHECK(newer.reason == Reason::ptx_newer_than_driver);
  CHECK(newer.code == 222);
  CHECK(fatbin_verdict(ptx_entry(75, "7.0"), with_driver(10020)).reason == Reason::ptx_newer_than_driver);
  CHECK_FALSE(fatbin_verdict(ptx_entry(75, "7.0"), with_driver(10020)).code);
  CHECK(fatbin_verdict(ptx_entry(90, "9.2"), with_driver(13020)).kind == VerdictKind::jit);
  LoadConditions unlimited = h200;
  unlimited.driver.reset();
  CHECK(fatbin_verdict(ptx_entry(90, "9.2"), unlimited).kind == VerdictKind::jit);

  std::string const packed = entry(2, 90, zstd_frame(3000), flag_zstd, 3000);
  CHECK(fatbin_verdict(packed, with_driver(12040)).kind == VerdictKind::native);
  Verdict const older = fatbin_verdict(packed, with_driver(12030));
  CHECK(older.reason == Reason::compression_newer_than_driver);
  CHECK(older.code == 200);
  // The text counts, not the entry header; which of them is there to be seen depends on the compression.
  std::string const lying = entry(1, 90, ptx("8.0", "sm_90"), 0, 0, 99U << 16);
  CHECK(fatbin_verdict(lying).kind == VerdictKind::jit);
  std::string const unseen = entry(1, 90, zstd_frame(300), flag_zstd, 300, 99U << 16);
  CHECK(fatbin_verdict(unseen).code == 222);
}

TEST_CASE("the JIT switches", "[judge]") {
  LoadConditions force = h200;
  force.switches.force_jit = true;
  CHECK(fatbin_verdict(cubin_entry(90) + ptx_entry(80), force).entry == 1);
  CHECK(fatbin_verdict(cubin_entry(90), force).reason == Reason::cubins_passed_over);
  CHECK(fatbin_verdict(cubin_entry(90), force).code == 209);
  CHECK(verdict(cubin(90), force).kind == VerdictKind::native);

  LoadConditions disable = h200;
  disable.switches.disable_jit = true;
  CHECK(fatbin_verdict(cubin_entry(90) + ptx_entry(80), disable).kind == VerdictKind::native);
  CHECK(fatbin_verdict(ptx_entry(80), disable).reason == Reason::jit_disabled);
  CHECK(fatbin_verdict(ptx_entry(80), disable).code == 223);
  CHECK(fatbin_verdict(ptx_entry(100, "8.6"), disable).code == 209);
  CHECK(verdict(ptx("8.6", "sm_100"), disable).code == 223);
}

TEST_CASE("PTX text is judged by its head", "[judge]") {
  auto const reason = [](std::string const& text) { return verdict(text).reason; };
  CHECK(verdict(ptx("9.0", "sm_100")).code == 218);
  CHECK(reason(ptx("9.0", "sm_100")) == Reason::ptx_above_gpu);
  CHECK(reason(ptx("9.4", "sm_107")) == Reason::ptx_newer_than_driver);
  CHECK(reason(ptx("7.7", "sm_90")) == Reason::ptx_too_old_for_target);
  CHECK(reason(ptx("7.8", "sm_90a")) == Reason::ptx_too_old_for_target);
  CHECK(reason(".version 8.0\n.target sm_90\n.address_size 32\n") == Reason::ptx_32_bit);
  CHECK(reason(".version 8.0\n.target sm_90\n.entry k() {}\n") == Reason::ptx_32_bit);
  CHECK(reason(".version 8.0\n.entry k() {}\n") == Reason::ptx_without_target);
  CHECK(verdict(".version 8.0").code == 218);
  Verdict const unreadable = verdict(".version eight\n.target sm_90\n");
  CHECK(unreadable.kind == VerdictKind::incompatible);
  CHECK_FALSE(unreadable.code);
}

TEST_CASE("code for another target than its header says", "[judge]") {
  Verdict const other = fatbin_verdict(entry(2, 90, cubin(80)));
  CHECK(other.kind == VerdictKind::incompatible);
  CHECK(other.reason == Reason::lying_header);
  CHECK(other.code == 300);
  Verdict const older = fatbin_verdict(entry(2, 86, cubin(80)), on(86));
  CHECK(older.kind == VerdictKind::native);
  CHECK_FALSE(older.verified);
  CHECK_FALSE(older.code);
  CHECK(fatbin_verdict(entry(1, 90, ptx("9.0", "sm_120"))).code == 218);
}

TEST_CASE("integrated GPUs: neither yes nor no, but PTX helps", "[judge]") {
  Verdict const doubtful = fatbin_verdict(cubin_entry(80), on(87));
  CHECK(doubtful.kind == VerdictKind::unknown);
  CHECK(doubtful.reason == Reason::integrated_gpu);
  CHECK_FALSE(doubtful.code);
  CHECK(fatbin_verdict(cubin_entry(80) + ptx_entry(80), on(87)).kind == VerdictKind::jit);
}

TEST_CASE("files that hold no module of their own", "[judge]") {
  CHECK(verdict("").reason == Reason::empty_file);
  CHECK(verdict("hello").reason == Reason::no_gpu_code);
  CHECK(verdict(elf({{".nv_fatbin", container(cubin_entry(90))}})).reason == Reason::host_file);
  for (std::string const& bytes : {std::string{}, std::string{"hello"}, elf({}), archive({})}) {
    CHECK(verdict(bytes).kind == VerdictKind::nothing);
    CHECK(verdict(bytes).code == 200);
  }
  CHECK(fatbin_verdict("").reason == Reason::no_entries);
  CHECK(fatbin_verdict("").code == 209);
}

TEST_CASE("of a fatbin file only the first container counts", "[judge]") {
  std::string const first = container(cubin_entry(80));
  std::string const second = container(cubin_entry(90));
  CHECK(verdict(first + second).code == 209);
  CHECK(verdict(second + first).code == 0);
}

TEST_CASE("what is not understood is unknown, and certain only for the drivers that were measured", "[judge]") {
  std::string const later = patched(container(cubin_entry(90)), 4, u16(2));
  CHECK(verdict(later).kind == VerdictKind::unknown);
  CHECK(verdict(later).code == 200);
  CHECK_FALSE(verdict(later, with_driver(13010)).code);
  CHECK(fatbin_verdict(entry(0x40, 90, "?")).code == 209);
  CHECK_FALSE(fatbin_verdict(entry(0x40, 90, "?"), with_driver(13010)).code);
  CHECK(fatbin_verdict(cubin_entry(130, flag_f), on(131)).kind == VerdictKind::unknown);
}

TEST_CASE("the same visit judges without a list", "[judge]") {
  struct Visitor {
    ModuleJudge judge{ModuleKind::unknown, h200};
    int native = 0;
    void begin_module(ImageModule const& module) { judge = ModuleJudge{module.kind, h200}; }
    void entry(ImageEntry const& entry) { judge.add(entry); }
    void end_module(Damage damage) { native += judge.verdict(damage).kind == VerdictKind::native ? 1 : 0; }
  } visitor;
  std::string const file = elf({{".nv_fatbin", container(cubin_entry(90)) + container(cubin_entry(80))}});
  visit_image_bytes(file.data(), file.size(), visitor);
  CHECK(visitor.native == 1);
}
