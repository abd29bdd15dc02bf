#include <cuenv/verdict.hpp>

#include "support/catch.hpp"

#include <string>
#include <string_view>

using namespace cuenv;

TEST_CASE("a JIT switch is on where its text is the number 1, as the driver reads numbers", "[verdict]") {
  for (std::string_view const text : {"1", "01", " 1", "\t1", "1 ", "+1", "1x", "1.9", "1,0", "4294967297"}) {
    CAPTURE(std::string{text});
    CHECK(jit_switches({text, {}, {}, {}}).force_jit);
    CHECK(jit_switches({{}, {}, {}, text}).disable_jit);
  }
  for (std::string_view const text : {"0", "2", "-1", "true", "yes", "on", "0x1", "", "18446744073709551617"}) {
    CAPTURE(std::string{text});
    CHECK_FALSE(jit_switches({{}, text, {}, {}}).force_jit);
    CHECK_FALSE(jit_switches({{}, {}, text, {}}).disable_jit);
  }
}

TEST_CASE("of two names for a JIT switch the longer one counts", "[verdict]") {
  CHECK_FALSE(jit_switches({"0", "1", {}, {}}).force_jit);
  CHECK(jit_switches({{}, {}, "1", "0"}).disable_jit);
  CHECK_FALSE(jit_switches({}).force_jit);
}

TEST_CASE("only native and JIT code loads", "[verdict]") {
  Verdict verdict;
  CHECK_FALSE(verdict.loads());
  verdict.kind = VerdictKind::jit;
  CHECK(verdict.loads());
  verdict.kind = VerdictKind::unknown;
  CHECK_FALSE(verdict.loads());
}
