#ifndef CUENV_MPS_VALUES_HPP
#define CUENV_MPS_VALUES_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/values.hpp>
#include <cuenv/variable.hpp>
#include <cuenv/version.hpp>
#include <cuenv/visible_devices.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

// The values of the variables for MPS, with the two readings of values.hpp. Measured as a client of a daemon: driver
// 580.159.04 on H200, Linux x86-64.

CUENV_NAMESPACE_BEGIN
namespace detail {

/// Any text is taken for a folder as it is; an empty one is none, and then CUDA runs without MPS.
[[nodiscard]] inline Effect mps_folder_effect(std::string_view text) {
  if (text.empty()) return {"CUDA runs without MPS", Evidence::measured};
  Effect effect{std::string{text}, Evidence::measured};
  if (text.front() == '~' || is_space(text.front())) {
    effect.problem = text.front() == '~' ? "the tilde is not expanded" : "the blank in front belongs to the name";
    effect.fix = "write the full path of a directory";
  }
  return effect;
}

[[nodiscard]] inline std::optional<std::string> parse_mps_folder(std::string_view name, std::string_view text,
                                                                 Diagnostics& problems) {
  Effect const effect = mps_folder_effect(text);
  if (effect.problem.empty()) return std::string{text};
  refuse_value(problems, "value.unusable_directory", name, text, 0, effect.problem,
               "no daemon is found, CUDA runs without MPS, and nothing is said", effect.fix);
  return std::nullopt;
}

/// Read like C's strtod, hexadecimal and fractions too: above 0 and up to 100 it limits, and anything else does not.
[[nodiscard]] inline Effect mps_percentage_effect(std::string_view text) {
  std::string const copy{text};
  char* end = nullptr;
  double const number = std::strtod(copy.c_str(), &end);
  auto const used = static_cast<std::size_t>(end - copy.c_str());
  bool const limits = number > 0 && number <= 100;  // no number, and one that is none, does not
  bool const whole = limits && number == static_cast<int>(number);
  Effect effect{"no limit", Evidence::measured};
  if (limits) {
    effect.value =
        (whole ? std::to_string(static_cast<int>(number)) : std::string{trim(text.substr(0, used))}) + " percent";
  }
  if (!limits) {
    effect.problem = "only a number above 0 and up to 100 limits anything";
  } else if (used != text.size() || !is_digit(text.front())) {
    effect.problem = "only the leading number is read";
  }
  if (!effect.problem.empty())
    effect.fix = whole ? "write " + std::to_string(static_cast<int>(number)) : "write a number from 1 to 100";
  return effect;
}

/// "0=1G,GPU-<uuid>=512MB": an index or UUID, and digits with one of the letters that the documents show.
[[nodiscard]] inline std::optional<std::string> parse_memory_limits(std::string_view name, std::string_view text,
                                                                    Diagnostics& problems) {
  std::size_t offset = 0;
  for (bool good = true; good;) {
    std::size_t const comma = text.find(',', offset);
    std::string_view size = text.substr(offset, comma == std::string_view::npos ? comma : comma - offset);
    std::string_view const device = take_until(size, '=');
    if (ends_with(size, "B")) size.remove_suffix(1);
    bool const has_unit = ends_with(size, "G") || ends_with(size, "M");
    if (has_unit) size.remove_suffix(1);
    bool const known_device = parse_decimal(device, 1023).has_value() || is_device_id(device);
    good = known_device && has_unit && parse_decimal(size).has_value();
    if (good && comma == std::string_view::npos) return std::string{text};
    if (good) offset = comma + 1;
  }
  refuse_value(problems, "value.not_a_memory_limit", name, text, offset, "it must be a list of device=size", "",
               "write it as 0=1G,1=512MB");
  return std::nullopt;
}

/// How the driver reads such a list: behind the equals sign like strtoull, in GiB with a G and in MiB with anything
/// else; what follows is ignored. An entry that is no device=size voids the whole list, and so does one for a GPU that
/// the process does not see. Of two for one GPU the first counted. Less than CUDA itself takes (514 MiB on an H200)
/// makes the context fail with 2 (out of memory).
[[nodiscard]] inline Effect memory_limits_effect(std::string_view text) {
  constexpr std::string_view form = "write it as 0=1G,1=512MB";
  Effect effect{"", Evidence::measured};
  for (std::string_view rest = text; !rest.empty() || effect.value.empty();) {
    std::string_view const entry = take_until(rest, ',');
    std::size_t const equals = entry.find('=');
    std::string_view const device = entry.substr(0, equals);
    std::string_view const size = equals == std::string_view::npos ? std::string_view{} : entry.substr(equals + 1);
    Strtoull const number = strtoull_base10(size);
    bool const by_index = !device.empty() && is_digit(device.front());
    bool const by_uuid = device.size() > 4 && (starts_with(device, "GPU-") || starts_with(device, "MIG-"));
    if ((!by_index && !by_uuid) || number.used == 0) {
      return {"no limit", Evidence::measured, "an entry that is not device=size voids the whole list",
              std::string{form}};
    }
    std::string_view const unit = size.substr(number.used);
    bool const gibibytes = !unit.empty() && to_lower(unit.front()) == 'g';
    bool const unlimited = number.value == 0 || number.value >= UINT64_MAX >> 20;
    effect.value += (effect.value.empty() ? "" : ", ") + std::string{trim(device)} + ": " +
                    (unlimited ? "no limit" : std::to_string(number.value) + (gibibytes ? " GiB" : " MiB"));
    if (unit != "G" && unit != "GB" && unit != "M" && unit != "MB") {
      effect.problem = "what is not followed by G counts in MiB, and what follows is ignored";
    }
  }
  Diagnostics problems;
  if (effect.problem.empty() && !parse_memory_limits("", text, problems)) effect.problem = problems.front().what;
  if (!effect.problem.empty()) effect.fix = form;
  return effect;
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_MPS_VALUES_HPP
