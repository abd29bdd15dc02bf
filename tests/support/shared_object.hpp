#ifndef CUENV_TESTS_SUPPORT_SHARED_OBJECT_HPP
#define CUENV_TESTS_SUPPORT_SHARED_OBJECT_HPP

#include "support/image_builder.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Small ELF files as the loader sees them, and its cache.

namespace cuenv_tests {

/// What a library or program tells the loader; an empty text is no entry.
struct SharedObject {
  std::vector<std::string> needed = {};
  std::string soname = {};
  std::string rpath = {};
  std::string runpath = {};
  std::uint16_t machine = 62;
  /// Bytes behind it, as a section of the file (".nv_fatbin", say, has GPU code).
  std::vector<image_builder::Section> sections = {};
};

/// Its bytes: the header, two program headers (all of the file, and the dynamic section), then the parts.
inline std::string shared_object(SharedObject const& object) {
  using image_builder::patched, image_builder::u16, image_builder::u32, image_builder::u64;
  // The sections come from the other builder; the loader's parts go behind them, so that offsets stay good.
  std::string file = image_builder::padded(image_builder::elf(object.sections, {object.machine, 0, 0, 0}));
  constexpr std::uint64_t address = 0x10000;  // of the file's first byte in memory
  std::string names(1, '\0');
  std::string rows;
  auto const add = [&](std::uint64_t tag, std::string const& text) {
    if (text.empty()) return;
    rows += u64(tag) + u64(names.size());
    names += text + '\0';
  };
  for (std::string const& name : object.needed) add(1, name);
  add(14, object.soname);
  add(15, object.rpath);
  add(29, object.runpath);
  std::size_t const names_at = file.size();
  rows += u64(5) + u64(address + names_at) + u64(10) + u64(names.size()) + u64(0) + u64(0);
  file += image_builder::padded(names);
  std::size_t const rows_at = file.size();
  file += rows;
  std::size_t const headers_at = file.size();
  std::size_t const size = headers_at + 2 * 56;
  file += u32(1) + u32(5) + u64(0) + u64(address) + u64(address) + u64(size) + u64(size) + u64(0x1000);
  file += u32(2) + u32(6) + u64(rows_at) + u64(address + rows_at) + u64(address + rows_at) + u64(rows.size()) +
          u64(rows.size()) + u64(8);
  return patched(patched(file, 32, u64(headers_at)), 56, u16(2));
}

/// One row of a loader's cache.
struct CacheRow {
  std::string name;
  std::string path;
  std::uint32_t flags = 0x303;
  std::uint64_t hwcap = 0;
};

/// A cache as ldconfig of glibc 2.32 and later writes it; `with_older` puts the older form before it, as those of the
/// years before did.
inline std::string loader_cache(std::vector<CacheRow> const& rows, bool with_older = false) {
  using image_builder::u32, image_builder::u64;
  std::string table, names;
  std::size_t const names_at = 48 + 24 * rows.size();
  for (CacheRow const& row : rows) {
    std::size_t const key = names_at + names.size();
    names += row.name + '\0';
    std::size_t const value = names_at + names.size();
    names += row.path + '\0';
    table += u32(row.flags) + u32(key) + u32(value) + u32(0) + u64(row.hwcap);
  }
  std::string const cache = "glibc-ld.so.cache1.1" + u32(rows.size()) + u32(names.size()) +
                            std::string("\x02\0\0\0", 4) + u32(0) + std::string(12, '\0') + table + names;
  if (!with_older) return cache;
  std::string older = "ld.so-1.7.0" + std::string(1, '\0') + u32(rows.size()) + std::string(12 * rows.size(), '\1');
  return image_builder::padded(older) + cache;
}

}  // namespace cuenv_tests

#endif  // CUENV_TESTS_SUPPORT_SHARED_OBJECT_HPP
