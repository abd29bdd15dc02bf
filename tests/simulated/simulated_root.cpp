// simulated_root MACHINE.txt FOLDER: writes the folder that stands for "/" on the described machine.
#include "machine.hpp"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s MACHINE.txt FOLDER\n", argc > 0 ? argv[0] : "simulated_root");
    return 2;
  }
  try {
    simulated::write_root(simulated::read_machine(argv[1]), argv[2]);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "simulated_root: %s\n", error.what());
    return 1;
  }
  return 0;
}
