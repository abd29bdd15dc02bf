#include <cuenv/detail/text.hpp>

#include "support/catch.hpp"
#include "support/generated_text.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

using namespace cuenv::detail;

static_assert(sizeof(unsigned long long) == 8, "the comparison below needs 64 bits");

namespace {

/// What the C library makes of a text without NUL.
bool agrees_with_c(std::string const& text) {
  char* end = nullptr;
  unsigned long long const value = std::strtoull(text.c_str(), &end, 10);
  auto const used = static_cast<std::size_t>(end - text.c_str());
  Strtoull const read = strtoull_base10(text);
  return read.value == value && read.used == used;
}

}  // namespace

TEST_CASE("numbers are read like the C library's strtoull at the edges", "[text]") {
  for (char const* text : {"",
                           " ",
                           "+",
                           "-",
                           "+-1",
                           "-+1",
                           "--1",
                           "0",
                           "00",
                           "-0",
                           "1",
                           " 1",
                           "\t\n\v\f\r1",
                           "1 ",
                           "+1",
                           "-1",
                           "1x",
                           "0x10",
                           "1e9",
                           "1.9",
                           "4294967295",
                           "4294967296",
                           "18446744073709551614",
                           "18446744073709551615",
                           "18446744073709551616",
                           "18446744073709551619",
                           "18446744073709551620",
                           "184467440737095516150",
                           "-18446744073709551615",
                           "-18446744073709551616",
                           "99999999999999999999999999",
                           "-99999999999999999999999999",
                           "000000000000000000000000001",
                           "+ 1",
                           "\xa0"
                           "1",
                           "\xc2\xa0"
                           "1",
                           "1\xff"}) {
    INFO(printable(text));
    CHECK(agrees_with_c(text));
  }
}

TEST_CASE("numbers are read like the C library's strtoull in generated texts", "[text]") {
  cuenv_tests::Generator generator;
  for (int i = 0; i < 20000; ++i) {
    std::string text = generator.text("0123456789", 24);
    if (i % 2 == 0) text = generator.text(" \t+-", 2) + text;
    if (i % 3 == 0) text += generator.text(" x.,-+9", 3);
    INFO(text);
    REQUIRE(agrees_with_c(text));
  }
}

TEST_CASE("a NUL ends a number like any other byte", "[text]") {
  CHECK(strtoull_base10(std::string_view{"1\0002", 3}).value == 1);
  CHECK(strtoull_base10(std::string_view{"1\0002", 3}).used == 1);
}

TEST_CASE("a strict decimal is digits alone, within 64 bits and its limit", "[text]") {
  CHECK(parse_decimal("0") == 0U);
  CHECK(parse_decimal("007") == 7U);
  CHECK(parse_decimal("18446744073709551615") == UINT64_MAX);
  CHECK(parse_decimal("32", 32) == 32U);
  CHECK_FALSE(parse_decimal("33", 32));
  for (char const* bad : {"", " 1", "1 ", "+1", "-1", "1x", "0x1", "18446744073709551616", "99999999999999999999"}) {
    INFO(bad);
    CHECK_FALSE(parse_decimal(bad));
  }
}

TEST_CASE("text is cut at separators and trimmed", "[text]") {
  std::string_view rest = "a,,b";
  CHECK(take_until(rest, ',') == "a");
  CHECK(take_until(rest, ',').empty());
  CHECK(take_until(rest, ',') == "b");
  CHECK(rest.empty());
  CHECK(trim(" \t\r\n a b \v\f") == "a b");
  CHECK(trim("   ").empty());
  CHECK(starts_with("GPU-1", "GPU-"));
  CHECK_FALSE(starts_with("GPU", "GPU-"));
  CHECK(ends_with("x.cubin", ".cubin"));
  CHECK_FALSE(ends_with("n", "cubin"));
  CHECK(equal_ignoring_case("Eager", "eAGER"));
  CHECK_FALSE(equal_ignoring_case("\xc4", "\xe4"));  // only ASCII letters have a case
}

TEST_CASE("printable text keeps UTF-8 and shows every other byte", "[text]") {
  struct Row {
    std::string text;
    char const* shown;
  };
  Row const rows[] = {
      {"plain ~", "plain ~"},
      {"a\nb\tc\r", "a\\nb\\tc\\x0d"},
      {std::string("\0\x1b\x7f", 3), "\\x00\\x1b\\x7f"},
      {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
      {"\xff\xfe", "\\xff\\xfe"},
      {"\xc3", "\\xc3"},
      {"\xc3(", "\\xc3("},
      {"\x80", "\\x80"},
      {"\xc0\xaf", "\\xc0\\xaf"},           // overlong
      {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},  // overlong
      {"\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // a surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // beyond U+10FFFF
      {"\xe2\x82", "\\xe2\\x82"},
      {"\xc2\x9b"
       "1m",
       "\\xc2\\x9b"
       "1m"},  // a C1 control: the terminal would obey it
  };
  for (Row const& row : rows) CHECK(printable(row.text) == row.shown);
}

TEST_CASE("printable text of any bytes holds no control character", "[text]") {
  cuenv_tests::Generator generator;
  for (int i = 0; i < 3000; ++i) {
    std::string const shown = printable(generator.bytes(24));
    for (char c : shown) REQUIRE((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
    REQUIRE(printable(shown) == shown);
  }
}

TEST_CASE("the distance between names counts slips, up to a limit", "[text]") {
  CHECK(edit_distance("", "", 3) == 0);
  CHECK(edit_distance("abc", "abc", 0) == 0);
  CHECK(edit_distance("abc", "abd", 3) == 1);
  CHECK(edit_distance("abc", "ab", 3) == 1);
  CHECK(edit_distance("abc", "xabc", 3) == 1);
  CHECK(edit_distance("abc", "acb", 3) == 1);  // neighbours swapped
  CHECK(edit_distance("kitten", "sitting", 9) == 3);
  CHECK(edit_distance("kitten", "sitting", 2) == 3);  // more than the limit
  CHECK(edit_distance("", "abcd", 3) == 4);
  CHECK(edit_distance("", "abc", 3) == 3);
  CHECK(edit_distance("CUDA_VISABLE_DEVICES", "CUDA_VISIBLE_DEVICES", 4) == 1);
  CHECK(edit_distance(std::string(200, 'a'), std::string(200, 'b'), 250) == 200);
  CHECK(edit_distance(std::string(5000, 'a'), std::string(5000, 'a'), 3) == 4);  // no names
}

TEST_CASE("the distance between names is the same both ways", "[text]") {
  cuenv_tests::Generator generator;
  for (int i = 0; i < 2000; ++i) {
    std::string const a = generator.text("AB_", 8);
    std::string const b = generator.text("AB_", 8);
    INFO(a << " " << b);
    std::size_t const distance = edit_distance(a, b, 20);
    REQUIRE(distance == edit_distance(b, a, 20));
    REQUIRE((distance == 0) == (a == b));
  }
}

TEST_CASE("the nearest name is the first of those with the fewest slips", "[text]") {
  auto const nearest = [](std::string_view text, std::size_t limit) {
    cuenv::detail::NearestName name{text, limit};
    for (char const* known : {"explain", "check", "cache", "devices"}) name.consider(known);
    return std::string{name.found()};
  };
  CHECK(nearest("chekc", 1) == "check");
  CHECK(nearest("cacke", 2) == "cache");
  CHECK(nearest("chche", 2) == "cache");   // one slip from it, two from the one before
  CHECK(nearest("cheche", 2) == "check");  // two from both
  CHECK(nearest("check", 0) == "check");
  CHECK(nearest("chek", 0).empty());
  CHECK(nearest("doctor", 2).empty());
}

TEST_CASE("what cannot be seen is shown", "[text]") {
  CHECK(printable("0,\xc2\xa0"
                  "1") == "0,\\xc2\\xa01");  // no-break space
  CHECK(printable("\xef\xbb\xbf"
                  "CUDA") ==
        "\\xef\\xbb\\xbf"
        "CUDA");                                            // byte order mark
  CHECK(printable("1\xe2\x80\x8b") == "1\\xe2\\x80\\x8b");  // zero width
  CHECK(printable("a\xe2\x80\xae"
                  "b") ==
        "a\\xe2\\x80\\xae"
        "b");  // turns the direction
  CHECK(printable("\xe2\x81\xa9") == "\\xe2\\x81\\xa9");
  CHECK(printable("\xe2\x80\x94\xe2\x80\x98") == "\xe2\x80\x94\xe2\x80\x98");  // a dash and a quote are seen
}
