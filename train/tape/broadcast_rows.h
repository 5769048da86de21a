/* SPDX-License-Identifier: MIT */
/* broadcast_rows.h - an output and what was broadcast to it, row by row, whatever layouts they
 * have. Axes are taken in the order in which the output lies in memory; neighbouring ones that all
 * operands step through alike are one. */
#ifndef BROADCAST_ROWS_H
#define BROADCAST_ROWS_H

#include "tape.h"

enum { WALK_OPERANDS = 3 };

struct broadcast_walk {
    uint32_t rank, n_operands;
    size_t dim[PITH_MAX_RANK];
    size_t step[WALK_OPERANDS][PITH_MAX_RANK]; /* elements; 0: repeated */
};

/* Row of n elements of the output from element `out` on; operand k is at[k] + i * step[k]. */
typedef void pith_walk_row(void *arg, size_t out, const size_t *at, const size_t *step, size_t n);

void pith_broadcast_walk(struct broadcast_walk *w, const struct tape_tensor *out,
                         const struct tape_tensor *const *operand, uint32_t n_operands);
void pith_broadcast_rows(const struct broadcast_walk *w, pith_walk_row *row, void *arg);

#endif
