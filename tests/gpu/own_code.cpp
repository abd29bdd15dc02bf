// A program with kernels of its own and NVIDIA's and PyTorch's libraries loaded: own_code EXPECTED LIBRARY...
// EXPECTED is "serves" or "refused". Loads the libraries, starts a session, and asks require_images.
#include <cuenv/cuenv.hpp>

#include "support/check.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
  if (!std::ifstream{"/dev/nvidiactl"}.good()) {
    std::printf("skipped: there is no GPU here\n");
    return check::skipped;
  }
  int loaded = 0;
  for (int i = 2; i < argc; ++i) {
    check::that(argv[i][0] != '\0', "the library " + std::to_string(i - 1) + " was found");
    if (dlopen(argv[i], RTLD_LAZY | RTLD_GLOBAL) != nullptr) {
      ++loaded;
    } else {
      check::that(false, std::string{"loaded: "} + argv[i]);
      std::cout << "not loaded: " << dlerror() << '\n';
    }
  }
  check::that(!cuenv::own_images().modules.empty(), "the program carries GPU code");
  cuenv::Session const session;
  check::that(!session.devices().empty(), "there are devices");
  try {
    auto const report = session.require_images();
    for (auto const& file : report.files) {
      std::cout << file.path << ':';
      for (auto const& gpu : file.gpus) {
        std::cout << ' ' << to_string(gpu.service()) << " (native " << gpu.native << ", jit " << gpu.jit << ", none "
                  << gpu.incompatible << ')';
        check::that(gpu.damaged == 0, "nothing is damaged in " + file.path);
      }
      std::cout << '\n';
      for (auto const& finding : file.findings) std::cout << to_string(finding) << '\n';
    }
    std::cout << to_string(report.findings) << '\n';
    check::that(report.files.size() > 1 && loaded > 0, "the libraries are reported");
    check::equal(std::string{"serves"}, std::string{argv[1]}, "require_images");
  } catch (cuenv::ImageError const& error) {
    std::cout << error.what() << '\n';
    check::equal(std::string{"refused"}, std::string{argv[1]}, "require_images");
    auto const sm = std::to_string(session.devices()[0].compute_capability.sm());
    check::equal(error.diagnostics().at(0).fix, "build with -gencode arch=compute_" + sm + ",code=sm_" + sm, "the fix");
  }
  return check::result();
}
