# The page is what the program prints.
execute_process(COMMAND ${PROGRAM} OUTPUT_FILE printed.md COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files printed.md ${PAGE} RESULT_VARIABLE differs)
if(differs)
  message(FATAL_ERROR "${PAGE} is not what ${PROGRAM} prints; make it anew: ${PROGRAM} > ${PAGE}")
endif()
