/* SPDX-License-Identifier: MIT */
/* plan_block.c - the memory that a plan is built in, taken from both ends (plan_build.h). */
#include "plan/plan_build.h"

/* 8 is the alignment of every struct here; arenas and graphs align to a cache line themselves. */
static bool take(const struct block *b, uint64_t count, size_t each, uint64_t *bytes)
{
    return mul_ok(count, each, bytes) && align_ok(*bytes, 8, bytes) && *bytes <= b->high - b->low;
}

/* Tables that live as long as the plan. */
void *pith_block_low(struct block *b, uint64_t count, size_t each)
{
    uint64_t bytes;
    if (!take(b, count, each, &bytes))
        return NULL;
    void *p = b->mem + b->low;
    b->low += bytes;
    block_moved(b);
    return memset(p, 0, (size_t)bytes);
}

/* Tables of planning, which the weights will be written over. */
void *pith_block_high(struct block *b, uint64_t count, size_t each)
{
    uint64_t bytes;
    if (!take(b, count, each, &bytes))
        return NULL;
    b->high -= bytes;
    block_moved(b);
    return memset(b->mem + b->high, 0, (size_t)bytes);
}
