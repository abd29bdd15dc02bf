// One of two translation units. Runs on any machine, with a driver or without.
#include <cuenv/cuenv.hpp>

#include <cstdio>

void const* table_of_the_other();
std::string refusal_in_the_other(char const* line);

int main() try {
  if (table_of_the_other() != &cuenv::visible_devices) {
    std::puts("the table of variables is there twice");
    return 1;
  }
  if (refusal_in_the_other("CUDA_DEVICE_MAX_CONNECTIONS = many").find("many") == std::string::npos) {
    std::puts("the other translation unit takes what is wrong");
    return 1;
  }
  cuenv::Session const session{cuenv::Settings{}, cuenv::absent_ok};
  if (session.absence() == nullptr && session.devices().empty()) return 1;
  std::puts(to_string(session.report()).c_str());
} catch (cuenv::Error const& error) {
  std::puts(error.what());
  return 1;
}
