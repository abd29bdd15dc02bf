#include "simulated_state.hpp"

int cuda_started_statically();

namespace {
int const result = start_cuda_elsewhere();
}  // namespace

int cuda_started_statically() { return result; }
