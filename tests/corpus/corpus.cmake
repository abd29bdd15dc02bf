# The corpus: images of every target, variant and compression, and broken ones, with what a real driver answered for each
# (data/images_h200_r580.tsv). Building it needs CUDA's compilers and a minute or two.
if(NOT CUENV_NVCC OR WIN32)
  message(STATUS "cuenv: no nvcc, so the verdicts are not compared with what a driver answered")
  return()
endif()
set(CUENV_CORPUS_DIR "${CMAKE_CURRENT_BINARY_DIR}/corpus" CACHE PATH "Where the corpus is built; build trees can share it")
set(corpus "${CUENV_CORPUS_DIR}")
cmake_path(GET CUENV_NVCC PARENT_PATH nvcc_folder)
add_custom_command(
  OUTPUT "${corpus}.stamp"
  COMMAND ${CMAKE_COMMAND} -E env "PATH=${nvcc_folder}:$ENV{PATH}" "${CMAKE_CURRENT_SOURCE_DIR}/corpus/build.sh" "${corpus}"
  COMMAND ${CMAKE_COMMAND} -E touch "${corpus}.stamp"
  DEPENDS corpus/build.sh
  COMMENT "Building the corpus of images"
  VERBATIM)
cuenv_test(corpus_tests cuenv/corpus.test.cpp "${corpus}.stamp")
target_compile_definitions(corpus_tests PRIVATE CUENV_TEST_CORPUS_DIR="${corpus}")
set_tests_properties(corpus_tests PROPERTIES LABELS corpus)
