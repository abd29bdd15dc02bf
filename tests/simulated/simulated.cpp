#include "simulated.hpp"

#include "driver.hpp"

#include <mutex>

namespace simulated {
namespace {

std::mutex install_mutex;  // guards what follows
Machine installed;
Library installed_library = Library::absent;
std::string installed_root;
bool loaded = false;
Environment replaced_environment;

/// The driver holds this and not the function itself, so that a replacement needs no reset.
std::optional<std::string> current_environment(std::string const& name) {
  Environment environment;
  {
    std::lock_guard const lock(install_mutex);
    environment = replaced_environment;
  }
  return environment ? environment(name) : process_environment(name);
}

}  // namespace

void install(Machine machine, Library library, std::string root) {
  driver::reset(machine, root, current_environment);
  std::lock_guard const lock(install_mutex);
  installed = std::move(machine);
  installed_library = library;
  installed_root = std::move(root);
  loaded = false;
}

void preload() {
  std::lock_guard const lock(install_mutex);
  loaded = installed_library == Library::present;
}

void set_environment(Environment environment) {
  std::lock_guard const lock(install_mutex);
  replaced_environment = std::move(environment);
}

cuenv::DriverLibrary open_driver(cuenv::DriverOpen how) {
  std::lock_guard const lock(install_mutex);
  cuenv::DriverLibrary library;
  if (how == cuenv::DriverOpen::load) {
    loaded = installed_library == Library::present;
    if (!loaded) library.error = "libcuda.so.1: cannot open shared object file: No such file or directory";
  }
  library.loaded = loaded;
  if (!loaded) return library;
  library.path = installed_root + "/usr/lib/libcuda.so.1";
  library.simulated_root = installed_root;

  auto& api = library.api;
  api.init = driver::init;
  api.driver_get_version = driver::driver_get_version;
  api.get_error_name = driver::get_error_name;
  api.get_error_string = driver::get_error_string;
  api.device_get_count = driver::device_get_count;
  api.device_get = driver::device_get;
  api.device_get_name = driver::device_get_name;
  api.device_get_uuid = driver::device_get_uuid;
  api.device_get_pci_bus_id = driver::device_get_pci_bus_id;
  api.device_get_attribute = driver::device_get_attribute;
  api.ctx_get_current = driver::ctx_get_current;
  api.ctx_push_current = driver::ctx_push_current;
  api.ctx_pop_current = driver::ctx_pop_current;
  api.primary_ctx_retain = driver::primary_ctx_retain;
  api.primary_ctx_release = driver::primary_ctx_release;
  api.primary_ctx_get_state = driver::primary_ctx_get_state;
  api.module_load_data_ex = driver::module_load_data_ex;
  api.module_unload = driver::module_unload;
  api.module_get_function = driver::module_get_function;
  // Entry points that the described driver is too old for are missing.
  if (installed.cuda_version >= 11070) api.module_get_loading_mode = driver::module_get_loading_mode;
  if (installed.cuda_version >= 12030) api.func_get_name = driver::func_get_name;
  if (installed.cuda_version >= 12040) {
    api.module_get_function_count = driver::module_get_function_count;
    api.module_enumerate_functions = driver::module_enumerate_functions;
    api.func_load = driver::func_load;
  }
  return library;
}

CuenvSimulatedState const& state() { return *driver::state(); }

Machine shipped_machine(std::string const& name) {
  return read_machine(std::string(CUENV_SIMULATED_MACHINES) + "/" + name + ".txt");
}

}  // namespace simulated
