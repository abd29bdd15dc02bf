// A program with a thread before main, as one that is linked with OpenBLAS: a session works where nothing has to
// change; where something has to, it is refused on a C library with a dangerous setenv, unless the danger is accepted;
// and the program can be started anew with the settings in place.
#include "expect.hpp"
#include "simulated_state.hpp"

#include <pthread.h>

#include <atomic>
#include <thread>

namespace {

std::atomic<bool> stop{false};
std::thread worker{[] {
  while (!stop) std::this_thread::yield();
}};

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
  } else {
    expect(false, "an argument is missing");
  }
  return finish();
}
