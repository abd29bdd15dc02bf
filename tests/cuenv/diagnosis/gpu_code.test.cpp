#include <cuenv/diagnosis/gpu_code.hpp>

#include "support/catch.hpp"
#include "support/described_machines.hpp"
#include "support/described_tree.hpp"
#include "support/image_builder.hpp"

#include <string>
#include <vector>

using cuenv_tests::provokes;
using cuenv_tests::spares;

namespace {

/// An RTX 3090 (8.6) at the lower bus address, and an RTX 4070 (8.9).
cuenv::Machine workstation() {
  cuenv::Machine machine = cuenv_tests::unlike_gpus();
  machine.gpus[0].compute_capability = {8, 6};
  machine.gpus[1].compute_capability = {8, 9};
  return machine;
}

struct Situation {
  std::string code = image_builder::container(image_builder::cubin_entry(89));
  std::vector<cuenv::Assignment> variables;
  cuenv::Machine machine = workstation();
  cuenv::CudaVersion cuda{12, 2};
  std::optional<bool> jit_compiler = true;

  [[nodiscard]] cuenv::GpuCodeFound diagnose() const {
    cuenv_tests::DescribedTree tree;
    tree.file("/train", code);
    cuenv::DriverFound driver;
    driver.cuda = cuda;
    driver.jit_compiler = jit_compiler;
    cuenv::GpuCodeFound found =
        cuenv::diagnose_gpu_code(tree.site(variables), {tree.root() + "/train"}, machine, driver);
    for (cuenv::Diagnostic& finding : found.report.findings) {
      if (finding.subject == tree.root() + "/train") finding.subject = "train";
    }
    return found;
  }
};

std::string ptx(unsigned sm, std::string const& version) {
  return image_builder::container(image_builder::ptx_entry(sm, version));
}

}  // namespace

TEST_CASE("code for one of two GPUs: which cannot run it, and what does", "[diagnosis][gpu_code]") {
  auto const found = Situation{}.diagnose();
  REQUIRE(found.report.findings.size() == 1);
  cuenv::Diagnostic const& finding = found.report.findings[0];
  CHECK(provokes(found.report, "gpu_code.none_for_gpu"));
  CHECK(finding.severity == cuenv::Severity::error);
  CHECK(finding.subject == "train");
  CHECK(finding.what ==
        "GPU 0 (NVIDIA GeForce RTX 3090, 8.6) cannot run it: the nearest code is for sm_89, which a GPU of 8.6 cannot "
        "run, and there is no PTX that could be compiled. Of the GPUs in sight GPU 1 (NVIDIA GeForce RTX 4070, 8.9) "
        "can; which of them is device 0 only the driver knows");
  CHECK(finding.driver ==
        "loading it answers 209 (NO_BINARY_FOR_GPU); clearing the JIT cache cannot help: nothing is compiled here that "
        "could be in it");
  CHECK(finding.fix ==
        "run it with CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1 (or "
        "CUDA_VISIBLE_DEVICES=GPU-c07e88d2-91ab-4f3c-a5d0-7e6f5d4c3b2a), or build with -gencode "
        "arch=compute_86,code=sm_86");
  CHECK_FALSE(found.needs_jit);
}

TEST_CASE("code for 8.6 runs on 8.9 too, by binary compatibility", "[diagnosis][gpu_code]") {
  Situation situation;
  situation.code = image_builder::container(image_builder::cubin_entry(86));
  auto const found = situation.diagnose();
  CHECK(spares(found.report, "gpu_code.none_for_gpu"));
  CHECK(found.report.findings.empty());
  CHECK(found.report.health() == cuenv::Health::fine);
  REQUIRE(found.report.facts.size() == 1);
  CHECK(found.report.facts[0].value == "runs on 8.6, runs on 8.9");
}

TEST_CASE("what the environment shows is what counts, and the other GPUs are offered", "[diagnosis][gpu_code]") {
  Situation situation;
  situation.variables = {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {"CUDA_VISIBLE_DEVICES", "1"}};
  CHECK(situation.diagnose().report.findings.empty());

  situation.variables = {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {"CUDA_VISIBLE_DEVICES", "0"}};
  auto const hidden = situation.diagnose().report;
  REQUIRE(provokes(hidden, "gpu_code.none_for_gpu"));
  CHECK(hidden.findings[0].severity == cuenv::Severity::error);
  CHECK_THAT(hidden.findings[0].fix, ContainsSubstring("CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1 (or"));
  CHECK_THAT(hidden.findings[0].what, !ContainsSubstring("in sight"));

  // Device 0 is served: only a program that uses the other one as well fails.
  situation.variables = {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {"CUDA_VISIBLE_DEVICES", "1,0"}};
  auto const second = situation.diagnose().report;
  REQUIRE(provokes(second, "gpu_code.none_for_gpu"));
  CHECK(second.findings[0].severity == cuenv::Severity::warning);

  // No GPU at all is another rung's matter: the code is judged for all of them.
  situation.variables = {{"CUDA_VISIBLE_DEVICES", ""}};
  CHECK(provokes(situation.diagnose().report, "gpu_code.none_for_gpu"));
}

TEST_CASE("GPUs split by MIG are not offered by an index", "[diagnosis][gpu_code]") {
  Situation situation;
  situation.machine.gpus[0].mig_enabled = true;
  situation.machine.gpus[0].mig.resize(1);
  auto const split = situation.diagnose().report;
  REQUIRE(provokes(split, "gpu_code.none_for_gpu"));
  CHECK_THAT(split.findings[0].fix, ContainsSubstring("run it with CUDA_VISIBLE_DEVICES=GPU-c07e88d2"));
  situation.machine.gpus[1].mig_enabled = true;
  CHECK_THAT(situation.diagnose().report.findings.at(0).fix, !ContainsSubstring("run it with"));
}

TEST_CASE("PTX that is newer than the driver", "[diagnosis][gpu_code]") {
  Situation situation;
  situation.code = ptx(75, "9.0");
  auto const report = situation.diagnose().report;
  REQUIRE(provokes(report, "gpu_code.ptx_newer_than_driver"));
  CHECK(spares(report, "gpu_code.none_for_gpu"));
  CHECK(report.findings[0].driver == "loading it answers 222 (UNSUPPORTED_PTX_VERSION)");
  CHECK_THAT(report.findings[0].fix, ContainsSubstring("install driver 580 (CUDA 13.0) or newer"));
  situation.cuda = {13, 0};
  auto const newer = situation.diagnose();
  CHECK(spares(newer.report, "gpu_code.ptx_newer_than_driver"));
  CHECK(newer.needs_jit);
}

TEST_CASE("the compiler in the driver: absent, forbidden, forced", "[diagnosis][gpu_code]") {
  Situation situation;
  situation.code = ptx(75, "7.0");
  situation.jit_compiler = false;
  auto const absent = situation.diagnose();
  REQUIRE(provokes(absent.report, "gpu_code.no_jit_compiler"));
  CHECK(absent.needs_jit);
  CHECK_THAT(absent.report.findings[0].driver, ContainsSubstring("221 (JIT_COMPILER_NOT_FOUND)"));
  situation.jit_compiler = std::nullopt;  // nobody knows
  CHECK(spares(situation.diagnose().report, "gpu_code.no_jit_compiler"));
  situation.jit_compiler = true;
  CHECK(situation.diagnose().report.findings.empty());

  for (char const* name : {"CUDA_DISABLE_PTX_JIT", "CUDA_DISABLE_JIT"}) {
    situation.variables = {{name, "1"}};
    auto const disabled = situation.diagnose();
    REQUIRE(provokes(disabled.report, "gpu_code.jit_disabled"));
    CHECK(disabled.report.findings[0].fix == std::string{"unset "} + name);
    CHECK_THAT(disabled.report.findings[0].driver, ContainsSubstring("223 (JIT_COMPILATION_DISABLED)"));
    CHECK_FALSE(disabled.needs_jit);
    situation.variables = {{name, "true"}};  // which is off
    CHECK(spares(situation.diagnose().report, "gpu_code.jit_disabled"));
  }

  situation.code = image_builder::container(image_builder::cubin_entry(86));
  situation.jit_compiler = false;  // nothing has to be compiled
  situation.variables = {{"CUDA_DISABLE_JIT", "1"}};
  CHECK(situation.diagnose().report.findings.empty());
  situation.variables = {{"CUDA_FORCE_PTX_JIT", "1"}};
  auto const forced = situation.diagnose().report;
  REQUIRE(provokes(forced, "gpu_code.jit_forced"));
  CHECK(forced.findings[0].fix == "unset CUDA_FORCE_PTX_JIT");
  situation.variables = {};
  CHECK(spares(situation.diagnose().report, "gpu_code.jit_forced"));
}

TEST_CASE("code packed as an older driver cannot read it", "[diagnosis][gpu_code]") {
  Situation situation;
  situation.code = image_builder::container(
      image_builder::entry(2, 86, image_builder::zstd_frame(1000), image_builder::flag_zstd, 1000));
  auto const report = situation.diagnose().report;
  REQUIRE(provokes(report, "gpu_code.compression_newer_than_driver"));
  CHECK_THAT(report.findings[0].fix, ContainsSubstring("install driver 550 (CUDA 12.4) or newer"));
  situation.cuda = {12, 4};
  CHECK(spares(situation.diagnose().report, "gpu_code.compression_newer_than_driver"));
}

TEST_CASE("damaged code", "[diagnosis][gpu_code]") {
  Situation situation;
  situation.code.resize(situation.code.size() / 2);
  auto const report = situation.diagnose().report;
  REQUIRE(provokes(report, "gpu_code.damaged"));
  CHECK_THAT(report.findings[0].fix, ContainsSubstring("build or copy the file again"));
  CHECK(spares(Situation{}.diagnose().report, "gpu_code.damaged"));
}

TEST_CASE("a library that serves with some of its modules is doubtful, not broken", "[diagnosis][gpu_code]") {
  Situation situation;
  situation.code = image_builder::container(image_builder::cubin_entry(86)) +
                   image_builder::container(image_builder::cubin_entry(120));
  auto const report = situation.diagnose().report;
  REQUIRE(provokes(report, "gpu_code.none_for_gpu"));
  CHECK(report.health() == cuenv::Health::doubtful);
  CHECK_THAT(report.findings[0].what, ContainsSubstring("1 of 2 modules"));
}

TEST_CASE("what is not known is said", "[diagnosis][gpu_code]") {
  Situation situation;
  situation.machine.gpus[0].compute_capability = std::nullopt;
  auto const report = situation.diagnose().report;
  CHECK(report.health() == cuenv::Health::unknown);
  REQUIRE(report.unknown.size() == 1);
  CHECK_THAT(report.unknown[0], ContainsSubstring("GPU 0 (NVIDIA GeForce RTX 3090)"));

  situation.machine.gpus.clear();
  CHECK_THAT(situation.diagnose().report.unknown.at(0), ContainsSubstring("no GPU is known here"));

  cuenv_tests::DescribedTree tree;
  auto const missing =
      cuenv::diagnose_gpu_code(tree.site(), {tree.root() + "/absent"}, workstation(), cuenv::DriverFound{}).report;
  REQUIRE(missing.unknown.size() == 2);
  CHECK_THAT(missing.unknown[0], ContainsSubstring("CUDA version is not known"));
  CHECK_THAT(missing.unknown[1], ContainsSubstring("/absent cannot be opened"));
  CHECK(missing.findings.empty());

  auto const none = cuenv::diagnose_gpu_code(tree.site(), {}, workstation(), cuenv::DriverFound{}).report;
  CHECK(none.health() == cuenv::Health::fine);
}

TEST_CASE("of what a process has loaded, only what serves not at all is told", "[diagnosis][gpu_code]") {
  cuenv_tests::DescribedTree tree;
  tree.file("/for_89", image_builder::container(image_builder::cubin_entry(89)))
      .file("/for_86_and_120", image_builder::container(image_builder::cubin_entry(86)) +
                                   image_builder::container(image_builder::cubin_entry(120)))
      .file("/text", "no GPU code");
  cuenv::DriverFound driver;
  driver.cuda = cuenv::CudaVersion{12, 2};
  auto const report = [&](std::vector<std::string> files, std::vector<cuenv::Assignment> variables = {}) {
    for (std::string& file : files) file = tree.root() + file;
    return cuenv::diagnose_gpu_code(tree.site(std::move(variables)), {}, workstation(), driver, files).report;
  };
  auto const served = report({"/for_86_and_120", "/text", "/gone"});
  CHECK(served.findings.empty());
  CHECK(served.facts.at(0).value == "1");
  CHECK(served.unknown.empty());
  tree.directory("/folder");
  CHECK_THAT(report({"/folder"}).unknown.at(0), ContainsSubstring("/folder is a directory"));
  CHECK(spares(served, "program.library_serves_not_at_all"));
  CHECK(provokes(report({"/for_89"}), "program.library_serves_not_at_all"));
  CHECK(report({"/for_89"}, {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {"CUDA_VISIBLE_DEVICES", "1"}}).findings.empty());
}
