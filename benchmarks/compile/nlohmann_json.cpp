// For scale: a library for JSON.
#include <nlohmann/json.hpp>

int main() {}
