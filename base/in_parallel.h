/* SPDX-License-Identifier: MIT */
/* in_parallel.h - n independent pieces of work on the threads that the caller lends, or one
 * after the other. How work is cut into pieces never depends on the number of threads, so results
 * do not. */
#ifndef PITH_IN_PARALLEL_H
#define PITH_IN_PARALLEL_H

#include "pith_runtime.h"

/* runtime: its parallel_for; NULL, or without one: this thread alone. */
static inline void pith_in_parallel(const struct pith_opts *runtime, uint32_t n,
                                    void (*body)(void *arg, uint32_t i), void *arg)
{
    if (runtime && runtime->parallel_for && n > 1) {
        runtime->parallel_for(runtime->parallel_user, n, body, arg);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        body(arg, i);
}

/* Of a long array so many pieces, of a short one a single piece: piece i is [start(i), start(i +
 * 1)). */
enum { PITH_PIECES = 16 };
static inline uint32_t pith_pieces_of(uint64_t n)
{
    return n < (uint64_t)PITH_PIECES << 16 ? 1 : PITH_PIECES;
}
static inline uint64_t pith_piece_start(uint64_t n, uint32_t pieces, uint32_t i)
{
    uint64_t more = n % pieces;
    return n / pieces * i + (i < more ? i : more);
}

#endif
