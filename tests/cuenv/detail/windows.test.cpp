#include <cuenv/detail/windows.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

#ifdef _WIN32

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

using namespace cuenv::detail;

TEST_CASE("an error of the system is told in words and with its number", "[windows]") {
  CHECK_THAT(win32::error_text(2), Catch::Matchers::EndsWith(" (error 2)"));
  CHECK(win32::error_text(0x2fffffff) == "error 805306367");
}

TEST_CASE("a long path gets the prefix that Windows wants for it", "[windows]") {
  std::string const part = "\\" + std::string(100, 'x');
  std::string const tail = part + part + part;
  auto const path_of = [](std::string const& text) { return to_utf8(std::wstring_view{win32::to_path(text).value()}); };
  CHECK(path_of("C:\\a/b") == "C:\\a/b");
  CHECK(path_of("C:" + tail) == "\\\\?\\C:" + tail);
  CHECK(path_of("C:/y/../z" + tail) == "\\\\?\\C:\\z" + tail);
  CHECK(path_of("\\\\server\\share" + tail) == "\\\\?\\UNC\\server\\share" + tail);
  CHECK(path_of("\\\\?\\C:" + tail) == "\\\\?\\C:" + tail);
  CHECK_FALSE(win32::to_path("\xff"));
  CHECK_FALSE(win32::to_path(std::string{"a\0b", 3}));
}

TEST_CASE("whether a folder takes files is asked without making one", "[windows]") {
  cuenv_tests::TemporaryFolder const folder;
  folder.write("file", "");
  CHECK(win32::can_add_files(folder.path.string()));
  CHECK_FALSE(win32::can_add_files((folder.path / "file").string()));
  CHECK_FALSE(win32::can_add_files((folder.path / "absent").string()));
  CHECK(std::distance(std::filesystem::directory_iterator{folder.path}, std::filesystem::directory_iterator{}) == 1);
}

TEST_CASE("the variables of the process are listed, and a drive's folder is none", "[windows]") {
  std::vector<std::string> names;
  win32::for_each_variable([&](std::string name, std::string const&) { names.push_back(std::move(name)); });
  CHECK(names.size() > 3);
  for (std::string const& name : names) {
    CAPTURE(name);
    CHECK_FALSE(name.empty());
    CHECK(name.find('=') == std::string::npos);
    CHECK(win32::get_variable(name));
  }
}

TEST_CASE("the files of the process are the executable and libraries that are there", "[windows]") {
  auto const files = win32::loaded_files();
  REQUIRE(files.size() > 2);
  CHECK(std::filesystem::path{files[0]}.filename() == "unit_tests.exe");
  CHECK(std::count(files.begin(), files.end(), files[0]) == 1);
  for (std::string const& file : files) CHECK(std::filesystem::path{file}.is_absolute());
  CHECK(win32::file_of_address(reinterpret_cast<void*>(&win32::get_variable)) == files[0]);
  CHECK(win32::file_of_address(nullptr).empty());
}

TEST_CASE("a library is taken from System32 alone", "[windows]") {
  auto const path = win32::in_system_folder("nvcuda.dll");
  REQUIRE(path);
  std::string const text = to_utf8(std::wstring_view{*path});
  CHECK_THAT(text, Catch::Matchers::EndsWith("\\nvcuda.dll"));
  CHECK(std::filesystem::path{text}.is_absolute());
}

#endif
