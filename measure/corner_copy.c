/* SPDX-License-Identifier: MIT */
/* corner_copy.c - row by row, since only rows are dense in both arrays. */
#include "corner_copy.h"

#include <string.h>

/* Where row number `row` of the box begins in an array of dim whole[rank]. */
static size_t row_start(uint32_t rank, const uint32_t *dim, const uint32_t *whole, uint64_t row)
{
    uint64_t at = 0, step = rank ? whole[rank - 1] : 1;
    for (uint32_t i = rank; i-- > 1; step *= whole[i - 1]) {
        at += row % dim[i - 1] * step;
        row /= dim[i - 1];
    }
    return (size_t)at;
}

void pith_copy_corner(const struct corner *c, const uint32_t *from_dim, const void *from,
                      const uint32_t *to_dim, void *to)
{
    const uint32_t rank = c->rank, *dim = c->dim;
    const size_t row_bytes = (size_t)(rank ? dim[rank - 1] : 1) * c->each;
    uint64_t rows = 1;
    for (uint32_t i = 1; i < rank; i++)
        rows *= dim[i - 1];
    for (uint64_t r = 0; r < rows && row_bytes; r++)
        memcpy((uint8_t *)to + row_start(rank, dim, to_dim, r) * c->each,
               (const uint8_t *)from + row_start(rank, dim, from_dim, r) * c->each, row_bytes);
}
