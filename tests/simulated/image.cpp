#include "image.hpp"

#ifdef _WIN32
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cerrno>
#endif

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>

namespace simulated {
namespace {

constexpr int success = 0;
constexpr int invalid_image = 200;
constexpr int no_binary_for_gpu = 209;
constexpr int invalid_ptx = 218;
constexpr int jit_compiler_not_found = 221;
constexpr int unsupported_ptx_version = 222;
constexpr int jit_compilation_disabled = 223;
constexpr int invalid_source = 300;
constexpr int unknown = 999;

constexpr std::uint64_t largest_text = std::uint64_t{64} << 20;
constexpr int most_entries = 100000;
constexpr std::uint64_t most_symbols = 100000;
constexpr std::uint64_t longest_name = 4096;
constexpr std::uint64_t largest_compatibility = 4096;

LoadedImage failed(int result, std::string log) { return {result, std::move(log), {}}; }

/// The process's memory, read in a way that reports unmapped addresses instead of dying of them.
class Memory {
 public:
  explicit Memory(void const* start) : start_(reinterpret_cast<std::uintptr_t>(start)) {}

  /// False if any of it is not mapped.
  [[nodiscard]] bool read(std::uint64_t offset, void* to, std::size_t size) const {
    return read_some(offset, to, size) == size;
  }

  template <typename T>
  [[nodiscard]] std::optional<T> get(std::uint64_t offset) const {
    T value{};
    if (!read(offset, &value, sizeof value)) return std::nullopt;
    return value;
  }

  [[nodiscard]] bool mapped(std::uint64_t offset, std::uint64_t size) const {
    return size == 0 || (size < (std::uint64_t{1} << 40) && get<char>(offset) && get<char>(offset + size - 1));
  }

  /// Up to the first NUL, at most `limit` characters. `ended` tells whether there was a NUL.
  [[nodiscard]] std::string text(std::uint64_t offset, std::uint64_t limit, bool& ended) const {
    std::string text;
    ended = false;
    while (text.size() < limit) {
      char block[4096];
      auto const wanted = static_cast<std::size_t>(std::min<std::uint64_t>(sizeof block, limit - text.size()));
      auto const size = read_some(offset + text.size(), block, wanted);
      auto const* const nul = static_cast<char const*>(std::memchr(block, 0, size));
      text.append(block, nul != nullptr ? static_cast<std::size_t>(nul - block) : size);
      ended = nul != nullptr;
      if (ended || size < wanted) break;
    }
    return text;
  }

 private:
  std::size_t read_some(std::uint64_t offset, void* to, std::size_t size) const {
    if (offset > INT64_MAX - start_) return 0;
#ifdef _WIN32
    // By the page: of a range that is mapped in part the function may read nothing.
    std::size_t done = 0;
    while (done < size) {
      std::uintptr_t const from = start_ + offset + done;
      SIZE_T const wanted = std::min<SIZE_T>(size - done, 4096 - from % 4096);
      SIZE_T got = 0;
      if (::ReadProcessMemory(::GetCurrentProcess(), reinterpret_cast<void const*>(from), static_cast<char*>(to) + done,
                              wanted, &got) == 0) {
        break;
      }
      done += got;
    }
    return done;
#else
    ::iovec const local{to, size};
    ::iovec const remote{reinterpret_cast<void*>(start_ + offset), size};
    auto done = ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0);
    if (done < 0 && errno == ENOSYS) {  // qemu's user mode
      int const memory = ::open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
      done = ::pread(memory, to, size, static_cast< ::off_t>(start_ + offset));
      ::close(memory);
    }
    return done > 0 ? static_cast<std::size_t>(done) : 0;
#endif
  }

  std::uintptr_t start_;
};

// ---- Targets -------------------------------------------------------------------------------------------------------

struct Target {
  int sm = 0;         // 90
  char suffix = ' ';  // 'a', 'f' or a blank
};

int sm_of(ImageTarget const& device) { return device.cc_major * 10 + device.cc_minor; }

/// 10.1 was renamed to 11.0.
int renamed(int sm) { return sm == 101 ? 110 : sm; }

/// The documented families: from the named member upwards.
bool in_family(int sm, int device) {
  static constexpr int families[][3] = {{100, 103, 107}, {110, 110, 110}, {120, 121, 121}};
  return std::any_of(std::begin(families), std::end(families), [&](auto const& family) {
    auto const has = [&](int number) {
      return std::find(std::begin(family), std::end(family), number) != std::end(family);
    };
    return has(renamed(sm)) && has(renamed(device)) && device >= sm;
  });
}

bool cubin_runs(Target const& cubin, ImageTarget const& device) {
  int const sm = sm_of(device);
  if (cubin.suffix == 'a') return cubin.sm == sm;
  if (cubin.suffix == 'f') return in_family(cubin.sm, sm);
  return cubin.sm / 10 == sm / 10 && cubin.sm <= sm;
}

bool ptx_compiles(Target const& ptx, ImageTarget const& device) {
  int const sm = renamed(sm_of(device));
  if (ptx.suffix == 'a') return renamed(ptx.sm) == sm;
  if (ptx.suffix == 'f') return in_family(ptx.sm, sm);
  return ptx.sm <= sm;
}

/// The first PTX version that has the target, as major * 10 + minor; nothing for targets that do not exist.
std::optional<int> first_ptx_with(Target const& target) {
  struct Row {
    int sm;
    int plain;
    int with_a;
    int with_f;
  };
  static constexpr Row rows[] = {
      {20, 20, 0, 0},    {30, 30, 0, 0},    {32, 40, 0, 0},    {35, 31, 0, 0},    {37, 41, 0, 0},    {50, 40, 0, 0},
      {52, 41, 0, 0},    {53, 42, 0, 0},    {60, 50, 0, 0},    {61, 50, 0, 0},    {62, 50, 0, 0},    {70, 60, 0, 0},
      {72, 61, 0, 0},    {75, 63, 0, 0},    {80, 70, 0, 0},    {86, 71, 0, 0},    {87, 74, 0, 0},    {88, 90, 0, 0},
      {89, 78, 0, 0},    {90, 78, 80, 0},   {100, 86, 86, 88}, {101, 86, 86, 88}, {103, 88, 88, 88}, {107, 94, 94, 94},
      {110, 90, 90, 90}, {120, 87, 87, 88}, {121, 88, 88, 88},
  };
  for (auto const& row : rows) {
    if (row.sm != target.sm) continue;
    int const first = target.suffix == 'a' ? row.with_a : target.suffix == 'f' ? row.with_f : row.plain;
    if (first != 0) return first;
  }
  return std::nullopt;
}

// ---- PTX text ------------------------------------------------------------------------------------------------------

/// PTX text cut into words. Comments count as blanks.
class PtxWords {
 public:
  explicit PtxWords(std::string const& text) : text_(text) { skip_blanks(); }

  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }

  [[nodiscard]] bool starts_with(char const* word) const { return text_.compare(at_, std::strlen(word), word) == 0; }

  /// A run of the characters of names and numbers, or one other character.
  std::string next() {
    auto const begin = at_;
    while (!at_end() && is_word_character(text_[at_])) ++at_;
    if (at_ == begin && !at_end()) ++at_;
    std::string word = text_.substr(begin, at_ - begin);
    skip_blanks();
    return word;
  }

  /// The rest of the line, for .version, whose number must stand on the same line without a comment between.
  [[nodiscard]] std::string rest_of_line_after(char const* word) const {
    auto const begin = at_ + std::strlen(word);
    return text_.substr(begin, text_.find('\n', begin) - begin);
  }

 private:
  static bool is_word_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$' || c == '%';
  }

  void skip_blanks() {
    while (!at_end()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        ++at_;
      } else if (starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (starts_with("/*")) {
        auto const end = text_.find("*/", at_ + 2);
        at_ = end == std::string::npos ? text_.size() : end + 2;
      } else {
        return;
      }
    }
  }

  std::string const& text_;
  std::size_t at_ = 0;
};

/// "90", "90a"; nothing if it is anything else.
std::optional<Target> parse_target(std::string const& word) {
  auto const underscore = word.find('_');
  if (word.compare(0, 3, "sm_") != 0 && word.compare(0, 8, "compute_") != 0) return std::nullopt;
  Target target;
  std::size_t at = underscore + 1;
  for (; at < word.size() && at < underscore + 5 && std::isdigit(static_cast<unsigned char>(word[at])) != 0; ++at) {
    target.sm = target.sm * 10 + (word[at] - '0');
  }
  if (at + 1 == word.size() && (word[at] == 'a' || word[at] == 'f')) target.suffix = word[at++];
  if (at != word.size() || target.sm == 0) return std::nullopt;
  return target;
}

/// "  9.0 // comment" as 90.
std::optional<int> parse_version(std::string const& line) {
  int major = 0;
  int minor = 0;
  int used = 0;
  if (std::sscanf(line.c_str(), "%*[ \t]%4d.%1d%n", &major, &minor, &used) < 2 || used == 0) return std::nullopt;
  return major * 10 + minor;
}

bool is_ptx_text(std::string const& text) { return PtxWords(text).starts_with(".version"); }

/// What the compiler says about the text, as far as that follows from its directives, its braces and its kernels'
/// names. Instructions are not looked at.
LoadedImage compile(std::string const& text, ImageTarget const& device) {
  if (device.disable_jit) return failed(jit_compilation_disabled, "PTX compilation is disabled by the environment");
  if (device.jit_compiler_missing) return failed(jit_compiler_not_found, "the PTX compiler library was not found");

  PtxWords words(text);
  if (!words.starts_with(".version")) return failed(invalid_ptx, "the text does not begin with .version");
  auto const version = parse_version(words.rest_of_line_after(".version"));
  if (!version) return failed(invalid_ptx, ".version without a number");
  if (*version > newest_ptx(device.cuda_version)) {
    return failed(unsupported_ptx_version, "the PTX version is newer than this driver's compiler");
  }

  std::vector<Target> targets;
  std::vector<std::string> kernels;
  int address_size = 32;
  int depth = 0;
  bool debug = false;
  bool has_debug_section = false;
  for (std::string word; !words.at_end();) {
    word = words.next();
    if (word == ".target") {
      auto const target = parse_target(words.next());
      if (!target) return failed(invalid_ptx, ".target names no target");
      targets.push_back(*target);
      while (words.starts_with(",")) {
        words.next();
        std::string const option = words.next();
        debug = debug || option == "debug";
        if (auto const further = parse_target(option)) targets.push_back(*further);
      }
    } else if (word == ".address_size") {
      address_size = words.next() == "64" ? 64 : 32;
    } else if (word == ".section") {
      has_debug_section = true;
    } else if (word == ".entry" && depth == 0) {
      kernels.push_back(words.next());
    } else if (word == "{") {
      ++depth;
    } else if (word == "}") {
      --depth;
    }
  }
  if (targets.empty()) return failed(invalid_ptx, "no .target");
  for (auto const& target : targets) {
    auto const first = first_ptx_with(target);
    if (!first || *first > *version) return failed(invalid_ptx, "this PTX version does not have the target");
    if (!ptx_compiles(target, device)) return failed(invalid_ptx, "the target is not one that runs on the device");
  }
  if (address_size != 64) return failed(invalid_ptx, "the address size is not 64");
  if (depth != 0) return failed(invalid_ptx, "the text ends inside a block");
  if (debug && !has_debug_section) return failed(invalid_ptx, "target with debug, but no debug information");
  return {success, "", kernels};
}

// ---- Cubins --------------------------------------------------------------------------------------------------------

struct ElfHeader {
  unsigned char ident[16];
  std::uint16_t type, machine;
  std::uint32_t version;
  std::uint64_t entry, program_headers, section_headers;
  std::uint32_t flags;
  std::uint16_t header_size, program_header_size, program_header_count, section_header_size, section_header_count,
      names_section;
};
static_assert(sizeof(ElfHeader) == 64);

struct ElfSection {
  std::uint32_t name, type;
  std::uint64_t flags, address, offset, size;
  std::uint32_t link, info;
  std::uint64_t alignment, entry_size;
};
static_assert(sizeof(ElfSection) == 64);

struct ElfSymbol {
  std::uint32_t name;
  unsigned char info, other;
  std::uint16_t section;
  std::uint64_t value, size;
};
static_assert(sizeof(ElfSymbol) == 24);

constexpr std::uint16_t relocatable = 1;  // e_type
constexpr std::uint32_t section_symbols = 2;
constexpr std::uint32_t section_strings = 3;
constexpr std::uint32_t section_no_bits = 8;
constexpr std::uint32_t section_compatibility = 0x70000086;

/// Names that a program for the GPU need not define.
bool driver_provides(std::string const& name) {
  static char const* const names[] = {"vprintf", "malloc", "free", "__assertfail"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// Attribute 9 of .nv.compat: compiled for exactly this architecture.
bool compatibility_says_a(Memory const& memory, std::uint64_t begin, std::uint64_t size) {
  std::uint64_t at = 0;
  while (at + 4 <= std::min(size, largest_compatibility)) {
    auto const format = memory.get<std::uint8_t>(begin + at);
    auto const attribute = memory.get<std::uint8_t>(begin + at + 1);
    auto const value = memory.get<std::uint16_t>(begin + at + 2);
    if (!format || !attribute || !value) return false;
    if (*format == 2 && *attribute == 9 && (*value & 0xff) == 1) return true;
    at += *format == 4 ? 4 + std::uint64_t{*value} : 4;
  }
  return false;
}

/// `mismatch` is the answer to a cubin of another SM.
LoadedImage load_cubin(Memory const& memory, std::uint64_t base, ImageTarget const& device, int mismatch) {
  auto const header = memory.get<ElfHeader>(base);
  if (!header || std::memcmp(header->ident, "\177ELF", 4) != 0) return failed(invalid_image, "no ELF file");
  if (header->ident[4] == 1) return failed(unknown, "a 32-bit ELF file");
  if (header->ident[4] != 2 || header->ident[5] != 1 || header->machine != 190) {
    return failed(invalid_image, "not an ELF file for a GPU");
  }

  constexpr std::uint16_t most_sections = 0xff00;
  auto const count = header->section_header_count;
  if (count == 0 || count >= most_sections || header->section_header_size != sizeof(ElfSection) ||
      header->names_section >= count || header->section_headers > (std::uint64_t{1} << 40)) {
    return failed(invalid_image, "the section header table is damaged");
  }
  std::vector<ElfSection> sections(count);
  if (!memory.read(base + header->section_headers, sections.data(), count * sizeof(ElfSection))) {
    return failed(invalid_image, "the section header table is not there");
  }
  if (sections[header->names_section].type != section_strings) return failed(invalid_image, "no section names");
  for (auto const& section : sections) {
    if (section.type == section_no_bits || section.type == 0) continue;
    if (section.offset > (std::uint64_t{1} << 40) || !memory.mapped(base + section.offset, section.size)) {
      return failed(invalid_image, "a section reaches past the image");
    }
  }

  // The operating system's byte tells the two layouts of e_flags apart.
  bool const newer = header->ident[7] == 0x41;
  Target target;
  target.sm = static_cast<int>(newer ? header->flags >> 8 & 0xff : header->flags & 0xff);
  bool only_this = (header->flags >> (newer ? 3 : 11) & 1) != 0;
  for (auto const& section : sections) {
    if (newer && section.type == section_compatibility) {
      only_this = only_this || compatibility_says_a(memory, base + section.offset, section.size);
    }
  }
  if (only_this) target.suffix = 'a';
  if (target.sm == 0) return failed(unknown, "the cubin names no SM");
  if (!cubin_runs(target, device)) return failed(mismatch, "the cubin is for another SM");

  LoadedImage loaded;
  for (auto const& table : sections) {
    if (table.type != section_symbols || table.link >= count || table.entry_size != sizeof(ElfSymbol)) continue;
    auto const symbol_count = std::min<std::uint64_t>(table.size / sizeof(ElfSymbol), most_symbols);
    for (std::uint64_t i = 0; i < symbol_count; ++i) {
      auto const symbol = memory.get<ElfSymbol>(base + table.offset + i * sizeof(ElfSymbol));
      auto const& strings = sections[table.link];
      if (!symbol || symbol->name >= strings.size) continue;
      constexpr unsigned char is_global = 1;  // a weak symbol may stay undefined
      constexpr unsigned char is_function = 2;
      constexpr unsigned char is_kernel = 0x10;
      bool ended = false;
      std::string name =
          memory.text(base + strings.offset + symbol->name, std::min(strings.size - symbol->name, longest_name), ended);
      bool const undefined = symbol->info >> 4 == is_global && symbol->section == 0 && !name.empty();
      if (header->type == relocatable && undefined && !driver_provides(name)) {
        return {success, "unresolved: " + name, {}};  // loads, but has no function to give
      }
      if ((symbol->info & 0xf) == is_function && (symbol->other & is_kernel) != 0 && symbol->section != 0) {
        loaded.kernels.push_back(std::move(name));
      }
    }
  }
  return loaded;
}

// ---- Fatbins -------------------------------------------------------------------------------------------------------

struct ContainerHeader {
  std::uint32_t magic;
  std::uint16_t version, header_size;
  std::uint64_t size;
};
static_assert(sizeof(ContainerHeader) == 16);

struct EntryHeader {
  std::uint16_t kind, version;
  std::uint32_t header_size;
  std::uint64_t payload_size;
  std::uint32_t packed_size, options;
  std::uint16_t minor, major;
  std::uint32_t sm, identifier, identifier_length;
  std::uint64_t flags, reserved, unpacked_size;
};
static_assert(sizeof(EntryHeader) == 64);

constexpr std::uint32_t container_magic = 0xBA55ED50;
constexpr std::uint16_t kind_ptx = 1;
constexpr std::uint16_t kind_cubin = 2;
constexpr std::uint64_t flag_lz4 = 0x2000;
constexpr std::uint64_t flag_zstd = 0x8000;
constexpr std::uint64_t flag_a = 0x100000;
constexpr std::uint64_t flag_f = 0x200000;

struct Entry {
  EntryHeader header;
  std::uint64_t payload = 0;  // offset
};

Target target_of(EntryHeader const& header) {
  char const suffix = (header.flags & flag_a) != 0 ? 'a' : (header.flags & flag_f) != 0 ? 'f' : ' ';
  return {static_cast<int>(std::min<std::uint32_t>(header.sm, 10000)), suffix};
}

/// The frame's own header: its magic and, where it states one, the size of its content.
bool zstd_frame_fits(Memory const& memory, Entry const& entry) {
  auto const magic = memory.get<std::uint32_t>(entry.payload);
  auto const descriptor = memory.get<std::uint8_t>(entry.payload + 4);
  if (!magic || *magic != 0xFD2FB528 || !descriptor) return false;
  bool const single_segment = (*descriptor & 0x20) != 0;
  static constexpr std::uint64_t dictionary_sizes[] = {0, 1, 2, 4};
  std::uint64_t const at = entry.payload + 5 + (single_segment ? 0 : 1) + dictionary_sizes[*descriptor & 3];
  std::optional<std::uint64_t> size;
  switch (*descriptor >> 6) {
    case 0:
      if (!single_segment) return true;  // states no size
      size = memory.get<std::uint8_t>(at);
      break;
    case 1:
      size = memory.get<std::uint16_t>(at);
      if (size) *size += 256;
      break;
    case 2: size = memory.get<std::uint32_t>(at); break;
    default: size = memory.get<std::uint64_t>(at); break;
  }
  return size && *size == entry.header.unpacked_size;
}

LoadedImage load_entry(Memory const& memory, Entry const& entry, ImageTarget const& device) {
  auto const& header = entry.header;
  bool const is_ptx = header.kind == kind_ptx;
  if (header.header_size < sizeof(EntryHeader) || header.sm == 0) return failed(unknown, "the entry is damaged");

  bool const packed = (header.flags & (flag_lz4 | flag_zstd)) != 0;
  if ((header.flags & flag_zstd) != 0) {
    if (device.cuda_version < 12040) return failed(invalid_image, "this driver cannot read zstd");
    if (!zstd_frame_fits(memory, entry)) return failed(unknown, "the zstd frame is damaged");
  }
  // Measured: what cannot be unpacked is reported before the switch is looked at.
  if (is_ptx && device.disable_jit) return failed(jit_compilation_disabled, "PTX compilation is disabled");
  if (is_ptx && device.jit_compiler_missing) return failed(jit_compiler_not_found, "no PTX compiler library");
  if (packed) {
    if (is_ptx && header.major * 10 + header.minor > newest_ptx(device.cuda_version)) {
      return failed(unsupported_ptx_version, "the PTX version is newer than this driver's compiler");
    }
    return {success, "packed: not looked into", {}};
  }
  if (!is_ptx) return load_cubin(memory, entry.payload, device, invalid_source);
  bool ended = false;
  return compile(memory.text(entry.payload, std::min(header.payload_size, largest_text), ended), device);
}

LoadedImage load_container(Memory const& memory, ImageTarget const& device) {
  auto const container = memory.get<ContainerHeader>(0);
  if (!container || container->version != 1) return failed(invalid_image, "an unknown container version");
  std::uint64_t const size = container->size <= INT64_MAX - 65536 ? container->size : 0;  // measured: as if empty
  std::uint64_t const end = container->header_size + size;

  // Any usable cubin comes before any PTX. Of cubins the first of those with the highest target, `a` above plain, of
  // PTX the last.
  std::optional<Entry> cubin;
  std::optional<Entry> ptx;
  auto const rank = [](Entry const& entry) {
    auto const target = target_of(entry.header);
    return target.sm * 2 + (target.suffix == 'a' ? 1 : 0);
  };
  std::uint64_t at = container->header_size;
  for (int i = 0; i < most_entries && at < end; ++i) {
    auto const header = memory.get<EntryHeader>(at);
    if (!header) return failed(invalid_image, "an entry is not there");
    Entry const entry{*header, at + header->header_size};
    bool const damaged = header->header_size < sizeof(EntryHeader) || header->sm == 0;
    if (header->kind == kind_cubin && !device.force_jit && (damaged || cubin_runs(target_of(*header), device))) {
      if (!cubin || rank(entry) > rank(*cubin)) cubin = entry;
    } else if (header->kind == kind_ptx && (damaged || ptx_compiles(target_of(*header), device))) {
      if (!ptx || rank(entry) >= rank(*ptx)) ptx = entry;
    }
    if (header->payload_size > INT64_MAX - 65536) return failed(invalid_image, "an entry's size is damaged");
    if (header->header_size < sizeof(EntryHeader)) break;
    at += header->header_size + header->payload_size;
  }
  if (cubin) return load_entry(memory, *cubin, device);
  if (ptx) return load_entry(memory, *ptx, device);
  return failed(no_binary_for_gpu, "no image for the device");
}

}  // namespace

int newest_ptx(int cuda_version) {
  int const major = cuda_version / 1000;
  int const minor = cuda_version % 1000 / 10;
  if (major >= 11) {
    // The PTX version follows the CUDA version, but for 12.6 to 12.9, one behind.
    bool const behind = major == 12 && minor >= 6;
    return (major - 4) * 10 + minor - (behind ? 1 : 0);
  }
  switch (major * 10 + minor) {
    case 80: return 50;
    case 90: return 60;
    case 91: return 61;
    case 92: return 62;
    case 100: return 63;
    case 101: return 64;
    case 102: return 65;
    default: return 43;
  }
}

LoadedImage load_image(void const* image, ImageTarget const& target) {
  Memory const memory(image);
  auto const magic = memory.get<std::uint32_t>(0);
  if (!magic) return failed(invalid_image, "the image is not there");
  if (*magic == container_magic) return load_container(memory, target);
  if (*magic == 0x464C457F) return load_cubin(memory, 0, target, no_binary_for_gpu);
  bool ended = false;
  std::string const text = memory.text(0, largest_text, ended);
  if (!ended || !is_ptx_text(text)) return failed(invalid_image, "neither a fatbin nor a cubin nor PTX");
  return compile(text, target);
}

}  // namespace simulated
