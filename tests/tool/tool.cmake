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
foreach(command help explain devices images check doctor cache run env verify)
  add_test(NAME "tool: ${command}" COMMAND ${CUENV_SH} ${CMAKE_CURRENT_SOURCE_DIR}/tool/${command}.sh)
  set_tests_properties("tool: ${command}" PROPERTIES LABELS tool ENVIRONMENT_MODIFICATION
    "${tool_environment};LD_LIBRARY_PATH=set:$<TARGET_FILE_DIR:cuenv_simulated_driver>;CUENV_SIMULATED_ROOT=set:${process_root}")
endforeach()

# The worked case: its README's commands on the workstation with two unlike GPUs.
set(workstation_root ${CMAKE_CURRENT_BINARY_DIR}/process/rtx_3090_4070)
set(workstation ${CMAKE_CURRENT_SOURCE_DIR}/simulated/machines/rtx_3090_4070.txt)
add_custom_command(OUTPUT ${workstation_root}/machine.txt
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${workstation_root}
  COMMAND cuenv_simulated_root ${workstation} ${workstation_root}
  DEPENDS cuenv_simulated_root ${workstation} VERBATIM)
add_custom_target(cuenv_workstation_root ALL DEPENDS ${workstation_root}/machine.txt)
if(TARGET scale)
  get_filename_component(nvcc_folder ${CUDAToolkit_NVCC_EXECUTABLE} DIRECTORY)
  add_test(NAME "tool: worked_case" COMMAND ${CUENV_SH} ${CMAKE_CURRENT_SOURCE_DIR}/tool/worked_case.sh)
  set_tests_properties("tool: worked_case" PROPERTIES LABELS tool ENVIRONMENT_MODIFICATION
    "${tool_environment};WORKED_CASE=set:${PROJECT_SOURCE_DIR}/examples/worked_case;SCALE=set:$<TARGET_FILE:scale>;NVCC_DIR=set:${nvcc_folder};LD_LIBRARY_PATH=set:$<TARGET_FILE_DIR:cuenv_simulated_driver>;CUENV_SIMULATED_ROOT=set:${workstation_root}")
endif()
foreach(name verify devices)
  add_test(NAME "gpu.tool_${name}" COMMAND ${CUENV_SH} ${CMAKE_CURRENT_SOURCE_DIR}/tool/gpu.sh ${name})
  set_tests_properties("gpu.tool_${name}" PROPERTIES LABELS gpu SKIP_RETURN_CODE 77
    ENVIRONMENT_MODIFICATION "${tool_environment}")
endforeach()
add_test(NAME gpu.doctor COMMAND ${CUENV_SH} ${CMAKE_CURRENT_SOURCE_DIR}/gpu/doctor.sh)
set_tests_properties(gpu.doctor PROPERTIES LABELS gpu SKIP_RETURN_CODE 77
  ENVIRONMENT_MODIFICATION "${tool_environment};STUB=set:${gpu_binary_dir}/stub")
