/* SPDX-License-Identifier: MIT */
/* kept_row.h - a row of which some weights are 0, as a shorter one of the others: the factor of
 * their part of H, and goals that make up for all that is gone. Rounding that knows from the
 * beginning what is gone makes up for it with all that stays, not only with what is rounded after
 * it. */
#ifndef KEPT_ROW_H
#define KEPT_ROW_H

#include "layer_factor.h"

struct kept_row {
    size_t n;      /* of those kept */
    size_t *place; /* [n] in the whole row */
    double *u;     /* [n, n] H of them, as its Cholesky factor */
    double *goal;  /* [n] */
    int16_t *q;    /* [n] room for the caller */
};

/* For rows of f. False: no memory. */
bool pith_kept_row_open(const struct layer_factor *f, struct kept_row *k);
void pith_kept_row_close(struct kept_row *k); /* accepts zeros */
/* goal, kept: [f->n] by place. False: there is no factor of what is kept. */
bool pith_kept_row_take(const struct layer_factor *f, uint32_t group, const double *goal,
                        const uint8_t *kept, struct kept_row *k);

#endif
