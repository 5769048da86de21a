/* SPDX-License-Identifier: MIT */
/* ranks_mpi.c - MPI's default for errors stays: they end all processes. */
#include "ranks_mpi.h"

#include <mpi.h>
#include <string.h>

/* At most RANKS_SCRATCH_BYTES (train/tape/ranks.h): an int holds it. */
static void exchange(void *user, uint32_t peer, const void *send, void *receive, size_t bytes)
{
    (void)user;
    MPI_Sendrecv(send, (int)bytes, MPI_BYTE, (int)peer, 0, receive, (int)bytes, MPI_BYTE, (int)peer,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Windows are few, one a run; they live until the end. */
enum { MOST_WINDOWS = 8 };
static struct {
    MPI_Comm machine; /* errors return: without shared memory all goes by exchange */
    MPI_Win window[MOST_WINDOWS];
    int n;
} shared;

static bool share(void *user, size_t bytes, void **all)
{
    (void)user;
    int unit, ranks, ok, all_ok;
    void *own = NULL;
    MPI_Aint length;
    if (shared.n == MOST_WINDOWS)
        return false;
    MPI_Win *window = &shared.window[shared.n];
    MPI_Comm_size(shared.machine, &ranks);
    ok = MPI_Win_allocate_shared((MPI_Aint)bytes, 1, MPI_INFO_NULL, shared.machine, &own, window) ==
         MPI_SUCCESS;
    MPI_Allreduce(&ok, &all_ok, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all_ok)
        return false;
    shared.n++;
    memset(own, 0, bytes);
    for (int r = 0; r < ranks; r++)
        MPI_Win_shared_query(*window, r, &length, &unit, &all[r]);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, *window);
    MPI_Barrier(MPI_COMM_WORLD);
    return true;
}

static void meet(void *user)
{
    (void)user;
    for (int i = 0; i < shared.n; i++)
        MPI_Win_sync(shared.window[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < shared.n; i++)
        MPI_Win_sync(shared.window[i]);
}

static void finish(void)
{
    for (int i = 0; i < shared.n; i++) {
        MPI_Win_unlock_all(shared.window[i]);
        MPI_Win_free(&shared.window[i]);
    }
    MPI_Finalize();
}

static void end_all(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
}

__attribute__((visibility("default"))) bool pith_mpi_start(struct pith_mpi *made)
{
    int rank, count, local, threads;
    if (made->size_bytes != sizeof *made ||
        MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &threads) != MPI_SUCCESS)
        return false;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared.machine);
    MPI_Comm_size(shared.machine, &local);
    MPI_Comm_set_errhandler(shared.machine, MPI_ERRORS_RETURN);
    made->local_count = (uint32_t)local;
    made->ranks = (struct pith_ranks){(uint32_t)rank, (uint32_t)count, exchange, NULL, NULL, NULL};
    if (local == count) {
        made->ranks.share = share;
        made->ranks.meet = meet;
    }
    made->finish = finish;
    made->end_all = end_all;
    return true;
}
