#include "environment.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace simulated {
namespace {

constexpr int no_device = 100;
constexpr int invalid_device = 101;
constexpr std::size_t tag_length = 4;    // "GPU-", "MIG-"
constexpr std::size_t uuid_length = 36;  // without the tag
constexpr std::size_t uuid_digits = 32;
// A longer text is as if the variable were not set.
constexpr std::size_t longest_list = 2624;
constexpr std::size_t longest_order = 1023;

std::optional<std::string> no_longer_than(std::size_t most, std::optional<std::string> text) {
  return text && text->size() > most ? std::nullopt : text;
}

bool is_id(std::string const& entry) {
  return entry.compare(0, tag_length, "GPU-") == 0 || entry.compare(0, tag_length, "MIG-") == 0;
}

bool has_digits(std::string const& entry) {
  std::size_t at = 0;
  while (at < entry.size() && std::isspace(static_cast<unsigned char>(entry[at])) != 0) ++at;
  if (at < entry.size() && (entry[at] == '+' || entry[at] == '-')) ++at;
  return at < entry.size() && std::isdigit(static_cast<unsigned char>(entry[at])) != 0;
}

/// The GPU that a number names; nothing if it names none.
std::optional<std::size_t> find_by_number(std::string const& entry, std::vector<SimulatedGpu> const& gpus) {
  if (!has_digits(entry)) return std::nullopt;
  auto const index = static_cast<std::int32_t>(to_number_32(entry));
  if (index < 0 || static_cast<std::size_t>(index) >= gpus.size()) return std::nullopt;
  return static_cast<std::size_t>(index);
}

std::string lower_without_dashes(std::string const& text) {
  std::string digits;
  for (char const c : text) {
    if (c != '-') digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return digits;
}

/// The GPU whose UUID begins with the characters after the tag, dashes left out; nothing if that is true of none or of
/// several.
std::optional<std::size_t> find_by_id(std::string const& entry, std::vector<SimulatedGpu> const& gpus) {
  if (entry.size() == tag_length) return std::nullopt;
  std::string const wanted = lower_without_dashes(entry.substr(tag_length, uuid_length)).substr(0, uuid_digits);
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    std::string const uuid = lower_without_dashes(gpus[i].uuid.substr(tag_length));
    if (uuid.compare(0, wanted.size(), wanted) != 0) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

std::vector<std::string> split_at_commas(std::string const& text) {
  std::vector<std::string> entries(1);
  for (char const c : text) {
    if (c == ',') {
      entries.emplace_back();
    } else {
      entries.back() += c;
    }
  }
  return entries;
}

/// The spelling with PTX_ counts where both are set.
bool jit_switch(Environment const& environment, std::string const& with_ptx, std::string const& plain) {
  auto const value = environment(with_ptx);
  return is_on(value ? value : environment(plain));
}

}  // namespace

std::optional<std::string> process_environment(std::string const& name) {
  char const* const value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::uint64_t to_number(std::string const& text) { return std::strtoull(text.c_str(), nullptr, 10); }

std::uint32_t to_number_32(std::string const& text) { return static_cast<std::uint32_t>(to_number(text)); }

bool is_on(std::optional<std::string> const& value) { return value && to_number_32(*value) == 1; }

VisibleGpus visible_gpus(Machine const& machine, Environment const& environment) {
  auto gpus = gpus_by_pci(machine);
  auto const order = no_longer_than(longest_order, environment("CUDA_DEVICE_ORDER"));
  if (order && *order != "PCI_BUS_ID" && *order != "FASTEST_FIRST") return {invalid_device, {}};
  if (!order || *order == "FASTEST_FIRST") {
    std::stable_sort(gpus.begin(), gpus.end(), [](auto const& a, auto const& b) { return a.speed < b.speed; });
  }

  auto const value = no_longer_than(longest_list, environment("CUDA_VISIBLE_DEVICES"));
  if (!value) return {gpus.empty() ? no_device : 0, gpus};

  auto const entries = split_at_commas(*value);
  bool const ids = is_id(entries.front());
  std::vector<std::size_t> kept;
  for (auto const& entry : entries) {
    if (is_id(entry) != ids) break;
    auto const gpu = ids ? find_by_id(entry, gpus) : find_by_number(entry, gpus);
    if (!gpu) break;
    if (std::find(kept.begin(), kept.end(), *gpu) != kept.end()) return {invalid_device, {}};
    kept.push_back(*gpu);
  }
  VisibleGpus visible;
  visible.result = kept.empty() ? no_device : 0;
  for (auto const index : kept) visible.gpus.push_back(gpus[index]);
  return visible;
}

Settings read_settings(Machine const& machine, Environment const& environment) {
  Settings settings;
  settings.disable_jit = jit_switch(environment, "CUDA_DISABLE_PTX_JIT", "CUDA_DISABLE_JIT");
  settings.force_jit = jit_switch(environment, "CUDA_FORCE_PTX_JIT", "CUDA_FORCE_JIT");

  // Lazy loading is the default since CUDA 12.2; before, it had to be asked for.
  std::string mode = environment("CUDA_MODULE_LOADING").value_or("");
  std::transform(mode.begin(), mode.end(), mode.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  settings.eager_loading = mode == "EAGER" || (machine.cuda_version < 12020 && mode != "LAZY");

  if (auto const value = environment("CUDA_DEVICE_MAX_CONNECTIONS")) {
    auto const number = to_number_32(*value);
    if (number != 0) settings.max_connections = static_cast<int>(std::min<std::uint32_t>(number, 32));
  }
  if (auto const value = environment("CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT")) {
    settings.persisting_l2_percentage = std::max(0, static_cast<std::int32_t>(to_number_32(*value)));
  }

  constexpr std::uint64_t default_cache_size = std::uint64_t{1} << 30;
  constexpr std::uint64_t largest_cache_size = std::uint64_t{1} << 32;
  settings.cache_disabled = is_on(environment("CUDA_CACHE_DISABLE"));
  settings.cache_path = environment("CUDA_CACHE_PATH");
  auto const size = environment("CUDA_CACHE_MAXSIZE");
  settings.cache_max_size = size ? std::min(to_number(*size), largest_cache_size) : default_cache_size;
  return settings;
}

}  // namespace simulated
