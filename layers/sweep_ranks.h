/* SPDX-License-Identifier: MIT */
/* sweep_ranks.h - processes that sweep the same network together: all walk through all
 * samples, and share a layer's sums, goals and rows. What each has found goes to all, so every one
 * of them ends with the bytes that one alone would have made. */
#ifndef PITH_SWEEP_RANKS_H
#define PITH_SWEEP_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pith_sweep_ranks {
    uint32_t rank, count; /* 0 .. count - 1 */
    /* data [bytes], in items of `item` bytes, the last one perhaps shorter: item i is the work of
     * rank i % count, and in the end all have all. All call it in the same order, on the thread
     * that called the sweep. False: no memory. */
    bool (*gather)(void *user, void *data, size_t bytes, size_t item);
    void *user;
};

/* NULL is one process: all is its own. */
static inline bool rank_does(const struct pith_sweep_ranks *r, uint64_t item)
{
    return !r || item % r->count == r->rank;
}

static inline bool rank_gather(const struct pith_sweep_ranks *r, void *data, size_t bytes,
                               size_t item)
{
    return !r || r->gather(r->user, data, bytes, item);
}

#endif
