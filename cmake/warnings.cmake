# What cuenv's own code is held to. Not part of the package.
add_library(cuenv_warnings INTERFACE)
option(CUENV_WARNINGS_AS_ERRORS "Treat warnings in cuenv's own code as errors" OFF)
target_compile_options(cuenv_warnings INTERFACE
  $<$<CXX_COMPILER_ID:GNU,Clang>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow>
  $<$<AND:$<BOOL:${CUENV_WARNINGS_AS_ERRORS}>,$<CXX_COMPILER_ID:GNU,Clang>>:-Werror>)
