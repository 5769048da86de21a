/* SPDX-License-Identifier: MIT */
/* few_rows.h - a layer whose samples have few rows for the length of its weight's, such as a fully
 * connected one: the rows themselves are less than the n x n sums of their products
 * (layer_moments.h), and say the same. */
#ifndef FEW_ROWS_H
#define FEW_ROWS_H

#include "integer_rows.h"
#include "numeric/low_rank_factor.h"

#define PITH_COLUMNS_FOR_A_ROW 4u /* so many of a row: few */

struct few_rows {
    size_t n, r;                   /* columns, rows */
    float *x;                      /* [r, n] */
    size_t *order;                 /* [2 n] of columns by rising diagonal, and room */
    struct low_rank_factor factor; /* of x, damped, in that order */
    double *by_place, *room;       /* [n, r] of x; [r, r + 1] */
};

/* At most a quarter of n: a rounded weight then takes less work by rows than by products. */
bool pith_rows_are_few(const struct layer_inputs *in, const struct integer_layer *l);

/* Room for r rows, that the caller puts into x. PITH_ERR_MEMORY; end in any case. */
enum pith_status pith_few_rows(size_t n, size_t r, struct few_rows *f);
void pith_few_rows_end(struct few_rows *f);
/* x of a group, from all samples. */
void pith_few_rows_read(struct few_rows *f, struct row_reader *from, uint32_t group);
/* order and factor, from x; damping: of the mean of the diagonal. */
void pith_few_rows_factor(struct few_rows *f, double damping);

#endif
