# cuenv_borrow_headers(TARGET FOLDER): for a cross build, the build machine's headers below FOLDER ("catch2") and nothing
# else of the place where they stand, which has the build machine's C library too. Leaves TARGET out where there are none.
function(cuenv_borrow_headers target folder)
  find_path(${target}_DIR ${folder} PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH)
  if(NOT ${target}_DIR)
    message(STATUS "cuenv: no headers ${folder}")
    return()
  endif()
  set(place ${CMAKE_CURRENT_BINARY_DIR}/${target})
  file(MAKE_DIRECTORY ${place})
  file(CREATE_LINK ${${target}_DIR}/${folder} ${place}/${folder} SYMBOLIC)
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${place})
endfunction()
