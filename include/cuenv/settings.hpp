#ifndef CUENV_SETTINGS_HPP
#define CUENV_SETTINGS_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/names.hpp>
#include <cuenv/variables.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

CUENV_NAMESPACE_BEGIN

/// Whose value counts when the environment has one already.
enum class Precedence {
  keep,      ///< the environment's: the user's or the launcher's word (the default); the report says so
  override,  ///< the setting's
  refine     ///< for CUDA_VISIBLE_DEVICES: choose among what the environment leaves visible, by logical index or UUID
};

namespace detail {

template <class T>
struct NonDeduced {
  using type = T;
};

}  // namespace detail

/// A set of choices for the CUDA variables, each checked when it is made. Nothing is thrown and nothing touches the
/// process: problems are collected, and whatever uses the settings reports all of them at once.
/// Not thread-safe while it is changed.
class Settings {
 public:
  /// One choice.
  struct Entry {
    VariableRow const* variable;  ///< never null; lives for ever
    /// The canonical text, as the variable's `parse` reads it.
    std::string text;
    Precedence precedence = Precedence::keep;  ///< whose value counts
  };

  /// Chooses a value; a later choice for the same variable replaces it. A value that the driver would misread, ignore
  /// or die of becomes a problem.
  template <class T>
  Settings& set(Variable<T> const& variable, typename detail::NonDeduced<T>::type const& value,
                Precedence precedence = Precedence::keep) {
    std::string const text = variable.format(value);
    Diagnostics found;
    auto const read = variable.parse(variable.info.name, text, found);
    if (!read || *read == value) return set_text(variable.info.name, text, precedence);
    // Such as physical(-1), whose text would hide every GPU.
    if (VariableRow const* const row = find_variable(variable.info.name)) remove(row);
    detail::refuse_value(
        problems_, "value.not_as_written", variable.info.name, text, Diagnostic::no_offset,
        "this is no value of its kind: an index must not be negative, and a UUID begins with GPU- or MIG-", "",
        "give an index from 0 on, a UUID, all() or none()");
    return *this;
  }

  /// The same from texts, strictly: an unknown name or a text that does not mean what it says becomes a problem.
  Settings& set_text(std::string_view name, std::string_view text, Precedence precedence = Precedence::keep) {
    VariableRow const* const variable = find_variable(name);
    if (variable == nullptr) {
      auto const slip = check_name(name, text);
      VariableInfo const* const related = find_related_variable(name);
      problems_.push_back(
          {Severity::error, "settings.unknown_variable", std::string{name}, std::string{text}, Diagnostic::no_offset,
           related != nullptr ? "a session does not set this variable: " + std::string{related->purpose}
                              : "this is no variable that cuenv can set",
           slip ? slip->what : "", slip ? slip->fix : "check the name, or set it outside the settings"});
      return *this;
    }
    remove(variable);
    Diagnostics found;
    if (text.find('\0') != std::string_view::npos) {
      detail::refuse_value(found, "value.contains_nul", name, text, text.find('\0'), "it contains a NUL byte",
                           "the environment would end the value there", "remove it");
    } else if (auto canonical = variable->canonical(text, found)) {
      if (precedence == Precedence::refine && variable->info->name != visible_devices.info.name) {
        detail::refuse_value(found, "settings.refine", name, text, Diagnostic::no_offset,
                             "only CUDA_VISIBLE_DEVICES can be refined", "", "choose keep or override");
      } else {
        entries_.push_back({variable, std::move(*canonical), precedence});
      }
    }
    append(problems_, std::move(found));
    return *this;
  }

  /// The chosen value; nothing where none was chosen or it was refused.
  template <class T>
  [[nodiscard]] std::optional<T> get(Variable<T> const& variable) const {
    for (Entry const& entry : entries_) {
      Diagnostics ignored;
      if (entry.variable->info->name == variable.info.name) {
        return variable.parse(variable.info.name, entry.text, ignored);
      }
    }
    return std::nullopt;
  }

  /// The choices, in the order in which they were made.
  [[nodiscard]] std::vector<Entry> const& entries() const noexcept { return entries_; }

  /// Everything that is wrong so far, contradictions between the settings included.
  [[nodiscard]] Diagnostics problems() const {
    Diagnostics all = problems_;
    auto const devices = get(visible_devices);
    if (devices && devices->kind() == VisibleDevices::Kind::physical &&
        get(device_order) == DeviceOrder::fastest_first) {
      all.push_back({Severity::error, "settings.order_contradicts_list", "CUDA_DEVICE_ORDER", "FASTEST_FIRST",
                     Diagnostic::no_offset,
                     "physical indices are nvidia-smi's, which takes CUDA_DEVICE_ORDER=PCI_BUS_ID",
                     "an index would select another GPU", "leave the order out, or choose the GPUs by UUID"});
    }
    return all;
  }

  /// Adds a finding of the source the settings were made from. An error is refused by whatever uses the settings; a
  /// note or a warning gets into the report. It goes when the variable it is about is set anew.
  void add_problem(Diagnostic problem) { problems_.push_back(std::move(problem)); }

 private:
  void remove(VariableRow const* variable) {
    auto const same = [&](std::string_view name) { return name == variable->info->name; };
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (same(entries_[i].variable->info->name)) {
        entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      }
    }
    for (std::size_t i = problems_.size(); i-- > 0;) {
      if (same(problems_[i].subject)) problems_.erase(problems_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  std::vector<Entry> entries_;
  Diagnostics problems_;
};

/// Reads settings from lines "NAME = value". Blanks around name and value are not part of them; empty lines and lines
/// that begin with # are skipped, and so is a byte order mark. A name may stand once. Problems, with their line, are in
/// `problems()` of the result; nothing is thrown but bad_alloc.
[[nodiscard]] inline Settings parse_settings(std::string_view text, Precedence precedence = Precedence::keep) {
  Settings settings;
  std::set<std::string> names;
  if (detail::starts_with(text, "\xef\xbb\xbf")) text.remove_prefix(3);  // Windows editors write one
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = detail::trim(detail::take_until(text, '\n'));
    if (line.empty() || line.front() == '#') continue;
    auto const in_line = [&](std::string_view code, std::string what, std::string fix) {
      settings.add_problem({Severity::error, code, "line " + std::to_string(number), "", Diagnostic::no_offset,
                            std::move(what) + ": " + std::string{line}, "", std::move(fix)});
    };
    if (line.find('=') == std::string_view::npos) {
      in_line("settings.no_equals", "there is no '='", "write NAME = value");
      continue;
    }
    std::string_view rest = line;
    std::string const name{detail::trim(detail::take_until(rest, '='))};
    if (!names.insert(name).second) {
      in_line("settings.repeated", name + " is set a second time", "remove one of the lines");
      continue;
    }
    Settings alone;
    alone.set_text(name, detail::trim(rest), precedence);
    Diagnostics found = alone.problems();
    if (found.empty()) settings.set_text(name, detail::trim(rest), precedence);
    for (Diagnostic& problem : found) {
      problem.what += " (line " + std::to_string(number) + ")";
      settings.add_problem(std::move(problem));
    }
  }
  return settings;
}

/// Reads settings from any map of names to texts, or a list of such pairs. Problems are in `problems()` of the result.
template <class Map>
[[nodiscard]] Settings settings_from(Map const& map, Precedence precedence = Precedence::keep) {
  Settings settings;
  for (auto const& [name, text] : map) settings.set_text(name, text, precedence);
  return settings;
}

CUENV_NAMESPACE_END

#endif  // CUENV_SETTINGS_HPP
