# Programs without a test framework that change their environment or start CUDA, each case a process of its own. The
# simulated machine's libraries are on LD_LIBRARY_PATH as a driver would be, but where a test says otherwise.
set(process_root ${CMAKE_CURRENT_BINARY_DIR}/process/two_h200)
set(process_machine ${CMAKE_CURRENT_SOURCE_DIR}/simulated/machines/two_h200.txt)
add_custom_command(OUTPUT ${process_root}/machine.txt
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${process_root}
  COMMAND cuenv_simulated_root ${process_machine} ${process_root}
  DEPENDS cuenv_simulated_root ${process_machine} VERBATIM)
add_custom_target(cuenv_process_root ALL DEPENDS ${process_root}/machine.txt)
add_dependencies(cuenv_quick_tests cuenv_process_root cuenv_simulated_driver cuenv_simulated_nvml)

# No value of the surrounding environment gets in.
set(process_environment)
foreach(name CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER CUDA_CACHE_PATH CUDA_CACHE_MAXSIZE CUDA_CACHE_DISABLE
    CUDA_LAUNCH_BLOCKING CUDA_DEVICE_MAX_CONNECTIONS)
  list(APPEND process_environment "${name}=unset:")
endforeach()

# cuenv_process_program(NAME FILES...): the program process_NAME.
function(cuenv_process_program name)
  add_executable(process_${name} ${ARGN})
  target_include_directories(process_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(process_${name} PRIVATE cuenv::cuenv cuenv_warnings)
  add_dependencies(cuenv_quick_tests process_${name})
endfunction()

# cuenv_process_test("sentence" COMMAND...): on the simulated machine.
function(cuenv_process_test sentence)
  add_test(NAME "process: ${sentence}" COMMAND ${ARGN})
  set_tests_properties("process: ${sentence}" PROPERTIES LABELS process ENVIRONMENT_MODIFICATION
    "LD_LIBRARY_PATH=path_list_prepend:$<TARGET_FILE_DIR:cuenv_simulated_driver>;CUENV_SIMULATED_ROOT=set:${process_root};${process_environment}")
endfunction()

foreach(name applies_before_init refuses_when_too_late second_session failed_then_corrected static_initialiser)
  cuenv_process_program(${name} process/${name}.cpp)
endforeach()
cuenv_process_program(two_translation_units process/two_translation_units.cpp process/two_translation_units_other.cpp)
cuenv_process_program(static_initialiser_too_late
  process/static_initialiser_too_late.cpp process/static_initialiser_other.cpp)
cuenv_process_test("settings are applied before the driver reads them" process_applies_before_init)
cuenv_process_test("settings that come too late are refused" process_refuses_when_too_late)
cuenv_process_test("a second session attaches or is refused" process_second_session)
cuenv_process_test("a failed start can be made again" process_failed_then_corrected)
cuenv_process_test("a session may be a static object" process_static_initialiser)
cuenv_process_test("a static object that starts CUDA is noticed" process_static_initialiser_too_late)
cuenv_process_test("two translation units may include cuenv" process_two_translation_units)

if(NOT WIN32)  # Windows has no fork
  cuenv_process_program(fork_after_init process/fork_after_init.cpp)
  cuenv_process_test("a fork after cuInit is explained" process_fork_after_init)
endif()

# Programs that start themselves: qemu's user mode cannot start a program of its own kind unless the kernel has been told.
if(WIN32 OR NOT CMAKE_CROSSCOMPILING)
  cuenv_process_program(child_environments process/child_environments.cpp)
  cuenv_process_test("workers get a GPU each, and their parent is not touched" process_child_environments)
endif()
if(NOT CMAKE_CROSSCOMPILING)
  # Beside the thread that it starts, qemu's own would be listed.
  cuenv_process_program(diagnose_start process/diagnose_start.cpp)
  cuenv_process_test("a diagnosis starts CUDA in a child, where one can be had" process_diagnose_start)
  cuenv_process_program(no_descriptors process/no_descriptors.cpp)
  cuenv_process_test("what cannot be read is not taken for absent" process_no_descriptors)
  add_test(NAME "process: what cannot be read is not taken for absent, nor a driver" COMMAND process_no_descriptors)
  set_tests_properties("process: what cannot be read is not taken for absent, nor a driver" PROPERTIES LABELS process
    ENVIRONMENT_MODIFICATION "LD_LIBRARY_PATH=unset:;${process_environment}")
  cuenv_process_program(odd_environments process/odd_environments.cpp)
  cuenv_process_test("an entry without '=' is no variable, and a name that is there twice counts once"
    process_odd_environments)
endif()

# Two shared libraries with a session each, their symbols hidden or not.
cuenv_process_program(two_shared_libraries process/two_shared_libraries.cpp)
set(visibilities default hidden)
if(WIN32)  # there a library shows what it says, and no more
  set(visibilities default)
endif()
foreach(visibility IN LISTS visibilities)
  foreach(number 1 2)
    set(library process_library_${visibility}_${number})
    add_library(${library} MODULE process/shared_library.cpp)
    target_link_libraries(${library} PRIVATE cuenv::cuenv cuenv_warnings)
    set_target_properties(${library} PROPERTIES
      CXX_VISIBILITY_PRESET ${visibility} VISIBILITY_INLINES_HIDDEN $<STREQUAL:${visibility},hidden>)
    add_dependencies(cuenv_quick_tests ${library})
  endforeach()
  cuenv_process_test("two shared libraries agree through the driver, visibility ${visibility}"
    process_two_shared_libraries $<TARGET_FILE:process_library_${visibility}_1>
    $<TARGET_FILE:process_library_${visibility}_2>)
endforeach()
if(NOT WIN32)
  cuenv_process_test("two shared libraries agree through the driver, visibility mixed"
    process_two_shared_libraries $<TARGET_FILE:process_library_default_1> $<TARGET_FILE:process_library_hidden_2>)
endif()

# GPU code in the program itself and in a library.
cuenv_process_program(own_code process/own_code.cpp)
add_library(process_code_library MODULE process/own_code_library.cpp)
set_target_properties(process_code_library PROPERTIES OUTPUT_NAME code_for_120)
foreach(pair process_own_code:sm_90 process_code_library:sm_120)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 target)
  list(GET pair 1 image)
  target_compile_definitions(${target} PRIVATE EMBEDDED_CODE="${CUENV_TEST_IMAGES}/${image}.fatbin")
  add_dependencies(${target} cuenv_test_images)
endforeach()
add_dependencies(cuenv_quick_tests process_code_library)
cuenv_process_test("GPU code is found in the program and in a library that it loads"
  process_own_code $<TARGET_FILE:process_code_library>)

if(NOT WIN32)  # there the system's functions are not the program's to replace
  cuenv_process_program(failing_disk process/failing_disk.cpp)
  cuenv_process_test("what a disk does not give is not taken for damage"
    process_failing_disk ${CUENV_TEST_IMAGES}/for_90)
endif()

# A machine without the kernel driver's folder.
set(bare_root ${CMAKE_CURRENT_BINARY_DIR}/process/bare)
file(MAKE_DIRECTORY ${bare_root})
file(COPY_FILE ${process_machine} ${bare_root}/machine.txt ONLY_IF_DIFFERENT)
cuenv_process_program(machine_from_nvml process/machine_from_nvml.cpp)
cuenv_process_test("NVML describes the machine where nothing else does" process_machine_from_nvml)
set_property(TEST "process: NVML describes the machine where nothing else does" APPEND PROPERTY
  ENVIRONMENT_MODIFICATION "CUENV_SIMULATED_ROOT=set:${bare_root}")

# No driver, and nothing of CUDA needed to start.
cuenv_process_program(starts_without_a_driver process/starts_without_a_driver.cpp)
add_test(NAME "process: a program starts without a driver" COMMAND process_starts_without_a_driver)
set_tests_properties("process: a program starts without a driver" PROPERTIES LABELS process SKIP_RETURN_CODE 77
  ENVIRONMENT_MODIFICATION "LD_LIBRARY_PATH=unset:;WINEDLLOVERRIDES=set:nvcuda=;${process_environment}")
if(WIN32)
  include(process/windows.cmake)
endif()
if(CMAKE_CROSSCOMPILING)
  # The rest starts itself anew, needs the toolkit's own stub for this machine, or compiles what the native build compiles.
  return()
endif()

# Threads before main.
find_package(CUDAToolkit REQUIRED)
find_package(Threads REQUIRED)
cuenv_process_program(threads_before_main process/threads_before_main.cpp)
target_link_libraries(process_threads_before_main PRIVATE Threads::Threads)
cuenv_process_test("a thread before main does no harm where nothing changes" process_threads_before_main nothing_to_change)
cuenv_process_test("a change under other threads is refused, or accepted" process_threads_before_main refused)
cuenv_process_test("a program can be started anew with its settings" process_threads_before_main restart "an argument" -)
cuenv_process_test("a program that cannot be started anew is told why" process_threads_before_main no_restart)

if(CMAKE_READELF)
  add_test(NAME "process: a program links nothing of CUDA" COMMAND ${CMAKE_COMMAND}
    -D READELF=${CMAKE_READELF} -D PROGRAM=$<TARGET_FILE:process_starts_without_a_driver>
    -P ${CMAKE_CURRENT_SOURCE_DIR}/process/links_nothing_of_cuda.cmake)
  set_tests_properties("process: a program links nothing of CUDA" PROPERTIES LABELS process)
endif()

# The toolkit's own stub, under the name that a driver has.
find_library(CUENV_CUDA_STUB cuda PATHS ${CUDAToolkit_LIBRARY_DIR}/stubs ${CUDAToolkit_LIBRARY_ROOT}/lib64/stubs
  NO_DEFAULT_PATH)
if(CUENV_CUDA_STUB)
  set(stub_folder ${CMAKE_CURRENT_BINARY_DIR}/process/stub)
  file(MAKE_DIRECTORY ${stub_folder})
  file(CREATE_LINK ${CUENV_CUDA_STUB} ${stub_folder}/libcuda.so.1 SYMBOLIC)
  cuenv_process_program(stub_is_explained process/stub_is_explained.cpp)
  add_test(NAME "process: the toolkit's stub is explained"
    COMMAND process_stub_is_explained ${stub_folder}/libcuda.so.1)
  set_tests_properties("process: the toolkit's stub is explained" PROPERTIES LABELS process
    ENVIRONMENT_MODIFICATION "LD_LIBRARY_PATH=path_list_prepend:${stub_folder};${process_environment}")
endif()
