#include <cuenv/jit_cache.hpp>

#include "support/catch.hpp"
#include "support/described_environment.hpp"
#include "support/temporary_folder.hpp"

#include <unistd.h>

#include <filesystem>
#include <string>

using cuenv_tests::DescribedEnvironment;

TEST_CASE("a cache in a place where nothing can be kept is told", "[jit_cache]") {
  cuenv_tests::TemporaryFolder const folder;
  std::string const here = folder.path.string();
  folder.write("file", "");
  CHECK(cuenv::jit_is_cached(DescribedEnvironment{{{"CUDA_CACHE_PATH", here}}}));
  CHECK(cuenv::jit_is_cached(DescribedEnvironment{{{"CUDA_CACHE_PATH", here + "/new/folder/"}}}));
  CHECK(cuenv::jit_is_cached(DescribedEnvironment{{{"HOME", here}}}));
  CHECK_FALSE(cuenv::jit_is_cached(DescribedEnvironment{{{"CUDA_CACHE_PATH", here + "/file/below"}}}));
  CHECK_FALSE(cuenv::jit_is_cached(DescribedEnvironment{{{"HOME", here + "/file"}}}));
  if (::geteuid() != 0) {
    std::filesystem::permissions(folder.path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    CHECK_FALSE(cuenv::jit_is_cached(DescribedEnvironment{{{"HOME", here}}}));
    std::filesystem::permissions(folder.path, std::filesystem::perms::owner_all);
  }
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
