/* SPDX-License-Identifier: MIT */
/* layer_inputs.h - what the rows of a weight are multiplied with: sums over samples of squares and
 * products, from tapes after the forward of what makes these inputs.
 *
 *     struct layer_inputs in = pith_layer_inputs_of(tape, parameter);
 *     if (in.n && pith_layer_inputs_open(&in, false)) {
 *         for each batch, step with the weight, slice:
 *             pith_layer_inputs_add(&in, step, slice, per_slice, tape, NULL);
 *         pith_layer_inputs_end(&in);
 *     }
 *     pith_layer_inputs_free(&in);
 */
#ifndef LAYER_INPUTS_H
#define LAYER_INPUTS_H

#include "pith_gram.h"
#include "tape_state.h"

#define LAYER_INPUTS_MOST 2048u

/* Of the inputs x of a network's layer, as it is now, and maybe x', as it was before. */
struct layer_inputs {
    uint32_t n, groups; /* a row reads n numbers; those of each group of rows have their own */
    uint32_t bias;   /* value added to the rows' sums; PITH_VALUE_NONE: none, or others read it */
    double *both;    /* [groups][n, n] sum of x x^T, once ended */
    double *crossed; /* [groups][n, n] sum of x x'^T; NULL: not asked for */
    double *mean[2]; /* [groups][n] sum of x, x', */
    double *n_rows;  /* [groups] rows that were added */
    uint64_t room, filled;
    gram_tile *tile;
    uint64_t places; /* windows of a convolution */
    float *x[2];     /* [room, n] of x, x' */
    int64_t *place;  /* [places, n] at most */
};

/* n is 0 where the parameter stands in what is not a convolution or product, or in several of
 * different groups, or reads more than LAYER_INPUTS_MOST. */
struct layer_inputs pith_layer_inputs_of(const struct tape *t, const struct tape_parameter *p);
/* False: no memory. */
bool pith_layer_inputs_open(struct layer_inputs *in, bool crossed);
void pith_layer_inputs_free(struct layer_inputs *in); /* accepts zeros */
/* The per_slice samples of a slice, in a step that multiplies by the weight. before: a tape of the
 * same steps; NULL if not crossed. */
void pith_layer_inputs_add(struct layer_inputs *in, uint32_t step, uint32_t slice,
                           uint32_t per_slice, const struct tape *now, const struct tape *before);
void pith_layer_inputs_end(struct layer_inputs *in);

/* Behind the end: both and crossed lose this share, 0..1, of what the means make of them. */
void pith_layer_inputs_centre(struct layer_inputs *in, double share);

/* Whether the step multiplies by the value. */
bool pith_step_multiplies(const struct tape *t, const struct tape_step *step, uint32_t value);

#endif
