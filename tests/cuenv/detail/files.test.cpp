#include <cuenv/detail/files.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace cuenv::detail;
using cuenv_tests::TemporaryFolder;

TEST_CASE("a small file is read up to the limit", "[files]") {
  TemporaryFolder folder;
  folder.write("file", std::string("a\0b\xff", 4));
  folder.write("empty", "");
  std::string const path = (folder.path / "file").string();
  CHECK(read_small_file(path) == std::string("a\0b\xff", 4));
  CHECK(read_small_file(path, 2) == std::string("a\0", 2));
  CHECK(read_small_file(path, 0) == "");
  CHECK(read_small_file((folder.path / "empty").string()) == "");
}

TEST_CASE("what is no file is absent, and a pipe does not wait", "[files]") {
  TemporaryFolder folder;
  CHECK_FALSE(read_small_file((folder.path / "absent").string()));
  CHECK_FALSE(read_small_file(folder.path.string()));
  CHECK_FALSE(read_small_file(""));
  std::string const pipe = (folder.path / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(read_small_file(pipe).value_or("") == "");
}

TEST_CASE("a folder is listed without itself and the one above", "[files]") {
  TemporaryFolder folder;
  folder.write("b", "");
  folder.write("a/x", "");
  folder.write(".hidden", "");
  auto names = list_directory(folder.path.string());
  REQUIRE(names);
  std::sort(names->begin(), names->end());
  CHECK(*names == std::vector<std::string>{".hidden", "a", "b"});
  CHECK_FALSE(list_directory((folder.path / "b").string()));
  CHECK_FALSE(list_directory((folder.path / "absent").string()));
  CHECK(path_exists((folder.path / "a").string()));
  CHECK_FALSE(path_exists((folder.path / "absent").string()));
}
