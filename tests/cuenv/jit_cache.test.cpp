#include <cuenv/jit_cache.hpp>

#include "support/catch.hpp"
#include "support/described_environment.hpp"
#include "support/temporary_folder.hpp"

#ifndef _WIN32
#include <unistd.h>
#endif

#include <filesystem>
#include <string>

using cuenv_tests::DescribedEnvironment;

namespace {

/// The variable that the default folder is in, and the folder below it.
#ifdef _WIN32
std::string const home = "APPDATA";
std::string const below_home = "\\NVIDIA\\ComputeCache";
#else
std::string const home = "HOME";
std::string const below_home = "/.nv/ComputeCache";
#endif

}  // namespace

TEST_CASE("a cache in a place where nothing can be kept is told", "[jit_cache]") {
  cuenv_tests::TemporaryFolder const folder;
  std::string const here = folder.path.string();
  folder.write("file", "");
  CHECK(cuenv::jit_is_cached(DescribedEnvironment{{{"CUDA_CACHE_PATH", here}}}));
  CHECK(cuenv::jit_is_cached(DescribedEnvironment{{{"CUDA_CACHE_PATH", here + "/new/folder/"}}}));
  CHECK(cuenv::jit_is_cached(DescribedEnvironment{{{home, here}}}));
  CHECK_FALSE(cuenv::jit_is_cached(DescribedEnvironment{{{"CUDA_CACHE_PATH", here + "/file/below"}}}));
  CHECK_FALSE(cuenv::jit_is_cached(DescribedEnvironment{{{home, here + "/file"}}}));
#ifdef _WIN32
  CHECK(cuenv::jit_is_cached(DescribedEnvironment{{{"CUDA_CACHE_PATH", here + "\\new/folder\\"}}}));
  CHECK_FALSE(cuenv::jit_is_cached(DescribedEnvironment{{{"CUDA_CACHE_PATH", "Q:\\no\\such\\drive"}}}));
#else
  if (::geteuid() != 0) {
    std::filesystem::permissions(folder.path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    CHECK_FALSE(cuenv::jit_is_cached(DescribedEnvironment{{{home, here}}}));
    std::filesystem::permissions(folder.path, std::filesystem::perms::owner_all);
  }
#endif
  CHECK_FALSE(cuenv::jit_is_cached(DescribedEnvironment{{{"CUDA_CACHE_PATH", "~/x"}}}));
  CHECK_FALSE(cuenv::jit_is_cached(DescribedEnvironment{{{"CUDA_CACHE_PATH", ""}}}));
  CHECK_FALSE(cuenv::jit_is_cached(DescribedEnvironment{{{"CUDA_CACHE_PATH", "/dev/null"}}}));
  CHECK(cuenv::jit_is_cached(DescribedEnvironment{}));
}

TEST_CASE("a cache that is off or has no room keeps nothing", "[jit_cache]") {
  CHECK_FALSE(cuenv::jit_is_cached(DescribedEnvironment{{{"CUDA_CACHE_DISABLE", "1"}}}));
  CHECK_FALSE(cuenv::jit_is_cached(DescribedEnvironment{{{"CUDA_CACHE_MAXSIZE", "1G"}}}));
  CHECK(cuenv::jit_is_cached(DescribedEnvironment{{{"CUDA_CACHE_DISABLE", "true"}}}));
}

TEST_CASE("the folder and the limit, by the driver's rule", "[jit_cache]") {
  auto const settings = cuenv::jit_cache_settings(DescribedEnvironment{{{home, "/home/ada"}}});
  CHECK(settings.folder == "/home/ada" + below_home);
  CHECK(settings.named_by == home);
  CHECK(settings.limit == 1073741824);
  CHECK(settings.off_by.empty());
  CHECK(cuenv::jit_cache_settings(DescribedEnvironment{}).folder.empty());
  auto const set = cuenv::jit_cache_settings(
      DescribedEnvironment{{{home, "/home/ada"}, {"CUDA_CACHE_PATH", "/c"}, {"CUDA_CACHE_MAXSIZE", "1048576x"}}});
  CHECK(set.folder == "/c");
  CHECK(set.named_by == "CUDA_CACHE_PATH");
  CHECK(set.limit == 1048576);
  CHECK(cuenv::jit_cache_settings(DescribedEnvironment{{{"CUDA_CACHE_MAXSIZE", "-1"}}}).limit == 4294967296);
  // The first of the variables that switch it off is named.
  auto const off = cuenv::jit_cache_settings(
      DescribedEnvironment{{{"CUDA_CACHE_DISABLE", "1"}, {"CUDA_CACHE_PATH", ""}, {"CUDA_CACHE_MAXSIZE", "0"}}});
  CHECK(off.off_by == "CUDA_CACHE_DISABLE");
  CHECK(off.folder.empty());
}

TEST_CASE("only a folder of the driver's own files is its cache", "[jit_cache]") {
  CHECK(cuenv::is_jit_cache({"index"}));
  CHECK(cuenv::is_jit_cache({"0", "a", "F", "index"}));
  CHECK_FALSE(cuenv::is_jit_cache({"3"}));  // ccache keeps such folders
  CHECK_FALSE(cuenv::is_jit_cache({}));
  for (char const* foreign : {"g", "00", "index.html", "Index", "", "-", ".git", "home"}) {
    INFO(foreign);
    CHECK_FALSE(cuenv::is_jit_cache({"index", "3", foreign}));
    CHECK(cuenv::jit_cache_entry(foreign) == cuenv::JitCacheEntry::foreign);
  }
  CHECK(cuenv::jit_cache_entry("index") == cuenv::JitCacheEntry::index);
  CHECK(cuenv::jit_cache_entry("c") == cuenv::JitCacheEntry::folder);
}
