/* SPDX-License-Identifier: MIT */
/* row_feedback.h - a row of weights onto its grid, with error feedback (pith_error_feedback.h).
 *
 * W: the row as it was, x: its inputs then, x': its inputs now, H = sum x' x'^T + damping. The row
 * without a grid is the goal W with H W = (sum x' x^T + damping) W_was. It is rounded along
 * ROW_PATHS paths: 0.7 dB less than a single path, at the same bits. */
#ifndef ROW_FEEDBACK_H
#define ROW_FEEDBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "grid.h"

#define ROW_PATHS 16u

struct row_feedback {
    uint32_t n;
    double *natural, *ordered; /* [n, n] U^T U = H, of elements as they are and by place */
    double *crossed, *goal;    /* as natural, NULL without goals */
    double *solution;          /* [n] room: of a system, or the goal by place */
    size_t *order;             /* [2 n] the element at each place; the last is rounded first */
    double *error;             /* [n, ROW_PATHS] room */
    int16_t *level;            /* [n] by place */
    uint8_t *kept;             /* [n] by place */
};

/* goals: without them nothing can be rounded. False: no memory. */
bool pith_row_feedback_open(struct row_feedback *s, uint32_t n, bool goals);
void pith_row_feedback_free(struct row_feedback *s); /* accepts zeros */
/* both [n, n], symmetric: sum x' x'^T; crossed: sum x' x^T; NULL without goals. False: nothing came
 * in. */
bool pith_row_feedback_factor(struct row_feedback *s, const double *both, const double *crossed);
/* The row without a grid, into s->goal. */
void pith_row_feedback_aim(struct row_feedback *s, const float *was);
/* The row at s->goal, of levels of grid times factor: level * step of each into v [s->n]. Elements
 * that are not alive (NULL: all are) are 0. */
void pith_row_feedback_round(struct row_feedback *s, const struct grid *grid, double factor,
                             const uint8_t *alive, float *v);
/* Noise of variance 1 in each rounding moves the row by e, and what has the gradient g [n] by g e:
 * the variance of that. */
double pith_row_feedback_noise(struct row_feedback *s, const float *g);

#endif
