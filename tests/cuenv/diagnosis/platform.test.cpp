#include <cuenv/diagnosis/platform.hpp>

#include "support/catch.hpp"
#include "support/described_tree.hpp"

#include <string>

using cuenv::container_of;
using cuenv_tests::DescribedTree;

namespace {

std::string const disk = "28 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n";

}  // namespace

TEST_CASE("a container shows by what its runtime leaves", "[diagnosis]") {
  struct Row {
    char const* path;
    char const* content;
    char const* name;
  };
  Row const rows[] = {
      {"/.dockerenv", "", "docker"},
      {"/run/.containerenv", "engine=\"podman-4.9\"\n", "podman"},
      {"/run/host/container-manager", "lxc\n", "lxc"},
      {"/run/systemd/container", "systemd-nspawn\n", "systemd-nspawn"},
      {"/run/systemd/container", "", "unnamed"},
      {"/.singularity.d/actions/shell", "", "apptainer"},
      {"/var/run/secrets/kubernetes.io/serviceaccount/namespace", "default", "kubernetes"},
      {"/proc/1/cgroup", "0::/kubepods.slice/kubepods-besteffort.slice/cri-containerd-1f.scope\n", "kubernetes"},
      {"/proc/self/cgroup", "12:devices:/docker/0123456789abcdef\n", "docker"},
      {"/proc/self/mountinfo", "612 611 0:51 / / rw,relatime - overlay overlay rw,lowerdir=/l\n", "unnamed"},
      {"/proc/self/mountinfo",
       "28 1 259:2 / / rw shared:1 - ext4 /dev/sda1 rw\n70 28 0:52 / /proc/driver/nvidia rw - tmpfs tmpfs rw\n",
       "unnamed"},
  };
  for (Row const& row : rows) {
    CAPTURE(row.path, row.name);
    DescribedTree tree;
    tree.file(row.path, row.content);
    CHECK(container_of(tree.site()) == row.name);
  }
  DescribedTree bare;
  CHECK(container_of(bare.site({{"APPTAINER_CONTAINER", "/images/a.sif"}})) == "apptainer");
  CHECK(container_of(bare.site({{"SINGULARITY_NAME", "a.sif"}})) == "singularity");
  CHECK(container_of(bare.site({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}})) == "kubernetes");
  CHECK(container_of(bare.site({{"container", "lxc"}})) == "lxc");
}

TEST_CASE("an ordinary machine is no container", "[diagnosis]") {
  DescribedTree tree;
  tree.file("/proc/self/mountinfo", disk)
      .file("/proc/1/cgroup", "0::/init.scope\n")
      .file("/proc/self/cgroup", "0::/system.slice/docker.service\n");
  CHECK(container_of(tree.site()).empty());
  CHECK(container_of(DescribedTree{}.site()).empty());
}

TEST_CASE("a mount table is read without trust", "[diagnosis]") {
  DescribedTree tree;
  tree.file("/proc/self/mountinfo", "\n1 2 3\n1 2 3 / / rw\n- - - - / -\n1 2 3 / / rw -\n" + disk);
  CHECK(cuenv::detail::filesystem_at(tree.site(), "/") == "ext4");
  CHECK(cuenv::detail::filesystem_at(tree.site(), "/tmp").empty());
}

TEST_CASE("WSL and Tegra show by the kernel and the chip", "[diagnosis]") {
  DescribedTree wsl;
  wsl.file("/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n");
  CHECK(cuenv::is_wsl(wsl.site()));
  CHECK_FALSE(cuenv::is_tegra(wsl.site()));
  DescribedTree first;
  first.file("/proc/sys/kernel/osrelease", "4.4.0-19041-Microsoft\n");
  CHECK(cuenv::is_wsl(first.site()));
  DescribedTree plain;
  plain.file("/proc/sys/kernel/osrelease", "6.8.0-45-generic\n");
  CHECK_FALSE(cuenv::is_wsl(plain.site()));
  CHECK_FALSE(cuenv::is_wsl(DescribedTree{}.site()));
  DescribedTree jetson;
  jetson.file("/etc/nv_tegra_release", "# R36 (release), REVISION: 4.3\n");
  CHECK(cuenv::is_tegra(jetson.site()));
  DescribedTree soc;
  soc.file("/sys/devices/soc0/family", "Tegra\n");
  CHECK(cuenv::is_tegra(soc.site()));
}
