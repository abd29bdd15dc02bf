#ifndef CUENV_LOAD_HPP
#define CUENV_LOAD_HPP

#include <cuenv/detail/file.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/device_map.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/driver.hpp>
#include <cuenv/error.hpp>
#include <cuenv/image.hpp>
#include <cuenv/inspect.hpp>
#include <cuenv/judge.hpp>
#include <cuenv/result_code.hpp>
#include <cuenv/verdict.hpp>
#include <cuenv/verdict_text.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Asks the driver whether an image loads, by loading it; what is damaged is never given to it.

CUENV_NAMESPACE_BEGIN

/// What happens to the primary contexts that a check has to create; each takes about 110 ms (measured, H200).
enum class Contexts {
  release,  ///< they are released again: the GPU is as before
  keep      ///< they stay, for a program that goes on to use the GPU anyway
};

/// What one device said.
struct LoadResult {
  /// `code` of an image that was kept from the driver and of which nobody can say what it would answer.
  static constexpr int not_asked = -1;

  LogicalIndex device{0};  ///< the one that was asked
  /// The CUresult as a number; 0 when the image loaded and every function in it. A driver before CUDA 12.4 cannot list
  /// the functions: of it only those named in LoadOptions::kernels are known.
  int code = 0;
  /// True where it failed before the image was looked at, since no context could be made.
  bool no_context = false;
  /// True where the image was kept from the driver: it is damaged, or no GPU code at all.
  bool kept_from_driver = false;
  /// What was to be expected from reading the image.
  Verdict verdict;
  /// The function that failed although the module loaded; else empty.
  std::string function;
  /// The words of the driver's compiler, if it had any.
  std::string log;

  /// True where `code` is 0.
  [[nodiscard]] bool loads() const noexcept { return code == 0; }
};

/// How to load.
struct LoadOptions {
  /// Contexts are released, no kernels are looked for, and progress is not told.
  LoadOptions() = default;
  /// So that `load_check(path, Contexts::keep)` can be written.
  LoadOptions(Contexts what) : contexts{what} {}

  Contexts contexts = Contexts::release;  ///< what becomes of contexts that were not there before
  /// Kernels that must be in the image, by the name in it: extern "C" names as they are, others mangled.
  std::vector<std::string> kernels;
  /// Called after each device, for what can take minutes; `data` is handed through.
  void (*progress)(LoadResult const& result, void* data) = nullptr;
  void* data = nullptr;  ///< for `progress`; may be null
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
/// is not read beyond its end; and what reading these very bytes found.
class PaddedImage {
 public:
  static constexpr std::size_t padding = 4096;

  explicit PaddedImage(std::string_view bytes) : size_{bytes.size()} {
    bytes_.reserve(size_ + padding);
    bytes_.append(bytes);
    bytes_.append(padding, '\0');
    inspect_them();
  }
  /// Reads a file, once. Throws FileError where it cannot be read, is empty, is no regular file or is larger than 2
  /// GiB.
  static PaddedImage from_file(std::string const& path) {
    File const file{path};
    return from_part(file, path, 0, file.size());
  }
  /// The same for a part of a file, such as a module in a library.
  static PaddedImage from_part(File const& file, std::string const& path, std::uint64_t offset, std::uint64_t size) {
    auto const refuse = [&](std::string_view code, std::string what, std::string fix) {
      throw FileError{{{Severity::error, code, path, "", Diagnostic::no_offset, std::move(what), "", std::move(fix)}}};
    };
    if (size == 0) refuse("file.empty", "the file is empty", "build the image again");
    if (size > 0x80000000U) refuse("file.too_large", "the file is larger than 2 GiB", "check the path");
    PaddedImage image{""};
    image.size_ = static_cast<std::size_t>(size);
    image.bytes_.assign(image.size_ + padding, '\0');
    std::size_t const got = file.read(offset, reinterpret_cast<unsigned char*>(image.bytes_.data()), image.size_);
    if (got != image.size_) refuse("file.changed", "the file became shorter while it was read", "try again");
    image.inspect_them();
    return image;
  }

  [[nodiscard]] std::string_view bytes() const noexcept { return std::string_view{bytes_}.substr(0, size_); }
  [[nodiscard]] void const* data() const noexcept { return bytes_.data(); }
  [[nodiscard]] ImageFile const& file() const noexcept { return file_; }

 private:
  void inspect_them() {
    InspectOptions options;
    options.thorough = true;
    file_ = inspect_bytes(bytes_.data(), size_, options);
  }

  ImageFile file_;
  std::size_t size_;
  std::string bytes_;
};

/// Loads every function of a module: with lazy loading, the default, a bad one would show at its first launch only.
/// Since CUDA 12.4; an older driver is asked for the named kernels alone.
inline void load_functions(DriverApi const& api, CUmodule module, LoadOptions const& options, LoadResult& result) {
  for (std::string const& kernel : options.kernels) {
    CUfunction function = nullptr;
    result.code = api.module_get_function == nullptr ? static_cast<int>(CUDA_ERROR_NOT_FOUND)
                                                     : api.module_get_function(&function, module, kernel.c_str());
    if (result.code == 0 && api.func_load != nullptr) result.code = api.func_load(function);
    if (result.code == 0) continue;
    result.function = kernel;
    return;
  }
  unsigned count = 0;
  if (api.module_get_function_count == nullptr || api.module_enumerate_functions == nullptr || api.func_load == nullptr)
    return;
  if (api.module_get_function_count(&count, module) != CUDA_SUCCESS || count == 0) return;
  std::vector<CUfunction> functions(count);
  if (api.module_enumerate_functions(functions.data(), count, module) != CUDA_SUCCESS) return;
  for (CUfunction function : functions) {
    result.code = api.func_load(function);
    if (result.code == 0) continue;
    char const* name = nullptr;
    bool const named =
        api.func_get_name != nullptr && api.func_get_name(&name, function) == CUDA_SUCCESS && name != nullptr;
    result.function = named ? name : "(a function without a name)";
    return;
  }
}

}  // namespace detail

/// Loads an image and every function in it on one device of an initialised driver, and unloads it. What is damaged, or
/// no GPU code, is refused without asking: some such images make driver 580 hang or crash (measured). The caller's
/// current context is as before. Nothing is thrown but bad_alloc; `progress` is not called, sessions do that. Safe in
/// several threads at once. A program calls `Session::load_check`. cuModuleLoadDataEx is used since only that form
/// gives the compiler's words.
[[nodiscard]] inline LoadResult load_on(DriverApi const& api, LogicalIndex device, detail::PaddedImage const& image,
                                        LoadConditions const& conditions, LoadOptions const& options = {}) {
  LoadResult result;
  result.device = device;
  result.verdict = judge_as_module(image.file(), conditions);
  FileKind const kind = image.file().summary.kind;
  bool const is_code = kind == FileKind::fatbin || kind == FileKind::cubin || kind == FileKind::ptx;
  if (result.verdict.kind == VerdictKind::damaged || !is_code) {
    result.kept_from_driver = true;
    result.code = result.verdict.code.value_or(LoadResult::not_asked);
    return result;
  }
  detail::PrimaryContext const context{api, device, options.contexts};
  result.code = context.code();
  result.no_context = result.code != 0;
  if (result.no_context) return result;
  constexpr std::uintptr_t log_size = 8192;
  result.log.assign(log_size, '\0');
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {result.log.data(), reinterpret_cast<void*>(log_size)};
  CUmodule module = nullptr;
  result.code = api.module_load_data_ex(&module, image.data(), 2, names, values);
  if (result.code == 0) {
    detail::load_functions(api, module, options, result);
    (void)api.module_unload(module);
  }
  result.log.resize(result.log.find('\0') == std::string::npos ? result.log.size() : result.log.find('\0'));
  result.log = std::string{detail::trim(result.log)};
  return result;
}

/// A failed load as a finding: which device, what the driver answered and why, and what to build or do.
[[nodiscard]] inline Diagnostic explain(LoadResult const& result, Device const& device,
                                        LoadConditions const& conditions, std::string const& image_name) {
  std::string const where = "logical GPU " + std::to_string(device.logical.value) + " (" + device.name + ", " +
                            to_string(device.compute_capability) + ")";
  Diagnostic finding;
  finding.code = "image.not_loadable";
  finding.subject = image_name;
  finding.what = "it does not load on " + where;
  ResultCode const* const row = find_result_code(result.code);
  finding.driver = describe_result(result.code) + (row == nullptr ? "" : ": " + std::string{row->meaning});
  finding.fix = row == nullptr ? "" : std::string{row->fix};
  bool const foreseen = !result.verdict.loads() && (result.kept_from_driver || result.verdict.code == result.code);
  if (result.no_context) {
    finding.code = "image.no_context";
    finding.what = "no context could be made on " + where;
  } else if (!result.function.empty()) {
    finding.code = "image.function_not_loadable";
    finding.what = "its function '" + result.function + "' does not load on " + where;
  } else if (foreseen) {
    finding.what += ": " + reason_text(result.verdict, conditions);
    finding.fix = fix_line(result.verdict, conditions);
  } else if (result.code == CUDA_ERROR_INVALID_PTX) {
    finding.fix = "mend the PTX, or build with " + gencode_option(device.compute_capability);
  }
  if (result.kept_from_driver) {
    finding.code = result.verdict.kind == VerdictKind::damaged ? "image.damaged" : finding.code;
    finding.driver = result.code == LoadResult::not_asked
                         ? "it was not asked: damaged code makes some drivers hang or crash (measured, driver 580)"
                         : "it was not asked; it would answer " + describe_result(result.code);
  }
  if (!result.log.empty()) finding.driver += "\n" + result.log;
  return finding;
}

CUENV_NAMESPACE_END

#endif  // CUENV_LOAD_HPP
