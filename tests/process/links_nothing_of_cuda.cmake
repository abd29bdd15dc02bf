# PROGRAM must need no library of CUDA or NVIDIA.
execute_process(COMMAND ${READELF} -d ${PROGRAM} OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
message("${output}")
if(NOT output MATCHES "NEEDED[^\n]*libc\\.so")
  message(FATAL_ERROR "this is no list of libraries")
endif()
if(output MATCHES "NEEDED[^\n]*(libcu|libnv|nvidia)")
  message(FATAL_ERROR "it needs ${CMAKE_MATCH_0}")
endif()
