# Wine's installation for the tests, with the simulated driver where Windows has the real one.
set(wine_stamp ${CMAKE_CURRENT_BINARY_DIR}/process/wine.stamp)
add_custom_command(OUTPUT ${wine_stamp}
  COMMAND ${CUENV_WINE_ENVIRONMENT} WINEDLLOVERRIDES=mscoree,mshtml= ${CUENV_WINE} wineboot --init
  COMMAND ${CUENV_WINE_ENVIRONMENT} ${CUENV_WINESERVER} --wait
  COMMAND ${CMAKE_COMMAND} -E touch ${wine_stamp}
  COMMENT "Making wine's installation" VERBATIM)
add_custom_target(cuenv_wine ALL
  COMMAND ${CMAKE_COMMAND} -E copy_if_different $<TARGET_FILE:cuenv_simulated_driver> $<TARGET_FILE:cuenv_simulated_nvml>
    ${CUENV_WINE_PREFIX}/drive_c/windows/system32
  DEPENDS ${wine_stamp} VERBATIM)
add_dependencies(cuenv_wine cuenv_simulated_driver cuenv_simulated_nvml)
add_dependencies(cuenv_process_root cuenv_wine)

cuenv_process_program(windows_h process/windows_h.cpp process/windows_h_other.cpp)
cuenv_process_test("windows.h may come before cuenv or behind it" process_windows_h)

cuenv_process_program(driver_of_system32 process/driver_of_system32.cpp)
set(decoy_folder ${CMAKE_CURRENT_BINARY_DIR}/process/decoy)
set_target_properties(process_driver_of_system32 PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${decoy_folder})
add_custom_command(TARGET process_driver_of_system32 POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:cuenv_simulated_nvml> ${decoy_folder}/nvcuda.dll VERBATIM)
add_dependencies(process_driver_of_system32 cuenv_simulated_nvml)
cuenv_process_test("the driver is taken from System32 and from nowhere else" process_driver_of_system32)
