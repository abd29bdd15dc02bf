#ifndef CUENV_GPU_GENERATIONS_HPP
#define CUENV_GPU_GENERATIONS_HPP

#include <cuenv/cuda_version.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/gpu.hpp>
#include <cuenv/gpu_code_rules.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

// Which toolkits and drivers a GPU lives with, and how its compute capability is told where no library can be asked.

CUENV_NAMESPACE_BEGIN

/// What belongs to one compute capability.
struct GpuGeneration {
  int sm;                         ///< ten times X, plus Y, of compute capability X.Y
  std::string_view architecture;  ///< "Hopper"
  CudaVersion first_toolkit;      ///< the first that builds for it
  CudaVersion last_toolkit;       ///< the last that does; 0.0 where it is not known to have come yet
  /// The last branch of the driver for PCI GPUs that runs it; 0 where it has not come, and for GPUs of Tegra.
  int last_driver_branch;
};

/// Oldest first. Sources: CUDA Toolkit, Driver, and Architecture Matrix (NVIDIA data center documentation) for the last
/// toolkit and driver; PTX ISA manual, release history, for the first toolkit, with 12.8 in place of 12.7, which was
/// not released as a toolkit. Tried: nvcc 13.0 refuses what is said to end with 12.9. Nothing of this is measured on a
/// GPU.
inline constexpr GpuGeneration gpu_generations[] = {
    {20, "Fermi", {3, 0}, {8, 0}, 390},      {21, "Fermi", {3, 2}, {8, 0}, 390},
    {30, "Kepler", {4, 2}, {10, 2}, 470},    {32, "Kepler", {6, 0}, {10, 2}, 0},
    {35, "Kepler", {5, 0}, {11, 8}, 470},    {37, "Kepler", {6, 5}, {11, 8}, 470},
    {50, "Maxwell", {6, 0}, {12, 9}, 580},   {52, "Maxwell", {6, 5}, {12, 9}, 580},
    {53, "Maxwell", {7, 0}, {12, 9}, 0},     {60, "Pascal", {8, 0}, {12, 9}, 580},
    {61, "Pascal", {8, 0}, {12, 9}, 580},    {62, "Pascal", {8, 0}, {12, 9}, 0},
    {70, "Volta", {9, 0}, {12, 9}, 580},     {72, "Volta", {9, 1}, {12, 9}, 0},
    {75, "Turing", {10, 0}, {}, 0},          {80, "Ampere", {11, 0}, {}, 0},
    {86, "Ampere", {11, 1}, {}, 0},          {87, "Ampere", {11, 4}, {}, 0},
    {88, "Ampere", {13, 0}, {}, 0},          {89, "Ada", {11, 8}, {}, 0},
    {90, "Hopper", {11, 8}, {}, 0},          {100, "Blackwell", {12, 8}, {}, 0},
    {101, "Blackwell", {12, 8}, {12, 9}, 0}, {103, "Blackwell", {12, 9}, {}, 0},
    {107, "Rubin", {13, 4}, {}, 0},          {110, "Blackwell", {13, 0}, {}, 0},
    {120, "Blackwell", {12, 8}, {}, 0},      {121, "Blackwell", {12, 9}, {}, 0},
};

/// The row of a compute capability; null for one that the table does not know.
[[nodiscard]] constexpr GpuGeneration const* find_generation(ComputeCapability cc) noexcept {
  for (GpuGeneration const& row : gpu_generations) {
    if (row.sm == cc.sm()) return &row;
  }
  return nullptr;
}

/// "Hopper" for 9.0; empty where the table does not know.
[[nodiscard]] constexpr std::string_view architecture_of(ComputeCapability cc) noexcept {
  GpuGeneration const* const row = find_generation(cc);
  return row == nullptr ? std::string_view{} : row->architecture;
}

/// How a GPU's age and that of a toolkit or driver go together.
enum class Age {
  fits,
  gpu_too_old,  ///< support for the GPU has ended before
  gpu_too_new,  ///< it came later: PTX may still run on it
  unknown       ///< the table does not know this GPU
};

/// Whether a toolkit builds machine code for a GPU. Documented; see gpu_generations.
[[nodiscard]] constexpr Age age_for_toolkit(ComputeCapability cc, CudaVersion toolkit) noexcept {
  GpuGeneration const* const row = find_generation(cc);
  if (row == nullptr) return Age::unknown;
  if (toolkit < row->first_toolkit) return Age::gpu_too_new;
  bool const ended = row->last_toolkit != CudaVersion{} && row->last_toolkit < toolkit;
  return ended ? Age::gpu_too_old : Age::fits;
}

/// The branch of the driver that came with the first toolkit for a GPU, as far as the tables go: an older one does not
/// know it. 0 where unknown.
[[nodiscard]] constexpr int first_driver_branch(ComputeCapability cc) noexcept {
  GpuGeneration const* const row = find_generation(cc);
  if (row == nullptr) return 0;
  for (CudaRelease const& release : cuda_releases) {
    if (release.cuda == row->first_toolkit) return release.driver_branch;
  }
  return 0;
}

/// Whether a driver of a branch (580 for 580.159.04) knows a GPU on the PCI bus. Documented; see gpu_generations.
[[nodiscard]] constexpr Age age_for_driver(ComputeCapability cc, int branch) noexcept {
  GpuGeneration const* const row = find_generation(cc);
  if (row == nullptr) return Age::unknown;
  if (row->last_driver_branch != 0 && branch > row->last_driver_branch) return Age::gpu_too_old;
  return branch < first_driver_branch(cc) ? Age::gpu_too_new : Age::fits;
}

/// GPUs that only the open kernel modules drive: Blackwell and later. Source: driver installation guide, kernel modules
/// (Blackwell and Grace Hopper), and what the proprietary module says in the kernel's log. Not measured. Grace Hopper
/// cannot be told from Hopper by its compute capability and is left out.
[[nodiscard]] constexpr bool needs_open_module(ComputeCapability cc) noexcept { return cc.major_revision >= 10; }
/// GPUs that only the proprietary kernel modules drive: those before Turing (the same source).
[[nodiscard]] constexpr bool needs_proprietary_module(ComputeCapability cc) noexcept { return cc.sm() < 75; }

namespace detail {

struct PciIdRange {
  unsigned first;
  unsigned last;
  int sm;
};

/// Device ids of vendor 10de. Source: the PCI ID database (chip names); from Ada on whole blocks, as seen there, in the
/// list of the open kernel modules and in published lspci output. What nobody has listed counts like its neighbours.
inline constexpr PciIdRange pci_id_ranges[] = {
    {0x06c0, 0x06df, 20},  {0x0dc0, 0x0e3f, 21},  {0x0f00, 0x0f06, 21},  {0x0fc0, 0x0fff, 30},  {0x1001, 0x102c, 35},
    {0x102d, 0x102d, 37},  {0x102e, 0x103f, 35},  {0x1040, 0x107f, 21},  {0x1080, 0x109b, 20},  {0x1140, 0x1140, 21},
    {0x1180, 0x11ff, 30},  {0x1200, 0x127f, 21},  {0x1280, 0x12bf, 35},  {0x1340, 0x13bf, 50},  {0x13c0, 0x143f, 52},
    {0x15f0, 0x15ff, 60},  {0x1617, 0x1667, 52},  {0x1725, 0x172f, 60},  {0x174d, 0x179c, 50},  {0x17c2, 0x17fd, 52},
    {0x1b00, 0x1d7f, 61},  {0x1d81, 0x1dff, 70},  {0x1e00, 0x1fff, 75},  {0x2080, 0x20ff, 80},  {0x2180, 0x21ff, 75},
    {0x2200, 0x223f, 86},  {0x2300, 0x23ff, 90},  {0x2400, 0x25ff, 86},  {0x2600, 0x28ff, 89},  {0x2900, 0x29ff, 100},
    {0x2b80, 0x2dff, 120}, {0x2e12, 0x2e12, 121}, {0x2f00, 0x2fff, 120}, {0x3180, 0x31ff, 103},
};

struct NamePattern {
  /// Whole words; '#' stands for a digit, and letters may follow the last one ("L40" names an L40S too).
  std::string_view text;
  int sm;
};

/// The first that fits counts. Source: developer.nvidia.com/cuda-gpus and /cuda-legacy-gpus, tried against the names of
/// the PCI ID database and of the open kernel modules' list. Names that were given to GPUs of two kinds are left out.
inline constexpr NamePattern name_patterns[] = {
    {"RTX PRO", 120}, {"Ada", 89},       {"Blackwell", 120}, {"Quadro RTX", 75}, {"TITAN RTX", 75}, {"TITAN V", 70},
    {"TITAN Xp", 61}, {"RTX 2050", 86},  {"RTX 3050 A", 89}, {"RTX 50##", 120},  {"RTX 40##", 89},  {"RTX 30##", 86},
    {"RTX 20##", 75}, {"RTX A####", 86}, {"RTX A###", 86},   {"GTX 16##", 75},   {"GTX 10##", 61},  {"GTX 970", 52},
    {"GTX 980", 52},  {"GB300", 103},    {"B300", 103},      {"GB200", 100},     {"B200", 100},     {"B100", 100},
    {"GB10", 121},    {"GH200", 90},     {"H200", 90},       {"H100", 90},       {"H800", 90},      {"H20", 90},
    {"L40", 89},      {"L20", 89},       {"L4", 89},         {"L2", 89},         {"A100", 80},      {"A800", 80},
    {"AX800", 80},    {"A30", 80},       {"A40", 86},        {"A10", 86},        {"A16", 86},       {"A2", 86},
    {"MX570", 86},    {"T4", 75},        {"T1000", 75},      {"T1200", 75},      {"T2000", 75},     {"T400", 75},
    {"T500", 75},     {"T550", 75},      {"T600", 75},       {"MX450", 75},      {"MX550", 75},     {"V100", 70},
    {"GV100", 70},    {"P100", 60},      {"GP100", 60},      {"P40", 61},        {"P4", 61},        {"M60", 52},
    {"M40", 52},      {"K80", 37},       {"K40", 35},        {"K20", 35},
};

[[nodiscard]] constexpr bool is_alphanumeric(char c) noexcept {
  return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
}

/// Whether a pattern stands in a name, as whole words.
[[nodiscard]] constexpr bool name_fits(std::string_view name, std::string_view pattern) noexcept {
  for (std::size_t start = 0; start + pattern.size() <= name.size(); ++start) {
    if (start > 0 && is_alphanumeric(name[start - 1])) continue;
    std::size_t same = 0;
    while (same < pattern.size() &&
           (pattern[same] == '#' ? is_digit(name[start + same]) : pattern[same] == name[start + same])) {
      ++same;
    }
    std::size_t const end = start + same;
    if (same != pattern.size()) continue;
    bool const digit_in_pattern = pattern.find_first_of("#0123456789") != std::string_view::npos;
    if (end == name.size() || !is_alphanumeric(name[end]) || (digit_in_pattern && !is_digit(name[end]))) return true;
  }
  return false;
}

}  // namespace detail

/// The compute capability of a PCI device of NVIDIA by its device id (0x2335: 9.0); nothing where the table has none.
[[nodiscard]] constexpr std::optional<ComputeCapability> capability_of_pci_device(unsigned device_id) noexcept {
  for (detail::PciIdRange const& range : detail::pci_id_ranges) {
    if (device_id >= range.first && device_id <= range.last) return ComputeCapability::from_sm(range.sm);
  }
  return std::nullopt;
}

/// The compute capability of a GPU by its name ("NVIDIA H200": 9.0); nothing where the table has none.
[[nodiscard]] constexpr std::optional<ComputeCapability> capability_of_name(std::string_view name) noexcept {
  for (detail::NamePattern const& pattern : detail::name_patterns) {
    if (detail::name_fits(name, pattern.text)) return ComputeCapability::from_sm(pattern.sm);
  }
  return std::nullopt;
}

CUENV_NAMESPACE_END

#endif  // CUENV_GPU_GENERATIONS_HPP
