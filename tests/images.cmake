# Tests of reading and judging GPU code. Needs: target cuenv, Catch2 2.13, enable_testing(). Included from this folder's
# CMakeLists.txt.

if(NOT TARGET cuenv_test_main)
  add_library(cuenv_test_main OBJECT support/test_main.cpp)
endif()

set(cuenv_image_test_sources
  cuenv/detail/archive.test.cpp
  cuenv/detail/bytes.test.cpp
  cuenv/detail/cubin.test.cpp
  cuenv/detail/elf.test.cpp
  cuenv/detail/fatbin.test.cpp
  cuenv/detail/file.test.cpp
  cuenv/detail/packed.test.cpp
  cuenv/detail/pe.test.cpp
  cuenv/detail/ptx.test.cpp
  cuenv/detail/search.test.cpp
  cuenv/gpu_code_rules.test.cpp
  cuenv/image.test.cpp
  cuenv/inspect.test.cpp
  cuenv/judge.test.cpp
  cuenv/real_files.test.cpp
  cuenv/verdict.test.cpp
  cuenv/verdict_text.test.cpp
)
set(CUENV_TEST_CUDA_LIBRARIES "${CUDAToolkit_LIBRARY_DIR}" CACHE PATH "Folder with NVIDIA's libraries, read by a test")
add_executable(cuenv_image_tests ${cuenv_image_test_sources})
target_include_directories(cuenv_image_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(cuenv_image_tests PRIVATE cuenv cuenv_test_main)
target_compile_definitions(cuenv_image_tests PRIVATE
  CUENV_TEST_DATA_DIR="${CMAKE_CURRENT_SOURCE_DIR}/data"
  CUENV_TEST_CUDA_LIBRARIES="${CUENV_TEST_CUDA_LIBRARIES}")
add_test(NAME images COMMAND cuenv_image_tests)

# The corpus needs CUDA's compilers, and a minute or two.
find_program(CUENV_NVCC nvcc HINTS "${CUDAToolkit_BIN_DIR}" /usr/local/cuda/bin)
if(CUENV_NVCC AND NOT WIN32)
  set(corpus "${CMAKE_CURRENT_BINARY_DIR}/corpus")
  cmake_path(GET CUENV_NVCC PARENT_PATH nvcc_folder)
  add_custom_command(
    OUTPUT "${corpus}.stamp"
    COMMAND ${CMAKE_COMMAND} -E env "PATH=${nvcc_folder}:$ENV{PATH}" "${CMAKE_CURRENT_SOURCE_DIR}/corpus/build.sh" "${corpus}"
    COMMAND ${CMAKE_COMMAND} -E touch "${corpus}.stamp"
    DEPENDS corpus/build.sh
    COMMENT "Building the corpus of images"
    VERBATIM)
  add_executable(cuenv_corpus_tests cuenv/corpus.test.cpp "${corpus}.stamp")
  target_include_directories(cuenv_corpus_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(cuenv_corpus_tests PRIVATE cuenv cuenv_test_main)
  target_compile_definitions(cuenv_corpus_tests PRIVATE
    CUENV_TEST_DATA_DIR="${CMAKE_CURRENT_SOURCE_DIR}/data" CUENV_TEST_CORPUS_DIR="${corpus}")
  add_test(NAME corpus COMMAND cuenv_corpus_tests)
else()
  message(STATUS "cuenv: no nvcc, so the verdicts are not compared with what a driver answered")
endif()

# Fuzzing. The inputs in fuzz/corpus are replayed as tests with any compiler; with Clang, CUENV_FUZZ adds the fuzzers.
option(CUENV_FUZZ "Build the fuzzers (needs Clang)" OFF)
foreach(target IN ITEMS inspect ptx_head packed)
  file(GLOB inputs CONFIGURE_DEPENDS fuzz/corpus/${target}/*)
  add_executable(cuenv_replay_${target} fuzz/${target}.cpp fuzz/replay.cpp)
  target_link_libraries(cuenv_replay_${target} PRIVATE cuenv)
  add_test(NAME fuzz_corpus_${target} COMMAND cuenv_replay_${target} ${inputs})
  if(CUENV_FUZZ)
    add_executable(cuenv_fuzz_${target} fuzz/${target}.cpp)
    target_link_libraries(cuenv_fuzz_${target} PRIVATE cuenv)
    target_compile_options(cuenv_fuzz_${target} PRIVATE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
    target_link_options(cuenv_fuzz_${target} PRIVATE -fsanitize=fuzzer,address,undefined)
  endif()
endforeach()
