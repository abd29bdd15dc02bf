#include <cuenv/diagnosis/driver.hpp>
#include <cuenv/diagnosis/gpu_code.hpp>
#include <cuenv/diagnosis/jit_cache.hpp>
#include <cuenv/diagnosis/process.hpp>
#include <cuenv/diagnosis/surroundings.hpp>
#include <cuenv/diagnosis/toolkit.hpp>
#include <cuenv/diagnosis/variables.hpp>

#include "support/catch.hpp"
#include "support/described_tree.hpp"
#include "support/image_builder.hpp"
#include "support/shared_object.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

using cuenv::diagnose_process;
using cuenv::Machine;
using cuenv::mapped_libraries;
using cuenv::site_of_process;
using cuenv_tests::DescribedTree;
using cuenv_tests::fact;
using cuenv_tests::no_fact;
using cuenv_tests::provokes;
using cuenv_tests::shared_object;
using cuenv_tests::spares;

using namespace std::string_literals;

namespace {

Machine two_gpus() {
  Machine machine;
  machine.source = cuenv::MachineSource::proc;
  machine.gpus.resize(2);
  for (std::size_t i = 0; i < 2; ++i) {
    machine.gpus[i].name = "NVIDIA H200";
    machine.gpus[i].pci.bus = static_cast<unsigned>(i + 1);
  }
  return machine;
}

/// A process as /proc shows it, below `folder`.
void describe(DescribedTree& tree, std::string const& folder) {
  std::string const code = image_builder::container(image_builder::cubin_entry(90) + image_builder::ptx_entry(80));
  tree.file(folder + "/status", "Name:\ttrain\nUid:\t1000\t1000\t1000\t1000\nNSpid:\t77\n")
      .file(folder + "/comm", "train\n")
      .link(folder + "/exe", "/app/train")
      .file(folder + "/environ", "CUDA_VISIBLE_DEVICES=1\0HOME=/root\0CUDA_VISIBLE_DEVICES=0\0"s)
      .file(folder + "/maps",
            "55d000000000-55d000001000 r--p 00000000 fe:01 11                         /app/train\n"
            "55d000001000-55d000002000 r-xp 00001000 fe:01 11                         /app/train\n"
            "55d000002000-55d000003000 rw-p 00000000 00:00 0                          [heap]\n"
            "7f0000000000-7f0000001000 r-xp 00000000 fe:01 12   /usr/lib/x86_64-linux-gnu/libcuda.so.580.1\n"
            "7f0000002000-7f0000003000 r-xp 00000000 fe:01 13   /app/my lib.so\n"
            "7f0000004000-7f0000005000 rw-s 00000000 00:05 14   /dev/nvidiactl\n"
            "7f0000006000-7f0000007000 r--s 00000000 fe:01 15   /app/data.txt\n"
            "7f0000008000-7f0000009000 rw-s 00000000 00:01 16   /memfd:cuda (deleted)\n")
      .link(folder + "/fd/0", "/dev/null")
      .link(folder + "/fd/3", "/dev/nvidiactl")
      .link(folder + "/fd/4", "/dev/nvidia1")
      .link(folder + "/fd/5", "/dev/nvidia1")
      .file(folder + "/task/77/comm", "train\n")
      .file(folder + "/task/78/comm", "cuda-EvtHandlr\n")
      .file(folder + "/task/100/comm", "train\n");
  tree.file("/app/train", shared_object({{}, "", "", "", 62, {{".nv_fatbin", code}}}))
      .file("/app/my lib.so", shared_object({}))
      .file("/app/data.txt", "text")
      .file("/usr/lib/x86_64-linux-gnu/libcuda.so.580.1", shared_object({}));
}

}  // namespace

TEST_CASE("a process is read from outside", "[process]") {
  DescribedTree tree;
  describe(tree, "/proc/77");
  cuenv::Site const site = site_of_process(tree.site({{"HOME", "/mine"}}), 77);
  CHECK(site.process == "77");
  CHECK(site.root == tree.root());
  CHECK(site.get("HOME") == "/root");
  CHECK(site.get("CUDA_VISIBLE_DEVICES") == "1");  // of two the first
  CHECK(mapped_libraries(site) == std::vector<std::string>{"/app/train", "/app/my lib.so"});

  auto const report = diagnose_process(site, two_gpus());
  CHECK(report.health() == cuenv::Health::fine);
  CHECK(report.findings.empty());
  CHECK(spares(report, "process.not_there"));
  CHECK(spares(report, "process.file_replaced"));
  CHECK(fact(report, "process") == "77 train");
  CHECK(fact(report, "program") == "/app/train");
  CHECK(fact(report, "CUDA_VISIBLE_DEVICES") == "1");
  CHECK(fact(report, "HOME") == no_fact);  // what is not CUDA's is nobody's business
  CHECK_THAT(fact(report, "logical GPU 0"), ContainsSubstring("physical 1, NVIDIA H200"));
  CHECK(fact(report, "device nodes open") == "2 x /dev/nvidia1, /dev/nvidiactl");
  CHECK(fact(report, "threads") == "3: 2 x train, cuda-EvtHandlr");
  CHECK(fact(report, "GPU code in /app/train") == "sm_90 compute_80");
  CHECK_THAT(fact(report, "environment"), ContainsSubstring("cannot be seen"));
}

TEST_CASE("a process that is not there, or ends meanwhile", "[process]") {
  DescribedTree tree;
  CHECK(provokes(diagnose_process(site_of_process(tree.site(), 77), two_gpus()), "process.not_there"));
  tree.file("/proc/77/status", "Name:\tx\nUid:\t0\t0\t0\t0\n");  // the rest has gone
  auto const report = diagnose_process(site_of_process(tree.site(), 77), two_gpus());
  CHECK(spares(report, "process.not_there"));
  CHECK(report.health() == cuenv::Health::unknown);
}

TEST_CASE("a process that has ended and waits for its parent", "[process]") {
  DescribedTree tree;
  tree.file("/proc/77/status", "Name:\tx\nState:\tZ (zombie)\nUid:\t0\t0\t0\t0\n");
  auto const report = diagnose_process(site_of_process(tree.site(), 77), two_gpus());
  REQUIRE(report.unknown.size() == 1);
  CHECK_THAT(report.unknown[0], ContainsSubstring("has ended"));
}

TEST_CASE("a process of another user says what cannot be read and why", "[process]") {
  DescribedTree tree;
  tree.file("/proc/77/status", "Name:\tx\nUid:\t1000\t1000\t1000\t1000\n")
      .directory("/proc/77/environ")  // not readable, even for root
      .directory("/proc/77/maps");
  auto const report = diagnose_process(site_of_process(tree.site(), 77), two_gpus());
  REQUIRE(report.unknown.size() == 3);
  CHECK_THAT(report.unknown[0], ContainsSubstring("it belongs to user 1000"));
  CHECK_THAT(report.unknown[0], ContainsSubstring("sudo"));
  CHECK(report.findings.empty());
}

TEST_CASE("a library that was replaced under a running process", "[process]") {
  DescribedTree tree;
  describe(tree, "/proc/77");
  tree.file("/proc/77/maps", "7f0-7f1 r-xp 0 fe:01 1 /usr/lib/libcuda.so.570.1 (deleted)\n");
  auto const report = diagnose_process(site_of_process(tree.site(), 77), two_gpus());
  REQUIRE(provokes(report, "process.file_replaced"));
  CHECK(report.findings[0].subject == "/usr/lib/libcuda.so.570.1");
  tree.file("/proc/77/maps", "7f0-7f1 r-xp 0 fe:01 1 /app/train (deleted)\n");  // the new file is another
  CHECK(mapped_libraries(site_of_process(tree.site(), 77)).empty());
  CHECK(provokes(diagnose_process(site_of_process(tree.site(), 77), two_gpus()), "process.file_replaced"));
  tree.file("/proc/77/maps", "7f0-7f1 r-xp 0 fe:01 1 /usr/lib/libz.so.1 (deleted)\n");
  CHECK(spares(diagnose_process(site_of_process(tree.site(), 77), two_gpus()), "process.file_replaced"));
}

TEST_CASE("an environment that the program has written over", "[process]") {
  DescribedTree tree;
  describe(tree, "/proc/77");
  tree.file("/proc/77/environ", "worker 3\0CUDA_VISIBLE_DEVICES=7\0"s);
  auto const report = diagnose_process(site_of_process(tree.site(), 77), two_gpus());
  REQUIRE(report.unknown.size() == 1);
  CHECK_THAT(report.unknown[0], ContainsSubstring("has written over it"));
  CHECK(fact(report, "CUDA_VISIBLE_DEVICES") == "7");
  CHECK(fact(report, "visible GPUs") == no_fact);  // an order or a first list may be gone
  CHECK(fact(report, "environment") == no_fact);
}

TEST_CASE("a site of a process says why its variables may not be all", "[process]") {
  DescribedTree tree;
  describe(tree, "/proc/77");
  CHECK(site_of_process(tree.site(), 77).variables_unknown.empty());
  tree.file("/proc/77/environ", "");  // env -i
  CHECK(site_of_process(tree.site(), 77).variables_unknown.empty());
  for (std::string const& damaged : {"A=1\0worker 3\0B=2\0"s, "\0\0\0\0"s, "worker 3"s}) {
    tree.file("/proc/77/environ", damaged);
    CHECK_THAT(site_of_process(tree.site(), 77).variables_unknown, ContainsSubstring("written over"));
  }
  std::string const missing = site_of_process(tree.site({{"A", "1"}}), 78).variables_unknown;
  CHECK(missing == "/proc/78/environ cannot be read: there is no such process, or it has ended");
  CHECK(site_of_process(tree.site({{"A", "1"}}), 78).variables.empty());
}

TEST_CASE("defaults are not stated of an environment that is not known", "[process]") {
  DescribedTree tree;
  describe(tree, "/proc/77");
  auto const all = [&] {
    cuenv::Site const site = site_of_process(tree.site(), 77);
    return std::vector<cuenv::RungReport>{
        cuenv::diagnose_driver(site, two_gpus()).report,
        cuenv::diagnose_toolkit(site, {}, {}, two_gpus()),
        diagnose_process(site, two_gpus()),
        cuenv::diagnose_variables(site, two_gpus()),
        cuenv::diagnose_jit_cache(site, false),
        cuenv::diagnose_surroundings(site, two_gpus()),
        cuenv::diagnose_gpu_code(site, {tree.root() + "/app/train"}, two_gpus(), {}).report};
  };
  auto const names_it = [](cuenv::RungReport const& report) {
    for (std::string const& reason : report.unknown) {
      if (reason.find("/proc/77/environ") != std::string::npos) return true;
    }
    return false;
  };
  for (auto const& report : all()) CHECK_FALSE(names_it(report));
  std::filesystem::remove(tree.root() + "/proc/77/environ");
  for (auto const& report : all()) {
    CHECK(names_it(report));
    CHECK(fact(report, "state") == no_fact);
    CHECK(fact(report, "CUDA variables") == no_fact);
    CHECK(fact(report, "logical GPU 0") == no_fact);
  }
}

TEST_CASE("a Slurm job or an MPS folder is not judged by variables that may be lost", "[process]") {
  DescribedTree tree;
  describe(tree, "/proc/77");
  tree.file("/tmp/nvidia-mps/control").file("/tmp/nvidia-mps/nvidia-cuda-mps-control.pid", "717");
  tree.file("/proc/717/comm", "nvidia-cuda-mps\n").file("/proc/77/environ", "SLURM_JOB_ID=7\0"s);
  auto report = cuenv::diagnose_surroundings(site_of_process(tree.site(), 77), two_gpus());
  CHECK(provokes(report, "surroundings.slurm_no_gpus"));
  CHECK(provokes(report, "surroundings.mps"));
  tree.file("/proc/77/environ", "title\0SLURM_JOB_ID=7\0"s);
  report = cuenv::diagnose_surroundings(site_of_process(tree.site(), 77), two_gpus());
  CHECK(spares(report, "surroundings.slurm_no_gpus"));
  CHECK(spares(report, "surroundings.mps"));
  CHECK(fact(report, "Slurm job") == "7");
}

TEST_CASE("a process whose main thread has ended lives on in the others", "[process]") {
  DescribedTree tree;
  describe(tree, "/proc/77/task/78");
  tree.file("/proc/77/status", "Name:\ttrain\nState:\tZ (zombie)\nUid:\t0\t0\t0\t0\nNSpid:\t77\n")
      .file("/proc/77/environ", "")
      .file("/proc/77/maps", "")
      .file("/proc/77/task/77/comm", "train\n");
  cuenv::Site const site = site_of_process(tree.site(), 77);
  CHECK(site.get("CUDA_VISIBLE_DEVICES") == "1");
  CHECK(mapped_libraries(site) == std::vector<std::string>{"/app/train", "/app/my lib.so"});
  auto const report = diagnose_process(site, two_gpus());
  CHECK(report.unknown.empty());
  CHECK(fact(report, "program") == "/app/train");
  CHECK(fact(report, "device nodes open") == "2 x /dev/nvidia1, /dev/nvidiactl");
  CHECK_THAT(fact(report, "threads"), ContainsSubstring("2: "));
  std::filesystem::remove_all(tree.root() + "/proc/77/task/78");
  auto const ended = diagnose_process(site_of_process(tree.site(), 77), two_gpus());
  REQUIRE(ended.unknown.size() == 1);
  CHECK_THAT(ended.unknown[0], ContainsSubstring("has ended"));
  CHECK_THAT(site_of_process(tree.site(), 77).variables_unknown, ContainsSubstring("has ended"));
}

TEST_CASE("an environment and a map of many lines are read whole, each name and file once", "[process]") {
  std::string block, maps;
  for (int i = 0; i < 115000; ++i) block += "V" + std::to_string(i) + "=1" + '\0';
  for (int i = 0; i < 100000; ++i) {
    maps += "7f0-7f1 r-xp 0 fe:01 1 /lib/" + std::to_string(i % 3000) + ".so\n";
  }
  DescribedTree tree;
  describe(tree, "/proc/77");
  tree.file("/proc/77/environ", block + "V0=2" + '\0' + block).file("/proc/77/maps", maps);
  cuenv::Site const site = site_of_process(tree.site(), 77);
  CHECK(site.variables.size() == 115000);
  CHECK(site.get("V0") == "1");
  CHECK(site.get("V114999") == "1");
  CHECK(cuenv::detail::mapped_files(site)->size() == 3000);
}

TEST_CASE("a process in a container is seen with its own files", "[process]") {
  DescribedTree tree;
  tree.link("/proc/self/ns/mnt", "mnt:[1]")
      .link("/proc/77/ns/mnt", "mnt:[2]")
      .file("/proc/77/status", "Name:\ttrain\nUid:\t0\t0\t0\t0\nNSpid:\t77\t5\n")
      .file("/proc/77/environ", "A=1\0"s)
      .file("/proc/77/root/proc/5/maps", "7f0-7f1 r-xp 0 fe:01 1 /app/inside\n")
      .file("/proc/77/root/app/inside", shared_object({}));
  cuenv::Site const site = site_of_process(tree.site(), 77);
  CHECK(site.root == tree.root() + "/proc/77/root");
  CHECK(site.process == "5");
  CHECK(site.get("A") == "1");
  CHECK(mapped_libraries(site) == std::vector<std::string>{"/app/inside"});
}

TEST_CASE("this process, as another would see it", "[process]") {
  cuenv::Site const site = site_of_process(cuenv::this_site(), ::getpid());
  CHECK(site.get("PATH") == cuenv::this_site().get("PATH"));
  auto const report = diagnose_process(site, two_gpus());
  CHECK(spares(report, "process.not_there"));
  CHECK(report.unknown.empty());
  CHECK(mapped_libraries(site).size() >= 3);
}

TEST_CASE("what cannot be read of a process is not taken for its end", "[process]") {
  DescribedTree tree;
  tree.directory("/proc/77/status");
  auto const site = site_of_process(tree.site(), 77);
  CHECK_THAT(site.variables_unknown, ContainsSubstring("/proc/77/status failed: "));
  auto const report = diagnose_process(site, two_gpus());
  CHECK(report.findings.empty());
  CHECK(cuenv_tests::could_not_read(report, "/proc/77/status"));

  DescribedTree parts;
  describe(parts, "/proc/77");
  parts.loop("/app/odd.so");
  std::filesystem::remove_all(parts.root() + "/proc/77/fd");
  parts.loop("/proc/77/fd")
      .file("/proc/77/maps",
            "7f0000000000-7f0000001000 r-xp 00000000 fe:01 12   /app/odd.so\n"
            "7f0000002000-7f0000003000 r-xp 00000000 fe:01 13   /app/train\n");
  auto const partly = diagnose_process(site_of_process(parts.site(), 77), two_gpus());
  CHECK(fact(partly, "device nodes open") == no_fact);
  CHECK(fact(partly, "GPU code in /app/train") == "sm_90 compute_80");
  REQUIRE(partly.unknown.size() == 2);
  CHECK_THAT(partly.unknown[0], ContainsSubstring("/proc/77/fd failed: "));
  CHECK_THAT(partly.unknown[1], ContainsSubstring("/app/odd.so failed: "));
}
