__device__ int callee(int value) { return value * 3; }
