/* SPDX-License-Identifier: MIT */
/* ranks_mpi.c - MPI's default for errors stays: they end all processes. */
#include "ranks_mpi.h"

#include <mpi.h>

/* At most RANKS_SCRATCH_BYTES (train/ranks.h): an int holds it. */
static void exchange(void *user, uint32_t peer, const void *send, void *receive, size_t bytes)
{
    (void)user;
    MPI_Sendrecv(send, (int)bytes, MPI_BYTE, (int)peer, 0, receive, (int)bytes, MPI_BYTE, (int)peer,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void finish(void)
{
    MPI_Finalize();
}

static void end_all(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
}

__attribute__((visibility("default"))) bool pith_mpi_start(struct pith_mpi *made)
{
    int rank, count, local, threads;
    MPI_Comm machine;
    if (made->size_bytes != sizeof *made ||
        MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &threads) != MPI_SUCCESS)
        return false;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &local);
    MPI_Comm_free(&machine);
    made->local_count = (uint32_t)local;
    made->ranks = (struct pith_ranks){(uint32_t)rank, (uint32_t)count, exchange, NULL};
    made->finish = finish;
    made->end_all = end_all;
    return true;
}
