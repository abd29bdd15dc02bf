#include <cuenv/detail/files.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

#include <algorithm>
#include <filesystem>
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
  cuenv_tests::make_pipe(folder.path / "pipe");
  CHECK(read_small_file((folder.path / "pipe").string()).value_or("") == "");
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

TEST_CASE("what is absent is told from what cannot be read", "[files]") {
  TemporaryFolder folder;
  folder.write("file", "");
  std::string const here = folder.path.string();
  std::string failure;
  for (std::string const& absent : {here + "/none", here + "/none/below", here + "/file/below", std::string{},
                                    here + "/" + std::string(5000, 'x')}) {
    CHECK_FALSE(path_exists(absent, &failure));
    CHECK_FALSE(read_small_file(absent, 1, &failure));
    CHECK_FALSE(list_directory(absent, &failure));
    CHECK_FALSE(read_link(absent, &failure));
    CHECK_FALSE(file_owner(absent, &failure));
    CAPTURE(absent);
    CHECK(failure.empty());
  }
  CHECK_FALSE(read_small_file(here, 1, &failure));
  CHECK_THAT(failure, Catch::Matchers::StartsWith("reading " + here + " failed: "));
#ifndef _WIN32
  CHECK_THAT(failure, Catch::Matchers::EndsWith("Is a directory"));
  CHECK_FALSE(read_link(here + "/file", &failure));
  std::filesystem::create_symlink("loop", folder.path / "loop");
  std::string const loop = here + "/loop";
  CHECK(read_link(loop) == "loop");
  auto const words_after = [&](auto const& read) {
    std::string words;
    CHECK_FALSE(read(&words));
    return words;
  };
  std::string const words = "reading " + loop + " failed: Too many levels of symbolic links";
  CHECK(words_after([&](std::string* to) { return path_exists(loop, to); }) == words);
  CHECK(words_after([&](std::string* to) { return read_small_file(loop, 1, to).has_value(); }) == words);
  CHECK(words_after([&](std::string* to) { return list_directory(loop, to).has_value(); }) == words);
  CHECK(words_after([&](std::string* to) { return file_owner(loop, to).has_value(); }) == words);
  CHECK(words_after([&](std::string* to) { return read_link(loop + "/x", to).has_value(); }) ==
        "reading " + loop + "/x failed: Too many levels of symbolic links");
  CHECK_FALSE(path_exists(loop, &failure));
  CHECK_THAT(failure, Catch::Matchers::EndsWith("Is a directory"));  // the first one is kept
#endif
}

TEST_CASE("the folder of a path", "[files]") {
  CHECK(folder_of("/a/b.so") == "/a");
  CHECK(folder_of("/a/b/") == "/a/b");
  CHECK(folder_of("/a") == "/");
  CHECK(folder_of("/") == "/");
  CHECK(folder_of("a/b") == "a");
  CHECK(folder_of("a") == ".");
  CHECK(folder_of("") == ".");
#ifdef _WIN32
  CHECK(folder_of("C:\\a\\b") == "C:\\a");
  CHECK(folder_of("C:\\a") == "C:\\");
  CHECK(folder_of("C:/") == "C:/");
  CHECK(folder_of("C:") == ".");
#else
  CHECK(folder_of("/a\\b") == "/");
#endif
}

TEST_CASE("a path ends with a file's name", "[files]") {
  CHECK(file_name("/a/b.so") == "b.so");
  CHECK(file_name("b.so") == "b.so");
  CHECK(file_name("/a/") == "");
  CHECK(file_name("") == "");
  CHECK(is_same_path("/a/b.so", "/a/b.so"));
  CHECK_FALSE(is_same_path("/a/b.so", "/a/c.so"));
  CHECK_FALSE(is_same_path("/a/b.so", "b.so"));
#ifdef _WIN32
  CHECK(file_name("C:\\a/b\\c.dll") == "c.dll");
  CHECK(is_same_path("C:\\A/b.dll", "c:/a\\B.DLL"));
  CHECK_FALSE(is_same_path("C:\\a", "C:.a"));
#else
  CHECK(file_name("a\\b") == "a\\b");
  CHECK_FALSE(is_same_path("/a", "/A"));
#endif
}
