# The documentation site (target `docs`, where Doxygen is installed) and the program that prints docs/variables.md.
add_executable(variables_page ${CMAKE_CURRENT_LIST_DIR}/variables_page.cpp)
target_link_libraries(variables_page PRIVATE cuenv::cuenv)
set_target_properties(variables_page PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/docs)

find_package(Doxygen QUIET)
if(DOXYGEN_FOUND)
  set(doxygen_output ${PROJECT_BINARY_DIR}/docs)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/Doxyfile.in ${doxygen_output}/Doxyfile @ONLY)
  add_custom_target(docs COMMAND Doxygen::doxygen ${doxygen_output}/Doxyfile VERBATIM
    COMMENT "Making the documentation in ${doxygen_output}/html")
endif()
