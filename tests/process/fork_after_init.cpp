// A process that was forked from one with CUDA cannot use it, and is told so. Forked before, both can.
#include "expect.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace {

/// The exit code of a child that runs `body`.
template <class Body>
int in_child(Body const& body) {
  ::pid_t const child = ::fork();
  if (child == 0) {
    failed_expectations = 0;
    body();
    std::fflush(nullptr);
    ::_exit(failed_expectations);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

int main() {
  expect(in_child([] {
           cuenv::Session const session;
           expect(session.devices().size() == 2, "a child that was forked before has CUDA");
         }) == 0,
         "the child forked before is content");
  cuenv::Session const session;
  expect(session.devices().size() == 2, "and so has its parent");
  expect(in_child([] {
           cuenv::Settings settings;
           settings.set(cuenv::cache_disable, true);
           auto const error = thrown_by<cuenv::DriverError>([&] { cuenv::Session const inner{settings}; });
           expect(driver_state(cuenv::open_driver_library(cuenv::DriverOpen::only_if_loaded)) ==
                      cuenv::DriverState::forked,
                  "the state is known before anything is asked");
           expect(error && error->code() == 3, "the code is 3");
           if (error) expect_text(error->what(), "forked");
           expect(is_set_to("CUDA_CACHE_DISABLE", std::nullopt), "the environment is as before");
         }) == 0,
         "the child forked after is told");
  expect(session.load_check_bytes("no image", cuenv::logical(0)).code == 200, "the parent goes on");
  return failed_expectations;
}
