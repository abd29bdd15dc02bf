// list_targets FILE: how many cubins and PTX texts there are for each target, in the words of cuobjdump, and how long
// reading them took.
#include <cuenv/inspect.hpp>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>

namespace {

// As cuobjdump 13.0 lists code: what waits for the device linker (__nv_relfatbin) is left out, and the suffix f is not
// shown.
struct Counter {
  std::map<std::string, int> counts;
  bool listed = true;

  void begin_module(cuenv::ImageModule const& module) { listed = module.section != "__nv_relfatbin"; }
  void end_module(cuenv::Damage) {}
  void entry(cuenv::ImageEntry entry) {
    if (!listed) return;
    if (entry.target.suffix == 'f') entry.target.suffix = 0;
    if (entry.kind != cuenv::ImageKind::cubin && entry.kind != cuenv::ImageKind::ptx) return;
    ++counts[to_string(cuenv::ImageKind::cubin, entry.target) +
             (entry.kind == cuenv::ImageKind::ptx ? ".ptx" : ".cubin")];
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  double best = 1e9;
  Counter counter;
  for (int i = 0; i < 3; ++i) {
    counter.counts.clear();
    auto const begin = std::chrono::steady_clock::now();
    cuenv::visit_images(argv[1], counter);
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (seconds < best) best = seconds;
  }
  for (auto const& [target, count] : counter.counts) std::cout << target << ' ' << count << '\n';
  std::fprintf(stderr, "%.6f\n", best);
}
