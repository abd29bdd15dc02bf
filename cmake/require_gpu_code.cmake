# cuenv_require_gpu_code(TARGET GPUS 8.6 9.0 [DRIVER 12.2] [PARTLY])
#
# Makes the build of TARGET, a program or library, fail where its GPU code would not run on one of these GPUs (compute
# capabilities) under a driver that serves this version of CUDA; without DRIVER no limit of a driver is looked at. No GPU
# and no driver are needed. PARTLY: it is enough that some modules of the file serve, as with libraries that carry modules
# for one GPU each by design.
#
# The check is a small program made from cuenv's headers, built with the project. Where what is built does not run here
# (cross compiling without an emulator), CUENV_GPU_CODE_CHECKER names one that does.
set(CUENV_GPU_CODE_CHECKER "" CACHE FILEPATH
  "A gpu_code_checker that runs on this machine, for cuenv_require_gpu_code; empty: it is built")

function(cuenv_require_gpu_code target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PARTLY" "DRIVER" "GPUS")
  set(problems)
  if(NOT TARGET "${target}")
    list(APPEND problems "there is no target '${target}'")
  else()
    get_target_property(aliased ${target} ALIASED_TARGET)
    if(aliased)
      set(target ${aliased})
    endif()
    get_target_property(type ${target} TYPE)
    get_target_property(imported ${target} IMPORTED)
    if(imported OR NOT type MATCHES "^(EXECUTABLE|(SHARED|STATIC|MODULE)_LIBRARY)$")
      list(APPEND problems "'${target}' is no program or library that this project links: name the one its code ends up in")
    endif()
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    list(APPEND problems "'${arg_UNPARSED_ARGUMENTS}' is no argument of it")
  endif()
  if(NOT arg_GPUS)
    list(APPEND problems "GPUS is missing: name compute capabilities, as in GPUS 8.6 9.0")
  endif()
  foreach(gpu IN LISTS arg_GPUS)
    if(NOT gpu MATCHES "^[1-9][0-9]?\\.[0-9]$")
      list(APPEND problems "'${gpu}' is no compute capability: write it as 9.0, without 'sm_' and without a suffix")
    endif()
  endforeach()
  if("DRIVER" IN_LIST arg_KEYWORDS_MISSING_VALUES OR (DEFINED arg_DRIVER AND NOT arg_DRIVER MATCHES "^[1-9][0-9]?\\.[0-9]$"))
    list(APPEND problems
      "DRIVER '${arg_DRIVER}' is no version of CUDA: write the one that the driver serves, as in DRIVER 12.2")
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT problems AND NOT CUENV_GPU_CODE_CHECKER)
    if(NOT "CXX" IN_LIST languages)
      list(APPEND problems "the check is a C++ program: enable the language, as in project(... LANGUAGES CXX CUDA)")
    endif()
    if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
      list(APPEND problems "what is built here does not run here: set CUENV_GPU_CODE_CHECKER to a program made of
  ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/gpu_code_checker.cpp by this machine's compiler")
    endif()
  endif()
  if(problems)
    list(JOIN problems "\n  " problems)
    message(FATAL_ERROR "cuenv_require_gpu_code(${ARGV}):\n  ${problems}")
  endif()

  list(REMOVE_DUPLICATES arg_GPUS)
  set(checker "${CUENV_GPU_CODE_CHECKER}")
  if(NOT checker)
    set(checker cuenv_gpu_code_checker)
    if(NOT TARGET ${checker})
      add_executable(${checker} EXCLUDE_FROM_ALL ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/gpu_code_checker.cpp)
      # What the project's own folders ask of their targets is not asked of this one.
      set_target_properties(${checker} PROPERTIES COMPILE_OPTIONS "" COMPILE_DEFINITIONS "" INCLUDE_DIRECTORIES ""
        LINK_OPTIONS "" LINK_LIBRARIES cuenv::cuenv RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cuenv)
      target_compile_features(${checker} PRIVATE cxx_std_17)
    endif()
    add_dependencies(${target} ${checker})
  endif()
  if(NOT arg_DRIVER)
    set(arg_DRIVER any)
  endif()
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND ${checker} $<TARGET_FILE:${target}> ${arg_DRIVER} $<IF:$<BOOL:${arg_PARTLY}>,partly,whole> ${arg_GPUS})
endfunction()
