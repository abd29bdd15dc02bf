#include <cuenv/diagnosis/cuda_runtime.hpp>

#include "support/catch.hpp"
#include "support/described_tree.hpp"

#include <string>

using cuenv::CudaVersion;

namespace {

std::string version(cuenv_tests::DescribedTree const& tree, std::string const& path) {
  auto const runtime = cuenv::describe_runtime(tree.site(), path);
  return runtime ? version_text(*runtime) : "none";
}

}  // namespace

TEST_CASE("the version of a runtime comes from its file's name", "[runtime]") {
  cuenv_tests::DescribedTree tree;
  tree.file("/l/libcudart.so.12.4.127")
      .link("/l/libcudart.so.12", "libcudart.so.12.4.127")
      .link("/l/libcudart.so", "libcudart.so.12")
      .file("/l/libcudart.so.10.2")
      .file("/l/libcudart.so.11.0")
      .file("/torch/lib/libcudart-d0da41ae.so.11.0");
  CHECK(version(tree, "/l/libcudart.so.12.4.127") == "12.4");
  CHECK(version(tree, "/l/libcudart.so.12") == "12.4");
  CHECK(version(tree, "/l/libcudart.so") == "12.4");
  CHECK(version(tree, "/l/libcudart.so.10.2") == "10.2");
  CHECK(version(tree, "/l/libcudart.so.11.0") == "11.x");  // the SONAME of every 11.x
  CHECK(version(tree, "/torch/lib/libcudart-d0da41ae.so.11.0") == "11.x");
  CHECK(version(tree, "/l/libcudart.so.13") == "13.x");  // needs not be there
  CHECK(version(tree, "/l/libcudart_static.so.12") == "none");
  CHECK(version(tree, "/l/libcudart.so.x") == "none");
  CHECK(version(tree, "/l/libcublas.so.12") == "none");
}

TEST_CASE("the version of pip's runtimes comes from the package's folder", "[runtime]") {
  cuenv_tests::DescribedTree tree;
  tree.file("/sp/nvidia/cuda_runtime/lib/libcudart.so.12")
      .file("/sp/nvidia/cu13/lib/libcudart.so.13")
      .file("/sp/nvidia_cuda_runtime_cu12-12.8.90.dist-info/METADATA")
      .file("/sp/nvidia_cuda_runtime-13.0.48.dist-info/METADATA")
      .file("/sp/nvidia_cublas_cu12-12.9.1.dist-info/METADATA");
  CHECK(version(tree, "/sp/nvidia/cuda_runtime/lib/libcudart.so.12") == "12.8");
  CHECK(version(tree, "/sp/nvidia/cu13/lib/libcudart.so.13") == "13.0");
}

TEST_CASE("which driver a runtime needs", "[runtime]") {
  using cuenv::oldest_branch_for;
  using cuenv::oldest_driver_for;
  CHECK(oldest_driver_for({12, 8}) == CudaVersion{12, 0});
  CHECK(oldest_driver_for({10, 2}) == CudaVersion{10, 2});
  CHECK(oldest_branch_for({11, 8}) == 450);
  CHECK(oldest_branch_for({12, 8}) == 525);
  CHECK(oldest_branch_for({13, 3}) == 580);
  CHECK(oldest_branch_for({10, 2}) == 440);
  CHECK(oldest_branch_for({99, 0}) == 0);
}

TEST_CASE("a runtime is held against the driver", "[runtime]") {
  cuenv::CudaRuntime const runtime{"/l/libcudart.so.12", 12, 8};
  CHECK_FALSE(check_driver_for(runtime, std::nullopt, "x"));
  CHECK_FALSE(check_driver_for(runtime, CudaVersion{12, 0}, "x"));
  CHECK_FALSE(check_driver_for(runtime, CudaVersion{13, 0}, "x"));
  auto const finding = check_driver_for(runtime, CudaVersion{11, 4}, "x");
  REQUIRE(finding);
  CHECK(finding->fix == "install driver 525 or newer, or use a build for CUDA 11.4 or older");
  CHECK(check_driver_for({"/l/libcudart.so.99", 99, {}}, CudaVersion{13, 0}, "x")->fix ==
        "install a driver that serves CUDA 99.0 or newer, or use a build for CUDA 13.0 or older");
}
