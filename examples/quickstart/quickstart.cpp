// quickstart IMAGE [GPU...]: see these GPUs, in this order, by nvidia-smi's index; check that the image runs on each.
#include <cuenv/cuenv.hpp>

#include <cstdlib>
#include <iostream>
#include <vector>

int main(int argc, char** argv) try {
  std::vector<cuenv::PhysicalIndex> gpus;
  for (int i = 2; i < argc; ++i) gpus.push_back(cuenv::physical(std::atoi(argv[i])));

  cuenv::Settings settings;
  settings.set(cuenv::cache_max_size, cuenv::gibibytes(2)).set(cuenv::device_max_connections, 32);
  if (!gpus.empty()) settings.set(cuenv::visible_devices, cuenv::VisibleDevices{gpus});

  cuenv::Session session{settings};  // checks, applies, starts CUDA, maps; or throws one error that names every problem
  std::cout << to_string(session.report()) << '\n';
  for (auto const& device : session.devices()) std::cout << device << '\n';

  session.require_image(argc > 1 ? argv[1] : "kernels.fatbin");
  std::cout << "the kernels run on every visible GPU\n";
} catch (cuenv::Error const& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
