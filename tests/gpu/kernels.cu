extern "C" __global__ void cuenv_probe(int* out) { *out = 42; }
