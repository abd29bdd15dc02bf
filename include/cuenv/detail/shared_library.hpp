#ifndef CUENV_DETAIL_SHARED_LIBRARY_HPP
#define CUENV_DETAIL_SHARED_LIBRARY_HPP

#include <cuenv/version.hpp>

#include <string>

#ifdef _WIN32
#include <cuenv/detail/windows.hpp>
#else
#include <dlfcn.h>
#endif

CUENV_NAMESPACE_BEGIN
namespace detail {

/// A shared library that stays loaded: a driver with threads of its own must not be unloaded, so nothing is closed.
class SharedLibrary {
 public:
  /// Finds the library only if the process has it already; never loads it. On Windows only that of System32.
  [[nodiscard]] static SharedLibrary find_loaded(char const* name) {
#ifdef _WIN32
    auto const path = win32::in_system_folder(name);
    return SharedLibrary{path ? win32::GetModuleHandleW(path->c_str()) : nullptr, {}};
#else
    // RTLD_NODELETE: the count that dlopen adds is never given back.
    return SharedLibrary{::dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE), {}};
#endif
  }

  /// Loads the library; on failure `error()` has the loader's own words. On Windows from System32 only.
  [[nodiscard]] static SharedLibrary open(char const* name) {
#ifdef _WIN32
    constexpr unsigned long search_system32 = 0x800;
    auto const path = win32::in_system_folder(name);
    void* const handle = path ? win32::LoadLibraryExW(path->c_str(), nullptr, search_system32) : nullptr;
    return SharedLibrary{handle, handle != nullptr
                                     ? std::string{}
                                     : std::string{name} + ": " + win32::error_text(win32::GetLastError())};
#else
    ::dlerror();  // forget what an earlier caller left
    void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    char const* const error = handle == nullptr ? ::dlerror() : nullptr;
    return SharedLibrary{handle, error != nullptr ? error : ""};
#endif
  }

  SharedLibrary() = default;

  [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }
  [[nodiscard]] std::string const& error() const noexcept { return error_; }

  /// Sets `function` to the library's symbol, to null where it has none.
  template <class Function>
  void get(char const* symbol, Function*& function) const noexcept {
#ifdef _WIN32
    function = handle_ == nullptr ? nullptr
                                  : reinterpret_cast<Function*>(reinterpret_cast<void*>(
                                        win32::GetProcAddress(static_cast<win32::Module>(handle_), symbol)));
#else
    function = handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(handle_, symbol));
#endif
  }

  /// The file that holds an address; empty where the loader cannot tell.
  template <class Function>
  [[nodiscard]] static std::string file_of(Function* function) {
#ifdef _WIN32
    return win32::file_of_address(reinterpret_cast<void*>(function));
#else
    ::Dl_info info{};
    if (function == nullptr || ::dladdr(reinterpret_cast<void*>(function), &info) == 0 || info.dli_fname == nullptr)
      return {};
    return info.dli_fname;
#endif
  }

 private:
  SharedLibrary(void* handle, std::string error) : handle_{handle}, error_{static_cast<std::string&&>(error)} {}

  void* handle_ = nullptr;
  std::string error_;
};

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_SHARED_LIBRARY_HPP
