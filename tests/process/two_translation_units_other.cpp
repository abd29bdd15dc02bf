#include <cuenv/cuenv.hpp>

std::size_t devices_seen_elsewhere(cuenv::Session const& session);
cuenv::Variable<int> const* variable_seen_elsewhere();
bool second_unit_attaches(cuenv::Settings const& settings);

std::size_t devices_seen_elsewhere(cuenv::Session const& session) { return session.devices().size(); }
cuenv::Variable<int> const* variable_seen_elsewhere() { return &cuenv::device_max_connections; }
bool second_unit_attaches(cuenv::Settings const& settings) { return cuenv::Session{settings}.report().attached; }
