#ifndef CUENV_TESTS_SUPPORT_VISIBLE_DEVICES_TABLE_HPP
#define CUENV_TESTS_SUPPORT_VISIBLE_DEVICES_TABLE_HPP

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

/// The measured outcomes of CUDA_VISIBLE_DEVICES, `tests/data/visible_devices_r580.tsv`; the file says how they were
/// measured and what its columns are.
namespace cuenv_tests {

struct VisibleDevicesCase {
  std::string value;
  int init_result = 0;
  std::vector<int> physical;  // the GPU behind each logical device
};

/// The bytes that a quoted text stands for.
inline std::string unescape(std::string const& quoted) {
  if (quoted.size() < 2 || quoted.front() != '"' || quoted.back() != '"') throw std::runtime_error("no quotes");
  std::string bytes;
  for (std::size_t i = 1; i + 1 < quoted.size(); ++i) {
    if (quoted[i] != '\\') {
      bytes += quoted[i];
      continue;
    }
    switch (quoted[++i]) {
      case 't': bytes += '\t'; break;
      case 'n': bytes += '\n'; break;
      case 'r': bytes += '\r'; break;
      case 'x':
        bytes += static_cast<char>(std::stoi(quoted.substr(i + 1, 2), nullptr, 16));
        i += 2;
        break;
      default: bytes += quoted[i]; break;  // a quote or a backslash
    }
  }
  return bytes;
}

/// Throws std::runtime_error if the file cannot be read.
inline std::vector<VisibleDevicesCase> read_visible_devices_table(std::string const& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file);
  std::vector<VisibleDevicesCase> cases;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream columns(line);
    std::string value;
    std::string result;
    std::string physical;
    std::getline(columns, value, '\t');
    std::getline(columns, result, '\t');
    std::getline(columns, physical, '\t');
    VisibleDevicesCase one;
    one.value = unescape(value);
    one.init_result = std::stoi(result);
    std::istringstream indices(physical);
    for (std::string index; physical != "-" && std::getline(indices, index, ',');) {
      one.physical.push_back(std::stoi(index));
    }
    cases.push_back(one);
  }
  return cases;
}

}  // namespace cuenv_tests

#endif  // CUENV_TESTS_SUPPORT_VISIBLE_DEVICES_TABLE_HPP
