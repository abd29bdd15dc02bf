#ifndef CUENV_VALUES_HPP
#define CUENV_VALUES_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/variable.hpp>
#include <cuenv/version.hpp>
#include <cuenv/visible_devices.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// The types of values, each with its two readings: `parse_...` is strict and for what a program sets, `..._effect` is
// the driver's and for what is found in the environment. Measured: driver 580.159.04 on H200, Linux x86-64.

CUENV_NAMESPACE_BEGIN

/// A number of bytes.
struct ByteCount {
  explicit constexpr ByteCount(std::uint64_t count) noexcept : bytes{count} {}  ///< see also `gibibytes` and the like
  std::uint64_t bytes;                                                          ///< each setting has a limit of its own
};
[[nodiscard]] constexpr bool operator==(ByteCount a, ByteCount b) noexcept { return a.bytes == b.bytes; }
[[nodiscard]] constexpr bool operator!=(ByteCount a, ByteCount b) noexcept { return a.bytes != b.bytes; }

namespace detail {
[[nodiscard]] constexpr ByteCount scaled(std::uint64_t count, unsigned shift) noexcept {
  return ByteCount{count > (UINT64_MAX >> shift) ? UINT64_MAX : count << shift};
}
}  // namespace detail

/// So many bytes.
[[nodiscard]] constexpr ByteCount bytes(std::uint64_t count) noexcept { return ByteCount{count}; }
/// 1024 bytes each. What does not fit into 64 bits becomes the largest number, which every setting refuses.
[[nodiscard]] constexpr ByteCount kibibytes(std::uint64_t count) noexcept { return detail::scaled(count, 10); }
/// 1024 KiB each.
[[nodiscard]] constexpr ByteCount mebibytes(std::uint64_t count) noexcept { return detail::scaled(count, 20); }
/// 1024 MiB each.
[[nodiscard]] constexpr ByteCount gibibytes(std::uint64_t count) noexcept { return detail::scaled(count, 30); }

/// What index n means.
enum class DeviceOrder {
  fastest_first,  ///< the nth by the driver's guess of speed: CUDA's default
  pci_bus_id      ///< the nth on the PCI bus, as in nvidia-smi
};
/// When kernels are loaded.
enum class ModuleLoading {
  by_default,  ///< as the driver likes
  lazy,        ///< at their first use
  eager        ///< with their module
};
/// Size of the command buffers against the default.
enum class LaunchQueueScale { quarter, half, twice, four_times };

namespace detail {

/// The texts of an enumeration's values, in their order.
template <class E>
inline constexpr std::string_view const* words = nullptr;
template <class E>
inline constexpr std::size_t word_count = 0;

inline constexpr std::string_view device_order_words[] = {"FASTEST_FIRST", "PCI_BUS_ID"};
template <>
inline constexpr std::string_view const* words<DeviceOrder> = device_order_words;
template <>
inline constexpr std::size_t word_count<DeviceOrder> = 2;

inline constexpr std::string_view module_loading_words[] = {"DEFAULT", "LAZY", "EAGER"};
template <>
inline constexpr std::string_view const* words<ModuleLoading> = module_loading_words;
template <>
inline constexpr std::size_t word_count<ModuleLoading> = 3;

inline constexpr std::string_view launch_queue_words[] = {"0.25x", "0.5x", "2x", "4x"};
template <>
inline constexpr std::string_view const* words<LaunchQueueScale> = launch_queue_words;
template <>
inline constexpr std::size_t word_count<LaunchQueueScale> = 4;

inline void refuse_value(Diagnostics& problems, std::string_view code, std::string_view name, std::string_view text,
                         std::size_t offset, std::string what, std::string driver, std::string fix) {
  problems.push_back({Severity::error, code, std::string{name}, std::string{text}, offset, std::move(what),
                      std::move(driver), std::move(fix)});
}

/// Where the digits end: the place to point at in a text that should be a number.
[[nodiscard]] inline std::size_t end_of_digits(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size() && is_digit(text[at])) ++at;
  return at < text.size() ? at : 0;
}

[[nodiscard]] inline bool is_all_digits(std::string_view text) noexcept {
  for (char c : text) {
    if (!is_digit(c)) return false;
  }
  return !text.empty();
}

// On and off ----------------------------------------------------------------------------------------------------------

/// The text is read like strtoul, base 10, cut to 32 bits, and is on only when that number is 1.
[[nodiscard]] constexpr bool reads_as_on(std::string_view text) noexcept {
  return static_cast<std::uint32_t>(strtoull_base10(text).value) == 1;
}

template <Evidence evidence>
[[nodiscard]] Effect switch_effect(std::string_view text) {
  bool const on = reads_as_on(text);
  Effect effect{on ? "on" : "off", evidence};
  if (text != "0" && text != "1") {
    effect.problem = on ? "only the leading number is read" : "only the number 1 switches on, so this is off";
    bool const meant_on = text == "2" || equal_ignoring_case(text, "true") || equal_ignoring_case(text, "yes") ||
                          equal_ignoring_case(text, "on") || equal_ignoring_case(text, "y");
    effect.fix = on || meant_on ? "write 1" : "write 0 or 1";
  }
  return effect;
}

[[nodiscard]] inline std::optional<bool> parse_switch(std::string_view name, std::string_view text,
                                                      Diagnostics& problems) {
  if (text == "0") return false;
  if (text == "1") return true;
  refuse_value(problems, "value.not_a_switch", name, text, 0, "it must be 0 or 1",
               std::string{"this counts as "} + (reads_as_on(text) ? "on" : "off") + ": only the number 1 switches on",
               "write 1 for on or 0 for off");
  return std::nullopt;
}

[[nodiscard]] inline std::string format_switch(bool const& value) { return value ? "1" : "0"; }

/// Documented as 0 or a number that is not 0; not measured.
[[nodiscard]] inline Effect nonzero_effect(std::string_view text) {
  Effect effect{strtoull_base10(text).value != 0 ? "on" : "off", Evidence::documented};
  if (text != "0" && text != "1") {
    effect.problem = "it is documented as 0 or another number";
    effect.fix = "write 0 or 1";
  }
  return effect;
}

// Numbers -------------------------------------------------------------------------------------------------------------

template <int low, int high>
[[nodiscard]] std::optional<int> parse_integer(std::string_view name, std::string_view text, Diagnostics& problems) {
  auto const number = parse_decimal(text, static_cast<std::uint64_t>(high));
  if (number && static_cast<int>(*number) >= low) return static_cast<int>(*number);
  bool const all_digits = is_all_digits(text);  // it may be past 64 bits
  std::string const range = std::to_string(low) + " to " + std::to_string(high);
  refuse_value(problems, all_digits ? "value.out_of_range" : "value.not_a_number", name, text, end_of_digits(text),
               "it must be a number from " + range + ", in plain digits", "", "write a number from " + range);
  return std::nullopt;
}

[[nodiscard]] inline std::string format_integer(int const& value) { return std::to_string(value); }

/// 1 to 32 act as themselves, 0 and what is no number as the default 8, more than 32 (and -1) as 32.
[[nodiscard]] inline Effect max_connections_effect(std::string_view text) {
  auto const number = static_cast<std::uint32_t>(strtoull_base10(text).value);
  unsigned const used = number == 0 ? 8 : number > 32 ? 32 : number;
  Effect effect{std::to_string(used), Evidence::measured};
  if (text != effect.value) {
    effect.problem = number == 0   ? "this is no number of connections, so the default is used"
                     : number > 32 ? "more than 32 connections are not to be had"
                                   : "only the leading number is read";
    effect.fix = "write " + effect.value;
  }
  return effect;
}

/// 0 to 100 by the documents; what the device cannot persist makes the creation of the context fail with 1.
[[nodiscard]] inline Effect l2_percentage_effect(std::string_view text) {
  auto const number = strtoull_base10(text);
  bool const none = static_cast<std::int32_t>(static_cast<std::uint32_t>(number.value)) <= 0;
  Effect effect{none ? "0 percent" : std::to_string(static_cast<std::uint32_t>(number.value)) + " percent",
                Evidence::measured};
  if (!parse_decimal(text, 100)) {
    effect.problem = "only a leading number is read, and only its lowest 32 bits";
    effect.fix = "write a number from 0 to 100";
  }
  if (!none && static_cast<std::uint32_t>(number.value) > 62) {
    effect.value += ": more than the GPU can persist may be asked for";
    effect.problem =
        "where this is more than CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, creating a context fails "
        "with 1 (invalid value); on an H200 62 works and 63 does not";
    effect.fix = "write 62 or less";
    effect.fatal = true;
  }
  return effect;
}

[[nodiscard]] inline std::optional<ByteCount> parse_byte_count(std::string_view name, std::string_view text,
                                                               Diagnostics& problems) {
  constexpr std::uint64_t limit = 4294967296;
  auto const number = parse_decimal(text);
  if (number && *number <= limit) return ByteCount{*number};
  if (is_all_digits(text)) {
    refuse_value(problems, "value.out_of_range", name, text, 0, "it must be at most 4294967296 bytes (4 GiB)",
                 "a larger number counts as that", "write 4294967296");
    return std::nullopt;
  }
  auto const read = strtoull_base10(text);
  std::string fix = "write the number of bytes in plain digits";
  std::string_view const digits = text.substr(0, end_of_digits(text));
  if (auto const count = parse_decimal(digits, 1U << 22); count && digits.size() < text.size()) {
    char const unit = to_lower(text[digits.size()]);
    unsigned const shift = unit == 'k' ? 10 : unit == 'm' ? 20 : unit == 'g' ? 30 : 0;
    if (shift != 0 && (*count << shift) <= limit) fix = "write " + std::to_string(*count << shift);
  }
  refuse_value(problems, "value.not_a_byte_count", name, text, end_of_digits(text),
               "it must be a number of bytes in plain digits, without a unit",
               "this counts as " + std::to_string(read.value) + (read.value == 1 ? " byte" : " bytes"), std::move(fix));
  return std::nullopt;
}

[[nodiscard]] inline std::string format_byte_count(ByteCount const& value) { return std::to_string(value.bytes); }

/// Plain digits like strtoul: "1G" is one byte. What is negative or above 4 GiB is large.
[[nodiscard]] inline Effect cache_max_size_effect(std::string_view text) {
  auto const number = strtoull_base10(text);
  bool const large = number.value > 4294967296;
  Effect effect{large ? "4294967296 bytes" : std::to_string(number.value) + (number.value == 1 ? " byte" : " bytes"),
                Evidence::measured};
  if (number.value < 1024) effect.value += ": nothing new is cached";  // no cubin is as small as that
  Diagnostics problems;
  if (!parse_byte_count("", text, problems)) {
    effect.problem = large ? "the limit is 4294967296 bytes" : "units, hexadecimal and separators are not read";
    effect.fix = problems.front().fix;
  }
  return effect;
}

// Words ---------------------------------------------------------------------------------------------------------------

template <class E>
[[nodiscard]] std::optional<E> parse_word(std::string_view name, std::string_view text, Diagnostics& problems) {
  std::string list;
  std::string fix;
  for (std::size_t i = 0; i < word_count<E>; ++i) {
    if (words<E>[i] == text) return static_cast<E>(i);
    if (!list.empty()) list += i + 1 == word_count<E> ? " or " : ", ";
    list += words<E>[i];
    if (equal_ignoring_case(words<E>[i], trim(text))) fix = words<E>[i];
  }
  refuse_value(problems, "value.unknown_word", name, text, 0, "it must be exactly " + list, "",
               fix.empty() ? "write " + list : "write " + fix);
  return std::nullopt;
}

template <class E>
[[nodiscard]] std::string format_word(E const& value) {
  auto const index = static_cast<std::size_t>(value);
  return index < word_count<E> ? std::string{words<E>[index]} : "(" + std::to_string(index) + ")";
}

/// Exactly the two words; anything else, lower case, a blank or the empty text too, ends CUDA, unless it is too long.
[[nodiscard]] inline Effect device_order_effect(std::string_view text) {
  Effect effect{std::string{text}, Evidence::measured};
  if (text == "PCI_BUS_ID" || text == "FASTEST_FIRST") return effect;
  if (text.size() > longest_device_order)
    return {"FASTEST_FIRST", Evidence::measured, "it is longer than the driver takes", "write PCI_BUS_ID"};
  effect.value = "no valid order: cuInit fails with 101";
  effect.problem = "it must be exactly PCI_BUS_ID or FASTEST_FIRST";
  effect.fix = equal_ignoring_case(trim(text), "fastest_first") ? "write FASTEST_FIRST" : "write PCI_BUS_ID";
  effect.fatal = true;
  return effect;
}

/// EAGER in any case is eager, every other text is lazy.
[[nodiscard]] inline Effect module_loading_effect(std::string_view text) {
  bool const eager = equal_ignoring_case(text, "EAGER");
  Effect effect{eager ? "eager" : "lazy", Evidence::measured};
  if (!eager && text != "LAZY" && text != "DEFAULT" && !equal_ignoring_case(text, "lazy")) {
    effect.problem = "every text but EAGER counts as lazy";
    effect.fix = equal_ignoring_case(trim(text).substr(0, 5), "eager") ? "write EAGER" : "write LAZY or EAGER";
  }
  return effect;
}

/// The four words; any other text is 1x (documented).
[[nodiscard]] inline Effect launch_queue_effect(std::string_view text) {
  for (std::string_view word : launch_queue_words) {
    if (text == word) return {std::string{text}, Evidence::documented};
  }
  return {"1x", Evidence::documented, "any text but 0.25x, 0.5x, 2x and 4x counts as 1x", "write one of them"};
}

// Texts and paths -----------------------------------------------------------------------------------------------------

[[nodiscard]] inline std::optional<std::string> parse_text(std::string_view name, std::string_view text,
                                                           Diagnostics& problems) {
  if (!text.empty()) return std::string{text};
  refuse_value(problems, "value.empty", name, text, Diagnostic::no_offset, "it is empty", "",
               "give a value, or leave the setting out");
  return std::nullopt;
}

[[nodiscard]] inline std::string format_text(std::string const& value) { return value; }

/// Why the driver would not use a directory of that name, whatever is on the disk; empty where it would try to.
[[nodiscard]] inline std::string_view unusable_directory(std::string_view path) noexcept {
  if (path.empty()) return "an empty path means no caching";
  if (path.front() == '~') return "the tilde is not expanded";
  if (path == "/dev/null") return "it is not a directory";
  if (path == "/proc" || starts_with(path, "/proc/")) return "nothing can be stored below /proc";
  return {};
}

[[nodiscard]] inline std::optional<std::string> parse_directory(std::string_view name, std::string_view text,
                                                                Diagnostics& problems) {
  std::string_view const reason = unusable_directory(text);
  if (reason.empty()) return std::string{text};
  refuse_value(problems, "value.unusable_directory", name, text, text.empty() ? Diagnostic::no_offset : 0,
               std::string{reason}, "nothing is cached, and nothing is said",
               text.substr(0, 2) == "~/" ? "write the home directory in full" : "write the full path of a directory");
  return std::nullopt;
}

[[nodiscard]] inline Effect cache_path_effect(std::string_view text) {
  std::string_view const reason = unusable_directory(text);
  if (reason.empty()) return {std::string{text}, Evidence::measured};
  return {"nothing is cached", Evidence::measured, std::string{reason}, "write the full path of a directory"};
}

/// The words of CUDA_COREDUMP_GENERATION_FLAGS (CUDA-GDB manual 13.4).
inline constexpr std::string_view coredump_flags[] = {
    "skip_nonrelocated_elf_images", "skip_global_memory", "skip_shared_memory",    "skip_local_memory", "skip_abort",
    "skip_constbank_memory",        "gzip_compress",      "faulted_contexts_only", "no_errbar_at_exit", "log_only"};

[[nodiscard]] constexpr bool is_coredump_flag(std::string_view word) noexcept {
  for (std::string_view flag : coredump_flags) {
    if (flag == word) return true;
  }
  return false;
}

[[nodiscard]] inline std::optional<std::string> parse_coredump_flags(std::string_view name, std::string_view text,
                                                                     Diagnostics& problems) {
  bool good = true;
  for (std::size_t offset = 0; offset <= text.size();) {
    std::size_t const comma = text.find(',', offset);
    std::string_view const word = text.substr(offset, comma == std::string_view::npos ? comma : comma - offset);
    if (!is_coredump_flag(word)) {
      good = false;
      refuse_value(problems, "value.unknown_word", name, text, offset, "'" + std::string{word} + "' is no such flag",
                   "the driver warns on stderr and ignores the word",
                   "write skip_abort, skip_global_memory or another of the documented flags, without blanks");
    }
    if (comma == std::string_view::npos) break;
    offset = comma + 1;
  }
  if (!good) return std::nullopt;
  return std::string{text};
}

/// An unknown word is ignored, with a warning on stderr (reported from a driver of CUDA 12.8; not measured).
[[nodiscard]] inline Effect coredump_flags_effect(std::string_view text) {
  Effect effect{std::string{text}, Evidence::documented};
  Diagnostics problems;
  if (!parse_coredump_flags("", text, problems)) {
    effect.problem = problems.front().what;
    effect.fix = problems.front().fix;
  }
  return effect;
}

/// "stdout", "stderr" or a file (measured: lines with time, thread, level and text).
[[nodiscard]] inline Effect log_file_effect(std::string_view text) { return {std::string{text}, Evidence::measured}; }

[[nodiscard]] inline Effect as_written_effect(std::string_view text) {
  return {std::string{text}, Evidence::documented};
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_VALUES_HPP
