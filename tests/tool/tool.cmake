# The tool, where it is built: a shell script for each command, on the simulated machine.
if(NOT TARGET cuenv_tool)
  return()
endif()
find_program(CUENV_SH sh REQUIRED)
add_executable(json_at tool/json_at.cpp)
target_link_libraries(json_at PRIVATE cuenv_tool_headers cuenv_warnings)
target_compile_features(json_at PRIVATE cxx_std_17)
target_link_libraries(unit_tests PRIVATE cuenv_tool_headers)

set(tool_environment
  "CUENV=set:$<TARGET_FILE:cuenv_tool>"
  "JSON_AT=set:$<TARGET_FILE:json_at>"
  "DATA=set:${CMAKE_CURRENT_SOURCE_DIR}/data"
  "IMAGES=set:${CUENV_TEST_IMAGES}"
  "SIMULATED_ROOT=set:$<TARGET_FILE:cuenv_simulated_root>"
  "MACHINES=set:${CMAKE_CURRENT_SOURCE_DIR}/simulated/machines"
  ${process_environment})
foreach(command explain devices images check doctor cache run env verify)
  add_test(NAME "tool: ${command}" COMMAND ${CUENV_SH} ${CMAKE_CURRENT_SOURCE_DIR}/tool/${command}.sh)
  set_tests_properties("tool: ${command}" PROPERTIES LABELS tool ENVIRONMENT_MODIFICATION
    "${tool_environment};LD_LIBRARY_PATH=set:$<TARGET_FILE_DIR:cuenv_simulated_driver>;CUENV_SIMULATED_ROOT=set:${process_root}")
endforeach()
foreach(name verify devices)
  add_test(NAME "gpu.tool_${name}" COMMAND ${CUENV_SH} ${CMAKE_CURRENT_SOURCE_DIR}/tool/gpu.sh ${name})
  set_tests_properties("gpu.tool_${name}" PROPERTIES LABELS gpu SKIP_RETURN_CODE 77
    ENVIRONMENT_MODIFICATION "${tool_environment}")
endforeach()
