#ifndef CUENV_TESTS_PROCESS_EXPECT_HPP
#define CUENV_TESTS_PROCESS_EXPECT_HPP

#include <cuenv/cuenv.hpp>

#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>

// What the programs of this folder share. Each is a process of its own and judges itself: its exit code is the number
// of expectations that failed.

inline int failed_expectations = 0;

inline void expect(bool holds, std::string const& what) {
  std::printf("%s: %s\n", holds ? "ok" : "FAILED", what.c_str());
  std::fflush(stdout);
  failed_expectations += holds ? 0 : 1;
}

inline void expect_text(std::string const& text, std::string const& part) {
  expect(text.find(part) != std::string::npos, "'" + part + "' is in: " + text);
}

/// Sets a variable as other code would.
inline void set_variable(char const* name, char const* text) {
#ifdef _WIN32
  ::_putenv_s(name, text);
#else
  ::setenv(name, text, 1);
#endif
}

[[nodiscard]] inline bool is_set_to(char const* name, std::optional<std::string> const& text) {
  char const* const now = std::getenv(name);
  return now == nullptr ? !text.has_value() : text == std::string{now};
}

/// The error of what must throw an `E`; else counts a failure and gives nothing.
template <class E, class Function>
[[nodiscard]] std::optional<E> thrown_by(Function const& function) {
  try {
    function();
  } catch (E const& error) {
    return error;
  } catch (std::exception const& error) {
    expect(false, std::string{"an error of another kind: "} + error.what());
    return std::nullopt;
  }
  expect(false, "an error is thrown");
  return std::nullopt;
}

#endif  // CUENV_TESTS_PROCESS_EXPECT_HPP
