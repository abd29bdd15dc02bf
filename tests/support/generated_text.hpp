#ifndef CUENV_TESTS_SUPPORT_GENERATED_TEXT_HPP
#define CUENV_TESTS_SUPPORT_GENERATED_TEXT_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cuenv_tests {

/// The same pseudo-random numbers on every machine (xorshift64*).
class Generator {
 public:
  explicit Generator(std::uint64_t seed = 0x9e3779b97f4a7c15U) : state_{seed} {}

  std::uint64_t number() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dU;
  }
  /// From 0 to limit - 1.
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>((number() >> 16) % limit); }

  /// Up to `longest` characters of `alphabet`.
  std::string text(std::string_view alphabet, std::size_t longest) {
    std::string result(below(longest + 1), '\0');
    for (char& c : result) c = alphabet[below(alphabet.size())];
    return result;
  }
  /// Up to `longest` bytes of any value.
  std::string bytes(std::size_t longest) {
    std::string result(below(longest + 1), '\0');
    for (char& c : result) c = static_cast<char>(below(256));
    return result;
  }

 private:
  std::uint64_t state_;
};

}  // namespace cuenv_tests

#endif  // CUENV_TESTS_SUPPORT_GENERATED_TEXT_HPP
