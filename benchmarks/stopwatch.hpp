#ifndef CUENV_BENCHMARKS_STOPWATCH_HPP
#define CUENV_BENCHMARKS_STOPWATCH_HPP

#include <algorithm>
#include <chrono>
#include <vector>

/// How long `work` takes, in microseconds.
template <class Work>
double microseconds(Work&& work) {
  auto const begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
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
