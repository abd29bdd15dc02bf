#include "table.hpp"

#include <cctype>
#include <optional>
#include <stdexcept>
#include <utility>

namespace tool {

namespace {

using cuenv::detail::hex_digit;
using cuenv::detail::take_until;

/// The bytes behind a text in quotes with \" \\ \t \n \r and \xHH; nothing where it is malformed.
std::optional<std::string> unquoted(std::string_view quoted) {
  if (quoted.size() < 2 || quoted.front() != '"' || quoted.back() != '"') return std::nullopt;
  quoted = quoted.substr(1, quoted.size() - 2);
  std::string bytes;
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\') {
      bytes += quoted[i];
      continue;
    }
    if (++i == quoted.size()) return std::nullopt;
    switch (quoted[i]) {
      case 't': bytes += '\t'; break;
      case 'n': bytes += '\n'; break;
      case 'r': bytes += '\r'; break;
      case '"':
      case '\\': bytes += quoted[i]; break;
      case 'x':
        if (i + 2 >= quoted.size() || hex_digit(quoted[i + 1]) < 0 || hex_digit(quoted[i + 2]) < 0) return std::nullopt;
        bytes += static_cast<char>(hex_digit(quoted[i + 1]) * 16 + hex_digit(quoted[i + 2]));
        i += 2;
        break;
      default: return std::nullopt;
    }
  }
  return bytes;
}

std::string quoted(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text = "\"";
  for (char const c : bytes) {
    auto const byte = static_cast<unsigned char>(c);
    switch (c) {
      case '\t': text += "\\t"; break;
      case '\n': text += "\\n"; break;
      case '\r': text += "\\r"; break;
      case '"':
      case '\\': text += std::string{"\\"} + c; break;
      default:
        if (byte >= 0x20 && byte < 0x7f) {
          text += c;
        } else {
          text += std::string{"\\x"} + digits[byte >> 4] + digits[byte & 15];
        }
    }
  }
  return text + '"';
}

std::optional<MeasuredValue> parse_row(std::string_view line) {
  MeasuredValue row;
  auto const value = unquoted(take_until(line, '\t'));
  auto const code = cuenv::detail::parse_decimal(take_until(line, '\t'), 9999);
  if (!value || value->find('\0') != std::string::npos || !code || line.empty()) return std::nullopt;
  row.value = *value;
  row.cu_init = static_cast<int>(*code);
  std::string_view gpus = take_until(line, '\t');
  while (gpus != "-" && !gpus.empty()) {
    auto const index = cuenv::detail::parse_decimal(take_until(gpus, ','), 999);
    if (!index) return std::nullopt;
    row.physical.push_back(static_cast<int>(*index));
  }
  if (line.empty()) return row;
  row.order = unquoted(line);
  if (!row.order || row.order->find('\0') != std::string::npos) return std::nullopt;
  return row;
}

/// "#   GPU 0: GPU-<uuid> at <bus address>" of the head.
std::optional<cuenv::Gpu> parse_gpu(std::string_view line) {
  std::size_t const tag = line.find(": GPU-");
  std::size_t const at = line.find(" at ");
  if (tag == std::string_view::npos || at == std::string_view::npos || at < tag + 6) return std::nullopt;
  cuenv::Gpu gpu;
  gpu.uuid = cuenv::parse_uuid(line.substr(tag + 6, at - tag - 6));
  auto const pci = cuenv::parse_pci_address(line.substr(at + 4));
  if (!gpu.uuid || !pci) return std::nullopt;
  gpu.pci = *pci;
  gpu.name = "as measured";
  return gpu;
}

}  // namespace

MeasuredTable parse_table(std::string_view text, std::string const& file) {
  MeasuredTable table;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view const line = take_until(text, '\n');
    if (line.empty()) continue;
    if (line.front() == '#') {
      if (auto gpu = parse_gpu(line)) table.gpus.push_back(std::move(*gpu));
      continue;
    }
    auto row = parse_row(line);
    if (!row) {
      throw std::runtime_error{
          file + ": line " + std::to_string(number) +
          ": expected a value in quotes, a result, a list of GPUs and, where it is set, an order in quotes, "
          "separated by tabs"};
    }
    table.values.push_back(std::move(*row));
  }
  if (table.values.empty()) throw std::runtime_error{file + ": there is no value in it"};
  return table;
}

std::string table_row(MeasuredValue const& row) {
  std::string gpus;
  for (int const index : row.physical) gpus += (gpus.empty() ? "" : ",") + std::to_string(index);
  std::string text = quoted(row.value) + "\t" + std::to_string(row.cu_init) + "\t" + (gpus.empty() ? "-" : gpus);
  if (row.order) text += "\t" + quoted(*row.order);
  return text + "\n";
}

std::string table_gpu(std::size_t index, cuenv::Gpu const& gpu) {
  return "#   GPU " + std::to_string(index) + ": GPU-" + to_string(*gpu.uuid) + " at " + to_string(gpu.pci) + "\n";
}

std::string with_uuids_of(std::string const& value, std::vector<cuenv::Gpu> const& from,
                          std::vector<cuenv::Gpu> const& to) {
  std::string result = value;
  for (std::size_t at = 0; at < value.size(); ++at) {
    bool const first = at == 0 || (hex_digit(value[at - 1]) < 0 && value[at - 1] != '.');
    if (!first) continue;
    // The longest beginning of a UUID that stands here, at least of three characters: "0" and "1" are indices.
    std::size_t longest = 0;
    std::size_t which = 0;
    for (std::size_t gpu = 0; gpu < from.size() && gpu < to.size(); ++gpu) {
      std::string const uuid = to_string(*from[gpu].uuid);
      std::size_t length = 0;
      while (length < uuid.size() && at + length < value.size() &&
             cuenv::detail::to_lower(value[at + length]) == uuid[length]) {
        ++length;
      }
      if (length > longest) {
        longest = length;
        which = gpu;
      }
    }
    std::string_view const tag = at < 4 ? std::string_view{} : std::string_view{value}.substr(at - 4, 4);
    bool const behind_tag =
        cuenv::detail::equal_ignoring_case(tag, "GPU-") || cuenv::detail::equal_ignoring_case(tag, "MIG-");
    if (longest == 0 || !to[which].uuid || (longest < 3 && !behind_tag)) continue;
    std::string const uuid = to_string(*to[which].uuid);
    bool capitals = false;
    for (std::size_t i = 0; i < longest; ++i) capitals = capitals || (value[at + i] >= 'A' && value[at + i] <= 'F');
    for (std::size_t i = 0; i < longest; ++i) {
      result[at + i] = capitals ? static_cast<char>(std::toupper(static_cast<unsigned char>(uuid[i]))) : uuid[i];
    }
    at += longest - 1;
  }
  return result;
}

}  // namespace tool
