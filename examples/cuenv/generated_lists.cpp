#include "generated_lists.hpp"

#include "table.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <random>
#include <set>
#include <string_view>
#include <utility>

namespace tool {

namespace {

using cuenv::Machine;

/// Random numbers that are the same with every standard library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_{seed} {}

  /// From 0 to limit - 1.
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(engine_() % limit); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <std::size_t Count>
  std::string_view any_of(std::array<std::string_view, Count> const& texts) {
    return texts[below(Count)];
  }

 private:
  std::mt19937_64 engine_;
};

std::string uuid_text(cuenv::Gpu const& gpu) { return to_string(*gpu.uuid); }

/// As many characters as the two begin with alike.
std::size_t alike(std::string const& a, std::string const& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

constexpr std::string_view made_up_digits = "5c1be04a9d2f7386";

std::string capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

constexpr std::array<std::string_view, 6> before_index{" ", "\t", "+", "00", "  +", "\n"};
constexpr std::array<std::string_view, 7> behind_index{" ", "x", ".9", " 1", ";1", "-", "GPU-"};
constexpr std::array<std::string_view, 14> wrong_indices{
    "-1", "-2", "", " ", "x", "a", "+", "--1", "2147483648", "4294967295", "18446744073709551616", "all", "GPU-", "0-"};
constexpr std::array<std::string_view, 9> wrong_ids{"GPU-",  "MIG-", "",     "GPU-zz",  "gpu-5c",
                                                    " GPU-", "0",    "GPU ", "MIG-GPU-"};
constexpr std::array<std::string_view, 3> wrong_orders{"pci_bus_id", "", "FASTEST_FIRST "};

/// An index as the driver reads it, in one of the ways to write it.
std::string index_entry(std::size_t index, Dice& dice) {
  std::string text = std::to_string(index);
  switch (dice.below(8)) {
    case 0: return std::string{dice.any_of(before_index)} + text;
    case 1: return text + std::string{dice.any_of(behind_index)};
    case 2: return std::to_string(4294967296ULL * (1 + dice.below(3)) + index);  // cut to 32 bits
    case 3: return "-" + std::to_string(4294967296ULL - index);                  // the same from the other side
    case 4: return index == 0 ? "0x" + std::to_string(dice.below(3)) : text;     // ends at the x
    default: return text;
  }
}

std::string id_entry(std::string const& uuid, std::size_t shared, Dice& dice) {
  std::size_t length = uuid.size();
  switch (dice.below(4)) {
    case 0: length = 1 + dice.below(uuid.size()); break;
    case 1: length = std::min(uuid.size(), std::max<std::size_t>(1, shared + dice.below(2))); break;  // at the fork
    default: break;
  }
  std::string text = uuid.substr(0, length);
  if (dice.one_in(6)) text = capitals(text);
  if (length == uuid.size() && dice.one_in(5)) text += dice.one_in(2) ? "tail" : " ";
  if (length < uuid.size() && dice.one_in(12)) text += dice.one_in(2) ? "g" : "-";
  return (dice.one_in(8) ? "MIG-" : "GPU-") + text;
}

std::string any_list(Machine const& machine, Dice& dice) {
  std::size_t const gpus = machine.gpus.size();
  bool const ids = dice.one_in(2);
  std::vector<std::size_t> order(gpus);
  for (std::size_t i = 0; i < gpus; ++i) order[i] = i;
  for (std::size_t i = gpus; i > 1; --i) std::swap(order[i - 1], order[dice.below(i)]);

  std::size_t length = 1 + dice.below(gpus);
  if (dice.one_in(4)) length = gpus;
  if (dice.one_in(6)) length = gpus + 1 + dice.below(4);  // must repeat, or end before
  if (dice.one_in(20)) length = 100 + dice.below(400);
  std::string list;
  for (std::size_t i = 0; i < length; ++i) {
    if (i > 0) list += ',';
    bool const repeat = i >= gpus || dice.one_in(5 * gpus);
    std::size_t const gpu = repeat ? dice.below(gpus) : order[i];
    if (dice.one_in(3 + 2 * gpus)) {
      if (!ids && dice.one_in(3)) {
        list += std::to_string(gpus + dice.below(3));
      } else {
        list += ids ? dice.any_of(wrong_ids) : dice.any_of(wrong_indices);
      }
      continue;
    }
    std::string const uuid = uuid_text(machine.gpus[gpu]);
    std::size_t shared = 0;
    for (std::size_t other = 0; other < gpus; ++other) {
      if (other != gpu) shared = std::max(shared, alike(uuid, uuid_text(machine.gpus[other])));
    }
    bool const other_kind = i > 0 && dice.one_in(30);
    list += ids != other_kind ? id_entry(uuid, shared, dice) : index_entry(gpu, dice);
  }
  return list;
}

std::optional<std::string> any_order(Dice& dice) {
  std::size_t const which = dice.below(16);
  if (which < 6) return std::nullopt;
  if (which < 11) return "PCI_BUS_ID";
  if (which < 15) return "FASTEST_FIRST";
  return std::string{dice.any_of(wrong_orders)};
}

/// Result and devices are the same.
bool mean_the_same(std::string_view a, Machine const& on_a, std::string_view b, Machine const& on_b) {
  auto const first = cuenv::resolve_visibility({a, std::nullopt}, on_a);
  auto const second = cuenv::resolve_visibility({b, std::nullopt}, on_b);
  return first.cu_init == second.cu_init && first.devices == second.devices;
}

/// So does each entry of its own: a piece of a UUID that is in no place for one, and was not replaced, shows here.
bool entries_mean_the_same(std::string_view a, Machine const& on_a, std::string_view b, Machine const& on_b) {
  if (!mean_the_same(a, on_a, b, on_b)) return false;
  while (!a.empty() || !b.empty()) {
    std::string_view const one = cuenv::detail::take_until(a, ',');
    std::string_view const other = cuenv::detail::take_until(b, ',');
    if (!mean_the_same(one, on_a, other, on_b)) return false;
  }
  return true;
}

}  // namespace

Machine with_made_up_uuids(Machine const& machine) {
  std::vector<std::string> made_up;
  for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
    std::string const real = uuid_text(machine.gpus[gpu]);
    std::size_t like = 0;    // the earlier GPU that begins most like this one,
    std::size_t shared = 0;  // for so many characters
    for (std::size_t earlier = 0; earlier < gpu; ++earlier) {
      std::size_t const length = alike(real, uuid_text(machine.gpus[earlier]));
      if (length > shared) {
        shared = length;
        like = earlier;
      }
    }
    std::string text = shared == 0 ? std::string{} : made_up[like].substr(0, shared);
    for (std::size_t at = shared; at < real.size(); ++at) {
      if (real[at] == '-') {
        text += '-';
        continue;
      }
      std::size_t digit = (gpu + at * 7) % 16;
      // At the fork: a digit that no earlier GPU has behind the same beginning.
      auto const taken = [&] {
        return std::any_of(made_up.begin(), made_up.end(), [&](std::string const& other) {
          return other.compare(0, at, text) == 0 && other[at] == made_up_digits[digit];
        });
      };
      while (taken()) digit = (digit + 1) % 16;
      text += made_up_digits[digit];
    }
    made_up.push_back(text);
  }
  Machine result = machine;
  for (std::size_t gpu = 0; gpu < made_up.size(); ++gpu) result.gpus[gpu].uuid = cuenv::parse_uuid(made_up[gpu]);
  return result;
}

std::vector<GeneratedList> generated_lists(Machine const& machine, std::size_t count, std::uint64_t seed) {
  Machine const made_up = with_made_up_uuids(machine);
  Dice dice{seed};
  std::vector<GeneratedList> lists;
  std::set<std::pair<std::string, std::optional<std::string>>> seen;
  while (lists.size() < count) {
    std::string const list = any_list(made_up, dice);
    std::string const value = with_uuids_of(list, made_up.gpus, machine.gpus);
    std::optional<std::string> order = any_order(dice);
    if (!entries_mean_the_same(list, made_up, value, machine)) continue;
    if (seen.emplace(list, order).second) lists.push_back({list, value, std::move(order)});
  }
  return lists;
}

}  // namespace tool
