#include <cuenv/diagnosis/library_search.hpp>

#include "support/catch.hpp"
#include "support/described_tree.hpp"
#include "support/shared_object.hpp"

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

using cuenv::find_library;
using cuenv::LibrarySearch;
using cuenv::needed_libraries;
using cuenv_tests::DescribedTree;
using cuenv_tests::loader_cache;
using cuenv_tests::shared_object;

namespace {

constexpr std::uint16_t x86 = cuenv::detail::elf_x86_64;
constexpr std::uint16_t arm = cuenv::detail::elf_aarch64;

LibrarySearch with(std::string rpath, std::optional<std::string> runpath = std::nullopt) {
  LibrarySearch search;
  search.rpath = std::move(rpath);
  search.runpath = std::move(runpath);
  search.origin = "/opt/app/bin";
  search.program_origin = "/opt/app/bin";
  search.machine = x86;
  return search;
}

std::optional<std::string> found(DescribedTree const& tree, char const* name, std::string variable = "",
                                 LibrarySearch const& search = with("")) {
  return find_library(tree.site({{"LD_LIBRARY_PATH", std::move(variable)}}), name, search);
}

}  // namespace

TEST_CASE("the folders are gone through in the loader's order", "[library]") {
  DescribedTree tree;
  CHECK(found(tree, "liba.so") == std::nullopt);
  tree.file("/usr/lib/x86_64-linux-gnu/liba.so");
  CHECK(found(tree, "liba.so") == "/usr/lib/x86_64-linux-gnu/liba.so");
  tree.file("/etc/ld.so.cache", loader_cache({{"liba.so", "/cached/liba.so"}})).file("/cached/liba.so");
  CHECK(found(tree, "liba.so") == "/cached/liba.so");
  tree.file("/run/liba.so").file("/r/liba.so").file("/env/liba.so");
  CHECK(found(tree, "liba.so", "", with("", "/run")) == "/run/liba.so");
  CHECK(found(tree, "liba.so", "/env", with("", "/run")) == "/env/liba.so");
  CHECK(found(tree, "liba.so", "/env", with("/r")) == "/r/liba.so");
  CHECK(found(tree, "liba.so", "/env", with("/r", "/run")) == "/env/liba.so");  // DT_RUNPATH makes DT_RPATH void
  CHECK(found(tree, "liba.so", "", with("/r", "")) == "/cached/liba.so");
  LibrarySearch inheriting = with("");
  inheriting.inherited = {"/r"};
  CHECK(found(tree, "liba.so", "/env", inheriting) == "/r/liba.so");
}

TEST_CASE("$ORIGIN, $LIB, empty and relative items of a search path", "[library]") {
  DescribedTree tree;
  tree.file("/opt/app/lib/liba.so")
      .file("/work/here/libb.so")
      .file("/work/here/sub/libc.so")
      .file("/opt/lib64/libd.so")
      .link("/proc/self/cwd", "/work/here");
  CHECK(found(tree, "liba.so", "$ORIGIN/../lib") == "/opt/app/bin/../lib/liba.so");
  CHECK(found(tree, "liba.so", "", with("", "/x:${ORIGIN}/../lib")) == "/opt/app/bin/../lib/liba.so");
  LibrarySearch without_origin = with("", "$ORIGIN/../lib");
  without_origin.origin.clear();
  CHECK(found(tree, "liba.so", "", without_origin) == std::nullopt);
  CHECK(found(tree, "libb.so", "/x:") == "/work/here/libb.so");
  CHECK(found(tree, "libb.so", "") == std::nullopt);  // an empty variable is none
  CHECK(found(tree, "libc.so", "/x;sub") == "/work/here/sub/libc.so");
  CHECK(found(tree, "libd.so", "/opt/$LIB") == "/opt/lib64/libd.so");
  CHECK(found(tree, "libb.so", "/work/$UNKNOWN:/work/here") == "/work/here/libb.so");
  CHECK(found(tree, "/work/here/libb.so") == "/work/here/libb.so");
  CHECK(found(tree, "sub/libc.so") == "/work/here/sub/libc.so");
  CHECK(found(tree, "") == std::nullopt);
}

TEST_CASE("links are followed below the root, also absolute ones", "[library]") {
  DescribedTree tree;
  tree.file("/usr/lib/wsl/lib/libcuda.so.1").link("/usr/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1");
  CHECK(found(tree, "libcuda.so.1") == "/usr/lib64/libcuda.so.1");
  tree.link("/lib64/libdead.so", "/nowhere").file("/usr/lib/libdead.so");
  CHECK(found(tree, "libdead.so") == "/usr/lib/libdead.so");
}

TEST_CASE("a library for another processor is passed over", "[library]") {
  DescribedTree tree;
  cuenv_tests::SharedObject other;
  other.machine = arm;
  tree.file("/env/liba.so", shared_object(other)).file("/lib64/liba.so", shared_object({}));
  CHECK(found(tree, "liba.so", "/env") == "/lib64/liba.so");
  LibrarySearch search;
  search.machine = arm;
  CHECK(found(tree, "liba.so", "/env", search) == "/env/liba.so");
  tree.file("/lib/aarch64-linux-gnu/libb.so").file("/lib/x86_64-linux-gnu/libb.so");
  CHECK(found(tree, "libb.so", "", search) == "/lib/aarch64-linux-gnu/libb.so");
  CHECK(found(tree, "libb.so") == "/lib/x86_64-linux-gnu/libb.so");
}

TEST_CASE("the loader's cache is read in both of its forms", "[library]") {
  std::vector<cuenv_tests::CacheRow> const rows{{"libcuda.so.1", "/lib32/libcuda.so.1", 0x3},
                                                {"libcuda.so.1", "/hw/libcuda.so.1", 0x303, std::uint64_t{1} << 62},
                                                {"libcuda.so.1", "/lib64/libcuda.so.1"},
                                                {"libcuda.so.1", "/arm/libcuda.so.1", 0xa03},
                                                {"libcuda.so", "/lib64/libcuda.so"}};
  for (bool const with_older : {false, true}) {
    auto const look = [&](char const* name, std::uint16_t machine) {
      return cuenv::detail::look_up_cache(loader_cache(rows, with_older), name, machine).value().path;
    };
    CHECK(look("libcuda.so.1", x86) == "/lib64/libcuda.so.1");
    CHECK(look("libcuda.so.1", arm) == "/arm/libcuda.so.1");
    CHECK(look("libcuda.so", x86) == "/lib64/libcuda.so");
    CHECK(look("libcuda", x86) == std::nullopt);
    CHECK(look("libcuda.so.12", x86) == std::nullopt);
  }
}

TEST_CASE("a damaged cache is no cache, or says nothing wrong", "[library]") {
  std::string const good = loader_cache({{"liba.so", "/a/liba.so"}, {"libb.so", "/b/libb.so"}}, true);
  std::size_t answers = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    answers += cuenv::detail::look_up_cache(good.substr(0, at), "libb.so", x86) ? 1 : 0;
    std::string const bad = image_builder::patched(good, at, std::string(good.size() - at < 4 ? 1 : 4, '\xff'));
    answers += cuenv::detail::look_up_cache(bad, "libb.so", x86) ? 1 : 0;
  }
  CHECK(answers > 0);
  CHECK_FALSE(cuenv::detail::look_up_cache("", "libb.so", x86));
  CHECK_FALSE(cuenv::detail::look_up_cache("ld.so-1.7.0", "libb.so", x86));
  DescribedTree tree;
  tree.file("/etc/ld.so.cache", "nonsense").file("/etc/ld.so.conf", "/conf\n").file("/conf/liba.so");
  CHECK(found(tree, "liba.so") == "/conf/liba.so");
}

TEST_CASE("without a cache the configuration of ldconfig stands for it", "[library]") {
  DescribedTree tree;
  tree.file("/etc/ld.so.conf", "# comment\ninclude ld.so.conf.d/*.conf\n  /late  # why\n")
      .file("/etc/ld.so.conf.d/b.conf", "/b\n")
      .file("/etc/ld.so.conf.d/a.conf", "include /etc/ld.so.conf\n/a\n/usr/lib/wsl/lib")  // a circle
      .file("/etc/ld.so.conf.d/c.off", "/off\n")
      .file("/late/liba.so")
      .file("/off/liba.so");
  CHECK(found(tree, "liba.so") == "/late/liba.so");
  tree.file("/b/liba.so");
  CHECK(found(tree, "liba.so") == "/b/liba.so");
  tree.file("/a/liba.so").file("/usr/lib/wsl/lib/libcuda.so.1");
  CHECK(found(tree, "liba.so") == "/a/liba.so");
  CHECK(found(tree, "libcuda.so.1") == "/usr/lib/wsl/lib/libcuda.so.1");
  tree.file("/etc/ld.so.cache", loader_cache({}));  // a cache that does not know it counts
  CHECK(found(tree, "liba.so") == std::nullopt);
}

TEST_CASE("patterns with stars", "[library]") {
  using cuenv::detail::fits_pattern;
  CHECK(fits_pattern("a.conf", "*.conf"));
  CHECK(fits_pattern("cuda-13.conf", "cuda*1*.conf"));
  CHECK(fits_pattern("x", "*"));
  CHECK(fits_pattern("x", "x**"));
  CHECK_FALSE(fits_pattern("a.conf.off", "*.conf"));
  CHECK_FALSE(fits_pattern("a", ""));
  CHECK_FALSE(fits_pattern(std::string(255, 'a'), "*a*a*a*a*a*a*a*a*a*a*a*a*b"));
}

TEST_CASE("libraries that libraries need, and who needs them", "[library]") {
  DescribedTree tree;
  tree.file("/opt/app/bin/app", shared_object({{"liba.so", "libgone.so"}, "", "$ORIGIN/../lib"}))
      .file("/opt/app/lib/liba.so", shared_object({{"libb.so", "liba.so"}, "liba.so"}))
      .file("/opt/app/lib/libb.so", shared_object({{"liba.so", "libc.so.6"}, "libb.so", "", "/own"}))
      .file("/own/libc.so.6", shared_object({}))
      .link("/usr/bin/app", "/opt/app/bin/app");
  auto const libraries = needed_libraries(tree.site(), "/usr/bin/app");
  REQUIRE(libraries.size() == 4);
  CHECK(libraries[0].name == "liba.so");
  CHECK(libraries[0].path == "/opt/app/bin/../lib/liba.so");
  CHECK(libraries[0].needed_by == "/opt/app/bin/app");
  CHECK(libraries[1].name == "libgone.so");
  CHECK(libraries[1].path == std::nullopt);
  CHECK(libraries[2].path == "/opt/app/bin/../lib/libb.so");  // by the DT_RPATH of the program
  CHECK(libraries[3].path == "/own/libc.so.6");
  CHECK(needed_libraries(tree.site(), "/absent").empty());
}

// Under an emulator the loader looks below another root.
TEST_CASE("this machine's loader is agreed with", "[library][host_library]") {
  cuenv::Site const site = cuenv::this_site();
  auto const libraries = needed_libraries(site, "/proc/self/exe");
  std::ifstream maps{"/proc/self/maps"};
  std::string const mapped{std::istreambuf_iterator<char>{maps}, std::istreambuf_iterator<char>{}};
  std::size_t compared = 0;
  for (auto const& library : libraries) {
    INFO(library.name);
    REQUIRE(library.path);
    CHECK(mapped.find(" " + site.real_path(*library.path) + "\n") != std::string::npos);
    ++compared;
  }
  CHECK(compared >= 2);
}
