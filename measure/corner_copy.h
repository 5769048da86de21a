/* SPDX-License-Identifier: MIT */
/* corner_copy.h - samples of several sizes within arrays of the largest size. */
#ifndef PITH_CORNER_COPY_H
#define PITH_CORNER_COPY_H

#include "pith_types.h"

/* Copies a box of dim[rank] elements of `each` bytes between the first corners of two dense arrays:
 * from [from_dim[rank]], to [to_dim[rank]]; both are at least as large as the box. rank 0: one. */
void pith_copy_corner(uint32_t rank, const uint32_t *dim, const uint32_t *from_dim,
                      const void *from, const uint32_t *to_dim, void *to, uint32_t each);

#endif
