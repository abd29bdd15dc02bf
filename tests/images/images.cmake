# Images for the tests, built by nvcc from one small file: `cuenv_test_images` makes them in CUENV_TEST_IMAGES.
include(${PROJECT_SOURCE_DIR}/cmake/cuda_compiler.cmake)
set(CUENV_TEST_IMAGES ${CMAKE_CURRENT_BINARY_DIR}/images)
file(MAKE_DIRECTORY ${CUENV_TEST_IMAGES})
set(test_images)
function(cuenv_test_image name)
  add_custom_command(OUTPUT ${CUENV_TEST_IMAGES}/${name}
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} ${ARGN} -Wno-deprecated-gpu-targets -o ${CUENV_TEST_IMAGES}/${name}
      ${CMAKE_CURRENT_SOURCE_DIR}/images/kernel.cu
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/images/kernel.cu VERBATIM)
  set(test_images ${test_images} ${CUENV_TEST_IMAGES}/${name} PARENT_SCOPE)
endfunction()
cuenv_test_image(sm_90.fatbin --fatbin -gencode arch=compute_90,code=sm_90)
cuenv_test_image(sm_75.fatbin --fatbin -gencode arch=compute_75,code=sm_75)
cuenv_test_image(sm_120.fatbin --fatbin -gencode arch=compute_120,code=sm_120)
cuenv_test_image(compute_75.fatbin --fatbin -gencode arch=compute_75,code=compute_75)
cuenv_test_image(sm_100a.fatbin --fatbin -gencode arch=compute_100a,code=sm_100a)
cuenv_test_image(sm_90.cubin --cubin -arch=sm_90)
cuenv_test_image(sm_75.cubin --cubin -arch=sm_75)
cuenv_test_image(compute_75.ptx --ptx -arch=compute_75)
cuenv_test_image(compute_120.ptx --ptx -arch=compute_120)

# Programs and libraries with such code, as nvcc links them: its device-link step adds an empty module to each.
function(cuenv_test_object name)
  add_custom_command(OUTPUT ${CUENV_TEST_IMAGES}/${name}.o
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} ${ARGN} -Wno-deprecated-gpu-targets -Xcompiler=-fPIC -c
      -o ${CUENV_TEST_IMAGES}/${name}.o ${CMAKE_CURRENT_SOURCE_DIR}/images/launched.cu
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/images/launched.cu VERBATIM)
endfunction()
function(cuenv_test_link name option)
  list(TRANSFORM ARGN PREPEND ${CUENV_TEST_IMAGES}/ OUTPUT_VARIABLE objects)
  add_custom_command(OUTPUT ${CUENV_TEST_IMAGES}/${name}
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} ${option} -arch=sm_90 -o ${CUENV_TEST_IMAGES}/${name} ${objects}
    DEPENDS ${objects} VERBATIM)
  set(test_images ${test_images} ${CUENV_TEST_IMAGES}/${name} PARENT_SCOPE)
endfunction()
cuenv_test_object(only_90 -gencode arch=compute_90,code=sm_90 -DNAME=only_90 -DMAIN)
cuenv_test_object(only_120 -gencode arch=compute_120,code=sm_120 -DNAME=only_120)
cuenv_test_object(only_ptx -gencode arch=compute_75,code=compute_75 -DNAME=only_ptx)
cuenv_test_link(for_90 -O0 only_90.o)
cuenv_test_link(for_90_and_120 -O0 only_90.o only_120.o)
cuenv_test_link(libfor_120.so -shared only_120.o)
cuenv_test_link(libfor_90_and_120.so -shared only_90.o only_120.o)
cuenv_test_link(libwith_ptx.so -shared only_ptx.o)
cuenv_test_link(for_90_and_120.a -lib only_90.o only_120.o)

# Relocatable code, in parts for two GPUs that are linked for one.
foreach(part caller callee)
  add_custom_command(OUTPUT ${CUENV_TEST_IMAGES}/${part}.o
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -rdc=true -gencode arch=compute_90,code=sm_90
      -gencode arch=compute_120,code=compute_120 -c -o ${CUENV_TEST_IMAGES}/${part}.o
      ${CMAKE_CURRENT_SOURCE_DIR}/images/${part}.cu
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/images/${part}.cu VERBATIM)
endforeach()
cuenv_test_link(relocatable_90 -O0 caller.o callee.o)
add_custom_target(cuenv_test_images DEPENDS ${test_images})
