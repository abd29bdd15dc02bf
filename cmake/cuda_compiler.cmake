# Sets CUDAToolkit_NVCC_EXECUTABLE. What it builds for tests and examples is GPU code, which is the same for every host, so
# a cross build takes the build machine's.
if(CMAKE_CROSSCOMPILING)
  find_program(CUDAToolkit_NVCC_EXECUTABLE nvcc HINTS ${cuenv_cuda_include_dir}/../bin /usr/local/cuda/bin REQUIRED)
else()
  find_package(CUDAToolkit REQUIRED)
endif()
