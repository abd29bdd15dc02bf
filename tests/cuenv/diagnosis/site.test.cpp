#include <cuenv/diagnosis/site.hpp>

#include "support/catch.hpp"
#include "support/described_tree.hpp"

TEST_CASE("a site reads its files below its root alone", "[diagnosis]") {
  cuenv_tests::DescribedTree tree;
  tree.file("/proc/version", "Linux");
  cuenv::Site const site = tree.site({{"HOME", "/home/ada"}, {"UNSET", std::nullopt}});
  CHECK(site.exists("/proc/version"));
  CHECK_FALSE(site.exists("/proc/self"));
  CHECK(site.read("/proc/version") == "Linux");
  CHECK(site.read("/proc") == std::nullopt);
  CHECK(site.list("/proc") == std::vector<std::string>{"version"});
  CHECK(site.list("/sys") == std::nullopt);
  tree.file("/lib/a.so", "\177ELF and more").file("/lib/b.so", "\177EL").link("/lib/c.so", "a.so");
  CHECK(site.is_elf_file("/lib/c.so"));
  CHECK_FALSE(site.is_elf_file("/lib/b.so"));
  CHECK_FALSE(site.is_elf_file("/lib"));
  CHECK_FALSE(site.is_elf_file(""));
  CHECK(site.get("HOME") == "/home/ada");
  CHECK(site.get("UNSET") == std::nullopt);
  CHECK(site.get("PATH") == std::nullopt);
}

TEST_CASE("links are followed below the root", "[diagnosis]") {
  cuenv_tests::DescribedTree tree;
  tree.file("/usr/lib/libcuda.so.580.1")
      .link("/usr/lib/libcuda.so.1", "libcuda.so.580.1")
      .link("/usr/lib64", "/usr/lib")
      .link("/up", "../../../usr/lib")
      .link("/loop", "/loop");
  cuenv::Site const site = tree.site();
  CHECK(site.real_path("/usr/lib64/libcuda.so.1") == "/usr/lib/libcuda.so.580.1");
  CHECK(site.real_path("/up//./libcuda.so.1") == "/usr/lib/libcuda.so.580.1");
  CHECK(site.real_path("/absent/../x") == "/x");
  CHECK(site.real_path("/loop") == "/loop");
  CHECK(site.real_path("/..") == "/");
  CHECK(site.link("/usr/lib64") == "/usr/lib");
  CHECK(site.link("/usr") == std::nullopt);
}

TEST_CASE("a look remembers the first thing that it could not read, and no absence", "[diagnosis]") {
  cuenv_tests::DescribedTree tree;
  tree.file("/file", "text").directory("/folder").loop("/dev/loop");
  cuenv::Site const site = tree.site({{"A", "1"}});
  cuenv::Look const look{site};
  CHECK(look.get("A") == "1");
  CHECK(look.read("/file") == "text");
  CHECK_FALSE(look.exists("/none"));
  CHECK_FALSE(look.read("/none"));
  CHECK_FALSE(look.list("/file"));
  CHECK_FALSE(look.link("/file"));
  CHECK(look.failure().empty());
  CHECK_FALSE(look.exists("/dev/loop"));
  std::string const words = look.failure();
  CHECK_THAT(words, Catch::Matchers::StartsWith("reading " + tree.root() + "/dev/loop failed: "));
  CHECK_FALSE(look.read("/folder"));
  CHECK(look.failure() == words);

  cuenv::Site const& place = look;
  cuenv::Look const again{place};  // another question
  CHECK_FALSE(again.list("/dev/loop"));
  CHECK_FALSE(again.failure().empty());
  CHECK(look.failure() == words);
  cuenv::Look const elf{site};
  CHECK_FALSE(elf.is_elf_file("/folder"));
  CHECK_FALSE(elf.failure().empty());
  CHECK_FALSE(site.exists("/dev/loop"));  // nobody asked why
}

TEST_CASE("this machine's site has the process's environment", "[diagnosis]") {
  cuenv::Site const site = cuenv::this_site();
  CHECK(site.variables == cuenv::process_environment.all());
}

TEST_CASE("a simulated driver describes the hardware and nothing else", "[diagnosis]") {
  cuenv::Site site;
  site.hardware_root = "/simulated";
  CHECK(site.path_of("/dev/nvidia0") == "/simulated/dev/nvidia0");
  CHECK(site.path_of("/proc/driver/nvidia/version") == "/simulated/proc/driver/nvidia/version");
  CHECK(site.path_of("/sys/bus/pci/devices") == "/simulated/sys/bus/pci/devices");
  CHECK(site.path_of("/dev") == "/simulated/dev");
  CHECK(site.path_of("/proc/driver/nvidia-nvswitch/devices") == "/simulated/proc/driver/nvidia-nvswitch/devices");
  CHECK(site.path_of("/development/lib") == "/development/lib");
  CHECK(site.path_of("/proc/driver/nvidiafs") == "/proc/driver/nvidiafs");
  CHECK(site.path_of("/sys/bus/pci_express") == "/sys/bus/pci_express");
  CHECK(site.path_of("/sys/modules") == "/sys/modules");
  CHECK(site.path_of("/de") == "/de");
  CHECK(site.path_of("") == "");
  CHECK(site.path_of("/proc/self/status") == "/proc/self/status");
  CHECK(site.path_of("/usr/local/cuda") == "/usr/local/cuda");
}
