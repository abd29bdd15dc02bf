# What cuenv relies on in a driver, asked of a real one (tests gpu.*, label gpu, skipped without one) and of the simulated
# machine (tests simulated.*).
find_package(CUDAToolkit REQUIRED)
set(gpu_dir ${CMAKE_CURRENT_SOURCE_DIR}/gpu)
set(gpu_binary_dir ${CMAKE_CURRENT_BINARY_DIR}/gpu)
file(MAKE_DIRECTORY ${gpu_binary_dir})

add_executable(driver_contract gpu/driver_contract.cpp)
target_include_directories(driver_contract PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(driver_contract PRIVATE cuenv::cuenv cuenv_warnings)

# Images of one kernel, each with the answer of a device of compute capability 9.0 (measured, driver 580).
set(image_files)
set(image_answers)
function(gpu_image file answer)
  set(image ${gpu_binary_dir}/${file})
  add_custom_command(OUTPUT ${image}
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -Wno-deprecated-gpu-targets ${ARGN} -o ${image} ${gpu_dir}/kernels.cu
    DEPENDS ${gpu_dir}/kernels.cu VERBATIM)
  set(image_files ${image_files} ${image} PARENT_SCOPE)
  set(image_answers ${image_answers} ${image}=${answer} PARENT_SCOPE)
endfunction()
gpu_image(sm_90.cubin 0 --cubin -arch=sm_90)
gpu_image(sm_90.fatbin 0 --fatbin -gencode arch=compute_90,code=sm_90)
gpu_image(sm_90a.fatbin 0 --fatbin -gencode arch=compute_90a,code=sm_90a)
gpu_image(sm_75.cubin 209 --cubin -arch=sm_75)
gpu_image(sm_75.fatbin 209 --fatbin -gencode arch=compute_75,code=sm_75)
gpu_image(sm_120.fatbin 209 --fatbin -gencode arch=compute_120,code=sm_120)
gpu_image(compute_75.fatbin 0 --fatbin -gencode arch=compute_75,code=compute_75)
gpu_image(compute_75.ptx 0 --ptx -arch=compute_75)
gpu_image(compute_120.fatbin 209 --fatbin -gencode arch=compute_120,code=compute_120)
gpu_image(compute_120.ptx 218 --ptx -arch=compute_120)
foreach(pair newer.ptx=222 broken.ptx=218)
  list(APPEND image_answers ${gpu_dir}/${pair})
endforeach()
file(WRITE ${gpu_binary_dir}/garbage.bin "<html>not found</html>")
list(APPEND image_answers ${gpu_binary_dir}/garbage.bin=200)
add_custom_target(gpu_images ALL DEPENDS ${image_files})
list(JOIN image_answers " " image_answers)

# The same cases for both.
set(simulated_root ${CMAKE_CURRENT_BINARY_DIR}/gpu/simulated_root)
add_test(NAME simulated.root
  COMMAND cuenv_simulated_root ${CMAKE_CURRENT_SOURCE_DIR}/simulated/machines/two_h200.txt ${simulated_root})
set_tests_properties(simulated.root PROPERTIES FIXTURES_SETUP simulated_root)
function(contract name)
  add_test(NAME gpu.${name} COMMAND driver_contract ${ARGN})
  set_tests_properties(gpu.${name} PROPERTIES LABELS gpu SKIP_RETURN_CODE 77)
  add_test(NAME simulated.${name} COMMAND driver_contract ${ARGN})
  set_tests_properties(simulated.${name} PROPERTIES
    FIXTURES_REQUIRED simulated_root
    ENVIRONMENT "CUENV_SIMULATED_ROOT=${simulated_root};LD_LIBRARY_PATH=$<TARGET_FILE_DIR:cuenv_simulated_driver>")
endfunction()
foreach(list all reversed first last uuids prefix)
  contract(map_${list} map ${list})
endforeach()
contract(too_late too_late)
contract(again again)
contract(refused_none refused -1:100)
contract(refused_empty refused :100)
contract(refused_range refused 99:100)
contract(refused_duplicate refused 0,0:101)
contract(refused_word refused all:100)
contract(refused_order refused @pci_bus_id:101)
contract(images images "${image_answers}")
contract(contexts contexts ${gpu_binary_dir}/sm_90.fatbin)
contract(launch_blocking launch_blocking)

# The runtime API: it cannot run on the simulated machine, so a real driver, no driver and the toolkit's stub are the cases.
set(runtime_objects)
foreach(pair runtime_kernels=90 runtime_kernels_older=75 runtime_kernels_newer=120)
  string(REPLACE "=" ";" pair ${pair})
  list(GET pair 0 stem)
  list(GET pair 1 sm)
  add_custom_command(OUTPUT ${gpu_binary_dir}/${stem}.o
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -Wno-deprecated-gpu-targets -gencode arch=compute_${sm},code=sm_${sm}
      -Xcompiler=-fPIC -c ${gpu_dir}/${stem}.cu -o ${gpu_binary_dir}/${stem}.o
    DEPENDS ${gpu_dir}/${stem}.cu VERBATIM)
  list(APPEND runtime_objects ${gpu_binary_dir}/${stem}.o)
endforeach()
add_custom_target(gpu_kernels DEPENDS ${runtime_objects})
find_package(Threads REQUIRED)
add_executable(runtime_contract gpu/runtime_contract.cpp ${runtime_objects})
target_include_directories(runtime_contract PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(runtime_contract PRIVATE cuenv::cuenv cuenv_warnings CUDA::cudart_static Threads::Threads)
add_dependencies(runtime_contract gpu_kernels)
add_test(NAME gpu.runtime_kernels COMMAND runtime_contract gpu)
set_tests_properties(gpu.runtime_kernels PROPERTIES LABELS gpu SKIP_RETURN_CODE 77)
if(NOT EXISTS /dev/nvidiactl)
  add_test(NAME runtime.without_a_driver COMMAND runtime_contract 35)
endif()
find_file(stub libcuda.so PATHS ${CUDAToolkit_LIBRARY_DIR}/stubs NO_DEFAULT_PATH)
if(stub)
  file(MAKE_DIRECTORY ${gpu_binary_dir}/stub)
  file(CREATE_LINK ${stub} ${gpu_binary_dir}/stub/libcuda.so.1 SYMBOLIC)
  add_test(NAME runtime.with_the_stub COMMAND runtime_contract 34)
  set_tests_properties(runtime.with_the_stub PROPERTIES ENVIRONMENT LD_LIBRARY_PATH=${gpu_binary_dir}/stub)
endif()

# When each variable is read: through the driver API, and through the runtime API with either cudart.
foreach(api driver runtime_static runtime_shared)
  add_executable(moments_${api} gpu/moments.cpp)
  target_include_directories(moments_${api} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(moments_${api} PRIVATE cuenv::cuenv cuenv_warnings)
  add_test(NAME gpu.moments_${api} COMMAND moments_${api})
  set_tests_properties(gpu.moments_${api} PROPERTIES LABELS gpu SKIP_RETURN_CODE 77)
endforeach()
target_compile_definitions(moments_runtime_static PRIVATE CUENV_RUNTIME_API)
target_compile_definitions(moments_runtime_shared PRIVATE CUENV_RUNTIME_API)
target_link_libraries(moments_runtime_static PRIVATE CUDA::cudart_static)
target_link_libraries(moments_runtime_shared PRIVATE CUDA::cudart)

# Real libraries: what a program with them loaded is told, and the list of their code against cuobjdump's.
foreach(name own_code own_code_newer)
  add_executable(${name} gpu/own_code.cpp ${gpu_binary_dir}/runtime_kernels.o)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE cuenv::cuenv cuenv_warnings CUDA::cudart_static)
  add_dependencies(${name} gpu_kernels)
endforeach()
target_sources(own_code_newer PRIVATE ${gpu_binary_dir}/runtime_kernels_newer.o)
add_executable(list_targets gpu/list_targets.cpp)
target_link_libraries(list_targets PRIVATE cuenv::cuenv cuenv_warnings)
set(tool_file)
if(TARGET cuenv_tool)
  set(tool_file $<TARGET_FILE:cuenv_tool>)
endif()
add_test(NAME gpu.real_libraries COMMAND sh ${gpu_dir}/real_libraries.sh
  $<TARGET_FILE:own_code> $<TARGET_FILE:own_code_newer> $<TARGET_FILE:list_targets> ${tool_file})
set_tests_properties(gpu.real_libraries PROPERTIES LABELS gpu SKIP_RETURN_CODE 77)

# Several GPUs at once: lists, maps, launchers. See several_gpus.sh; README.md says how to run it alone.
add_executable(session_start gpu/session_start.cpp)
target_link_libraries(session_start PRIVATE cuenv::cuenv cuenv_warnings)
if(TARGET cuenv_tool)
  add_test(NAME gpu.mps COMMAND ${gpu_dir}/mps.sh $<TARGET_FILE:cuenv_tool>)
  set_tests_properties(gpu.mps PROPERTIES LABELS gpu SKIP_RETURN_CODE 77)
  add_test(NAME gpu.several_gpus COMMAND ${gpu_dir}/several_gpus.sh ${PROJECT_BINARY_DIR})
  set_tests_properties(gpu.several_gpus PROPERTIES LABELS "gpu;launchers" SKIP_RETURN_CODE 77 TIMEOUT 1800
    ENVIRONMENT CUENV_TEST_GPUS=2)
  add_test(NAME simulated.several_gpus
    COMMAND ${gpu_dir}/several_gpus.sh ${PROJECT_BINARY_DIR} ${gpu_binary_dir}/simulated_several_gpus)
  add_test(NAME simulated.several_gpus_that_differ
    COMMAND ${gpu_dir}/sees_differences.sh ${PROJECT_BINARY_DIR} ${simulated_root})
  set_tests_properties(simulated.several_gpus simulated.several_gpus_that_differ PROPERTIES
    LABELS launchers FIXTURES_REQUIRED simulated_root TIMEOUT 600 ENVIRONMENT_MODIFICATION
    "LD_LIBRARY_PATH=path_list_prepend:$<TARGET_FILE_DIR:cuenv_simulated_driver>;CUENV_SIMULATED_ROOT=set:${simulated_root};CUENV_TEST_LISTS=set:50")
endif()
