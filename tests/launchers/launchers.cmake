# One process per GPU under the launchers people use (label "launchers"): rank_program on a described node with four
# GPUs, and on two real ones (label "gpu" too). Where a launcher is absent its tests are skipped and counted.
find_program(CUENV_OPEN_MPI NAMES mpirun.openmpi mpirun)
find_program(CUENV_HYDRA NAMES mpiexec.hydra mpiexec.mpich)
find_program(CUENV_TORCHRUN NAMES torchrun)
set(launchers_dir ${CMAKE_CURRENT_SOURCE_DIR}/launchers)

add_executable(rank_program launchers/rank_program.cpp)
target_link_libraries(rank_program PRIVATE cuenv::cuenv cuenv_warnings)

set(launchers_root ${CMAKE_CURRENT_BINARY_DIR}/launchers/four_h200)
set(launchers_machine ${CMAKE_CURRENT_SOURCE_DIR}/simulated/machines/four_h200.txt)
add_custom_command(OUTPUT ${launchers_root}/machine.txt
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${launchers_root}
  COMMAND cuenv_simulated_root ${launchers_machine} ${launchers_root}
  DEPENDS cuenv_simulated_root ${launchers_machine} VERBATIM)
add_custom_target(cuenv_launchers_root ALL DEPENDS ${launchers_root}/machine.txt)

# The launchers as they are called in a test: as root, on a machine of any number of cores, without a remote shell.
# torchrun reads its options with underscores in every version, and with hyphens from PyTorch 2.0; the one of Debian 12
# fails unless it copies the output to a file.
set(open_mpi ${CUENV_OPEN_MPI} --allow-run-as-root --oversubscribe --bind-to none --mca plm isolated)
set(hydra ${CUENV_HYDRA} -launcher fork)
set(torchrun ${CUENV_TORCHRUN} --no_python --standalone --redirects 1 --tee 1
  --log_dir ${CMAKE_CURRENT_BINARY_DIR}/launchers/torchrun)
set(slurm ${launchers_dir}/with_slurm.sh)

# cuenv_launcher_test("sentence" EXPECTED TEXT COMMAND...): on the described node. See expect_ranks.sh.
function(cuenv_launcher_test sentence expected text)
  add_test(NAME "launchers: ${sentence}" COMMAND ${launchers_dir}/expect_ranks.sh ${expected} "${text}" ${ARGN})
  set_tests_properties("launchers: ${sentence}" PROPERTIES LABELS launchers SKIP_RETURN_CODE 77 TIMEOUT 300
    ENVIRONMENT_MODIFICATION
    "LD_LIBRARY_PATH=path_list_prepend:$<TARGET_FILE_DIR:cuenv_simulated_driver>;CUENV_SIMULATED_ROOT=set:${launchers_root}")
endfunction()
# The same on the real machine, with at least two GPUs.
function(cuenv_launcher_gpu_test name)
  add_test(NAME gpu.${name} COMMAND ${launchers_dir}/expect_ranks.sh different:2 "" ${ARGN})
  set_tests_properties(gpu.${name} PROPERTIES LABELS "gpu;launchers" SKIP_RETURN_CODE 77 TIMEOUT 300
    ENVIRONMENT CUENV_TEST_GPUS=2)
endfunction()

# An mpirun may put folders of its own, and a real driver with them, in front of LD_LIBRARY_PATH.
set(on_the_node env LD_LIBRARY_PATH=$<TARGET_FILE_DIR:cuenv_simulated_driver>)
set(in_order "0:0 1:1 2:2 3:3")
set(reversed "0:3 1:2 2:1 3:0")
set(kept "the launcher's choice, to which the rank is not added")
set(bind_reversed ${launchers_dir}/bind_reversed.sh)

cuenv_launcher_test("Open MPI, a GPU for each rank" ${in_order} "by the word of Open MPI"
  ${open_mpi} -n 4 ${on_the_node} $<TARGET_FILE:rank_program>)
cuenv_launcher_test("Open MPI, ranks that are bound" ${reversed} "${kept}"
  ${open_mpi} -n 4 ${on_the_node} ${bind_reversed} $<TARGET_FILE:rank_program>)
cuenv_launcher_test("Open MPI, two GPUs for each rank" "0:0 0:1 1:2 1:3" ""
  ${open_mpi} -n 2 ${on_the_node} $<TARGET_FILE:rank_program> 2)
cuenv_launcher_test("Open MPI, more ranks than GPUs" "${in_order} 4:0" "local ranks 0 and 4 share logical GPU 0"
  ${open_mpi} -n 5 ${on_the_node} $<TARGET_FILE:rank_program>)
cuenv_launcher_test("Open MPI, a part of the GPUs" "0:3 1:1" ""
  ${open_mpi} -n 2 -x CUDA_VISIBLE_DEVICES=3,1 ${on_the_node} $<TARGET_FILE:rank_program>)

cuenv_launcher_test("MPICH, a GPU for each rank" ${in_order} "by the word of Hydra"
  ${hydra} -n 4 $<TARGET_FILE:rank_program>)
cuenv_launcher_test("MPICH, ranks that are bound" ${reversed} "${kept}"
  ${hydra} -n 4 ${bind_reversed} $<TARGET_FILE:rank_program>)

cuenv_launcher_test("torchrun, a GPU for each rank" ${in_order} "by the word of torchrun"
  ${torchrun} --nproc_per_node=4 $<TARGET_FILE:rank_program>)
cuenv_launcher_test("torchrun, ranks that are bound" ${reversed} "${kept}"
  ${torchrun} --nproc_per_node=4 ${bind_reversed} $<TARGET_FILE:rank_program>)

cuenv_launcher_test("Slurm, a GPU for each rank" ${in_order} "by the word of Slurm"
  ${slurm} srun -n 4 $<TARGET_FILE:rank_program>)
cuenv_launcher_test("Slurm, the job's GPUs" "0:0 1:1" "of 2 visible"
  ${slurm} srun -n 2 --gpus=2 $<TARGET_FILE:rank_program>)
cuenv_launcher_test("Slurm, ranks that it has bound" different:4 "${kept}"
  ${slurm} srun -n 4 --gpus-per-task=1 $<TARGET_FILE:rank_program>)
cuenv_launcher_test("Slurm, ranks that it has bound in another order" ${reversed} "${kept}"
  ${slurm} srun -n 4 --gpus=4 --gpu-bind=map_gpu:3,2,1,0 $<TARGET_FILE:rank_program>)
cuenv_launcher_test("Open MPI in a step of Slurm" "0:0 1:1" "Slurm says that this is local rank 0 of 1"
  ${slurm} srun -n 1 --gpus=2 ${open_mpi} -n 2 ${on_the_node} $<TARGET_FILE:rank_program>)

# The tool in front of a program that knows nothing of ranks gives each its GPU as well.
if(TARGET cuenv_tool)
  set(through_the_tool $<TARGET_FILE:cuenv_tool> run --per-rank -- $<TARGET_FILE:rank_program>)
  cuenv_launcher_test("Open MPI, through the tool" ${in_order} "" ${open_mpi} -n 4 ${on_the_node} ${through_the_tool})
  cuenv_launcher_test("MPICH, through the tool" ${in_order} "" ${hydra} -n 4 ${through_the_tool})
  cuenv_launcher_test("torchrun, through the tool" ${in_order} "" ${torchrun} --nproc_per_node=4 ${through_the_tool})
  cuenv_launcher_test("Slurm, through the tool" ${in_order} "" ${slurm} srun -n 4 ${through_the_tool})
endif()

cuenv_launcher_gpu_test(mpirun ${open_mpi} -n 2 $<TARGET_FILE:rank_program>)
cuenv_launcher_gpu_test(mpich ${hydra} -n 2 $<TARGET_FILE:rank_program>)
cuenv_launcher_gpu_test(torchrun ${torchrun} --nproc_per_node=2 $<TARGET_FILE:rank_program>)
