#ifndef CUENV_LOCAL_RANK_HPP
#define CUENV_LOCAL_RANK_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/environment.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Which of the processes on this node is this one, by the word of whoever launched it. A pure function of an
// environment.

CUENV_NAMESPACE_BEGIN

/// More processes than any node has, so that counting never overflows.
inline constexpr int most_local_ranks = 1 << 20;

/// This process among those of its job on this node.
struct LocalRank {
  /// From 0, below `most_local_ranks`.
  int rank = 0;
  /// How many there are, from 1 to `most_local_ranks`; empty where the launcher does not say.
  std::optional<int> size = {};
};

[[nodiscard]] constexpr bool operator==(LocalRank const& a, LocalRank const& b) noexcept {
  return a.rank == b.rank && a.size == b.size;
}
[[nodiscard]] constexpr bool operator!=(LocalRank const& a, LocalRank const& b) noexcept { return !(a == b); }

/// "local rank 1 of 4", or "local rank 1" where the size is not known.
[[nodiscard]] inline std::string to_string(LocalRank const& local) {
  return "local rank " + std::to_string(local.rank) + (local.size ? " of " + std::to_string(*local.size) : "");
}

/// Who starts several processes on a node.
enum class Launcher { torchrun, open_mpi, mvapich, hydra, pals, pmi, pmix, flux, slurm, plain };

namespace detail {

/// A size in a variable of its own.
[[nodiscard]] inline std::optional<int> read_local_size(Environment const& environment, std::string_view name,
                                                        Diagnostics& findings) {
  auto const text = environment.get(std::string{name});
  if (!text) return std::nullopt;
  auto const size = parse_decimal(*text, most_local_ranks);
  if (size && *size > 0) return static_cast<int>(*size);
  findings.push_back({Severity::warning, "local_rank.malformed_size", std::string{name}, *text, Diagnostic::no_offset,
                      "it is no number of processes, so how many ranks this node has is not known", "",
                      "remove the variable, or give its number from 1 up"});
  return std::nullopt;
}

/// Slurm's "2(x3),1": the tasks of each node of the step, entry n for the node with SLURM_NODEID=n. Where all nodes
/// have as many, the node need not be known. A batch script is a job without a step, and the one process of its node.
[[nodiscard]] inline std::optional<int> read_slurm_size(Environment const& environment, std::string_view name,
                                                        Diagnostics& findings) {
  auto const text = environment.get(std::string{name});
  bool const batch_script = environment.get("SLURM_JOB_ID") && !environment.get("SLURM_STEP_ID");
  if (batch_script) return 1;
  if (!text) return std::nullopt;
  auto const node_text = environment.get("SLURM_NODEID");
  // Numbers and not optionals: of those g++ 12 warns at -O1 and above that they may be used uninitialised.
  std::uint64_t const node = node_text ? parse_decimal(*node_text).value_or(UINT64_MAX) : UINT64_MAX;
  bool const node_known = node != UINT64_MAX;
  std::optional<std::uint64_t> here;
  std::optional<std::uint64_t> everywhere;
  std::uint64_t nodes = 0;
  bool alike = true;
  bool malformed = text->empty();
  for (std::string_view rest = *text; !rest.empty();) {
    std::string_view entry = take_until(rest, ',');
    bool const repeated = ends_with(entry, ")");
    if (repeated) entry.remove_suffix(1);
    std::uint64_t const tasks = parse_decimal(take_until(entry, '('), most_local_ranks).value_or(0);
    bool const has_times = repeated && starts_with(entry, "x");
    std::uint64_t const times = has_times ? parse_decimal(entry.substr(1), most_local_ranks).value_or(0)
                                : entry.empty() && !repeated ? 1
                                                             : 0;
    if (tasks == 0 || times == 0) {
      malformed = true;
      break;
    }
    if (node_known && node >= nodes && node - nodes < times) here = tasks;
    alike = alike && (!everywhere || everywhere == tasks);
    everywhere = tasks;
    nodes += times;
  }
  if (!malformed && here) return static_cast<int>(*here);
  if (!malformed && !node_known && alike) return static_cast<int>(*everywhere);
  std::string const which = node_text ? "SLURM_NODEID=" + *node_text : "this node, as SLURM_NODEID is not set";
  findings.push_back({Severity::warning, "local_rank.malformed_size", std::string{name}, *text, Diagnostic::no_offset,
                      malformed ? "it is no list of numbers of processes such as 2(x3),1, so how many ranks this node "
                                  "has is not known"
                                : "it does not tell the number of processes of " + which,
                      "", "give the rank and the size yourself"});
  return std::nullopt;
}

/// Flux tells the size of the job, which is the node's where there is one node.
[[nodiscard]] inline std::optional<int> read_flux_size(Environment const& environment, std::string_view name,
                                                       Diagnostics& findings) {
  if (environment.get("FLUX_JOB_NNODES") != std::optional<std::string>{"1"}) return std::nullopt;
  return read_local_size(environment, name, findings);
}

}  // namespace detail

/// What is known of a launcher.
struct LauncherRow {
  Launcher launcher;  ///< the key of the row
  /// What people call it.
  std::string_view name;
  /// The variable with the rank on this node, from 0.
  std::string_view rank;
  /// The variable from which `read_size` takes the number of processes on this node.
  std::string_view size;
  /// The size, from 1 to `most_local_ranks`; nothing where it is not told, with a finding where it cannot be read.
  std::optional<int> (*read_size)(Environment const& environment, std::string_view name, Diagnostics& findings);
  /// The rank is this launcher's only where this one is set too; "" where the rank alone shows it.
  std::string_view shown_by;
  /// Where the meaning of the variables is from: a launcher that was tried, or a document.
  std::string_view source;
};

/// Every launcher, the innermost first: a launcher that may be started by another comes before it.
inline constexpr LauncherRow launchers[] = {
    {Launcher::torchrun, "torchrun", "LOCAL_RANK", "LOCAL_WORLD_SIZE", detail::read_local_size, "LOCAL_WORLD_SIZE",
     "tried: PyTorch 1.13.1; torch/distributed/elastic/agent/server/local_elastic_agent.py"},
    {Launcher::open_mpi, "Open MPI", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
     detail::read_local_size, "",
     "tried: Open MPI 4.1.4; docs.open-mpi.org, Environment variables set for MPI applications"},
    {Launcher::mvapich, "MVAPICH", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE", detail::read_local_size,
     "", "the source of mpispawn in MVAPICH2; not tried"},
    {Launcher::hydra, "Hydra (MPICH, Intel MPI)", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", detail::read_local_size, "",
     "tried: MPICH 4.0.2; Intel MPI by its Developer Reference, not tried"},
    {Launcher::pals, "PALS", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE", detail::read_local_size, "",
     "not verified: scripts for HPE Cray machines use them so"},
    {Launcher::pmi, "Cray PMI", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE", detail::read_local_size, "",
     "not verified: scripts for HPE Cray machines use them so"},
    {Launcher::pmix, "PMIx", "PMIX_LOCAL_RANK", "PMIX_LOCAL_SIZE", detail::read_local_size, "",
     "not verified: scripts use them; in PMIx itself these are keys and no variables, and Open MPI 4.1.4 sets neither"},
    {Launcher::flux, "Flux", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_SIZE", detail::read_flux_size, "",
     "flux-core: flux-environment(7); not tried"},
    // SLURM_NTASKS_PER_NODE is no size: with --ntasks it is a maximum (srun(1)).
    {Launcher::slurm, "Slurm", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE", detail::read_slurm_size, "",
     "tried: Slurm 22.05.8; srun(1)"},
    {Launcher::plain, "a plain name", "LOCAL_RANK", "LOCAL_SIZE", detail::read_local_size, "",
     "a convention: several launchers and many scripts set them"},
};

/// The row of a launcher; every enumerator has one.
[[nodiscard]] constexpr LauncherRow const& find_launcher(Launcher launcher) noexcept {
  return launchers[static_cast<std::size_t>(launcher)];
}

/// Every launcher in the order of the table.
[[nodiscard]] inline std::vector<Launcher> launcher_order() {
  std::vector<Launcher> order;
  for (LauncherRow const& row : launchers) order.push_back(row.launcher);
  return order;
}

/// What the launchers' variables say.
struct FoundLocalRank {
  /// Empty where no launcher says anything, and where the word of the innermost one cannot be read.
  std::optional<LocalRank> local;
  /// The innermost launcher that says something; null where none does.
  LauncherRow const* launcher = nullptr;
  /// Which variable counts, what contradicts it, and what cannot be read. There is an error among them exactly where
  /// there is a launcher and no rank.
  Diagnostics findings;
};

namespace detail {

/// What one launcher says; an error is added where it cannot be read.
[[nodiscard]] inline std::optional<LocalRank> read_local_rank(Environment const& environment, LauncherRow const& row,
                                                              std::string const& text, Diagnostics& findings) {
  auto const refuse = [&](std::string_view code, std::string what) {
    findings.push_back({Severity::error, code, std::string{row.rank}, text, Diagnostic::no_offset, std::move(what), "",
                        "remove the variable where another one has the rank, or give rank and size yourself"});
    return std::nullopt;
  };
  auto const rank = parse_decimal(text, most_local_ranks - 1);
  if (!rank) {
    return refuse("local_rank.malformed", text.empty() ? "it is set and empty, so the local rank is not known"
                                                       : "it is no number from 0 up, so the local rank is not known");
  }
  LocalRank local{static_cast<int>(*rank), row.read_size(environment, row.size, findings)};
  if (local.size && local.rank >= *local.size) {
    std::string const size_text = environment.get(std::string{row.size}).value_or("");
    return refuse("local_rank.beyond_size", "it is not below the number of ranks on this node, " +
                                                std::to_string(*local.size) + " by " + std::string{row.size} + "=" +
                                                size_text);
  }
  return local;
}

}  // namespace detail

/// Finds rank and size in the variables of the launchers in `order`; a launcher that is not in it is not asked. The
/// first that says anything counts. Its word is not replaced by another's where it cannot be read: that would put the
/// rank on another rank's GPU. What the others say differently is reported, as a warning or, where the other launched
/// one process that can have been this one's launcher, as a note. Nothing is thrown but bad_alloc. Thread-safe unless
/// another thread writes the environment.
[[nodiscard]] inline FoundLocalRank find_local_rank(Environment const& environment = process_environment,
                                                    std::vector<Launcher> const& order = launcher_order()) {
  FoundLocalRank found;
  std::vector<std::string_view> seen;
  for (Launcher const launcher : order) {
    LauncherRow const& row = find_launcher(launcher);
    auto const text = environment.get(std::string{row.rank});
    if (!text || (!row.shown_by.empty() && !environment.get(std::string{row.shown_by}))) continue;
    bool again = false;
    for (std::string_view const earlier : seen) again = again || earlier == row.rank;
    if (again) continue;
    seen.push_back(row.rank);

    Diagnostics findings;
    auto const local = detail::read_local_rank(environment, row, *text, findings);
    if (found.launcher == nullptr) {
      found.launcher = &row;
      found.local = local;
      if (local) {
        findings.push_back({Severity::note, "local_rank.found", std::string{row.rank}, *text, Diagnostic::no_offset,
                            "this is " + to_string(*local) + ", by the word of " + std::string{row.name}, "", ""});
      }
      append(found.findings, std::move(findings));
      continue;
    }
    std::string const counts = std::string{found.launcher->rank} + " counts";
    if (!local) {
      for (Diagnostic& finding : findings) {
        finding.severity = Severity::warning;
        finding.what = "it cannot be read, and " + counts;
        finding.fix = "remove the variable";
      }
      append(found.findings, std::move(findings));
    } else if (found.local && (local->rank != found.local->rank ||
                               (local->size && found.local->size && local->size != found.local->size))) {
      bool const outer = local->rank == 0 && local->size == 1;
      found.findings.push_back({outer ? Severity::note : Severity::warning, "local_rank.contradiction",
                                std::string{row.rank}, *text, Diagnostic::no_offset,
                                std::string{row.name} + " says that this is " + to_string(*local) + ", and " + counts +
                                    ": " + to_string(*found.local) + " by the word of " +
                                    std::string{found.launcher->name},
                                "",
                                outer ? ""
                                      : "if the other is right, remove " + std::string{found.launcher->rank} +
                                            ", or name the launchers to ask"});
    }
  }
  return found;
}

CUENV_NAMESPACE_END

#endif  // CUENV_LOCAL_RANK_HPP
