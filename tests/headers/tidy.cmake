# cuenv_tidy: clang-tidy over the headers and the tool (.clang-tidy says what is asked). cuenv_format: clang-format over
# everything, in version 14, Debian 12's own; others lay out a few lines in another way.
find_program(CUENV_CLANG_TIDY clang-tidy-19)
find_program(CUENV_CLANG_FORMAT clang-format-14)
if(CUENV_CLANG_TIDY)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/tidy.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "\
#include <cuenv/cudart.hpp>
#include <cuenv/cuenv.hpp>
#include <cuenv/diagnose.hpp>
#include <cuenv/diagnosis/redact.hpp>
#include <cuenv/nlohmann_json.hpp>
")
  set(tidy ${CUENV_CLANG_TIDY} --quiet --config-file=${PROJECT_SOURCE_DIR}/.clang-tidy)
  set(options -- -std=c++17 -I${PROJECT_SOURCE_DIR}/include)
  foreach(folder IN LISTS cuenv_cuda_include_dir)
    list(APPEND options -isystem ${folder})
  endforeach()
  add_custom_target(cuenv_tidy_headers COMMAND ${tidy} ${source} ${options} VERBATIM)
  add_custom_target(cuenv_tidy DEPENDS cuenv_tidy_headers)
  if(TARGET cuenv_tool)
    get_target_property(tool_dir cuenv_tool SOURCE_DIR)
    get_target_property(tool_binary_dir cuenv_tool BINARY_DIR)
    get_target_property(tool_sources cuenv_tool SOURCES)
    list(FILTER tool_sources INCLUDE REGEX "^[a-z_]+\\.cpp$")
    foreach(file IN LISTS tool_sources)
      # The library's headers are looked at above.
      add_custom_target(cuenv_tidy_${file}
        COMMAND ${tidy} --header-filter=examples/cuenv/ ${tool_dir}/${file} ${options} -I${tool_binary_dir} VERBATIM)
      add_dependencies(cuenv_tidy_${file} cuenv_tool)
      add_dependencies(cuenv_tidy cuenv_tidy_${file})
    endforeach()
  endif()
endif()
if(CUENV_CLANG_FORMAT)
  set(formatted)
  foreach(folder include benchmarks docs examples tests)
    file(GLOB_RECURSE found ${PROJECT_SOURCE_DIR}/${folder}/*.cpp ${PROJECT_SOURCE_DIR}/${folder}/*.hpp)
    list(APPEND formatted ${found})
  endforeach()
  add_custom_target(cuenv_format COMMAND ${CUENV_CLANG_FORMAT} --dry-run -Werror ${formatted} VERBATIM)
endif()
