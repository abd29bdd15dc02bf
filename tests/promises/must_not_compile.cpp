// Mistakes that the compiler finds. With MISTAKES each marked line must be refused, for the reason that stands behind
// it (a regular expression); without it the right thing to write, beside it, must compile. See must_not_compile.py.
#include <cuenv/cuenv.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

void the_two_kinds_of_index_cannot_be_mixed(cuenv::PhysicalIndex physical, cuenv::LogicalIndex logical) {
#ifdef MISTAKES
  cuenv::PhysicalIndex const gpu = logical;     // refused: conversion from .*LogicalIndex|no viable conversion
  cuenv::LogicalIndex const device = physical;  // refused: conversion from .*PhysicalIndex|no viable conversion
  physical = logical;                           // refused: no match for 'operator='|no viable overloaded '='
  bool const same = physical == logical;        // refused: no match for 'operator=='|invalid operands
  bool const before = physical < logical;       // refused: no match for 'operator<'|invalid operands
#else
  cuenv::PhysicalIndex const gpu = physical;
  cuenv::LogicalIndex const device = logical;
  physical = gpu;
  bool const same = physical == gpu;
  bool const before = logical < device;
#endif
  (void)gpu, (void)device, (void)same, (void)before;
}

void a_number_is_no_index(cuenv::DeviceMap const& map, cuenv::LogicalIndex logical) {
#ifdef MISTAKES
  cuenv::PhysicalIndex const gpu = 1;        // refused: conversion from 'int'|no viable conversion
  cuenv::LogicalIndex const device = 1;      // refused: conversion from 'int'|no viable conversion
  int const number = logical;                // refused: cannot convert|no viable conversion
  cuenv::Device const* found = map.find(1);  // refused: no matching (member )?function
#else
  cuenv::PhysicalIndex const gpu = cuenv::physical(1);
  cuenv::LogicalIndex const device = cuenv::logical(1);
  int const number = logical.value;
  cuenv::Device const* found = map.find(cuenv::logical(1));
#endif
  (void)gpu, (void)device, (void)number, (void)found;
}

void a_list_is_of_one_kind(cuenv::Settings& settings, cuenv::PhysicalIndex physical, cuenv::LogicalIndex logical) {
#ifdef MISTAKES
  settings.set(cuenv::visible_devices, {physical, logical});  // refused: no matching (member )?function|cannot convert
  settings.set(cuenv::visible_devices, {physical, 1});        // refused: no matching (member )?function|cannot convert
  settings.set(cuenv::visible_devices, {0, 1});               // refused: no matching (member )?function|cannot convert
#else
  settings.set(cuenv::visible_devices, {physical, cuenv::physical(0)});
  settings.set(cuenv::visible_devices, {logical});
  settings.set(cuenv::visible_devices, {cuenv::gpu("GPU-5a9c1f04")});
#endif
}

void a_value_is_of_its_variables_type(cuenv::Settings& settings, cuenv::PhysicalIndex physical) {
#ifdef MISTAKES
  settings.set(cuenv::device_max_connections, {physical});    // refused: cannot convert|no viable|no matching
  settings.set(cuenv::cache_max_size, 4096);                  // refused: cannot convert|no viable|no matching|could not
  settings.set(cuenv::device_order, "PCI_BUS_ID");            // refused: cannot convert|no viable|no matching
  settings.set(cuenv::module_loading, cuenv::DeviceOrder{});  // refused: cannot convert|no viable|no matching
  settings.set(cuenv::launch_blocking, true, true);           // refused: cannot convert|no viable|no matching
  std::optional<int> const size = settings.get(cuenv::cache_max_size);  // refused: conversion from|no viable
#else
  settings.set(cuenv::device_max_connections, 8);
  settings.set(cuenv::cache_max_size, cuenv::kibibytes(4));
  settings.set(cuenv::device_order, cuenv::DeviceOrder::pci_bus_id);
  settings.set(cuenv::module_loading, cuenv::ModuleLoading{});
  settings.set(cuenv::launch_blocking, true, cuenv::Precedence::override);
  std::optional<cuenv::ByteCount> const size = settings.get(cuenv::cache_max_size);
#endif
  (void)physical, (void)size;
}

void a_session_stays_where_it_is(cuenv::Session& session, cuenv::Settings const& settings) {
#ifdef MISTAKES
  cuenv::Session copy{session};                                                // refused: deleted
  cuenv::Session moved{std::move(session)};                                    // refused: deleted
  session = cuenv::Session{settings};                                          // refused: deleted
  std::vector<cuenv::Session> sessions = {cuenv::Session{settings}, session};  // refused: deleted|no matching|could not
  cuenv::Session implied = settings;                                           // refused: conversion from|no viable
  cuenv::Session with_number{settings, 1};  // refused: no matching (function|constructor)|cannot convert
#else
  cuenv::Session& reference = session;
  cuenv::Session const& constant{session};
  std::vector<cuenv::Session*> sessions = {&reference, &session};
  cuenv::Session direct{settings};
  cuenv::Session with_option{settings, cuenv::absent_ok | cuenv::ask_nvml};
  (void)constant;
#endif
}

void what_a_session_found_cannot_be_changed(cuenv::Session& session, cuenv::PhysicalIndex physical) {
#ifdef MISTAKES
  session.report().attached = true;                      // refused: read-only|cannot assign
  session.devices().clear();                             // refused: discards qualifiers|not marked const|no viable
  (void)session.load_check("kernels.fatbin", physical);  // refused: no matching (member )?function|cannot convert
#else
  cuenv::Report report = session.report();
  report.attached = true;
  std::vector<cuenv::Device> devices = session.devices();
  devices.clear();
  (void)session.load_check("kernels.fatbin", session.map().find(physical).at(0));
#endif
}

void an_answer_is_not_thrown_away(cuenv::Session const& session, cuenv::Settings const& settings) {
#ifdef MISTAKES
  session.load_check("kernels.fatbin");  // refused: ignoring return value
  settings.problems();                   // refused: ignoring return value
  cuenv::inspect("kernels.fatbin");      // refused: ignoring return value
#else
  auto const results = session.load_check("kernels.fatbin");
  auto const problems = settings.problems();
  auto const file = cuenv::inspect("kernels.fatbin");
#endif
}

int main() {}
