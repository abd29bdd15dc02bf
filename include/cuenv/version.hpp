#ifndef CUENV_VERSION_HPP
#define CUENV_VERSION_HPP

// Before the hundreds of errors that would leave one guessing. MSVC tells its standard by a macro of its own.
#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 201703L
#error "cuenv needs C++17 or newer: compile with -std=c++17 (MSVC: /std:c++17)"
#endif
#if !defined(__cpp_exceptions) && !defined(__EXCEPTIONS) && !defined(_CPPUNWIND)
#error "cuenv needs exceptions: compile without -fno-exceptions (MSVC: with /EHsc)"
#endif

/// The version of cuenv: the one place where it is written; the build reads it from here.
#define CUENV_VERSION_MAJOR 0
#define CUENV_VERSION_MINOR 1
#define CUENV_VERSION_PATCH 0

// Programs that were built with different minor versions (major versions from 1.0 on) can be linked together:
// their symbols differ. A patch release never changes the namespace.
#define CUENV_NAMESPACE_BEGIN \
  namespace cuenv {           \
  inline namespace v0_1 {
#define CUENV_NAMESPACE_END \
  }                         \
  }

// What runs once in a process, or when something is wrong: compiled to be small, not fast. It saves a program 16 of 311
// KiB.
#if defined(__GNUC__)
#define CUENV_COLD __attribute__((cold))
#else
#define CUENV_COLD
#endif

#endif  // CUENV_VERSION_HPP
