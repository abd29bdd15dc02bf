// One mistake a case; case 0 has none and must compile. See must_not_compile.cmake.
#include <cuenv/cuenv.hpp>

#include <utility>

cuenv::Session make_session();

int main() {
  cuenv::Session session;
  cuenv::PhysicalIndex const physical = cuenv::physical(1);
  cuenv::LogicalIndex const logical = cuenv::logical(1);
  cuenv::Settings settings;
#if CASE == 0
  cuenv::PhysicalIndex const same = physical;
  settings.set(cuenv::visible_devices, {physical, cuenv::physical(0)}).set(cuenv::device_max_connections, 8);
  cuenv::Session const& reference = session;
  return same == physical && reference.map().find(logical) != nullptr ? 0 : 1;
#elif CASE == 1
  cuenv::PhysicalIndex const other = logical;
#elif CASE == 2
  return physical == logical ? 0 : 1;
#elif CASE == 3
  settings.set(cuenv::visible_devices, {physical, logical});
#elif CASE == 4
  cuenv::PhysicalIndex const number = 1;
#elif CASE == 5
  (void)session.load_check("kernels.fatbin", physical);
#elif CASE == 6
  cuenv::Session copy{session};
#elif CASE == 7
  cuenv::Session moved{std::move(session)};
#elif CASE == 8
  cuenv::Session other;
  other = session;
#elif CASE == 9
  settings.set(cuenv::device_max_connections, {physical});
#elif CASE == 10
  settings.set(cuenv::cache_max_size, 4096);
#elif CASE == 11
  settings.set(cuenv::device_order, cuenv::DeviceOrder::pci_bus_id, true);
#endif
}
