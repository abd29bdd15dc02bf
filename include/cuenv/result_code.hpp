#ifndef CUENV_RESULT_CODE_HPP
#define CUENV_RESULT_CODE_HPP

#include <cuenv/version.hpp>

#include <string>
#include <string_view>

CUENV_NAMESPACE_BEGIN

/// A result of the driver in words. The runtime API uses the same numbers for the same things.
struct ResultCode {
  int code;  ///< a CUresult, or cudaError_t of the same number
  /// The enumerator without "CUDA_ERROR_".
  std::string_view name;
  /// What happened, as a sentence without its full stop.
  std::string_view meaning;
  /// What to do; empty where that depends on more than the code.
  std::string_view fix;
};

/// The results that starting CUDA and loading code can meet. Meaning: CUDA driver API and compatibility guide; 100 and
/// 101 from cuInit, 209 to 223 and 300 as measured on driver 580.
inline constexpr ResultCode result_codes[] = {
    {0, "SUCCESS", "it worked", ""},
    {1, "INVALID_VALUE", "the driver refused a value",
     "if this comes from creating a context, remove CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT"},
    {2, "OUT_OF_MEMORY", "the GPU has not enough free memory",
     "see with nvidia-smi which processes hold it, or use another GPU"},
    {3, "NOT_INITIALIZED",
     "CUDA is not initialised here and cannot be: an earlier start failed, or this process was "
     "forked from one that had started CUDA",
     "fork before CUDA starts, or start a new program after the fork"},
    {34, "STUB_LIBRARY", "the library that was loaded is the toolkit's stub, which is for linking only",
     "remove the stubs folder from LD_LIBRARY_PATH and from the run path of the program"},
    {35, "INSUFFICIENT_DRIVER", "there is no CUDA driver, or it is older than the CUDA runtime of this program",
     "install or update the driver"},
    {46, "DEVICE_UNAVAILABLE", "the GPU is busy: it is in exclusive mode, or another process holds it",
     "see with nvidia-smi which process holds it, or use another GPU"},
    {100, "NO_DEVICE", "no GPU is visible", "check nvidia-smi -L and CUDA_VISIBLE_DEVICES"},
    {101, "INVALID_DEVICE",
     "a device setting is void: CUDA_VISIBLE_DEVICES names a GPU twice, or CUDA_DEVICE_ORDER is no valid word",
     "check both variables"},
    {200, "INVALID_IMAGE", "the driver does not take this for GPU code: it is damaged, or something else",
     "build or copy the file again"},
    {201, "INVALID_CONTEXT", "there is no usable context", ""},
    {209, "NO_BINARY_FOR_GPU", "nothing in the image runs on this GPU", "build it for this GPU as well"},
    {218, "INVALID_PTX", "the PTX does not compile for this GPU", "see the compiler's words, or build for this GPU"},
    {221, "JIT_COMPILER_NOT_FOUND", "PTX has to be compiled here, and libnvidia-ptxjitcompiler.so.1 cannot be opened",
     "install the complete driver; in a container NVIDIA_DRIVER_CAPABILITIES must have compute"},
    {222, "UNSUPPORTED_PTX_VERSION", "the PTX comes from a toolkit that is newer than the driver",
     "update the driver, or ship machine code for this GPU"},
    {223, "JIT_COMPILATION_DISABLED",
     "PTX has to be compiled here, and CUDA_DISABLE_PTX_JIT or CUDA_DISABLE_JIT forbids it",
     "remove the variable, or build machine code for this GPU"},
    {300, "INVALID_SOURCE", "the code inside the image is for another GPU than the image says", "build the file again"},
    {301, "FILE_NOT_FOUND", "there is no such file", "check the path"},
    {500, "NOT_FOUND", "there is no function of that name in the image",
     "check the name, and whether it is extern \"C\""},
    {802, "SYSTEM_NOT_READY", "the system is not ready to use its GPUs",
     "on machines with NVSwitch start the fabric manager: systemctl start nvidia-fabricmanager"},
    {803, "SYSTEM_DRIVER_MISMATCH", "the driver library and the kernel module are of different versions",
     "reboot after a driver update; else remove folders named compat from the loader's path"},
    {804, "COMPAT_NOT_SUPPORTED_ON_DEVICE",
     "a forward-compatibility libcuda was loaded, and this GPU does not support that",
     "remove the folder named compat from LD_LIBRARY_PATH, or use a data-centre GPU"},
    {805, "MPS_CONNECTION_FAILED", "the MPS daemon cannot be reached",
     "start it with nvidia-cuda-mps-control -d, or unset CUDA_MPS_PIPE_DIRECTORY"},
    {806, "MPS_RPC_FAILURE", "the MPS server broke off", "restart the MPS daemon"},
    {807, "MPS_SERVER_NOT_READY", "the MPS server does not take clients at present",
     "try again, or restart the MPS daemon"},
    {808, "MPS_MAX_CLIENTS_REACHED", "MPS has as many clients as it takes", "start fewer processes"},
    {809, "MPS_MAX_CONNECTIONS_REACHED", "MPS has as many connections as it takes",
     "lower CUDA_DEVICE_MAX_CONNECTIONS, or start fewer processes"},
    {810, "MPS_CLIENT_TERMINATED", "the MPS server ended this client", "start the program again"},
    {999, "UNKNOWN", "the driver gives no reason",
     "see dmesg for lines with NVRM; reloading the nvidia_uvm module or a reboot often helps"},
};

/// The row of a code, or null for one that is not in the table.
[[nodiscard]] constexpr ResultCode const* find_result_code(int code) noexcept {
  for (ResultCode const& row : result_codes) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

/// "100 (NO_DEVICE)", or the number alone.
[[nodiscard]] inline std::string describe_result(int code) {
  ResultCode const* const row = find_result_code(code);
  return row == nullptr ? std::to_string(code) : std::to_string(code) + " (" + std::string{row->name} + ")";
}

CUENV_NAMESPACE_END

#endif  // CUENV_RESULT_CODE_HPP
