# What the documents say, tried: each line of docs/articles.md, the page of variables against its table, the blocks of
# README and guides, and the site without a warning.
include(${PROJECT_SOURCE_DIR}/docs/docs.cmake)

cuenv_test(docs_articles docs/articles.test.cpp)
target_compile_definitions(docs_articles PRIVATE CUENV_DOCS="${PROJECT_SOURCE_DIR}/docs")

add_test(NAME "docs: every variable"
  COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:variables_page> -D PAGE=${PROJECT_SOURCE_DIR}/docs/variables.md
    -P ${CMAKE_CURRENT_SOURCE_DIR}/docs/same_page.cmake)

if(TARGET docs)
  add_test(NAME "docs: the site" COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target docs)
endif()

find_program(CUENV_BASH bash)
if(NOT CUENV_BASH OR NOT TARGET cuenv_tool)
  return()
endif()
# The folder in which the blocks are tried: files of the names that the pages speak of.
set(docs_files ${CMAKE_CURRENT_BINARY_DIR}/docs_files)
file(MAKE_DIRECTORY ${docs_files})
add_custom_target(cuenv_docs_files ALL
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${PROJECT_BINARY_DIR}/examples/quickstart/kernels.fatbin
    ${PROJECT_BINARY_DIR}/examples/quickstart/only_blackwell.fatbin ${docs_files}
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${CUENV_TEST_IMAGES}/libfor_90_and_120.so ${docs_files}/libkernels.so
  VERBATIM)
add_dependencies(cuenv_docs_files quickstart_images cuenv_test_images)
get_target_property(docs_includes cuenv::cuenv INTERFACE_INCLUDE_DIRECTORIES)
file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md ${PROJECT_SOURCE_DIR}/examples/*/README.md)
list(FILTER pages EXCLUDE REGEX "examples/worked_case/")  # on a machine of its own: tests/tool/worked_case.sh
foreach(page ${PROJECT_SOURCE_DIR}/README.md ${pages})
  file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${page})
  add_test(NAME "docs: ${name}" COMMAND ${CUENV_BASH} ${CMAKE_CURRENT_SOURCE_DIR}/docs/snippets.sh ${page})
  set_tests_properties("docs: ${name}" PROPERTIES LABELS docs ENVIRONMENT_MODIFICATION
    "CXX=set:${CMAKE_CXX_COMPILER};CXXFLAGS=set:-std=c++17;INCLUDES=set:-I${PROJECT_SOURCE_DIR}/include -isystem ${cuenv_cuda_include_dir};DOCS=set:${CMAKE_CURRENT_SOURCE_DIR}/docs;FILES=set:${docs_files};PATH=path_list_prepend:$<TARGET_FILE_DIR:cuenv_tool>;LD_LIBRARY_PATH=set:$<TARGET_FILE_DIR:cuenv_simulated_driver>;CUENV_SIMULATED_ROOT=set:${process_root};${process_environment}")
endforeach()
