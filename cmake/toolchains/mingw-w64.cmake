# Windows x86-64 programs, built by mingw-w64 and run by wine (Debian: g++-mingw-w64-x86-64-posix, wine64).
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)  # that with std::thread and std::mutex
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
# No libgcc, libstdc++ or winpthread has to lie beside the programs.
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -static)
set(CMAKE_MODULE_LINKER_FLAGS_INIT -static)
set(CMAKE_CXX_FLAGS_INIT -Wa,-mbig-obj)  # a test file has more sections than the older format can count

# Wine with an installation of its own in the build folder, in which tests put what stands for the driver.
find_program(CUENV_WINE NAMES wine64 wine PATHS /usr/lib/wine)
find_program(CUENV_WINESERVER NAMES wineserver64 wineserver PATHS /usr/lib/wine)
set(CUENV_WINE_PREFIX ${CMAKE_BINARY_DIR}/wine)
set(CUENV_WINE_ENVIRONMENT ${CMAKE_COMMAND} -E env WINEPREFIX=${CUENV_WINE_PREFIX} WINEDEBUG=-all)
if(CUENV_WINE)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${CUENV_WINE_ENVIRONMENT} ${CUENV_WINE})
endif()
