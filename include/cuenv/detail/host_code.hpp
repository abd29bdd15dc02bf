#ifndef CUENV_DETAIL_HOST_CODE_HPP
#define CUENV_DETAIL_HOST_CODE_HPP

#include <cuenv/detail/bytes.hpp>
#include <cuenv/image.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

CUENV_NAMESPACE_BEGIN
namespace detail {

/// A part of a host program, library or object that can hold GPU code.
struct CodeRange {
  /// Name of its section; empty where there are no sections, and it is only a place to search.
  std::string_view section;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  /// Where the program sees its first byte.
  std::uint64_t address = 0;
};

/// More parts with GPU code than any linker makes; a file that claims more lies, and would be walked again and again.
inline constexpr std::size_t most_code_ranges = 64;

/// The records by which a program registers its modules: magic, version, address of the container, and a pointer. Those
/// of version 2 (the output of nvcc's device-link step, in every program that nvcc links) are remembered.
class DeviceLinks {
 public:
  static constexpr std::size_t record_size = 24;

  /// Reads a section of records. `address` is where the program sees it.
  void read(ByteRange records, std::uint64_t address) {
    constexpr std::uint32_t magic = 0x466243b1;
    for (std::uint64_t at = 0; records.holds(at, record_size) && count_ < links_.size(); at += record_size) {
      Bytes const record = records.look(at, record_size);
      if (record.u32(0) == magic && record.u32(4) == 2) links_[count_++] = {address + at + 8, record.u64(8)};
    }
  }

  /// True where a record's container is not in the file but filled in by the loader, from a relocation.
  [[nodiscard]] bool incomplete() const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (links_[i].container == 0) return true;
    }
    return false;
  }

  /// Takes a relocation into account: the 8 bytes at `place` will hold `value`.
  void relocate(std::uint64_t place, std::uint64_t value) noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (links_[i].place == place && links_[i].container == 0) links_[i].container = value;
    }
  }

  /// Whether the container that the program sees at `address` came from the device-link step.
  [[nodiscard]] bool contains(std::uint64_t address) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (address != 0 && links_[i].container == address) return true;
    }
    return false;
  }

 private:
  struct Link {
    std::uint64_t place = 0;
    std::uint64_t container = 0;
  };
  std::array<Link, 8> links_{};
  std::size_t count_ = 0;
};

/// Where GPU code sits in a program, library or object of the host.
struct HostCode {
  std::array<CodeRange, most_code_ranges> ranges;
  std::size_t count = 0;
  DeviceLinks links;
  Damage damage = Damage::none;

  void add(CodeRange range) noexcept {
    if (count == ranges.size()) {
      damage = Damage::too_many;
    } else {
      ranges[count++] = range;
    }
  }
};

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_HOST_CODE_HPP
