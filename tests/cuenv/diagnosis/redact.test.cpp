#include <cuenv/diagnosis/redact.hpp>

#include "support/catch.hpp"
#include "support/described_tree.hpp"

namespace {

constexpr char const* first = "GPU-01234567-89ab-cdef-0123-456789abcdef";
constexpr char const* second = "GPU-01299999-89ab-cdef-0123-456789abcdef";

}  // namespace

TEST_CASE("the same UUID gives the same placeholder, whatever its case and tag", "[diagnosis]") {
  cuenv::Redactor redact;
  CHECK(redact(std::string{first} + "," + second) == "GPU-<uuid 1>,GPU-<uuid 2>");
  CHECK(redact("'01234567-89AB-CDEF-0123-456789ABCDEF'") == "'<uuid 1>'");
  CHECK(redact(std::string{"MIG-"} + second + "/1/0") == "MIG-GPU-<uuid 2>/1/0");
  CHECK(redact("MIG-aaaaaaaa-89ab-cdef-0123-456789abcdef") == "MIG-<uuid 3>");
  CHECK(redact(std::string{first} + "x") == "GPU-<uuid 1>x");
}

TEST_CASE("a part of a UUID is a part of what it begins", "[diagnosis]") {
  cuenv::Redactor redact;
  redact.learn(first);
  redact.learn(second);
  CHECK(redact("GPU-01234") == "GPU-<uuid 1...>");
  CHECK(redact("GPU-012,0") == "GPU-<uuid...>,0");
  CHECK(redact("gpu-7") == "gpu-<uuid 3>");
  CHECK(redact("GPU-accelerated, GPU-, GPU--") == "GPU-accelerated, GPU-, GPU--");
}

TEST_CASE("host, user and home are replaced where they stand alone", "[diagnosis]") {
  cuenv_tests::DescribedTree tree;
  tree.file("/proc/sys/kernel/hostname", "node7.cluster\n");
  cuenv::Redactor redact = redactor_of(tree.site({{"HOME", "/data/ada/"}, {"USER", "ada"}, {"HOSTNAME", "box"}}));
  CHECK(redact("/data/ada/.nv:/data/adam on node7, node7.cluster, box") ==
        "<home>/.nv:/data/adam on <host>, <host>, <host>");
  CHECK(redact("ada owns /x/ada but not adam's or a-ada") == "<user> owns /x/<user> but not adam's or a-ada");
  CHECK(redact("/home/eve/cuda and /Users/Eve B") == "/home/<user>/cuda and /Users/<user> B");
}

TEST_CASE("nothing is replaced for root, whose name is in every second text", "[diagnosis]") {
  cuenv_tests::DescribedTree tree;
  cuenv::Redactor redact = redactor_of(tree.site({{"HOME", "/root"}, {"USER", "root"}}));
  CHECK(redact("/root/.nv belongs to root") == "/root/.nv belongs to root");
}

TEST_CASE("every text of a rung is redacted and offsets move with it", "[diagnosis]") {
  cuenv::RungReport rung;
  rung.add_fact(first, std::string{"is "} + first);
  rung.unknown.push_back("host cannot be reached");
  std::string const value = std::string{first} + ",9";
  rung.findings.push_back(
      {cuenv::Severity::warning, "x.y", "host", value, value.size() - 1, "on host", "host", "host"});
  cuenv::Redactor redactor;
  redactor.add_word("host", "<host>");
  auto const redacted = redact({rung}, redactor).front();
  CHECK(redacted.facts[0].name == "GPU-<uuid 1>");
  CHECK(redacted.facts[0].value == "is GPU-<uuid 1>");
  CHECK(redacted.unknown[0] == "<host> cannot be reached");
  cuenv::Diagnostic const& finding = redacted.findings[0];
  CHECK(finding.value == "GPU-<uuid 1>,9");
  CHECK(finding.value.substr(finding.offset) == "9");
  CHECK(finding.subject + finding.what + finding.driver + finding.fix == "<host>on <host><host><host>");
}
