# The documentation site (target `docs`, where Doxygen is installed) and the program that prints docs/variables.md.
add_executable(variables_page ${PROJECT_SOURCE_DIR}/docs/variables_page.cpp)
target_link_libraries(variables_page PRIVATE cuenv::cuenv)
set_target_properties(variables_page PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/docs)

find_package(Doxygen QUIET)
if(DOXYGEN_FOUND)
  set(doxygen_output ${CMAKE_CURRENT_BINARY_DIR}/docs)
  configure_file(${PROJECT_SOURCE_DIR}/docs/Doxyfile.in ${doxygen_output}/Doxyfile @ONLY)
  add_custom_target(docs COMMAND Doxygen::doxygen ${doxygen_output}/Doxyfile VERBATIM
    COMMENT "Making the documentation in ${doxygen_output}/html")
endif()
