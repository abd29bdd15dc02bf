#ifndef CUENV_INSPECT_HPP
#define CUENV_INSPECT_HPP

#include <cuenv/detail/bytes.hpp>
#include <cuenv/detail/file.hpp>
#include <cuenv/detail/image_walk.hpp>
#include <cuenv/image.hpp>

#include <cstddef>
#include <string>
#include <utility>

CUENV_NAMESPACE_BEGIN

/// Tells `visitor` of every module in a file, in memory that does not grow with the file:
///
///     struct Visitor {
///       void begin_module(cuenv::ImageModule const& module);  // its entries and its damage are not known yet
///       void entry(cuenv::ImageEntry const& entry);           // of the module that began last
///       void end_module(cuenv::Damage damage);                // of that module
///     };
///
/// Only headers are read, and the first bytes of the code, unless the options ask for more. Whatever is in the file,
/// however wrong, the visit ends and reads nothing but the file. Throws FileError where `path` is no regular file that
/// can be read, also where the disk fails on the way, and what the visitor throws. Safe to call from several threads.
template <class Visitor>
FileSummary visit_images(std::string const& path, Visitor&& visitor, InspectOptions options = {}) {
  detail::File const file{path};
  detail::ByteReader reader{file.source()};
  return detail::ImageWalk{visitor, options}.walk({reader, 0, reader.size()});
}

/// The same for a file's bytes in memory: `data` must hold `size` bytes until the visit ends. Throws only what the
/// visitor throws.
template <class Visitor>
FileSummary visit_image_bytes(void const* data, std::size_t size, Visitor&& visitor, InspectOptions options = {}) {
  detail::ByteReader reader{detail::memory_source(data, size)};
  return detail::ImageWalk{visitor, options}.walk({reader, 0, reader.size()});
}

namespace detail {

/// Collects what a visit tells.
struct ImageCollector {
  ImageFile& file;

  void begin_module(ImageModule const& module) { file.modules.push_back(module); }
  void entry(ImageEntry const& entry) { file.modules.back().entries.push_back(entry); }
  void end_module(Damage damage) { file.modules.back().damage = damage; }
};

}  // namespace detail

/// All GPU code in a file: a fatbin, cubin or PTX file, or a program, library, object or archive that holds some.
/// Throws FileError where `path` is no regular file that can be read; what is in it never makes this throw.
/// Thread-safe.
[[nodiscard]] inline ImageFile inspect(std::string const& path, InspectOptions options = {}) {
  ImageFile file;
  file.summary = visit_images(path, detail::ImageCollector{file}, options);
  return file;
}

/// All GPU code in a file's bytes, which are not needed afterwards. Nothing is thrown but bad_alloc.
[[nodiscard]] inline ImageFile inspect_bytes(void const* data, std::size_t size, InspectOptions options = {}) {
  ImageFile file;
  file.summary = visit_image_bytes(data, size, detail::ImageCollector{file}, options);
  return file;
}

CUENV_NAMESPACE_END

#endif  // CUENV_INSPECT_HPP
