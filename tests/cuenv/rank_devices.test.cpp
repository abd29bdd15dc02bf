#include <cuenv/rank_devices.hpp>

#include "support/catch.hpp"
#include "support/described_environment.hpp"
#include "support/described_machines.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using cuenv::LocalRank;
using cuenv::RankPolicy;
using cuenv::Severity;
using cuenv::TooManyRanks;
using cuenv_tests::alike_gpus;
using cuenv_tests::DescribedEnvironment;

namespace {

using Variables = std::map<std::string, std::string>;

/// What a rank's CUDA_VISIBLE_DEVICES would become; "unchanged", or "refused: " and the code of the first error.
std::string visible_for(LocalRank local, RankPolicy policy, Variables const& variables, cuenv::Machine const& machine) {
  DescribedEnvironment const environment{variables};
  auto const plan = make_plan(settings_for_rank(local, policy, environment, machine), environment, machine);
  for (auto const& finding : plan.findings) {
    if (finding.severity == Severity::error) return "refused: " + std::string{finding.code};
  }
  if (plan.assignments().empty()) return "unchanged";
  CHECK(plan.assignments().size() == 1);
  CHECK(plan.assignments()[0].name == "CUDA_VISIBLE_DEVICES");
  return plan.assignments()[0].text.value_or("(not set)");
}

std::vector<std::string> visible_for_each(int size, RankPolicy policy, Variables const& variables,
                                          cuenv::Machine const& machine) {
  std::vector<std::string> all;
  for (int rank = 0; rank < size; ++rank) all.push_back(visible_for({rank, size}, policy, variables, machine));
  return all;
}

cuenv::Diagnostic finding_of(LocalRank local, RankPolicy policy, Variables const& variables,
                             cuenv::Machine const& machine) {
  auto const findings = settings_for_rank(local, policy, DescribedEnvironment{variables}, machine).problems();
  REQUIRE(findings.size() == 1);
  return findings[0];
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("each rank gets a GPU, in order", "[rank_devices]") {
  CHECK(visible_for_each(4, {}, {}, alike_gpus(4)) == Texts{"0", "1", "2", "3"});
  CHECK(visible_for_each(2, {}, {}, alike_gpus(4)) == Texts{"0", "1"});
  CHECK(visible_for_each(1, {}, {}, alike_gpus(4)) == Texts{"0"});
  auto const note = finding_of({1, 4}, {}, {}, alike_gpus(4));
  CHECK(note.severity == Severity::note);
  CHECK(to_string(note) ==
        "note: CUDA_VISIBLE_DEVICES: local rank 1 of 4 takes logical GPU 1 "
        "(GPU-01000000-0000-0000-0000-000000000000) of 4 visible");
}

TEST_CASE("a rank counts among what is visible, not among all GPUs", "[rank_devices]") {
  CHECK(visible_for_each(2, {}, {{"CUDA_VISIBLE_DEVICES", "3,1"}}, alike_gpus(4)) == Texts{"3", "1"});
  CHECK(visible_for_each(2, {}, {{"CUDA_VISIBLE_DEVICES", "GPU-02,GPU-00"}}, alike_gpus(4)) ==
        Texts{"GPU-02", "GPU-00"});
  CHECK_THAT(finding_of({0, 2}, {}, {{"CUDA_VISIBLE_DEVICES", "3,1"}}, alike_gpus(4)).what,
             ContainsSubstring("takes logical GPU 0 (GPU-03000000-0000-0000-0000-000000000000) of 2 visible"));
}

TEST_CASE("blocks of GPUs", "[rank_devices]") {
  CHECK(visible_for_each(2, {2}, {}, alike_gpus(4)) == Texts{"0,1", "2,3"});
  CHECK(visible_for_each(2, {2}, {{"CUDA_VISIBLE_DEVICES", "5,4,3,2"}}, alike_gpus(8)) == Texts{"5,4", "3,2"});
  CHECK(visible_for_each(1, {3}, {}, alike_gpus(4)) == Texts{"0,1,2"});
  CHECK_THAT(finding_of({1, 2}, {2}, {}, alike_gpus(4)).what,
             ContainsSubstring("takes logical GPUs 2 and 3 (GPU-02000000-0000-0000-0000-000000000000, GPU-03"));
  CHECK(visible_for({0, 1}, {5}, {}, alike_gpus(4)) == "refused: rank_devices.too_few_gpus");
}

TEST_CASE("more ranks than GPUs share them in turn, and the warning names who shares", "[rank_devices]") {
  CHECK(visible_for_each(5, {}, {}, alike_gpus(2)) == Texts{"0", "1", "0", "1", "0"});
  auto const warning = finding_of({2, 5}, {}, {}, alike_gpus(2));
  CHECK(warning.severity == Severity::warning);
  CHECK(to_string(warning) ==
        "warning: CUDA_VISIBLE_DEVICES: there are 5 ranks on this node and GPUs for 2: local ranks 0, 2 and 4 share "
        "logical GPU 0 (GPU-00000000-0000-0000-0000-000000000000)\n"
        "  fix: start at most 2 ranks on this node");
  CHECK_THAT(finding_of({1, 5}, {}, {}, alike_gpus(2)).what, ContainsSubstring("local ranks 1 and 3 share"));
  CHECK(finding_of({1, 3}, {}, {}, alike_gpus(2)).severity == Severity::note);  // alone on its GPU
  CHECK(finding_of({0, 3}, {}, {}, alike_gpus(2)).severity == Severity::warning);
  CHECK_THAT(finding_of({0, 100}, {}, {}, alike_gpus(1)).what,
             ContainsSubstring("local ranks 0, 1, 2, 3, 4, 5, 6, 7 and 92 more share"));
}

TEST_CASE("blocks are shared in turn, and GPUs that stay idle are named", "[rank_devices]") {
  CHECK(visible_for_each(3, {2}, {}, alike_gpus(5)) == Texts{"0,1", "2,3", "0,1"});
  CHECK_THAT(finding_of({2, 3}, {2}, {}, alike_gpus(5)).what,
             ContainsSubstring("local ranks 0 and 2 share logical GPUs 0 and 1") &&
                 ContainsSubstring("while 1 of 5 GPUs stay idle"));
}

TEST_CASE("sharing can be refused, by every rank", "[rank_devices]") {
  RankPolicy const refuse{1, TooManyRanks::refuse};
  CHECK(visible_for_each(2, refuse, {}, alike_gpus(2)) == Texts{"0", "1"});
  CHECK(visible_for_each(3, refuse, {}, alike_gpus(2)) == Texts(3, "refused: rank_devices.too_many_ranks"));
  CHECK(visible_for({2, {}}, refuse, {}, alike_gpus(2)) == "refused: rank_devices.too_many_ranks");
  CHECK(to_string(finding_of({1, 3}, refuse, {}, alike_gpus(2))) ==
        "error: CUDA_VISIBLE_DEVICES: there are 3 ranks on this node and GPUs for 2\n"
        "  fix: start at most 2 ranks on a node, or let ranks share");
}

TEST_CASE("without a size, sharing is known from the rank", "[rank_devices]") {
  CHECK(visible_for({1, {}}, {}, {}, alike_gpus(2)) == "1");
  CHECK(finding_of({1, {}}, {}, {}, alike_gpus(2)).severity == Severity::note);
  CHECK(visible_for({5, {}}, {}, {}, alike_gpus(2)) == "1");
  auto const warning = finding_of({5, {}}, {}, {}, alike_gpus(2));
  CHECK(warning.severity == Severity::warning);
  CHECK_THAT(warning.what,
             ContainsSubstring("there is a local rank 5 on this node") && ContainsSubstring("ranks 1, 3 and 5 share"));
}

TEST_CASE("a GPU that the launcher has bound to the rank is kept", "[rank_devices]") {
  for (auto const size : {std::optional<int>{4}, std::optional<int>{}}) {
    Variables const bound{{"CUDA_VISIBLE_DEVICES", "3"}};
    CHECK(visible_for({3, size}, {}, bound, alike_gpus(4)) == "unchanged");
    auto const note = finding_of({3, size}, {}, bound, alike_gpus(4));
    CHECK(note.severity == Severity::note);
    CHECK(note.code == "rank_devices.bound_by_launcher");
    CHECK_THAT(note.what, ContainsSubstring("keeps what this list leaves visible, 1 GPU: the launcher's choice"));
  }
  CHECK(visible_for({1, 2}, {2}, {{"CUDA_VISIBLE_DEVICES", "2,3"}}, alike_gpus(4)) == "unchanged");
  CHECK(visible_for({0, 2}, {2}, {{"CUDA_VISIBLE_DEVICES", "2"}}, alike_gpus(4)) ==
        "refused: rank_devices.too_few_gpus");
  CHECK(visible_for({1, 2}, {1, TooManyRanks::refuse}, {{"CUDA_VISIBLE_DEVICES", "1"}}, alike_gpus(2)) == "unchanged");
  CHECK(visible_for({0, 1}, {}, {{"CUDA_VISIBLE_DEVICES", "1"}}, alike_gpus(2)) == "unchanged");
}

TEST_CASE("one GPU of the machine is no binding: its ranks share it", "[rank_devices]") {
  CHECK(visible_for({1, 2}, {}, {}, alike_gpus(1)) == "0");
  CHECK(finding_of({1, 2}, {}, {}, alike_gpus(1)).code == "rank_devices.shared");
}

TEST_CASE("nothing visible is an error that says why", "[rank_devices]") {
  auto const value = GENERATE(as<std::string>{}, "", "-1", "NoDevFiles", "7", "0,0", "GPU-ff");
  CAPTURE(value);
  DescribedEnvironment const environment{{{"CUDA_VISIBLE_DEVICES", value}}};
  auto const findings = cuenv::settings_for_rank(LocalRank{1, 2}, {}, environment, alike_gpus(2)).problems();
  CHECK(has_error(findings));
  CHECK(findings.size() > 1);
  CHECK(findings.back().code == "rank_devices.no_gpu");
  CHECK(visible_for({0, 1}, {}, {}, cuenv_tests::described_machine({})) == "refused: machine.no_gpu");
  CHECK(visible_for({0, 1}, {}, {{"CUDA_DEVICE_ORDER", "pci"}}, alike_gpus(2)) == "refused: device_order.invalid");
}

TEST_CASE("on an unknown machine nothing is claimed", "[rank_devices]") {
  cuenv::Machine const unknown;
  CHECK(visible_for_each(3, {}, {}, unknown) == Texts{"0", "1", "2"});
  CHECK(visible_for({1, 2}, {2}, {}, unknown) == "2,3");
  auto const warning = finding_of({2, 3}, {1, TooManyRanks::refuse}, {}, unknown);
  CHECK(warning.severity == Severity::warning);
  CHECK(warning.code == "rank_devices.unchecked");
  CHECK(warning.subject == "CUDA_VISIBLE_DEVICES");
  CHECK(warning.value.empty());
  CHECK(warning.what == "local rank 2 of 3 takes logical GPU 2, and how many GPUs are visible is not known");
  CHECK(warning.fix == "start no more ranks than the node has GPUs for: one too many finds no device, or too few");
  CHECK(visible_for({1, 2}, {}, {{"CUDA_VISIBLE_DEVICES", "1"}}, unknown) == "unchanged");
  CHECK_THAT(finding_of({1, 2}, {}, {{"CUDA_VISIBLE_DEVICES", "1"}}, unknown).what,
             ContainsSubstring("leaves visible, 1 GPU at most"));
  CHECK(visible_for({1, 2}, {}, {{"CUDA_VISIBLE_DEVICES", "0,1"}}, unknown) == "refused: rank_devices.unknown_list");
}

TEST_CASE("ranks and policies that do not exist are refused", "[rank_devices]") {
  constexpr int most = cuenv::most_local_ranks;
  for (LocalRank const local : {LocalRank{-1, {}}, LocalRank{4, 4}, LocalRank{0, 0}, LocalRank{0, -1},
                                LocalRank{most, {}}, LocalRank{0, most + 1}}) {
    CAPTURE(local.rank);
    CHECK(visible_for(local, {}, {}, alike_gpus(2)) == "refused: rank_devices.no_such_rank");
  }
  for (int const each : {0, -1, cuenv::most_gpus_per_rank + 1}) {
    CHECK(visible_for({0, 1}, {each}, {}, alike_gpus(2)) == "refused: rank_devices.no_such_policy");
  }
  CHECK(visible_for({most - 1, most}, {}, {}, alike_gpus(2)) == "1");
  CHECK(visible_for({most - 1, {}}, {2}, {}, cuenv::Machine{}) == "2097150,2097151");
}

TEST_CASE("unlike GPUs and MIG instances are dealt by logical index", "[rank_devices]") {
  CHECK(visible_for_each(2, {}, {}, cuenv_tests::unlike_gpus()) == Texts{"0", "1"});
  CHECK(visible_for_each(3, {}, {}, cuenv_tests::mig_machine("580.159.04")) == Texts{"0", "1", "2"});
}

TEST_CASE("the launchers' findings come first, and no launcher is an error", "[rank_devices]") {
  DescribedEnvironment environment{{{"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}, {"SLURM_LOCALID", "0"}}};
  auto const settings = cuenv::settings_for_rank(find_local_rank(environment), {}, environment, alike_gpus(2));
  auto const findings = settings.problems();
  REQUIRE(findings.size() == 3);
  CHECK(findings[0].code == "local_rank.found");
  CHECK(findings[1].code == "local_rank.contradiction");
  CHECK(findings[2].code == "rank_devices.chosen");
  CHECK(settings.get(cuenv::visible_devices) == cuenv::VisibleDevices{cuenv::logical(1)});

  environment.variables["MPI_LOCALRANKID"] = "";
  CHECK(has_error(cuenv::settings_for_rank(find_local_rank(environment), {}, environment, alike_gpus(2)).problems()));

  auto const none = cuenv::settings_for_rank(cuenv::FoundLocalRank{}, {}, environment, alike_gpus(2)).problems();
  REQUIRE(none.size() == 1);
  CHECK(none[0].code == "local_rank.not_found");
  CHECK(has_error(none));
}

TEST_CASE("a rank that was given its GPU keeps it when asked again", "[rank_devices]") {
  CHECK(visible_for({1, 2}, {}, {{"CUDA_VISIBLE_DEVICES", visible_for({1, 2}, {}, {}, alike_gpus(2))}},
                    alike_gpus(2)) == "unchanged");
}

TEST_CASE("the choice is added to other settings", "[rank_devices]") {
  cuenv::Settings others;
  others.set(cuenv::launch_blocking, true).set(cuenv::visible_devices, {cuenv::physical(0)});
  DescribedEnvironment const environment;
  auto const settings = cuenv::settings_for_rank(LocalRank{1, 2}, {}, environment, alike_gpus(2), std::move(others));
  CHECK(settings.get(cuenv::launch_blocking) == true);
  CHECK(settings.get(cuenv::visible_devices) == cuenv::VisibleDevices{cuenv::logical(1)});
}
