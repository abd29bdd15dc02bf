#ifndef CUENV_TESTS_PROCESS_LIBRARY_HPP
#define CUENV_TESTS_PROCESS_LIBRARY_HPP

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

// A library as other code opens it. (windows.h comes before cuenv here in some programs, and behind it in others.)

/// Null where it cannot be loaded.
[[nodiscard]] inline void* open_library(char const* path) {
#ifdef _WIN32
  return ::LoadLibraryA(path);
#else
  return ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
#endif
}

/// Null where the library has no such function, and where there is no library.
template <class Function>
[[nodiscard]] Function* library_function(void* library, char const* name) {
  if (library == nullptr) return nullptr;
#ifdef _WIN32
  return reinterpret_cast<Function*>(reinterpret_cast<void*>(::GetProcAddress(static_cast<HMODULE>(library), name)));
#else
  return reinterpret_cast<Function*>(::dlsym(library, name));
#endif
}

#endif  // CUENV_TESTS_PROCESS_LIBRARY_HPP
