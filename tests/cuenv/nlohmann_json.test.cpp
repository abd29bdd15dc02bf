// The adapter is for those who have nlohmann/json; without it there is nothing to test.
#if __has_include(<nlohmann/json.hpp>)

#include <cuenv/nlohmann_json.hpp>

#include "support/catch.hpp"
#include "support/described_machines.hpp"

#include <string>

using namespace cuenv_tests;
using Json = nlohmann::json;

TEST_CASE("a text that is UTF-8 is itself, another has its bytes in hex beside it", "[json]") {
  struct Row {
    std::string text;
    std::string shown;
    std::string hex;
  };
  Row const rows[] = {
      {"", "", ""},
      {"plain \"text\"\n", "plain \"text\"\n", ""},
      {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", ""},
      {"a\xff", "a\xef\xbf\xbd", "61ff"},
      {"\xc3(", "\xef\xbf\xbd(", "c328"},
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "eda080"},
  };
  for (Row const& row : rows) {
    Json json = Json::object();
    cuenv::put_text(json, "text", std::string_view{row.text});
    CHECK(json["text"] == row.shown);
    CHECK(json.contains("text_hex") == !row.hex.empty());
    if (!row.hex.empty()) CHECK(json["text_hex"] == row.hex);
    CHECK_NOTHROW(json.dump());
  }
}

TEST_CASE("a finding is an object", "[json]") {
  cuenv::Diagnostic const finding{cuenv::Severity::warning,     "some.code", "NAME", "\x80",
                                  cuenv::Diagnostic::no_offset, "what",      "",     "fix"};
  CHECK(Json(finding) == Json::parse(R"({"severity": "warning", "code": "some.code", "subject": "NAME",
    "value": "\ufffd", "value_hex": "80", "offset": null, "what": "what", "driver": "", "fix": "fix"})"));
}

TEST_CASE("what is visible is an object with its schema", "[json]") {
  cuenv::Machine const machine = two_h200();
  cuenv::VisibilityVariables const variables{"1,9", std::nullopt};
  auto const json = cuenv::visibility_json<Json>(cuenv::resolve_visibility(variables, machine), variables, machine);
  CHECK(json["schema"] == cuenv::json_schema);
  CHECK(json["visible"] == "1,9");
  CHECK(json["order"] == "FASTEST_FIRST");
  CHECK(json["cuInit"] == 0);
  CHECK(json["error"].is_null());
  REQUIRE(json["devices"].size() == 1);
  CHECK(json["devices"][0]["physical"] == 1);
  CHECK(json["devices"][0]["mig"].is_null());
  CHECK(json["dropped"] == Json::parse(R"([{"entry": "9", "offset": 2, "reason": "out_of_range"}])"));

  cuenv::VisibilityVariables const twice{"0,0", "PCI_BUS_ID"};
  auto const broken = cuenv::visibility_json<Json>(cuenv::resolve_visibility(twice, machine), twice, machine);
  CHECK(broken["cuInit"] == 101);
  CHECK(broken["error"] == Json::parse(R"({"entry": "0", "offset": 2, "code": 101})"));

  auto const unknown = cuenv::visibility_json<Json>(cuenv::resolve_visibility({}, {}), {}, {});
  CHECK(unknown["visible"].is_null());
  CHECK(unknown["cuInit"].is_null());
  CHECK(unknown["source"] == "unknown");
}

TEST_CASE("a plan, an explanation and a device are objects", "[json]") {
  cuenv::Plan plan;
  plan.variables.push_back({"CUDA_VISIBLE_DEVICES", std::nullopt, "0", cuenv::Outcome::applied});
  CHECK(Json(plan) == Json::parse(R"({"variables": [{"name": "CUDA_VISIBLE_DEVICES", "found": null, "wanted": "0",
    "outcome": "applied"}], "findings": []})"));

  auto const explained = cuenv::explain_variables({{"CUDA_LAUNCH_BLOCKING", "true"}}, two_h200());
  REQUIRE(explained.size() == 1);
  Json const json = explained[0];
  CHECK(json["effective"] == "off");
  CHECK(json["about"]["read"] == "context creation");
  CHECK(json["about"]["since"].is_null());
  CHECK(json["findings"][0]["fix"] == "write 1");

  cuenv::Device device;
  device.is_mig = true;
  CHECK(Json(device)["uuid"] == "MIG-00000000-0000-0000-0000-000000000000");
  CHECK(Json(device)["physical"].is_null());
  CHECK(Json(device)["mig"].is_object());
  CHECK(Json(cuenv::Report{})["cuda"].is_null());
  CHECK(Json(cuenv::LoadResult{})["loads"] == true);
}

#endif
