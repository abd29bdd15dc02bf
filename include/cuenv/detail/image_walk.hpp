#ifndef CUENV_DETAIL_IMAGE_WALK_HPP
#define CUENV_DETAIL_IMAGE_WALK_HPP

#include <cuenv/detail/archive.hpp>
#include <cuenv/detail/bytes.hpp>
#include <cuenv/detail/elf.hpp>
#include <cuenv/detail/fatbin.hpp>
#include <cuenv/detail/host_code.hpp>
#include <cuenv/detail/pe.hpp>
#include <cuenv/detail/search.hpp>
#include <cuenv/image.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

CUENV_NAMESPACE_BEGIN
namespace detail {

/// Walks through a file and tells a visitor of every module and entry. Every byte range is walked once, so the time is
/// at most proportional to the file, and the memory is that of this object.
template <class Visitor>
class ImageWalk {
 public:
  ImageWalk(Visitor& visitor, InspectOptions options) noexcept : visitor_{visitor}, options_{options} {}

  FileSummary walk(ByteRange file) {
    FileSummary summary;
    summary.size = file.size();
    Bytes const first = file.look(0, ElfHeader::size);
    if (file.size() == 0) {
      summary.kind = FileKind::empty;
    } else if (first.size() == 0) {
      summary.damage = Damage::unreadable;
    } else if (first.starts_with(archive_magic)) {
      summary.kind = FileKind::archive;
      if (!member_.empty()) return summary;  // an archive in an archive is nothing a linker would take
      summary.damage = visit_archive_members(file, [&](std::string const& name, ByteRange member) {
        member_ = name.empty() ? "?" : name;
        Damage const damage = walk(member).damage;
        if (summary.damage == Damage::none) summary.damage = damage;
      });
      member_.clear();
    } else if (first.starts_with(thin_archive_magic)) {
      summary.kind = FileKind::thin_archive;
    } else {
      walk_plain(file, first, summary);
    }
    return summary;
  }

 private:
  void walk_plain(ByteRange file, Bytes first, FileSummary& summary) {
    if (read_fatbin_header(first).is_fatbin) {
      summary.kind = FileKind::fatbin;
      walk_containers(file, {{}, 0, file.size(), 0}, nullptr);
    } else if (ElfHeader const elf = read_elf_header(first); elf.is_elf && elf.machine == ElfHeader::machine_cuda) {
      summary.kind = FileKind::cubin;
      tell_cubin(file, 0, read_lone_cubin(file));
    } else if (elf.is_elf || first.starts_with("MZ")) {
      summary.kind = elf.is_elf ? FileKind::elf : FileKind::pe;
      HostCode const code = elf.is_elf ? find_elf_code(file) : find_pe_code(file);
      summary.damage = code.damage;
      walk_host(file, code);
    } else if (!walk_ptx(file, summary) && options_.deep) {
      search(file, 0, file.size());
    }
  }

  void walk_host(ByteRange file, HostCode const& code) {
    for (std::size_t i = 0; i < code.count; ++i) {
      CodeRange const& range = code.ranges[i];
      if (range.section.empty()) {
        if (!options_.deep) search(file, range.offset, range.offset + range.size);
      } else {
        walk_containers(file, range, &code.links);
      }
    }
    if (!options_.deep) return;
    // All that lies outside the sections that have been walked.
    for (std::uint64_t at = 0; at < file.size();) {
      std::uint64_t end = file.size();
      bool inside = false;
      for (std::size_t i = 0; i < code.count && !inside; ++i) {
        CodeRange const& range = code.ranges[i];
        if (range.section.empty()) continue;
        if (at >= range.offset && at - range.offset < range.size) {
          inside = true;
          end = range.offset + range.size;
        } else if (range.offset > at && range.offset < end) {
          end = range.offset;
        }
      }
      if (!inside) search(file, at, end);
      at = end;
    }
  }

  /// A PTX file is known by its first directive.
  bool walk_ptx(ByteRange file, FileSummary& summary) {
    std::uint64_t const begin = find_text_begin(file);
    Bytes const head = file.look(begin, ByteReader::window_size);
    PtxText const text = read_ptx_head(head.text(), head.size() == file.size() - begin);
    if (!text.is_ptx) return false;
    summary.kind = FileKind::ptx;
    ImageEntry entry;
    entry.kind = ImageKind::ptx;
    entry.head = text.head;
    entry.ptx = text.version;
    entry.target = entry.inner = text.target;
    entry.offset = file.begin();
    entry.stored = entry.size = file.size();
    tell_single(ModuleKind::ptx, file.begin(), file.size(), entry, Damage::none);
    return true;
  }

  void tell_cubin(ByteRange file, std::uint64_t at, LoneCubin const& cubin) {
    ImageEntry entry;
    entry.kind = ImageKind::cubin;
    entry.target = entry.inner = cubin.target;
    entry.cubin_abi = cubin.abi;
    entry.damage = cubin.damage;
    entry.offset = file.begin() + at;
    entry.stored = entry.size = cubin.size;
    tell_single(ModuleKind::cubin, entry.offset, cubin.size, entry, cubin.damage);
  }

  void tell_single(ModuleKind kind, std::uint64_t offset, std::uint64_t size, ImageEntry const& entry, Damage damage) {
    begin_module(kind, {}, offset, size, false);
    visitor_.entry(entry);
    visitor_.end_module(damage);
  }

  void begin_module(ModuleKind kind, std::string_view section, std::uint64_t offset, std::uint64_t size,
                    bool device_link) {
    module_.kind = kind;
    module_.section = section;
    module_.member = member_;
    module_.offset = offset;
    module_.size = size;
    module_.device_link = device_link;
    visitor_.begin_module(module_);
  }

  /// Walks a section, or a file, of containers with zero bytes between them. What is something else is told as a module
  /// of unknown kind, and the walk goes on at the next container.
  void walk_containers(ByteRange file, CodeRange const& where, DeviceLinks const* links) {
    ByteRange const range = file.part(where.offset, where.size);
    std::uint64_t at = 0;
    while ((at = find_mark(range, at, Mark::not_zero)) < range.size()) {
      if (read_fatbin_header(range.look(at, FatbinHeader::size)).is_fatbin) {
        bool const device_link = links != nullptr && links->contains(where.address + at);
        Step const step = walk_container(range, at, where.section, device_link);
        at = step.good ? step.next : find_mark(range, step.next, Mark::container);
      } else {
        std::uint64_t const next = find_mark(range, at + 8, Mark::container);
        begin_module(ModuleKind::unknown, where.section, range.begin() + at, next - at, false);
        visitor_.end_module(Damage::none);
        at = next;
      }
    }
  }

  /// Looks for containers, and for bare cubins when searching deep. Only what holds together is taken.
  void search(ByteRange file, std::uint64_t begin, std::uint64_t end) {
    ByteRange const range = file.part(begin, end - begin);
    Mark const mark = options_.deep ? Mark::container_or_elf : Mark::container;
    std::uint64_t at = 0;
    while ((at = find_mark(range, at, mark)) < range.size()) {
      if (std::uint64_t const size = cubin_at(range, at); size != 0) {
        at = (at + size + 7) & ~std::uint64_t{7};
      } else if (is_container(range, at)) {
        at = walk_container(range, at, {}, false).next;
      } else {
        at += 8;
      }
    }
  }

  /// Whether the container at `at`, and its first entry, can be one.
  [[nodiscard]] static bool is_container(ByteRange range, std::uint64_t at) {
    FatbinHeader const header = read_fatbin_header(range.look(at, FatbinHeader::size));
    at += FatbinHeader::size;
    if (!header.is_fatbin || !range.holds(at, header.body_size)) return false;
    Bytes const bytes = range.look(at, FatbinEntry::smallest_header);
    FatbinEntry const entry = read_fatbin_entry(bytes);
    return bytes.size() == FatbinEntry::smallest_header && entry.image.damage == Damage::none &&
           entry.header_size <= header.body_size && entry.image.stored <= header.body_size - entry.header_size;
  }

  /// Tells of the cubin at `at`, where there is one that is whole, and returns its size; otherwise 0.
  std::uint64_t cubin_at(ByteRange range, std::uint64_t at) {
    ElfHeader const elf = read_elf_header(range.look(at, ElfHeader::size));
    if (!elf.is_elf || elf.machine != ElfHeader::machine_cuda || elf.section_header_count > section_budget_) return 0;
    LoneCubin const cubin = read_lone_cubin(range.part(at, range.size() - at));
    if (cubin.damage != Damage::none) {
      section_budget_ -= elf.section_header_count;
      return 0;
    }
    tell_cubin(range, at, cubin);
    return cubin.size;
  }

  /// Where a walk goes on; `good` unless it stopped where things ceased to make sense.
  struct Step {
    std::uint64_t next;
    bool good;
  };

  /// Tells of the container at `at`.
  Step walk_container(ByteRange range, std::uint64_t at, std::string_view section, bool device_link) {
    Bytes const bytes = range.look(at, FatbinHeader::size);
    FatbinHeader const header = read_fatbin_header(bytes);
    std::uint64_t const room = range.size() - at;
    bool const whole = bytes.size() == FatbinHeader::size && header.header_size <= room &&
                       header.body_size <= room - header.header_size;
    std::uint64_t const size = whole ? header.header_size + header.body_size : room;
    bool const known = bytes.size() < FatbinHeader::size || header.version == 1;
    begin_module(known ? ModuleKind::fatbin : ModuleKind::unknown, section, range.begin() + at, size, device_link);
    if (!known) {
      visitor_.end_module(Damage::none);
      return {at + FatbinHeader::size, false};
    }
    Damage damage = !whole ? Damage::cut : header.header_size < FatbinHeader::size ? Damage::header : Damage::none;
    std::size_t const first = header.header_size < FatbinHeader::size ? FatbinHeader::size : header.header_size;
    std::uint64_t const done = walk_entries(range.part(at, size), first, damage);
    visitor_.end_module(damage);
    return {(at + done + 7) & ~std::uint64_t{7}, whole && done == size};
  }

  /// Tells of the entries from `at` on, keeps the first damage, and returns where the entries end or stop to make
  /// sense.
  std::uint64_t walk_entries(ByteRange container, std::uint64_t at, Damage& damage) {
    auto const keep = [&](Damage found) { damage = damage == Damage::none ? found : damage; };
    while (at < container.size()) {
      std::uint64_t const left = container.size() - at;
      Bytes const header = container.look(at, FatbinEntry::smallest_header);
      if (header.size() < FatbinEntry::smallest_header) {
        keep(left < FatbinEntry::smallest_header ? Damage::header : Damage::unreadable);
        return at;
      }
      FatbinEntry entry = read_fatbin_entry(header);
      ImageEntry& image = entry.image;
      image.offset = container.begin() + at;
      bool const fits = entry.header_size >= FatbinEntry::smallest_header && entry.header_size <= left &&
                        image.stored <= left - entry.header_size;
      if (!fits) {
        keep(Damage::header);
        image.damage = damage;
      } else if (image.damage == Damage::none) {
        ByteRange const code = container.part(at + entry.header_size, image.stored);
        look_into_entry(entry, code);
        if (options_.thorough && image.damage == Damage::none) look_through_entry(entry, code);
      }
      keep(image.damage);
      visitor_.entry(std::as_const(image));
      if (!fits) return at;
      at += entry.header_size + image.stored;
    }
    return container.size();
  }

  Visitor& visitor_;
  InspectOptions options_;
  std::string member_;
  ImageModule module_;
  /// Section headers of what only looks like a cubin that a search may read before it gives up on cubins.
  std::uint32_t section_budget_ = 1U << 20;
};

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_IMAGE_WALK_HPP
