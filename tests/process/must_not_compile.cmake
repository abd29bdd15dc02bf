# Compiles one case of must_not_compile.cpp. Without EXPECTED it must compile; else it must not, and the compiler must
# give EXPECTED, a regular expression, as the reason.
set(includes)
foreach(folder IN LISTS INCLUDES)
  list(APPEND includes -isystem ${folder})
endforeach()
set(ENV{LC_ALL} C)  # plain quotes
execute_process(COMMAND ${COMPILER} -std=c++${STANDARD} -fsyntax-only ${includes} -DCASE=${CASE} ${SOURCE}
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
if("${EXPECTED}" STREQUAL "")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "the control does not compile")
  endif()
elseif(result EQUAL 0)
  message(FATAL_ERROR "it compiles")
elseif(NOT output MATCHES "must_not_compile.cpp:[0-9:]+ error: [^\n]*(${EXPECTED})")
  message(FATAL_ERROR "it does not compile for another reason than '${EXPECTED}'")
endif()
