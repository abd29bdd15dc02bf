// The other translation unit.
#include <cuenv/cuenv.hpp>

void const* table_of_the_other();
std::string refusal_in_the_other(char const* line);

void const* table_of_the_other() { return &cuenv::visible_devices; }

/// What is wrong with one line of settings; an error that is thrown and caught here.
std::string refusal_in_the_other(char const* line) try {
  cuenv::Session const session{cuenv::parse_settings(line), cuenv::absent_ok};
  return {};
} catch (cuenv::SettingsError const& error) {
  return error.what();
}
