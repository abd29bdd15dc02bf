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

  CHECK(json["evidence"] == "measured");
  CHECK(json["reason_unknown"].is_null());

  auto const unknown = cuenv::visibility_json<Json>(cuenv::resolve_visibility({}, {}), {}, {});
  CHECK(unknown["visible"].is_null());
  CHECK(unknown["cuInit"].is_null());
  CHECK(unknown["source"] == "unknown");
  CHECK(unknown["evidence"].is_null());
  CHECK(unknown["reason_unknown"] == "the GPUs of this machine are not known");

  // Too long to be read: as if they were not set.
  std::string const order(cuenv::longest_device_order + 1, 'P');
  std::string const list(cuenv::longest_device_list + 1, '1');
  cuenv::VisibilityVariables const too_long{list, order};
  auto const ignored = cuenv::visibility_json<Json>(cuenv::resolve_visibility(too_long, machine), too_long, machine);
  CHECK(ignored["order"] == "FASTEST_FIRST");
  CHECK(ignored["order_is_ignored"] == true);
  CHECK(ignored["list_is_ignored"] == true);
  CHECK(ignored["devices"].size() == 2);

  cuenv::VisibilityVariables const wrong_order{"0", "pci"};
  auto const invalid = cuenv::visibility_json<Json>(cuenv::resolve_visibility(wrong_order, {}), wrong_order, {});
  CHECK(invalid["order_is_invalid"] == true);
  CHECK(invalid["cuInit"] == 101);
  CHECK(invalid["evidence"] == "measured");
  CHECK(invalid["reason_unknown"].is_null());
}

TEST_CASE("a plan, an explanation and a device are objects", "[json]") {
  cuenv::Plan plan;
  plan.variables.push_back({"CUDA_VISIBLE_DEVICES", std::nullopt, "0", cuenv::Outcome::applied});
  CHECK(Json(plan) == Json::parse(R"({"variables": [{"name": "CUDA_VISIBLE_DEVICES", "found": null, "wanted": "0",
    "outcome": "applied", "set_by_this_process": false}], "findings": []})"));

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
}

TEST_CASE("what a device said of an image is an object with what was to be expected", "[json]") {
  cuenv::LoadResult result;
  result.device = cuenv::LogicalIndex{1};
  result.code = 209;
  result.verdict.kind = cuenv::VerdictKind::incompatible;
  result.verdict.reason = cuenv::Reason::newer_gpu_only;
  result.verdict.entry = 2;
  result.verdict.verified = true;
  result.verdict.code = 209;
  result.verdict.image = cuenv::ImageKind::cubin;
  result.verdict.target = {120, 'a'};
  CHECK(Json(result) == Json::parse(R"({"logical": 1, "loads": false, "code": 209, "no_context": false,
    "kept_from_driver": false, "function": null, "log": "", "verdict": {"kind": "incompatible",
    "reason": "newer_gpu_only", "entry": 2, "verified": true, "code": 209, "damage": null, "image": "cubin",
    "target": "sm_120a", "ptx": null}})"));

  result.kept_from_driver = true;
  result.function = "scale\xff";
  result.verdict = {};
  result.verdict.kind = cuenv::VerdictKind::damaged;
  result.verdict.damage = cuenv::Damage::header;
  Json const json = result;
  CHECK(json["kept_from_driver"] == true);
  CHECK(json["function_hex"] == "7363616c65ff");
  CHECK(json["verdict"]["damage"] == "its headers cannot be right");
  for (char const* key : {"entry", "code", "image", "target", "ptx"}) CHECK(json["verdict"][key].is_null());

  result.verdict.entry = 0;
  result.verdict.image = cuenv::ImageKind::ptx;
  result.verdict.target = {90, 0};
  result.verdict.ptx = {9, 0};
  CHECK(Json(result)["verdict"]["target"] == "compute_90");
  CHECK(Json(result)["verdict"]["ptx"] == "9.0");
}

// A member that is added to a struct breaks the binding here, so that the form of the struct is not forgotten.
TEST_CASE("every member of a struct is in its JSON form", "[json]") {
  auto const keys = [](Json const& json) {
    std::string names;
    for (auto const& [key, value] : json.items()) names += (names.empty() ? "" : " ") + key;
    return names;
  };
  {
    cuenv::Diagnostic const finding;
    [[maybe_unused]] auto const& [severity, code, subject, value, offset, what, driver, fix] = finding;
    CHECK(keys(finding) == "code driver fix offset severity subject value what");
  }
  {
    cuenv::RungReport report;
    report.add_fact("name", "value");
    report.unknown.emplace_back("reason");
    [[maybe_unused]] auto const& [rung, facts, findings, unknown] = report;
    [[maybe_unused]] auto const& [name, value] = facts.front();
    Json const json = report;
    CHECK(keys(json) == "facts findings health rung unknown");
    CHECK(keys(json["facts"][0]) == "name value");
    cuenv::Diagnosis const diagnosis{{report}};
    [[maybe_unused]] auto const& [rungs] = diagnosis;
    CHECK(keys(diagnosis) == "first_broken health rungs");
  }
  {
    cuenv::Device device;
    device.is_mig = true;
    [[maybe_unused]] auto const& [logical, physical, uuid, pci, name, compute_capability, is_mig] = device;
    CHECK(keys(device) == "compute_capability logical mig name pci physical uuid");  // the tag and "mig" tell is_mig
  }
  {
    auto const machine = mig_machine("580.1");
    cuenv::VisibilityVariables const variables{"MIG-1,0,0", "PCI_BUS_ID"};
    auto const visibility = cuenv::resolve_visibility(variables, machine);
    [[maybe_unused]] auto const& [known, reason, documented, invalid, list, order, devices, dropped, error, cu_init] =
        visibility;
    auto const json = cuenv::visibility_json<Json>(visibility, variables, machine);
    CHECK(keys(json) ==
          "cuInit devices dropped error evidence list_is_ignored order order_is_ignored order_is_invalid "
          "reason_unknown schema source visible");
    [[maybe_unused]] auto const& [entry, offset, why] = dropped.front();
    CHECK(keys(json["dropped"][0]) == "entry offset reason");
    [[maybe_unused]] auto const& [gpu, instance] = devices.front();
    CHECK(keys(json["devices"][0]) == "compute_capability logical mig name pci physical uuid");
    [[maybe_unused]] auto const& [uuid, gi, ci, profile] = machine.gpus[0].mig[0];
    CHECK(keys(json["devices"][0]["mig"]) == "compute_instance gpu_instance profile");  // "uuid" is the device's
  }
  {
    cuenv::VoidEntry const error;
    [[maybe_unused]] auto const& [entry, offset, code] = error;
    CHECK(keys(error) == "code entry offset");
  }
  {
    cuenv::VariableInfo const& info = cuenv::visible_devices.info;
    [[maybe_unused]] auto const& [name, accepted, fallback, read, read_evidence, since, until, platform, purpose,
                                  privilege] = info;
    CHECK(keys(info) == "accepted default name platform privileged purpose read read_evidence since until");
  }
  {
    cuenv::Explanation explanation;
    explanation.effect.emplace();
    [[maybe_unused]] auto const& [name, text, info, effect, findings] = explanation;
    [[maybe_unused]] auto const& [value, evidence, problem, fix, fatal] = *effect;  // the problem is a finding
    CHECK(keys(explanation) == "about effective evidence fatal findings name text");
  }
  {
    cuenv::PlannedVariable const variable;
    [[maybe_unused]] auto const& [name, found, wanted, outcome, set_by_this_process] = variable;
    CHECK(keys(variable) == "found name outcome set_by_this_process wanted");
    cuenv::Plan const plan;
    [[maybe_unused]] auto const& [variables, findings] = plan;
    CHECK(keys(plan) == "findings variables");
  }
  {
    cuenv::ReportedVariable const variable;
    [[maybe_unused]] auto const& [name, found, wanted, outcome] = variable;
    CHECK(keys(variable) == "found name outcome wanted");
    cuenv::Report const report;
    [[maybe_unused]] auto const& [variables, attached, cuda, path, root, source, version, absence, findings] = report;
    CHECK(keys(report) == "absence attached cuda driver driver_path findings machine_source simulated_root variables");
  }
  {
    cuenv::LoadResult const result;
    [[maybe_unused]] auto const& [device, code, no_context, kept_from_driver, verdict, function, log] = result;
    [[maybe_unused]] auto const& [kind, reason, entry, verified, answer, damage, image, target, ptx] = verdict;
    CHECK(keys(result) == "code function kept_from_driver loads log logical no_context verdict");
    CHECK(keys(Json(verdict)) == "code damage entry image kind ptx reason target verified");
  }
}

#endif
