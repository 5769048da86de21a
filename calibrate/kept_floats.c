/* SPDX-License-Identifier: MIT */
/* kept_floats.c - twice as much whenever it is too little. */
#include "kept_floats.h"

#include <stdlib.h>
#include <string.h>

bool pith_floats_grow(struct kept_floats *k, size_t more)
{
    if (k->n + more <= k->room)
        return true;
    size_t room = 2 * (k->n + more);
    float *x = realloc(k->x, room * sizeof *x);
    if (!x)
        return false;
    k->x = x;
    k->room = room;
    return true;
}

bool pith_floats_keep(struct kept_floats *k, const float *x, size_t n)
{
    if (!pith_floats_grow(k, n))
        return false;
    memcpy(k->x + k->n, x, n * sizeof *x);
    k->n += n;
    return true;
}
