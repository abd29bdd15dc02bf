#include "child_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace tool {

namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

std::string read_all(int file) {
  std::string content;
  char buffer[4096];
  for (;;) {
    ::ssize_t const got = ::read(file, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return content;
    content.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace

std::string output_of_self(std::vector<std::string> const& arguments, std::vector<cuenv::Assignment> const& changes) {
  std::vector<std::string> command{"cuenv"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  cuenv::detail::ListedEnvironment const listed{cuenv::process_environment.all()};
  for (cuenv::Assignment const& change : changes) (void)listed.set(change);
  std::vector<std::string> environment;
  for (cuenv::Assignment const& variable : listed.all()) {
    if (variable.text) environment.push_back(variable.name + "=" + *variable.text);
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  ::posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::pid_t id = 0;
  int const error =
      ::posix_spawn(&id, "/proc/self/exe", &actions, nullptr, pointers(command).data(), pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string content = error == 0 ? read_all(ends[0]) : std::string{};
  ::close(ends[0]);
  int status = 0;
  if (error != 0) return {};
  while (::waitpid(id, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? content : std::string{};
}

}  // namespace tool
