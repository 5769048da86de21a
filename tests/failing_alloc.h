/* SPDX-License-Identifier: MIT */
/* failing_alloc.h - an allocator that fails after a number of calls, and counts what lives. */
#ifndef FAILING_ALLOC_H
#define FAILING_ALLOC_H

#include <stdlib.h>

struct failing {
    size_t left; /* allocations that still succeed */
    size_t live;
};

static inline void *failing_alloc(void *user, size_t bytes)
{
    struct failing *f = user;
    if (f->left == 0)
        return NULL;
    f->left--;
    f->live++;
    return malloc(bytes);
}

static inline void failing_free(void *user, void *p)
{
    ((struct failing *)user)->live--;
    free(p);
}

#endif
