extern "C" __global__ void probe(int* out) { *out = 42; }
