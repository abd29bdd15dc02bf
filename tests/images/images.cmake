# Images for the tests, built by nvcc from one small file: `cuenv_test_images` makes them in CUENV_TEST_IMAGES.
find_package(CUDAToolkit REQUIRED)
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
cuenv_test_image(sm_90.cubin --cubin -arch=sm_90)
cuenv_test_image(sm_75.cubin --cubin -arch=sm_75)
cuenv_test_image(compute_75.ptx --ptx -arch=compute_75)
cuenv_test_image(compute_120.ptx --ptx -arch=compute_120)
add_custom_target(cuenv_test_images DEPENDS ${test_images})
