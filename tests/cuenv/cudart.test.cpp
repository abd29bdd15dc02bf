#include <cuenv/cudart.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

// The runtime's functions, as this file has them: they answer what a case says. What a real runtime answers is measured
// by tests/gpu/runtime_contract.cpp.

namespace {

struct Runtime {
  int count_code = 0;
  std::vector<int> kernel_codes;  ///< of each GPU
  int device = -1;                ///< the current one
};

Runtime& runtime() {
  static Runtime now;
  return now;
}

void scale(float*) {}

template <class E>
cuenv::Diagnostics refused(Runtime const& with) {
  runtime() = with;
  try {
    cuenv::require_kernel(scale, "scale");
  } catch (E const& error) {
    return error.diagnostics();
  }
  FAIL("no error");
  return {};
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(runtime().kernel_codes.size());
  return static_cast<cudaError_t>(runtime().count_code);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor   ? 8 + device
           : attribute == cudaDevAttrComputeCapabilityMinor ? 6
                                                            : -1;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  runtime().device = device;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, void const* kernel) {
  bool const known = kernel == reinterpret_cast<void const*>(&scale);
  return static_cast<cudaError_t>(known ? runtime().kernel_codes.at(static_cast<std::size_t>(runtime().device)) : 98);
}

char const* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorInsufficientDriver ? "cudaErrorInsufficientDriver" : "cudaErrorOther";
}

}  // extern "C"

TEST_CASE("a kernel that runs on every GPU is no error", "[cudart]") {
  runtime() = {0, {0, 0}};
  CHECK_NOTHROW(cuenv::require_kernel(scale, "scale"));
  auto const results = cuenv::check_kernel(scale);
  REQUIRE(results.size() == 2);
  CHECK(results[1].runs());
  CHECK(results[1].device == cuenv::logical(1));
  CHECK(results[1].compute_capability == cuenv::ComputeCapability{9, 6});
}

TEST_CASE("a kernel is refused for each GPU that cannot run it, with what to build", "[cudart]") {
  auto const findings = refused<cuenv::ImageError>({0, {0, 209, 46, 98}});
  REQUIRE(findings.size() == 3);
  for (auto const& finding : findings) {
    CHECK(finding.code == "kernel.not_runnable");
    CHECK(finding.severity == cuenv::Severity::error);
    CHECK(finding.subject == "scale");
  }
  CHECK(to_string(findings[0]) ==
        "error: scale: it cannot run on logical GPU 1 (9.6)\n"
        "  driver: 209 (NO_BINARY_FOR_GPU): nothing in the image runs on this GPU\n"
        "  fix: build with -gencode arch=compute_96,code=sm_96");
  // To build it otherwise would not help.
  CHECK(to_string(findings[1]) ==
        "error: scale: it cannot run on logical GPU 2 (10.6)\n"
        "  driver: 46 (DEVICE_UNAVAILABLE): the GPU is busy: it is in exclusive mode, or another process holds it\n"
        "  fix: see with nvidia-smi which process holds it, or use another GPU");
  CHECK(to_string(findings[2]) == "error: scale: it cannot run on logical GPU 3 (11.6)\n  driver: 98");
}

TEST_CASE("where the runtime finds no GPU the error has its answer", "[cudart]") {
  auto const findings = refused<cuenv::DriverError>({35, {}});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].code == "runtime.no_device");
  CHECK(to_string(findings[0]) ==
        "error: cudaGetDeviceCount: the runtime answered 35 (cudaErrorInsufficientDriver): there is no CUDA driver, or "
        "it is older than the CUDA runtime of this program\n"
        "  fix: install or update the driver");
  auto const unknown = refused<cuenv::DriverError>({12345, {}});
  CHECK(to_string(unknown.at(0)) == "error: cudaGetDeviceCount: the runtime answered 12345 (cudaErrorOther)");
  try {
    (void)cuenv::check_kernel(scale);
  } catch (cuenv::DriverError const& error) {
    CHECK(error.code() == 12345);
  }
}
