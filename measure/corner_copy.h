/* SPDX-License-Identifier: MIT */
/* corner_copy.h - samples of several sizes within arrays of the largest size. */
#ifndef PITH_CORNER_COPY_H
#define PITH_CORNER_COPY_H

#include "pith_types.h"

/* Elements of `each` bytes; rank 0: one. */
struct corner {
    uint32_t rank;
    const uint32_t *dim; /* [rank] */
    uint32_t each;
};

/* Copies c between the first corners of two dense arrays: from [from_dim[rank]], to [to_dim[rank]];
 * both are at least as large. */
void pith_copy_corner(const struct corner *c, const uint32_t *from_dim, const void *from,
                      const uint32_t *to_dim, void *to);

#endif
