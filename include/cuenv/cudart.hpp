#ifndef CUENV_CUDART_HPP
#define CUENV_CUDART_HPP

#include <cuenv/diagnostic.hpp>
#include <cuenv/error.hpp>
#include <cuenv/gpu.hpp>
#include <cuenv/result_code.hpp>
#include <cuenv/verdict_text.hpp>
#include <cuenv/version.hpp>

#include <cuda_runtime_api.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

// For programs that use the CUDA runtime API: whether a __global__ function can run on each visible GPU. The only
// header of cuenv that needs cudart. Make the cuenv::Session first: cudaGetDeviceCount starts CUDA, and when that first
// call fails the runtime repeats the failure for the life of the process (measured, driver 580).

CUENV_NAMESPACE_BEGIN

/// What one device said of a kernel.
struct KernelResult {
  LogicalIndex device{0};                ///< as cudaSetDevice counts
  ComputeCapability compute_capability;  ///< 0.0 where the runtime did not say
  /// The cudaError_t as a number: 0, or 209 (no kernel image for this GPU) and others.
  int code = 0;

  /// True where the code for this GPU is there, or PTX that was compiled for it.
  [[nodiscard]] bool runs() const noexcept { return code == 0; }
};

namespace detail {

[[nodiscard]] inline std::vector<KernelResult> check_kernel(void const* kernel, int& count_code) {
  std::vector<KernelResult> results;
  // A thread of its own: the current device and the pending error belong to a thread, so the caller's stay as they are.
  std::thread{[&] {
    int count = 0;
    count_code = cudaGetDeviceCount(&count);
    for (int i = 0; count_code == 0 && i < count; ++i) {
      KernelResult result;
      result.device = LogicalIndex{i};
      cudaDeviceGetAttribute(&result.compute_capability.major_revision, cudaDevAttrComputeCapabilityMajor, i);
      cudaDeviceGetAttribute(&result.compute_capability.minor_revision, cudaDevAttrComputeCapabilityMinor, i);
      result.code = cudaSetDevice(i);
      cudaFuncAttributes attributes{};
      if (result.code == 0) result.code = cudaFuncGetAttributes(&attributes, kernel);
      results.push_back(result);
    }
  }}.join();
  return results;
}

}  // namespace detail

/// Asks the runtime for the attributes of a kernel on every visible GPU, without launching it: that needs the code to
/// be there, and gives 209 where it is not (measured, driver 580). A primary context is made on each GPU and stays,
/// since the runtime uses it from then on. The caller's current device and pending error are as before. Throws
/// DriverError where the runtime finds no GPU or no driver; its code is then the cudaError_t. Starts a thread that has
/// ended when this returns. Thread-safe.
template <class... Arguments>
[[nodiscard]] std::vector<KernelResult> check_kernel(void (*kernel)(Arguments...)) {
  int code = 0;
  auto results = detail::check_kernel(reinterpret_cast<void const*>(kernel), code);
  if (code != 0) {
    ResultCode const* const row = find_result_code(code);
    throw DriverError{
        code,
        {{Severity::error, "runtime.no_device", "cudaGetDeviceCount", "", Diagnostic::no_offset,
          "the runtime answered " + std::to_string(code) + " (" + cudaGetErrorName(static_cast<cudaError_t>(code)) +
              ")" + (row == nullptr ? "" : ": " + std::string{row->meaning}),
          "", row == nullptr ? "" : std::string{row->fix}}}};
  }
  return results;
}

/// Returns when the kernel can run on every visible GPU. Else throws ImageError, which names each GPU and the flag to
/// add; `name` is what the error calls the kernel. Throws DriverError as `check_kernel` does.
template <class... Arguments>
void require_kernel(void (*kernel)(Arguments...), std::string const& name) {
  Diagnostics findings;
  for (KernelResult const& result : check_kernel(kernel)) {
    if (result.runs()) continue;
    ResultCode const* const row = find_result_code(result.code);
    findings.push_back({Severity::error, "kernel.not_runnable", name, "", Diagnostic::no_offset,
                        "it cannot run on logical GPU " + std::to_string(result.device.value) + " (" +
                            to_string(result.compute_capability) + ")",
                        describe_result(result.code) + (row == nullptr ? "" : ": " + std::string{row->meaning}),
                        result.code == cudaErrorNoKernelImageForDevice
                            ? "build with " + gencode_option(result.compute_capability)
                        : row == nullptr ? ""
                                         : std::string{row->fix}});
  }
  if (!findings.empty()) throw ImageError{std::move(findings)};
}

CUENV_NAMESPACE_END

#endif  // CUENV_CUDART_HPP
