// session_start bare|session: starts CUDA in this process, by cuInit alone or by a session, and prints how many
// microseconds that took from the loading of the library on.
#include <cuenv/cuenv.hpp>

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

bool start_bare() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return false;
  auto const init = reinterpret_cast<CUresult (*)(unsigned)>(dlsym(library, "cuInit"));
  return init != nullptr && init(0) == CUDA_SUCCESS;
}

bool start_session() {
  cuenv::Session const session{{}, cuenv::absent_ok};
  return session.absence() == nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  std::string const how = argc == 2 ? argv[1] : "";
  if (how != "bare" && how != "session") {
    std::fprintf(stderr, "usage: session_start bare|session\n");
    return 2;
  }
  auto const begin = std::chrono::steady_clock::now();
  bool const started = how == "bare" ? start_bare() : start_session();
  auto const end = std::chrono::steady_clock::now();
  if (!started) {
    std::fprintf(stderr, "CUDA does not start here\n");
    return EXIT_FAILURE;
  }
  std::printf("%lld\n",
              static_cast<long long>(std::chrono::duration_cast<std::chrono::microseconds>(end - begin).count()));
  return EXIT_SUCCESS;
}
