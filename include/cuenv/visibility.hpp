#ifndef CUENV_VISIBILITY_HPP
#define CUENV_VISIBILITY_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/gpu.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/version.hpp>
#include <cuenv/visible_devices.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What the driver makes of CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, whatever their text: a pure function. Measured
// on driver 580.159.04 with one and two H200, MIG off, a process for each of some 900 values; what rests on documents
// alone (MIG, unlike GPUs) is marked.

CUENV_NAMESPACE_BEGIN

/// Why an entry of CUDA_VISIBLE_DEVICES selects nothing.
enum class DropReason {
  empty,              ///< nothing between two commas
  not_a_number,       ///< no digits where an index is expected
  negative,           ///< a number below 0 once cut to 32 bits
  out_of_range,       ///< no GPU of that index
  bare_tag,           ///< "GPU-" or "MIG-" with nothing behind
  no_such_uuid,       ///< no GPU's UUID begins so
  ambiguous_uuid,     ///< more than one GPU's UUID begins so
  other_kind,         ///< an index after a UUID, or the reverse
  one_mig_only,       ///< before driver 570 a process gets one MIG instance (documented)
  same_gpu_instance,  ///< a second compute instance of one GPU instance (documented)
  after_the_end       ///< never looked at: the list ended at an earlier entry
};

/// The enumerator's name, in JSON.
[[nodiscard]] constexpr std::string_view to_string(DropReason reason) noexcept {
  constexpr std::string_view names[] = {"empty",        "not_a_number",      "negative",       "out_of_range",
                                        "bare_tag",     "no_such_uuid",      "ambiguous_uuid", "other_kind",
                                        "one_mig_only", "same_gpu_instance", "after_the_end"};
  return names[static_cast<std::size_t>(reason)];
}

/// An entry that selects nothing. `entry` points into the text that was resolved.
struct DroppedEntry {
  std::string_view entry;  ///< as it is between its commas
  /// Where it begins, in bytes from 0.
  std::size_t offset = 0;
  DropReason reason = DropReason::after_the_end;  ///< why the driver takes nothing from it
};

/// One logical device that the driver will list.
struct VisibleDevice {
  /// Empty where only the driver knows: unlike GPUs in the order FASTEST_FIRST.
  std::optional<PhysicalIndex> physical;
  /// Position in the GPU's list of MIG instances; empty for a whole GPU.
  std::optional<std::size_t> mig;
};

[[nodiscard]] constexpr bool operator==(VisibleDevice const& a, VisibleDevice const& b) noexcept {
  return a.physical == b.physical && a.mig == b.mig;
}

/// The entry at which the whole list fails.
struct VoidEntry {
  std::string_view entry;  ///< points into the text that was resolved
  std::size_t offset = 0;  ///< where it begins, in bytes from 0
  /// 100: nothing is visible. 101: a GPU is listed twice.
  int code = 0;
};

/// What the driver will do with the two variables on one machine. It keeps views of the texts that were resolved.
struct Visibility {
  /// False where the machine does not tell enough; then only `order_is_invalid` and `reason_unknown` mean something.
  bool known = true;
  /// Why it is not known.
  std::string_view reason_unknown;
  /// True where more than the measured rules was needed: MIG, or unlike GPUs.
  bool documented_only = false;
  /// CUDA_DEVICE_ORDER is neither PCI_BUS_ID nor FASTEST_FIRST: cuInit gives 101, whatever else is set.
  bool order_is_invalid = false;
  bool list_is_ignored = false;   ///< the list is longer than `longest_device_list`: it counts as not set
  bool order_is_ignored = false;  ///< the order is longer than `longest_device_order`: it counts as not set
  /// The logical devices, in order.
  std::vector<VisibleDevice> devices;
  std::vector<DroppedEntry> dropped;  ///< in the order of the list
  /// The list is void from this entry.
  std::optional<VoidEntry> error;
  /// What cuInit will answer: 0, 100 or 101.
  int cu_init = 0;
};

/// The two variables as text; empty optionals are variables that are not set.
struct VisibilityVariables {
  std::optional<std::string_view> visible;  ///< CUDA_VISIBLE_DEVICES
  std::optional<std::string_view> order;    ///< CUDA_DEVICE_ORDER
};

namespace detail {

/// The GPUs and MIG instances that an index can name, in the order of CUDA.
[[nodiscard]] inline std::vector<VisibleDevice> enumerate(Machine const& machine, bool pci_order, Visibility& result) {
  std::vector<VisibleDevice> all;
  bool const physical_known = pci_order || machine.gpus_are_alike() || machine.reachable_gpus() == 1;
  bool any_mig = false;
  for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
    if (machine.gpus[gpu].hidden_by_mps) continue;
    std::optional<PhysicalIndex> physical_index;
    if (physical_known) physical_index = PhysicalIndex{static_cast<int>(gpu)};
    if (!machine.gpus[gpu].mig_enabled) {
      all.push_back({physical_index, {}});
      continue;
    }
    any_mig = true;
    // One compute instance of each GPU instance (documented for driver 570 and later).
    std::vector<int> seen;
    for (std::size_t i = 0; i < machine.gpus[gpu].mig.size(); ++i) {
      int const instance = machine.gpus[gpu].mig[i].gpu_instance;
      bool again = false;
      for (int earlier : seen) again = again || earlier == instance;
      if (again) continue;
      seen.push_back(instance);
      all.push_back({physical_index, i});
    }
  }
  if (any_mig) {
    result.documented_only = true;
    if (machine.driver_branch() < 570) {  // one MIG instance, and no whole GPU beside it (documented)
      for (VisibleDevice const& device : all) {
        if (device.mig) return {device};
      }
    }
  }
  if (!physical_known) result.documented_only = true;
  return all;
}

/// All that an id can mean.
struct UuidMatches {
  std::vector<VisibleDevice> devices;
  bool unknown_uuids = false;
};

/// How many characters of an id count, behind its tag (measured, driver 580).
inline constexpr std::size_t id_length = 36;

/// How the driver compares an id with a UUID: dashes count nothing, wherever they stand, and a dash alone begins every
/// UUID; what follows the 32nd digit or the 36th character is ignored (measured, driver 580).
[[nodiscard]] inline bool uuid_begins(std::optional<Uuid> const& uuid, std::string_view id) noexcept {
  if (!uuid) return false;
  std::size_t nibble = 0;
  for (char const c : id.substr(0, id_length)) {
    if (c == '-') continue;
    if (nibble == 32) return true;
    int const digit = (nibble % 2 == 0 ? uuid->bytes[nibble / 2] >> 4 : uuid->bytes[nibble / 2] & 15);
    if (hex_digit(c) != digit) return false;
    ++nibble;
  }
  return true;
}

/// True for an id with all 32 digits, which can begin one UUID only.
[[nodiscard]] inline bool is_complete_id(std::string_view id) noexcept {
  std::size_t digits = 0;
  for (char const c : id.substr(0, id_length)) digits += c == '-' ? 0 : 1;
  return digits >= 32;
}

/// Finds the devices whose UUID an id, which is what stands behind the tag of an entry, begins.
[[nodiscard]] inline UuidMatches find_uuid(Machine const& machine, bool is_mig, std::string_view id) {
  UuidMatches matches;
  auto const add = [&](std::size_t gpu, std::optional<std::size_t> instance) {
    matches.devices.push_back({PhysicalIndex{static_cast<int>(gpu)}, instance});
  };
  // MIG-GPU-<uuid>/<gi>/<ci>, the form of drivers 450 and 460. With MIG off it selects nothing (measured, driver 580).
  bool const legacy = is_mig && starts_with(id, "GPU-");
  if (legacy) id.remove_prefix(4);
  std::string_view const prefix = legacy ? id.substr(0, id.find('/')) : id;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    Gpu const& gpu = machine.gpus[i];
    if (gpu.hidden_by_mps) continue;
    matches.unknown_uuids = matches.unknown_uuids || !gpu.uuid;
    if (is_mig && gpu.mig_enabled) {
      std::string_view rest =
          legacy && id.find('/') != std::string_view::npos ? id.substr(id.find('/') + 1) : std::string_view{};
      auto const gpu_instance = parse_decimal(take_until(rest, '/'), 999);
      auto const compute_instance = parse_decimal(rest, 999);
      for (std::size_t m = 0; m < gpu.mig.size(); ++m) {
        MigInstance const& instance = gpu.mig[m];
        bool const same = legacy ? uuid_begins(gpu.uuid, prefix) && gpu_instance && compute_instance &&
                                       static_cast<int>(*gpu_instance) == instance.gpu_instance &&
                                       static_cast<int>(*compute_instance) == instance.compute_instance
                                 : uuid_begins(instance.uuid, prefix);
        if (same) add(i, m);
      }
    } else if (!legacy && uuid_begins(gpu.uuid, prefix)) {
      add(i, std::nullopt);  // with MIG off "MIG-" and the UUID of a GPU select that GPU (measured, driver 580)
    }
  }
  return matches;
}

}  // namespace detail

/// What the driver will do with the two variables on the machine. Pure; the texts must outlive the result.
///
/// The rule (measured, driver 580; all 678 values): the list is split at commas and at nothing else. Its first entry
/// decides whether it is a list of ids (upper-case GPU- or MIG-, nothing before it) or of indices. It ends, without an
/// error, at the first entry that is invalid or of the other kind. An index is read like strtoul, base 10, 64 bits
/// saturating, then cut to 32 bits and taken as signed; what follows the digits is ignored. An id is its tag and 1 to
/// 36 characters that begin one UUID only, in any case and with dashes anywhere; what follows a complete UUID is
/// ignored. A GPU that is kept twice makes cuInit fail with 101; when nothing is kept it is 100. A text that is too
/// long is as if it were not set. For the client of an MPS daemon the same holds of the daemon's GPUs alone, in the
/// order of the bus, whatever the order of the daemon's own list (measured, driver 580, two H200).
[[nodiscard]] inline Visibility resolve_visibility(VisibilityVariables const& variables, Machine const& machine) {
  Visibility result;
  // Exactly these two words; every other text, the empty one too, ends CUDA (measured, driver 580).
  bool const pci_order = variables.order == "PCI_BUS_ID";
  result.order_is_ignored = variables.order && variables.order->size() > longest_device_order;
  result.list_is_ignored = variables.visible && variables.visible->size() > longest_device_list;
  result.order_is_invalid =
      variables.order && !result.order_is_ignored && !pci_order && *variables.order != "FASTEST_FIRST";
  if (machine.source == MachineSource::unknown) {
    result.known = false;
    result.reason_unknown = "the GPUs of this machine are not known";
    return result;
  }
  if (!machine.doubt.empty()) {
    result.known = false;
    result.reason_unknown = machine.doubt;
    return result;
  }
  std::vector<VisibleDevice> const all = detail::enumerate(machine, pci_order, result);
  if (result.order_is_invalid) {
    result.cu_init = 101;
    return result;
  }
  if (!variables.visible || result.list_is_ignored) {
    result.devices = all;
    result.cu_init = all.empty() ? 100 : 0;
    return result;
  }

  std::string_view const text = *variables.visible;
  bool const ids = detail::starts_with(text, "GPU-") || detail::starts_with(text, "MIG-");
  std::optional<VoidEntry> duplicate;
  std::vector<std::size_t> kept_positions;  // for indices: positions in `all`, which tell repeats apart
  bool ended = false;
  for (std::size_t offset = 0; offset <= text.size();) {
    std::size_t const comma = text.find(',', offset);
    std::size_t const end = comma == std::string_view::npos ? text.size() : comma;
    std::string_view const entry = text.substr(offset, end - offset);
    auto const drop = [&](DropReason reason) { result.dropped.push_back({entry, offset, reason}); };
    std::optional<DropReason> invalid;
    std::optional<VisibleDevice> device;
    std::size_t position = 0;

    bool const entry_is_id = detail::starts_with(entry, "GPU-") || detail::starts_with(entry, "MIG-");
    if (ended) {
      drop(DropReason::after_the_end);
      offset = end + 1;
      continue;
    }
    if (ids && !entry_is_id) {
      invalid = entry.empty() ? DropReason::empty : DropReason::other_kind;
    } else if (ids) {
      bool const is_mig = detail::starts_with(entry, "MIG-");
      std::string_view const id = entry.substr(4);
      if (id.empty()) {
        invalid = DropReason::bare_tag;
      } else {
        auto const matches = detail::find_uuid(machine, is_mig, id);
        if (matches.unknown_uuids &&
            !(matches.devices.size() == 1 && detail::is_complete_id(id))) {  // a complete UUID is one GPU's alone
          result.known = false;
          result.reason_unknown = "the kernel driver does not show the UUID of every GPU";
          return result;
        }
        if (matches.devices.empty()) invalid = DropReason::no_such_uuid;
        if (matches.devices.size() > 1) invalid = DropReason::ambiguous_uuid;
        if (matches.devices.size() == 1) device = matches.devices.front();
      }
    } else {
      detail::Strtoull const number = detail::strtoull_base10(entry);
      auto const index = static_cast<std::int32_t>(static_cast<std::uint32_t>(number.value));
      if (number.used == 0) {
        invalid = detail::trim(entry).empty() ? DropReason::empty
                  : entry_is_id               ? DropReason::other_kind
                                              : DropReason::not_a_number;
      } else if (index < 0) {
        invalid = DropReason::negative;
      } else if (static_cast<std::size_t>(index) >= all.size()) {
        invalid = DropReason::out_of_range;
      } else {
        position = static_cast<std::size_t>(index);
        device = all[position];
      }
    }

    if (invalid) {
      ended = true;
      drop(*invalid);
    } else {
      bool repeated = false;
      for (std::size_t i = 0; i < result.devices.size(); ++i) {
        repeated = repeated || (ids ? result.devices[i] == *device : kept_positions[i] == position);
      }
      if (repeated && !duplicate) duplicate = VoidEntry{entry, offset, 101};
      // Documented MIG limits; none of them was measured.
      std::optional<DropReason> limit;
      if (device->mig && device->physical && !repeated) {
        result.documented_only = true;
        auto const gpu_instance = [&](VisibleDevice const& of) {
          return machine.gpus[static_cast<std::size_t>(of.physical->value)].mig[*of.mig].gpu_instance;
        };
        for (VisibleDevice const& earlier : result.devices) {
          if (machine.driver_branch() < 570) limit = DropReason::one_mig_only;
          if (earlier.mig && earlier.physical && earlier.physical == device->physical &&
              gpu_instance(earlier) == gpu_instance(*device)) {
            limit = DropReason::same_gpu_instance;
          }
        }
      } else if (machine.driver_branch() < 570 && !result.devices.empty() && result.devices.front().mig) {
        result.documented_only = true;
        limit = DropReason::one_mig_only;
      }
      if (limit) {
        drop(*limit);
      } else if (!repeated) {  // a list with a repeat is void, and keeping repeats would take time squared
        result.devices.push_back(*device);
        kept_positions.push_back(position);
      }
    }
    offset = end + 1;
  }
  if (duplicate) {
    result.error = duplicate;
  } else if (result.devices.empty()) {
    DroppedEntry const& first = result.dropped.front();
    result.error = VoidEntry{first.entry, first.offset, 100};
  }
  if (result.error) {
    result.devices.clear();
    result.cu_init = result.error->code;
  }
  return result;
}

CUENV_NAMESPACE_END

#endif  // CUENV_VISIBILITY_HPP
