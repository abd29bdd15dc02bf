#include <cuenv/diagnosis/jit_cache.hpp>

#include "support/catch.hpp"
#include "support/described_tree.hpp"

#include <filesystem>
#include <string>
#include <vector>

using cuenv_tests::DescribedTree;
using cuenv_tests::fact;
using cuenv_tests::provokes;
using cuenv_tests::spares;

namespace {

std::vector<cuenv::Assignment> const home{{"HOME", "/home/ada"}};
char const* const folder = "/home/ada/.nv/ComputeCache";

/// As the driver leaves it: an index and two levels of one-digit folders.
void fill(DescribedTree& tree) {
  std::string const at = folder;
  tree.file(at + "/index", std::string(16, 'i'))
      .file(at + "/3/c/0f1e2d3c4b5a", std::string(4600, 'x'))
      .file(at + "/a/0/1234", std::string(400, 'y'));
}

void mode(DescribedTree const& tree, std::string const& path, std::filesystem::perms perms) {
  std::filesystem::permissions(tree.root() + path, perms);
}

cuenv::JitCacheSettings settings(std::vector<cuenv::Assignment> variables) {
  return cuenv::jit_cache_settings(cuenv::detail::ListedEnvironment{std::move(variables)});
}

}  // namespace

TEST_CASE("a cache as the driver makes it: nothing is found", "[diagnosis][jit_cache]") {
  DescribedTree tree;
  fill(tree);
  tree.file("/proc/self/mounts", "/dev/vda1 / ext4 rw,relatime 0 0\nproc /proc proc rw 0 0\n");
  auto const report = cuenv::diagnose_jit_cache(tree.site(home), true);
  CHECK(report.health() == cuenv::Health::fine);
  CHECK(report.findings.empty());
  CHECK(fact(report, "folder") == folder);
  CHECK(fact(report, "state") == "on");
  CHECK(fact(report, "size") == "4.8 KiB in 3 files, of 1 GiB");
  CHECK_THAT(fact(report, "file system"), ContainsSubstring("ext4, "));
}

TEST_CASE("a cache that is not there yet can be made", "[diagnosis][jit_cache]") {
  DescribedTree tree;
  tree.directory("/home/ada");
  auto const report = cuenv::diagnose_jit_cache(tree.site(home), true);
  CHECK(report.health() == cuenv::Health::fine);
  CHECK(spares(report, "jit_cache.cannot_be_made"));
  CHECK(fact(report, "size") == "nothing yet");
}

TEST_CASE("where the cache is, by the driver's rule", "[diagnosis][jit_cache]") {
  DescribedTree tree;
  tree.directory("/var/cache/cuda").link("/cache", "/var/cache/cuda").link("/proc/self/cwd", "/var");
  auto const at = [&](std::vector<cuenv::Assignment> variables) {
    return fact(cuenv::diagnose_jit_cache(tree.site(std::move(variables)), false), "folder");
  };
  CHECK(at({{"HOME", "/home/ada"}, {"CUDA_CACHE_PATH", "/cache/"}}) == "/var/cache/cuda");
  CHECK(at({{"CUDA_CACHE_PATH", "cache/new"}}) == "/var/cache/new");
  auto const nowhere = cuenv::diagnose_jit_cache(tree.site({}), false);
  CHECK(nowhere.health() == cuenv::Health::unknown);
  CHECK_THAT(nowhere.unknown.at(0), ContainsSubstring("HOME is not set"));
  DescribedTree other;
  auto const relative = cuenv::diagnose_jit_cache(other.site({{"CUDA_CACHE_PATH", "cache"}}), false);
  CHECK(relative.health() == cuenv::Health::unknown);
}

TEST_CASE("a cache that is off is a finding only where a program needs it", "[diagnosis][jit_cache]") {
  DescribedTree tree;
  tree.directory("/home/ada");
  struct Case {
    char const* name;
    char const* text;
  };
  for (Case const one : {Case{"CUDA_CACHE_DISABLE", "1"}, Case{"CUDA_CACHE_MAXSIZE", "1G"}, Case{"CUDA_CACHE_PATH", ""},
                         Case{"CUDA_CACHE_PATH", "~/x"}, Case{"CUDA_CACHE_PATH", "/dev/null"}}) {
    INFO(one.name << "=" << one.text);
    auto variables = home;
    variables.push_back({one.name, one.text});
    auto const needed = cuenv::diagnose_jit_cache(tree.site(variables), true);
    REQUIRE(provokes(needed, "jit_cache.off"));
    CHECK(needed.findings[0].fix == std::string{"unset "} + one.name);
    auto const unneeded = cuenv::diagnose_jit_cache(tree.site(variables), false);
    CHECK(spares(unneeded, "jit_cache.off"));
    CHECK_THAT(fact(unneeded, "state"), ContainsSubstring(std::string{"off by "} + one.name));
  }
  auto variables = home;
  variables.push_back({"CUDA_CACHE_DISABLE", "true"});  // which is off, so the cache is on
  CHECK(spares(cuenv::diagnose_jit_cache(tree.site(variables), true), "jit_cache.off"));
}

TEST_CASE("a cache that nobody may write", "[diagnosis][jit_cache]") {
  using std::filesystem::perms;
  DescribedTree tree;
  fill(tree);
  mode(tree, folder, perms::owner_read | perms::owner_exec);
  auto const report = cuenv::diagnose_jit_cache(tree.site(home), false);
  REQUIRE(provokes(report, "jit_cache.read_only"));
  CHECK_THAT(report.findings[0].driver, ContainsSubstring("is not read either"));
  mode(tree, folder, perms::owner_all);
  CHECK(spares(cuenv::diagnose_jit_cache(tree.site(home), false), "jit_cache.read_only"));

  tree.file("/proc/self/mounts", "/dev/vda1 / ext4 rw 0 0\nserver:/home /home squashfs ro,nodev 0 0\n");
  auto const mounted = cuenv::diagnose_jit_cache(tree.site(home), false);
  REQUIRE(provokes(mounted, "jit_cache.read_only"));
  CHECK_THAT(mounted.findings[0].what, ContainsSubstring("mounted read-only"));
  CHECK(spares(mounted, "jit_cache.cannot_be_made"));

  DescribedTree empty;
  empty.directory("/home/ada");
  mode(empty, "/home/ada", perms::owner_read | perms::owner_exec);
  CHECK(provokes(cuenv::diagnose_jit_cache(empty.site(home), false), "jit_cache.cannot_be_made"));
  mode(empty, "/home/ada", perms::owner_all);
}

TEST_CASE("a file where the cache should be", "[diagnosis][jit_cache]") {
  for (char const* path : {"/home/ada/.nv/ComputeCache", "/home/ada/.nv", "/home"}) {
    DescribedTree tree;
    tree.file(path);
    auto const report = cuenv::diagnose_jit_cache(tree.site(home), false);
    REQUIRE(provokes(report, "jit_cache.not_a_folder"));
    CHECK(report.findings[0].what == std::string{path} + " is a file, so no cache can be there");
  }
  DescribedTree tree;
  fill(tree);
  CHECK(spares(cuenv::diagnose_jit_cache(tree.site(home), false), "jit_cache.not_a_folder"));
}

TEST_CASE("a cache on a network file system, shared by ranks", "[diagnosis][jit_cache]") {
  DescribedTree tree;
  fill(tree);
  struct Case {
    char const* type;
    bool network;
  };
  for (Case const one : {Case{"nfs4", true}, Case{"nfs", true}, Case{"lustre", true}, Case{"fuse.sshfs", true},
                         Case{"ext4", false}, Case{"xfs", false}, Case{"overlay", false}, Case{"tmpfs", false}}) {
    INFO(one.type);
    tree.file("/proc/self/mounts",
              std::string{"/dev/vda1 / ext4 rw 0 0\nserver:/home /home "} + one.type + " rw,vers=4.2 0 0\n");
    auto const report = cuenv::diagnose_jit_cache(tree.site(home), false);
    CHECK(provokes(report, "jit_cache.network") == one.network);
    CHECK(spares(report, "jit_cache.network") == !one.network);
  }
  tree.file("/proc/self/mounts", "server:/home /home nfs4 rw 0 0\n");
  auto ranks = home;
  ranks.push_back({"OMPI_COMM_WORLD_LOCAL_RANK", "0"});
  ranks.push_back({"OMPI_COMM_WORLD_LOCAL_SIZE", "64"});
  CHECK_THAT(cuenv::diagnose_jit_cache(tree.site(ranks), false).findings.at(0).what,
             ContainsSubstring("64 ranks of this node share it"));
}

TEST_CASE("the mount of a path is the closest, and of several on one place the last", "[diagnosis][jit_cache]") {
  auto const file_system = [](std::string const& mounts, std::string const& path) {
    cuenv::JitCacheSeen seen;
    cuenv::detail::find_mount(mounts, path, seen);
    return seen.file_system + (seen.mounted_read_only ? " ro" : "");
  };
  std::string const mounts =
      "/dev/a / ext4 rw 0 0\n"
      "server:/h /home nfs rw 0 0\n"
      "/dev/b /home/a\\040b xfs ro 0 0\n"
      "none /over tmpfs ro 0 0\n"
      "none /over ext2 rw 0 0\n"
      "nonsense\n\n \n";
  CHECK(file_system(mounts, "/var") == "ext4");
  CHECK(file_system(mounts, "/homes") == "ext4");
  CHECK(file_system(mounts, "/home") == "nfs");
  CHECK(file_system(mounts, "/home/a b/c") == "xfs ro");
  CHECK(file_system(mounts, "/over/x") == "ext2");
  CHECK(file_system("", "/home") == "");
}

TEST_CASE("a full disk and a full cache", "[diagnosis][jit_cache]") {
  cuenv::JitCacheSeen seen;
  seen.folder = seen.parent = folder;
  seen.exists = true;
  seen.free_bytes = std::uint64_t{1} << 20;
  auto const tight = cuenv::report_jit_cache(settings(home), seen, false);
  REQUIRE(provokes(tight, "jit_cache.no_space"));
  CHECK(tight.findings[0].what == "only 1 MiB are free there");
  seen.free_bytes = std::uint64_t{1} << 30;
  CHECK(spares(cuenv::report_jit_cache(settings(home), seen, false), "jit_cache.no_space"));

  seen.bytes = std::uint64_t{1} << 30;
  auto const full = cuenv::report_jit_cache(settings(home), seen, false);
  REQUIRE(provokes(full, "jit_cache.nearly_full"));
  CHECK(full.health() == cuenv::Health::fine);
  seen.bytes /= 2;
  CHECK(spares(cuenv::report_jit_cache(settings(home), seen, false), "jit_cache.nearly_full"));
  seen.bytes = std::uint64_t{1} << 30;
  auto variables = home;
  variables.push_back({"CUDA_CACHE_MAXSIZE", "4294967296"});
  CHECK(spares(cuenv::report_jit_cache(settings(variables), seen, false), "jit_cache.nearly_full"));
}

TEST_CASE("links in a cache are not followed when it is summed up", "[diagnosis][jit_cache]") {
  DescribedTree tree;
  fill(tree);
  std::string const at = folder;
  tree.file("/big/a/file", std::string(100000, 'z'))
      .link(at + "/b", "/big")
      .link(at + "/3/d", "/big/a")
      .link(at + "/3/c/link", "/big/a/file");
  CHECK(fact(cuenv::diagnose_jit_cache(tree.site(home), false), "size") == "4.8 KiB in 3 files, of 1 GiB");
}

TEST_CASE("a cache that cannot be looked into is not taken for an empty one", "[diagnosis][jit_cache]") {
  DescribedTree tree;
  tree.directory("/home/ada/.nv").loop("/home/ada/.nv/ComputeCache");
  auto const report = cuenv::diagnose_jit_cache(tree.site(home), true);
  CHECK(report.findings.empty());
  CHECK(fact(report, "size") == cuenv_tests::no_fact);
  CHECK(cuenv_tests::could_not_read(report, "/home/ada/.nv/ComputeCache/."));
  DescribedTree part;
  fill(part);
  std::filesystem::remove_all(part.root() + folder + "/a/0");
  part.loop(std::string{folder} + "/a/0");
  part.loop(std::string{folder} + "/b");  // the driver makes no links: not followed, so not read
  CHECK(fact(cuenv::diagnose_jit_cache(part.site(home), true), "size") == "4.5 KiB in 2 files, of 1 GiB");
}
