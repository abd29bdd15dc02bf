# Every header of the library alone: as C++ (CMake's own check), and as CUDA where nvcc is there.
set_target_properties(cuenv PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)

get_target_property(headers cuenv HEADER_SET)
find_program(CUENV_NVCC nvcc HINTS ${CUDAToolkit_BIN_DIR} /usr/local/cuda/bin)
if(CUENV_NVCC)
  set(objects)
  set(whole)  # what includes all the others
  foreach(header IN LISTS headers)
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR}/include ${header})
    string(REPLACE "/" "_" stem ${name})
    set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${stem}.cu)
    # Names that are macros in one system header or another come first.
    file(CONFIGURE OUTPUT ${source} CONTENT "\
#define I 1i
#define B0 0
#define small char
#define major(x) x
#define minor(x) x
#define ERROR 0
#define DEBUG 1
#define unix 1
#undef I
#include <${name}>
int main() {}
")
    add_custom_command(OUTPUT ${source}.o
      COMMAND ${CMAKE_COMMAND} -D NVCC=${CUENV_NVCC} -D STANDARD=${CMAKE_CXX_STANDARD} -D SOURCE=${source}
        -D OBJECT=${source}.o -D INCLUDE=${PROJECT_SOURCE_DIR}/include
        -P ${CMAKE_CURRENT_SOURCE_DIR}/headers/compile_as_cuda.cmake
      DEPENDS ${header} ${source} headers/compile_as_cuda.cmake VERBATIM)
    list(APPEND objects ${source}.o)
    if(name MATCHES "^cuenv/(cuenv|diagnose|cudart|nlohmann_json).hpp$")
      list(APPEND whole ${source}.o)
    endif()
  endforeach()
  add_custom_target(cuenv_headers_as_cuda DEPENDS ${objects})
  add_custom_target(cuenv_whole_as_cuda DEPENDS ${whole})
endif()
