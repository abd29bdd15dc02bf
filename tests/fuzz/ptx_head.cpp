// The head of a PTX text: what is said of a part of it stays true of the whole.
#include <cuenv/detail/ptx.hpp>

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace cuenv;
  std::string_view const text{reinterpret_cast<char const*>(data), size};
  detail::PtxText const whole = detail::read_ptx_head(text, true);
  for (std::size_t part = 0; part <= size && part < 200; part += 3) {
    detail::PtxText const seen = detail::read_ptx_head(text.substr(0, part), false);
    if (seen.head != PtxHead::good) continue;
    if (whole.head != PtxHead::good || whole.target != seen.target || whole.version != seen.version) std::abort();
  }
  return 0;
}
