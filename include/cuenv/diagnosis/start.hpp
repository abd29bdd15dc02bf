#ifndef CUENV_DIAGNOSIS_START_HPP
#define CUENV_DIAGNOSIS_START_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnosis/rung.hpp>
#include <cuenv/diagnosis/site.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/driver.hpp>
#include <cuenv/result_code.hpp>
#include <cuenv/version.hpp>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#ifndef _WIN32
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

// The last rung: whether CUDA starts. Looked at only when asked, in a process that ends afterwards.

CUENV_NAMESPACE_BEGIN

/// What a start of CUDA gave.
struct StartAnswer {
  /// What cuInit answered, as a CUresult; nothing where there was no answer.
  std::optional<int> cu_init;
  /// For each logical GPU, what making its primary context answered, as a CUresult.
  std::vector<int> contexts;
};

/// Starts CUDA in this process, makes the primary context of each GPU and releases it: for a process that ends
/// afterwards. Takes about a quarter of a second a GPU. Nothing is thrown but bad_alloc.
[[nodiscard]] inline StartAnswer start_cuda_here(DriverApi const& api) {
  StartAnswer answer;
  if (api.init == nullptr || api.device_get_count == nullptr) return answer;
  answer.cu_init = api.init(0);
  int count = 0;
  if (*answer.cu_init != CUDA_SUCCESS || api.device_get_count(&count) != CUDA_SUCCESS) return answer;
  for (int i = 0; i < count && api.device_get != nullptr && api.primary_ctx_retain != nullptr; ++i) {
    CUdevice device = 0;
    CUcontext context = nullptr;
    int code = api.device_get(&device, i);
    if (code == CUDA_SUCCESS) code = api.primary_ctx_retain(&context, device);
    if (code == CUDA_SUCCESS && api.primary_ctx_release != nullptr) (void)api.primary_ctx_release(device);
    answer.contexts.push_back(code);
  }
  return answer;
}

namespace detail {

/// One number a line: what cuInit answered, then what each context answered, then "end".
[[nodiscard]] inline std::string start_as_text(StartAnswer const& answer) {
  if (!answer.cu_init) return "";
  std::string text = std::to_string(*answer.cu_init) + "\n";
  for (int const code : answer.contexts) text += std::to_string(code) + "\n";
  return text + "end\n";
}

/// The reading of that text; no answer where it is cut or something else.
[[nodiscard]] inline StartAnswer start_from_text(std::string_view text) {
  StartAnswer answer;
  while (!text.empty()) {
    std::string_view const line = take_until(text, '\n');
    if (line == "end") return answer;
    auto const code = parse_decimal(line, 1000000);
    if (!code) break;
    if (answer.cu_init) {
      answer.contexts.push_back(static_cast<int>(*code));
    } else {
      answer.cu_init = static_cast<int>(*code);
    }
  }
  return {};
}

}  // namespace detail

/// What an answer means. `without_answer` tells why there is none: "it was ended by signal 11".
[[nodiscard]] inline RungReport report_start(StartAnswer const& answer, std::string const& without_answer) {
  RungReport report;
  report.rung = Rung::start;
  auto const failed = [&](std::string_view code, std::string subject, int result) {
    ResultCode const* const row = find_result_code(result);
    report.findings.push_back({Severity::error, code, std::move(subject), describe_result(result),
                               Diagnostic::no_offset, row == nullptr ? "CUDA fails" : std::string{row->meaning}, "",
                               row == nullptr ? "" : std::string{row->fix}});
  };
  if (!answer.cu_init) {
    report.findings.push_back({Severity::error, "start.no_answer", "cuInit", "", Diagnostic::no_offset,
                               "a process that started CUDA gave no answer: " + without_answer, "",
                               "see dmesg for lines with NVRM or Xid; a process that hangs in the driver often needs "
                               "a reboot"});
    return report;
  }
  report.add_fact("cuInit", describe_result(*answer.cu_init));
  if (*answer.cu_init != CUDA_SUCCESS) failed("start.cuinit_fails", "cuInit", *answer.cu_init);
  for (std::size_t i = 0; i < answer.contexts.size(); ++i) {
    std::string const subject = "context of logical GPU " + std::to_string(i);
    report.add_fact(subject, describe_result(answer.contexts[i]));
    if (answer.contexts[i] != CUDA_SUCCESS) failed("start.context_fails", subject, answer.contexts[i]);
  }
  return report;
}

namespace detail {

[[nodiscard]] inline RungReport start_unknown(std::string why) {
  RungReport report;
  report.rung = Rung::start;
  report.unknown.push_back(std::move(why));
  return report;
}

#ifndef _WIN32
/// Reads until the other end is closed; false where that takes longer than the limit.
[[nodiscard]] inline bool read_until_closed(int descriptor, int limit_milliseconds, std::string& text) {
  constexpr std::size_t longest = 65536;
  while (text.size() < longest) {
    ::pollfd waited{descriptor, POLLIN, 0};
    int const ready = ::poll(&waited, 1, limit_milliseconds);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char bytes[512];
    auto const got = ::read(descriptor, &bytes[0], sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    text.append(&bytes[0], static_cast<std::size_t>(got));
  }
  return true;
}
#endif

}  // namespace detail

/// Starts CUDA in a child of this process and tells what came of it: this process stays without CUDA. Only where no
/// other thread runs and CUDA has not been initialised, since a child of such a process could not start it; else, and
/// for a described site, the rung is unknown. A child that gives no answer in 60 s is ended. The child has the
/// environment of this process, not that of the site. Nothing is thrown but bad_alloc. On Windows the rung is unknown.
[[nodiscard]] inline RungReport diagnose_start(Site const& site) {
#ifdef _WIN32
  (void)site;
  return detail::start_unknown("CUDA was not started: there is no fork on Windows");
#else
  constexpr int limit_milliseconds = 60000;
  DriverLibrary const driver = site.system.open_driver(DriverOpen::load);
  if (!driver.loaded) {
    return detail::start_unknown("CUDA was not started: the driver library was not loaded" +
                                 (driver.error.empty() ? "" : " (" + driver.error + ")"));
  }
  DriverState const state = driver_state(driver);
  if (state != DriverState::loaded && state != DriverState::stub) {
    return detail::start_unknown("CUDA was not started: in this process the driver is " +
                                 std::string{to_string(state)});
  }
  auto const threads = detail::other_threads();
  if (!threads.empty()) {
    return detail::start_unknown("CUDA was not started: a fork is not safe beside another thread: " + threads.front());
  }
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) return detail::start_unknown("CUDA was not started: no pipe could be made");
  ::pid_t const child = ::fork();
  if (child < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return detail::start_unknown("CUDA was not started: no process could be made");
  }
  if (child == 0) {
    ::close(ends[0]);
    std::string const text = detail::start_as_text(start_cuda_here(driver.api));
    bool const written = ::write(ends[1], text.data(), text.size()) == static_cast< ::ssize_t>(text.size());
    ::_exit(written ? 0 : 1);  // nothing of the parent is run or flushed twice
  }
  ::close(ends[1]);
  std::string text;
  bool const closed = detail::read_until_closed(ends[0], limit_milliseconds, text);
  ::close(ends[0]);
  if (!closed) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::string why = "it ended without one";
  if (!closed) {
    why = "it took longer than " + std::to_string(limit_milliseconds / 1000) + " s";
  } else if (WIFSIGNALED(status)) {
    why = "it was ended by signal " + std::to_string(WTERMSIG(status));
  }
  return report_start(detail::start_from_text(text), why);
#endif
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_START_HPP
