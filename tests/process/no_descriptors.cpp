// A process that can open no more files, as one that leaks descriptors: what it cannot read is not taken for absent.
#include <cuenv/diagnose.hpp>
#include <cuenv/diagnosis/redact.hpp>

#include "support/check.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <thread>

namespace {

std::string const reason = "Too many open files";

/// While it lives nothing can be opened.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    int const lowest = ::open("/dev/null", O_RDONLY);
    ::close(lowest);
    ::rlimit const none{static_cast< ::rlim_t>(lowest), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(NoDescriptors const&) = delete;
  NoDescriptors& operator=(NoDescriptors const&) = delete;

 private:
  ::rlimit before_{};
};

bool says_why(cuenv::RungReport const& rung) {
  for (std::string const& unknown : rung.unknown) {
    if (unknown.find(reason) != std::string::npos) return true;
  }
  return false;
}

bool has(cuenv::RungReport const& rung, std::string_view code) {
  for (cuenv::Diagnostic const& finding : rung.findings) {
    if (finding.code == code) return true;
  }
  return false;
}

void nothing_new_is_found(cuenv::DiagnoseOptions const& options) {
  using cuenv::Rung;
  cuenv::Site const site = cuenv::this_site();
  auto const before = cuenv::diagnose(site, options).rungs;
  NoDescriptors const none;
  auto const now = cuenv::diagnose(site, options).rungs;
  check::equal(now.size(), before.size(), "rungs");
  for (std::size_t i = 0; i < now.size() && i < before.size(); ++i) {
    std::string const text = to_string(cuenv::Diagnosis{{now[i]}});
    check::that(!says_why(before[i]), "while files can be opened that is no reason");
    for (cuenv::Diagnostic const& finding : now[i].findings) {
      check::that(finding.severity != cuenv::Severity::error && has(before[i], finding.code),
                  "no finding rests on what was not read: " + text);
    }
    for (Rung const rung : {Rung::gpus, Rung::driver, Rung::toolkit, Rung::jit_cache, Rung::framework, Rung::process}) {
      if (now[i].rung == rung) check::that(says_why(now[i]), "the rung says why it has not seen all: " + text);
    }
  }
}

void threads_are_not_overlooked() {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) std::this_thread::yield();
  });
  {
    NoDescriptors const none;
    auto const threads = cuenv::detail::other_threads();
    check::that(threads.size() == 1 && threads.front().find(reason) != std::string::npos, "there may be other threads");
  }
  check::equal(cuenv::detail::other_threads().size(), std::size_t{1}, "and there is one");
  stop = true;
  other.join();
}

void the_host_is_hidden_all_the_same() {
  char name[256] = "";
  check::that(::gethostname(&name[0], sizeof name - 1) == 0, "this machine has a name");
  NoDescriptors const none;
  cuenv::Redactor redact = cuenv::redactor_of(cuenv::described_site(""));
  check::equal(redact(std::string{"on "} + &name[0]), std::string{"on <host>"}, "the name of the host");
}

}  // namespace

int main() {
  cuenv::DiagnoseOptions options;
  options.python_prefix = "/usr/lib/python3-packages";
  ::setenv("CUDA_CACHE_PATH", "/tmp", 1);
  nothing_new_is_found(options);
  options.pid = ::getpid();
  nothing_new_is_found(options);
  threads_are_not_overlooked();
  the_host_is_hidden_all_the_same();
  return check::result();
}
