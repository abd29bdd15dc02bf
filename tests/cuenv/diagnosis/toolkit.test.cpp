#include <cuenv/diagnosis/toolkit.hpp>

#include "support/catch.hpp"
#include "support/described_tree.hpp"
#include "support/image_builder.hpp"
#include "support/shared_object.hpp"

#include <string>
#include <vector>

using cuenv::CudaVersion;
using cuenv::diagnose_toolkit;
using cuenv_tests::DescribedTree;
using cuenv_tests::fact;
using cuenv_tests::provokes;
using cuenv_tests::shared_object;
using cuenv_tests::spares;

namespace {

/// Toolkits 12.4 and 13.0 as their installers lay them out, cuda.h as of 11.8, and one of the time of version.txt.
DescribedTree& with_toolkits(DescribedTree& tree) {
  tree.file("/usr/local/cuda-12.4/version.json",
            "{\n   \"cuda\" : {\n      \"name\" : \"CUDA SDK\",\n      \"version\" : \"12.4.20240328\"\n   },\n"
            "   \"cuda_cccl\" : {\n      \"version\" : \"12.4.127\"\n   }\n}\n")
      .file("/usr/local/cuda-12.4/bin/nvcc")
      .file("/usr/local/cuda-12.4/lib64/libcudart.so.12.4.127")
      .link("/usr/local/cuda-12.4/lib64/libcudart.so.12", "libcudart.so.12.4.127")
      .file("/usr/local/cuda-13.0/bin/nvcc")
      .file("/usr/local/cuda-13.0/lib64/libcudart.so.13")
      .file("/opt/conda/bin/nvcc")
      .file("/opt/conda/targets/x86_64-linux/include/cuda.h", "/* ... */\n#define CUDA_VERSION 11080\n")
      .file("/opt/old/version.txt", "CUDA Version 10.2.89\n")
      .link("/usr/local/cuda", "/etc/alternatives/cuda")
      .link("/etc/alternatives/cuda", "/usr/local/cuda-13.0");
  return tree;
}

}  // namespace

TEST_CASE("the version of a toolkit is told by its folder", "[toolkit]") {
  DescribedTree tree;
  cuenv::Site const site = with_toolkits(tree).site();
  using cuenv::detail::toolkit_version;
  CHECK(toolkit_version(site, "/usr/local/cuda-12.4") == CudaVersion{12, 4});
  CHECK(toolkit_version(site, "/usr/local/cuda") == CudaVersion{13, 0});
  CHECK(toolkit_version(site, "/opt/conda") == CudaVersion{11, 8});
  CHECK(toolkit_version(site, "/opt/old") == CudaVersion{10, 2});
  CHECK(toolkit_version(site, "/usr/local") == std::nullopt);
  tree.file("/bad/version.json", "{\"cuda\": {\"version\": ").file("/bad/version.txt", "CUDA Version x");
  CHECK(toolkit_version(site, "/bad") == std::nullopt);
}

TEST_CASE("toolkits of one version are no finding", "[toolkit]") {
  DescribedTree tree;
  auto const report = diagnose_toolkit(with_toolkits(tree).site({{"CUDA_HOME", "/usr/local/cuda-12.4/"},
                                                                 {"PATH", "/bin:/usr/local/cuda-12.4/bin"},
                                                                 {"LD_LIBRARY_PATH", "/usr/local/cuda-12.4/lib64"}}),
                                       {}, CudaVersion{12, 4});
  CHECK(spares(report, "toolkit.mixed_versions"));
  CHECK(spares(report, "toolkit.no_toolkit"));
  CHECK(report.health() == cuenv::Health::fine);
  CHECK(report.findings.empty());
  CHECK(fact(report, "nvcc on PATH") == "/usr/local/cuda-12.4/bin/nvcc (12.4)");
  CHECK(fact(report, "libcudart on LD_LIBRARY_PATH").find("(12.4)") != std::string::npos);
}

TEST_CASE("toolkits of two versions are told", "[toolkit]") {
  DescribedTree tree;
  with_toolkits(tree);
  auto const mixed = [&](std::vector<cuenv::Assignment> variables) {
    return diagnose_toolkit(tree.site(std::move(variables)), {}, CudaVersion{13, 0});
  };
  CHECK(provokes(mixed({{"CUDA_HOME", "/usr/local/cuda-12.4"}, {"CUDA_PATH", "/usr/local/cuda"}}),
                 "toolkit.mixed_versions"));
  CHECK(provokes(mixed({{"CUDA_HOME", "/usr/local/cuda-12.4"}, {"PATH", "/usr/local/cuda/bin"}}),
                 "toolkit.mixed_versions"));
  auto const report = mixed({{"CUDA_HOME", "/usr/local/cuda-12.4"}, {"LD_LIBRARY_PATH", "/usr/local/cuda/lib64"}});
  REQUIRE(provokes(report, "toolkit.mixed_versions"));
  CHECK(report.findings[0].subject == "LD_LIBRARY_PATH");
  CHECK(report.findings[0].what == "it points at CUDA 13.x, and CUDA_HOME (/usr/local/cuda-12.4) at CUDA 12.4");
  CHECK(report.health() == cuenv::Health::doubtful);
  // The first nvcc counts; a second one behind it is never started.
  CHECK(spares(mixed({{"CUDA_HOME", "/usr/local/cuda"}, {"PATH", "/usr/local/cuda/bin:/opt/conda/bin"}}),
               "toolkit.mixed_versions"));
}

TEST_CASE("a variable that names no toolkit", "[toolkit]") {
  DescribedTree tree;
  with_toolkits(tree);
  CHECK(provokes(diagnose_toolkit(tree.site({{"CUDA_HOME", "/usr/local/cuda-11"}}), {}, {}), "toolkit.no_toolkit"));
  CHECK(provokes(diagnose_toolkit(tree.site({{"CUDA_PATH", "/usr/local/cuda/bin"}}), {}, {}), "toolkit.no_toolkit"));
  CHECK(spares(diagnose_toolkit(tree.site({{"CUDA_HOME", "/opt/conda"}}), {}, {}), "toolkit.no_toolkit"));
  CHECK(spares(diagnose_toolkit(tree.site({{"CUDA_HOME", ""}}), {}, {}), "toolkit.no_toolkit"));
}

TEST_CASE("a program's runtime is found with its version and held against the driver", "[toolkit]") {
  DescribedTree tree;
  tree.file("/app/bin/app", shared_object({{"libapp.so"}, "", "", "$ORIGIN/../lib"}))
      .file("/app/lib/libapp.so", shared_object({{"libcudart.so.12"}, "libapp.so", "", "$ORIGIN"}))
      .file("/app/lib/libcudart.so.12.4.127", shared_object({}))
      .link("/app/lib/libcudart.so.12", "libcudart.so.12.4.127");
  std::string const program = tree.root() + "/app/bin/app";
  auto const good = diagnose_toolkit(tree.site(), {program}, CudaVersion{12, 2});
  CHECK(spares(good, "toolkit.runtime_not_found"));
  CHECK(spares(good, "toolkit.driver_too_old"));  // minor version compatibility
  CHECK(good.health() == cuenv::Health::fine);
  CHECK(fact(good, "runtime of " + program) == "/app/bin/../lib/libcudart.so.12 (12.4)");
  auto const old = diagnose_toolkit(tree.site(), {program}, CudaVersion{11, 8});
  CHECK(provokes(old, "toolkit.driver_too_old"));
  CHECK(old.health() == cuenv::Health::broken);
}

TEST_CASE("a runtime that the loader would not find", "[toolkit]") {
  DescribedTree tree;
  tree.file("/app/bin/app", shared_object({{"libcudart.so.12"}, "", "", "$ORIGIN/../lib"}))
      .file("/opt/cuda/lib/libcudart.so.12", shared_object({}));
  std::string const program = tree.root() + "/app/bin/app";
  auto const report = diagnose_toolkit(tree.site(), {program}, CudaVersion{13, 0});
  REQUIRE(provokes(report, "toolkit.runtime_not_found"));
  CHECK(report.findings[0].value == "libcudart.so.12");
  CHECK(spares(diagnose_toolkit(tree.site({{"LD_LIBRARY_PATH", "/opt/cuda/lib"}}), {program}, CudaVersion{13, 0}),
               "toolkit.runtime_not_found"));
}

TEST_CASE("what cannot be known of a program is said", "[toolkit]") {
  DescribedTree tree;
  std::string const code = image_builder::container(image_builder::cubin_entry(90));
  tree.file("/app/static", shared_object({{"libc.so.6"}, "", "", "", 62, {{".nv_fatbin", code}}}))
      .file("/app/plain", shared_object({{"libc.so.6"}}))
      .file("/app/script", "#!/bin/sh\n");
  auto const unknown = [&](std::string const& program) {
    auto const report = diagnose_toolkit(tree.site(), {program}, CudaVersion{12, 4});
    CHECK(report.findings.empty());
    return report.unknown.empty() ? std::string{} : report.unknown[0];
  };
  CHECK_THAT(unknown(tree.root() + "/app/static"), ContainsSubstring("its runtime is inside"));
  CHECK(unknown(tree.root() + "/app/plain").empty());
  CHECK(unknown(tree.root() + "/app/script").empty());
  CHECK_THAT(unknown(tree.root() + "/absent"), ContainsSubstring("cannot be read"));
  CHECK_THAT(unknown("/proc/self/exe"), ContainsSubstring("does not lie below"));
  // A driver of the newest major version serves every runtime that could be inside.
  auto const newest = diagnose_toolkit(tree.site(), {tree.root() + "/app/static"}, CudaVersion{13, 0});
  CHECK(newest.unknown.empty());
  CHECK_THAT(fact(newest, "runtime of " + tree.root() + "/app/static"), ContainsSubstring("at most 13.x"));
}

TEST_CASE("the runtimes that a process has loaded", "[toolkit]") {
  DescribedTree tree;
  tree.file("/sp/nvidia/cuda_runtime/lib/libcudart.so.12", shared_object({}))
      .file("/sp/nvidia_cuda_runtime_cu12-12.8.90.dist-info/METADATA")
      .file("/proc/self/maps",
            "7f0000000000-7f0000001000 r-xp 00000000 fe:01 77     /sp/nvidia/cuda_runtime/lib/libcudart.so.12\n");
  auto const report = diagnose_toolkit(tree.site(), {}, CudaVersion{11, 8});
  CHECK(fact(report, "runtime loaded") == "/sp/nvidia/cuda_runtime/lib/libcudart.so.12 (12.8)");
  CHECK(provokes(report, "toolkit.driver_too_old"));
  CHECK(spares(diagnose_toolkit(tree.site(), {}, CudaVersion{12, 0}), "toolkit.driver_too_old"));
}

TEST_CASE("a running process has found its libraries already", "[toolkit]") {
  DescribedTree tree;
  std::string const code = image_builder::container(image_builder::cubin_entry(90));
  tree.file("/app/run", shared_object({{"libc.so.6"}, "", "", "", 62, {{".nv_fatbin", code}}}))
      .file("/app/plugin.so", shared_object({{"libcudart.so.12"}}))
      .file("/odd/libcudart.so.12", shared_object({}));
  std::string const lines = "7f0-7f1 r-xp 0 fe:01 1 /app/run\n7f2-7f3 r-xp 0 fe:01 2 /app/plugin.so\n";
  std::string const plugin = tree.root() + "/app/plugin.so";
  CHECK(provokes(diagnose_toolkit(tree.site(), {plugin}, CudaVersion{12, 4}), "toolkit.runtime_not_found"));
  tree.file("/proc/self/maps", lines + "7f4-7f5 r-xp 0 fe:01 3 /odd/libcudart.so.12\n");
  auto const report = diagnose_toolkit(tree.site(), {plugin}, CudaVersion{12, 4});
  CHECK(spares(report, "toolkit.runtime_not_found"));
  CHECK(report.unknown.empty());
  tree.file("/proc/self/maps", lines);  // a runtime within the program, then
  CHECK(diagnose_toolkit(tree.site(), {plugin}, CudaVersion{12, 4}).unknown.size() == 1);
}

TEST_CASE("a toolkit and the age of the GPUs", "[toolkit]") {
  DescribedTree tree;
  with_toolkits(tree);
  auto const report = [&](char const* home, int sm) {
    cuenv::Machine machine;
    machine.gpus.resize(2);
    for (cuenv::Gpu& gpu : machine.gpus) gpu.compute_capability = cuenv::ComputeCapability::from_sm(sm);
    return diagnose_toolkit(tree.site({{"CUDA_HOME", home}}), {}, CudaVersion{12, 4}, machine);
  };
  auto const too_old = report("/usr/local/cuda-13.0", 61);
  REQUIRE(provokes(too_old, "toolkit.gpu_too_old"));
  CHECK(too_old.findings.size() == 1);
  CHECK(too_old.findings[0].fix == "build with CUDA 12.9 or older");
  CHECK(spares(report("/usr/local/cuda-12.4", 61), "toolkit.gpu_too_old"));
  auto const too_new = report("/usr/local/cuda-12.4", 120);
  REQUIRE(provokes(too_new, "toolkit.gpu_too_new"));
  CHECK(too_new.findings[0].fix == "build with CUDA 12.8 or newer");
  CHECK(spares(report("/usr/local/cuda-13.0", 120), "toolkit.gpu_too_new"));
  CHECK(report("/usr/local/cuda-13.0", 90).findings.empty());
}

TEST_CASE("this program has a toolkit rung", "[toolkit]") {
  auto const report = diagnose_toolkit(cuenv::this_site(), {"/proc/self/exe"}, CudaVersion{13, 0});
  CHECK(spares(report, "toolkit.runtime_not_found"));
}

TEST_CASE("what cannot be read of toolkits and runtimes is not taken for absent", "[toolkit]") {
  std::string const code = image_builder::container(image_builder::cubin_entry(90));
  DescribedTree tree;
  tree.loop("/opt/cuda")
      .directory("/opt/other/version.json")
      .file("/app/bin/app", shared_object({{"libcudart.so.12"}, "", "", "$ORIGIN/../lib"}))
      .file("/app/bin/plain", shared_object({{"libb.so"}, "", "", "$ORIGIN/../lib", 62, {{".nv_fatbin", code}}}))
      .directory("/app/lib/libb.so")
      .loop("/app/lib/libcudart.so.12");
  auto const with = [&](std::string const& program, std::vector<cuenv::Assignment> variables = {}) {
    std::vector<std::string> programs;
    if (!program.empty()) programs.push_back(tree.root() + program);
    return diagnose_toolkit(tree.site(std::move(variables)), programs, CudaVersion{12, 4});
  };
  auto const home = with("", {{"CUDA_HOME", "/opt/cuda"}, {"CUDA_PATH", "/opt/other"}});
  CHECK(home.findings.empty());
  CHECK(cuenv_tests::could_not_read(home, "/opt/cuda/version.json"));
  CHECK(cuenv_tests::could_not_read(home, "/opt/other/version.json"));
  auto const list = with("", {{"LD_LIBRARY_PATH", "/opt/cuda"}});
  CHECK(list.findings.empty());
  CHECK(cuenv_tests::could_not_read(list, "/opt/cuda"));
  auto const program = with("/app/bin/app");
  CHECK(program.findings.empty());
  CHECK(cuenv_tests::could_not_read(program, "/app/lib/libcudart.so.12"));
  auto const plain = with("/app/bin/plain");  // what libb.so needs is not known
  REQUIRE(plain.unknown.size() == 1);
  CHECK(cuenv_tests::could_not_read(plain, "/app/lib/libb.so"));
}
