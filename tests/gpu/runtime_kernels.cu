__global__ void runs_on_hopper(int* out) { *out = 1; }
