// The simulated machine against what was measured on a real one.
#include "simulated.hpp"

#include "../support/visible_devices_table.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

struct nvmlDevice_st;

namespace {

/// Stands in for the process's environment.
class FakeEnvironment {
 public:
  FakeEnvironment() {
    simulated::set_environment([this](std::string const& name) -> std::optional<std::string> {
      auto const found = values_.find(name);
      if (found == values_.end()) return std::nullopt;
      return found->second;
    });
  }
  ~FakeEnvironment() { simulated::set_environment({}); }
  FakeEnvironment(FakeEnvironment const&) = delete;
  FakeEnvironment& operator=(FakeEnvironment const&) = delete;

  void set(std::string const& name, std::string const& value) { values_[name] = value; }
  void unset(std::string const& name) { values_.erase(name); }

 private:
  std::map<std::string, std::string> values_;
};

cuenv::DriverApi fresh_process(simulated::Machine machine = simulated::shipped_machine("two_h200")) {
  simulated::install(std::move(machine));
  return simulated::open_driver(cuenv::DriverOpen::load).api;
}

/// The numbers are those of the documents and of the measurements.
int number(CUresult result) { return static_cast<int>(result); }

std::vector<std::string> bus_ids(cuenv::DriverApi const& api) {
  std::vector<std::string> ids;
  int count = 0;
  REQUIRE(api.device_get_count(&count) == CUDA_SUCCESS);
  for (int i = 0; i < count; ++i) {
    char id[32];
    REQUIRE(api.device_get_pci_bus_id(id, sizeof id, i) == CUDA_SUCCESS);
    ids.emplace_back(id);
  }
  return ids;
}

/// A process with a context of the first device current.
cuenv::DriverApi process_with_context(simulated::Machine machine = simulated::shipped_machine("two_h200")) {
  auto const api = fresh_process(std::move(machine));
  CUcontext context = nullptr;
  REQUIRE(api.init(0) == CUDA_SUCCESS);
  REQUIRE(api.primary_ctx_retain(&context, 0) == CUDA_SUCCESS);
  REQUIRE(api.ctx_push_current(context) == CUDA_SUCCESS);
  return api;
}

int load(cuenv::DriverApi const& api, std::string image) {
  image.append(image.size() + 4096, '\0');  // so that nothing an earlier case left behind is read
  CUmodule module = nullptr;
  int const result = number(api.module_load_data_ex(&module, image.data(), 0, nullptr, nullptr));
  if (result == 0) REQUIRE(api.module_unload(module) == CUDA_SUCCESS);
  return result;
}

std::string ptx(std::string const& version, std::string const& target) {
  return ".version " + version + "\n.target " + target +
         "\n.address_size 64\n.visible .entry probe(.param .u64 p)\n{\nret;\n}\n";
}

void append(std::string& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> 8 * i & 0xff);
}

/// One entry of a fatbin; `payload` is padded to 8 bytes.
std::string fatbin_entry(unsigned kind, unsigned sm, std::string payload, std::uint64_t flags = 0x11) {
  payload.append(8 - payload.size() % 8, '\0');
  std::string entry;
  append(entry, kind, 2);
  append(entry, 0x0101, 2);
  append(entry, 64, 4);
  append(entry, payload.size(), 8);
  append(entry, 0, 8);
  append(entry, 9 << 16, 4);  // version 9.0
  append(entry, sm, 4);
  append(entry, 0, 8);
  append(entry, flags, 8);
  append(entry, 0, 8);
  append(entry, 0, 8);
  return entry + payload;
}

std::string fatbin(std::string const& entries) {
  std::string container;
  append(container, 0xBA55ED50, 4);
  append(container, 1, 2);
  append(container, 16, 2);
  append(container, entries.size(), 8);
  return container + entries;
}

constexpr char const* first_bus_id = "0000:00:06.0";
constexpr char const* second_bus_id = "0000:00:07.0";

}  // namespace

TEST_CASE("CUDA_VISIBLE_DEVICES does what was measured") {
  FakeEnvironment environment;
  auto const table = cuenv_tests::read_visible_devices_table(CUENV_TESTS_DATA "/visible_devices_r580.tsv");
  REQUIRE(table.size() == 508);
  for (auto const& measured : table) {
    INFO("CUDA_VISIBLE_DEVICES=" << measured.value);
    environment.set("CUDA_VISIBLE_DEVICES", measured.value);
    auto const api = fresh_process();
    CHECK(number(api.init(0)) == measured.init_result);
    if (measured.init_result != 0) continue;
    std::vector<std::string> expected;
    for (int const gpu : measured.physical) expected.push_back(gpu == 0 ? first_bus_id : second_bus_id);
    CHECK(bus_ids(api) == expected);
  }
}

TEST_CASE("CUDA_DEVICE_ORDER has two values and spoils everything else") {
  FakeEnvironment environment;
  std::vector<std::string> const by_bus{"0000:01:00.0", "0000:02:00.0"};
  std::vector<std::string> const by_speed{"0000:02:00.0", "0000:01:00.0"};
  auto const machine = simulated::shipped_machine("rtx_3090_4070");

  auto api = fresh_process(machine);
  REQUIRE(api.init(0) == CUDA_SUCCESS);
  CHECK(bus_ids(api) == by_speed);

  environment.set("CUDA_DEVICE_ORDER", "FASTEST_FIRST");
  api = fresh_process(machine);
  REQUIRE(api.init(0) == CUDA_SUCCESS);
  CHECK(bus_ids(api) == by_speed);

  environment.set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  api = fresh_process(machine);
  REQUIRE(api.init(0) == CUDA_SUCCESS);
  CHECK(bus_ids(api) == by_bus);

  environment.set("CUDA_VISIBLE_DEVICES", "1");
  api = fresh_process(machine);
  REQUIRE(api.init(0) == CUDA_SUCCESS);
  CHECK(bus_ids(api) == std::vector<std::string>{"0000:02:00.0"});

  for (auto const* wrong : {"pci_bus_id", " PCI_BUS_ID", "foo", ""}) {
    environment.set("CUDA_DEVICE_ORDER", wrong);
    CHECK(number(fresh_process(machine).init(0)) == 101);
  }
}

TEST_CASE("a driver before, between and after cuInit") {
  FakeEnvironment environment;
  auto const api = fresh_process();
  int value = 0;
  int active = 0;
  unsigned flags = 0;
  CUcontext context = nullptr;
  CUmoduleLoadingMode mode{};
  CHECK(api.driver_get_version(&value) == CUDA_SUCCESS);
  CHECK(value == 13000);

  auto const not_initialised = [&] {
    CHECK(number(api.device_get_count(&value)) == 3);
    CHECK(number(api.device_get(&value, 0)) == 3);
    CHECK(number(api.ctx_get_current(&context)) == 3);
    CHECK(number(api.primary_ctx_get_state(0, &flags, &active)) == 3);
    CHECK(number(api.module_get_loading_mode(&mode)) == 3);
  };
  not_initialised();

  environment.set("CUDA_VISIBLE_DEVICES", "7");
  CHECK(number(api.init(0)) == 100);
  not_initialised();

  environment.set("CUDA_VISIBLE_DEVICES", "1");  // read again
  CHECK(number(api.init(0)) == 0);
  CHECK(bus_ids(api) == std::vector<std::string>{second_bus_id});

  environment.set("CUDA_VISIBLE_DEVICES", "0,1");  // no longer read
  CHECK(number(api.init(0)) == 0);
  CHECK(bus_ids(api) == std::vector<std::string>{second_bus_id});
  CHECK(simulated::state().init_calls == 3);

  CHECK(api.ctx_get_current(&context) == CUDA_SUCCESS);
  CHECK(context == nullptr);
}

TEST_CASE("device properties are those of the description and say that they are simulated") {
  FakeEnvironment environment;
  auto const api = fresh_process();
  REQUIRE(api.init(0) == CUDA_SUCCESS);
  char name[64];
  REQUIRE(api.device_get_name(name, sizeof name, 1) == CUDA_SUCCESS);
  CHECK(std::string(name) == "Simulated NVIDIA H200");
  CUuuid uuid{};
  REQUIRE(api.device_get_uuid(&uuid, 0) == CUDA_SUCCESS);
  CHECK(std::memcmp(uuid.bytes, "\x5a\x9c\x1f\x04\x3e\x7b\x4d\x21\x8c\x66\x0b\x1d\x2e\x3f\x4a\x5b", 16) == 0);
  int major = 0;
  REQUIRE(api.device_get_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) == CUDA_SUCCESS);
  CHECK(major == 9);
  CHECK(number(api.device_get_name(name, sizeof name, 2)) == 101);
}

TEST_CASE("the child of a fork after cuInit has no CUDA") {
  FakeEnvironment environment;
  auto const api = fresh_process();
  auto const answers_in_child = [&] {
    pid_t const child = ::fork();
    if (child == 0) {
      int count = 0;
      int const init = number(api.init(0));
      int const after = number(api.device_get_count(&count));
      ::_exit(init == 3 && after == 3 ? 3 : init == 0 && after == 0 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  };
  CHECK(answers_in_child() == 0);
  CHECK(api.init(0) == CUDA_SUCCESS);
  CHECK(answers_in_child() == 3);
}

TEST_CASE("threads that call cuInit at once all succeed") {
  FakeEnvironment environment;
  auto const api = fresh_process();
  std::vector<int> results(8, -1);
  std::vector<std::thread> threads;
  for (auto& result : results) threads.emplace_back([&] { result = number(api.init(0)); });
  for (auto& thread : threads) thread.join();
  CHECK(results == std::vector<int>(8, 0));
}

TEST_CASE("a machine can refuse cuInit or contexts, or be the toolkit's stub") {
  FakeEnvironment environment;
  auto machine = simulated::shipped_machine("two_h200");
  machine.init_error = 803;
  CHECK(number(fresh_process(machine).init(0)) == 803);

  machine.init_error = 0;
  machine.context_error = 2;
  auto api = fresh_process(machine);
  CUcontext context = nullptr;
  CHECK(api.init(0) == CUDA_SUCCESS);
  CHECK(number(api.primary_ctx_retain(&context, 0)) == 2);
  CHECK(simulated::state().contexts_made == 0);

  machine.stub = true;
  api = fresh_process(machine);
  int version = 0;
  CHECK(number(api.driver_get_version(&version)) == 34);
  CHECK(number(api.init(0)) == 34);

  machine = {};  // no GPU at all
  CHECK(number(fresh_process(machine).init(0)) == 100);
}

TEST_CASE("excluded GPUs are not there") {
  FakeEnvironment environment;
  auto machine = simulated::shipped_machine("two_h200");
  machine.gpus[0].excluded = true;
  auto const api = fresh_process(machine);
  REQUIRE(api.init(0) == CUDA_SUCCESS);
  CHECK(bus_ids(api) == std::vector<std::string>{second_bus_id});
}

TEST_CASE("variables are read at their moment and never again") {
  FakeEnvironment environment;
  environment.set("CUDA_DEVICE_MAX_CONNECTIONS", "4");
  environment.set("CUDA_MODULE_LOADING", "eager");
  auto const api = fresh_process();
  REQUIRE(api.init(0) == CUDA_SUCCESS);
  environment.set("CUDA_DEVICE_MAX_CONNECTIONS", "16");
  environment.set("CUDA_MODULE_LOADING", "LAZY");
  environment.set("CUDA_DISABLE_PTX_JIT", "1");
  environment.set("CUDA_LAUNCH_BLOCKING", "1");  // this one is read with the context

  CUcontext context = nullptr;
  REQUIRE(api.primary_ctx_retain(&context, 0) == CUDA_SUCCESS);
  environment.set("CUDA_LAUNCH_BLOCKING", "0");
  REQUIRE(api.primary_ctx_retain(&context, 0) == CUDA_SUCCESS);  // the same context: nothing is read
  CHECK(simulated::state().max_connections == 4);
  CHECK(simulated::state().eager_loading == 1);
  CHECK(simulated::state().disable_jit == 0);
  CHECK(simulated::state().launch_blocking == 1);

  REQUIRE(api.primary_ctx_release(0) == CUDA_SUCCESS);
  REQUIRE(api.primary_ctx_release(0) == CUDA_SUCCESS);
  REQUIRE(api.primary_ctx_retain(&context, 0) == CUDA_SUCCESS);  // made again: read again
  CHECK(simulated::state().launch_blocking == 0);
  CHECK(simulated::state().contexts_made == 2);
}

TEST_CASE("texts of variables are read as was measured") {
  FakeEnvironment environment;
  auto const with = [&](std::string const& name, std::string const& value) {
    environment.set(name, value);
    auto const api = fresh_process();
    CUcontext context = nullptr;
    REQUIRE(api.init(0) == CUDA_SUCCESS);
    REQUIRE(api.primary_ctx_retain(&context, 0) == CUDA_SUCCESS);
    environment.unset(name);
    return simulated::state();
  };
  for (auto const* on : {"1", "01", " 1", "\t1", "1 ", "+1", "1x", "1.9", "1,0", "4294967297", "-4294967295"}) {
    INFO(on);
    CHECK(with("CUDA_LAUNCH_BLOCKING", on).launch_blocking == 1);
  }
  for (auto const* off :
       {"0", "2", "3", "-1", "true", "TRUE", "yes", "on", "Y", "a", "0x1", "", "18446744073709551617"}) {
    INFO(off);
    CHECK(with("CUDA_LAUNCH_BLOCKING", off).launch_blocking == 0);
  }
  std::map<std::string, int> const connections{
      {"1", 1},   {"12", 12},         {"32", 32},          {"0", 8},
      {"", 8},    {"abc", 8},         {"0x20", 8},         {"33", 32},
      {"-1", 32}, {"+32", 32},        {" 32", 32},         {"32,1", 32},
      {"1.9", 1}, {"4294967328", 32}, {"-4294967264", 32}, {"18446744073709551615", 32}};
  for (auto const& [text, effective] : connections) {
    INFO(text);
    CHECK(with("CUDA_DEVICE_MAX_CONNECTIONS", text).max_connections == effective);
  }
  for (auto const* eager : {"EAGER", "eager", "Eager"}) CHECK(with("CUDA_MODULE_LOADING", eager).eager_loading == 1);
  for (auto const* lazy : {"LAZY", "DEFAULT", "", "foo", "EAGER ", " EAGER", "EAGERx"}) {
    CHECK(with("CUDA_MODULE_LOADING", lazy).eager_loading == 0);
  }
  CHECK(with("CUDA_CACHE_MAXSIZE", "1G").cache_max_size == 1);
  CHECK(with("CUDA_CACHE_MAXSIZE", "4096M").cache_max_size == 4096);
  CHECK(with("CUDA_CACHE_MAXSIZE", "abc").cache_max_size == 0);
  CHECK(with("CUDA_CACHE_MAXSIZE", " 1048576x").cache_max_size == 1048576);
  CHECK(with("CUDA_CACHE_MAXSIZE", "-5").cache_max_size >= 4294967296);
}

TEST_CASE("too large a share of persisting L2 cache spoils every context") {
  FakeEnvironment environment;
  auto const result = [&](std::string const& percentage) {
    environment.set("CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT", percentage);
    auto const api = fresh_process();
    CUcontext context = nullptr;
    REQUIRE(api.init(0) == CUDA_SUCCESS);
    return number(api.primary_ctx_retain(&context, 0));
  };
  for (auto const* fine : {"0", "1", "25", "50", "50x", "51", "60", "1.5", "", "abc", "-1"}) CHECK(result(fine) == 0);
  for (auto const* too_much : {"70", "74", "80", "90", "99", "100", "101"}) CHECK(result(too_much) == 1);
}

TEST_CASE("contexts: references, and a stack for each thread") {
  FakeEnvironment environment;
  auto const api = fresh_process();
  REQUIRE(api.init(0) == CUDA_SUCCESS);
  CUcontext first = nullptr;
  CUcontext second = nullptr;
  CUcontext current = nullptr;
  unsigned flags = 0;
  int active = -1;
  CHECK(api.primary_ctx_get_state(0, &flags, &active) == CUDA_SUCCESS);
  CHECK(active == 0);
  REQUIRE(api.primary_ctx_retain(&first, 0) == CUDA_SUCCESS);
  REQUIRE(api.primary_ctx_retain(&second, 1) == CUDA_SUCCESS);
  CHECK(simulated::state().active_primary_contexts == 2);
  CHECK(first != second);
  CHECK(number(api.ctx_pop_current(&current)) == 201);
  CHECK(number(api.ctx_push_current(nullptr)) == 201);
  REQUIRE(api.ctx_push_current(first) == CUDA_SUCCESS);
  REQUIRE(api.ctx_push_current(second) == CUDA_SUCCESS);
  std::thread([&] {
    CUcontext elsewhere = first;
    CHECK(api.ctx_get_current(&elsewhere) == CUDA_SUCCESS);
    CHECK(elsewhere == nullptr);
  }).join();
  REQUIRE(api.ctx_pop_current(&current) == CUDA_SUCCESS);
  CHECK(current == second);
  REQUIRE(api.ctx_get_current(&current) == CUDA_SUCCESS);
  CHECK(current == first);
  CHECK(api.primary_ctx_release(1) == CUDA_SUCCESS);
  CHECK(number(api.primary_ctx_release(1)) == 201);
  CHECK(simulated::state().active_primary_contexts == 1);
}

TEST_CASE("PTX text") {
  FakeEnvironment environment;
  auto const api = process_with_context();
  CHECK(load(api, ptx("9.0", "sm_90")) == 0);
  CHECK(load(api, "\n /* .version 99.0 */ // x\n" + ptx("8.0", "sm_90a")) == 0);
  CHECK(load(api, ptx("2.3", "sm_20")) == 0);
  CHECK(load(api, ptx("9.1", "sm_90")) == 222);
  CHECK(load(api, ptx("7.7", "sm_90")) == 218);
  CHECK(load(api, ptx("9.0", "sm_100")) == 218);
  CHECK(load(api, ptx("9.0", "sm_999")) == 218);
  CHECK(load(api, ".version 8.0\n.target sm_90\n.visible .entry probe() { ret; }") == 218);  // 32-bit
  CHECK(load(api, ".target sm_90\n.address_size 64\n") == 200);
  CHECK(load(api, "\xef\xbb\xbf" + ptx("8.0", "sm_90")) == 200);
  CHECK(load(api, "<html>") == 200);
  CHECK(load(api, "") == 200);
  CHECK(load(process_with_context(simulated::shipped_machine("rtx_3090_4070")), ptx("8.2", "sm_86")) == 0);
  CHECK(load(process_with_context(simulated::shipped_machine("rtx_3090_4070")), ptx("8.3", "sm_86")) == 222);
}

TEST_CASE("the compiler's words go to the log buffer") {
  FakeEnvironment environment;
  auto const api = process_with_context();
  char log[200] = "";
  std::string const image = ptx("9.9", "sm_90");
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUmodule module = nullptr;
  CHECK(number(api.module_load_data_ex(&module, image.c_str(), 2, options, values)) == 222);
  CHECK(std::string(log).find("newer") != std::string::npos);
  CHECK(reinterpret_cast<std::uintptr_t>(values[1]) == std::strlen(log) + 1);
}

TEST_CASE("functions of a module") {
  FakeEnvironment environment;
  auto const api = process_with_context();
  std::string const image = ptx("8.0", "sm_90");
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  unsigned count = 0;
  char const* name = nullptr;
  REQUIRE(api.module_load_data_ex(&module, image.c_str(), 0, nullptr, nullptr) == CUDA_SUCCESS);
  CHECK(simulated::state().loaded_modules == 1);
  CHECK(number(api.module_get_function(&function, module, "other")) == 500);
  CHECK(api.module_get_function(&function, module, "probe") == CUDA_SUCCESS);
  CHECK(api.module_get_function_count(&count, module) == CUDA_SUCCESS);
  CHECK(count == 1);
  CHECK(api.module_enumerate_functions(&function, 1, module) == CUDA_SUCCESS);
  CHECK(api.func_load(function) == CUDA_SUCCESS);
  CHECK(api.func_get_name(&name, function) == CUDA_SUCCESS);
  CHECK(std::string(name) == "probe");
  CHECK(api.module_unload(module) == CUDA_SUCCESS);
  CHECK(number(api.module_unload(module)) == 400);
  CHECK(simulated::state().loaded_modules == 0);

  CUcontext context = nullptr;
  REQUIRE(api.ctx_pop_current(&context) == CUDA_SUCCESS);
  CHECK(number(api.module_load_data_ex(&module, image.c_str(), 0, nullptr, nullptr)) == 201);
}

TEST_CASE("fatbins: the entry headers choose, then the payload is read") {
  FakeEnvironment environment;
  auto const api = process_with_context();
  constexpr unsigned kind_ptx = 1;
  constexpr unsigned kind_lto = 8;
  auto const p80 = fatbin_entry(kind_ptx, 80, ptx("8.0", "sm_80"));
  auto const p90 = fatbin_entry(kind_ptx, 90, ptx("8.0", "sm_90"));
  auto const p120 = fatbin_entry(kind_ptx, 120, ptx("9.0", "sm_120"));
  auto const p90_syntax = fatbin_entry(kind_ptx, 90, ".version 8.0\n{");
  CHECK(load(api, fatbin(p80 + p120)) == 0);
  CHECK(load(api, fatbin(p120)) == 209);
  CHECK(load(api, fatbin("")) == 209);
  CHECK(load(api, fatbin(fatbin_entry(kind_lto, 90, "ir"))) == 209);
  CHECK(load(api, fatbin(fatbin_entry(kind_ptx, 90, ptx("9.9", "sm_90")))) == 222);
  CHECK(load(api, fatbin(fatbin_entry(kind_ptx, 90, ptx("9.0", "sm_120")))) == 218);  // the header lies
  CHECK(load(api, fatbin(p90_syntax + p80)) == 218);  // the highest target, without a second try
  CHECK(load(api, fatbin(p90_syntax + p90)) == 0);    // of equal ones the last
  CHECK(load(api, fatbin(p90 + p90_syntax)) == 218);
  CHECK(load(api, fatbin(fatbin_entry(2, 90, "no cubin") + p90)) == 200);  // a cubin comes first

  for (auto const* name : {"CUDA_DISABLE_PTX_JIT", "CUDA_DISABLE_JIT"}) {
    environment.set(name, "1");
    auto const without_compiler = process_with_context();
    CHECK(load(without_compiler, fatbin(p80)) == 223);
    CHECK(load(without_compiler, fatbin(p120)) == 209);
    CHECK(load(without_compiler, ptx("9.9", "sm_90")) == 223);
    environment.unset(name);
  }
  environment.set("CUDA_DISABLE_PTX_JIT", "0");  // counts before the other spelling
  environment.set("CUDA_DISABLE_JIT", "1");
  CHECK(load(process_with_context(), fatbin(p80)) == 0);
  environment.unset("CUDA_DISABLE_PTX_JIT");
  environment.unset("CUDA_DISABLE_JIT");

  environment.set("CUDA_FORCE_PTX_JIT", "1");
  CHECK(load(process_with_context(), fatbin(fatbin_entry(2, 90, "no cubin") + p90)) == 0);
  CHECK(load(process_with_context(), fatbin(fatbin_entry(2, 90, "no cubin"))) == 209);
  environment.unset("CUDA_FORCE_PTX_JIT");

  auto machine = simulated::shipped_machine("two_h200");
  machine.jit_compiler_missing = true;
  CHECK(load(process_with_context(machine), fatbin(p80)) == 221);
}

TEST_CASE("an image that ends with the mapped memory is answered, not died of") {
  FakeEnvironment environment;
  auto const api = process_with_context();
  auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* const pages =
      static_cast<char*>(::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(pages != MAP_FAILED);
  REQUIRE(::mprotect(pages + page, page, PROT_NONE) == 0);
  auto const whole = fatbin(fatbin_entry(2, 90, std::string(200, '\x7f')));
  for (std::string const& image : {whole, ptx("8.0", "sm_90"), std::string("\177ELF\2\1\1\x41\x08", 9)}) {
    for (std::size_t length = 1; length <= image.size(); ++length) {
      char* const start = pages + page - length;
      std::memcpy(start, image.data(), length);
      CUmodule module = nullptr;
      CHECK(api.module_load_data_ex(&module, start, 0, nullptr, nullptr) != CUDA_SUCCESS);
    }
  }
  ::munmap(pages, 2 * page);
}

#ifdef CUENV_SIMULATED_IMAGES
TEST_CASE("images of the toolkit's compiler") {
  FakeEnvironment environment;
  auto const image = [](std::string const& name) {
    std::ifstream in(std::string(CUENV_SIMULATED_IMAGES) + "/" + name, std::ios::binary);
    REQUIRE(in);
    return std::string{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  };
  auto const api = process_with_context();
  auto const sm_90 = image("sm_90.cubin");
  CHECK(load(api, sm_90) == 0);
  CHECK(load(api, image("sm_80.cubin")) == 209);
  CHECK(load(api, image("sm_80_and_ptx.fatbin")) == 0);
  CHECK(load(api, sm_90.substr(0, sm_90.size() / 2)) == 200);
  auto flags_0 = sm_90;
  flags_0.replace(0x30, 4, 4, '\0');
  CHECK(load(api, flags_0) == 999);
  auto x86 = sm_90;
  x86[18] = 62;
  CHECK(load(api, x86) == 200);
  CHECK(load(api, fatbin(fatbin_entry(2, 90, image("sm_80.cubin")))) == 300);  // the header lies
  CHECK(load(api, fatbin(fatbin_entry(2, 90, sm_90, 0x100011))) == 0);         // `a` on a plain cubin
  CHECK(load(api, fatbin(fatbin_entry(2, 90, sm_90, 0x200011))) == 209);       // a family that 9.0 has not

  CUmodule module = nullptr;
  CUfunction function = nullptr;
  REQUIRE(api.module_load_data_ex(&module, sm_90.data(), 0, nullptr, nullptr) == CUDA_SUCCESS);
  CHECK(api.module_get_function(&function, module, "probe") == CUDA_SUCCESS);

  environment.set("CUDA_DISABLE_PTX_JIT", "1");
  CHECK(load(process_with_context(), image("sm_80_and_ptx.fatbin")) == 223);
}
#endif

TEST_CASE("opening the driver in the test program") {
  FakeEnvironment environment;
  auto const machine = simulated::shipped_machine("two_h200");
  simulated::install(machine);
  CHECK_FALSE(simulated::open_driver(cuenv::DriverOpen::only_if_loaded).loaded);
  simulated::preload();
  CHECK(simulated::open_driver(cuenv::DriverOpen::only_if_loaded).loaded);
  simulated::install(machine);
  CHECK_FALSE(simulated::open_driver(cuenv::DriverOpen::only_if_loaded).loaded);
  CHECK(simulated::open_driver(cuenv::DriverOpen::load).loaded);
  CHECK(simulated::open_driver(cuenv::DriverOpen::only_if_loaded).loaded);
  CHECK_FALSE(simulated::open_driver(cuenv::DriverOpen::load).simulated_root.empty());

  simulated::install(machine, simulated::Library::absent);
  auto const absent = simulated::open_driver(cuenv::DriverOpen::load);
  CHECK_FALSE(absent.loaded);
  CHECK(absent.error.find("libcuda.so.1") == 0);
  CHECK(absent.api.init == nullptr);

  simulated::install(simulated::shipped_machine("rtx_3090_4070"));
  auto const older = simulated::open_driver(cuenv::DriverOpen::load).api;
  CHECK(older.module_get_loading_mode != nullptr);
  CHECK(older.module_get_function_count == nullptr);  // 12.4
}

TEST_CASE("a machine's text form says everything") {
  auto machine = simulated::shipped_machine("two_h200");
  machine.gpus[1].excluded = true;
  machine.gpus[1].mig = simulated::MigMode::on;
  machine.init_error = 802;
  machine.context_error = 2;
  machine.jit_compiler_missing = true;
  machine.stub = true;
  machine.max_persisting_l2 = 10;
  auto const text = simulated::to_text(machine);
  CHECK(simulated::to_text(simulated::parse_machine(text)) == text);
  auto const again = simulated::parse_machine(text);
  CHECK(again.gpus.at(1).excluded);
  CHECK(again.gpus.at(1).mig == simulated::MigMode::on);
  CHECK(again.gpus.at(0).name == "NVIDIA H200");
  CHECK_THROWS_WITH(simulated::parse_machine("driver 1\nnonsense\n"), Catch::Contains("line 2"));
  CHECK_THROWS(simulated::parse_machine("gpu uuid=GPU-1 pci=0000:00:06.0 name=x\n"));
}

// The shared libraries read the real environment and keep their state for the life of the process: one test for both.
TEST_CASE("the shared libraries") {
  auto const folder = std::filesystem::temp_directory_path() / ("cuenv_simulated_" + std::to_string(::getpid()));
  simulated::write_root(simulated::shipped_machine("two_h200"), folder.string());
  std::ifstream information(folder / "proc/driver/nvidia/gpus/0000:00:07.0/information");
  std::string const text{std::istreambuf_iterator<char>(information), std::istreambuf_iterator<char>()};
  CHECK(text.find("GPU UUID: \t GPU-c07e88d2-91ab-4f3c-a5d0-7e6f5d4c3b2a\n") != std::string::npos);
  CHECK(text.find("Device Minor: \t 1\n") != std::string::npos);
  CHECK(std::filesystem::exists(folder / "dev/nvidia1"));
  ::setenv("CUENV_SIMULATED_ROOT", folder.c_str(), 1);
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  ::unsetenv("CUDA_DEVICE_ORDER");

  void* const driver = ::dlopen(CUENV_SIMULATED_LIBRARIES "/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(driver != nullptr);
  for (auto const* name : {"cuGetErrorName",
                           "cuGetErrorString",
                           "cuDeviceGet",
                           "cuDeviceGetName",
                           "cuDeviceGetUuid",
                           "cuDeviceGetUuid_v2",
                           "cuDeviceGetPCIBusId",
                           "cuDeviceGetAttribute",
                           "cuCtxGetCurrent",
                           "cuCtxPushCurrent_v2",
                           "cuCtxPopCurrent_v2",
                           "cuDevicePrimaryCtxRetain",
                           "cuDevicePrimaryCtxRelease_v2",
                           "cuDevicePrimaryCtxGetState",
                           "cuModuleLoadDataEx",
                           "cuModuleUnload",
                           "cuModuleGetFunction",
                           "cuModuleGetLoadingMode",
                           "cuModuleGetFunctionCount",
                           "cuModuleEnumerateFunctions",
                           "cuFuncLoad",
                           "cuFuncGetName"}) {
    INFO(name);
    CHECK(::dlsym(driver, name) != nullptr);
  }
  auto const function = [](void* library, char const* name, auto* type) {
    using Function = decltype(type);
    return reinterpret_cast<Function>(::dlsym(library, name));
  };
  auto const driver_state =
      function(driver, "cuenv_simulated_state", static_cast<CuenvSimulatedState const* (*)()>(nullptr));
  CHECK(function(driver, "cuenv_simulated_root", static_cast<char const* (*)()>(nullptr))() == folder.string());
  CHECK(function(driver, "cuInit", static_cast<decltype(&cuInit)>(nullptr))(0) == CUDA_SUCCESS);
  int visible = 0;
  CHECK(function(driver, "cuDeviceGetCount", static_cast<decltype(&cuDeviceGetCount)>(nullptr))(&visible) ==
        CUDA_SUCCESS);
  CHECK(visible == 1);
  CHECK(driver_state()->initialised == 1);

  void* const nvml = ::dlopen(CUENV_SIMULATED_LIBRARIES "/libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(nvml != nullptr);
  auto const nvml_count = function(nvml, "nvmlDeviceGetCount_v2", static_cast<int (*)(unsigned*)>(nullptr));
  unsigned count = 0;
  CHECK(nvml_count(&count) == 1);  // uninitialized
  CHECK(function(nvml, "nvmlInit_v2", static_cast<int (*)()>(nullptr))() == 0);
  CHECK(nvml_count(&count) == 0);
  CHECK(count == 2);  // whatever CUDA_VISIBLE_DEVICES says
  nvmlDevice_st* device = nullptr;
  char uuid[96] = "";
  CHECK(function(nvml, "nvmlDeviceGetHandleByIndex_v2", static_cast<int (*)(unsigned, nvmlDevice_st**)>(nullptr))(
            1, &device) == 0);
  CHECK(function(nvml, "nvmlDeviceGetUUID", static_cast<int (*)(nvmlDevice_st*, char*, unsigned)>(nullptr))(
            device, uuid, 96) == 0);
  CHECK(std::string(uuid) == "GPU-c07e88d2-91ab-4f3c-a5d0-7e6f5d4c3b2a");

  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ::unsetenv("CUENV_SIMULATED_ROOT");
  std::filesystem::remove_all(folder);
}
