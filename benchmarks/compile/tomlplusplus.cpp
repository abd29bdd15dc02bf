// For scale: a library to read TOML.
#include <toml++/toml.h>

int main() {}
