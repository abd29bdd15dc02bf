#include <cuenv/detail/file.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

#include <filesystem>
#include <string>

#ifndef _WIN32
#include <unistd.h>
#endif

using namespace cuenv;

namespace {

/// A folder whose path is a text.
struct Folder : cuenv_tests::TemporaryFolder {
  std::string const text = path.string();
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
  CHECK(problem_with(folder.text) == "is a directory");
  CHECK_THAT(problem_with(folder.text + "/none"),
             Catch::Matchers::StartsWith("cannot be opened: ") && Catch::Matchers::EndsWith(cuenv_tests::no_such_file));
  CHECK(problem_with("") == "the path is empty");
  folder.write("file", "text");
#ifdef _WIN32
  CHECK(problem_with("NUL") == "is no regular file");
  CHECK(problem_with(folder.text + "/\xff") == "cannot be opened: its name is no UTF-8");
#else
  CHECK(problem_with("/dev/null") == "is no regular file");
  cuenv_tests::make_pipe(folder.path / "pipe");
  CHECK(problem_with(folder.text + "/pipe") == "is no regular file");
  if (::geteuid() != 0) {
    std::filesystem::permissions(folder.path / "file", std::filesystem::perms::none);
    CHECK(problem_with(folder.text + "/file") == "cannot be opened: Permission denied");
  }
#endif
  folder.write("empty", "");
  CHECK(detail::File{folder.text + "/empty"}.size() == 0);
}

TEST_CASE("a name with a NUL byte is not the name before it", "[file]") {
  Folder const folder;
  folder.write("file", "x");
  CHECK(problem_with(folder.text + "/file" + std::string("\0x", 2)) == "cannot be opened: its name has a NUL byte");
}

TEST_CASE("a file that shrinks gives fewer bytes", "[file]") {
  Folder const folder;
  folder.write("file", std::string(9000, 'x'));
  detail::File const file{folder.text + "/file"};
  CHECK(file.size() == 9000);
  unsigned char bytes[16];
  CHECK(file.read(8992, bytes, 16) == 8);
  std::filesystem::resize_file(folder.path / "file", 100);
  CHECK(file.size() == 9000);
  CHECK(file.read(8000, bytes, 16) == 0);
  CHECK(file.read(90, bytes, 16) == 10);
}

#ifdef __linux__
TEST_CASE("a file that fails does not end", "[file]") {
  detail::File const file{"/proc/self/mem"};  // nothing is at address 0
  unsigned char bytes[16];
  try {
    (void)file.read(0, bytes, 16);
    FAIL("something was read");
  } catch (FileError const& error) {
    CHECK(detail::failure_words(error) == "/proc/self/mem cannot be read: Input/output error");
  }
  cuenv::detail::ByteReader reader{{4096, nullptr, file.source().read, &file}};
  for (int i = 0; i < 2; ++i) CHECK_THROWS_AS(reader.look(0, 4), FileError);  // nothing is taken for read
}
#endif

TEST_CASE("a file with a name of other letters is read, and one with a long path", "[file]") {
  Folder const folder;
  std::u16string const name = u"\u00e9\u4e2d\U0001f600";
  std::filesystem::path deep = folder.path;
  for (int i = 0; i < 8; ++i) deep /= std::string(40, 'x');
  std::filesystem::create_directories(deep);
  for (std::filesystem::path const& path : {folder.path / name, deep / "file"}) {
    std::ofstream{path, std::ios::binary} << "four";
    detail::File const file{cuenv_tests::utf8_of(path)};
    unsigned char bytes[8];
    CHECK(file.size() == 4);
    CHECK(file.read(0, bytes, 8) == 4);
  }
}
