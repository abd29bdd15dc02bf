#ifndef CUENV_TESTS_SUPPORT_VISIBLE_DEVICES_TABLE_HPP
#define CUENV_TESTS_SUPPORT_VISIBLE_DEVICES_TABLE_HPP

#include <cuenv/machine.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

/// The measured outcomes of CUDA_VISIBLE_DEVICES, `tests/data/visible_devices_*.tsv`; each file says how they were
/// measured and what its columns are. `cuenv verify --generated N --save FILE` writes more of them.
namespace cuenv_tests {

struct VisibleDevicesCase {
  std::string value;
  int init_result = 0;
  std::vector<int> physical;         // the GPU behind each logical device
  std::optional<std::string> order;  // CUDA_DEVICE_ORDER; none: not set
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
    std::string order;
    if (std::getline(columns, order, '\t')) one.order = unescape(order);
    std::istringstream indices(physical);
    for (std::string index; physical != "-" && std::getline(indices, index, ',');) {
      one.physical.push_back(std::stoi(index));
    }
    cases.push_back(one);
  }
  return cases;
}

/// The GPUs that the head of a table names: "#   GPU 0: GPU-<uuid> at <bus address>". Throws std::runtime_error if the
/// file cannot be read, names none, or says that it is simulated.
inline cuenv::Machine read_table_machine(std::string const& file) {
  std::ifstream in(file);
  cuenv::Machine machine;
  machine.source = cuenv::MachineSource::described;
  machine.driver_version = "580.159.04";
  for (std::string line; std::getline(in, line) && !line.empty() && line[0] == '#';) {
    if (line.rfind("# SIMULATED", 0) == 0) throw std::runtime_error(file + " is simulated, and proves nothing");
    std::size_t const version = line.find("Driver ");
    if (version != std::string::npos) {
      machine.driver_version = line.substr(version + 7, line.find(',', version) - version - 7);
    }
    std::size_t const tag = line.find(": GPU-");
    std::size_t const at = line.find(" at ");
    if (tag == std::string::npos || at == std::string::npos) continue;
    cuenv::Gpu gpu;
    gpu.uuid = cuenv::parse_uuid(line.substr(tag + 6, at - tag - 6));
    auto const pci = cuenv::parse_pci_address(line.substr(at + 4));
    if (!gpu.uuid || !pci) throw std::runtime_error(file + " names a GPU wrongly: " + line);
    gpu.pci = *pci;
    gpu.name = "one of like GPUs";
    machine.gpus.push_back(gpu);
  }
  if (machine.gpus.empty()) throw std::runtime_error(file + " names no GPU");
  return machine;
}

/// The paths of the tables in a folder, sorted.
inline std::vector<std::string> visible_devices_tables(std::string const& folder) {
  std::vector<std::string> files;
  for (auto const& entry : std::filesystem::directory_iterator{folder}) {
    std::string const name = entry.path().filename().string();
    if (name.rfind("visible_devices_", 0) == 0 && entry.path().extension() == ".tsv") {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace cuenv_tests

#endif  // CUENV_TESTS_SUPPORT_VISIBLE_DEVICES_TABLE_HPP
