/* SPDX-License-Identifier: MIT */
/* ranks_mpi.h - the interface of pith-mpi.so: one function, pith_mpi_start. */
#ifndef PITH_RANKS_MPI_H
#define PITH_RANKS_MPI_H

#include "pith_train.h"

struct pith_mpi {
    uint32_t size_bytes;       /* set by the caller: of the struct that it knows */
    uint32_t local_count;      /* of the ranks, those on this machine */
    struct pith_ranks ranks;   /* a peer that is gone ends the process, with a message by MPI */
    void (*finish)(void);      /* waits for the others to come to it */
    void (*end_all)(int code); /* of all ranks, at once; does not return */
};

/* Joins the ranks that mpirun started. False: size_bytes is of another version, MPI cannot start.
 */
typedef bool pith_mpi_start_function(struct pith_mpi *made);
pith_mpi_start_function pith_mpi_start;

#endif
