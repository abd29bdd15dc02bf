#include <cuenv/detail/search.hpp>

#include "support/catch.hpp"

#include <string>

using namespace cuenv::detail;

namespace {

std::uint64_t find(std::string const& bytes, std::uint64_t at, Mark mark) {
  ByteReader reader{memory_source(bytes.data(), bytes.size())};
  return find_mark({reader, 0, bytes.size()}, at, mark);
}
std::uint64_t text_begin(std::string const& bytes, std::uint64_t most = 1 << 20) {
  ByteReader reader{memory_source(bytes.data(), bytes.size())};
  return find_text_begin({reader, 0, bytes.size()}, most);
}

}  // namespace

TEST_CASE("marks are found at steps of 8", "[search]") {
  std::string const container{container_mark};
  CHECK(find(std::string(4088, 'x') + container, 0, Mark::container) == 4088);
  CHECK(find(std::string(4096, 'x') + container, 0, Mark::container) == 4096);
  CHECK(find(std::string(12, 'x') + container, 0, Mark::container) == 20);
  CHECK(find(container + container, 8, Mark::container) == 8);
  CHECK(find(container.substr(0, 7), 0, Mark::container) == 7);
  CHECK(find(std::string(8, 'x') + std::string{elf_mark} + "x", 0, Mark::container_or_elf) == 8);
  CHECK(find(std::string(10000, '\0'), 0, Mark::not_zero) == 10000);
  CHECK(find(std::string(10000, '\0') + "x", 0, Mark::not_zero) == 10000);
  CHECK(find("", 0, Mark::not_zero) == 0);
}

TEST_CASE("comments and blanks before a text are skipped, over any length", "[search]") {
  CHECK(text_begin(".version") == 0);
  CHECK(text_begin(" \t\r\n.version") == 4);
  CHECK(text_begin("// comment\n.version") == 11);
  CHECK(text_begin("/* * / **/.version") == 10);
  CHECK(text_begin("/**/ // x\n/***/x") == 15);
  CHECK(text_begin("/x") == 0);
  CHECK(text_begin(std::string(10000, ' ') + "x") == 10000);
  CHECK(text_begin("/*" + std::string(10000, '*') + "/x") == 10003);
  CHECK(text_begin("// never ends") == 13);
  CHECK(text_begin(std::string(10000, ' ') + "x", 5000) == 10001);
}
