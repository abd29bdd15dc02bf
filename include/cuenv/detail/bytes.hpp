#ifndef CUENV_DETAIL_BYTES_HPP
#define CUENV_DETAIL_BYTES_HPP

#include <cuenv/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// The one place that reads bytes nobody vouches for. Nothing here can be made to read outside what it was given, and
// no sum of an offset and a size is ever formed before it is known to fit.

CUENV_NAMESPACE_BEGIN
namespace detail {

/// A few bytes in memory, read little endian. What lies outside reads as zero, so callers check sizes, not pointers.
class Bytes {
 public:
  constexpr Bytes() noexcept = default;
  constexpr Bytes(unsigned char const* data, std::size_t size) noexcept : data_{data}, size_{size} {}

  [[nodiscard]] constexpr unsigned char const* data() const noexcept { return data_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr unsigned char u8(std::size_t at) const noexcept { return at < size_ ? data_[at] : 0; }
  [[nodiscard]] constexpr std::uint16_t u16(std::size_t at) const noexcept {
    return static_cast<std::uint16_t>(little_endian(at, 2));
  }
  [[nodiscard]] constexpr std::uint32_t u32(std::size_t at) const noexcept {
    return static_cast<std::uint32_t>(little_endian(at, 4));
  }
  [[nodiscard]] constexpr std::uint64_t u64(std::size_t at) const noexcept { return little_endian(at, 8); }

  [[nodiscard]] std::string_view text() const noexcept { return {reinterpret_cast<char const*>(data_), size_}; }
  [[nodiscard]] bool starts_with(std::string_view magic) const noexcept {
    return text().substr(0, magic.size()) == magic;
  }

 private:
  [[nodiscard]] constexpr std::uint64_t little_endian(std::size_t at, std::size_t width) const noexcept {
    if (at > size_ || width > size_ - at) return 0;
    std::uint64_t value = 0;
    for (std::size_t i = width; i > 0; --i) value = (value << 8) | data_[at + i - 1];
    return value;
  }

  unsigned char const* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Where bytes come from: memory (`data`), or a function that copies them out of something that may fail, or shrink.
struct ByteSource {
  /// Copies up to `count` bytes at `offset` and says how many; fewer than asked for means that there are no more. May
  /// throw, which ends whatever reads from it.
  using Read = std::size_t (*)(void const* context, std::uint64_t offset, unsigned char* to, std::size_t count);

  std::uint64_t size = 0;
  unsigned char const* data = nullptr;
  Read read = nullptr;
  void const* context = nullptr;
};

/// Looks at a source through four windows of 4 KiB, whatever its size. Not for use by two threads at once.
class ByteReader {
 public:
  /// The most bytes that one look can ask for.
  static constexpr std::size_t window_size = 4096;

  explicit ByteReader(ByteSource source) noexcept : source_{source} {}
  ByteReader(ByteReader const&) = delete;
  ByteReader& operator=(ByteReader const&) = delete;

  [[nodiscard]] std::uint64_t size() const noexcept { return source_.size; }

  /// Up to `count` bytes at `offset`; fewer where the source ends. The bytes stay valid until three more looks have
  /// been taken. Throws what the source throws.
  [[nodiscard]] Bytes look(std::uint64_t offset, std::size_t count) {
    if (offset >= source_.size) return {};
    if (count > window_size) count = window_size;
    if (count > source_.size - offset) count = static_cast<std::size_t>(source_.size - offset);
    if (source_.data != nullptr) return {source_.data + offset, count};
    for (Window const& window : windows_) {
      if (offset >= window.begin && offset - window.begin < window.length &&
          count <= window.length - static_cast<std::size_t>(offset - window.begin)) {
        return {window.bytes.data() + (offset - window.begin), count};
      }
    }
    // Headers that lie close to each other come with one read; of those far apart no more is read than is looked at.
    bool const close = offset >= last_read_ && offset - last_read_ < window_size;
    last_read_ = offset;
    std::size_t wanted = close ? window_size : alone_size;
    if (wanted < count) wanted = count;
    if (wanted > source_.size - offset) wanted = static_cast<std::size_t>(source_.size - offset);
    Window& window = windows_[next_];
    next_ = (next_ + 1) % windows_.size();
    window.begin = offset;
    window.length = 0;  // until the source has given some
    window.length = source_.read(source_.context, offset, window.bytes.data(), wanted);
    return {window.bytes.data(), count < window.length ? count : window.length};
  }

 private:
  struct Window {
    std::uint64_t begin = 0;
    std::size_t length = 0;
    std::array<unsigned char, window_size> bytes;  // filled by read, never looked at beyond `length`
  };

  /// An entry's header and the start of its code.
  static constexpr std::size_t alone_size = 256;

  ByteSource source_;
  std::array<Window, 4> windows_;
  std::uint64_t last_read_ = 0;
  std::size_t next_ = 0;
};

/// A part of what a reader sees; offsets count from its begin, and nothing outside it can be seen.
class ByteRange {
 public:
  ByteRange(ByteReader& reader, std::uint64_t begin, std::uint64_t size) noexcept
      : reader_{&reader}, begin_{begin}, size_{size} {}

  /// Place of this range in the whole source.
  [[nodiscard]] std::uint64_t begin() const noexcept { return begin_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t count) const noexcept {
    return offset <= size_ && count <= size_ - offset;
  }
  [[nodiscard]] Bytes look(std::uint64_t offset, std::size_t count) const {
    if (offset >= size_) return {};
    return reader_->look(begin_ + offset, count < size_ - offset ? count : static_cast<std::size_t>(size_ - offset));
  }
  /// The part at `offset`, cut where this range ends.
  [[nodiscard]] ByteRange part(std::uint64_t offset, std::uint64_t count) const noexcept {
    if (offset > size_) offset = size_;
    return {*reader_, begin_ + offset, count < size_ - offset ? count : size_ - offset};
  }

 private:
  ByteReader* reader_;
  std::uint64_t begin_;
  std::uint64_t size_;
};

/// The source of bytes that are in memory.
[[nodiscard]] inline ByteSource memory_source(void const* data, std::size_t size) noexcept {
  static constexpr unsigned char none = 0;
  return {size, size == 0 ? &none : static_cast<unsigned char const*>(data), nullptr, nullptr};
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_BYTES_HPP
