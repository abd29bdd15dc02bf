// One of the libraries of two_shared_libraries.
#include <cuenv/cuenv.hpp>

#include <cstdio>

#ifdef _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

extern "C" EXPORTED int start_session(int connections, int override_kept, char* text, unsigned long size);

/// 1: started, 2: attached, 3: too late, 4: anything else; `text` has the words of an error.
extern "C" EXPORTED int start_session(int connections, int override_kept, char* text, unsigned long size) {
  cuenv::Settings settings;
  settings.set(cuenv::device_max_connections, connections,
               override_kept != 0 ? cuenv::Precedence::override : cuenv::Precedence::keep);
  std::snprintf(text, size, "%s", "");
  try {
    cuenv::Session const session{settings};
    return session.report().attached ? 2 : 1;
  } catch (cuenv::TooLateError const& error) {
    std::snprintf(text, size, "%s", error.what());
    return 3;
  } catch (std::exception const& error) {
    std::snprintf(text, size, "%s", error.what());
    return 4;
  }
}
