#ifndef CUENV_TESTS_SIMULATED_MACHINE_HPP
#define CUENV_TESTS_SIMULATED_MACHINE_HPP

#include <array>
#include <string>
#include <vector>

/// A machine with GPUs that exists only as a description. The simulated driver and the simulated management library
/// answer from it. Written from measurements of a real driver, not from cuenv: the two share no code.
namespace simulated {

enum class MigMode { unsupported, off, on };

struct SimulatedGpu {
  std::string uuid;  // "GPU-5a9c1f04-..."
  std::string pci;   // "0000:00:06.0"
  std::string name;  // without the "Simulated " that the libraries put before it
  int cc_major = 0;
  int cc_minor = 0;
  int minor_number = 0;                // of /dev/nvidia<minor>
  int speed = 1;                       // rank for FASTEST_FIRST: 1 comes first; equal ranks in the order of the bus
  bool excluded = false;               // hidden from both libraries by the kernel module
  MigMode mig = MigMode::unsupported;  // reported by the management library only
};

struct Machine {
  std::string driver_version = "580.159.04";
  int cuda_version = 13000;  // as cuDriverGetVersion gives it
  std::vector<SimulatedGpu> gpus;

  // What is wrong with it.
  int init_error = 0;                 // cuInit gives this CUresult (802, 803, 999, ...)
  int context_error = 0;              // making a primary context gives this CUresult
  bool jit_compiler_missing = false;  // PTX that would have to be compiled gives 221
  bool stub = false;                  // the toolkit's stub library: every call gives 34

  /// The largest share of the L2 cache, in percent, that may be set aside; asking for more makes contexts fail.
  int max_persisting_l2 = 62;
};

/// The text form is one statement a line; '#' starts a comment line; the name of a GPU runs to the end of its line:
///
///     driver 580.159.04
///     cuda 13.0
///     gpu uuid=GPU-... pci=0000:00:06.0 cc=9.0 minor=0 speed=1 mig=off excluded=yes name=NVIDIA H200
///     init_error 802
///     context_error 2
///     jit_compiler_missing
///     stub
///     max_persisting_l2 62
///
/// Throws std::runtime_error, with the line's number, for anything else.
[[nodiscard]] Machine parse_machine(std::string const& text);
[[nodiscard]] std::string to_text(Machine const& machine);

/// Throws std::runtime_error if the file cannot be read.
[[nodiscard]] Machine read_machine(std::string const& file);

/// Writes the folder that stands for "/": machine.txt, proc/driver/nvidia/... and dev/nvidia*.
void write_root(Machine const& machine, std::string const& folder);

/// The GPUs that the kernel module shows, in the order of the bus.
[[nodiscard]] std::vector<SimulatedGpu> gpus_by_pci(Machine const& machine);

/// The 16 bytes that the text of a UUID stands for.
[[nodiscard]] std::array<unsigned char, 16> uuid_bytes(SimulatedGpu const& gpu);

struct PciAddress {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;
};

[[nodiscard]] PciAddress pci_address(SimulatedGpu const& gpu);

}  // namespace simulated

#endif  // CUENV_TESTS_SIMULATED_MACHINE_HPP
