// How time grows with the size of what is looked at. Prints one line of JSON for each point: series, n, microseconds of
// the processor.
//
//   growth_benchmark LIBRARY   a small shared library with GPU code, of which copies are loaded
#include <cuenv/inspect.hpp>
#include <cuenv/judge.hpp>
#include <cuenv/program.hpp>
#include <cuenv/visibility.hpp>

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "stopwatch.hpp"
#include "support/described_machines.hpp"
#include "support/image_builder.hpp"
#include "support/temporary_folder.hpp"

namespace {

/// The median of some rounds, each of at least a fifth of a millisecond.
template <class Work>
void point(char const* series, std::size_t n, Work&& work) {
  auto const round = [&](std::size_t repeats) {
    return processor_microseconds([&] {
      for (std::size_t i = 0; i < repeats; ++i) work();
    });
  };
  std::size_t repeats = 1;
  while (repeats < 4096 && round(repeats) < 200) repeats *= 2;
  std::vector<double> rounds;
  for (int i = 0; i < 31; ++i) rounds.push_back(round(repeats) / static_cast<double>(repeats));
  std::printf("{\"series\": \"%s\", \"n\": %zu, \"us\": %.3f}\n", series, n, median(rounds));
}

struct Verdicts {
  cuenv::LoadConditions conditions{{9, 0}, cuenv::CudaVersion{13, 0}, {}};
  cuenv::ModuleJudge judge{cuenv::ModuleKind::unknown, conditions};
  int loading = 0;
  void begin_module(cuenv::ImageModule const& module) { judge = cuenv::ModuleJudge{module.kind, conditions}; }
  void entry(cuenv::ImageEntry const& entry) { judge.add(entry); }
  void end_module(cuenv::Damage damage) { loading += judge.verdict(damage).loads() ? 1 : 0; }
};

void entries_of_a_file(std::string const& folder) {
  std::string const one = image_builder::cubin_entry(90);
  for (std::size_t n : {10U, 100U, 1000U, 10000U}) {
    std::string const path = folder + "/entries.fatbin";
    std::string entries;
    for (std::size_t i = 0; i < n; ++i) entries += one;
    std::ofstream{path, std::ios::binary} << image_builder::container(entries);
    point("inspect and judge a file, by its entries", n, [&] {
      Verdicts verdicts;
      cuenv::visit_images(path, verdicts);
      if (verdicts.loading != 1) std::abort();
    });
  }
}

void gpus_of_a_list() {
  for (unsigned n : {1U, 2U, 4U, 8U, 16U, 32U, 64U}) {
    cuenv::Machine const machine = cuenv_tests::alike_gpus(n);
    std::string indices;
    std::string uuids;
    for (unsigned i = n; i-- > 0;) {
      indices += (indices.empty() ? "" : ",") + std::to_string(i);
      uuids += (uuids.empty() ? "GPU-" : ",GPU-") + to_string(*machine.gpus[i].uuid);
    }
    auto const resolve = [&](std::string const& list) {
      if (cuenv::resolve_visibility({list, "PCI_BUS_ID"}, machine).devices.size() != n) std::abort();
    };
    point("resolve a list of indices, by GPUs", n, [&] { resolve(indices); });
    point("resolve a list of UUIDs, by GPUs", n, [&] { resolve(uuids); });
  }
}

void loaded_libraries(std::string const& folder, std::string const& library) {
  std::size_t loaded = 0;
  std::vector<cuenv::LoadConditions> const gpu{{{9, 0}, cuenv::CudaVersion{13, 0}, {}}};
  for (std::size_t n : {1U, 10U, 50U, 100U, 200U}) {
    for (; loaded < n; ++loaded) {
      std::string const copy = folder + "/library" + std::to_string(loaded) + ".so";
      std::filesystem::copy_file(library, copy);
      if (dlopen(copy.c_str(), RTLD_NOW) == nullptr) std::abort();
    }
    point("judge the program, by loaded libraries", n, [&] {
      if (cuenv::judge_program(gpu, {}, true).files.size() != n + 1) std::abort();
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  cuenv_tests::TemporaryFolder const folder;
  entries_of_a_file(folder.path.string());
  gpus_of_a_list();
  loaded_libraries(folder.path.string(), argv[1]);
}
