#!/bin/sh
# Binds each rank to one GPU, as the wrappers of many sites do; in reverse order, so that a rank that is counted in
# addition shows.
rank=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-$LOCAL_RANK}}
CUDA_VISIBLE_DEVICES=$((3 - rank)) exec "$@"
