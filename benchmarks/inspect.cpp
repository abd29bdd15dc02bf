// Inspecting and judging a file, against the least that can be done (one pread for each header in it) and against
// reading the file once. Prints one line of JSON.
//
//   inspect_benchmark FILE          by turns, in this process
//   inspect_benchmark --once FILE   inspect and judge once: a whole command
//   inspect_benchmark --read FILE   besides, the time to read all of it

#include <cuenv/inspect.hpp>
#include <cuenv/judge.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "stopwatch.hpp"

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

/// The largest memory of this program so far, in KiB. Not getrusage's: that keeps what the parent had before the exec.
long largest_memory() {
  std::ifstream status{"/proc/self/status"};
  for (std::string word; status >> word;) {
    long kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib;
  }
  throw std::runtime_error{"/proc/self/status has no VmHWM"};
}

int once(std::string const& path) {
  Loading seen;
  double const taken = microseconds([&] { visit_images(path, seen); });
  std::printf("{\"modules\": %d, \"loading\": %d, \"us\": %.1f, \"memory_kib\": %ld}\n", seen.modules, seen.loading,
              taken, largest_memory());
  return 0;
}

int read_whole(std::string const& path) {
  std::vector<unsigned char> buffer(1 << 20);
  detail::File const file{path};
  std::uint64_t bytes = 0;
  double const taken = microseconds([&] {
    while (auto const got = file.read(bytes, buffer.data(), buffer.size())) bytes += got;
  });
  std::printf("{\"bytes\": %llu, \"us\": %.1f}\n", static_cast<unsigned long long>(bytes), taken);
  return 0;
}

int by_turns(std::string const& path) {
  HeaderPlaces places;
  visit_images(path, places);
  std::vector<double> bare;
  std::vector<double> whole;
  for (int round = 0; round < 51; ++round) {
    bare.push_back(microseconds([&] {
      detail::File const file{path};
      unsigned char bytes[64];
      for (Header const& header : places.headers) (void)file.read(header.offset, bytes, header.size);
    }));
    whole.push_back(microseconds([&] {
      Loading loading;
      visit_images(path, loading);
    }));
  }
  std::printf("{\"headers\": %zu, \"bare_us\": %.1f, \"inspect_us\": %.1f, \"ratio\": %.3f, \"memory_kib\": %ld}\n",
              places.headers.size(), median(bare), median(whole), paired_ratio(whole, bare), largest_memory());
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  std::string const option = argc == 3 ? argv[1] : "";
  if (argc == 2) return by_turns(argv[1]);
  if (option == "--once") return once(argv[2]);
  if (option == "--read") return read_whole(argv[2]);
  return 2;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
