#include <cuenv/detail/file.hpp>

#include "support/catch.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#ifndef _WIN32
#include <sys/stat.h>
#include <unistd.h>

using namespace cuenv;

namespace {

struct Folder {
  std::string path = "/tmp/cuenv_file_XXXXXX";
  Folder() { REQUIRE(::mkdtemp(&path[0]) != nullptr); }
  ~Folder() {
    for (char const* const name : {"/empty", "/pipe", "/file"}) ::unlink((path + name).c_str());
    ::rmdir(path.c_str());
  }
  void write(std::string const& name, std::string const& text) const {
    std::FILE* const file = std::fopen((path + name).c_str(), "wb");
    REQUIRE(file != nullptr);
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  }
};

std::string problem_with(std::string const& path) {
  try {
    detail::File const file{path};
  } catch (FileError const& error) {
    CHECK(error.diagnostics().at(0).subject == path);
    CHECK(error.diagnostics().at(0).code == "file.unreadable");
    return error.diagnostics().at(0).what;
  }
  return {};
}

}  // namespace

TEST_CASE("only regular files are opened, and nothing is waited for", "[file]") {
  Folder const folder;
  CHECK(problem_with(folder.path) == "is a directory");
  CHECK(problem_with(folder.path + "/none") == "cannot be opened: No such file or directory");
  CHECK(problem_with("") == "the path is empty");
  CHECK(problem_with("/dev/null") == "is no regular file");
  REQUIRE(::mkfifo((folder.path + "/pipe").c_str(), 0600) == 0);
  CHECK(problem_with(folder.path + "/pipe") == "is no regular file");
  folder.write("/file", "text");
  if (::geteuid() != 0) {
    REQUIRE(::chmod((folder.path + "/file").c_str(), 0) == 0);
    CHECK(problem_with(folder.path + "/file") == "cannot be opened: Permission denied");
  }
  folder.write("/empty", "");
  CHECK(detail::File{folder.path + "/empty"}.size() == 0);
}

TEST_CASE("a name with a NUL byte is not the name before it", "[file]") {
  Folder const folder;
  folder.write("/file", "x");
  CHECK(problem_with(folder.path + "/file" + std::string("\0x", 2)) == "cannot be opened: its name has a NUL byte");
}

TEST_CASE("a file that shrinks gives fewer bytes", "[file]") {
  Folder const folder;
  folder.write("/file", std::string(9000, 'x'));
  detail::File const file{folder.path + "/file"};
  CHECK(file.size() == 9000);
  unsigned char bytes[16];
  CHECK(file.read(8992, bytes, 16) == 8);
  REQUIRE(::truncate((folder.path + "/file").c_str(), 100) == 0);
  CHECK(file.size() == 9000);
  CHECK(file.read(8000, bytes, 16) == 0);
  CHECK(file.read(90, bytes, 16) == 10);
}
#endif
