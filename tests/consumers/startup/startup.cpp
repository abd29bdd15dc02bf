// The start of a program that needs one GPU of 8.9 or newer.
#include <cuenv/cuenv.hpp>

#include <iostream>

int main() try {
  cuenv::Session session{cuenv::Settings{}};
  for (cuenv::Device const& device : session.devices()) {
    if (device.compute_capability < cuenv::ComputeCapability{8, 9}) continue;
    std::cout << "runs on " << device << '\n';
    return 0;
  }
  std::cerr << "this program needs a GPU of 8.9 or newer\n" << to_string(session.report()) << '\n';
  return 1;
} catch (cuenv::Error const& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
