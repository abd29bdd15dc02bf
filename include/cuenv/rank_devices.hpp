#ifndef CUENV_RANK_DEVICES_HPP
#define CUENV_RANK_DEVICES_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/environment.hpp>
#include <cuenv/explain_visibility.hpp>
#include <cuenv/gpu.hpp>
#include <cuenv/local_rank.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/plan.hpp>
#include <cuenv/settings.hpp>
#include <cuenv/system.hpp>
#include <cuenv/this_machine.hpp>
#include <cuenv/variables.hpp>
#include <cuenv/version.hpp>
#include <cuenv/visibility.hpp>
#include <cuenv/visible_devices.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// One process per GPU: which of the GPUs that are visible now are this rank's. A pure decision.

CUENV_NAMESPACE_BEGIN

/// What to do with more ranks than there are GPUs for.
enum class TooManyRanks {
  share,  ///< begin with the first GPUs again (round robin), with a warning that names who shares
  refuse  ///< an error
};

/// More than any machine has, so that counting never overflows.
inline constexpr int most_gpus_per_rank = 1024;

/// How the visible GPUs are dealt to the ranks of a node: rank 0 gets the first `gpus_per_rank`, rank 1 the next.
struct RankPolicy {
  /// From 1 to `most_gpus_per_rank`.
  int gpus_per_rank = 1;
  TooManyRanks too_many = TooManyRanks::share;  ///< for a rank beyond the last GPU
};

namespace detail {

/// "0", "0 and 1", "0, 1 and 2"; of a long list the beginning and the number: "0, 1, 2, 3, 4, 5, 6, 7 and 92 more".
[[nodiscard]] inline std::string enumerate_in_words(std::vector<int> const& numbers) {
  constexpr std::size_t most = 8;
  std::size_t const shown = numbers.size() > most + 1 ? most : numbers.size();
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    bool const last = i + 1 == numbers.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + std::to_string(numbers[i]);
  }
  if (shown < numbers.size()) text += " and " + std::to_string(numbers.size() - shown) + " more";
  return text;
}

/// "logical GPU 1 (GPU-c07e88d2-...)", or several of them in order; UUIDs where they are known.
[[nodiscard]] inline std::string describe_logical(std::vector<LogicalIndex> const& devices,
                                                  Visibility const& visibility, Machine const& machine) {
  std::vector<int> numbers;
  std::string uuids;
  for (LogicalIndex const index : devices) {
    numbers.push_back(index.value);
    auto const position = static_cast<std::size_t>(index.value);
    if (!visibility.known || position >= visibility.devices.size()) continue;
    VisibleDevice const& device = visibility.devices[position];
    if (!device.physical || device.mig) continue;
    auto const& uuid = machine.gpus[static_cast<std::size_t>(device.physical->value)].uuid;
    if (uuid) uuids += (uuids.empty() ? "GPU-" : ", GPU-") + to_string(*uuid);
  }
  return std::string{"logical GPU"} + (numbers.size() == 1 ? " " : "s ") + enumerate_in_words(numbers) +
         (uuids.empty() ? "" : " (" + uuids + ")");
}

/// The ranks that get the same GPUs as `local`, itself included. Where the size is not known: those up to this one.
[[nodiscard]] inline std::vector<int> ranks_that_share(LocalRank const& local, int groups) {
  std::vector<int> ranks;
  int const end = local.size.value_or(local.rank + 1);
  for (int rank = local.rank % groups; rank < end; rank += groups) ranks.push_back(rank);
  return ranks;
}

/// The decision, added to `settings` together with its reasons.
inline void deal_devices(Settings& settings, LocalRank const& local, RankPolicy const& policy,
                         Environment const& environment, Machine const& machine) {
  DeviceTexts const now = device_texts(environment);
  auto const add = [&](Severity severity, std::string_view code, std::string what, std::string fix) {
    settings.add_problem({severity, code, std::string{visible_devices_name}, now.visible.value_or(""),
                          Diagnostic::no_offset, std::move(what), "", std::move(fix)});
  };
  auto const refuse = [&](std::string_view code, std::string what, std::string fix) {
    add(Severity::error, code, std::move(what), std::move(fix));
  };
  int const each = policy.gpus_per_rank;
  if (local.rank < 0 || local.rank >= local.size.value_or(most_local_ranks) || local.size > most_local_ranks) {
    return refuse("rank_devices.no_such_rank", "there is no " + to_string(local),
                  "count the ranks of this node, from 0");
  }
  if (each < 1 || each > most_gpus_per_rank) {
    return refuse("rank_devices.no_such_policy", std::to_string(each) + " is no number of GPUs for a rank",
                  "give each rank 1 to " + std::to_string(most_gpus_per_rank) + " GPUs");
  }

  Visibility const visibility = resolve_visibility(now.views(), machine);
  std::optional<std::size_t> count;
  if (visibility.known) count = visibility.devices.size();
  // Without the machine, a list of one entry leaves one GPU at most; what a longer one leaves cannot be said.
  if (!visibility.known && now.visible && now.visible->find(',') == std::string::npos) count = 1;

  if (now.visible && count == static_cast<std::size_t>(each)) {
    std::string const gpus = std::to_string(each) + (each == 1 ? " GPU" : " GPUs");
    add(Severity::note, "rank_devices.bound_by_launcher",
        to_string(local) + " keeps what this list leaves visible, " + gpus + (visibility.known ? "" : " at most") +
            (local.size == 1 ? "" : ": the launcher's choice, to which the rank is not added"),
        "");
    return;
  }
  if (now.visible && !count) {
    return refuse("rank_devices.unknown_list",
                  "what this list leaves visible is not known, so " + to_string(local) + " cannot choose among it" +
                      (visibility.reason_unknown.empty() ? "" : ": " + std::string{visibility.reason_unknown}),
                  "remove the variable, or let the launcher bind a GPU to each rank");
  }
  if (count == std::size_t{0}) {
    for (Diagnostic& finding : explain(visibility, now.views(), machine)) settings.add_problem(std::move(finding));
    return refuse("rank_devices.no_gpu", "no GPU is visible to " + to_string(local), "make GPUs visible to the ranks");
  }
  if (count && *count < static_cast<std::size_t>(each)) {
    return refuse("rank_devices.too_few_gpus",
                  to_string(local) + " wants " + std::to_string(each) + " GPUs, and " + std::to_string(*count) +
                      (*count == 1 ? " is" : " are") + " visible",
                  "give each rank at most " + std::to_string(*count));
  }

  // Groups of GPUs, dealt in turn. Without a number of GPUs there is always one more.
  int const groups = count ? static_cast<int>(*count) / each : local.rank + 1;
  int const last_rank = local.size ? *local.size - 1 : local.rank;
  std::vector<LogicalIndex> devices;
  for (int i = 0; i < each; ++i) devices.push_back(logical(local.rank % groups * each + i));
  std::string const chosen = describe_logical(devices, visibility, machine);

  if (count && last_rank >= groups) {
    std::string what =
        local.size ? "there are " + std::to_string(*local.size) + " ranks" : "there is a " + to_string(local);
    what += " on this node and GPUs for " + std::to_string(groups);
    if (policy.too_many == TooManyRanks::refuse) {
      return refuse("rank_devices.too_many_ranks", std::move(what),
                    "start at most " + std::to_string(groups) + (groups == 1 ? " rank" : " ranks") +
                        " on a node, or let ranks share");
    }
    auto const sharing = ranks_that_share(local, groups);
    if (sharing.size() > 1) {
      what += ": local ranks " + enumerate_in_words(sharing) + " share " + chosen;
      int const idle = static_cast<int>(*count) - groups * each;
      if (idle > 0) what += ", while " + std::to_string(idle) + " of " + std::to_string(*count) + " GPUs stay idle";
      settings.set(visible_devices, VisibleDevices{devices}, Precedence::refine);
      add(Severity::warning, "rank_devices.shared", std::move(what),
          "start at most " + std::to_string(groups) + (groups == 1 ? " rank" : " ranks") + " on this node");
      return;
    }
  }
  settings.set(visible_devices, VisibleDevices{devices}, Precedence::refine);
  if (count) {
    add(Severity::note, "rank_devices.chosen",
        to_string(local) + " takes " + chosen + " of " + std::to_string(*count) + " visible", "");
  } else {
    add(Severity::warning, "rank_devices.unchecked",
        to_string(local) + " takes " + chosen + ", and how many GPUs are visible is not known",
        "start no more ranks than the node has GPUs for: one too many finds no device, or too few");
  }
}

}  // namespace detail

/// The settings that give a rank its GPUs among those that are visible now, by logical index and with
/// `Precedence::refine`. What was decided and why is in `problems()`, and so in the report of the session that uses the
/// settings: a note of the choice; a warning that names the ranks that share a GPU; an error, which a session refuses,
/// where there is nothing to choose or `TooManyRanks::refuse` says so.
///
/// Where CUDA_VISIBLE_DEVICES leaves exactly `gpus_per_rank` GPUs, the launcher has chosen already: nothing is set, and
/// a note says so. Where the machine is unknown, the number of GPUs is too:
/// then the choice is not checked, which a warning says, and a list of several GPUs is not chosen from.
///
/// `settings` are others to add the choice to; a list of GPUs among them is replaced. Asked again in an environment
/// with the choice in force, in a child say, it leaves it so. The machine is by default this one, for which the driver
/// library is loaded and CUDA not started. Nothing is thrown but bad_alloc. Thread-safe unless another thread writes
/// the environment.
[[nodiscard]] inline Settings settings_for_rank(LocalRank const& local, RankPolicy const& policy = {},
                                                Environment const& environment = process_environment,
                                                Machine const& machine = read_this_machine(), Settings settings = {}) {
  detail::deal_devices(settings, local, policy, environment, machine);
  return settings;
}

/// The same for what the launchers' variables say: `settings_for_rank(find_local_rank())`. Their findings come first in
/// `problems()`; where no launcher says anything there is an error.
[[nodiscard]] inline Settings settings_for_rank(FoundLocalRank const& found, RankPolicy const& policy = {},
                                                Environment const& environment = process_environment,
                                                Machine const& machine = read_this_machine(), Settings settings = {}) {
  for (Diagnostic const& finding : found.findings) settings.add_problem(finding);
  if (found.local) detail::deal_devices(settings, *found.local, policy, environment, machine);
  if (found.launcher == nullptr) {
    settings.add_problem({Severity::error, "local_rank.not_found", "environment", "", Diagnostic::no_offset,
                          "no launcher's variable says which local rank this process is", "",
                          "start it with mpirun, mpiexec, srun or torchrun, or give rank and size yourself"});
  }
  return settings;
}

CUENV_NAMESPACE_END

#endif  // CUENV_RANK_DEVICES_HPP
