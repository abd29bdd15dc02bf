// How long it takes to inspect and judge files, against the least that can be done: one pread for each header in them.
//
//   inspect FILE...
//
// Ends with 1 where inspecting a file of a thousand entries or more takes over 1.5 times as long as its bare reads.

#include <cuenv/inspect.hpp>
#include <cuenv/judge.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

using namespace cuenv;

namespace {

struct Header {
  std::uint64_t offset;
  std::size_t size;
};

/// Remembers where the headers of a file are.
struct HeaderPlaces {
  std::vector<Header> headers;
  void begin_module(ImageModule const& module) { headers.push_back({module.offset, 16}); }
  void entry(ImageEntry const& entry) { headers.push_back({entry.offset, 64}); }
  void end_module(Damage) {}
};

/// Counts the modules that load, without a list.
struct Loading {
  LoadConditions conditions{{9, 0}, CudaVersion{13, 0}, {}};
  ModuleJudge judge{ModuleKind::unknown, conditions};
  int modules = 0;
  int loading = 0;
  void begin_module(ImageModule const& module) { judge = ModuleJudge{module.kind, conditions}; }
  void entry(ImageEntry const& entry) { judge.add(entry); }
  void end_module(Damage damage) {
    ++modules;
    loading += judge.verdict(damage).loads() ? 1 : 0;
  }
};

template <class Work>
double microseconds(Work work) {
  auto const begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  bool slow = false;
  for (int i = 1; i < argc; ++i) {
    HeaderPlaces places;
    visit_images(argv[i], places);
    Loading seen;
    visit_images(argv[i], seen);
    std::vector<double> bare;
    std::vector<double> whole;
    for (int round = 0; round < 51; ++round) {  // by turns, so that both meet the same machine
      bare.push_back(microseconds([&] {
        detail::File const file{argv[i]};
        unsigned char bytes[64];
        for (Header const& header : places.headers) (void)file.read(header.offset, bytes, header.size);
      }));
      whole.push_back(microseconds([&] {
        Loading loading;
        visit_images(argv[i], loading);
      }));
    }
    double const ratio = median(whole) / median(bare);
    std::printf(
        "%s: %d modules, %zu headers, %d load on 9.0: bare reads %.0f us, inspect and judge %.0f us, %.2f times\n",
        argv[i], seen.modules, places.headers.size(), seen.loading, median(bare), median(whole), ratio);
    slow = slow || (ratio > 1.5 && places.headers.size() > 1000);
  }
  ::rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("largest memory of this process: %ld KiB\n", usage.ru_maxrss);
  return slow ? 1 : 0;
}
