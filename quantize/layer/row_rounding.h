/* SPDX-License-Identifier: MIT */
/* row_rounding.h - one row of weights onto integers times a scale, with feedback
 * (feedback_round.c). */
#ifndef ROW_ROUNDING_H
#define ROW_ROUNDING_H

#include <stdint.h>

#include "pith_low_rank_factor.h"

struct row_rounding {
    size_t n;
    const double
        *u; /* [n, n] upper triangle: the error of e is |U e|^2; or NULL, and U is `factor` */
    const struct low_rank_factor *factor;
    const double *goal;  /* [n] */
    const uint8_t *kept; /* [n] 0: stays 0; NULL: none has to */
    int32_t lowest, most;
    double *e;    /* [n] room: goal - q * scale afterwards */
    double *seen; /* [factor->r] room, with a factor only */
};

/* Sets q and returns its error; or a larger number than `enough`, and nothing in q, as soon as the
 * error is not below that. */
double pith_round_row(const struct row_rounding *r, double scale, double enough, int16_t *q);

#endif
