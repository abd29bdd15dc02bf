// What ELF files tell the loader, and the loader's cache, from bytes that nobody vouches for.
#include <cuenv/diagnosis/library_search.hpp>

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace cuenv::detail;
  ByteReader reader{memory_source(data, size)};
  if (auto const section = read_dynamic_section({reader, 0, size})) {
    if (section->needed.size() > 1024) std::abort();
    for (std::string const& name : section->needed) {
      if (name.empty() || name.size() > size || name.find('\0') != std::string::npos) std::abort();
    }
  }
  std::string_view const cache{reinterpret_cast<char const*>(data), size};
  for (std::uint16_t const machine : {elf_x86_64, elf_aarch64}) {
    auto const found = look_up_cache(cache, "libcuda.so.1", machine);
    if (found && found->path && cache.find(*found->path) == std::string_view::npos) std::abort();
  }
  return 0;
}
