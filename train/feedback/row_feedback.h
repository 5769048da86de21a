/* SPDX-License-Identifier: MIT */
/* row_feedback.h - a row of weights onto its grid, element after element, each rounding made up for
 * by those not yet rounded (OBQ, Hassibi and Stork, 1993; GPTQ, Frantar et al., 2023).
 *
 * W: the row as it was, x: its inputs then, x': its inputs now, H = sum x' x'^T + damping = R R^T,
 * R upper triangular. The row without a grid is W with H W = (sum x' x^T + damping) W_was. With
 * errors e_i = W_i - V_i, (V - W) costs |R^T e|^2, and the first j elements add (e_j R_jj +
 * sum_{i<j} e_i R_ij)^2 when all later ones are at their best, so
 *
 *     V_j = a level next to W_j + sum_{i<j} e_i R_ij / R_jj (row_paths.h).
 *
 * Elements whose inputs are strongest go first. */
#ifndef ROW_FEEDBACK_H
#define ROW_FEEDBACK_H

#include <stdbool.h>
#include <stdint.h>

struct row_feedback {
    uint32_t n;
    double *natural, *ordered; /* [n, n] R, of elements as they are and in the order */
    double *crossed, *goal;    /* as natural, NULL without goals */
    double *error;             /* [n] room for a solution */
    uint32_t *order;
};

/* goals: without them there is no aim. False: no memory. */
bool pith_row_feedback_open(struct row_feedback *s, uint32_t n, bool goals);
void pith_row_feedback_free(struct row_feedback *s); /* accepts zeros */
/* both [n, n]: sum x' x'^T; crossed: sum x' x^T; NULL without goals. False: nothing came
 * in. */
bool pith_row_feedback_factor(struct row_feedback *s, const float *both, const float *crossed);
/* The row without a grid, into s->goal. */
void pith_row_feedback_aim(struct row_feedback *s, const float *was);
/* Noise of variance 1 in each rounding moves the row by e, and what has the gradient g [n] by g e:
 * the variance of that. */
double pith_row_feedback_noise(struct row_feedback *s, const float *g);

#endif
