#include <cuenv/diagnosis/framework.hpp>

#include "support/catch.hpp"
#include "support/described_tree.hpp"
#include "support/image_builder.hpp"
#include "support/shared_object.hpp"

#include <optional>
#include <string>
#include <vector>

using cuenv::CudaVersion;
using cuenv::diagnose_framework;
using cuenv::Machine;
using cuenv_tests::DescribedTree;
using cuenv_tests::fact;
using cuenv_tests::provokes;
using cuenv_tests::shared_object;
using cuenv_tests::spares;

namespace {

Machine with_gpus(std::vector<int> const& sms) {
  Machine machine;
  machine.source = cuenv::MachineSource::nvml;
  for (int const sm : sms) {
    cuenv::Gpu gpu;
    gpu.name = "GPU";
    if (sm != 0) gpu.compute_capability = cuenv::ComputeCapability::from_sm(sm);
    machine.gpus.push_back(gpu);
  }
  return machine;
}

/// As PyTorch's build writes it.
std::string version_py(std::string const& version, std::string const& cuda, std::string const& hip = "None") {
  return "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']\n"
         "__version__ = '" +
         version + "'\ndebug = False\ncuda: Optional[str] = " + cuda +
         "\ngit_version = '2236df1770800ffea5697b11b0bb0d910b2e59e1'\nhip: Optional[str] = " + hip + "\n";
}

std::string const packages = "/env/lib/python3.11/site-packages";

std::string torch_library(std::string const& entries, std::string const& runtime = "libcudart.so.12") {
  return shared_object({{"libc10_cuda.so", runtime},
                        "libtorch_cuda.so",
                        "$ORIGIN/../../nvidia/cublas/lib:$ORIGIN/../../nvidia/cuda_runtime/lib:$ORIGIN",
                        "",
                        62,
                        {{".nv_fatbin", image_builder::container(entries)}}});
}

/// PyTorch 2.6 as pip installs it, with code for 8.0 and 9.0.
DescribedTree& with_torch(DescribedTree& tree) {
  using image_builder::cubin_entry;
  tree.file(packages + "/torch/version.py", version_py("2.6.0+cu124", "'12.4'"))
      .file(packages + "/torch/lib/libtorch_cuda.so", torch_library(cubin_entry(80) + cubin_entry(90)))
      .file(packages + "/nvidia/cuda_runtime/lib/libcudart.so.12", shared_object({}))
      .file(packages + "/nvidia_cuda_runtime_cu12-12.4.127.dist-info/METADATA")
      .link("/env/lib64", "lib");
  return tree;
}

cuenv::RungReport look(DescribedTree const& tree, Machine const& machine,
                       std::optional<CudaVersion> driver = CudaVersion{13, 0},
                       std::vector<cuenv::Assignment> variables = {}) {
  return diagnose_framework(cuenv::described_site("", std::move(variables)), tree.root() + "/env/", machine, driver);
}

}  // namespace

TEST_CASE("PyTorch that suits the machine", "[framework]") {
  DescribedTree tree;
  auto const report = look(with_torch(tree), with_gpus({90, 86, 90}));
  CHECK(report.findings.empty());
  CHECK(report.health() == cuenv::Health::fine);
  for (char const* const code : {"framework.no_packages", "framework.no_cuda", "framework.incomplete",
                                 "framework.driver_too_old", "framework.gpu_not_served", "framework.gpu_partly_served",
                                 "framework.jit_only", "framework.runtime_not_found", "framework.runtime_mismatch"}) {
    CHECK(spares(report, code));
  }
  CHECK(fact(report, "PyTorch") == "2.6.0+cu124 in " + tree.root() + packages + "/torch");
  CHECK(fact(report, "CUDA of PyTorch") == "12.4");
  CHECK(fact(report, "PyTorch is built for") == "sm_80 sm_90");
  CHECK(fact(report, "TORCH_CUDA_ARCH_LIST for these GPUs") == "8.6;9.0+PTX");
  CHECK_THAT(fact(report, "libcudart of PyTorch"), ContainsSubstring("(12.4)"));
  // The folder of the packages is as good as the prefix.
  auto const again = diagnose_framework(cuenv::described_site(""), tree.root() + packages, with_gpus({90}), {});
  CHECK(fact(again, "CUDA of PyTorch") == "12.4");
  CHECK(again.findings.empty());
}

TEST_CASE("GPUs that PyTorch has no code for", "[framework]") {
  using image_builder::cubin_entry;
  using image_builder::ptx_entry;
  DescribedTree tree;
  auto const report = look(with_torch(tree), with_gpus({90, 120}));
  REQUIRE(provokes(report, "framework.gpu_not_served"));
  CHECK(report.health() == cuenv::Health::broken);
  CHECK(report.findings.size() == 1);
  CHECK_THAT(report.findings[0].driver, ContainsSubstring("209"));
  CHECK_THAT(report.findings[0].fix, ContainsSubstring("TORCH_CUDA_ARCH_LIST=\"9.0;12.0+PTX\""));

  auto const library = packages + "/torch/lib/libtorch_cuda.so";
  tree.file(library, torch_library(cubin_entry(80) + ptx_entry(80)));
  auto const jit = look(tree, with_gpus({90}));
  CHECK(provokes(jit, "framework.jit_only"));
  CHECK(spares(jit, "framework.gpu_not_served"));
  CHECK(spares(look(tree, with_gpus({80})), "framework.jit_only"));
  tree.file(library, torch_library(ptx_entry(80, "8.4")));
  auto const old_driver = look(tree, with_gpus({90}), CudaVersion{12, 2});
  REQUIRE(provokes(old_driver, "framework.gpu_not_served"));
  CHECK_THAT(old_driver.findings[0].driver, ContainsSubstring("222"));
  CHECK(provokes(look(tree, with_gpus({90}), CudaVersion{13, 0}, {{"CUDA_DISABLE_PTX_JIT", "1"}}),
                 "framework.gpu_not_served"));

  cuenv::Site lost = tree.site();
  lost.variables_unknown = "the environment cannot be read";
  auto const unsure = cuenv::diagnose_framework(lost, tree.root() + "/env/", with_gpus({80}), CudaVersion{13, 0});
  REQUIRE_FALSE(unsure.unknown.empty());
  CHECK_THAT(unsure.unknown.back(), ContainsSubstring("the environment cannot be read"));

  std::string const most = image_builder::container(cubin_entry(80));
  tree.file(library, shared_object({{"libcudart.so.12"},
                                    "",
                                    "$ORIGIN/../../nvidia/cuda_runtime/lib",
                                    "",
                                    62,
                                    {{".nv_fatbin", most + most + image_builder::container(cubin_entry(90))}}}));
  CHECK(provokes(look(tree, with_gpus({90})), "framework.gpu_partly_served"));
  CHECK(spares(look(tree, with_gpus({80})), "framework.gpu_partly_served"));
}

TEST_CASE("a GPU of unknown compute capability is not judged", "[framework]") {
  DescribedTree tree;
  auto const report = look(with_torch(tree), with_gpus({0}));
  CHECK(report.health() == cuenv::Health::unknown);
  CHECK(spares(report, "framework.gpu_not_served"));
}

TEST_CASE("a build without CUDA", "[framework]") {
  DescribedTree tree;
  with_torch(tree);
  auto const with_version = [&](std::string const& text, Machine const& machine) {
    tree.file(packages + "/torch/version.py", text);
    return look(tree, machine);
  };
  CHECK(provokes(with_version(version_py("2.4.1+cpu", "None"), with_gpus({90})), "framework.no_cuda"));
  CHECK(provokes(with_version(version_py("2.2.2", "None"), with_gpus({90})), "framework.no_cuda"));
  auto const rocm = with_version(version_py("2.4.1", "None", "'6.1'"), with_gpus({90}));
  REQUIRE(provokes(rocm, "framework.no_cuda"));
  CHECK_THAT(rocm.findings[0].what, ContainsSubstring("ROCm 6.1"));
  CHECK(spares(with_version(version_py("2.4.1+cpu", "None"), with_gpus({})), "framework.no_cuda"));
  auto const nonsense = with_version("\xff\xfe = = =\ncuda", with_gpus({90}));
  CHECK(spares(nonsense, "framework.no_cuda"));
  CHECK(nonsense.health() == cuenv::Health::unknown);
}

TEST_CASE("a PyTorch that lacks its library", "[framework]") {
  DescribedTree tree;
  tree.file(packages + "/torch/version.py", version_py("2.6.0+cu124", "'12.4'"));
  CHECK(provokes(look(tree, with_gpus({90})), "framework.incomplete"));
  tree.file(packages + "/torch/lib/libtorch_cuda_cu.so", "no library");
  auto const report = look(tree, with_gpus({90}));
  CHECK(spares(report, "framework.incomplete"));
  CHECK(report.health() == cuenv::Health::unknown);
}

TEST_CASE("a driver that is too old for PyTorch", "[framework]") {
  DescribedTree tree;
  with_torch(tree);
  CHECK(provokes(look(tree, with_gpus({80}), CudaVersion{11, 8}), "framework.driver_too_old"));
  CHECK(spares(look(tree, with_gpus({80}), CudaVersion{12, 0}), "framework.driver_too_old"));
  CHECK(spares(look(tree, with_gpus({80}), std::nullopt), "framework.driver_too_old"));
}

TEST_CASE("the runtime that PyTorch would get", "[framework]") {
  DescribedTree tree;
  with_torch(tree);
  // DT_RPATH goes before LD_LIBRARY_PATH, DT_RUNPATH behind it.
  tree.file("/old/libcudart.so.12.1.105", shared_object({})).link("/old/libcudart.so.12", "libcudart.so.12.1.105");
  std::vector<cuenv::Assignment> const old_first{{"LD_LIBRARY_PATH", tree.root() + "/old"}};
  CHECK(spares(look(tree, with_gpus({80}), CudaVersion{13, 0}, old_first), "framework.runtime_mismatch"));
  std::string const code = image_builder::container(image_builder::cubin_entry(80));
  auto const library = [&](std::string const& runtime, std::string const& runpath) {
    return shared_object({{runtime}, "", "", runpath, 62, {{".nv_fatbin", code}}});
  };
  tree.file(packages + "/torch/lib/libtorch_cuda.so",
            library("libcudart.so.12", "$ORIGIN/../../nvidia/cuda_runtime/lib"));
  auto const report = look(tree, with_gpus({80}), CudaVersion{13, 0}, old_first);
  REQUIRE(provokes(report, "framework.runtime_mismatch"));
  CHECK(report.findings[0].value == "12.1");

  // Without a search path PyTorch loads what lies beside it in the environment.
  tree.file(packages + "/torch/lib/libtorch_cuda.so", library("libcudart.so.12", ""));
  CHECK(spares(look(tree, with_gpus({80})), "framework.runtime_not_found"));
  tree.file(packages + "/torch/lib/libtorch_cuda.so", library("libcudart.so.97", ""));
  CHECK(provokes(look(tree, with_gpus({80})), "framework.runtime_not_found"));
}

TEST_CASE("runtimes of an environment, whoever put them there", "[framework]") {
  DescribedTree tree;
  with_torch(tree);
  tree.file("/env/lib/libcudart.so.12.4.99")
      .link("/env/lib/libcudart.so.12", "libcudart.so.12.4.99")
      .link("/env/targets/x86_64-linux/lib/libcudart.so.12", "../../../lib/libcudart.so.12.4.99")
      .file(packages + "/torch/lib/libcudart-d0da41ae.so.11.0")
      .file(packages + "/nvidia/cu13/lib/libcudart.so.13");
  cuenv::Site const disk;
  auto const runtimes = cuenv::detail::runtimes_of(disk, tree.root() + "/env", tree.root() + packages);
  std::string versions;
  for (cuenv::CudaRuntime const& runtime : runtimes) versions += version_text(runtime) + " ";
  CHECK(versions == "12.4 13.x 12.4 11.x ");
}

TEST_CASE("an environment without PyTorch, and what is none", "[framework]") {
  DescribedTree tree;
  CHECK(provokes(look(tree, with_gpus({90})), "framework.no_packages"));
  tree.directory(packages).file("/env/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\n");
  auto const report = look(tree, with_gpus({90}));
  CHECK(spares(report, "framework.no_packages"));
  CHECK(report.health() == cuenv::Health::fine);
  CHECK_THAT(fact(report, "PyTorch"), ContainsSubstring("not in"));
  tree.file("/env/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = true\n")
      .directory(packages + "/jaxlib");
  auto const unknown = look(tree, with_gpus({90})).unknown;
  REQUIRE(unknown.size() == 2);
  CHECK(unknown[0] == "jaxlib is not looked at");
  CHECK_THAT(unknown[1], ContainsSubstring("/usr/bin"));
}

TEST_CASE("the list that PyTorch's build takes", "[framework]") {
  CHECK(cuenv::torch_arch_list(with_gpus({90, 86, 90}).gpus) == "8.6;9.0+PTX");
  CHECK(cuenv::torch_arch_list(with_gpus({121}).gpus) == "12.1+PTX");
  CHECK(cuenv::torch_arch_list(with_gpus({0}).gpus).empty());
}

TEST_CASE("assignments in Python's text", "[framework]") {
  using cuenv::detail::python_assignment;
  CHECK(python_assignment("cuda = '10.2'  # why\n", "cuda") == "10.2");
  CHECK(python_assignment("cuda: Optional[str] = \"13.0\"", "cuda") == "13.0");
  CHECK(python_assignment("xcuda = 1\ncuda: Optional[str] = None\n", "cuda") == "None");
  CHECK(python_assignment("cuda\n", "cuda") == "");
  CHECK(python_assignment("", "cuda") == std::nullopt);
}

TEST_CASE("what cannot be read of the environment is not taken for absent", "[framework]") {
  auto const with = [](auto const& change) {
    DescribedTree tree;
    with_torch(tree);
    change(tree);
    auto report = look(tree, with_gpus({90}));
    CHECK(report.findings.empty());
    CHECK(report.health() == cuenv::Health::unknown);
    return report;
  };
  auto const replace = [](DescribedTree& tree, std::string const& path) {
    std::filesystem::remove_all(tree.root() + path);
    tree.loop(path);
  };
  auto const packages_of = with([&](DescribedTree& tree) { replace(tree, "/env/lib"); });
  CHECK(cuenv_tests::could_not_read(packages_of, "/env/lib"));
  auto const torch = with([&](DescribedTree& tree) { replace(tree, packages + "/torch/version.py"); });
  CHECK(cuenv_tests::could_not_read(torch, "/torch/version.py"));
  CHECK(fact(torch, "PyTorch") == cuenv_tests::no_fact);
  auto const library = with([&](DescribedTree& tree) { replace(tree, packages + "/torch/lib/libtorch_cuda.so"); });
  CHECK(cuenv_tests::could_not_read(library, "/torch/lib/libtorch_cuda.so"));
  auto const runtime = with([&](DescribedTree& tree) { replace(tree, packages + "/nvidia/cuda_runtime/lib"); });
  CHECK(cuenv_tests::could_not_read(runtime, "/nvidia/cuda_runtime/lib"));
}
