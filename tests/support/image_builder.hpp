#ifndef CUENV_TESTS_SUPPORT_IMAGE_BUILDER_HPP
#define CUENV_TESTS_SUPPORT_IMAGE_BUILDER_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Small files with GPU code, put together by hand so that every byte can be made wrong.

namespace image_builder {

inline std::string number(std::uint64_t value, std::size_t width) {
  std::string bytes;
  for (std::size_t i = 0; i < width; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xff);
  return bytes;
}
inline std::string u16(std::uint64_t value) { return number(value, 2); }
inline std::string u32(std::uint64_t value) { return number(value, 4); }
inline std::string u64(std::uint64_t value) { return number(value, 8); }

/// Overwrites bytes in place.
inline std::string patched(std::string bytes, std::size_t at, std::string const& with) {
  return bytes.replace(at, with.size(), with);
}

inline std::string padded(std::string bytes, std::size_t to = 8) {
  while (bytes.size() % to != 0) bytes += '\0';
  return bytes;
}

/// A section or segment of an ELF file.
struct Section {
  std::string name;
  std::string data;
  std::uint32_t type = 1;  // 8: takes no room in the file
  std::uint64_t address = 0;
};

struct ElfForm {
  std::uint16_t machine = 62;
  std::uint8_t os_abi = 0;
  std::uint8_t abi_version = 0;
  std::uint32_t flags = 0;
};

/// An ELF file of these sections, with one PT_LOAD segment over all of them.
inline std::string elf(std::vector<Section> const& sections, ElfForm form = {}) {
  std::string names(1, '\0');
  std::string body;
  std::string headers(64, '\0');
  constexpr std::size_t body_at = 64 + 56;
  auto const header = [&](Section const& section) {
    headers += u32(names.size()) + u32(section.type) + u64(0) + u64(section.address) + u64(body_at + body.size()) +
               u64(section.data.size()) + u64(0) + u64(8) + u64(0);
    names += section.name + '\0';
    if (section.type != 8) body += padded(section.data);
  };
  for (Section const& section : sections) header(section);
  std::string const name_table = names + ".shstrtab" + '\0';
  header({".shstrtab", name_table, 3, 0});
  std::string file =
      "\x7f"
      "ELF";
  file +=
      std::string{2, 1, 1, static_cast<char>(form.os_abi), static_cast<char>(form.abi_version)} + std::string(7, '\0');
  file += u16(form.machine == 190 ? 2 : 3) + u16(form.machine) + u32(1) + u64(0) + u64(64) + u64(body_at + body.size());
  file += u32(form.flags) + u16(64) + u16(56) + u16(1) + u16(64) + u16(sections.size() + 2) + u16(sections.size() + 1);
  file += u32(1) + u32(4) + u64(body_at) + u64(0x1000) + u64(0x1000) + u64(body.size()) + u64(body.size()) + u64(8);
  return file + body + headers;
}

/// A cubin in the form of CUDA 13; `older` in that of CUDA 12 for GPUs before 10.0.
inline std::string cubin(unsigned sm, bool older = false, std::vector<Section> const& sections = {}) {
  return older ? elf(sections, {190, 0x33, 7, sm | 0x500U}) : elf(sections, {190, 0x41, 8, 0x06000004U | sm << 8});
}

inline std::string ptx(std::string const& version, std::string const& target) {
  return ".version " + version + "\n.target " + target + "\n.address_size 64\n.visible .entry k() { ret; }\n";
}

inline constexpr std::uint64_t flag_lz4 = 0x2000;
inline constexpr std::uint64_t flag_zstd = 0x8000;
inline constexpr std::uint64_t flag_a = 0x100000;
inline constexpr std::uint64_t flag_f = 0x200000;

/// One entry of a container: `kind` 1 PTX, 2 cubin, 8 link-time IR; the version as major << 16 | minor.
inline std::string entry(unsigned kind, unsigned sm, std::string payload, std::uint64_t flags = 0,
                         std::uint64_t unpacked = 0, std::uint32_t version = 0x10008) {
  std::size_t const packed = unpacked == 0 ? 0 : payload.size();
  payload = padded(std::move(payload));
  return u16(kind) + u16(0x101) + u32(64) + u64(payload.size()) + u32(packed) + u32(0) + u32(version) + u32(sm) +
         u32(0) + u32(0) + u64(flags | 0x11) + u64(0) + u64(unpacked) + payload;
}
inline std::string cubin_entry(unsigned sm, std::uint64_t flags = 0) { return entry(2, sm, cubin(sm), flags); }
inline std::string ptx_entry(unsigned sm, std::string const& version = "8.0", std::uint64_t flags = 0) {
  std::string const suffix = (flags & flag_a) != 0 ? "a" : (flags & flag_f) != 0 ? "f" : "";
  return entry(1, sm, ptx(version, "sm_" + std::to_string(sm) + suffix) + '\0', flags, 0,
               static_cast<std::uint32_t>((version[0] - '0') << 16 | (version[2] - '0')));
}

/// A zstd frame that says it unpacks to `unpacked` bytes (256 to 65791), of one block of `block` bytes of nonsense.
inline std::string zstd_frame(std::size_t unpacked, std::size_t block = 20) {
  std::string frame = "\x28\xb5\x2f\xfd\x60" + u16(unpacked - 256);
  frame += number(block << 3 | 2U << 1 | 1U, 3);
  return frame + std::string(block, 'z');
}

/// A raw LZ4 block of literals alone.
inline std::string lz4_literals(std::string const& text) {
  std::string block(1, static_cast<char>(text.size() < 15 ? text.size() << 4 : 0xf0));
  if (text.size() >= 15) {
    std::size_t rest = text.size() - 15;
    for (; rest >= 255; rest -= 255) block += '\xff';
    block += static_cast<char>(rest);
  }
  return block + text;
}

inline std::string container(std::string const& entries) {
  return u32(0xba55ed50) + u16(1) + u16(16) + u64(entries.size()) + entries;
}

/// A Windows program of these sections (names of at most 8 bytes).
inline std::string pe(std::vector<Section> const& sections) {
  std::string headers = "MZ" + std::string(58, '\0') + u32(64);
  headers +=
      std::string("PE\0\0", 4) + u16(0x8664) + u16(sections.size()) + u32(0) + u32(0) + u32(0) + u16(112) + u16(0x22);
  headers += u16(0x20b) + std::string(22, '\0') + u64(0x140000000) + std::string(80, '\0');
  std::size_t const body_at = (headers.size() + 40 * sections.size() + 511) / 512 * 512;
  std::string body;
  for (Section const& section : sections) {
    std::string const stored = padded(section.data, 512);
    headers += section.name + std::string(8 - section.name.size(), '\0') + u32(section.data.size()) +
               u32(section.address) + u32(stored.size()) + u32(body_at + body.size()) + std::string(16, '\0');
    body += stored;
  }
  return headers + std::string(body_at - headers.size(), '\0') + body;
}

/// An archive of members; a name that stands in it is at most 16 bytes, with what ends it.
inline std::string archive(std::vector<std::pair<std::string, std::string>> const& members) {
  auto const field = [](std::string text, std::size_t width) {
    text.resize(width, ' ');
    return text;
  };
  std::string file = "!<arch>\n";
  for (auto const& [name, data] : members) {
    file += field(name, 16) + field("0", 12) + field("0", 6) + field("0", 6) + field("644", 8) +
            field(std::to_string(data.size()), 10) + "`\n" + data;
    if (data.size() % 2 != 0) file += '\n';
  }
  return file;
}

}  // namespace image_builder

#endif  // CUENV_TESTS_SUPPORT_IMAGE_BUILDER_HPP
