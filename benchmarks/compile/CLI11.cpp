// For scale: a library to read a command line.
#include <CLI/CLI.hpp>

int main() {}
