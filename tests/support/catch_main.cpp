// The main function of the tests, where Catch2 version 2 does not bring one in a library.
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <catch2/catch.hpp>
