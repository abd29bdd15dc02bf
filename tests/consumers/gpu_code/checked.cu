// A program that nvcc compiles as a whole, cuenv's headers too. It needs no GPU: it reads its own code.
#include <cuenv/cuenv.hpp>

#include <cstdio>

__global__ void twice(float* values) { values[threadIdx.x] *= 2; }

int main() {
  auto const conditions = [](int sm) {
    return cuenv::LoadConditions{cuenv::ComputeCapability::from_sm(sm), cuenv::CudaVersion{13, 0}, {}};
  };
  cuenv::ProgramReport const report = cuenv::judge_program({conditions(86), conditions(90), conditions(75)});
  cuenv::FileReport const& own = report.files.front();
  bool const native = own.gpus[0].native == 1;
  bool const compiled = own.gpus[1].jit == 1;
  bool const refused = own.gpus[2].service() == cuenv::Service::none;
  std::printf("native on 8.6: %d, compiled for 9.0: %d, refused for 7.5: %d\n", native, compiled, refused);
  return native && compiled && refused ? 0 : 1;
}
