// A library with the driver's name lies beside the program and is loaded already: the driver of System32 counts.
#include "expect.hpp"
#include "library.hpp"

int main() {
  void* const decoy = open_library("nvcuda.dll");
  expect(decoy != nullptr && library_function<int(unsigned)>(decoy, "cuInit") == nullptr, "the decoy is loaded");
  expect(driver_state(cuenv::open_driver_library(cuenv::DriverOpen::only_if_loaded)) == cuenv::DriverState::not_loaded,
         "it is not taken for the driver");
  cuenv::Session const session;
  expect(session.devices().size() == 2, "a session works");
  std::string const path = session.driver().path;
  expect(cuenv::detail::is_same_path(path, "C:\\windows\\system32\\nvcuda.dll"), "the driver is System32's: " + path);
  return failed_expectations;
}
