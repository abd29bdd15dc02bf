#ifndef CUENV_TESTS_SUPPORT_TABLE_HPP
#define CUENV_TESTS_SUPPORT_TABLE_HPP

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

/// The rows of a table in tests/data: fields between tabs, a line of names first, comments after '#'.
inline std::vector<std::vector<std::string>> read_table(std::string const& path) {
  std::ifstream in{path};
  if (!in) throw std::runtime_error{"cannot read " + path};
  std::vector<std::vector<std::string>> rows;
  std::string line;
  bool names = true;
  while (std::getline(in, line)) {
    if (line.empty() || line.front() == '#') continue;
    if (names) {
      names = false;
      continue;
    }
    std::vector<std::string> row(1);
    for (char const c : line) {
      if (c == '\t') {
        row.emplace_back();
      } else {
        row.back() += c;
      }
    }
    rows.push_back(row);
  }
  return rows;
}

#endif  // CUENV_TESTS_SUPPORT_TABLE_HPP
