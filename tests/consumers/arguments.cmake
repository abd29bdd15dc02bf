# Wrong arguments of cuenv_require_gpu_code, each with the words that configuring fails with.
file(REMOVE_RECURSE ${BUILD})
function(expect words)
  execute_process(RESULT_VARIABLE result ERROR_VARIABLE text OUTPUT_QUIET
    COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD} -D CUENV_CMAKE=${CMAKE_CURRENT_LIST_DIR}/../../cmake
      "-DARGUMENTS=${ARGN}")
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  string(FIND "${text}" "${words}" place)
  if(result EQUAL 0 OR place EQUAL -1)
    message(SEND_ERROR "(${ARGN}) does not fail with '${words}':\n${text}")
  endif()
endfunction()

expect("there is no target 'kernel'" kernel GPUS 8.6)
expect("'objects' is no program or library that this project links" objects GPUS 8.6)
expect("GPUS is missing: name compute capabilities, as in GPUS 8.6 9.0" kernels)
expect("GPUS is missing" kernels GPUS DRIVER 12.2)
expect("'86' is no compute capability: write it as 9.0" kernels GPUS 9.0 86)
expect("'sm_86' is no compute capability" kernels GPUS sm_86)
expect("'9.0a' is no compute capability" kernels GPUS 9.0a)
expect("DRIVER '535' is no version of CUDA: write the one that the driver serves" kernels GPUS 9.0 DRIVER 535)
expect("DRIVER '' is no version of CUDA" kernels GPUS 9.0 DRIVER)
expect("'8.6 9.0' is no argument of it" kernels 8.6 9.0 GPUS 8.0)
expect("'86' is no compute capability" kernels GPUS 86 DRIVER 535)  # all at once
expect("DRIVER '535' is no version" kernels GPUS 86 DRIVER 535)
expect("the check is a C++ program: enable the language" kernels GPUS 9.0 DRIVER 12.2)
expect("does not run here: set CUENV_GPU_CODE_CHECKER to a program made of" kernels GPUS 9.0 DRIVER 12.2)
