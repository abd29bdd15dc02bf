#ifndef CUENV_LOAD_HPP
#define CUENV_LOAD_HPP

#include <cuenv/detail/file.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/device_map.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/driver.hpp>
#include <cuenv/error.hpp>
#include <cuenv/result_code.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Asks the driver whether an image loads, by loading it.

CUENV_NAMESPACE_BEGIN

/// What happens to the primary contexts that a check has to create; each takes about 110 ms (measured, H200).
enum class Contexts {
  release,  ///< they are released again: the GPU is as before
  keep      ///< they stay, for a program that goes on to use the GPU anyway
};

/// What one device said.
struct LoadResult {
  LogicalIndex device{0};
  /// The CUresult as a number; 0 when the image loaded.
  int code = 0;
  /// True where it failed before the image was looked at, since no context could be made.
  bool no_context = false;
  /// The words of the driver's compiler, if it had any.
  std::string log;

  [[nodiscard]] bool loads() const noexcept { return code == 0; }
};

namespace detail {

/// Makes a device's primary context current, and puts back what was current before.
class PrimaryContext {
 public:
  PrimaryContext(DriverApi const& api, LogicalIndex device, Contexts contexts) : api_{api}, contexts_{contexts} {
    code_ = api.device_get(&device_, device.value);
    CUcontext context = nullptr;
    if (code_ == 0) code_ = api.primary_ctx_retain(&context, device_);
    retained_ = code_ == 0;
    if (code_ == 0) code_ = api.ctx_push_current(context);
    pushed_ = code_ == 0;
  }
  ~PrimaryContext() {
    CUcontext popped = nullptr;
    if (pushed_) (void)api_.ctx_pop_current(&popped);
    if (retained_ && contexts_ == Contexts::release) (void)api_.primary_ctx_release(device_);
  }
  PrimaryContext(PrimaryContext const&) = delete;
  PrimaryContext& operator=(PrimaryContext const&) = delete;

  /// 0 when the context is current.
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  DriverApi const& api_;
  Contexts contexts_;
  CUdevice device_ = 0;
  int code_ = 0;
  bool retained_ = false;
  bool pushed_ = false;
};

/// An image for the driver, which takes no length: bytes that are followed by zeros, so that text ends and a cut header
/// is not read beyond its end.
class PaddedImage {
 public:
  static constexpr std::size_t padding = 4096;

  explicit PaddedImage(std::string_view bytes) : size_{bytes.size()} {
    bytes_.reserve(size_ + padding);
    bytes_.append(bytes);
    bytes_.append(padding, '\0');
  }
  /// Reads a file, once. Throws FileError where it cannot be read, is empty, is no regular file or is larger than 2
  /// GiB.
  static PaddedImage from_file(std::string const& path) {
    File const file{path};
    auto const refuse = [&](std::string_view code, std::string what, std::string fix) {
      throw FileError{{{Severity::error, code, path, "", Diagnostic::no_offset, std::move(what), "", std::move(fix)}}};
    };
    if (file.size() == 0) refuse("file.empty", "the file is empty", "build the image again");
    if (file.size() > 0x80000000U) refuse("file.too_large", "the file is larger than 2 GiB", "check the path");
    PaddedImage image{""};
    image.size_ = static_cast<std::size_t>(file.size());
    image.bytes_.assign(image.size_ + padding, '\0');
    std::size_t const got = file.read(0, reinterpret_cast<unsigned char*>(&image.bytes_[0]), image.size_);
    if (got != image.size_) refuse("file.changed", "the file became shorter while it was read", "try again");
    return image;
  }

  [[nodiscard]] std::string_view bytes() const noexcept { return std::string_view{bytes_}.substr(0, size_); }
  [[nodiscard]] void const* data() const noexcept { return bytes_.data(); }

 private:
  std::size_t size_;
  std::string bytes_;
};

}  // namespace detail

/// Loads an image on one device of an initialised driver, and unloads it. The caller's current context is as before.
/// Safe in several threads at once. cuModuleLoadDataEx is used since only that form gives the compiler's words.
[[nodiscard]] inline LoadResult load_on(DriverApi const& api, LogicalIndex device, detail::PaddedImage const& image,
                                        Contexts contexts = Contexts::release) {
  LoadResult result;
  result.device = device;
  detail::PrimaryContext const context{api, device, contexts};
  result.code = context.code();
  result.no_context = result.code != 0;
  if (result.no_context) return result;
  constexpr std::uintptr_t log_size = 8192;
  result.log.assign(log_size, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {&result.log[0], reinterpret_cast<void*>(log_size)};
  CUmodule module = nullptr;
  result.code = api.module_load_data_ex(&module, image.data(), 2, options, values);
  if (result.code == 0) (void)api.module_unload(module);
  result.log.resize(result.log.find('\0') == std::string::npos ? result.log.size() : result.log.find('\0'));
  result.log = std::string{detail::trim(result.log)};
  return result;
}

/// A failed load as a finding: which device, what the driver answered, and what to build or do.
[[nodiscard]] inline Diagnostic explain(LoadResult const& result, Device const& device, std::string const& image_name) {
  std::string const cc = to_string(device.compute_capability);
  std::string const sm = std::to_string(device.compute_capability.sm());
  std::string const where =
      "logical GPU " + std::to_string(device.logical.value) + " (" + device.name + ", " + cc + ")";
  Diagnostic finding;
  finding.code = result.no_context ? "image.no_context" : "image.not_loadable";
  finding.subject = image_name;
  finding.what = result.no_context ? "no context could be made on " + where : "it does not load on " + where;
  ResultCode const* const row = find_result_code(result.code);
  finding.driver = describe_result(result.code) + (row == nullptr ? "" : ": " + std::string{row->meaning});
  std::string const flag = "-gencode arch=compute_" + sm + ",code=sm_" + sm;
  switch (result.code) {
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_JIT_COMPILATION_DISABLED: finding.fix = "build with " + flag; break;
    default: finding.fix = row == nullptr ? "" : std::string{row->fix};
  }
  if (result.code == CUDA_ERROR_INVALID_PTX && !result.log.empty()) finding.fix = "mend the PTX, or build with " + flag;
  if (!result.log.empty()) finding.driver += "\n" + result.log;
  return finding;
}

CUENV_NAMESPACE_END

#endif  // CUENV_LOAD_HPP
