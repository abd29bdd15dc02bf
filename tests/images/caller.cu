__device__ int callee(int value);

__global__ void caller(int* value) { *value = callee(*value); }

int main() {
  caller<<<1, 1>>>(nullptr);
  return cudaDeviceSynchronize();
}
