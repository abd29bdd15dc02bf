// A program with a thread before main, as one that is linked with OpenBLAS: a session works where nothing has to
// change; where something has to, it is refused on a C library with a dangerous setenv, unless the danger is accepted;
// and the program can be started anew with the settings in place, or says why not.
#include "expect.hpp"
#include "simulated_state.hpp"

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

namespace {

std::atomic<bool> stop{false};
std::thread worker{[] {
  while (!stop) std::this_thread::yield();
}};

/// The program cannot be started anew with these settings, for that reason.
void expect_no_restart(cuenv::Settings const& settings, std::string const& reason) {
  auto const error = thrown_by<cuenv::EnvironmentError>([&] { cuenv::restart_with(settings); });
  if (!error) return;
  expect(error->diagnostics().size() == 1, "one finding");
  cuenv::Diagnostic const& finding = error->diagnostics()[0];
  expect(finding.code == "environment.no_restart", "the code is " + std::string{finding.code});
  expect(to_string(finding) == "error: /proc/self/exe: the program cannot be started anew: " + reason +
                                   "\n  fix: start it with the variables set",
         to_string(finding));
}

int finish() {
  stop = true;
  worker.join();
  return failed_expectations;
}

}  // namespace

int main(int argc, char** argv) {
  pthread_setname_np(worker.native_handle(), "early_worker");
  std::string const what = argc > 1 ? argv[1] : "";
  cuenv::Settings settings;
  settings.set(cuenv::cache_disable, true).set(cuenv::visible_devices, {cuenv::physical(1)});
  bool const safe = cuenv::detail::setenv_is_safe_with_threads();

  if (what == "nothing_to_change") {
    cuenv::Session const session;
    expect(session.devices().size() == 2, "a session works");
  } else if (what == "refused") {
    if (safe) {
      cuenv::Session const session{settings};
      expect(is_set_to("CUDA_CACHE_DISABLE", "1"), "this C library is safe: the settings are applied");
      return finish();
    }
    auto const error = thrown_by<cuenv::EnvironmentError>([&] { cuenv::Session const session{settings}; });
    if (error) {
      expect(error->diagnostics()[0].code == "environment.threads", "the code is that of threads");
      expect_text(error->what(), "early_worker");
      expect_text(error->what(), "restart_with");
    }
    expect(is_set_to("CUDA_CACHE_DISABLE", std::nullopt), "nothing is set");
    cuenv::Session const session{settings, cuenv::despite_threads};
    expect(is_set_to("CUDA_CACHE_DISABLE", "1"), "the danger can be accepted");
    expect(session.devices().size() == 1, "and the settings are in force");
  } else if (what == "restart") {
    bool const again = std::getenv("CUDA_CACHE_DISABLE") != nullptr;
    cuenv::restart_with(settings);
    expect(again, "the program was started anew, and the second time restart_with returns");
    expect(argc == 4 && std::string{argv[2]} == "an argument" && std::string{argv[3]} == "-",
           "its arguments are the same");
    cuenv::Session const session{settings};
    expect(session.devices().size() == 1 && session.devices()[0].physical == cuenv::physical(1),
           "the settings are in force");
    expect(session.report().variables.size() == 2, "both settings are reported");
    for (auto const& variable : session.report().variables) {
      expect(variable.outcome == cuenv::Outcome::already_set, variable.name + " was set already");
    }
  } else if (what == "no_restart") {
    // Each start anew would swap the GPUs again, without an end; or logical GPU 1 would be chosen out of one.
    set_variable("CUDA_VISIBLE_DEVICES", "0,1");
    for (auto const& chosen : {cuenv::VisibleDevices{cuenv::logical(1), cuenv::logical(0)}, {cuenv::logical(1)}}) {
      cuenv::Settings relative;
      relative.set(cuenv::visible_devices, chosen, cuenv::Precedence::refine);
      expect_no_restart(relative,
                        "the settings would not be in force then either, such as logical GPU 1 where it is the only "
                        "one left");
    }
    expect(is_set_to("CUDA_VISIBLE_DEVICES", "0,1"), "nothing has changed");
    // More than the system takes for a new program.
    set_variable("CUENV_TEST_LONG", std::string(std::size_t{1} << 22, 'x').c_str());
    expect_no_restart(settings, std::strerror(E2BIG));
    expect(is_set_to("CUDA_CACHE_DISABLE", std::nullopt), "nothing is set");
  } else {
    expect(false, "an argument is missing");
  }
  return finish();
}
