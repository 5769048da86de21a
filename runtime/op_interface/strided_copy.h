/* SPDX-License-Identifier: MIT */
/* strided_copy.h - moves a box of elements between two layouts: the engine of Transpose and Slice.
 * Only element sizes matter, not types. */
#ifndef STRIDED_COPY_H
#define STRIDED_COPY_H

#include "op_interface/op_exec.h"
#include "op_interface/turn.h"

/* Element (i0, i1, ...) of the box lies at src + sum(i * src_step), and goes to the dense row-major
 * dst. Steps count elements and may be negative or 0. */
struct strided_copy {
    uint32_t rank;
    size_t dim[PITH_MAX_RANK];
    ptrdiff_t step[PITH_MAX_RANK];
};

/* src points at the element (0, 0, ...) of the box. src and dst do not overlap and are aligned to
 * elem_bytes (1, 2, 4 or 8). */
void pith_strided_copy(const struct strided_copy *box, const struct op_env *env,
                       uint32_t elem_bytes, const void *src, void *dst);

#endif
