#include <cuenv/detail/utf16.hpp>

#include "support/catch.hpp"

#include <string>
#include <string_view>

using namespace cuenv::detail;

namespace {

std::string narrow(std::u16string_view wide) { return to_utf8(wide); }
std::optional<std::u16string> wide(std::string_view text) { return to_utf16<char16_t>(text); }

}  // namespace

TEST_CASE("characters of every length go there and back", "[utf16]") {
  struct Row {
    char const* text;
    std::u16string_view wide;
  };
  Row const rows[] = {{"", u""},
                      {"a\x7f", u"a\x7f"},
                      {"\xc2\x80\xdf\xbf", u"\x80\x7ff"},
                      {"\xe0\xa0\x80\xef\xbf\xbf", u"\x800\xffff"},
                      {"\xed\x9f\xbf\xee\x80\x80", u"\xd7ff\xe000"},
                      {"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", u"\xd800\xdc00\xdbff\xdfff"}};
  for (Row const& row : rows) {
    CAPTURE(row.text);
    CHECK(narrow(row.wide) == row.text);
    CHECK(wide(row.text) == std::u16string{row.wide});
  }
}

TEST_CASE("half of a surrogate pair is not lost", "[utf16]") {
  CHECK(narrow(u"a\xd800z") == "a\xed\xa0\x80z");
  CHECK(wide("a\xed\xa0\x80z") == u"a\xd800z");
  // Every unit before and behind every kind of neighbour.
  for (unsigned unit = 0; unit < 0x10000; unit += unit < 0xd700 || unit > 0xe100 ? 37 : 1) {
    for (char16_t const other : {u'a', u'\xd800', u'\xdbff', u'\xdc00', u'\xdfff', u'\xffff'}) {
      std::u16string const text{other, static_cast<char16_t>(unit), other};
      if (wide(narrow(text)) != text) FAIL(unit);
    }
  }
}

TEST_CASE("what is no UTF-8 is told, and not turned into other characters", "[utf16]") {
  for (char const* text : {"\xff", "\x80", "a\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0", "\xed\xa0z",
                           "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "caf\xe9 "}) {
    CAPTURE(text);
    CHECK_FALSE(wide(text));
  }
}
