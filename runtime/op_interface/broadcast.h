/* SPDX-License-Identifier: MIT */
/* broadcast.h - numpy's broadcasting of two tensors, reduced to rows.
 *
 * Shapes are aligned at their last axis; an axis of 1 (or a missing one) is repeated. Axes along
 * which both operands advance alike are merged, so what remains is small: equal shapes become one
 * row, tensor (x) scalar one row with a fixed operand, [N,C,H,W] (x) [C,1,1] becomes N*C rows of
 * H*W with a fixed operand. Along a row each operand's step is 0 or 1 element. */
#ifndef PITH_BROADCAST_H
#define PITH_BROADCAST_H

#include "op_interface/op_exec.h"

struct broadcast {
    uint32_t rank; /* 1..8, axis rank-1 is the row */
    size_t dim[PITH_MAX_RANK];
    size_t step[2][PITH_MAX_RANK]; /* elements of operand 0 and 1 per step of the axis */
};

/* y[i] = f(a[i * a_step], b[i * b_step]) for i < n; steps are 0 or 1, not both 0 unless n == 1.
 * y may be the operand whose step is 1. */
typedef void pith_broadcast_row(const void *a, size_t a_step, const void *b, size_t b_step, void *y,
                                size_t n);

/* PITH_ERR_CORRUPT when the shapes do not fit or the result is too large. */
enum pith_status pith_broadcast_shape(const struct shape *a, const struct shape *b,
                                      struct shape *out);

/* Shapes are valid and fit. */
struct broadcast pith_broadcast_plan(const struct shape *a, const struct shape *b);

/* Elements of operand `which` before row number `row` (rows in output order). */
size_t pith_broadcast_offset(const struct broadcast *bc, uint32_t which, size_t row);

struct broadcast_data {
    const void *a, *b;
    void *y;
    uint32_t bytes[3]; /* of an element of a, b and y */
};

/* Calls row() for all rows (long rows in pieces), through env's threads where it pays. */
void pith_broadcast_run(const struct broadcast *bc, const struct op_env *env,
                        pith_broadcast_row *row, const struct broadcast_data *data);

#endif
