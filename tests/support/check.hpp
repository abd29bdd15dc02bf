#ifndef CUENV_TESTS_SUPPORT_CHECK_HPP
#define CUENV_TESTS_SUPPORT_CHECK_HPP

#include <cstdio>
#include <cstdlib>
#include <string>

// For test programs that are a process of their own: judged by the exit code, 0 for passed.

namespace check {

/// CTest counts a test that exits so as skipped.
inline constexpr int skipped = 77;

inline int failures = 0;
inline int checks = 0;

inline void that(bool holds, std::string const& what) {
  ++checks;
  if (holds) return;
  ++failures;
  std::printf("FAILED: %s\n", what.c_str());
}

template <class A, class B>
void equal(A const& a, B const& b, std::string const& what) {
  if constexpr (std::is_convertible_v<A, std::string>) {
    that(a == b, what + ": '" + std::string{a} + "', expected '" + std::string{b} + "'");
  } else {
    that(a == b, what + ": " + std::to_string(a) + ", expected " + std::to_string(b));
  }
}

/// The exit code of the program. A program that checked nothing has failed.
inline int result() {
  std::printf("%d checks, %d failed\n", checks, failures);
  return failures == 0 && checks > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace check

#endif  // CUENV_TESTS_SUPPORT_CHECK_HPP
