#ifndef CUENV_BENCHMARKS_STOPWATCH_HPP
#define CUENV_BENCHMARKS_STOPWATCH_HPP

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

/// How long `work` takes, in microseconds.
template <class Work>
double microseconds(Work&& work) {
  auto const begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

/// The same in time of the processor, which other work on the machine moves less; for what does not wait.
template <class Work>
double processor_microseconds(Work&& work) {
  auto const now = [] {
    ::timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
  };
  double const begin = now();
  work();
  return now() - begin;
}

/// The upper median; there must be a value.
inline double median(std::vector<double> values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The median of a / b over rounds in which both were measured one after the other, so that both met the same machine.
inline double paired_ratio(std::vector<double> const& a, std::vector<double> const& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
  return median(std::move(ratios));
}

#endif  // CUENV_BENCHMARKS_STOPWATCH_HPP
