// What cuenv relies on, asked of a driver: driver_contract CASE [ARGUMENT]. The same cases run on a real driver (label
// gpu) and on the simulated machine, which must agree.
#include <cuenv/cuenv.hpp>

#include "support/check.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::string root() {
  char const* const simulated = std::getenv("CUENV_SIMULATED_ROOT");
  return simulated == nullptr ? "" : simulated;
}

struct ListedGpu {
  std::string uuid;  // with its tag
  std::string pci;
  std::string compute_capability;
};

/// The GPUs by somebody else's word, in the order of their physical index: nvidia-smi, or the described machine.
std::vector<ListedGpu> listed_gpus() {
  std::vector<ListedGpu> gpus;
  if (root().empty()) {
    std::FILE* const pipe =
        popen("nvidia-smi --query-gpu=index,uuid,pci.bus_id,compute_cap --format=csv,noheader", "r");
    char line[512];
    while (pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr) {
      std::string text;
      for (char c : std::string{line}) text += c == ',' ? ' ' : c;
      std::istringstream fields{text};
      std::size_t index = 0;
      ListedGpu gpu;
      fields >> index >> gpu.uuid >> gpu.pci >> gpu.compute_capability;
      check::that(index == gpus.size(), "nvidia-smi lists its indices in order");
      gpus.push_back(gpu);
    }
    if (pipe != nullptr) pclose(pipe);
  } else {
    std::ifstream machine{root() + "/machine.txt"};
    for (std::string word; machine >> word;) {
      if (word.rfind("uuid=", 0) == 0) gpus.push_back({word.substr(5), "", ""});
      if (word.rfind("pci=", 0) == 0) gpus.back().pci = word.substr(4);
      if (word.rfind("cc=", 0) == 0) gpus.back().compute_capability = word.substr(3);
    }
  }
  return gpus;
}

/// "all", "reversed", "last", "first", "uuids" (reversed), "prefix" (of the last): the map against what is listed.
void map(std::string const& which) {
  auto const gpus = listed_gpus();
  int const count = static_cast<int>(gpus.size());
  check::that(count > 0, "GPUs are listed");
  std::vector<int> expected;
  cuenv::Settings settings;
  if (which == "all" || which == "first") {
    for (int i = 0; i < (which == "all" ? count : 1); ++i) expected.push_back(i);
  } else if (which == "last" || which == "prefix") {
    expected.push_back(count - 1);
  } else {
    for (int i = count; i-- > 0;) expected.push_back(i);
  }
  if (which == "uuids" || which == "prefix") {
    std::vector<cuenv::DeviceId> ids;
    for (int i : expected) {
      std::string const uuid = gpus[static_cast<std::size_t>(i)].uuid;
      ids.push_back(cuenv::gpu(which == "prefix" ? uuid.substr(0, 20) : uuid));
    }
    settings.set(cuenv::visible_devices, cuenv::VisibleDevices{ids});
  } else if (which != "all") {
    std::vector<cuenv::PhysicalIndex> list;
    for (int i : expected) list.push_back(cuenv::physical(i));
    settings.set(cuenv::visible_devices, cuenv::VisibleDevices{list});
  }

  cuenv::Session const session{settings, cuenv::ask_nvml};
  std::cout << to_string(session.report()) << '\n';
  check::equal(session.devices().size(), expected.size(), "devices");
  for (std::size_t i = 0; i < session.devices().size() && i < expected.size(); ++i) {
    auto const& device = session.devices()[i];
    std::cout << device << '\n';
    ListedGpu const& gpu = gpus[static_cast<std::size_t>(expected[i])];
    check::equal(device.logical.value, static_cast<int>(i), "logical index");
    check::that(device.physical == cuenv::physical(expected[i]), "physical index of logical " + std::to_string(i));
    check::equal("GPU-" + to_string(device.uuid), gpu.uuid, "UUID");
    check::that(device.pci == cuenv::parse_pci_address(gpu.pci), "bus address " + gpu.pci);
    check::equal(to_string(device.compute_capability), gpu.compute_capability, "compute capability");
    check::that(session.map().find(cuenv::physical(expected[i])) == std::vector<cuenv::LogicalIndex>{device.logical},
                "physical to logical");
    check::that(session.map().find(device.uuid) == std::vector<cuenv::LogicalIndex>{device.logical}, "UUID to logical");
  }
  check::that(!cuenv::has_error(session.report().findings), "no error in the report");
  for (auto const& finding : session.report().findings) {
    check::that(finding.code != "devices.differ_from_environment", "the prediction holds: " + to_string(finding));
  }
}

/// CUDA was started by somebody else: what has to change is refused, and nothing changes.
void too_late(std::string const&) {
  auto const driver = cuenv::open_driver_library(cuenv::DriverOpen::load);
  check::that(driver_state(driver) == cuenv::DriverState::loaded, "state before cuInit");
  check::equal(static_cast<int>(driver.api.init(0)), 0, "cuInit");
  check::that(driver_state(driver) == cuenv::DriverState::initialised, "state after cuInit");
  try {
    cuenv::Settings settings;
    settings.set(cuenv::visible_devices, {cuenv::physical(0)}).set(cuenv::cache_disable, true);
    cuenv::Session const session{settings};
    check::that(false, "the session is refused");
  } catch (cuenv::TooLateError const& error) {
    std::cout << error.what() << '\n';
    check::equal(error.diagnostics().size(), std::size_t{3},
                 "CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER and CUDA_CACHE_DISABLE");
  }
  check::that(std::getenv("CUDA_VISIBLE_DEVICES") == nullptr && std::getenv("CUDA_DEVICE_ORDER") == nullptr &&
                  std::getenv("CUDA_CACHE_DISABLE") == nullptr,
              "nothing is set");
  cuenv::Session const attached;
  check::that(attached.report().attached, "a session without settings attaches");
  check::that(!attached.devices().empty(), "and sees the devices");
}

void again(std::string const&) {
  cuenv::Settings settings;
  settings.set(cuenv::visible_devices, {cuenv::physical(0)}).set(cuenv::device_max_connections, 16);
  cuenv::Session const first{settings};
  check::that(!first.report().attached, "the first session starts CUDA");
  cuenv::Session const second{settings};
  check::that(second.report().attached, "the second attaches");
  check::equal(second.devices().size(), std::size_t{1}, "devices of the second");
  try {
    settings.set(cuenv::device_max_connections, 8, cuenv::Precedence::override);
    cuenv::Session const third{settings};
    check::that(false, "other settings are refused");
  } catch (cuenv::TooLateError const& error) {
    check::equal(error.diagnostics().size(), std::size_t{1}, "one setting differs");
    check::equal(error.diagnostics().at(0).subject, "CUDA_DEVICE_MAX_CONNECTIONS", "and it is named");
  }
  check::equal(std::string{std::getenv("CUDA_DEVICE_MAX_CONNECTIONS")}, "16", "the value stays");
}

/// "TEXT:CODE": what cuInit answers for a CUDA_VISIBLE_DEVICES, or for an order that begins with '@'.
void refused(std::string const& argument) {
  std::size_t const colon = argument.rfind(':');
  std::string const text = argument.substr(0, colon);
  int const code = std::stoi(argument.substr(colon + 1));
  if (text[0] == '@') {
    setenv("CUDA_DEVICE_ORDER", text.c_str() + 1, 1);
  } else {
    setenv("CUDA_VISIBLE_DEVICES", text.c_str(), 1);
  }
  try {
    cuenv::Session const session;
    check::that(false, "the session is refused");
  } catch (cuenv::DriverError const& error) {
    std::cout << error.what() << '\n';
    check::equal(error.code(), code, "code");
    check::that(error.diagnostics().size() > 1, "the variable is named");
  }
  cuenv::Session const absent{{}, cuenv::absent_ok};
  check::that(absent.devices().empty() && absent.absence() != nullptr && absent.absence()->code() == code, "absent_ok");
}

/// "FILE=CODE ...": what loading each file answers, on every device, by path and as bytes.
void images(std::string const& argument) {
  cuenv::Session const session;
  std::istringstream words{argument};
  for (std::string word; words >> word;) {
    std::size_t const equals = word.rfind('=');
    std::string const file = word.substr(0, equals);
    int const code = std::stoi(word.substr(equals + 1));
    auto const results = session.load_check(file);
    check::equal(results.size(), session.devices().size(), "a result for each device");
    for (auto const& result : results) {
      check::equal(result.code, code, file);
      if (!result.log.empty()) std::cout << file << ": " << result.log << '\n';
    }
    std::ifstream stream{file, std::ios::binary};
    std::string const bytes{std::istreambuf_iterator<char>{stream}, std::istreambuf_iterator<char>{}};
    for (auto const& result : session.load_check_bytes(bytes)) check::equal(result.code, code, file + " as bytes");
    try {
      session.require_image(file);
      check::equal(code, 0, file + " is accepted");
    } catch (cuenv::ImageError const& error) {
      check::that(code != 0, file + " is refused: " + error.what());
      std::cout << error.what() << '\n';
    }
  }
  for (auto const& device : session.devices()) {
    CUdevice handle = 0;
    unsigned flags = 0;
    int active = 1;
    session.driver().api.device_get(&handle, device.logical.value);
    session.driver().api.primary_ctx_get_state(handle, &flags, &active);
    check::equal(active, 0, "the primary context is released");
  }
}

/// The caller's context is as before, and contexts stay when that is asked for.
void contexts(std::string const& image) {
  cuenv::Session const session;
  auto const& api = session.driver().api;
  CUdevice device = 0;
  CUcontext mine = nullptr;
  check::equal(static_cast<int>(api.device_get(&device, 0)), 0, "cuDeviceGet");
  check::equal(static_cast<int>(api.primary_ctx_retain(&mine, device)), 0, "retain");
  check::equal(static_cast<int>(api.ctx_push_current(mine)), 0, "push");
  check::that(driver_state(session.driver()) == cuenv::DriverState::context_active, "state with a context");
  session.require_image(image);
  CUcontext current = nullptr;
  api.ctx_get_current(&current);
  check::that(current == mine, "the current context is as before");
  api.ctx_pop_current(&current);
  api.primary_ctx_release(device);
  check::that(driver_state(session.driver()) == cuenv::DriverState::initialised, "no context is left");
  session.require_image(image, cuenv::Contexts::keep);
  check::that(driver_state(session.driver()) == cuenv::DriverState::context_active, "contexts stay when asked to");
}

/// CUDA_LAUNCH_BLOCKING is read when a context is made: after cuInit it can still be set, with a context it cannot.
void launch_blocking(std::string const&) {
  cuenv::Session const first;
  cuenv::Settings settings;
  settings.set(cuenv::launch_blocking, true);
  // The real driver has started a thread by now, beside which only a newer C library changes the environment safely.
  cuenv::Session const second{settings, cuenv::despite_threads};
  check::that(second.report().attached, "set after cuInit");
  CUdevice device = 0;
  CUcontext context = nullptr;
  first.driver().api.device_get(&device, 0);
  check::equal(static_cast<int>(first.driver().api.primary_ctx_retain(&context, device)), 0, "retain");
  settings.set(cuenv::launch_blocking, false, cuenv::Precedence::override);
  try {
    cuenv::Session const third{settings, cuenv::despite_threads};
    check::that(false, "the session is refused");
  } catch (cuenv::TooLateError const&) {
    check::equal(std::string{std::getenv("CUDA_LAUNCH_BLOCKING")}, "1", "the value stays");
  }
}

}  // namespace

int main(int argc, char** argv) {
  struct Case {
    char const* name;
    void (*run)(std::string const& argument);
  };
  constexpr Case cases[] = {{"map", map},
                            {"too_late", too_late},
                            {"again", again},
                            {"refused", refused},
                            {"images", images},
                            {"contexts", contexts},
                            {"launch_blocking", launch_blocking}};
  bool const real = root().empty();
  bool const has_gpu = std::ifstream{"/dev/nvidiactl"}.good() || std::ifstream{"/dev/dxg"}.good();
  if (real && !has_gpu) {
    std::printf("skipped: there is no GPU here\n");
    return check::skipped;
  }
  for (Case const& test : cases) {
    if (argc < 2 || std::string{argv[1]} != test.name) continue;
    try {
      test.run(argc > 2 ? argv[2] : "");
    } catch (std::exception const& error) {
      check::that(false, std::string{"exception: "} + error.what());
    }
    return check::result();
  }
  std::printf("driver_contract CASE [ARGUMENT]\n");
  return EXIT_FAILURE;
}
