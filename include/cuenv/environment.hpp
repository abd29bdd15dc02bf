#ifndef CUENV_ENVIRONMENT_HPP
#define CUENV_ENVIRONMENT_HPP

#include <cuenv/detail/files.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/error.hpp>
#include <cuenv/version.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#ifdef _WIN32
#include <cuenv/detail/windows.hpp>
#else
#include <unistd.h>
#endif
#ifdef __linux__
#include <features.h>
#include <sys/syscall.h>
#endif
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define CUENV_HAS_SINGLE_THREADED
#endif
#endif

CUENV_NAMESPACE_BEGIN

/// A variable and its text; without a text it is not set.
struct Assignment {
  std::string name;                 ///< not empty, and without '=' and NUL: the system refuses others
  std::optional<std::string> text;  ///< nothing: not set, or to be removed; "" is set and empty
};

[[nodiscard]] inline bool operator==(Assignment const& a, Assignment const& b) noexcept {
  return a.name == b.name && a.text == b.text;
}

/// Whether two names are one variable: on Windows the case of letters does not count.
[[nodiscard]] constexpr bool is_same_variable(std::string_view a, std::string_view b) noexcept {
#ifdef _WIN32
  return detail::equal_ignoring_case(a, b);
#else
  return a == b;
#endif
}

/// The environment as the rest of cuenv sees it: the process's own, or one that a test describes. No member throws
/// anything but bad_alloc.
class Environment {
 public:
  /// The text of a variable; nothing where it is not set, or its name cannot be one.
  [[nodiscard]] virtual std::optional<std::string> get(std::string const& name) const = 0;
  /// Sets or removes a variable. Returns 0, or the error number of the system; then nothing has changed.
  virtual int set(Assignment const& assignment) const = 0;
  /// Every variable that is set.
  [[nodiscard]] virtual std::vector<Assignment> all() const = 0;
  /// Every variable that was set when the process started; nothing where that is not known. It tells the user's or
  /// launcher's word from what this process has set itself.
  [[nodiscard]] virtual std::optional<std::vector<Assignment>> all_at_start() const { return std::nullopt; }
  /// The names of the other threads that a change can crash, or why they are not known; empty where a change is safe.
  [[nodiscard]] virtual std::vector<std::string> threads_in_danger() const { return {}; }

 protected:
  ~Environment() = default;
};

namespace detail {

/// The text of a variable in a list, of two the first, as for getenv; nothing where it is not set.
[[nodiscard]] inline std::optional<std::string> text_in(std::vector<Assignment> const& variables,
                                                        std::string_view name) {
  for (Assignment const& variable : variables) {
    if (is_same_variable(variable.name, name)) return variable.text;
  }
  return std::nullopt;
}

/// Since 2.41 glibc's setenv no longer moves what a getenv in another thread is reading. Any other C library is treated
/// as an older one.
[[nodiscard]] inline bool setenv_is_safe_with_threads() noexcept {
#ifdef __GLIBC__
  std::string_view version{::gnu_get_libc_version()};
  auto const first = parse_decimal(take_until(version, '.'), 999);
  auto const second = parse_decimal(take_until(version, '.'), 999);
  return first && second && (*first > 2 || (*first == 2 && *second >= 41));
#elif defined(_WIN32)
  return true;  // getenv beside _putenv is not safe by Microsoft's word, but the system has threads in every program
#else
  return false;
#endif
}

/// The variables in the content of a /proc/<pid>/environ, as they stand there; text_in finds one as getenv does.
[[nodiscard]] inline std::vector<Assignment> variables_in_block(std::string_view block) {
  std::vector<Assignment> variables;
  while (!block.empty()) {
    std::string_view line = take_until(block, '\0');
    if (line.find('=') == std::string_view::npos) continue;  // no variable; getenv does not see it either
    std::string_view const name = take_until(line, '=');
    variables.push_back({std::string{name}, std::string{line}});
  }
  return variables;
}

/// The names of the threads of this process but the calling one, from /proc; where they cannot be listed, why not. None
/// where the C library knows that it has started none (glibc 2.32): those that are listed then belong to what runs the
/// program, such as qemu's user mode, and do not use its environment.
[[nodiscard]] inline std::vector<std::string> other_threads() {
  std::vector<std::string> threads;
#ifdef CUENV_HAS_SINGLE_THREADED
  if (::__libc_single_threaded != 0) return threads;
#endif
#ifdef __linux__
  std::string const self = std::to_string(::syscall(SYS_gettid));
  std::string failure;
  auto const ids = list_directory("/proc/self/task", &failure);
  if (!failure.empty()) threads.push_back("any that there may be (" + failure + ")");
  for (std::string const& id : ids.value_or(std::vector<std::string>{})) {
    if (id == self) continue;
    std::string const name = read_small_file("/proc/self/task/" + id + "/comm", 256).value_or("");
    threads.push_back(std::string{trim(name)} + " (" + id + ")");
  }
#endif
  return threads;
}

}  // namespace detail

/// The environment of this process. Reading and writing it is not safe while another thread writes it, and before glibc
/// 2.41 writing it not while another thread reads it.
class ProcessEnvironment final : public Environment {
 public:
  [[nodiscard]] std::optional<std::string> get(std::string const& name) const override {
#ifdef _WIN32
    return detail::win32::get_variable(name);
#else
    if (name.find('\0') != std::string::npos) return std::nullopt;
    char const* const text = std::getenv(name.c_str());
    if (text == nullptr) return std::nullopt;
    return std::string{text};
#endif
  }

  int set(Assignment const& assignment) const override {
    bool const has_nul = assignment.text && assignment.text->find('\0') != std::string::npos;
    if (has_nul || assignment.name.find('\0') != std::string::npos) return EINVAL;
#ifdef _WIN32
    return detail::win32::set_variable(assignment.name, assignment.text);
#else
    int const result = assignment.text ? ::setenv(assignment.name.c_str(), assignment.text->c_str(), 1)
                                       : ::unsetenv(assignment.name.c_str());
    return result == 0 ? 0 : errno;
#endif
  }

  [[nodiscard]] std::vector<Assignment> all() const override {
    std::vector<Assignment> variables;
#ifdef _WIN32
    detail::win32::for_each_variable([&](std::string name, std::string text) {
      variables.push_back({std::move(name), std::move(text)});
    });
#else
    for (char** line = ::environ; line != nullptr && *line != nullptr; ++line) {
      std::string_view const text{*line};
      std::size_t const equals = text.find('=');
      if (equals == std::string_view::npos) continue;
      variables.push_back({std::string{text.substr(0, equals)}, std::string { text.substr(equals + 1) }});
    }
#endif
    return variables;
  }

  [[nodiscard]] std::optional<std::vector<Assignment>> all_at_start() const override {
#ifdef __linux__
    constexpr std::size_t most = std::size_t{1} << 22;
    auto const block = detail::read_small_file("/proc/self/environ", most);
    if (!block || block->size() == most) return std::nullopt;  // cut: what is behind is not known
    return detail::variables_in_block(*block);
#else
    return std::nullopt;
#endif
  }

  [[nodiscard]] std::vector<std::string> threads_in_danger() const override {
    return detail::setenv_is_safe_with_threads() ? std::vector<std::string>{} : detail::other_threads();
  }
};

/// The one environment of the process, as a value to point at. It has no state of its own.
inline constexpr ProcessEnvironment process_environment{};

/// Applies assignments all or nothing: when one fails, those before it are undone, an unset variable being unset again,
/// and EnvironmentError names the variable and the system's reason. Returns what undoes them, in the order to do it.
/// Not safe beside any other thread that reads or writes the environment, but for readers with glibc 2.41 and later.
inline std::vector<Assignment> apply_assignments(Environment const& environment,
                                                 std::vector<Assignment> const& assignments) {
  std::vector<Assignment> undo;
  undo.reserve(assignments.size());
  // Everything that needs memory comes before the first change: bad_alloc in between would leave half of them.
  for (std::size_t i = assignments.size(); i-- > 0;) {
    undo.push_back({assignments[i].name, environment.get(assignments[i].name)});
  }
  for (std::size_t i = 0; i < assignments.size(); ++i) {
    Assignment const& assignment = assignments[i];
    int const error = environment.set(assignment);
    if (error == 0) continue;
    for (std::size_t earlier = undo.size() - i; earlier < undo.size(); ++earlier) {
      (void)environment.set(undo[earlier]);  // the system took this value before
    }
    throw EnvironmentError{
        {{Severity::error, "environment.not_set", assignment.name, assignment.text.value_or(std::string{}),
          Diagnostic::no_offset, std::string{"the system refused to change the variable: "} + std::strerror(error), "",
          "the environment is as it was before"}}};
  }
  return undo;
}

CUENV_NAMESPACE_END

#undef CUENV_HAS_SINGLE_THREADED

#endif  // CUENV_ENVIRONMENT_HPP
