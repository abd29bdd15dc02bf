# find_package(cuenv) after an install. The CUDA headers are looked for where the package is used, not where it was made.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(cuenv_package_dir ${CMAKE_INSTALL_DATADIR}/cmake/cuenv)
# INCLUDES DESTINATION: CMake before 3.23 does not know file sets, and would get no include folder.
install(TARGETS cuenv EXPORT cuenv-targets FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT cuenv-targets NAMESPACE cuenv:: DESTINATION ${cuenv_package_dir})
configure_package_config_file(cmake/cuenv-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/cuenv-config.cmake
  INSTALL_DESTINATION ${cuenv_package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/cuenv-config-version.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cuenv-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/cuenv-config-version.cmake
  cmake/cuda_headers.cmake cmake/require_gpu_code.cmake cmake/gpu_code_checker.cpp DESTINATION ${cuenv_package_dir})

# For pkg-config, which finds no toolkits: the CUDA headers' folder is a variable, found here, that users can redefine.
set(cuda_includedir ${cuenv_cuda_include_dir})
if(NOT cuda_includedir)
  set(cuda_includedir /usr/local/cuda/include)
endif()
list(GET cuda_includedir 0 cuda_includedir)
list(TRANSFORM CMAKE_DL_LIBS PREPEND -l OUTPUT_VARIABLE dl_libs)
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_DATADIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" prefix_from_pc ${prefix_from_pc})
configure_file(cmake/cuenv.pc.in cuenv.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cuenv.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/cuenv)
