#include <cuenv/environment.hpp>

#include "support/catch.hpp"
#include "support/described_environment.hpp"

#ifdef _WIN32
#include <windows.h>
#endif

#include <cerrno>
#include <cstdlib>
#include <new>
#include <string>

using cuenv::Assignment;
using cuenv_tests::DescribedEnvironment;

TEST_CASE("assignments are applied in order, and undone to what was", "[environment]") {
  DescribedEnvironment const environment{{{"A", "old"}, {"B", ""}, {"C", "stays"}}};
  auto const undo =
      cuenv::apply_assignments(environment, {{"A", "new"}, {"B", std::nullopt}, {"D", "x"}, {"A", "newer"}});
  CHECK(environment.variables == DescribedEnvironment::Map{{"A", "newer"}, {"C", "stays"}, {"D", "x"}});
  for (Assignment const& assignment : undo) CHECK(environment.set(assignment) == 0);
  CHECK(environment.variables == DescribedEnvironment::Map{{"A", "old"}, {"B", ""}, {"C", "stays"}});
}

TEST_CASE("when one assignment fails nothing has changed, and unset stays unset", "[environment]") {
  DescribedEnvironment::Map const before{{"A", "old"}, {"B", ""}};
  DescribedEnvironment environment{before};
  environment.refused = "F";
  for (auto const& list : {std::vector<Assignment>{{"A", "new"}, {"N", "x"}, {"B", std::nullopt}, {"F", "y"}},
                           std::vector<Assignment>{{"F", std::nullopt}, {"A", "new"}}}) {
    try {
      (void)cuenv::apply_assignments(environment, list);
      FAIL("nothing was thrown");
    } catch (cuenv::EnvironmentError const& error) {
      REQUIRE(error.diagnostics().size() == 1);
      CHECK(error.diagnostics()[0].subject == "F");
      CHECK(error.diagnostics()[0].code == "environment.not_set");
    }
    CHECK(environment.variables == before);
    CHECK_FALSE(environment.get("N"));
  }
}

TEST_CASE("nothing to apply leaves nothing to undo", "[environment]") {
  DescribedEnvironment const environment{{{"A", "old"}}};
  CHECK(cuenv::apply_assignments(environment, {}).empty());
  CHECK(environment.variables.size() == 1);
}

TEST_CASE("the process's environment is changed and put back", "[environment]") {
  std::string const name = "CUENV_TEST_VARIABLE";
  cuenv::Environment const& environment = cuenv::process_environment;
#ifdef _WIN32
  std::string const text = "a=\xc3\xa9 \xf0\x9f\x98\x80 \xed\xa0\x80";  // a character of each kind, and half a pair
#else
  std::string const text = "a=\xff b";
#endif
  REQUIRE_FALSE(environment.get(name));
  auto const undo = cuenv::apply_assignments(environment, {{name, text}});
  CHECK(environment.get(name) == text);
  bool listed = false;
  for (Assignment const& variable : environment.all()) listed = listed || variable == Assignment{name, text};
  CHECK(listed);
  for (Assignment const& assignment : undo) CHECK(environment.set(assignment) == 0);
  CHECK_FALSE(environment.get(name));
}

TEST_CASE("the process's environment refuses what it cannot hold", "[environment]") {
  Assignment const bad[] = {{"CUENV_TEST=X", "1"},
                            {"", "1"},
                            {std::string("CUENV_TEST\0X", 12), "1"},
                            {"CUENV_TEST_VARIABLE", std::string("a\0b", 3)}};
  for (Assignment const& assignment : bad) {
    CHECK(cuenv::process_environment.set(assignment) == EINVAL);
    CHECK_THROWS_AS(cuenv::apply_assignments(cuenv::process_environment, {{"CUENV_TEST_VARIABLE", "1"}, assignment}),
                    cuenv::EnvironmentError);
    CHECK_FALSE(cuenv::process_environment.get("CUENV_TEST_VARIABLE"));
  }
}

TEST_CASE("a name with NUL is no variable, and no other one", "[environment]") {
  cuenv::ProcessEnvironment const environment;
  REQUIRE(environment.get("PATH"));
  CHECK_FALSE(environment.get(std::string("PATH\0X", 6)));
}

#ifdef _WIN32

TEST_CASE("a change reaches the process and the C runtime", "[environment]") {
  char const* const name = "CUENV_TEST_VARIABLE";
  auto const in_process = [&] {
    char text[16] = "";
    return std::string{text, ::GetEnvironmentVariableA(name, text, sizeof text)};
  };
  auto const& environment = cuenv::process_environment;
  CHECK(environment.set({name, "one"}) == 0);
  CHECK(in_process() == "one");
  CHECK(std::getenv(name) == std::string{"one"});
  CHECK(environment.get("cuenv_test_Variable") == "one");  // the case of a name does not count
  // The C runtime has no empty values.
  CHECK(environment.set({name, ""}) == 0);
  CHECK(environment.get(name) == "");
  CHECK(std::getenv(name) == nullptr);
  CHECK(environment.set({name, std::nullopt}) == 0);
  CHECK_FALSE(environment.get(name));
  CHECK(environment.set({name, std::nullopt}) == 0);
}

TEST_CASE("what has no place in the environment is refused, and long values have one", "[environment]") {
  std::string const name = "CUENV_TEST_VARIABLE";
  auto const& environment = cuenv::process_environment;
  CHECK(environment.set({name, "\xff"}) == EILSEQ);  // no UTF-8
  CHECK(environment.set({"\xff", "1"}) == EILSEQ);
  CHECK(environment.set({name, std::string(40000, 'x')}) == E2BIG);
  CHECK_FALSE(environment.get(name));
  for (std::size_t const size : {259U, 260U, 261U, 4096U, 30000U}) {
    CHECK(environment.set({name, std::string(size, 'x')}) == 0);
    CHECK(environment.get(name).value_or("").size() == size);
  }
  CHECK(environment.set({name, std::nullopt}) == 0);
}

#else

TEST_CASE("an environment without entries is read", "[environment]") {
  char** const own = ::environ;
  ::environ = nullptr;
  cuenv::ProcessEnvironment const environment;
  bool const any = environment.get("PATH").has_value() || !environment.all().empty();
  ::environ = own;
  CHECK_FALSE(any);
}

#endif

TEST_CASE("memory that runs out leaves the environment as it was", "[environment]") {
  class Forgetful final : public cuenv::Environment {
   public:
    std::optional<std::string> get(std::string const& name) const override {
      if (name == "B") throw std::bad_alloc{};
      return std::nullopt;
    }
    int set(Assignment const&) const override { return ++changes, 0; }
    std::vector<Assignment> all() const override { return {}; }
    mutable int changes = 0;
  };
  Forgetful const environment;
  CHECK_THROWS_AS(cuenv::apply_assignments(environment, {{"A", "1"}, {"B", "2"}}), std::bad_alloc);
  CHECK(environment.changes == 0);
}
