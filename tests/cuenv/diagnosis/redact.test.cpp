#include <cuenv/diagnosis/redact.hpp>
#include <cuenv/explain_visibility.hpp>

#include "support/catch.hpp"
#include "support/described_machines.hpp"
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
  CHECK(redact("gpu-7") == "gpu-<uuid...>");
  CHECK(redact("GPU-accelerated, GPU-, GPU--") == "GPU-accelerated, GPU-, GPU--");
}

TEST_CASE("what was meant to be a UUID is hidden too", "[diagnosis]") {
  cuenv::Redactor redact;
  redact.learn("GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b");
  for (char const* const mistyped :
       {"GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5g", "GPU-5g9c1f04-3e7b", "GPU_5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5",
        "gpu-5a9c1f04x", "GPU-5a9cxyz_1", "GPU-dead-beefy", "GPU_5a9c1f04", "5a9c1f04-3e7b", "5a9c1f04-3e7b-4d21-zz",
        "GPU5a9c1f04-3e7b-4d", "MIG-GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5/0/1", "GPU-to-GPU-5a9c1f04"}) {
    INFO(mistyped);
    std::string const text = redact(mistyped);
    CHECK(text.find("<uuid") != std::string::npos);
    for (char const* const part : {"5a9c", "5g9c", "3e7b", "4d21", "8c66", "beef"}) {
      CHECK(text.find(part) == std::string::npos);
    }
  }
  CHECK(redact("GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5g,1") == "GPU-<uuid...>,1");
  CHECK(redact("at 5A9C1F04-3E7B.") == "at <uuid 1...>.");
  CHECK(redact("GPU5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b") == "GPU<uuid 1>");
  CHECK(redact("uuid=5a9c1f043e7b4d218c660b1d2e3f4a5b") == "uuid=<uuid 1>");
  CHECK(redact("GPU-5a9c1f043e7b4d218c660b1d2e3f4a5b") == "GPU-<uuid 1>");
  CHECK(redact("GPU_5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b") == "GPU_<uuid 1>");
}

TEST_CASE("of a UUID that can mean several none is shown", "[diagnosis]") {
  auto machine = cuenv_tests::two_h200();
  machine.gpus[1].uuid = cuenv::parse_uuid("5a9c1f04-3e7b-4d2f-8c66-0b1d2e3f4a5b");
  cuenv::VisibilityVariables const variables{"GPU-5", std::nullopt};
  auto const findings = cuenv::explain(cuenv::resolve_visibility(variables, machine), variables, machine);
  REQUIRE(findings.size() == 1);
  cuenv::Redactor redact;
  CHECK(redact(findings[0].what) ==
        "'GPU-<uuid...>' begins the UUID of more than one GPU: GPU-<uuid 1> (GPU 0), GPU-<uuid 2> (GPU 1)");
  CHECK(redact(findings[0].fix) == "write 18 characters of the UUID or more, such as GPU-<uuid 1...>");
}

TEST_CASE("words and numbers that are no UUID stay", "[diagnosis]") {
  cuenv::Redactor redact;
  for (std::string const text :
       {"GPU-accelerated code, multi-GPU-aware", "GPU-to-GPU copies", "GPU_DEVICE_ORDINAL=0",
        "MIG 1g.10gb, MIG-1g.10gb", "NVIDIA H200 00000000:01:00.0", "sm_90 compute_80", "libcuda.so.580.95.05",
        "cuInit answers 100 (NO_DEVICE)", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "GPU 0, GPU", "12345678-12"}) {
    CHECK(redact(text) == text);
  }
}

TEST_CASE("what is not a whole UUID never becomes known as one", "[diagnosis]") {
  cuenv::Redactor redact;
  CHECK(redact("GPU-0123") == "GPU-<uuid...>");
  CHECK(redact(first) == "GPU-<uuid 1>");
  CHECK(redact("GPU-0123") == "GPU-<uuid 1...>");
  CHECK(cuenv::Redactor{}(std::string{"GPU-0123 of "} + first) == "GPU-<uuid 1...> of GPU-<uuid 1>");
}

TEST_CASE("a name behind the folder of homes is hidden whole", "[diagnosis]") {
  cuenv::Redactor redact;
  CHECK(redact("/home/bob@corp.example.com/x:/home/CORP+bob") == "/home/<user>/x:/home/<user>");
  CHECK(redact("'/Users/Bob Smith/cuda' \"/home/b,c\"") == "'/Users/<user>/cuda' \"/home/<user>\"");
  CHECK(redact("/home/bob cannot be read, see /etc/fstab") == "/home/<user> cannot be read, see /etc/fstab");
  CHECK(redact("/home/bob /home/eve, /home/ada; (/home/joe)") ==
        "/home/<user> /home/<user>, /home/<user>; (/home/<user>)");
  CHECK(redact("/home//bob/./x /home/./eve") == "/home//<user>/./x /home/./<user>");
  CHECK(redact("C:\\Users\\Bob Smith\\x") == "C:\\Users\\<user>\\x");
  CHECK(redact("/home/ and /home") == "/home/ and /home");
  CHECK(redact("/home/j\xc3\xb6rg/x") == "/home/<user>/x");
}

TEST_CASE("a home is known by all its names", "[diagnosis]") {
  cuenv_tests::DescribedTree tree;
  tree.directory("/srv/people/ada").link("/data/ada", "/srv/people/ada");
  cuenv::Redactor redact = redactor_of(tree.site({{"HOME", "/data//ada/./"}}));
  CHECK(redact("/data//ada/.:/data/ada/x:/srv/people/ada/.nv:/srv/people/adam") ==
        "<home>:<home>/x:<home>/.nv:/srv/people/adam");
  CHECK(redactor_of(tree.site({{"HOME", "/home"}}))("/home/eve/x") == "/home/<user>/x");
}

TEST_CASE("the people of a second site are hidden as well", "[diagnosis]") {
  cuenv_tests::DescribedTree tree;
  cuenv::Redactor redact = redactor_of(tree.site({{"HOME", "/data/ada"}, {"USER", "ada"}}));
  redact.add(tree.site({{"HOME", "/data/eve"}, {"LOGNAME", "eve"}, {"HOSTNAME", "box.corp"}}));
  CHECK(redact("/data/eve/x of eve on box, box.corp, not /data/ada/x of ada") ==
        "<home>/x of <user> on <host>, <host>, not <home>/x of <user>");
}

TEST_CASE("nothing is replaced within a placeholder", "[diagnosis]") {
  cuenv_tests::DescribedTree tree;
  cuenv::Redactor redact = redactor_of(tree.site(
      {{"HOME", "/data/uuid"}, {"USER", "uuid"}, {"LOGNAME", "user"}, {"SUDO_USER", "home"}, {"HOSTNAME", "1"}}));
  CHECK(redact(std::string{"/data/uuid/x "} + first + " uuid home") == "<home>/x GPU-<uuid 1> <user> <user>");
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

TEST_CASE("UUIDs of all texts are known before the first is replaced", "[diagnosis]") {
  cuenv::RungReport rung;
  rung.add_fact("GPU-01234", "GPU-01299");
  rung.unknown.push_back(first);
  rung.findings.push_back({cuenv::Severity::warning, "x.y", "", "", cuenv::Diagnostic::no_offset, "", "", second});
  auto const redacted = redact({rung}, cuenv::Redactor{}).front();
  CHECK(redacted.facts[0].name == "GPU-<uuid 1...>");
  CHECK(redacted.facts[0].value == "GPU-<uuid 2...>");
  CHECK(redacted.unknown[0] == "GPU-<uuid 1>");
  CHECK(redacted.findings[0].fix == "GPU-<uuid 2>");
}

TEST_CASE("an offset within what is hidden is before it", "[diagnosis]") {
  cuenv::RungReport rung;
  std::string const value = "0,GPU-5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5g";
  rung.findings.push_back({cuenv::Severity::warning, "x.y", "", value, value.size() - 1, "", "", first});
  rung.findings.push_back({cuenv::Severity::warning, "x.y", "", "0,/home/Bob Smith/x,7", 11, "", "", ""});
  rung.findings.push_back({cuenv::Severity::warning, "x.y", "", "0,/home/Bob Smith/x,7", 20, "", "", ""});
  rung.findings.push_back({cuenv::Severity::warning, "x.y", "", "GPU-0123,GPU-0124", 9, "", "", ""});
  auto const findings = redact({rung}, cuenv::Redactor{}).front().findings;
  auto const& finding = findings[0];
  CHECK(findings[1].value.substr(findings[1].offset) == "/home/<user>/x,7");
  CHECK(findings[2].value.substr(findings[2].offset) == "7");
  CHECK(findings[3].value.substr(findings[3].offset) == "GPU-<uuid...>");
  CHECK(finding.value == "0,GPU-<uuid...>");
  CHECK(finding.value.substr(finding.offset) == "<uuid...>");
}
