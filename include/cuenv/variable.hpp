#ifndef CUENV_VARIABLE_HPP
#define CUENV_VARIABLE_HPP

#include <cuenv/diagnostic.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

CUENV_NAMESPACE_BEGIN

/// How a statement about the driver is known.
enum class Evidence {
  measured,   ///< seen on a real driver: 580.159.04, Linux x86-64, H200
  documented  ///< NVIDIA's documents say so; not measured
};

/// The enumerator's name, in text and JSON.
[[nodiscard]] constexpr std::string_view to_string(Evidence evidence) noexcept {
  return evidence == Evidence::measured ? "measured" : "documented";
}

/// When the driver reads a variable. What cuInit reads it reads once: a later change is ignored.
enum class Moment {
  init,         ///< in cuInit, the first call of the runtime API included
  context,      ///< when a context is created, again for each new one
  module_load,  ///< when a module is loaded, again for each
  unknown,      ///< not documented and not measured: treated as init
  not_driver    ///< read by a tool, a library or the container runtime, not by the driver
};

/// In words, for text and JSON: "cuInit", "context creation".
[[nodiscard]] constexpr std::string_view to_string(Moment moment) noexcept {
  constexpr std::string_view names[] = {"cuInit", "context creation", "module load", "unknown",
                                        "not read by the driver"};
  return names[static_cast<std::size_t>(moment)];
}

/// What the driver makes of a text that was found.
struct Effect {
  /// The effective value in words: "on", "32", "1 byte: nothing new is cached".
  std::string value;
  /// Of `value`; nothing where what the driver makes of it is not known.
  std::optional<Evidence> evidence = Evidence::documented;
  std::string problem = {};  ///< filled where the text does not mean what it seems to: what is wrong
  std::string fix = {};      ///< what to type instead; empty without a problem
  /// True where the driver dies of it: cuInit or the context fails.
  bool fatal = false;
};

/// What whoever sets a variable can do with it in a process of other rights: what makes it privileged input.
enum class Privilege {
  none,          ///< nothing of the kind
  writes_files,  ///< the text is a place where the process that reads it makes files, pipes or folders
  runs_code      ///< the text, or one of its forms, names what is run
};

/// What is known of a variable, whatever its type: one row of the table in variables.hpp.
struct VariableInfo {
  std::string_view name;  ///< as the environment has it: "CUDA_CACHE_PATH"
  /// The texts that are accepted from a program, in words.
  std::string_view accepted;
  /// What holds when it is not set.
  std::string_view fallback;
  Moment read = Moment::unknown;                  ///< when the driver reads it
  Evidence read_evidence = Evidence::documented;  ///< of `read`
  std::string_view since;                         ///< the first CUDA version with it; "" where that is not established
  std::string_view until;                         ///< the last; "" where that is not established, or has not come
  /// "", or the only platform on which it is read.
  std::string_view platform;
  /// One line on what it is for.
  std::string_view purpose;
  /// What its value can do beside its purpose; anything but `none` is to be treated as privileged input.
  Privilege privilege = Privilege::none;
};

/// A variable that a program can set: its row, and how its values are read and written. Nothing it points at throws
/// anything but bad_alloc.
template <class T>
struct Variable {
  VariableInfo info;  ///< purpose, accepted texts, default, CUDA versions
  /// Reads a text strictly: only what means to the driver what it says. Problems are added, and then nothing returned.
  std::optional<T> (*parse)(std::string_view name, std::string_view text, Diagnostics& problems);
  /// Writes a value so that `parse` reads the same value again.
  std::string (*format)(T const& value);
  /// What the driver makes of any text; null where that takes more than the text (CUDA_VISIBLE_DEVICES).
  Effect (*effect)(std::string_view text);
};

CUENV_NAMESPACE_END

#endif  // CUENV_VARIABLE_HPP
