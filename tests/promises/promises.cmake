# What cuenv promises beside what it does: promises of the headers' text (headers.py), and of what the compiler refuses
# (must_not_compile.py, needs.py). Each has a test that breaks it on purpose (*_test.py, or within).
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(promises_dir ${CMAKE_CURRENT_SOURCE_DIR}/promises)

function(cuenv_promise sentence script)
  add_test(NAME "promises: ${sentence}" COMMAND ${Python3_EXECUTABLE} -B ${promises_dir}/${script} ${ARGN})
  set_tests_properties("promises: ${sentence}" PROPERTIES LABELS promises)
endfunction()

cuenv_promise("the headers keep theirs" headers.py ${PROJECT_SOURCE_DIR})
cuenv_promise("a header that breaks one is noticed" headers_test.py)
cuenv_promise("each finding is provoked, and those of the diagnosis are spared too" findings.py ${PROJECT_SOURCE_DIR})

set(standard ${CMAKE_CXX_STANDARD})
if(NOT standard)
  set(standard 17)
endif()
set(include_options -I${PROJECT_SOURCE_DIR}/include)
foreach(folder IN LISTS cuenv_cuda_include_dir)
  list(APPEND include_options -isystem ${folder})
endforeach()
cuenv_promise("mistakes do not compile" must_not_compile.py ${promises_dir}/must_not_compile.cpp
  ${CMAKE_CXX_COMPILER} -std=c++${standard} ${include_options})
cuenv_promise("a mistake that compiles is noticed" must_not_compile_test.py ${CMAKE_CXX_COMPILER})
find_program(CUENV_NVCC nvcc HINTS ${CUDAToolkit_BIN_DIR} /usr/local/cuda/bin)
if(NOT CUENV_NVCC)
  message(STATUS "cuenv: nvcc is not there to be told the wrong options")
endif()
cuenv_promise("a compiler with the wrong options is told so" needs.py ${PROJECT_SOURCE_DIR}/include
  "$<$<BOOL:${CUENV_NVCC}>:${CUENV_NVCC}>" ${CMAKE_CXX_COMPILER} ${include_options})
