#include "machine.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <tuple>

namespace simulated {
namespace {

[[noreturn]] void fail(std::string const& what) { throw std::runtime_error("machine description: " + what); }

int to_int(std::string const& text) {
  std::size_t used = 0;
  int value = 0;
  try {
    value = std::stoi(text, &used);
  } catch (std::exception const&) {
    used = 0;
  }
  if (used == 0 || used != text.size()) fail("'" + text + "' is not a number");
  return value;
}

std::pair<int, int> to_major_minor(std::string const& text) {
  auto const dot = text.find('.');
  if (dot == std::string::npos) fail("'" + text + "' is not MAJOR.MINOR");
  return {to_int(text.substr(0, dot)), to_int(text.substr(dot + 1))};
}

bool well_formed_uuid(std::string const& uuid) {
  std::string const pattern = "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return uuid.size() == pattern.size() && std::equal(uuid.begin(), uuid.end(), pattern.begin(), [](char c, char p) {
           return p == 'x' ? std::isxdigit(static_cast<unsigned char>(c)) != 0 : c == p;
         });
}

SimulatedGpu parse_gpu(std::string const& fields) {
  SimulatedGpu gpu;
  std::istringstream words(fields);
  std::string word;
  while (words >> word) {
    auto const equals = word.find('=');
    if (equals == std::string::npos) fail("'" + word + "' is not KEY=VALUE");
    std::string const key = word.substr(0, equals);
    std::string value = word.substr(equals + 1);
    if (key == "uuid") {
      gpu.uuid = value;
    } else if (key == "pci") {
      gpu.pci = value;
    } else if (key == "cc") {
      std::tie(gpu.cc_major, gpu.cc_minor) = to_major_minor(value);
    } else if (key == "minor") {
      gpu.minor_number = to_int(value);
    } else if (key == "speed") {
      gpu.speed = to_int(value);
    } else if (key == "excluded") {
      gpu.excluded = value == "yes";
    } else if (key == "mig") {
      if (value != "on" && value != "off") fail("mig is on or off");
      gpu.mig = value == "on" ? MigMode::on : MigMode::off;
    } else if (key == "name") {
      std::string rest;
      std::getline(words, rest);
      gpu.name = value + rest;
    } else {
      fail("unknown key '" + key + "'");
    }
  }
  if (!well_formed_uuid(gpu.uuid)) fail("'" + gpu.uuid + "' is no GPU UUID");
  (void)pci_address(gpu);
  return gpu;
}

void parse_line(std::string const& line, Machine& machine) {
  std::istringstream words(line);
  std::string statement;
  std::string value;
  words >> statement;
  if (statement.empty() || statement[0] == '#') return;
  std::getline(words >> std::ws, value);
  if (statement == "driver") {
    machine.driver_version = value;
  } else if (statement == "cuda") {
    auto const [major, minor] = to_major_minor(value);
    machine.cuda_version = major * 1000 + minor * 10;
  } else if (statement == "gpu") {
    machine.gpus.push_back(parse_gpu(value));
  } else if (statement == "init_error") {
    machine.init_error = to_int(value);
  } else if (statement == "context_error") {
    machine.context_error = to_int(value);
  } else if (statement == "jit_compiler_missing") {
    machine.jit_compiler_missing = true;
  } else if (statement == "stub") {
    machine.stub = true;
  } else if (statement == "max_persisting_l2") {
    machine.max_persisting_l2 = to_int(value);
  } else {
    fail("unknown statement '" + statement + "'");
  }
}

void write_file(std::filesystem::path const& file, std::string const& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file.string());
}

/// In the form of the kernel module's file; tabs and blanks as there.
std::string information(SimulatedGpu const& gpu, Machine const& machine) {
  return "Model: \t\t " + gpu.name +
         "\n"
         "IRQ:   \t\t 30\n"
         "GPU UUID: \t " +
         gpu.uuid +
         "\n"
         "Video BIOS: \t 96.00.bc.00.01\n"
         "Bus Type: \t PCIe\n"
         "DMA Size: \t 52 bits\n"
         "DMA Mask: \t 0xfffffffffffff\n"
         "Bus Location: \t " +
         gpu.pci +
         "\n"
         "Device Minor: \t " +
         std::to_string(gpu.minor_number) +
         "\n"
         "GPU Firmware: \t " +
         machine.driver_version +
         "\n"
         "GPU Excluded:\t " +
         (gpu.excluded ? "Yes" : "No") + "\n";
}

}  // namespace

Machine parse_machine(std::string const& text) {
  Machine machine;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    try {
      parse_line(line, machine);
    } catch (std::runtime_error const& error) {
      throw std::runtime_error("line " + std::to_string(number) + ": " + error.what());
    }
  }
  return machine;
}

std::string to_text(Machine const& machine) {
  std::ostringstream out;
  out << "driver " << machine.driver_version << "\n";
  out << "cuda " << machine.cuda_version / 1000 << "." << machine.cuda_version % 1000 / 10 << "\n";
  for (auto const& gpu : machine.gpus) {
    out << "gpu uuid=" << gpu.uuid << " pci=" << gpu.pci << " cc=" << gpu.cc_major << "." << gpu.cc_minor
        << " minor=" << gpu.minor_number << " speed=" << gpu.speed;
    if (gpu.mig != MigMode::unsupported) out << " mig=" << (gpu.mig == MigMode::on ? "on" : "off");
    if (gpu.excluded) out << " excluded=yes";
    out << " name=" << gpu.name << "\n";
  }
  if (machine.init_error != 0) out << "init_error " << machine.init_error << "\n";
  if (machine.context_error != 0) out << "context_error " << machine.context_error << "\n";
  if (machine.jit_compiler_missing) out << "jit_compiler_missing\n";
  if (machine.stub) out << "stub\n";
  out << "max_persisting_l2 " << machine.max_persisting_l2 << "\n";
  return out.str();
}

Machine read_machine(std::string const& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + file);
  return parse_machine({std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()});
}

void write_root(Machine const& machine, std::string const& folder) {
  std::filesystem::path const root = folder;
  write_file(root / "machine.txt", to_text(machine));
  auto const proc = root / "proc/driver/nvidia";
  write_file(proc / "version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + machine.driver_version +
                                   "  simulated\nGCC version:  simulated\n");
  write_file(root / "dev/nvidiactl", "");
  write_file(root / "dev/nvidia-uvm", "");
  for (auto const& gpu : machine.gpus) {
    std::string folder_name = gpu.pci;
#ifdef _WIN32
    std::replace(folder_name.begin(), folder_name.end(), ':', '-');  // no character of a file's name there
#endif
    write_file(proc / "gpus" / folder_name / "information", information(gpu, machine));
    write_file(root / "dev" / ("nvidia" + std::to_string(gpu.minor_number)), "");
  }
}

std::vector<SimulatedGpu> gpus_by_pci(Machine const& machine) {
  std::vector<SimulatedGpu> gpus;
  std::copy_if(machine.gpus.begin(), machine.gpus.end(), std::back_inserter(gpus),
               [](SimulatedGpu const& gpu) { return !gpu.excluded; });
  auto const key = [](SimulatedGpu const& gpu) {
    auto const a = pci_address(gpu);
    return std::tuple(a.domain, a.bus, a.device, a.function);
  };
  std::stable_sort(gpus.begin(), gpus.end(), [&](auto const& a, auto const& b) { return key(a) < key(b); });
  return gpus;
}

std::array<unsigned char, 16> uuid_bytes(SimulatedGpu const& gpu) {
  std::array<unsigned char, 16> bytes{};
  std::string digits;
  for (char const c : gpu.uuid.substr(4)) {
    if (c != '-') digits += c;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  }
  return bytes;
}

PciAddress pci_address(SimulatedGpu const& gpu) {
  PciAddress address;
  if (std::sscanf(gpu.pci.c_str(), "%x:%x:%x.%x", &address.domain, &address.bus, &address.device, &address.function) !=
      4) {
    fail("'" + gpu.pci + "' is no PCI address");
  }
  return address;
}

}  // namespace simulated
