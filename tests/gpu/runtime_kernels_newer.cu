__global__ void runs_on_blackwell(int* out) { *out = 3; }
