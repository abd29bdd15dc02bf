#ifndef CUENV_VISIBLE_DEVICES_HPP
#define CUENV_VISIBLE_DEVICES_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/gpu.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What a program may ask CUDA_VISIBLE_DEVICES for. What the driver makes of any other text is in visibility.hpp.

CUENV_NAMESPACE_BEGIN

/// A GPU or MIG instance by its name for life: "GPU-<uuid>" or a unique beginning of it, "MIG-<uuid>" (driver 470 and
/// later), or the older "MIG-GPU-<uuid>/<GPU instance>/<compute instance>".
struct DeviceId {
  explicit DeviceId(std::string id) : text{std::move(id)} {}               ///< unchecked: settings refuse what is no id
  explicit DeviceId(Uuid const& uuid) : text{"GPU-" + to_string(uuid)} {}  ///< of a whole GPU
  std::string text;  ///< with its tag; ids are equal in any case of their letters
};

[[nodiscard]] inline bool operator==(DeviceId const& a, DeviceId const& b) noexcept {
  return detail::equal_ignoring_case(a.text, b.text);
}
[[nodiscard]] inline bool operator!=(DeviceId const& a, DeviceId const& b) noexcept { return !(a == b); }

/// A GPU by its UUID or a unique beginning of it: `gpu("GPU-5a9c1f04")`.
[[nodiscard]] inline DeviceId gpu(std::string id) { return DeviceId{std::move(id)}; }
/// A MIG instance: `mig("MIG-<uuid>")`.
[[nodiscard]] inline DeviceId mig(std::string id) { return DeviceId{std::move(id)}; }

/// Which GPUs a program wants to see, in the order in which it wants to number them. A list is of one kind.
///
/// Physical indices are nvidia-smi's, so a list of them brings CUDA_DEVICE_ORDER=PCI_BUS_ID with it: without that order
/// CUDA numbers the fastest GPU 0. Logical indices choose among the GPUs that are visible already.
class VisibleDevices {
 public:
  /// What is in the list; `physical`, `logical` and `id` say how each entry names its GPU.
  enum class Kind { all, none, physical, logical, id };

  /// Every GPU: the variable is removed.
  [[nodiscard]] static VisibleDevices all() { return VisibleDevices{Kind::all}; }
  /// No GPU. Written -1, since an empty variable does not exist on Windows.
  [[nodiscard]] static VisibleDevices none() { return VisibleDevices{Kind::none}; }

  /// An empty list, which is refused when it is used: say all() or none().
  VisibleDevices() = default;
  /// By nvidia-smi's numbers: `{physical(1), physical(0)}`.
  VisibleDevices(std::initializer_list<PhysicalIndex> gpus) : VisibleDevices{std::vector<PhysicalIndex>(gpus)} {}
  /// Among the GPUs that are visible already: `{logical(1)}`.
  VisibleDevices(std::initializer_list<LogicalIndex> gpus) : VisibleDevices{std::vector<LogicalIndex>(gpus)} {}
  /// By name: `{gpu("GPU-5a9c1f04")}`.
  VisibleDevices(std::initializer_list<DeviceId> gpus) : VisibleDevices{std::vector<DeviceId>(gpus)} {}
  /// The same lists, made at run time.
  explicit VisibleDevices(std::vector<PhysicalIndex> const& gpus) : kind_{Kind::physical} {
    for (PhysicalIndex index : gpus) indices_.push_back(index.value);
  }
  /// Logical indices made at run time.
  explicit VisibleDevices(std::vector<LogicalIndex> const& gpus) : kind_{Kind::logical} {
    for (LogicalIndex index : gpus) indices_.push_back(index.value);
  }
  /// Names made at run time.
  explicit VisibleDevices(std::vector<DeviceId> gpus) : kind_{Kind::id}, ids_{std::move(gpus)} {}

  /// `physical` for the empty list of the default constructor.
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  /// The indices of a list of kind physical or logical, else empty.
  [[nodiscard]] std::vector<int> const& indices() const noexcept { return indices_; }
  /// The names of a list of kind id, else empty.
  [[nodiscard]] std::vector<DeviceId> const& ids() const noexcept { return ids_; }

  friend bool operator==(VisibleDevices const& a, VisibleDevices const& b) noexcept {
    return a.kind_ == b.kind_ && a.indices_ == b.indices_ && a.ids_ == b.ids_;
  }
  friend bool operator!=(VisibleDevices const& a, VisibleDevices const& b) noexcept { return !(a == b); }

 private:
  explicit VisibleDevices(Kind kind) : kind_{kind} {}

  Kind kind_ = Kind::physical;
  std::vector<int> indices_;
  std::vector<DeviceId> ids_;
};

/// The text of a list, as `parse_visible_devices` reads it: "1,0", "GPU-5a9c,GPU-c07e", "-1", "all", "logical:1". All
/// but the last two forms are the environment's own.
[[nodiscard]] inline std::string format_visible_devices(VisibleDevices const& devices) {
  using Kind = VisibleDevices::Kind;
  if (devices.kind() == Kind::all) return "all";
  if (devices.kind() == Kind::none) return "-1";
  std::string text;
  for (int index : devices.indices()) {
    if (!text.empty()) text += ',';
    if (devices.kind() == Kind::logical) text += "logical:";
    text += std::to_string(index);
  }
  for (DeviceId const& id : devices.ids()) {
    if (!text.empty()) text += ',';
    text += id.text;
  }
  return text;
}

namespace detail {

inline constexpr std::string_view visible_devices_name = "CUDA_VISIBLE_DEVICES";

/// What people write and CUDA does not read: how it looks, and what to type instead.
[[nodiscard]] inline std::string_view visible_devices_hint(std::string_view text) noexcept {
  std::string_view const entry = trim(text);
  if (entry.empty()) return "give an index or a UUID, -1 for no GPU, or remove the variable for all";
  char const first = entry.front();
  char const last = entry.back();
  if (first == '"' || first == '\'' || last == '"' || last == '\'') return "remove the quotes";
  if (first == '[' || first == '(' || first == '{') return "remove the brackets and write 0,1";
  if (entry == "all" || entry == "void") {
    return "that is a word of NVIDIA_VISIBLE_DEVICES; remove CUDA_VISIBLE_DEVICES to see every GPU";
  }
  if (entry == "none") return "write -1 for no GPU";
  if (entry == "NoDevFiles") return "Slurm gave this job no GPU: ask for one with --gpus or --gres=gpu:1";
  if (equal_ignoring_case(entry.substr(0, 5), "cuda:")) return "write the number alone: 0, not cuda:0";
  if (starts_with(entry, "GPU-") || starts_with(entry, "MIG-")) {
    if (is_space(text.front())) return "remove the blank before the UUID";
    if (is_space(text.back())) return "remove the blank behind the UUID";
    return "copy the UUID from nvidia-smi -L";
  }
  if (equal_ignoring_case(entry.substr(0, 4), "gpu-") || equal_ignoring_case(entry.substr(0, 4), "mig-")) {
    return "write the tag in capitals: GPU-... or MIG-...";
  }
  std::size_t digits = 0;
  std::size_t hex = 0;
  while (digits < entry.size() && is_digit(entry[digits])) ++digits;
  while (hex < entry.size() && hex_digit(entry[hex]) >= 0) ++hex;
  if (hex == 8 && hex < entry.size() && entry[hex] == '-') return "write the UUID with its tag: GPU-...";
  if (digits > 0 && digits < entry.size()) {
    char const after = entry[digits];
    if (after == '-') return "list every index: 0,1,2";
    if (after == ';' || after == ':' || is_space(after)) return "separate the entries by commas: 0,1";
    if (entry[0] == '0' && to_lower(after) == 'x') return "write the number in decimal";
    return "write the number alone";
  }
  if (digits == 0 && hex >= 6) return "write the UUID with its tag: GPU-...";
  return "give an index or a UUID, -1 for no GPU";
}

/// "GPU-<1 to 36 characters of a UUID>", "MIG-<the same>" or "MIG-GPU-<uuid>/<gi>/<ci>", nothing before or behind.
[[nodiscard]] inline bool is_device_id(std::string_view text) noexcept {
  bool const is_mig = starts_with(text, "MIG-");
  if (!is_mig && !starts_with(text, "GPU-")) return false;
  text.remove_prefix(4);
  if (is_mig && starts_with(text, "GPU-")) {
    text.remove_prefix(4);
    if (!parse_uuid(take_until(text, '/'))) return false;
    std::string_view const gpu_instance = take_until(text, '/');
    return parse_decimal(gpu_instance, 999).has_value() && parse_decimal(text, 999).has_value();
  }
  if (text.empty() || text.size() > 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool const dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : hex_digit(text[i]) < 0) return false;
  }
  return true;
}

}  // namespace detail

/// The most bytes of CUDA_VISIBLE_DEVICES that the driver takes; a longer text is as if the variable were not set
/// (measured by bisection, driver 580).
inline constexpr std::size_t longest_device_list = 2624;
/// The same for CUDA_DEVICE_ORDER.
inline constexpr std::size_t longest_device_order = 1023;

/// Reads a list strictly: only text that means to the driver what it says. Every problem is added to `problems`, with
/// its place, up to a hundred; then the result is empty. Blanks around an index are fine, as they are for the driver.
[[nodiscard]] inline std::optional<VisibleDevices> parse_visible_devices(std::string_view text, Diagnostics& problems) {
  if (text == "all") return VisibleDevices::all();
  if (text == "none" || text == "-1") return VisibleDevices::none();

  constexpr std::size_t most_problems = 100;  // each holds the whole text
  std::size_t const problems_before = problems.size();
  auto const refuse = [&](std::string_view code, std::size_t offset, std::string what, std::string driver,
                          std::string_view fix) {
    problems.push_back({Severity::error, code, std::string{detail::visible_devices_name}, std::string{text}, offset,
                        std::move(what), std::move(driver), std::string{fix}});
  };
  if (text.size() > longest_device_list) {
    refuse("visible_devices.too_long", longest_device_list,
           "the list has " + std::to_string(text.size()) + " bytes, and the driver takes " +
               std::to_string(longest_device_list),
           "it is ignored as a whole: every GPU is visible", "use indices, or the beginning of each UUID");
    return std::nullopt;
  }
  if (detail::trim(text).empty()) {
    refuse("visible_devices.empty", 0, "the list is empty", "cuInit gives 100 (no device): no GPU is visible",
           "write -1 for no GPU, or remove the setting for all");
    return std::nullopt;
  }

  using Kind = VisibleDevices::Kind;
  std::optional<Kind> list_kind;
  std::vector<int> indices;
  std::vector<DeviceId> ids;
  std::set<std::string> seen;
  std::size_t number = 0;
  for (std::size_t offset = 0; offset <= text.size();) {
    std::size_t const end = text.find(',', offset) == std::string_view::npos ? text.size() : text.find(',', offset);
    std::string_view const raw = text.substr(offset, end - offset);
    std::string_view const entry = detail::trim(raw);
    ++number;
    if (problems.size() - problems_before == most_problems) {
      refuse("visible_devices.too_many_problems", offset,
             "the entries from " + std::to_string(number) + " on were not looked at", "", "correct the others first");
      break;
    }
    std::string const which = "entry " + std::to_string(number) + " '" + std::string{raw} + "'";

    std::string_view digits = entry;
    bool const is_logical = detail::starts_with(digits, "logical:");
    if (is_logical) digits.remove_prefix(8);
    auto const index = detail::parse_decimal(digits, 2147483647);
    Kind const kind = index ? (is_logical ? Kind::logical : Kind::physical) : Kind::id;
    if (entry.empty()) {
      refuse("visible_devices.empty_entry", offset, "entry " + std::to_string(number) + " is empty",
             "the list ends here", "remove the comma");
    } else if (!index && !(detail::is_device_id(raw))) {
      auto const read = detail::strtoull_base10(raw);
      refuse(
          "visible_devices.malformed", offset, which + " is neither an index nor a UUID",
          read.used > 0 ? "only a leading number is read, and the rest of the entry is ignored" : "the list ends here",
          detail::visible_devices_hint(raw));
    } else if (list_kind && *list_kind != kind) {
      refuse("visible_devices.mixed_kinds", offset, which + " is of another kind than the first entry",
             "the list ends here", "use indices alone or UUIDs alone");
    } else {
      list_kind = kind;
      std::string key;  // equal texts, ids in any case, are one GPU
      if (index) {
        indices.push_back(static_cast<int>(*index));
        key = std::to_string(*index);
      } else {
        ids.emplace_back(std::string{entry});
        for (char c : entry) key += detail::to_lower(c);
      }
      if (!seen.insert(std::move(key)).second) {
        refuse("visible_devices.duplicate", offset, which + " repeats an earlier entry",
               "cuInit fails with 101 (invalid device): no GPU is usable", "name each GPU once");
      }
    }
    offset = end + 1;
  }
  if (problems.size() != problems_before) return std::nullopt;
  if (list_kind == Kind::id) return VisibleDevices{std::move(ids)};
  VisibleDevices devices;
  if (list_kind == Kind::logical) {
    std::vector<LogicalIndex> list;
    for (int index : indices) list.push_back(logical(index));
    devices = VisibleDevices{list};
  } else {
    std::vector<PhysicalIndex> list;
    for (int index : indices) list.push_back(physical(index));
    devices = VisibleDevices{list};
  }
  return devices;
}

CUENV_NAMESPACE_END

#endif  // CUENV_VISIBLE_DEVICES_HPP
