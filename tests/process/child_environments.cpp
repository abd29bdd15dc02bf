// A parent that starts a worker on each GPU, with its own environment and its own session untouched.
#include "expect.hpp"

#ifdef _WIN32
#include <process.h>
#else
#include <spawn.h>
#include <sys/wait.h>
#endif

#include <string>
#include <vector>

namespace {

/// The exit code of a worker that sees exactly the GPU with this physical index.
constexpr int saw_gpu = 100;

int work() {
  cuenv::Session const session;
  if (session.devices().size() != 1) return static_cast<int>(session.devices().size());
  return saw_gpu + session.devices()[0].physical.value_or(cuenv::physical(99)).value;
}

#ifdef _WIN32

using Worker = std::intptr_t;

Worker start_worker(std::vector<std::string> environment) {
  std::string const program = cuenv::loaded_files().front();
  std::vector<std::string> arguments{program, "worker"};
  Worker const worker = ::_spawnve(_P_NOWAIT, program.c_str(), cuenv::pointers_to(arguments).data(),
                                   cuenv::pointers_to(environment).data());
  expect(worker != -1, "a worker is started");
  return worker;
}

int exit_code_of(Worker worker) {
  int code = -1;
  return ::_cwait(&code, worker, 0) == worker ? code : -1;
}

#else

using Worker = pid_t;

Worker start_worker(std::vector<std::string> environment) {
  std::vector<std::string> arguments{"/proc/self/exe", "worker"};
  Worker worker = 0;
  int const error = posix_spawn(&worker, arguments[0].c_str(), nullptr, nullptr, cuenv::pointers_to(arguments).data(),
                                cuenv::pointers_to(environment).data());
  expect(error == 0, "a worker is started");
  return worker;
}

int exit_code_of(Worker worker) {
  int status = 0;
  return waitpid(worker, &status, 0) == worker && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif

}  // namespace

int main(int argc, char**) {
  if (argc > 1) return work();
  cuenv::Session const own;
  auto const before = cuenv::process_environment.all();
  auto const machine = cuenv::read_machine(own.report().simulated_root);
  expect(machine.gpus.size() == 2, "the machine has two GPUs");

  std::vector<Worker> workers;
  for (int rank = 0; rank < 2; ++rank) {
    auto settings = settings_for_rank(cuenv::LocalRank{rank, 2}, {}, cuenv::process_environment, machine);
    settings.set(cuenv::launch_blocking, true);
    cuenv::Diagnostics findings;
    workers.push_back(start_worker(environment_for(settings, cuenv::process_environment, machine, &findings)));
    expect_text(to_string(findings), "local rank " + std::to_string(rank) + " of 2 takes logical GPU");
  }
  for (int rank = 0; rank < 2; ++rank) {
    int const code = exit_code_of(workers[static_cast<std::size_t>(rank)]);
    expect(code == saw_gpu + rank, "worker " + std::to_string(rank) + " sees its GPU alone: " + std::to_string(code));
  }

  expect(cuenv::process_environment.all() == before, "the own environment is as it was");
  expect(is_set_to("CUDA_VISIBLE_DEVICES", {}), "CUDA_VISIBLE_DEVICES is not set here");
  expect(own.devices().size() == 2, "the own session sees both GPUs");

  cuenv::Settings wrong;
  wrong.set_text("CUDA_VISIBLE_DEVICES", "0,0");
  auto const error = thrown_by<cuenv::SettingsError>([&] { (void)environment_for(wrong); });
  if (error) expect_text(error->what(), "CUDA_VISIBLE_DEVICES=0,0");
  return failed_expectations;
}
