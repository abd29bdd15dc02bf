#include <cuenv/detail/ptx.hpp>

#include "support/catch.hpp"

#include <string>
#include <string_view>

using namespace cuenv;
using namespace cuenv::detail;

namespace {

PtxText read(std::string_view text) { return read_ptx_head(text, true); }

}  // namespace

TEST_CASE("the head of a PTX text", "[ptx]") {
  PtxText const text = read(".version 8.0\n.target sm_90a\n.address_size 64\n");
  CHECK(text.is_ptx);
  CHECK(text.head == PtxHead::good);
  CHECK(text.version == PtxVersion{8, 0});
  CHECK(text.target == Target{90, 'a'});
}

TEST_CASE("forms that ptxas accepts", "[ptx]") {
  for (std::string_view const text : {
           ".version 8.0 .target sm_90 .address_size 64",
           "\n\n \t\n.version 8.0\r\n.target sm_90\r\n.address_size 64\r\n",
           "// a comment with .version 9.9\n.version 8.0\n.target sm_90\n.address_size 64\n",
           "/* .version 9.9\n */ .version\t8.0 // c\n.target /* sm_120 */ sm_90 // sm_100\n.address_size /**/ 64",
           ".version 8.0\n.target\nsm_90\n.address_size 64\n",
           ".version 8.0\n.target compute_90\n.address_size 64\n",
           ".version 8.0\n.target sm_90, texmode_independent\n.address_size 64\n",
           ".version 8.0\n.target sm_90 , debug\n.address_size 64\n",
           ".version 8.0\n.target sm_80, sm_90\n.address_size 64\n",
           ".version 8.0\n.target sm_90\n.target sm_80\n.address_size 64\n",
           ".version 08.00\n.target sm_90\n.address_size 64\n",
       }) {
    CAPTURE(std::string{text});
    PtxText const head = read(text);
    CHECK(head.head == PtxHead::good);
    CHECK(head.version == PtxVersion{8, 0});
    CHECK(head.target == Target{90, 0});
  }
}

TEST_CASE("texts that are no PTX", "[ptx]") {
  for (std::string_view const text :
       {"", " ", "// only a comment", "/* never closed .version 8.0", ".target sm_90", "\xef\xbb\xbf.version 8.0",
        "version 8.0", ".Version 8.0", ".versions 8.0", "<!DOCTYPE html>", "/ .version 8.0"}) {
    CAPTURE(std::string{text});
    CHECK_FALSE(read(text).is_ptx);
  }
}

TEST_CASE("heads that a compiler refuses", "[ptx]") {
  CHECK(read(".version 9\n.target sm_90").head == PtxHead::bad_version);
  CHECK(read(".version\n8.0\n.target sm_90").head == PtxHead::bad_version);
  CHECK(read(".version /**/ 8.0\n.target sm_90").head == PtxHead::bad_version);
  CHECK(read(".version 99999999999999999999.0\n.target sm_90").head == PtxHead::bad_version);
  CHECK(read(".version 8.0").head == PtxHead::no_target);
  CHECK(read(".version 8.0\n.entry k() {}").head == PtxHead::no_target);
  CHECK(read(".version 8.0\n.target banana\n.address_size 64").head == PtxHead::no_target);
  CHECK(read(".version 8.0\n.target sm_\n.address_size 64").head == PtxHead::no_target);
  CHECK(read(".version 8.0\n.target sm_90").head == PtxHead::bits_32);
  CHECK(read(".version 8.0\n.target sm_90\n.address_size 32").head == PtxHead::bits_32);
  CHECK(read(".version 8.0\n.target sm_90\n.visible .entry k() {}").head == PtxHead::bits_32);
}

TEST_CASE("a zero ends the text", "[ptx]") {
  CHECK(read(std::string(".version 8.0\0.target sm_90", 26)).head == PtxHead::no_target);
  CHECK(read_ptx_head(std::string(".version 8.0\n.target sm_90\n.address_size 64\0??", 46), false).head ==
        PtxHead::good);
}

TEST_CASE("a part of a text is not judged beyond its end", "[ptx]") {
  std::string const text = ".version 8.0 /**/\n.target sm_90, debug\n.address_size 64\n.entry";
  for (std::size_t length = text.find("/**/"); length < text.find("\n.entry"); ++length) {
    CAPTURE(length);
    CHECK(read_ptx_head(std::string_view{text}.substr(0, length), false).head == PtxHead::unfinished);
  }
  CHECK(read_ptx_head(text, false).head == PtxHead::good);
}
