// The first bytes of packed code: what LZ4 unpacks from a part is the beginning of what it unpacks from all.
#include <cuenv/detail/packed.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace cuenv::detail;
  Bytes const bytes{data, size};
  for (std::uint64_t const unpacked : {std::uint64_t{0}, std::uint64_t{284}, std::uint64_t{1} << 40}) {
    (void)may_be_zstd_frame(bytes, size, unpacked);
    (void)may_be_zstd_frame(bytes, UINT64_MAX, unpacked);
  }
  Lz4Head const whole = lz4_head(bytes, size);
  ByteReader reader{memory_source(data, size)};
  ByteRange const range{reader, 0, size};
  for (std::uint64_t const unpacked : {std::uint64_t{284}, std::uint64_t{whole.size}, std::uint64_t{1} << 40}) {
    if (is_lz4_block(range, unpacked) && (!whole.good || (whole.whole && whole.size != unpacked))) std::abort();
    if (is_zstd_frame(range, unpacked) && !may_be_zstd_frame({data, size < 24 ? size : 24}, size, unpacked))
      std::abort();
  }
  for (std::size_t part = 0; part <= size && part < 600; part += 1 + part / 16) {
    Lz4Head const seen = lz4_head({data, part}, size);
    if (!seen.good) {
      if (whole.good) std::abort();
      continue;
    }
    if (seen.size > whole.size || std::memcmp(seen.bytes.data(), whole.bytes.data(), seen.size) != 0) std::abort();
  }
  return 0;
}
