# Compiles SOURCE with nvcc to OBJECT and fails on any warning, of nvcc or of the host compiler, but the one that nvcc's own
# line directives draw from -Wpedantic.
execute_process(
  COMMAND ${NVCC} -std=c++${STANDARD} -Xcompiler=-Wall,-Wextra,-Wpedantic,-Wconversion,-Wshadow
    -I ${INCLUDE} -c ${SOURCE} -o ${OBJECT}
  RESULT_VARIABLE result ERROR_VARIABLE text OUTPUT_VARIABLE text)
string(REGEX REPLACE "[^\n]*style of line directive is a GCC extension[^\n]*" "" text "${text}")
if(NOT result EQUAL 0 OR text MATCHES "[0-9)]: (warning|error)")
  file(REMOVE ${OBJECT})
  message(FATAL_ERROR "${SOURCE}:\n${text}")
endif()
