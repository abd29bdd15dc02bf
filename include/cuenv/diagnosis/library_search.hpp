#ifndef CUENV_DIAGNOSIS_LIBRARY_SEARCH_HPP
#define CUENV_DIAGNOSIS_LIBRARY_SEARCH_HPP

#include <cuenv/detail/bytes.hpp>
#include <cuenv/detail/cubin.hpp>
#include <cuenv/detail/elf_dynamic.hpp>
#include <cuenv/detail/files.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/diagnosis/site.hpp>
#include <cuenv/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What the loader of glibc would open for a name, found out without opening it. Source: ld.so(8), ldconfig(8), and
// glibc's dl-load.c and dl-cache.c where the manual is silent. Folders for special processors (glibc-hwcaps) and
// $PLATFORM are not looked at, nor is the loader of musl.

CUENV_NAMESPACE_BEGIN

/// Who asks for a library. The default: a program without search folders of its own, for the processor this was built
/// for.
struct LibrarySearch {
  /// e_machine of ELF files for the processor this was built for.
#ifdef __aarch64__
  static constexpr std::uint16_t native_machine = detail::elf_aarch64;
#else
  static constexpr std::uint16_t native_machine = detail::elf_x86_64;
#endif

  std::string rpath;                   ///< DT_RPATH of the file that asks, as it is written
  std::optional<std::string> runpath;  ///< DT_RUNPATH of that file; where there is one, DT_RPATH is void
  /// The folder of that file, for $ORIGIN there; empty where it is not known, and then such items are passed over.
  std::string origin;
  /// The folders that DT_RPATH of those who loaded it adds, nearest first.
  std::vector<std::string> inherited;
  /// The folder of the program, for $ORIGIN in LD_LIBRARY_PATH.
  std::string program_origin;
  /// Files for another processor are passed over, as the loader does.
  std::uint16_t machine = native_machine;
};

namespace detail {

/// More than anyone has; what comes behind is left out.
inline constexpr std::size_t most_folders = 512;

/// The folders of a list such as LD_LIBRARY_PATH: an empty item is the current folder; an item that cannot be resolved
/// is left out.
[[nodiscard]] inline std::vector<std::string> search_folders(Site const& site, std::string_view list,
                                                             std::string_view separators, std::string const& origin,
                                                             std::uint16_t machine) {
  std::vector<std::string> folders;
  auto const add = [&](std::string folder) {
    bool good = true;
    for (std::string_view const token : {"$ORIGIN", "${ORIGIN}"}) {
      for (std::size_t at = folder.find(token); at != std::string::npos; at = folder.find(token, at)) {
        folder.replace(at, token.size(), origin);
        at += origin.size();
        good = good && !origin.empty();
      }
    }
    if (!good || folder.find('$') != std::string::npos) return;
    if (folder.empty() || folder.front() != '/') {
      auto const current = site.link("/proc/" + site.process + "/cwd");
      if (!current) return;
      folder = *current + (folder.empty() ? "" : "/" + folder);
    }
    folders.push_back(std::move(folder));
  };
  for (bool more = true; more && folders.size() < most_folders;) {
    std::size_t const end = list.find_first_of(separators);
    std::string const item{list.substr(0, end)};
    more = end != std::string_view::npos;
    list = more ? list.substr(end + 1) : std::string_view{};
    if (item.size() > 4096) continue;  // longer than a path can be
    std::string_view const token = item.find("${LIB}") != std::string::npos ? "${LIB}" : "$LIB";
    std::size_t const at = item.find(token);
    if (at == std::string::npos) {
      add(item);
      continue;
    }
    for (char const* const lib : {machine == elf_aarch64 ? "lib/aarch64-linux-gnu" : "lib/x86_64-linux-gnu", "lib64"}) {
      std::string variant = item;
      add(variant.replace(at, token.size(), lib));
    }
  }
  return folders;
}

/// What a cache of ldconfig says of a name. Nothing where `cache` is not in the form that glibc writes since 2.2, alone
/// or behind the older form.
struct CachedLibrary {
  std::optional<std::string> path;
};
[[nodiscard]] inline std::optional<CachedLibrary> look_up_cache(std::string_view cache, std::string_view name,
                                                                std::uint16_t machine) {
  constexpr std::string_view magic = "glibc-ld.so.cache1.1";
  constexpr std::string_view older_magic = "ld.so-1.7.0";
  constexpr std::uint64_t header = 48;
  constexpr std::uint64_t row = 24;
  ByteReader reader{memory_source(cache.data(), cache.size())};
  std::uint64_t begin = 0;
  if (starts_with(cache, older_magic)) {
    begin = (16 + std::uint64_t{12} * reader.look(12, 4).u32(0) + 7) / 8 * 8;
  }
  if (begin > cache.size() || !starts_with(cache.substr(static_cast<std::size_t>(begin)), magic)) return std::nullopt;
  ByteRange const table{reader, begin, cache.size() - begin};
  std::uint64_t const count = table.look(20, 4).u32(0);
  if (!table_fits(header, row, count, table.size())) return std::nullopt;
  // FLAG_ELF_LIBC6 and the processor's: 0x0300 x86-64, 0x0a00 aarch64.
  std::uint32_t const flags = machine == elf_aarch64 ? 0x0a03 : 0x0303;
  CachedLibrary found;
  for (std::uint64_t i = 0; i < count; ++i) {
    Bytes const entry = table.look(header + row * i, row);
    bool const for_any_processor = entry.u64(16) == 0;
    if (entry.u32(0) != flags || !for_any_processor) continue;
    std::string_view const key = table.look(entry.u32(4), name.size() + 1).text();
    if (key.size() != name.size() + 1 || key.substr(0, name.size()) != name || key.back() != '\0') continue;
    found.path = read_c_string(table, entry.u32(8));
    if (found.path) break;
  }
  return found;
}

/// Whether a name fits a pattern in which '*' stands for any text. In time of one times the other at most.
[[nodiscard]] inline bool fits_pattern(std::string_view name, std::string_view pattern) {
  std::size_t n = 0, p = 0;
  std::size_t star = std::string_view::npos, retry = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++n;
      ++p;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

/// The folders that a configuration of ldconfig names, in its order; `files` are those that were read.
inline void add_configured_folders(Site const& site, std::string const& file, std::vector<std::string>& folders,
                                   std::vector<std::string>& files) {
  constexpr std::size_t most_files = 256;
  if (files.size() == most_files || std::find(files.begin(), files.end(), file) != files.end()) return;
  files.push_back(file);
  auto const text = site.read(site.real_path(file));
  if (!text) return;
  for (std::string_view rest = *text; !rest.empty();) {
    std::string_view line = take_until(rest, '\n');
    line = trim(take_until(line, '#'));
    if (!starts_with(line, "include") || line.size() < 8 || !is_space(line[7])) {
      if (starts_with(line, "/") && folders.size() < most_folders) folders.emplace_back(line.substr(0, line.find('=')));
      continue;
    }
    std::string pattern{trim(line.substr(7))};
    if (pattern.empty()) continue;
    if (pattern.front() != '/') pattern.insert(0, file.substr(0, file.rfind('/') + 1));
    std::string const folder = pattern.substr(0, pattern.rfind('/') + 1);
    std::string_view const names = std::string_view{pattern}.substr(folder.size());
    auto list = site.list(site.real_path(folder)).value_or(std::vector<std::string>{});
    std::sort(list.begin(), list.end());
    for (std::string const& name : list) {
      if (name.front() != '.' && fits_pattern(name, names)) {
        add_configured_folders(site, folder + name, folders, files);
      }
    }
  }
}

/// Whether the loader would take this file: it is there and, if it is an ELF file, for that processor. What is no ELF
/// file is taken, and fails there.
[[nodiscard]] inline bool loader_takes(Site const& site, std::string const& path, std::uint16_t machine) {
  std::string const file = site.root + site.real_path(path);
  if (!path_exists(file, site.failed_read)) return false;
  std::string const head = read_small_file(file, ElfHeader::size, site.failed_read).value_or("");
  ElfHeader const elf = read_elf_header({reinterpret_cast<unsigned char const*>(head.data()), head.size()});
  return head.size() < ElfHeader::size || !elf.is_elf || (elf.little_endian_64 && elf.machine == machine);
}

}  // namespace detail

/// What the loader would open for a name such as "libcuda.so.1": a path below the site's root, links not followed
/// (Site::real_path does); nothing where it would find none. In this order: DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH,
/// /etc/ld.so.cache, default folders. Where there is no cache, the folders that ldconfig would read stand for it. What
/// cannot be read is passed over; a Look tells of it. Thread-safe.
[[nodiscard]] inline std::optional<std::string> find_library(Site const& site, std::string_view soname,
                                                             LibrarySearch const& from = {}) {
  std::string const name{soname};
  if (name.empty() || name.find('\0') != std::string::npos) return std::nullopt;
  auto const in = [&](std::vector<std::string> const& folders) -> std::optional<std::string> {
    for (std::string const& folder : folders) {
      std::string path = folder + (detail::ends_with(folder, "/") ? "" : "/") + name;
      if (detail::loader_takes(site, path, from.machine)) return path;
    }
    return std::nullopt;
  };
  auto const listed = [&](std::string const& list, std::string_view separators, std::string const& origin) {
    return list.empty() ? std::vector<std::string>{}
                        : detail::search_folders(site, list, separators, origin, from.machine);
  };
  if (name.find('/') != std::string::npos) {
    for (std::string const& path : detail::search_folders(site, name, "", from.origin, from.machine)) {
      if (detail::loader_takes(site, path, from.machine)) return path;
    }
    return std::nullopt;
  }
  if (!from.runpath) {
    if (auto path = in(listed(from.rpath, ":", from.origin))) return path;
    if (auto path = in(from.inherited)) return path;
  }
  if (auto path = in(listed(site.get("LD_LIBRARY_PATH").value_or(""), ":;", from.program_origin))) return path;
  if (auto path = in(listed(from.runpath.value_or(""), ":", from.origin))) return path;

  constexpr std::size_t most_cache = std::size_t{16} << 20;
  auto const cache = site.read(site.real_path("/etc/ld.so.cache"), most_cache);
  auto cached = cache ? detail::look_up_cache(*cache, name, from.machine) : std::nullopt;
  if (cached) {
    if (cached->path && detail::loader_takes(site, *cached->path, from.machine)) return cached->path;
  } else {
    std::vector<std::string> folders;
    std::vector<std::string> files;
    detail::add_configured_folders(site, "/etc/ld.so.conf", folders, files);
    if (auto path = in(folders)) return path;
  }
  bool const arm = from.machine == detail::elf_aarch64;
  return in({arm ? "/lib/aarch64-linux-gnu" : "/lib/x86_64-linux-gnu",
             arm ? "/usr/lib/aarch64-linux-gnu" : "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib",
             "/usr/lib"});
}

/// A library that a program or library would have loaded with it.
struct NeededLibrary {
  /// As it stands in DT_NEEDED.
  std::string name;
  /// Below the site's root, links not followed; nothing where the loader would not find it.
  std::optional<std::string> path;
  /// The file that asks for it first.
  std::string needed_by;
};

/// All libraries that the loader would open with a file, which is a path below the site's root, in its order: first
/// those that the file needs, then those that they need. At most 512. What is opened later by dlopen is not known.
/// Thread-safe.
[[nodiscard]] inline std::vector<NeededLibrary> needed_libraries(Site const& site, std::string const& file) {
  constexpr std::size_t most = 512;
  std::vector<NeededLibrary> libraries;
  struct Asking {
    std::string path;
    std::vector<std::string> inherited;
  };
  std::vector<Asking> asking{{site.real_path(file), {}}};
  std::string const program_origin = detail::folder_of(asking.front().path);
  for (std::size_t i = 0; i < asking.size(); ++i) {
    std::string const path = asking[i].path;
    auto const section = detail::read_dynamic_section(site.root + site.real_path(path), site.failed_read);
    if (!section) continue;
    LibrarySearch search;
    search.rpath = section->rpath;
    if (section->has_runpath) search.runpath = section->runpath;
    search.origin = detail::folder_of(path);
    search.inherited = asking[i].inherited;
    search.program_origin = program_origin;
    search.machine = section->machine;
    std::vector<std::string> inherited;
    if (!section->has_runpath && !section->rpath.empty()) {
      inherited = detail::search_folders(site, section->rpath, ":", search.origin, search.machine);
    }
    inherited.insert(inherited.end(), search.inherited.begin(), search.inherited.end());
    if (inherited.size() > detail::most_folders) inherited.resize(detail::most_folders);
    for (std::string const& name : section->needed) {
      bool seen = libraries.size() == most;
      for (NeededLibrary const& library : libraries) seen = seen || library.name == name;
      if (seen) continue;
      libraries.push_back({name, find_library(site, name, search), path});
      if (libraries.back().path) asking.push_back({*libraries.back().path, inherited});
    }
  }
  return libraries;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_LIBRARY_SEARCH_HPP
