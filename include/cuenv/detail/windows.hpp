#ifndef CUENV_DETAIL_WINDOWS_HPP
#define CUENV_DETAIL_WINDOWS_HPP

#include <cuenv/version.hpp>

#ifdef _WIN32

#include <cuenv/detail/text.hpp>
#include <cuenv/detail/utf16.hpp>

#include <io.h>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cwchar>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Everything that cuenv asks of Windows. Texts are UTF-8 on this side and UTF-16 on that one; no code page takes part.
//
// windows.h is not included: its macros (min, ERROR, near, small ...) would reach the programs that include cuenv. The
// few functions are declared as it declares them, so it may come before or after.

struct HINSTANCE__;
struct _OVERLAPPED;
struct _SECURITY_ATTRIBUTES;
union _LARGE_INTEGER;

CUENV_NAMESPACE_BEGIN
namespace detail {
namespace win32 {

#ifdef NO_STRICT
using Module = void*;
#else
using Module = ::HINSTANCE__*;
#endif

extern "C" {
__declspec(dllimport) unsigned long __stdcall GetLastError();
__declspec(dllimport) void __stdcall SetLastError(unsigned long);
__declspec(dllimport) unsigned long __stdcall FormatMessageW(unsigned long, void const*, unsigned long, unsigned long,
                                                             wchar_t*, unsigned long, std::va_list*);
__declspec(dllimport) int __stdcall CloseHandle(void*);
__declspec(dllimport) void* __stdcall CreateFileW(wchar_t const*, unsigned long, unsigned long, ::_SECURITY_ATTRIBUTES*,
                                                  unsigned long, unsigned long, void*);
__declspec(dllimport) unsigned long __stdcall GetFileAttributesW(wchar_t const*);
__declspec(dllimport) int __stdcall GetFileSizeEx(void*, ::_LARGE_INTEGER*);
__declspec(dllimport) unsigned long __stdcall GetFileType(void*);
__declspec(dllimport) unsigned long __stdcall GetFullPathNameW(wchar_t const*, unsigned long, wchar_t*, wchar_t**);
__declspec(dllimport) int __stdcall ReadFile(void*, void*, unsigned long, unsigned long*, ::_OVERLAPPED*);
__declspec(dllimport) unsigned long __stdcall GetEnvironmentVariableW(wchar_t const*, wchar_t*, unsigned long);
__declspec(dllimport) int __stdcall SetEnvironmentVariableW(wchar_t const*, wchar_t const*);
__declspec(dllimport) wchar_t* __stdcall GetEnvironmentStringsW();
__declspec(dllimport) int __stdcall FreeEnvironmentStringsW(wchar_t*);
__declspec(dllimport) void* __stdcall GetCurrentProcess();
__declspec(dllimport) unsigned long __stdcall GetCurrentProcessId();
__declspec(dllimport) unsigned int __stdcall GetSystemDirectoryW(wchar_t*, unsigned int);
__declspec(dllimport) Module __stdcall LoadLibraryExW(wchar_t const*, void*, unsigned long);
__declspec(dllimport) Module __stdcall GetModuleHandleW(wchar_t const*);
__declspec(dllimport) int __stdcall GetModuleHandleExW(unsigned long, wchar_t const*, Module*);
__declspec(dllimport) unsigned long __stdcall GetModuleFileNameW(Module, wchar_t*, unsigned long);
__declspec(dllimport) std::intptr_t(__stdcall* __stdcall GetProcAddress(Module, char const*))();
__declspec(dllimport) int __stdcall K32EnumProcessModules(void*, Module*, unsigned long, unsigned long*);
}

/// The layout of OVERLAPPED, which only windows.h may define.
struct Overlapped {
  std::uintptr_t internal[2] = {};
  std::uint32_t offset = 0;
  std::uint32_t offset_high = 0;
  void* event = nullptr;
};

/// The longest text that Windows has: a path with its prefix, a variable's value.
inline constexpr std::size_t longest_text = 32767;

/// What a function wrote that takes a buffer and its length, and wants a longer one where it gives that length or more.
template <class Function>
[[nodiscard]] std::optional<std::wstring> text_of(Function const& function) {
  for (std::wstring text(260, L'\0');; text.resize(text.size() < 4096 ? 4096 : longest_text + 1)) {
    SetLastError(0);
    unsigned long const length = function(&text[0], static_cast<unsigned long>(text.size()));
    if (length == 0 && GetLastError() != 0) return std::nullopt;
    if (length >= text.size() && text.size() <= longest_text) continue;
    if (length >= text.size()) return std::nullopt;
    text.resize(length);
    return text;
  }
}

/// "File not found. (error 2)", in the language of the system.
[[nodiscard]] inline std::string error_text(unsigned long code) {
  constexpr unsigned long from_system_in_one_line = 0x1000 | 0x200 | 0xff;
  wchar_t text[512] = L"";
  unsigned long const length = FormatMessageW(from_system_in_one_line, nullptr, code, 0, text, 512, nullptr);
  std::string words{trim(to_utf8(std::wstring_view{text, length}))};
  return words + (words.empty() ? "error " : " (error ") + std::to_string(code) + (words.empty() ? "" : ")");
}

inline constexpr unsigned long path_not_found = 3;
inline constexpr unsigned long invalid_name = 123;

/// Whether an error says that there is nothing of that name, or that nothing could have it.
[[nodiscard]] constexpr bool says_absent(unsigned long error) noexcept {
  constexpr unsigned long file_not_found = 2;
  constexpr unsigned long name_too_long = 206;
  return error == file_not_found || error == path_not_found || error == invalid_name || error == name_too_long;
}

/// A text as Windows takes it; nothing where it is no UTF-8 or has a NUL.
[[nodiscard]] inline std::optional<std::wstring> to_wide(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  return to_utf16<wchar_t>(text);
}

/// A path as Windows takes it; a long one gets the prefix that lifts the limit of 260 characters.
[[nodiscard]] inline std::optional<std::wstring> to_path(std::string_view text) {
  constexpr std::size_t longest_for_a_folder = 247;
  auto path = to_wide(text);
  if (!path || path->size() <= longest_for_a_folder || path->compare(0, 3, L"\\\\?") == 0) return path;
  auto full =
      text_of([&](wchar_t* to, unsigned long size) { return GetFullPathNameW(path->c_str(), size, to, nullptr); });
  if (!full || full->compare(0, 4, L"\\\\.\\") == 0) return path;
  bool const is_share = full->compare(0, 2, L"\\\\") == 0;
  return is_share ? L"\\\\?\\UNC" + full->substr(1) : L"\\\\?\\" + *full;
}

// Files ---------------------------------------------------------------------------------------------------------------

inline constexpr unsigned long no_attributes = 0xffffffff;
inline constexpr unsigned long attribute_directory = 0x10;

[[nodiscard]] inline unsigned long attributes(std::string const& path) {
  auto const wide = to_path(path);
  if (!wide) SetLastError(invalid_name);
  return wide ? GetFileAttributesW(wide->c_str()) : no_attributes;
}

/// A regular file that is open for reading, or why it is not.
class ReadableFile {
 public:
  explicit ReadableFile(std::string const& path) {
    constexpr unsigned long generic_read = 0x80000000;
    constexpr unsigned long share_all = 1 | 2 | 4;
    constexpr unsigned long open_existing = 3;
    constexpr unsigned long as_nobody = 0x00100000;  // what answers to the name of a pipe must not act as the caller
    constexpr unsigned long type_disk = 1;
    constexpr unsigned long not_supported = 50;
    auto const wide = to_path(path);
    if (!wide) {
      error_ = invalid_name;
      problem_ = "cannot be opened: its name is no UTF-8";
      return;
    }
    void* const handle =
        CreateFileW(wide->c_str(), generic_read, share_all, nullptr, open_existing, as_nobody, nullptr);
    if (reinterpret_cast<std::intptr_t>(handle) == -1) {
      error_ = GetLastError();
      unsigned long const is = attributes(path);
      bool const is_directory = is != no_attributes && (is & attribute_directory) != 0;
      problem_ = is_directory ? "is a directory" : "cannot be opened: " + error_text(error_);
      return;
    }
    handle_ = handle;
    if (GetFileType(handle) != type_disk) {
      error_ = not_supported;
      problem_ = "is no regular file";
    } else if (GetFileSizeEx(handle, reinterpret_cast<::_LARGE_INTEGER*>(&size_)) == 0) {
      error_ = GetLastError();
      problem_ = "cannot be examined: " + error_text(error_);
    }
  }
  ~ReadableFile() {
    if (handle_ != nullptr) CloseHandle(handle_);
  }
  ReadableFile(ReadableFile const&) = delete;
  ReadableFile& operator=(ReadableFile const&) = delete;

  /// Empty where the file is open.
  [[nodiscard]] std::string const& problem() const noexcept { return problem_; }
  /// The system's number for the problem.
  [[nodiscard]] unsigned long error() const noexcept { return error_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return static_cast<std::uint64_t>(size_); }

  /// Copies up to `count` bytes at `offset`, and says how many: 0 at the end. Nothing where reading fails, and then
  /// GetLastError tells why.
  [[nodiscard]] std::optional<std::size_t> read_some(std::uint64_t offset, void* to, std::size_t count) const noexcept {
    Overlapped place;
    place.offset = static_cast<std::uint32_t>(offset & 0xffffffff);
    place.offset_high = static_cast<std::uint32_t>(offset >> 32);
    constexpr std::size_t most = std::size_t{1} << 30;
    constexpr unsigned long end_of_file = 38;
    unsigned long got = 0;
    bool const good = ReadFile(handle_, to, static_cast<unsigned long>(count < most ? count : most), &got,
                               reinterpret_cast<::_OVERLAPPED*>(&place)) != 0;
    if (!good && GetLastError() != end_of_file) return std::nullopt;
    return good ? got : 0;
  }

 private:
  void* handle_ = nullptr;
  std::int64_t size_ = 0;
  std::string problem_;
  unsigned long error_ = 0;
};

/// The names in a folder, but "." and ".."; nothing where it cannot be read, and then GetLastError tells why.
[[nodiscard]] inline std::optional<std::vector<std::string>> list_directory(std::string const& path) {
  auto const pattern = to_path(path + "\\*");
  if (path.empty() || !pattern) {
    SetLastError(path_not_found);
    return std::nullopt;
  }
  ::_wfinddata64_t entry{};
  std::intptr_t const search = ::_wfindfirst64(pattern->c_str(), &entry);
  if (search == -1) return std::nullopt;
  std::vector<std::string> names;
  do {
    std::string name = to_utf8(std::wstring_view{entry.name});
    if (name != "." && name != "..") names.push_back(std::move(name));
  } while (::_wfindnext64(search, &entry) == 0);
  ::_findclose(search);
  return names;
}

/// Whether the access rights let this process make files in a folder: asked of the system, without making one.
[[nodiscard]] inline bool can_add_files(std::string const& folder) {
  constexpr unsigned long add_file = 2;
  constexpr unsigned long share_all = 1 | 2 | 4;
  constexpr unsigned long open_existing = 3;
  constexpr unsigned long open_a_folder = 0x02000000;
  unsigned long const is = attributes(folder);
  if (is == no_attributes || (is & attribute_directory) == 0) return false;
  auto const wide = to_path(folder);
  void* const handle = CreateFileW(wide->c_str(), add_file, share_all, nullptr, open_existing, open_a_folder, nullptr);
  if (reinterpret_cast<std::intptr_t>(handle) == -1) return false;
  CloseHandle(handle);
  return true;
}

// The environment -----------------------------------------------------------------------------------------------------

[[nodiscard]] inline std::optional<std::string> get_variable(std::string const& name) {
  auto const wide = to_wide(name);
  if (!wide || wide->empty() || wide->find(L'=') != std::wstring::npos) return std::nullopt;
  auto const text =
      text_of([&](wchar_t* to, unsigned long size) { return GetEnvironmentVariableW(wide->c_str(), to, size); });
  return text ? std::optional<std::string>{to_utf8(std::wstring_view{*text})} : std::nullopt;
}

/// Sets a variable, or removes it, for the process and for the C runtime, whose getenv has a copy of its own. The C
/// runtime has no empty values: there such a variable is not set. Returns 0, or an error number with nothing changed.
inline int set_variable(std::string const& name, std::optional<std::string> const& text) {
  auto const wide_name = to_wide(name);
  auto const wide_text = to_wide(text.value_or(""));
  if (!wide_name || !wide_text) return EILSEQ;
  if (wide_name->empty() || wide_name->find(L'=') != std::wstring::npos) return EINVAL;
  if (wide_name->size() >= longest_text || wide_text->size() >= longest_text) return E2BIG;
  if (int const error = ::_wputenv_s(wide_name->c_str(), wide_text->c_str())) return error;
  if (text && text->empty() && SetEnvironmentVariableW(wide_name->c_str(), L"") == 0) return ENOMEM;
  return 0;
}

/// Calls `function(name, text)` for each variable. The entries without a name, in which a shell keeps the folder of
/// each drive, are no variables.
template <class Function>
void for_each_variable(Function const& function) {
  wchar_t* const block = GetEnvironmentStringsW();
  if (block == nullptr) return;
  try {
    for (wchar_t const* line = block; *line != L'\0';) {
      std::wstring_view const entry{line};
      std::size_t const equals = entry.find(L'=');
      if (equals != 0 && equals != std::wstring_view::npos) {
        function(to_utf8(entry.substr(0, equals)), to_utf8(entry.substr(equals + 1)));
      }
      line += entry.size() + 1;
    }
  } catch (...) {
    FreeEnvironmentStringsW(block);
    throw;
  }
  FreeEnvironmentStringsW(block);
}

// The process and its libraries ---------------------------------------------------------------------------------------

/// The file of a module; null stands for the executable. Empty where the system cannot tell.
[[nodiscard]] inline std::string file_of_module(Module module) {
  auto const path = text_of([&](wchar_t* to, unsigned long size) { return GetModuleFileNameW(module, to, size); });
  return path ? to_utf8(std::wstring_view{*path}) : std::string{};
}

/// The file whose code or data is at an address.
[[nodiscard]] inline std::string file_of_address(void* address) {
  constexpr unsigned long from_address_uncounted = 4 | 2;
  Module module = nullptr;
  bool const found = address != nullptr &&
                     GetModuleHandleExW(from_address_uncounted, static_cast<wchar_t const*>(address), &module) != 0;
  return found ? file_of_module(module) : std::string{};
}

/// The executable first, then the libraries that are loaded.
[[nodiscard]] inline std::vector<std::string> loaded_files() {
  std::vector<std::string> files{file_of_module(nullptr)};
  std::vector<Module> modules(256);
  unsigned long bytes = 0;
  for (int attempt = 0; attempt < 8; ++attempt) {  // others may load libraries meanwhile
    auto const room = static_cast<unsigned long>(modules.size() * sizeof(Module));
    if (K32EnumProcessModules(GetCurrentProcess(), modules.data(), room, &bytes) == 0) return files;
    if (bytes <= room) break;
    modules.resize(bytes / sizeof(Module) + 64);
  }
  if (bytes / sizeof(Module) < modules.size()) modules.resize(bytes / sizeof(Module));
  for (Module const module : modules) {
    std::string file = file_of_module(module);
    if (!file.empty() && file != files.front()) files.push_back(std::move(file));
  }
  return files;
}

/// The full path of a library in System32. With it neither the program's folder nor the current one is looked at, nor
/// is a library of that name taken which was loaded from elsewhere.
[[nodiscard]] inline std::optional<std::wstring> in_system_folder(char const* name) {
  auto folder = text_of([](wchar_t* to, unsigned long size) -> unsigned long { return GetSystemDirectoryW(to, size); });
  auto const wide = to_wide(name);
  if (!folder || !wide) return std::nullopt;
  return *folder + L'\\' + *wide;
}

}  // namespace win32
}  // namespace detail
CUENV_NAMESPACE_END

#endif  // _WIN32

#endif  // CUENV_DETAIL_WINDOWS_HPP
