#ifndef CUENV_ERROR_HPP
#define CUENV_ERROR_HPP

#include <cuenv/diagnostic.hpp>

#include <stdexcept>
#include <utility>

CUENV_NAMESPACE_BEGIN

/// The base of everything that cuenv throws on purpose. `what()` is the text of all its diagnostics.
class Error : public std::runtime_error {
 public:
  /// With at least one finding; `what()` is made here.
  explicit Error(Diagnostics diagnostics)
      : std::runtime_error{to_string(diagnostics)}, diagnostics_{std::move(diagnostics)} {}

  /// Every problem that was found, never only the first.
  [[nodiscard]] Diagnostics const& diagnostics() const noexcept { return diagnostics_; }

 private:
  Diagnostics diagnostics_;
};

/// A setting is wrong in itself: a value that the driver would misread, ignore or die of, or settings that contradict.
class SettingsError : public Error {
  using Error::Error;
};

/// A setting can no longer take effect, since CUDA is already initialised in this process.
class TooLateError : public Error {
  using Error::Error;
};

/// The environment could not be changed, or only at the risk of a crash in another thread. It is as it was before.
class EnvironmentError : public Error {
  using Error::Error;
};

/// A file could not be read, or cannot be an image by its size.
class FileError : public Error {
  using Error::Error;
};

/// GPU code that will not run on at least one visible GPU, or there is no GPU to ask.
class ImageError : public Error {
  using Error::Error;
};

/// There is no driver, or it refused.
class DriverError : public Error {
 public:
  /// `code()` where nothing could answer: the driver library could not be opened, or lacks what cuenv calls.
  static constexpr int no_driver = -1;

  /// `code` is a CUresult, or `no_driver`.
  DriverError(int code, Diagnostics diagnostics) : Error{std::move(diagnostics)}, code_{code} {}

  /// The CUresult as a number: 34, 100, 101, 802, 803, 804, 999 and so on; or `no_driver`. From cudart.hpp it is the
  /// cudaError_t, which has the same numbers for these.
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

CUENV_NAMESPACE_END

#endif  // CUENV_ERROR_HPP
