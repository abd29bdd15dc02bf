#include <cuenv/local_rank.hpp>

#include "support/catch.hpp"
#include "support/described_environment.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

using cuenv::Launcher;
using cuenv::LocalRank;
using cuenv::Severity;
using cuenv_tests::DescribedEnvironment;

namespace {

using Variables = std::map<std::string, std::string>;

cuenv::FoundLocalRank found_in(Variables const& variables) {
  return cuenv::find_local_rank(DescribedEnvironment{variables});
}

/// What a launcher sets for a rank of a node with `size` of them.
Variables variables_of(cuenv::LauncherRow const& row, int rank, int size) {
  Variables variables{{std::string{row.rank}, std::to_string(rank)}, {std::string{row.size}, std::to_string(size)}};
  if (row.launcher == Launcher::flux) variables["FLUX_JOB_NNODES"] = "1";
  if (row.launcher == Launcher::slurm) variables["SLURM_STEP_ID"] = "0";
  return variables;
}

}  // namespace

TEST_CASE("each launcher alone tells rank and size", "[local_rank]") {
  for (cuenv::LauncherRow const& row : cuenv::launchers) {
    CAPTURE(row.name);
    CHECK(&cuenv::find_launcher(row.launcher) == &row);
    CHECK_FALSE(row.source.empty());
    auto const found = found_in(variables_of(row, 2, 4));
    REQUIRE(found.launcher != nullptr);
    CHECK(found.launcher->launcher == row.launcher);
    CHECK(found.local == LocalRank{2, 4});
    REQUIRE(found.findings.size() == 1);
    CHECK(found.findings[0].severity == Severity::note);
    CHECK(to_string(found.findings[0]) ==
          "note: " + std::string{row.rank} + "=2: this is local rank 2 of 4, by the word of " + std::string{row.name});
  }
}

TEST_CASE("without a size the rank is known", "[local_rank]") {
  for (cuenv::LauncherRow const& row : cuenv::launchers) {
    CAPTURE(row.name);
    if (row.launcher == Launcher::torchrun) continue;  // its size is what shows it
    auto variables = variables_of(row, 2, 4);
    variables.erase(std::string{row.size});
    CHECK(found_in(variables).local == LocalRank{2, {}});
  }
}

TEST_CASE("no launcher says nothing", "[local_rank]") {
  auto const found = found_in({{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"PMI_RANK", "3"}, {"PMIX_RANK", "3"}});
  CHECK_FALSE(found.local);
  CHECK(found.launcher == nullptr);
  CHECK(found.findings.empty());
}

TEST_CASE("of two launchers the inner one counts, and the other's contradiction is a warning", "[local_rank]") {
  for (cuenv::LauncherRow const& inner : cuenv::launchers) {
    for (cuenv::LauncherRow const& outer : cuenv::launchers) {
      if (&inner >= &outer || inner.rank == outer.rank) continue;
      CAPTURE(inner.name, outer.name);
      auto variables = variables_of(inner, 3, 4);
      for (auto const& [name, text] : variables_of(outer, 1, 4)) variables[name] = text;
      auto const found = found_in(variables);
      REQUIRE(found.launcher != nullptr);
      CHECK(found.launcher->launcher == inner.launcher);
      CHECK(found.local == LocalRank{3, 4});
      REQUIRE(found.findings.size() == 2);
      CHECK(found.findings[1].code == "local_rank.contradiction");
      CHECK(found.findings[1].severity == Severity::warning);
      CHECK(found.findings[1].subject == outer.rank);
      CHECK(found.findings[1].value == "1");
      CHECK_THAT(found.findings[1].what, ContainsSubstring(std::string{inner.rank} + " counts: local rank 3 of 4"));
    }
  }
}

TEST_CASE("launchers that agree are no finding", "[local_rank]") {
  Variables variables;
  for (cuenv::LauncherRow const& row : cuenv::launchers) {
    for (auto const& [name, text] : variables_of(row, 1, 4)) variables[name] = text;
  }
  auto const found = found_in(variables);
  CHECK(found.local == LocalRank{1, 4});
  CHECK(found.findings.size() == 1);
}

TEST_CASE("launchers that agree on the rank and not on the size contradict each other", "[local_rank]") {
  auto const found = found_in({{"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                               {"MPI_LOCALRANKID", "1"},
                               {"MPI_LOCALNRANKS", "2"}});
  CHECK(found.local == LocalRank{1, 4});
  REQUIRE(found.findings.size() == 2);
  CHECK(found.findings[1].severity == Severity::warning);
}

TEST_CASE("a launcher that started one process may have started the other launcher", "[local_rank]") {
  // srun --ntasks-per-node=1 torchrun --nproc-per-node=4
  auto const found = found_in({{"LOCAL_RANK", "3"},
                               {"LOCAL_WORLD_SIZE", "4"},
                               {"TORCHELASTIC_RUN_ID", "none"},
                               {"SLURM_JOB_ID", "7"},
                               {"SLURM_STEP_ID", "0"},
                               {"SLURM_LOCALID", "0"},
                               {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}});
  CHECK(found.local == LocalRank{3, 4});
  REQUIRE(found.findings.size() == 2);
  CHECK(found.findings[1].severity == Severity::note);
  CHECK(found.findings[1].fix.empty());

  // mpirun in a batch script: Slurm's variables are the script's (as Slurm 22.05.8 sets them).
  auto const in_script = found_in({{"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                   {"SLURM_JOB_ID", "4"},
                                   {"SLURM_LOCALID", "0"},
                                   {"SLURM_NODEID", "0"},
                                   {"SLURM_TASKS_PER_NODE", "2"}});
  CHECK(in_script.local == LocalRank{1, 2});
  REQUIRE(in_script.findings.size() == 2);
  CHECK(in_script.findings[1].severity == Severity::note);
}

TEST_CASE("LOCAL_RANK is torchrun's only with its size beside it", "[local_rank]") {
  auto const plain = found_in({{"LOCAL_RANK", "1"}, {"LOCAL_SIZE", "2"}});
  CHECK(plain.launcher->launcher == Launcher::plain);
  CHECK(plain.local == LocalRank{1, 2});
  // So an inherited LOCAL_RANK does not outrank a launcher.
  auto const inherited = found_in({{"LOCAL_RANK", "0"}, {"SLURM_LOCALID", "1"}});
  CHECK(inherited.launcher->launcher == Launcher::slurm);
  CHECK(inherited.local == LocalRank{1, {}});
  CHECK(inherited.findings.size() == 2);
}

TEST_CASE("a rank that cannot be read is an error, and no other launcher is believed instead", "[local_rank]") {
  auto const text = GENERATE(as<std::string>{}, "", " ", " 1", "1 ", "+1", "-1", "1.0", "0x1", "one", "1,2", "1048576",
                             "4294967296", "99999999999999999999999", "\xff");
  CAPTURE(text);
  for (cuenv::LauncherRow const& row : cuenv::launchers) {
    CAPTURE(row.name);
    auto variables = variables_of(row, 1, 4);
    variables[std::string{row.rank}] = text;
    if (row.rank != "LOCAL_RANK") variables["LOCAL_RANK"] = "1";
    auto const found = found_in(variables);
    REQUIRE(found.launcher != nullptr);
    CHECK(found.launcher->launcher == row.launcher);
    CHECK_FALSE(found.local);
    REQUIRE(found.findings.size() == 1);
    CHECK(found.findings[0].severity == Severity::error);
    CHECK(found.findings[0].code == "local_rank.malformed");
    CHECK(found.findings[0].subject == row.rank);
    CHECK(found.findings[0].value == text);
    CHECK_FALSE(found.findings[0].fix.empty());
  }
}

TEST_CASE("an unreadable rank of an outer launcher is a warning", "[local_rank]") {
  auto const found = found_in({{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"SLURM_LOCALID", "x"}});
  CHECK(found.local == LocalRank{1, {}});
  REQUIRE(found.findings.size() == 2);
  CHECK(to_string(found.findings[1]) ==
        "warning: SLURM_LOCALID=x: it cannot be read, and OMPI_COMM_WORLD_LOCAL_RANK counts\n"
        "  fix: remove the variable");
}

TEST_CASE("a rank beyond the size is an error", "[local_rank]") {
  auto const found = found_in({{"MPI_LOCALRANKID", "4"}, {"MPI_LOCALNRANKS", "4"}});
  CHECK_FALSE(found.local);
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].severity == Severity::error);
  CHECK(found.findings[0].code == "local_rank.beyond_size");
  CHECK_THAT(found.findings[0].what, ContainsSubstring("4 by MPI_LOCALNRANKS=4"));
}

TEST_CASE("a size that cannot be read leaves the rank, with a warning", "[local_rank]") {
  auto const text = GENERATE(as<std::string>{}, "", "0", "-4", "four", "4 ", "4294967296", "2(x3", "2x3)", "2(3)",
                             "2()", "2(x0)", "(x2)", "2(x2)3", ",", "2,,2", "2,");
  CAPTURE(text);
  for (cuenv::LauncherRow const& row : cuenv::launchers) {
    if (text == "2," && row.launcher == Launcher::slurm) continue;  // a comma more does no harm
    CAPTURE(row.name);
    auto variables = variables_of(row, 0, 4);
    variables[std::string{row.size}] = text;
    auto const found = found_in(variables);
    CHECK(found.local == LocalRank{0, {}});
    REQUIRE(found.findings.size() == 2);
    CHECK(found.findings[0].severity == Severity::warning);
    CHECK(found.findings[0].code == "local_rank.malformed_size");
    CHECK(found.findings[0].subject == row.size);
  }
}

TEST_CASE("Slurm's list of tasks is read for this node", "[local_rank]") {
  struct Example {
    char const* tasks;
    char const* node;  // "" for not set
    std::optional<int> size;
    std::size_t warnings;
  };
  auto const example = GENERATE(values<Example>({{"4", "0", 4, 0},
                                                 {"4", "", 4, 0},
                                                 {"4(x8)", "7", 4, 0},
                                                 {"4(x8)", "", 4, 0},
                                                 {"2(x3),1", "0", 2, 0},
                                                 {"2(x3),1", "2", 2, 0},
                                                 {"2(x3),1", "3", 1, 0},
                                                 {"3,2(x2),3", "3", 3, 0},
                                                 {"2(x3),1", "4", {}, 1},
                                                 {"2(x3),1", "", {}, 1},
                                                 {"2(x3),1", "x", {}, 1}}));
  CAPTURE(example.tasks, example.node);
  Variables variables{{"SLURM_STEP_ID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_STEP_TASKS_PER_NODE", example.tasks}};
  if (*example.node != '\0') variables["SLURM_NODEID"] = example.node;
  auto const found = found_in(variables);
  CHECK(found.local == LocalRank{0, example.size});
  CHECK(found.findings.size() == 1 + example.warnings);
}

TEST_CASE("Flux tells the size of a job of one node", "[local_rank]") {
  CHECK(found_in({{"FLUX_TASK_LOCAL_ID", "1"}, {"FLUX_JOB_SIZE", "8"}, {"FLUX_JOB_NNODES", "2"}}).local ==
        LocalRank{1, {}});
}

TEST_CASE("the order can be chosen, and a launcher that is not in it is not asked", "[local_rank]") {
  DescribedEnvironment const environment{
      {{"OMPI_COMM_WORLD_LOCAL_RANK", "junk"}, {"MPI_LOCALRANKID", "1"}, {"SLURM_LOCALID", "2"}}};
  auto const slurm_first = find_local_rank(environment, {Launcher::slurm, Launcher::hydra});
  CHECK(slurm_first.local == LocalRank{2, {}});
  REQUIRE(slurm_first.findings.size() == 2);
  CHECK(slurm_first.findings[1].subject == "MPI_LOCALRANKID");
  CHECK(find_local_rank(environment, {}).launcher == nullptr);
  CHECK(cuenv::launcher_order().front() == Launcher::torchrun);
  CHECK(cuenv::launcher_order().back() == Launcher::plain);
}
