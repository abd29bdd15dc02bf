// The start of a program that uses a session: prints the microseconds from main to the devices, and how many there are.
// bare.cpp is the same without cuenv; the two are also compared in size.
#include <cuenv/session.hpp>

#include <chrono>
#include <cstdio>

int main() try {
  auto const begin = std::chrono::steady_clock::now();
  cuenv::Settings settings;
  settings.set(cuenv::device_order, cuenv::DeviceOrder::pci_bus_id).set(cuenv::device_max_connections, 8);
  cuenv::Session const session{settings};
  std::chrono::duration<double, std::micro> const taken = std::chrono::steady_clock::now() - begin;
  std::printf("%.1f %zu\n", taken.count(), session.devices().size());
} catch (cuenv::Error const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
