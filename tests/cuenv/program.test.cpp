#include <cuenv/program.hpp>
#include <cuenv/session.hpp>

#include "support/catch.hpp"
#include "support/described_environment.hpp"
#include "support/described_system.hpp"
#include "support/image_builder.hpp"
#include "support/temporary_folder.hpp"

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using cuenv::LoadConditions;
using cuenv::ProgramReport;
using cuenv::Service;
using cuenv::Session;
using cuenv_tests::DescribedEnvironment;
using cuenv_tests::DescribedSystem;

std::string image(std::string const& name) { return std::string{CUENV_TEST_IMAGES} + "/" + name; }

LoadConditions on(int major, int minor) {
  LoadConditions conditions;
  conditions.gpu = {major, minor};
  conditions.driver = cuenv::CudaVersion{13, 0};
  return conditions;
}

simulated::Machine with_gpus(int major, int minor) {
  simulated::Machine machine = simulated::shipped_machine("two_h200");
  for (auto& gpu : machine.gpus) {
    gpu.cc_major = major;
    gpu.cc_minor = minor;
    gpu.name = "Other";
  }
  return machine;
}

/// A program on a machine, with its session.
struct Program {
  explicit Program(simulated::Machine const& machine = simulated::shipped_machine("two_h200"),
                   std::map<std::string, std::string> variables = {})
      : here{machine},
        session{(here.environment.variables = std::move(variables), cuenv::Settings{}), cuenv::SessionOptions::none,
                here.system} {}

  [[nodiscard]] std::string refusal(std::vector<std::string> const& libraries) const {
    try {
      (void)session.require_images(libraries);
    } catch (cuenv::ImageError const& error) {
      return error.what();
    }
    return "it serves";
  }

  DescribedSystem here;
  Session session;
};

cuenv::FileReport const* find(ProgramReport const& report, std::string const& path) {
  for (cuenv::FileReport const& file : report.files) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

/// Loads a library for the rest of the process. It is one that nvcc made for the build machine, so cases that need it
/// have the tag [host_library], by which a cross build leaves them out.
void load(std::string const& path) {
  INFO(path);
#ifdef _WIN32
  REQUIRE(::LoadLibraryA(path.c_str()) != nullptr);
#else
  REQUIRE(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr);
#endif
}

cuenv::Diagnostic const* find(cuenv::Diagnostics const& findings, std::string_view code) {
  for (cuenv::Diagnostic const& finding : findings) {
    if (finding.code == code) return &finding;
  }
  return nullptr;
}

}  // namespace

// One file ------------------------------------------------------------------------------------------------------------

TEST_CASE("each module of a file is judged for each GPU, but for the one of nvcc's device link", "[program]") {
  auto const report = cuenv::judge_file(image("for_90_and_120"), {on(9, 0), on(12, 0), on(8, 0)}, true);
  REQUIRE(report.gpus.size() == 3);
  CHECK(report.gpus[0].native == 1);
  CHECK(report.gpus[0].incompatible == 1);
  CHECK(report.gpus[1].service() == Service::partly);
  CHECK(report.gpus[2].service() == Service::none);
  CHECK(report.findings.size() == 4);

  auto const archive = cuenv::judge_file(image("for_90_and_120.a"), {on(9, 0)}, true, "the archive");
  REQUIRE(archive.findings.size() == 1);
  CHECK_THAT(archive.findings[0].subject, Catch::Matchers::StartsWith("the archive .nv_fatbin (only_120.o) at byte "));
}

TEST_CASE("the same is said once for GPUs that are alike", "[program]") {
  auto const report = cuenv::judge_file(image("libfor_120.so"), {on(9, 0), on(9, 0)}, true);
  CHECK(report.gpus.size() == 2);
  CHECK(report.findings.size() == 1);
}

TEST_CASE("of many modules that do not serve the first are named, and the others counted", "[program]") {
  std::string modules;
  for (int i = 0; i < 70; ++i) modules += image_builder::container(image_builder::cubin_entry(120));
  cuenv_tests::TemporaryFolder const folder;
  folder.write("libmany.so", image_builder::elf({{".nv_fatbin", modules}}));
  auto const report = cuenv::judge_file((folder.path / "libmany.so").string(), {on(9, 0), on(9, 0)}, true);
  CHECK(report.gpus[0].incompatible == 70);
  REQUIRE(report.findings.size() == 65);
  CHECK(report.findings[64].code == "program.more_modules");
  CHECK(report.findings[64].severity == cuenv::Severity::error);
  CHECK(report.findings[64].what == "6 more like these are not named");
}

TEST_CASE("modules to compile are counted for one GPU, of unlike ones for that with most", "[program]") {
  std::string const machine_code = image_builder::container(image_builder::cubin_entry(90));
  std::string const ptx = image_builder::container(image_builder::ptx_entry(90));
  cuenv_tests::TemporaryFolder const folder;
  folder.write("libptx.so", image_builder::elf({{".nv_fatbin", machine_code + ptx + ptx}}));
  std::vector<std::string> const library{(folder.path / "libptx.so").string()};
  CHECK(cuenv::judge_program({on(9, 0), on(9, 0), on(9, 0)}, library, true).jit_modules == 2);
  CHECK(cuenv::judge_program({on(9, 0), on(12, 0)}, library, true).jit_modules == 2);
}

TEST_CASE("relocatable code is judged in its linked form, whatever its parts hold", "[program]") {
  auto const report = cuenv::judge_file(image("relocatable_90"), {on(9, 0), on(8, 0), on(12, 0)}, true);
  CHECK(report.gpus[0].native == 1);
  CHECK(report.gpus[0].service() == Service::all);
  CHECK(report.gpus[1].service() == Service::none);
  CHECK(report.gpus[1].incompatible == 2);
  CHECK(report.gpus[2].unknown == 2);  // PTX parts for 12.0: whether they are linked at load was not measured
  REQUIRE(report.findings.size() == 2);
  for (auto const& finding : report.findings) {
    CHECK_THAT(finding.what, Catch::Matchers::StartsWith("for 8.0: "));
    CHECK_THAT(finding.subject, ContainsSubstring("__nv_relfatbin"));
  }
}

TEST_CASE("a library that was not asked for is reported when it serves not at all, and only then", "[program]") {
  CHECK(cuenv::judge_file(image("libfor_90_and_120.so"), {on(9, 0), on(12, 0)}, false).findings.empty());
  auto const report = cuenv::judge_file(image("libfor_120.so"), {on(9, 0), on(8, 0), on(12, 0)}, false);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].severity == cuenv::Severity::warning);
  CHECK(report.findings[0].code == "program.library_serves_not_at_all");
  CHECK_THAT(report.findings[0].fix, ContainsSubstring("-gencode arch=compute_90,code=sm_90"));
}

TEST_CASE("a file that cannot be read is an error, and an odd one a warning", "[program]") {
  CHECK_THROWS_AS(cuenv::judge_file(image("no-such-file"), {on(9, 0)}, true), cuenv::FileError);
  CHECK_THROWS_AS(cuenv::judge_file(CUENV_TEST_IMAGES, {on(9, 0)}, true), cuenv::FileError);
  cuenv_tests::TemporaryFolder const folder;
  std::string const cut = (folder.path / "cut.so").string();
  std::filesystem::copy_file(image("libfor_120.so"), cut);
  std::filesystem::resize_file(cut, 3000);
  auto const report = cuenv::judge_file(cut, {on(9, 0)}, true);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].code == "program.file_damaged");
  CHECK(report.findings[0].severity == cuenv::Severity::warning);
}

TEST_CASE("a named library without GPU code is worth a warning: it may be the wrong one", "[program]") {
  cuenv_tests::TemporaryFolder const folder;
  folder.write("libnone.so", image_builder::elf({{".text", "code of the host"}}));
  std::string const library = (folder.path / "libnone.so").string();
  ProgramReport const report = Program{}.session.require_images({library});
  auto const* const file = find(report, library);
  REQUIRE(file != nullptr);
  REQUIRE(file->findings.size() == 1);
  CHECK(file->findings[0].code == "program.no_gpu_code");
  CHECK(file->findings[0].severity == cuenv::Severity::warning);
  CHECK(file->findings[0].subject == library);
  CHECK(file->findings[0].fix == "check the path");

  for (cuenv::FileReport const& other : report.files) {  // the executable has none either, and nobody expects any
    if (&other != file) CHECK(find(other.findings, "program.no_gpu_code") == nullptr);
  }
  ProgramReport const nowhere = cuenv::judge_program({}, {library}, true);  // no GPU that it would have to serve
  REQUIRE(find(nowhere, library) != nullptr);
  CHECK(find(nowhere, library)->findings.empty());
}

// The program ---------------------------------------------------------------------------------------------------------

TEST_CASE("the files of a process begin with its executable and leave the driver out", "[program][host_library]") {
  load(image("libfor_90_and_120.so"));
  auto const files = cuenv::loaded_files();
  REQUIRE_FALSE(files.empty());
  CHECK(std::filesystem::equivalent(files[0], "/proc/self/exe"));
  CHECK(std::find(files.begin(), files.end(), image("libfor_90_and_120.so")) != files.end());
  for (std::string const& file : files) {
    INFO(file);
    CHECK_THAT(file, !ContainsSubstring("libcuda.so"));
  }
}

TEST_CASE("an executable without GPU code is fine", "[program]") {
  Program const program;
  ProgramReport const report = program.session.require_images();
  REQUIRE_FALSE(report.files.empty());
  CHECK(report.files[0].required);
  CHECK(report.files[0].gpus.size() == 2);
  CHECK(report.files[0].gpus[0].service() == Service::empty);
  CHECK(cuenv::own_images().modules.empty());
#ifdef _WIN32
  CHECK(cuenv::own_images().summary.kind == cuenv::FileKind::pe);
#else
  CHECK(cuenv::own_images().summary.kind == cuenv::FileKind::elf);
#endif
}

TEST_CASE("a named library that is loaded is known by its name alone, another by its path", "[program][host_library]") {
  load(image("libfor_120.so"));
  Program const program;
  CHECK_THAT(program.refusal({"libfor_120.so"}), ContainsSubstring(image("libfor_120.so") + " .nv_fatbin at byte "));
  CHECK_THAT(program.refusal({image("libfor_120.so")}), ContainsSubstring("-gencode arch=compute_90,code=sm_90"));
  CHECK(program.refusal({image("for_90")}) == "it serves");
  CHECK_THROWS_AS(program.session.require_images({"libno_such.so"}), cuenv::FileError);
  CHECK_THROWS_AS(program.session.require_images({"/no/such/library.so"}), cuenv::FileError);
}

TEST_CASE("other loaded libraries bring no error, however little they serve", "[program][host_library]") {
  load(image("libfor_120.so"));
  load(image("libfor_90_and_120.so"));
  Program const program;
  ProgramReport const report = program.session.require_images();
  auto const* const none = find(report, image("libfor_120.so"));
  auto const* const some = find(report, image("libfor_90_and_120.so"));
  REQUIRE(none != nullptr);
  REQUIRE(some != nullptr);
  CHECK(none->gpus[0].service() == Service::none);
  CHECK(none->findings.size() == 1);
  CHECK(some->gpus[0].service() == Service::partly);
  CHECK(some->findings.empty());
}

TEST_CASE("a loaded library that was deleted meanwhile is a note", "[program][host_library]") {
  {
    cuenv_tests::TemporaryFolder const folder;
    std::string const copy = (folder.path / "libdeleted.so").string();
    std::filesystem::copy_file(image("libwith_ptx.so"), copy);
    load(copy);
  }
  Program const program;
  ProgramReport const report = program.session.require_images();
  auto const* const finding = find(report.findings, "file.unreadable");
  REQUIRE(finding != nullptr);
  CHECK(finding->severity == cuenv::Severity::note);
}

// What users report ---------------------------------------------------------------------------------------------------

TEST_CASE("\"no kernel image is available\" is said at start, with the module and the flag", "[program][reports]") {
  Program const program;
  std::string const text = program.refusal({image("libfor_120.so")});
  CHECK_THAT(text, ContainsSubstring("libfor_120.so .nv_fatbin at byte ") && ContainsSubstring("for 9.0: ") &&
                       ContainsSubstring("sm_120") && ContainsSubstring("loading it answers 209") &&
                       ContainsSubstring("build with -gencode arch=compute_90,code=sm_90"));
}

TEST_CASE("a kernel that lazy loading would miss hours later is named at start", "[program][reports]") {
  for (auto const& variables : {std::map<std::string, std::string>{}, {{"CUDA_MODULE_LOADING", "LAZY"}}}) {
    Program const program{simulated::shipped_machine("two_h200"), variables};
    std::string const text = program.refusal({image("for_90_and_120")});  // one of two modules serves
    CHECK_THAT(text, ContainsSubstring("sm_120") && !ContainsSubstring("\nerror"));
  }
}

TEST_CASE("sm_100a on a 10.3 device is refused though the majors are alike", "[program][reports]") {
  Program const program{with_gpus(10, 3)};
  CHECK_THAT(program.refusal({image("sm_100a.fatbin")}),
             ContainsSubstring("sm_100a is architecture-specific") &&
                 ContainsSubstring("-gencode arch=compute_103,code=sm_103"));
  CHECK(Program{with_gpus(10, 0)}.refusal({image("sm_100a.fatbin")}) == "it serves");
}

TEST_CASE("PTX of an \"unsupported toolchain\" is refused with the driver to install", "[program][reports]") {
  simulated::Machine machine = simulated::shipped_machine("two_h200");
  machine.driver_version = "570.86.15";
  machine.cuda_version = 12080;
  std::string const text = Program{machine}.refusal({image("compute_75.ptx")});
  CHECK_THAT(text, ContainsSubstring("PTX 9.0 is newer than the driver") && ContainsSubstring("answers 222") &&
                       ContainsSubstring("install driver 580 (CUDA 13.0) or newer") &&
                       ContainsSubstring("-gencode arch=compute_90,code=sm_90"));
}

TEST_CASE("a missing libnvidia-ptxjitcompiler is told by the strong check, machine code needs none",
          "[program][reports]") {
  simulated::Machine machine = simulated::shipped_machine("two_h200");
  machine.jit_compiler_missing = true;
  Program const program{machine};
  CHECK(program.session.require_images({image("libwith_ptx.so")}).jit_modules == 1);  // it says what depends on it
  CHECK_THROWS_WITH(program.session.require_image(image("compute_75.fatbin")),
                    ContainsSubstring("libnvidia-ptxjitcompiler.so.1 cannot be opened"));
  CHECK_NOTHROW(program.session.require_image(image("sm_90.fatbin")));
}

TEST_CASE("\"the first run takes minutes, every time\": modules to compile, and a cache that keeps nothing",
          "[program][reports]") {
  using Variables = std::map<std::string, std::string>;
  for (Variables const& variables :
       {Variables{}, Variables{{"CUDA_CACHE_DISABLE", "0"}}, Variables{{"CUDA_CACHE_MAXSIZE", "4294967296"}},
        Variables{{"CUDA_CACHE_PATH", "/var/cache/cuda"}}}) {
    Program const program{simulated::shipped_machine("two_h200"), variables};
    ProgramReport const report = program.session.require_images({image("libwith_ptx.so")});
    CHECK(report.jit_is_cached);
    auto const* const finding = find(report.findings, "program.jit");
    REQUIRE(finding != nullptr);
    CHECK(finding->severity == cuenv::Severity::note);
  }
  for (Variables const& variables : {Variables{{"CUDA_CACHE_DISABLE", "1"}}, Variables{{"CUDA_CACHE_MAXSIZE", "1G"}},
                                     Variables{{"CUDA_CACHE_MAXSIZE", "abc"}}, Variables{{"CUDA_CACHE_MAXSIZE", ""}},
                                     Variables{{"CUDA_CACHE_MAXSIZE", "0x10000"}}}) {
    INFO(variables.begin()->first << '=' << variables.begin()->second);
    Program const program{simulated::shipped_machine("two_h200"), variables};
    ProgramReport const report = program.session.require_images({image("libwith_ptx.so")});
    CHECK_FALSE(report.jit_is_cached);
    auto const* const finding = find(report.findings, "program.jit");
    REQUIRE(finding != nullptr);
    CHECK(finding->severity == cuenv::Severity::warning);
    CHECK_THAT(finding->what, ContainsSubstring("in each run anew"));
  }
}

TEST_CASE("what counts for the cache is the environment in which CUDA was started", "[program][reports]") {
  Program program{simulated::shipped_machine("two_h200"), {{"CUDA_CACHE_DISABLE", "1"}}};
  program.here.environment.variables.clear();
  CHECK_FALSE(program.session.require_images().jit_is_cached);
}

TEST_CASE("PTX that the environment forbids to compile is refused with the variables", "[program][reports]") {
  Program const program{simulated::shipped_machine("two_h200"), {{"CUDA_DISABLE_PTX_JIT", "1"}}};
  CHECK_THAT(program.refusal({image("libwith_ptx.so")}),
             ContainsSubstring("answers 223") && ContainsSubstring("unset CUDA_DISABLE_PTX_JIT"));
}

TEST_CASE("when asked, the modules of a library are loaded too, and what only the driver knows comes out",
          "[program]") {
  {
    Program const program;
    (void)program.session.require_images({image("libwith_ptx.so")}, cuenv::LoadOptions{});
    CHECK(simulated::state().contexts_made > 0);
    CHECK(simulated::state().active_primary_contexts == 0);
  }
  simulated::Machine machine = simulated::shipped_machine("two_h200");
  machine.jit_compiler_missing = true;
  Program const program{machine};
  (void)program.session.require_images({image("libwith_ptx.so")});
  try {
    (void)program.session.require_images({image("libwith_ptx.so")}, cuenv::LoadOptions{});
    FAIL("no error");
  } catch (cuenv::ImageError const& error) {
    CHECK_THAT(error.what(), ContainsSubstring("libwith_ptx.so at byte ") && ContainsSubstring("221"));
  }
}

TEST_CASE("a library that keeps its code outside the usual sections is searched before it is said to serve nothing",
          "[program]") {
  cuenv_tests::TemporaryFolder const folder;
  auto const bytes_of = [](std::string const& path) {
    std::ifstream file{path, std::ios::binary};
    return std::string{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
  };
  std::string library = bytes_of(image("libfor_120.so"));
  library.resize((library.size() + 7) / 8 * 8);
  folder.write("libhidden.so", library + bytes_of(image("sm_90.fatbin")));
  auto const report = cuenv::judge_file((folder.path / "libhidden.so").string(), {on(9, 0)}, false);
  CHECK(report.gpus.at(0).service() == cuenv::Service::partly);
  CHECK(report.findings.empty());
  CHECK_FALSE(cuenv::judge_file(image("libfor_120.so"), {on(9, 0)}, false).findings.empty());
}
