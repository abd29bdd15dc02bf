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
  cmake/cuda_headers.cmake DESTINATION ${cuenv_package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/cuenv)
