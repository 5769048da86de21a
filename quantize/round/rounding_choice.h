/* SPDX-License-Identifier: MIT */
/* rounding_choice.h - error feedback or nearest rounding, by samples that neither was fitted to. */
#ifndef ROUNDING_CHOICE_H
#define ROUNDING_CHOICE_H

#include "integer_walk.h"

/* What rounding and bias correction set in a layer. */
struct rounded_weights {
    int16_t *q;                 /* owns: [rows, cols] */
    double *scale, *bias_shift; /* owns: [rows] */
    double goal_share;
    uint32_t n_corrected;
};

/* False: no memory. Free in any case. */
bool pith_rounded_take(const struct integer_layer *l, struct rounded_weights *w);
/* l has them again, and is stored. */
void pith_rounded_put(const struct rounded_weights *w, struct integer_layer *l);
void pith_rounded_free(struct rounded_weights *w);

/* Squared error of l's sums over the held-out samples of `in`, at up to 512 positions together,
 * against in->goal, or where that is not known against those of the float weights. False: no
 * memory. */
bool pith_held_out_error(const struct layer_inputs *in, const struct integer_layer *l,
                         double *error);

#endif
