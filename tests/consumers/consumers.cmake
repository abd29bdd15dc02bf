# Other people's projects that take cuenv in, each in a way of its own (label "consumer"). docs/using_cuenv.md is their
# text. All that come from an install use one that was moved after it was made.
set(consumers_dir ${CMAKE_CURRENT_SOURCE_DIR}/consumers)
set(consumers_build ${CMAKE_CURRENT_BINARY_DIR}/consumers)
set(consumers_prefix ${consumers_build}/moved)
find_program(CUENV_PKG_CONFIG NAMES pkg-config pkgconf)
find_program(CUENV_GXX g++)
find_program(CUENV_CLANGXX clang++)

# cuenv_consumer_test("sentence" [SETUP name | NEEDS name] COMMAND...).
function(cuenv_consumer_test sentence)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SETUP;NEEDS" "COMMAND")
  set(test "consumer: ${sentence}")
  add_test(NAME ${test} COMMAND ${arg_COMMAND})
  set_tests_properties(${test} PROPERTIES LABELS consumer SKIP_RETURN_CODE 77)
  if(arg_SETUP)
    set_tests_properties(${test} PROPERTIES FIXTURES_SETUP ${arg_SETUP})
  endif()
  if(arg_NEEDS)
    set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED ${arg_NEEDS})
  endif()
endfunction()

# cuenv_consumer_project("sentence" FOLDER WAY [NEEDS name]): configures, builds and tests a project.
function(cuenv_consumer_project sentence folder way)
  cuenv_consumer_test(${sentence} ${ARGN} COMMAND ${CMAKE_CTEST_COMMAND}
    --build-and-test ${consumers_dir}/${folder} ${consumers_build}/${folder}_${way}
    --build-generator ${CMAKE_GENERATOR} --build-noclean
    --build-options -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DWAY=${way} -DCUENV_SOURCE=${PROJECT_SOURCE_DIR}
      -DCMAKE_PREFIX_PATH=${consumers_prefix} -DCUENV_CUDA_INCLUDE_DIR=${CUENV_CUDA_INCLUDE_DIR}
      -DCMAKE_CUDA_COMPILER=${CUDAToolkit_NVCC_EXECUTABLE} -DCMAKE_BUILD_TYPE=Debug --no-warn-unused-cli
    --test-command ${CMAKE_CTEST_COMMAND} --output-on-failure --no-tests=error)
endfunction()

cuenv_consumer_test("an install can be moved" SETUP install COMMAND
  ${consumers_dir}/install.sh ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${consumers_build} ${consumers_prefix})
# With no CUDA headers to be found.
cuenv_consumer_test("packaging needs no toolkit" COMMAND ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR}
  -B ${consumers_build}/packaging -D CUENV_BUILD_TESTS=OFF -D CUENV_BUILD_EXAMPLES=OFF
  -D CUENV_CUDA_INCLUDE_DIR=${consumers_build}/nowhere)
set_target_properties(cuenv_single_header PROPERTIES EXCLUDE_FROM_ALL FALSE)

cuenv_consumer_project("find_package" app find_package NEEDS install)
cuenv_consumer_project("add_subdirectory" app add_subdirectory)
cuenv_consumer_project("FetchContent, and start-up code tested without a GPU" startup FetchContent)
cuenv_consumer_project("find_package, and start-up code tested without a GPU" startup find_package NEEDS install)
cuenv_consumer_project("GPU code is checked in the build" gpu_code find_package NEEDS install)

set(by_hand ${consumers_dir}/by_hand.sh)
cuenv_consumer_test("pkg-config" NEEDS install COMMAND ${by_hand} pkg_config
  ${CMAKE_CXX_COMPILER} ${consumers_dir}/app ${consumers_build} ${consumers_prefix} ${PROJECT_VERSION})
cuenv_consumer_test("the one header, in two translation units" COMMAND ${by_hand} single_header
  ${CMAKE_CXX_COMPILER} ${consumers_dir}/app ${consumers_build} ${PROJECT_BINARY_DIR}/single_header
  ${cuenv_cuda_include_dir})
cuenv_consumer_test("two hidden libraries of two compilers agree" NEEDS install COMMAND ${by_hand} two_libraries
  "${CUENV_GXX}" "${CUENV_CLANGXX}" ${CMAKE_CURRENT_SOURCE_DIR}/process/shared_library.cpp ${consumers_build}
  ${consumers_prefix} $<TARGET_FILE:process_two_shared_libraries>)
set_tests_properties("consumer: pkg-config" "consumer: two hidden libraries of two compilers agree" PROPERTIES
  ENVIRONMENT PKG_CONFIG=${CUENV_PKG_CONFIG})
cuenv_on_simulated_machine(MACHINE two_h200 TESTS "consumer: two hidden libraries of two compilers agree")

cuenv_consumer_test("wrong arguments of cuenv_require_gpu_code" COMMAND ${CMAKE_COMMAND}
  -D SOURCE=${consumers_dir}/arguments -D BUILD=${consumers_build}/arguments -P ${consumers_dir}/arguments.cmake)

# cuenv_docs_quote(DOCUMENT FILE FROM): the document shows the file from this text on.
function(cuenv_docs_quote document file from)
  cuenv_consumer_test("${document} quotes ${file}" COMMAND ${CMAKE_COMMAND}
    -D DOCUMENT=${PROJECT_SOURCE_DIR}/docs/${document} -D FILE=${consumers_dir}/${file} -D "FROM=${from}"
    -P ${consumers_dir}/docs_quote.cmake)
endfunction()
cuenv_docs_quote(testing_without_a_gpu.md startup/CMakeLists.txt "add_test(NAME workstation")
cuenv_docs_quote(testing_without_a_gpu.md startup/fabric_not_ready.txt "driver 580")
