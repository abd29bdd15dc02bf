// Whatever the bytes, inspecting and judging them ends, reads nothing but them, and says the same whether they are read
// from memory or piecewise from a file.
#include <cuenv/inspect.hpp>
#include <cuenv/judge.hpp>
#include <cuenv/verdict_text.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>

using namespace cuenv;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void require_same(ImageFile const& a, ImageFile const& b) {
  require(a.summary.kind == b.summary.kind && a.summary.damage == b.summary.damage);
  require(a.modules.size() == b.modules.size());
  for (std::size_t i = 0; i < a.modules.size(); ++i) {
    ImageModule const& x = a.modules[i];
    ImageModule const& y = b.modules[i];
    require(x.kind == y.kind && x.damage == y.damage && x.offset == y.offset && x.size == y.size);
    require(x.section == y.section && x.member == y.member && x.device_link == y.device_link);
    require(x.entries.size() == y.entries.size());
    for (std::size_t j = 0; j < x.entries.size(); ++j) {
      ImageEntry const& e = x.entries[j];
      ImageEntry const& f = y.entries[j];
      require(e.kind == f.kind && e.target == f.target && e.inner == f.inner && e.damage == f.damage);
      require(e.head == f.head && e.ptx == f.ptx && e.offset == f.offset && e.stored == f.stored);
    }
  }
}

/// `choice` picks the GPU, the driver and the switches.
void judge_all(ImageFile const& file, std::size_t choice) {
  constexpr std::array<int, 8> gpus{75, 87, 90, 100, 103, 110, 121, 139};
  constexpr std::array<int, 5> drivers{0, 12020, 12080, 13000, 14000};
  LoadConditions conditions{ComputeCapability::from_sm(gpus[choice % 8]), std::nullopt, {}};
  int const driver = drivers[choice / 8 % 5];
  if (driver != 0) conditions.driver = CudaVersion::from_number(driver);
  conditions.switches = {choice / 40 % 2 != 0, choice / 80 % 2 != 0};
  for (ImageModule const& module : file.modules) {
    Verdict const verdict = judge(module, conditions);
    require(verdict.entry == Verdict::no_entry || verdict.entry < module.entries.size());
    require((verdict.kind == VerdictKind::damaged) == (module.damage != Damage::none));
    require(verdict.kind != VerdictKind::damaged || !verdict.code);
  }
  Verdict const whole = judge_as_module(file, conditions);
  require(!to_string(to_diagnostic(whole, conditions, "fuzzed")).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  struct Memory {
    std::uint8_t const* data;
    std::size_t size;
  } const memory{data, size};
  detail::ByteSource const piecewise{
      size, nullptr,
      [](void const* context, std::uint64_t offset, unsigned char* to, std::size_t count) {
        Memory const& bytes = *static_cast<Memory const*>(context);
        require(offset <= bytes.size && count <= bytes.size - offset);
        std::memcpy(to, bytes.data + offset, count);
        return count;
      },
      &memory};
  for (bool const deep : {false, true}) {
    ImageFile const file = inspect_bytes(data, size, {deep, deep});
    for (ImageModule const& module : file.modules) {
      require(module.offset <= size && module.size <= size - module.offset);
      for (ImageEntry const& entry : module.entries) require(entry.offset < size);
    }
    ImageFile other;
    detail::ByteReader reader{piecewise};
    detail::ImageCollector collector{other};
    other.summary = detail::ImageWalk{collector, InspectOptions{deep, deep}}.walk({reader, 0, reader.size()});
    require_same(file, other);
    if (!deep) judge_all(file, size == 0 ? 0 : data[size / 2]);
  }
  return 0;
}
