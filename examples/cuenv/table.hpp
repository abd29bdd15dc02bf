#ifndef CUENV_EXAMPLES_CUENV_TABLE_HPP
#define CUENV_EXAMPLES_CUENV_TABLE_HPP

#include <cuenv/cuenv.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

/// What a driver made of one value of CUDA_VISIBLE_DEVICES.
struct MeasuredValue {
  std::string value;
  int cu_init = 0;
  std::vector<int> physical;
  std::optional<std::string> order;  // CUDA_DEVICE_ORDER; none: not set
};

/// A table of measured values and the GPUs it was measured on.
struct MeasuredTable {
  std::vector<cuenv::Gpu> gpus;
  std::vector<MeasuredValue> values;
};

/// Reads the form of tests/data/visible_devices_r580.tsv, which says in its head what it is. Throws std::runtime_error
/// with file and line.
MeasuredTable parse_table(std::string_view text, std::string const& file);

/// The line that is read as this row, with a newline at its end.
std::string table_row(MeasuredValue const& row);
/// The line of the head that names a GPU, its UUID known.
std::string table_gpu(std::size_t index, cuenv::Gpu const& gpu);

/// The value for other GPUs: each (beginning of a) UUID of `from` becomes the same piece of the UUID of `to` in its
/// place, in capitals where it was in capitals. GPUs that `to` does not have keep theirs.
std::string with_uuids_of(std::string const& value, std::vector<cuenv::Gpu> const& from,
                          std::vector<cuenv::Gpu> const& to);

}  // namespace tool

#endif  // CUENV_EXAMPLES_CUENV_TABLE_HPP
