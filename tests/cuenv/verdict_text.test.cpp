#include <cuenv/inspect.hpp>
#include <cuenv/judge.hpp>
#include <cuenv/verdict_text.hpp>

#include <support/image_builder.hpp>

#include "support/catch.hpp"

#include <string>

using namespace cuenv;
using namespace image_builder;

namespace {

/// The finding on a file, as a person reads it.
std::string told(std::string const& bytes, LoadConditions const& conditions) {
  Verdict const verdict = judge_as_module(inspect_bytes(bytes.data(), bytes.size()), conditions);
  return to_string(to_diagnostic(verdict, conditions, "kernels"));
}

LoadConditions const h200{{9, 0}, CudaVersion{13, 0}, {}};

}  // namespace

TEST_CASE("report: no kernel image is available for execution on the device", "[judge][report]") {
  CHECK(told(container(cubin_entry(75) + cubin_entry(80) + cubin_entry(86)), h200) ==
        "error: kernels: the nearest code is for sm_86, an older GPU, and there is no PTX that could be compiled for "
        "9.0\n"
        "  driver: loading it answers 209\n"
        "  fix: build with -gencode arch=compute_90,code=sm_90");
}

TEST_CASE("report: architecture-specific code on a sibling", "[judge][report]") {
  LoadConditions const b300{{10, 3}, CudaVersion{13, 0}, {}};
  CHECK(told(container(cubin_entry(100, flag_a)), b300) ==
        "error: kernels: sm_100a is architecture-specific: no other GPU can run it, so 10.3 cannot\n"
        "  driver: loading it answers 209\n"
        "  fix: build with -gencode arch=compute_103,code=sm_103");
}

TEST_CASE("report: unsupported toolchain", "[judge][report]") {
  CHECK(told(ptx("9.2", "sm_90"), h200) ==
        "error: kernels: PTX 9.2 is newer than the driver, which serves CUDA 13.0 and so PTX 9.0\n"
        "  driver: loading it answers 222\n"
        "  fix: install driver 595 (CUDA 13.2) or newer, or build with -gencode arch=compute_90,code=sm_90");
  CHECK(told(ptx("99.0", "sm_90"), h200).find("install a driver newer than that of CUDA 13.5") != std::string::npos);
}

TEST_CASE("report: the program waits for the compiler at its first use", "[judge][report]") {
  CHECK(told(container(ptx_entry(80)), h200) ==
        "note: kernels: the driver compiles the PTX for compute_80 at its first use");
}

TEST_CASE("report: JIT is switched off, or forced", "[judge][report]") {
  LoadConditions conditions = h200;
  conditions.switches.disable_jit = true;
  CHECK(told(container(ptx_entry(80)), conditions).find("unset CUDA_DISABLE_PTX_JIT") != std::string::npos);
  conditions.switches = {true, false};
  CHECK(told(container(cubin_entry(90)), conditions).find("code=compute_90") != std::string::npos);
}

TEST_CASE("report: a file that is something else, empty, or damaged", "[judge][report]") {
  CHECK(told("<!DOCTYPE html>", h200).find("is no GPU code, and holds none") != std::string::npos);
  CHECK(told("", h200).find("the file is empty") != std::string::npos);
  CHECK(told(container(cubin_entry(90)).substr(0, 90), h200) ==
        "error: kernels: the GPU code is damaged: it reaches past the end of what holds it: the file was cut, or its "
        "sizes are wrong\n"
        "  fix: build or copy the file again");
}

TEST_CASE("what loads is a note, what nobody can tell a warning, and all else an error", "[judge]") {
  LoadConditions const orin{{8, 7}, CudaVersion{13, 0}, {}};
  struct Row {
    std::string bytes;
    LoadConditions conditions;
    Severity severity;
    char const* code;
    char const* driver;
    char const* fix;
  };
  for (Row const& row : {
           Row{container(cubin_entry(90)), h200, Severity::note, "image.loads", "", ""},
           Row{container(ptx_entry(80)), h200, Severity::note, "image.loads", "", ""},
           Row{container(cubin_entry(80)), orin, Severity::warning, "image.unknown", "",
               "build with -gencode arch=compute_87,code=sm_87"},
           Row{container(cubin_entry(75)), h200, Severity::error, "image.incompatible", "loading it answers 209",
               "build with -gencode arch=compute_90,code=sm_90"},
           Row{container(cubin_entry(90)).substr(0, 90), h200, Severity::error, "image.damaged", "",
               "build or copy the file again"},
           Row{"hello", h200, Severity::error, "image.nothing", "loading it answers 200",
               "build or copy the file again"},
           Row{elf({{".nv_fatbin", container(cubin_entry(90))}}), h200, Severity::error, "image.nothing",
               "loading it answers 200", "name GPU code, or use require_images for programs and libraries"},
       }) {
    INFO(row.code << " " << row.fix);
    Verdict const verdict = judge_as_module(inspect_bytes(row.bytes.data(), row.bytes.size()), row.conditions);
    Diagnostic const finding = to_diagnostic(verdict, row.conditions, "kernels at byte 8");
    CHECK(finding.severity == row.severity);
    CHECK(finding.code == row.code);
    CHECK(finding.subject == "kernels at byte 8");
    CHECK(finding.value.empty());
    CHECK(finding.what == reason_text(verdict, row.conditions));
    CHECK(finding.driver == row.driver);
    CHECK(finding.fix == row.fix);
  }
}

TEST_CASE("every reason and every kind has words", "[judge]") {
  for (int i = 0; i <= static_cast<int>(Reason::compression_newer_than_driver); ++i) {
    Verdict verdict;
    verdict.reason = static_cast<Reason>(i);
    CHECK_FALSE(reason_text(verdict, h200).empty());
    CHECK_FALSE(to_string(verdict.reason).empty());
    LoadConditions anywhere = h200;
    anywhere.driver.reset();
    CHECK_FALSE(reason_text(verdict, anywhere).empty());
    CHECK(fix_line(verdict, h200).empty() == (verdict.reason == Reason::matches));
  }
  CHECK(to_string(Reason::matches) == "matches");
  CHECK(to_string(Reason::unknown_family) == "unknown_family");
  CHECK(to_string(Reason::compression_newer_than_driver) == "compression_newer_than_driver");
  CHECK(to_string(VerdictKind::native) == "native");
  CHECK(to_string(VerdictKind::nothing) == "nothing");
  CHECK(gencode_option({12, 1}) == "-gencode arch=compute_121,code=sm_121");
}
