#ifndef CUENV_GPU_HPP
#define CUENV_GPU_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

CUENV_NAMESPACE_BEGIN

/// Which GPU, counted as nvidia-smi does: the rank by PCI bus among the GPUs that are exposed here. From 0.
struct PhysicalIndex {
  explicit constexpr PhysicalIndex(int index) noexcept : value{index} {}  ///< unchecked: settings refuse a negative one
  int value;                                                              ///< from 0; nvidia-smi's number
};

/// Which GPU, counted as this process does: the argument of cuDeviceGet and cudaSetDevice. From 0.
struct LogicalIndex {
  explicit constexpr LogicalIndex(int index) noexcept : value{index} {}  ///< unchecked: settings refuse a negative one
  int value;                                                             ///< from 0; CUDA's number
};

[[nodiscard]] constexpr bool operator==(PhysicalIndex a, PhysicalIndex b) noexcept { return a.value == b.value; }
[[nodiscard]] constexpr bool operator!=(PhysicalIndex a, PhysicalIndex b) noexcept { return a.value != b.value; }
[[nodiscard]] constexpr bool operator<(PhysicalIndex a, PhysicalIndex b) noexcept { return a.value < b.value; }
[[nodiscard]] constexpr bool operator==(LogicalIndex a, LogicalIndex b) noexcept { return a.value == b.value; }
[[nodiscard]] constexpr bool operator!=(LogicalIndex a, LogicalIndex b) noexcept { return a.value != b.value; }
[[nodiscard]] constexpr bool operator<(LogicalIndex a, LogicalIndex b) noexcept { return a.value < b.value; }

/// A physical index, so that `{physical(1), physical(0)}` reads as what it is.
[[nodiscard]] constexpr PhysicalIndex physical(int index) noexcept { return PhysicalIndex{index}; }
/// A logical index.
[[nodiscard]] constexpr LogicalIndex logical(int index) noexcept { return LogicalIndex{index}; }

/// The compute capability of a GPU, X.Y: its major and minor revision (9.0 is Hopper, 12.0 Blackwell).
struct ComputeCapability {
  int major_revision = 0;  ///< X; 0.0 stands for "not known"
  int minor_revision = 0;  ///< Y, from 0 to 9

  /// The number in sm_90: ten times X, plus Y.
  [[nodiscard]] constexpr int sm() const noexcept { return major_revision * 10 + minor_revision; }
  /// The compute capability behind sm_90 or compute_90.
  [[nodiscard]] static constexpr ComputeCapability from_sm(int sm) noexcept { return {sm / 10, sm % 10}; }
};

[[nodiscard]] constexpr bool operator==(ComputeCapability a, ComputeCapability b) noexcept { return a.sm() == b.sm(); }
[[nodiscard]] constexpr bool operator!=(ComputeCapability a, ComputeCapability b) noexcept { return a.sm() != b.sm(); }
[[nodiscard]] constexpr bool operator<(ComputeCapability a, ComputeCapability b) noexcept { return a.sm() < b.sm(); }

/// "9.0", which `parse_compute_capability` reads.
[[nodiscard]] inline std::string to_string(ComputeCapability cc) {
  return std::to_string(cc.major_revision) + "." + std::to_string(cc.minor_revision);
}

/// "9.0" or "12.1"; nothing else in the text, Y of one digit, X of at most three.
[[nodiscard]] constexpr std::optional<ComputeCapability> parse_compute_capability(std::string_view text) noexcept {
  std::size_t const dot = text.find('.');
  if (dot == std::string_view::npos || text.size() != dot + 2) return std::nullopt;
  auto const x = detail::parse_decimal(text.substr(0, dot), 999);
  auto const y = detail::parse_decimal(text.substr(dot + 1), 9);
  if (!x || !y) return std::nullopt;
  return ComputeCapability{static_cast<int>(*x), static_cast<int>(*y)};
}

/// The 16 bytes that name one GPU (or one MIG instance) for ever.
struct Uuid {
  std::array<std::uint8_t, 16> bytes{};  ///< in the order of the text
};

[[nodiscard]] constexpr bool operator==(Uuid const& a, Uuid const& b) noexcept {
  for (std::size_t i = 0; i < 16; ++i) {
    if (a.bytes[i] != b.bytes[i]) return false;
  }
  return true;
}
[[nodiscard]] constexpr bool operator!=(Uuid const& a, Uuid const& b) noexcept { return !(a == b); }

/// The 36 characters 8-4-4-4-12 in lower case, without the tag "GPU-" or "MIG-".
[[nodiscard]] inline std::string to_string(Uuid const& uuid) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (std::size_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits[uuid.bytes[i] >> 4];
    text += digits[uuid.bytes[i] & 15];
  }
  return text;
}

/// Reads the 36 characters, in any case and without a tag; nothing for any other text.
[[nodiscard]] constexpr std::optional<Uuid> parse_uuid(std::string_view text) noexcept {
  if (text.size() != 36) return std::nullopt;
  Uuid uuid;
  std::size_t nibble = 0;
  for (std::size_t i = 0; i < 36; ++i) {
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    int const digit = detail::hex_digit(text[i]);
    if (digit < 0) return std::nullopt;
    std::uint8_t& byte = uuid.bytes[nibble / 2];
    byte = static_cast<std::uint8_t>((byte << 4) | digit);
    ++nibble;
  }
  return uuid;
}

/// Where a device sits on the PCI bus.
struct PciAddress {
  std::uint32_t domain = 0;    ///< 0 on most machines; up to 32 bits wide
  std::uint32_t bus = 0;       ///< 0 to 255
  std::uint32_t device = 0;    ///< 0 to 31
  std::uint32_t function = 0;  ///< 0 to 7; 0 for a GPU

  /// One number that sorts like the bus, which is the order of nvidia-smi and of CUDA_DEVICE_ORDER=PCI_BUS_ID.
  [[nodiscard]] constexpr std::uint64_t rank() const noexcept {
    return (static_cast<std::uint64_t>(domain) << 24) | (bus << 16) | (device << 8) | function;
  }
};

[[nodiscard]] constexpr bool operator==(PciAddress a, PciAddress b) noexcept { return a.rank() == b.rank(); }
[[nodiscard]] constexpr bool operator!=(PciAddress a, PciAddress b) noexcept { return a.rank() != b.rank(); }
[[nodiscard]] constexpr bool operator<(PciAddress a, PciAddress b) noexcept { return a.rank() < b.rank(); }

/// "0000:07:00.0", as in /proc and lspci; the domain gets more digits where it needs them.
[[nodiscard]] inline std::string to_string(PciAddress pci) {
  constexpr char digits[] = "0123456789abcdef";
  auto const hex = [&](std::uint32_t value, int width) {
    std::string text;
    for (int shift = 28; shift >= 0; shift -= 4) {
      if (shift < width * 4 || (value >> shift) != 0) text += digits[(value >> shift) & 15];
    }
    return text;
  };
  return hex(pci.domain, 4) + ":" + hex(pci.bus, 2) + ":" + hex(pci.device, 2) + "." + hex(pci.function, 1);
}

/// Reads "0000:07:00.0", the eight-digit domain of NVML ("00000000:07:00.0") and a missing function, in any case.
[[nodiscard]] constexpr std::optional<PciAddress> parse_pci_address(std::string_view text) noexcept {
  std::array<std::uint32_t, 4> parts{};
  constexpr std::array<std::size_t, 4> longest{8, 2, 2, 1};
  constexpr std::array<char, 4> separators{':', ':', '.', '\0'};
  for (std::size_t part = 0; part < 4; ++part) {
    if (part == 3 && text.empty()) break;
    std::size_t digits = 0;
    while (digits < text.size() && detail::hex_digit(text[digits]) >= 0) {
      if (digits == longest[part]) return std::nullopt;
      parts[part] = (parts[part] << 4) | static_cast<std::uint32_t>(detail::hex_digit(text[digits]));
      ++digits;
    }
    if (digits == 0) return std::nullopt;
    text.remove_prefix(digits);
    if (part < 3 && !text.empty()) {
      if (text.front() != separators[part]) return std::nullopt;
      text.remove_prefix(1);
      if (text.empty()) return std::nullopt;
    } else if (part < 2) {
      return std::nullopt;
    }
  }
  if (!text.empty()) return std::nullopt;
  return PciAddress{parts[0], parts[1], parts[2], parts[3]};
}

/// A part of a GPU that is split into MIG instances (compute capability 8.0 and later).
struct MigInstance {
  std::optional<Uuid> uuid;  ///< of the instance; unknown where NVML does not tell
  int gpu_instance = 0;      ///< its number on the GPU, from 0
  int compute_instance = 0;  ///< from 0, within the GPU instance
  /// The profile, such as "1g.10gb"; may be empty.
  std::string profile;
};

/// A physical GPU as the machine describes it, before and without CUDA.
struct Gpu {
  /// Unknown where the kernel driver prints question marks.
  std::optional<Uuid> uuid;
  PciAddress pci;    ///< what the physical index is counted by
  std::string name;  ///< as the kernel driver or NVML gives it, such as "NVIDIA H200"; may be empty
  /// Unknown to /proc; NVML and a described machine know it.
  std::optional<ComputeCapability> compute_capability;
  /// Unknown to /proc, which cannot tell; NVML and a described machine know it.
  bool mig_enabled = false;
  std::vector<MigInstance> mig;  ///< in NVML's order; empty without MIG
  /// True where this process is a client of an MPS daemon that was not given this GPU: then CUDA does not see it, and
  /// an index of CUDA_VISIBLE_DEVICES does not count it.
  bool hidden_by_mps = false;
};

CUENV_NAMESPACE_END

#endif  // CUENV_GPU_HPP
