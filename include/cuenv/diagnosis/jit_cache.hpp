#ifndef CUENV_DIAGNOSIS_JIT_CACHE_HPP
#define CUENV_DIAGNOSIS_JIT_CACHE_HPP

#include <cuenv/child_environment.hpp>
#include <cuenv/detail/files.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/diagnosis/rung.hpp>
#include <cuenv/diagnosis/site.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/jit_cache.hpp>
#include <cuenv/local_rank.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#ifndef _WIN32
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#endif

CUENV_NAMESPACE_BEGIN

/// What was seen of the place where the cache is, or would be made.
struct JitCacheSeen {
  /// The folder with its working directory; empty where it is not known.
  std::string folder;
  bool exists = false;  ///< whether it is there
  std::string failure;  ///< what could not be read of it, in words: then it may be there, or hold more
  std::string parent;   ///< the folder, or the nearest above it that is there: in that it would be made
  /// What stands in the way of the folder, or in its place, is a file.
  bool is_file = false;
  bool writable = true;     ///< whether files can be made in `parent`; true where that was not looked at
  std::size_t files = 0;    ///< the driver's files in it
  std::uint64_t bytes = 0;  ///< their sizes, added up
  bool cut = false;         ///< true where there are so many that counting them was given up
  /// As /proc/mounts names it: "ext4", "nfs4"; empty where that is not known.
  std::string file_system;
  bool mounted_read_only = false;           ///< then nobody can write, whatever the modes say
  std::optional<std::uint64_t> free_bytes;  ///< for this user, on its file system
};

namespace detail {

/// File systems over a network, as /proc/mounts names them: many small files are slow there, and locks often worse.
/// That the driver's cache stalls on them is from user reports (NFS); it was not measured.
inline constexpr std::string_view network_file_systems[] = {
    "nfs",        "nfs4",           "cifs",      "smb3",           "9p",           "afs",         "beegfs",
    "ceph",       "gpfs",           "lustre",    "panfs",          "pvfs2",        "wekafs",      "fuse.ceph",
    "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.ceph-fuse", "fuse.juicefs", "fuse.gcsfuse"};

[[nodiscard]] constexpr bool is_network_file_system(std::string_view type) noexcept {
  for (std::string_view const known : network_file_systems) {
    if (known == type) return true;
  }
  return false;
}

/// A field of /proc/mounts, in which blanks and the like are written as \040.
[[nodiscard]] inline std::string mount_field(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto const digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
      int const value = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
      result += static_cast<char>(value & 255);
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

/// The file system of a path, which has no links in it: the last of the mounts that hold it most closely.
inline void find_mount(std::string_view mounts, std::string const& path, JitCacheSeen& seen) {
  std::size_t closest = 0;
  while (!mounts.empty()) {
    std::string_view line = take_until(mounts, '\n');
    (void)take_until(line, ' ');
    std::string point = mount_field(take_until(line, ' '));
    std::string_view const type = take_until(line, ' ');
    std::string_view options = take_until(line, ' ');
    if (point.empty() || type.empty()) continue;
    std::size_t const length = point.size();
    if (point.back() != '/') point += '/';
    if (!starts_with(path + "/", point) || length < closest) continue;
    closest = length;
    seen.file_system = mount_field(type);
    seen.mounted_read_only = false;
    while (!options.empty()) seen.mounted_read_only = take_until(options, ',') == "ro" || seen.mounted_read_only;
  }
}

#ifndef _WIN32
/// Counts a file of the cache; false where it is none. Links are not followed.
[[nodiscard]] inline bool count_cache_file(std::string const& path, JitCacheSeen& seen) {
  struct ::stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  ++seen.files;
  seen.bytes += static_cast<std::uint64_t>(status.st_size > 0 ? status.st_size : 0);
  return true;
}

/// Sums up the index and the two levels of one-digit folders. `most` bounds the work on a cache without end.
inline void count_jit_cache(Site const& site, std::string const& folder, JitCacheSeen& seen) {
  constexpr std::size_t most = 20000;
  auto const names = site.list(folder);
  if (!names) return;
  for (std::string const& name : *names) {
    JitCacheEntry const entry = jit_cache_entry(name);
    std::string const path = folder + "/" + name;
    if (entry == JitCacheEntry::index) (void)count_cache_file(site.path_of(path), seen);
    if (entry != JitCacheEntry::folder || site.link(path)) continue;
    for (std::string const& lower : site.list(path).value_or(std::vector<std::string>{})) {
      std::string const below = path + "/" + lower;
      if (jit_cache_entry(lower) != JitCacheEntry::folder || site.link(below)) continue;
      for (std::string const& file : site.list(below).value_or(std::vector<std::string>{})) {
        seen.cut = seen.cut || seen.files >= most;
        if (seen.cut) return;
        (void)count_cache_file(site.path_of(below + "/" + file), seen);
      }
    }
  }
}
#endif

/// "4.6 KiB": one decimal, rounded down, where there are less than ten.
[[nodiscard]] inline std::string byte_words(std::uint64_t bytes) {
  constexpr std::string_view units[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  std::uint64_t tenths = 0;
  while (bytes >= 1024 && unit + 1 < sizeof units / sizeof *units) {
    tenths = bytes % 1024 * 10 / 1024;
    bytes /= 1024;
    ++unit;
  }
  bool const decimal = unit > 0 && bytes < 10 && tenths > 0;
  return std::to_string(bytes) + (decimal ? "." + std::to_string(tenths) : "") + std::string{units[unit]};
}

}  // namespace detail

/// Looks at the folder of a cache, and reads nothing of what is in the files. The real machine is asked whether this
/// user can write; of a described one the mode bits and mounts tell whether anybody can.
[[nodiscard]] inline JitCacheSeen look_at_jit_cache(Site const& site, std::string const& folder) {
  JitCacheSeen seen;
#ifdef _WIN32
  (void)site;
  (void)folder;
#else
  if (folder.empty()) return seen;
  std::string full = folder;
  if (full.front() != '/') {
    auto const here = site.link("/proc/" + site.process + "/cwd");
    if (!here) return seen;
    full = *here + "/" + folder;
  }
  Look const look{site};
  seen.folder = look.real_path(full);
  seen.exists = look.exists(seen.folder + "/.");
  seen.parent = seen.folder;
  while (seen.parent.size() > 1 && !look.exists(seen.parent)) seen.parent = detail::folder_of(seen.parent);
  std::string const parent = site.path_of(seen.parent);
  struct ::stat status {};
  bool const known = ::stat(parent.c_str(), &status) == 0;
  seen.is_file = known && !S_ISDIR(status.st_mode);
  detail::find_mount(site.read("/proc/" + site.process + "/mounts", std::size_t{1} << 22).value_or(""), seen.parent,
                     seen);
  if (site.root.empty()) {
    seen.writable = detail::can_be_written(parent);
  } else if (known) {
    seen.writable = (status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) != 0;
  }
  seen.writable = seen.writable && !seen.is_file && !seen.mounted_read_only;
  struct ::statvfs space {};
  if (::statvfs(parent.c_str(), &space) == 0) {
    seen.free_bytes = static_cast<std::uint64_t>(space.f_bavail) * static_cast<std::uint64_t>(space.f_frsize);
  }
  if (seen.exists) detail::count_jit_cache(look, seen.folder, seen);
  seen.failure = look.failure();
#endif
  return seen;
}

/// What settings and place mean for programs. `ranks`: processes of one launcher on this node, where that is known.
/// Pure.
[[nodiscard]] inline RungReport report_jit_cache(JitCacheSettings const& settings, JitCacheSeen const& seen,
                                                 bool needs_jit, std::optional<int> ranks = std::nullopt) {
  RungReport report;
  report.rung = Rung::jit_cache;
  constexpr std::string_view elsewhere =
      "set CUDA_CACHE_PATH to a folder on a local disk that can be written, such as "
      "/var/tmp/$USER/ComputeCache";
  std::string const place = seen.folder.empty() ? settings.folder : seen.folder;
  auto const find = [&](Severity severity, std::string_view code, std::string what, std::string_view driver,
                        std::string_view fix) {
    report.findings.push_back(
        {severity, code, place, "", Diagnostic::no_offset, std::move(what), std::string{driver}, std::string{fix}});
  };
  report.add_fact("state", settings.off_by.empty()
                               ? std::string{"on"}
                               : "off by " + std::string{settings.off_by} + ": " + std::string{settings.off_reason});
  report.add_fact("folder", place.empty() ? "not known" : place);
  if (!settings.off_by.empty() && needs_jit) {
    report.findings.push_back(
        {Severity::warning, "jit_cache.off", std::string{settings.off_by}, "", Diagnostic::no_offset,
         "a program named has PTX that the driver compiles, and nothing new is kept: " +
             std::string{settings.off_reason},
         "it compiles it anew in each run (measured, 580)", "unset " + std::string{settings.off_by}});
  }
  if (settings.folder.empty()) {
    if (settings.off_by.empty()) {
      report.unknown.push_back(std::string{settings.named_by} +
                               " is not set: where the driver keeps what it compiles then is not established");
    }
    return report;
  }
  if (seen.folder.empty()) {
    report.unknown.push_back("the folder of the cache could not be looked at");
    return report;
  }
  if (!report.add_unknown("what is in the cache's folder", seen.failure)) {
    report.add_fact("size", !seen.exists ? std::string{"nothing yet"}
                                         : detail::byte_words(seen.bytes) + " in " + std::to_string(seen.files) +
                                               (seen.files == 1 ? " file" : " files") + (seen.cut ? " and more" : "") +
                                               ", of " + detail::byte_words(settings.limit));
  }
  report.add_fact("file system", (seen.file_system.empty() ? "not known" : seen.file_system) +
                                     (seen.free_bytes ? ", " + detail::byte_words(*seen.free_bytes) + " free" : ""));
  if (!settings.off_by.empty()) return report;  // the place does not matter
  if (seen.is_file) {
    find(Severity::warning, "jit_cache.not_a_folder", seen.parent + " is a file, so no cache can be there",
         "it says nothing, and compiles anew in each run (measured, 580)", elsewhere);
  } else if (!seen.writable && seen.exists) {
    find(Severity::warning, "jit_cache.read_only",
         seen.mounted_read_only ? "its file system is mounted read-only" : "this user cannot write it",
         "a cache that cannot be written is not read either, so a shared read-only one does nothing (measured, 580)",
         elsewhere);
  } else if (!seen.writable) {
    find(Severity::warning, "jit_cache.cannot_be_made",
         (seen.failure.empty() ? "it is not there, and " : "it is not to be reached, and ") + seen.parent +
             (seen.mounted_read_only ? " is mounted read-only" : " cannot be written by this user"),
         "it says nothing, and compiles anew in each run (measured, 580)", elsewhere);
  }
  if (detail::is_network_file_system(seen.file_system)) {
    find(Severity::warning, "jit_cache.network",
         "it is on " + seen.file_system + ", a network file system" +
             (ranks && *ranks > 1 ? ", and " + std::to_string(*ranks) + " ranks of this node share it" : "") +
             ": stalls and recompiling are reported from there",
         "not measured", elsewhere);
  }
  constexpr std::uint64_t little = std::uint64_t{16} << 20;
  if (seen.writable && seen.free_bytes && *seen.free_bytes < little) {
    find(Severity::warning, "jit_cache.no_space", "only " + detail::byte_words(*seen.free_bytes) + " are free there",
         "what it does when the disk is full was not measured", "make room, or set CUDA_CACHE_PATH to another disk");
  }
  if (seen.bytes > settings.limit / 10 * 9) {
    find(Severity::note, "jit_cache.nearly_full",
         "it is as large as it may be, so that older entries make room for new ones",
         "the limit is " + detail::byte_words(settings.limit) + " (CUDA_CACHE_MAXSIZE)",
         settings.limit < std::uint64_t{1} << 32 ? "CUDA_CACHE_MAXSIZE=4294967296, or clear it: cuenv cache clear"
                                                 : "clear it: cuenv cache clear");
  }
  return report;
}

/// The driver's cache of code that it compiled: where it is, whether it is on and can be used, how full it is.
/// `needs_jit`: a program named has code that goes through it. Never throws for what is on the disk. Linux only.
[[nodiscard]] inline RungReport diagnose_jit_cache(Site const& site, bool needs_jit) {
  if (!site.variables_unknown.empty()) {
    RungReport report;
    report.rung = Rung::jit_cache;
    report.add_unknown("whether the cache is on, and where", site.variables_unknown);
    return report;
  }
  detail::ListedEnvironment const environment{site.variables};
  JitCacheSettings const settings = jit_cache_settings(environment);
#ifdef _WIN32
  RungReport report;
  report.rung = Rung::jit_cache;
  (void)needs_jit;
  report.add_fact("folder", settings.folder);
  report.unknown.push_back("the folder of the cache was not looked at: this was written for Linux");
  return report;
#else
  JitCacheSeen seen = look_at_jit_cache(site, settings.folder);
  // What was asked is whether this user can write; a process can be another's.
  struct ::stat status {};
  bool const is_others = site.root.empty() && site.process != "self" &&
                         ::stat(("/proc/" + site.process).c_str(), &status) == 0 && status.st_uid != ::geteuid();
  seen.writable = seen.writable || is_others;
  auto const rank = find_local_rank(environment).local;
  RungReport report = report_jit_cache(settings, seen, needs_jit, rank ? rank->size : std::nullopt);
  if (is_others)
    report.unknown.push_back("whether the other user of that process can write the cache was not looked at");
  return report;
#endif
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_JIT_CACHE_HPP
