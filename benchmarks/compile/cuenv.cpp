// What a user's translation unit pays for the umbrella. bare.cpp is the same without cuenv.
#include <cuenv/cuenv.hpp>

int main() {}
