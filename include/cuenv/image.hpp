#ifndef CUENV_IMAGE_HPP
#define CUENV_IMAGE_HPP

#include <cuenv/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

CUENV_NAMESPACE_BEGIN

/// What one piece of GPU code is: SASS that runs as it is, PTX that the driver compiles, link-time IR that no driver
/// loads by itself, or something that cuenv does not know.
enum class ImageKind : std::uint8_t { unknown, cubin, ptx, lto_ir };

/// How a piece of GPU code is packed.
enum class Compression : std::uint8_t { none, lz4, zstd };

/// What GPU code was built for: sm_90, sm_90a (this GPU only), sm_100f (its family). `sm` 0 stands for "not known".
struct Target {
  int sm = 0;  ///< 90 in sm_90; 0: not known
  /// 'a', 'f', or 0 for none.
  char suffix = 0;
};

[[nodiscard]] constexpr bool operator==(Target a, Target b) noexcept { return a.sm == b.sm && a.suffix == b.suffix; }
[[nodiscard]] constexpr bool operator!=(Target a, Target b) noexcept { return !(a == b); }

/// The version in a PTX text's first line: 9.0 came with CUDA 13.0.
struct PtxVersion {
  int major_number = 0;  ///< 9 of 9.0; 0.0: not known
  int minor_number = 0;  ///< 0 of 9.0
};

[[nodiscard]] constexpr bool operator==(PtxVersion a, PtxVersion b) noexcept {
  return a.major_number == b.major_number && a.minor_number == b.minor_number;
}
[[nodiscard]] constexpr bool operator!=(PtxVersion a, PtxVersion b) noexcept { return !(a == b); }
[[nodiscard]] constexpr bool operator<(PtxVersion a, PtxVersion b) noexcept {
  return a.major_number != b.major_number ? a.major_number < b.major_number : a.minor_number < b.minor_number;
}

/// What is wrong with bytes that should be GPU code. Such bytes must not reach a driver: some made driver 580 hang, and
/// some made it crash (measured).
enum class Damage : std::uint8_t {
  none,
  cut,        ///< it reaches past the end of what holds it
  header,     ///< sizes or marks in a header that cannot be
  payload,    ///< the code does not begin like what its header says it is
  too_many,   ///< more parts than any real file has
  unreadable  ///< the file could not be read there, or it shrank meanwhile
};

/// How far the head of a PTX text (its directives up to .address_size) could be read.
enum class PtxHead : std::uint8_t {
  unseen,       ///< not looked at: packed with zstd, or no PTX
  good,         ///< version and target read, 64-bit addresses
  unfinished,   ///< not all of it lies within the bytes that are looked at
  bad_version,  ///< no readable .version
  no_target,    ///< no .target, or none that can be read
  bits_32       ///< 32-bit addresses: stated, or the default that counts without .address_size
};

/// One piece of GPU code in a module.
struct ImageEntry {
  ImageKind kind = ImageKind::unknown;          ///< unknown: of a kind that came later than this cuenv
  Compression compression = Compression::none;  ///< of the code; headers are always plain
  /// Built with device debug information (-G).
  bool debug = false;
  Damage damage = Damage::none;    ///< of this entry alone
  PtxHead head = PtxHead::unseen;  ///< for PTX; unseen for the rest
  /// For a cubin: the ABI version of its ELF form, 7 up to CUDA 12.9, 8 from CUDA 13.0 on and for newer GPUs.
  std::uint8_t cubin_abi = 0;
  /// What the entry header says; this is what the driver chooses by.
  Target target;
  /// What the code itself says, as far as it was looked at; `sm` 0 where it was not.
  Target inner;
  /// For PTX: the version in its text or, where that is packed with zstd, the one in the entry header.
  PtxVersion ptx;
  /// Place of the entry in the file, in bytes.
  std::uint64_t offset = 0;
  /// Bytes in the file, without the header.
  std::uint64_t stored = 0;
  /// Bytes when unpacked.
  std::uint64_t size = 0;
};

/// What a module is: the unit that the driver loads, and picks one entry of.
enum class ModuleKind : std::uint8_t { unknown, fatbin, cubin, ptx };

/// One module of a file.
struct ImageModule {
  ModuleKind kind = ModuleKind::unknown;  ///< unknown: a container that came later than this cuenv
  /// What nvcc's device-link step adds to every program it links: it need not serve any GPU.
  bool device_link = false;
  Damage damage = Damage::none;  ///< of the module around its entries
  /// The section that holds it, such as ".nv_fatbin"; empty where the file is the module, or a search found it.
  std::string section;
  /// The member of an archive that holds it; empty outside archives.
  std::string member;
  /// Place in the file, in bytes.
  std::uint64_t offset = 0;
  /// Bytes it takes, as far as they are there.
  std::uint64_t size = 0;
  std::vector<ImageEntry> entries;  ///< in the order of the file; empty while a visit is under way
};

/// What a file is.
enum class FileKind : std::uint8_t { empty, foreign, fatbin, cubin, ptx, elf, pe, archive, thin_archive };

/// What a file is and how that went, without the modules.
struct FileSummary {
  FileKind kind = FileKind::foreign;  ///< by its first bytes, never by its name
  /// Of the file around the modules, such as section headers that lie.
  Damage damage = Damage::none;
  /// In bytes.
  std::uint64_t size = 0;
};

/// A file and all GPU code that was found in it.
struct ImageFile {
  FileSummary summary;               ///< what the file is
  std::vector<ImageModule> modules;  ///< in the order in which they are found
};

/// How to inspect.
struct InspectOptions {
  /// Search the whole file for containers and cubins that stand outside the usual sections; some libraries keep code
  /// for their own use there. Reads everything that the sections do not hold.
  bool deep = false;
  /// Go through all of the code, not only its first bytes, for what can be wrong with it without unpacking it. This is
  /// for what is about to be loaded: a driver that is given a broken LZ4 block can crash (measured, 580).
  bool thorough = false;
};

/// "9.0", as in the .version of a PTX text.
[[nodiscard]] inline std::string to_string(PtxVersion version) {
  return std::to_string(version.major_number) + "." + std::to_string(version.minor_number);
}

/// "sm_90a" for a cubin, "compute_90a" for PTX, "lto_90" for link-time IR, as nvcc's code= spells it.
[[nodiscard]] inline std::string to_string(ImageKind kind, Target target) {
  std::string text = kind == ImageKind::ptx ? "compute_" : kind == ImageKind::lto_ir ? "lto_" : "sm_";
  text += std::to_string(target.sm);
  if (target.suffix != 0) text += target.suffix;
  return text;
}

/// The enumerator's name: "cubin".
[[nodiscard]] constexpr std::string_view to_string(ImageKind kind) noexcept {
  switch (kind) {
    case ImageKind::cubin: return "cubin";
    case ImageKind::ptx: return "ptx";
    case ImageKind::lto_ir: return "lto_ir";
    case ImageKind::unknown: break;
  }
  return "unknown";
}

/// The enumerator's name: "zstd".
[[nodiscard]] constexpr std::string_view to_string(Compression compression) noexcept {
  switch (compression) {
    case Compression::lz4: return "lz4";
    case Compression::zstd: return "zstd";
    case Compression::none: break;
  }
  return "none";
}

/// The enumerator's name: "fatbin".
[[nodiscard]] constexpr std::string_view to_string(ModuleKind kind) noexcept {
  switch (kind) {
    case ModuleKind::fatbin: return "fatbin";
    case ModuleKind::cubin: return "cubin";
    case ModuleKind::ptx: return "ptx";
    case ModuleKind::unknown: break;
  }
  return "unknown";
}

/// The enumerator's name, with a blank in "thin archive".
[[nodiscard]] constexpr std::string_view to_string(FileKind kind) noexcept {
  switch (kind) {
    case FileKind::empty: return "empty";
    case FileKind::fatbin: return "fatbin";
    case FileKind::cubin: return "cubin";
    case FileKind::ptx: return "ptx";
    case FileKind::elf: return "elf";
    case FileKind::pe: return "pe";
    case FileKind::archive: return "archive";
    case FileKind::thin_archive: return "thin archive";
    case FileKind::foreign: break;
  }
  return "foreign";
}

/// What is wrong, as a sentence without its full stop.
[[nodiscard]] constexpr std::string_view to_string(Damage damage) noexcept {
  switch (damage) {
    case Damage::none: return "nothing is wrong";
    case Damage::cut: return "it reaches past the end of what holds it: the file was cut, or its sizes are wrong";
    case Damage::header: return "its headers cannot be right";
    case Damage::payload: return "its code does not begin like what its header says it is";
    case Damage::too_many: return "it has more parts than any real file";
    case Damage::unreadable: break;
  }
  return "it could not be read, or changed while it was read";
}

CUENV_NAMESPACE_END

#endif  // CUENV_IMAGE_HPP
