// A function with a kernel, for programs and libraries that the tests read; none of them is run.
namespace {

__global__ void kernel(float* values) { values[threadIdx.x] *= 2.0f; }

}  // namespace

extern "C" int NAME(float* values) {
  kernel<<<1, 32>>>(values);
  return cudaDeviceSynchronize();
}

#ifdef MAIN
int main() { return NAME(nullptr); }
#endif
