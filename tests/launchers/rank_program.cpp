// What a program with one process per GPU does: rank_program [GPUS_PER_RANK]. It takes its rank from the launcher and
// prints which GPUs it got and why.
#include <cuenv/cuenv.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  std::string text;
  int code = EXIT_SUCCESS;
  try {
    cuenv::RankPolicy policy;
    if (argc > 1) policy.gpus_per_rank = std::atoi(argv[1]);
    auto const found = cuenv::find_local_rank();
    cuenv::Session const session{cuenv::settings_for_rank(found, policy)};
    for (cuenv::Device const& device : session.devices()) {
      text += to_string(*found.local) + ": " + to_string(device) + '\n';
    }
    for (cuenv::Diagnostic const& finding : session.report().findings) text += to_string(finding) + '\n';
  } catch (cuenv::Error const& error) {
    text += std::string{error.what()} + '\n';
    code = EXIT_FAILURE;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);  // in one piece, so that ranks do not mix their lines
  return code;
}
