#ifndef CUENV_EXAMPLES_CUENV_GPU_CODE_HPP
#define CUENV_EXAMPLES_CUENV_GPU_CODE_HPP

#include "output.hpp"

#include <cuenv/cuenv.hpp>

#include <cstdint>
#include <string>

// What `images` and `check` say alike about files and the modules in them.

namespace tool {

/// The document without line breaks.
std::string one_line(Json const& json);
/// The same without the brace at its end, so that members can follow.
std::string opened(Json const& object);

/// Where a module is: section, member, offset, size, kind, device_link.
Json module_json(cuenv::ImageModule const& module);
/// ".nv_fatbin (member.o) at byte 4096".
std::string place_of(cuenv::ImageModule const& module);

/// "1 module", "2 modules".
std::string counted(std::uint64_t count, std::string const& one, std::string const& many = {});

/// A file that is loaded as one module by its path.
bool is_module(cuenv::FileKind kind);
/// A file whose modules are loaded one by one.
bool is_host_file(cuenv::FileKind kind);
/// "ELF file".
std::string file_line(cuenv::FileKind kind);
/// Why there is no module in it.
std::string nothing_in(cuenv::FileKind kind);

/// A file that cannot be read: `list` is the name of what stays empty.
std::string unreadable_json(std::string const& path, cuenv::FileError const& error, std::string const& list);
std::string unreadable_text(cuenv::FileError const& error);

}  // namespace tool

#endif  // CUENV_EXAMPLES_CUENV_GPU_CODE_HPP
