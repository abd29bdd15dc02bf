#ifndef CUENV_EXAMPLES_CUENV_GENERATED_LISTS_HPP
#define CUENV_EXAMPLES_CUENV_GENERATED_LISTS_HPP

#include <cuenv/cuenv.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tool {

/// The machine under made-up UUIDs, which share as many first characters with each other as its own do; so the lists,
/// and what a driver makes of them, can be shown to anybody. Its UUIDs must be known.
cuenv::Machine with_made_up_uuids(cuenv::Machine const& machine);

/// A list, written for the made-up UUIDs and for the machine's own.
struct GeneratedList {
  std::string made_up;
  std::string value;
  std::optional<std::string> order;  // CUDA_DEVICE_ORDER; none: not set
};

/// Lists that try the rules of CUDA_VISIBLE_DEVICES on all GPUs: indices with blanks, signs, leading zeros and what a
/// number cannot have; whole UUIDs and beginnings of them, those that two GPUs share too; entries that end a list,
/// repeats, long lists; each with one of the orders. The same seed on a machine of the same shape gives the same lists.
/// Each means the same in both forms, by cuenv's rules. The machine's UUIDs must be known, and MIG be off.
std::vector<GeneratedList> generated_lists(cuenv::Machine const& machine, std::size_t count, std::uint64_t seed);

}  // namespace tool

#endif  // CUENV_EXAMPLES_CUENV_GENERATED_LISTS_HPP
