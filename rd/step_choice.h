/* SPDX-License-Identifier: MIT */
/* step_choice.h - how far the integers of each row lie apart, from the one lambda.
 *
 * A row rounded to steps of s costs the loss
 *
 *     D(s) = F / 2 * s^2 / 12 * n * noise,
 *
 * where F is the loss's sensitivity to squared errors of the row's results and noise what a
 * rounding by 1 leaves of them (layer_factor.h); its bits are n log2(1 / s) and something. D +
 * lambda * bits is least for
 *
 *     s^2 = 12 lambda / (ln 2 * F * noise),
 *
 * the rule of reverse water-filling (Cover and Thomas, 2006, section 10.3). Levels of a trellis lie
 * twice as far apart as its integers, and leave 1.1 dB less of the error than such steps do: its
 * integers' steps are 0.56 s. */
#ifndef STEP_CHOICE_H
#define STEP_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct step_choice {
    uint64_t rows;
    size_t n;           /* weights of a row */
    double lambda;      /* nats a bit */
    const double *loss; /* [rows] F * noise, > 0 */
    const double *most; /* [rows] largest |weight| */
    int32_t levels;     /* that a step must reach the largest weight with */
    const float *cut;   /* NULL, or [rows, n] the weights, of which few levels may cut off the
                           largest:   a step must be no finer than that of the least squared error */
    int by_row;         /* -1: where that pays */
    bool trellis;       /* integers are levels of one */
};

/* step: [rows] > 0. Of rows of their own: 1 to 1.75 times powers of two, which cost a file few
 * bits; else all the same. Returns whether rows have their own. */
bool pith_step_choose(const struct step_choice *c, double *step);

/* Whether few rows, of steps that were chosen so, are wider than the rule wants them, because their
 * largest weight would be out of reach. */
bool pith_step_reach(const struct step_choice *c, bool own, const double *step);

/* Sensitivities of rows estimated on so many samples, shrunk to their mean: row [n] -= part of what
 * it differs. all: the mean alone. */
void pith_step_shrink(double *row, uint64_t n, uint64_t samples, bool all);

#endif
