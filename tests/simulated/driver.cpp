#include "driver.hpp"

#include "image.hpp"

#ifdef _WIN32
#include <process.h>
#else
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

// The handles of cuda.h point to types that it only declares.
struct CUfunc_st {
  std::string name;
};

struct CUmod_st {
  int device = 0;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
};

struct CUctx_st {
  int device = 0;
  int references = 0;
};

namespace simulated::driver {
namespace {

int process_id() {
#ifdef _WIN32
  return ::_getpid();
#else
  return ::getpid();
#endif
}

/// Everything that a process with the driver in it has.
struct Process {
  bool usable = false;  // false: no machine could be read, every call gives 999
  bool announce = false;
  Machine machine;
  std::string root;
  Environment environment = process_environment;

  bool initialised = false;
  int init_calls = 0;
  std::vector<SimulatedGpu> gpus;  // the logical devices
  Settings settings;

  std::vector<std::unique_ptr<CUctx_st>> contexts;  // one a logical device, for the life of the process
  std::vector<std::unique_ptr<CUmod_st>> modules;
  int contexts_made = 0;
  int launch_blocking = -1;

  CuenvSimulatedState state{};
};

std::mutex process_mutex;
std::unique_ptr<Process> process;                   // guarded by the mutex
std::atomic<int> initialised_in{0};                 // read without the mutex: a child may have inherited it locked
std::atomic<unsigned> process_number{0};            // grows with every reset
thread_local std::vector<CUcontext> current_stack;  // of this thread
thread_local unsigned current_stack_of = 0;         // the process it belongs to

std::unique_ptr<Process> process_from_environment() {
  auto made = std::make_unique<Process>();
  made->announce = true;
  auto const root = process_environment("CUENV_SIMULATED_ROOT");
  made->root = root.value_or("(CUENV_SIMULATED_ROOT is not set)");
  try {
    made->machine = read_machine(made->root + "/machine.txt");
    made->usable = true;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "cuenv: simulated CUDA driver: CUENV_SIMULATED_ROOT must name a folder with machine.txt: %s\n",
                 error.what());
  }
  return made;
}

/// With the mutex held.
Process& this_process() {
  if (!process) process = process_from_environment();
  return *process;
}

std::vector<CUcontext>& this_stack() {
  if (current_stack_of != process_number) current_stack.clear();
  current_stack_of = process_number;
  return current_stack;
}

CUresult code(int result) { return static_cast<CUresult>(result); }

bool in_forked_child() {
  int const pid = initialised_in;
  return pid != 0 && pid != process_id();
}

/// The frame of every call: `body` runs with the mutex held, where the driver answers at all.
template <typename Body>
CUresult answer(Body const& body, bool works_before_init = false) {
  if (in_forked_child()) return CUDA_ERROR_NOT_INITIALIZED;
  std::lock_guard const lock(process_mutex);
  Process& p = this_process();
  if (!p.usable) return CUDA_ERROR_UNKNOWN;
  if (p.machine.stub) return CUDA_ERROR_STUB_LIBRARY;
  if (!p.initialised && !works_before_init) return CUDA_ERROR_NOT_INITIALIZED;
  return body(p);
}

template <typename Body>
CUresult answer_for_device(CUdevice device, Body const& body) {
  return answer([&](Process& p) {
    if (device < 0 || static_cast<std::size_t>(device) >= p.gpus.size()) return CUDA_ERROR_INVALID_DEVICE;
    return body(p, static_cast<std::size_t>(device));
  });
}

template <typename Body>
CUresult answer_for_module(CUmodule module, Body const& body) {
  return answer([&](Process& p) {
    bool const known =
        std::any_of(p.modules.begin(), p.modules.end(), [&](auto const& m) { return m.get() == module; });
    return known ? body(p) : CUDA_ERROR_INVALID_HANDLE;
  });
}

bool owns(Process const& p, CUfunction function) {
  for (auto const& module : p.modules) {
    for (auto const& owned : module->functions) {
      if (owned.get() == function) return true;
    }
  }
  return false;
}

bool owns(Process const& p, CUcontext context) {
  return std::any_of(p.contexts.begin(), p.contexts.end(), [&](auto const& c) { return c.get() == context; });
}

/// As the driver does: at most `length` bytes with the NUL.
void copy_text(std::string const& text, char* to, int length) {
  std::snprintf(to, static_cast<std::size_t>(length), "%s", text.c_str());
}

std::string announced_name(SimulatedGpu const& gpu) { return "Simulated " + gpu.name; }

struct ErrorText {
  CUresult code;
  char const* name;
  char const* text;
};

constexpr ErrorText error_texts[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CUDA_ERROR_STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_ERROR_JIT_COMPILATION_DISABLED, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "PTX JIT compilation was disabled"},
    {CUDA_ERROR_INVALID_SOURCE, "CUDA_ERROR_INVALID_SOURCE", "device kernel image is invalid"},
    {CUDA_ERROR_FILE_NOT_FOUND, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_SYSTEM_NOT_READY, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
     "forward compatibility was attempted on non supported HW"},
    {CUDA_ERROR_MPS_CONNECTION_FAILED, "CUDA_ERROR_MPS_CONNECTION_FAILED",
     "MPS client failed to connect to the MPS control daemon or the MPS server"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

CUresult find_error_text(CUresult error, char const* ErrorText::*member, char const** to) {
  if (to == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *to = nullptr;
  return answer(
      [&](Process&) {
        for (auto const& row : error_texts) {
          if (row.code == error) *to = row.*member;
        }
        return *to != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
      },
      true);
}

/// What the caller gave for an option; null if it is not among the options.
void** find_option(CUjit_option wanted, unsigned count, CUjit_option const* options, void** values) {
  for (unsigned i = 0; options != nullptr && values != nullptr && i < count; ++i) {
    if (options[i] == wanted) return &values[i];
  }
  return nullptr;
}

/// Into the caller's buffer; its size option becomes the number of bytes written.
void write_error_log(std::string const& log, unsigned count, CUjit_option const* options, void** values) {
  void** const buffer = find_option(CU_JIT_ERROR_LOG_BUFFER, count, options, values);
  void** const size = find_option(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, count, options, values);
  if (size == nullptr) return;
  // The values of such options are numbers in the place of pointers.
  auto const room = static_cast<std::size_t>(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(*size)));
  std::size_t written = 0;
  if (buffer != nullptr && *buffer != nullptr && room > 0 && !log.empty()) {
    std::snprintf(static_cast<char*>(*buffer), room, "%s", log.c_str());
    written = std::min(room, log.size() + 1);
  }
  *size = reinterpret_cast<void*>(static_cast<std::uintptr_t>(written));
}

}  // namespace

void reset(Machine machine, std::string root, Environment environment) {
  std::lock_guard const lock(process_mutex);
  process = std::make_unique<Process>();
  process->usable = true;
  process->machine = std::move(machine);
  process->root = std::move(root);
  process->environment = std::move(environment);
  initialised_in = 0;
  ++process_number;
}

char const* root() {
  std::lock_guard const lock(process_mutex);
  return this_process().root.c_str();
}

CuenvSimulatedState const* state() {
  std::lock_guard const lock(process_mutex);
  Process& p = this_process();
  auto& s = p.state;
  s.initialised = p.initialised ? 1 : 0;
  s.init_calls = p.init_calls;
  s.contexts_made = p.contexts_made;
  s.active_primary_contexts = static_cast<int>(
      std::count_if(p.contexts.begin(), p.contexts.end(), [](auto const& c) { return c->references > 0; }));
  s.loaded_modules = static_cast<int>(p.modules.size());
  s.launch_blocking = p.launch_blocking;
  s.max_connections = p.settings.max_connections;
  s.eager_loading = p.settings.eager_loading ? 1 : 0;
  s.disable_jit = p.settings.disable_jit ? 1 : 0;
  s.force_jit = p.settings.force_jit ? 1 : 0;
  s.persisting_l2_percentage = p.settings.persisting_l2_percentage;
  s.cache_disabled = p.settings.cache_disabled ? 1 : 0;
  s.cache_max_size = p.settings.cache_max_size;
  s.cache_path = p.settings.cache_path ? p.settings.cache_path->c_str() : nullptr;
  return &s;
}

// ---- The driver and its devices ------------------------------------------------------------------------------------

CUresult init(unsigned flags) {
  return answer(
      [&](Process& p) {
        ++p.init_calls;
        if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
        if (p.initialised) return CUDA_SUCCESS;  // nothing is read again
        if (p.machine.init_error != 0) return code(p.machine.init_error);
        auto visible = visible_gpus(p.machine, p.environment);
        if (visible.result != 0) return code(visible.result);
        p.gpus = std::move(visible.gpus);
        p.settings = read_settings(p.machine, p.environment);
        for (std::size_t i = 0; i < p.gpus.size(); ++i) {
          p.contexts.push_back(std::make_unique<CUctx_st>());
          p.contexts.back()->device = static_cast<int>(i);
        }
        p.initialised = true;
        initialised_in = process_id();
        if (p.announce) {
          std::fprintf(stderr,
                       "cuenv: simulated CUDA driver (%zu GPUs described in %s/machine.txt); nothing here runs on a "
                       "real GPU\n",
                       p.machine.gpus.size(), p.root.c_str());
        }
        return CUDA_SUCCESS;
      },
      true);
}

CUresult driver_get_version(int* version) {
  return answer(
      [&](Process& p) {
        if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *version = p.machine.cuda_version;
        return CUDA_SUCCESS;
      },
      true);
}

CUresult get_error_name(CUresult error, char const** name) { return find_error_text(error, &ErrorText::name, name); }

CUresult get_error_string(CUresult error, char const** text) { return find_error_text(error, &ErrorText::text, text); }

CUresult device_get_count(int* count) {
  return answer([&](Process& p) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<int>(p.gpus.size());
    return CUDA_SUCCESS;
  });
}

CUresult device_get(CUdevice* device, int ordinal) {
  return answer_for_device(ordinal, [&](Process&, std::size_t index) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = static_cast<int>(index);
    return CUDA_SUCCESS;
  });
}

CUresult device_get_name(char* name, int length, CUdevice device) {
  return answer_for_device(device, [&](Process& p, std::size_t index) {
    if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
    copy_text(announced_name(p.gpus[index]), name, length);
    return CUDA_SUCCESS;
  });
}

CUresult device_get_uuid(CUuuid* uuid, CUdevice device) {
  return answer_for_device(device, [&](Process& p, std::size_t index) {
    if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto const bytes = uuid_bytes(p.gpus[index]);
    static_assert(sizeof uuid->bytes == bytes.size());
    std::memcpy(uuid->bytes, bytes.data(), bytes.size());
    return CUDA_SUCCESS;
  });
}

CUresult device_get_pci_bus_id(char* id, int length, CUdevice device) {
  return answer_for_device(device, [&](Process& p, std::size_t index) {
    auto const pci = pci_address(p.gpus[index]);
    char text[16];
    std::snprintf(text, sizeof text, "%04X:%02X:%02X.%X", pci.domain & 0xffff, pci.bus & 0xff, pci.device & 0xff,
                  pci.function & 0xf);
    if (id == nullptr || length <= static_cast<int>(std::strlen(text))) return CUDA_ERROR_INVALID_VALUE;
    copy_text(text, id, length);
    return CUDA_SUCCESS;
  });
}

CUresult device_get_attribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return answer_for_device(device, [&](Process& p, std::size_t index) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto const& gpu = p.gpus[index];
    auto const pci = pci_address(gpu);
    switch (attribute) {
      case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = gpu.cc_major; return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = gpu.cc_minor; return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID: *value = static_cast<int>(pci.domain); return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: *value = static_cast<int>(pci.bus); return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: *value = static_cast<int>(pci.device); return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_INTEGRATED: *value = 0; return CUDA_SUCCESS;
      // As on an H200, where a share may be set aside up to just this comparison (measured).
      case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 62914560; return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE:
        *value = static_cast<int>((62914560LL * p.machine.max_persisting_l2 + 99) / 100);
        return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: *value = CU_COMPUTEMODE_DEFAULT; return CUDA_SUCCESS;
      default: return CUDA_ERROR_INVALID_VALUE;  // not described
    }
  });
}

// ---- Contexts ------------------------------------------------------------------------------------------------------

CUresult ctx_get_current(CUcontext* context) {
  return answer([&](Process&) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto const& stack = this_stack();
    *context = stack.empty() ? nullptr : stack.back();
    return CUDA_SUCCESS;
  });
}

CUresult ctx_push_current(CUcontext context) {
  return answer([&](Process& p) {
    if (!owns(p, context)) return CUDA_ERROR_INVALID_CONTEXT;
    this_stack().push_back(context);
    return CUDA_SUCCESS;
  });
}

CUresult ctx_pop_current(CUcontext* context) {
  return answer([&](Process&) {
    auto& stack = this_stack();
    if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) *context = stack.back();
    stack.pop_back();
    return CUDA_SUCCESS;
  });
}

CUresult primary_ctx_retain(CUcontext* context, CUdevice device) {
  return answer_for_device(device, [&](Process& p, std::size_t index) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto& primary = *p.contexts[index];
    if (primary.references == 0) {
      if (p.machine.context_error != 0) return code(p.machine.context_error);
      if (p.settings.persisting_l2_percentage > p.machine.max_persisting_l2) return CUDA_ERROR_INVALID_VALUE;
      p.launch_blocking = is_on(p.environment("CUDA_LAUNCH_BLOCKING")) ? 1 : 0;
      ++p.contexts_made;
    }
    ++primary.references;
    *context = &primary;
    return CUDA_SUCCESS;
  });
}

CUresult primary_ctx_release(CUdevice device) {
  return answer_for_device(device, [&](Process& p, std::size_t index) {
    auto& primary = *p.contexts[index];
    if (primary.references == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--primary.references == 0) {  // the modules go with it
      auto const of_it = [&](auto const& module) { return module->device == primary.device; };
      p.modules.erase(std::remove_if(p.modules.begin(), p.modules.end(), of_it), p.modules.end());
    }
    return CUDA_SUCCESS;
  });
}

CUresult primary_ctx_get_state(CUdevice device, unsigned* flags, int* active) {
  return answer_for_device(device, [&](Process& p, std::size_t index) {
    if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = 0;
    *active = p.contexts[index]->references > 0 ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

// ---- Modules -------------------------------------------------------------------------------------------------------

CUresult module_load_data_ex(CUmodule* module, void const* image, unsigned option_count, CUjit_option* options,
                             void** option_values) {
  return answer([&](Process& p) {
    if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto const& stack = this_stack();
    if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (stack.back()->references == 0) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    auto const& gpu = p.gpus[static_cast<std::size_t>(stack.back()->device)];
    ImageTarget target;
    target.cc_major = gpu.cc_major;
    target.cc_minor = gpu.cc_minor;
    target.cuda_version = p.machine.cuda_version;
    target.disable_jit = p.settings.disable_jit;
    target.force_jit = p.settings.force_jit;
    target.jit_compiler_missing = p.machine.jit_compiler_missing;
    auto const loaded = load_image(image, target);
    bool const compiler_spoke =
        loaded.result == CUDA_ERROR_INVALID_PTX || loaded.result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    write_error_log(compiler_spoke ? "simulated compiler: " + loaded.log : "", option_count, options, option_values);
    if (loaded.result != 0) return code(loaded.result);
    auto made = std::make_unique<CUmod_st>();
    made->device = stack.back()->device;
    for (auto const& kernel : loaded.kernels) made->functions.push_back(std::make_unique<CUfunc_st>(CUfunc_st{kernel}));
    p.modules.push_back(std::move(made));
    *module = p.modules.back().get();
    return CUDA_SUCCESS;
  });
}

CUresult module_unload(CUmodule module) {
  return answer_for_module(module, [&](Process& p) {
    auto const is_it = [&](auto const& m) { return m.get() == module; };
    p.modules.erase(std::remove_if(p.modules.begin(), p.modules.end(), is_it), p.modules.end());
    return CUDA_SUCCESS;
  });
}

CUresult module_get_function(CUfunction* function, CUmodule module, char const* name) {
  return answer_for_module(module, [&](Process&) {
    if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (auto const& owned : module->functions) {
      if (owned->name != name) continue;
      *function = owned.get();
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
  });
}

CUresult module_get_loading_mode(CUmoduleLoadingMode* mode) {
  return answer([&](Process& p) {
    if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *mode = p.settings.eager_loading ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
  });
}

CUresult module_get_function_count(unsigned* count, CUmodule module) {
  return answer_for_module(module, [&](Process&) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned>(module->functions.size());
    return CUDA_SUCCESS;
  });
}

CUresult module_enumerate_functions(CUfunction* functions, unsigned count, CUmodule module) {
  return answer_for_module(module, [&](Process&) {
    if (functions == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < count && i < module->functions.size(); ++i) functions[i] = module->functions[i].get();
    return CUDA_SUCCESS;
  });
}

CUresult func_load(CUfunction function) {
  return answer([&](Process& p) { return owns(p, function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; });
}

CUresult func_get_name(char const** name, CUfunction function) {
  return answer([&](Process& p) {
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!owns(p, function)) return CUDA_ERROR_INVALID_HANDLE;
    *name = function->name.c_str();
    return CUDA_SUCCESS;
  });
}

}  // namespace simulated::driver
