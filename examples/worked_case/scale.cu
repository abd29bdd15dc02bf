extern "C" __global__ void scale(float* values, float factor, int count) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}
