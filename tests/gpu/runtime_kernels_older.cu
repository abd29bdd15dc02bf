__global__ void runs_on_turing(int* out) { *out = 2; }
