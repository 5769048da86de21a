/* SPDX-License-Identifier: MIT */
/* layer_inputs.h - what the rows of a weight are multiplied with: sums over samples of squares and
 * products, from tapes after their forward.
 *
 *     struct layer_inputs in = pith_layer_inputs_of(tape, parameter);
 *     if (in.n && pith_layer_inputs_open(&in, false, 0)) {
 *         for each batch: forward; pith_layer_inputs_add(&in, value, per_slice, tape, NULL);
 *         pith_layer_inputs_end(&in, tape);
 *     }
 *     pith_layer_inputs_free(&in);
 */
#ifndef LAYER_INPUTS_H
#define LAYER_INPUTS_H

#include "tape_state.h"

#define LAYER_INPUTS_MOST 2048u

/* Of the inputs x of a network's layer, as it is now, and maybe x', as it was before. */
struct layer_inputs {
    uint32_t n, groups; /* a row reads n numbers; those of each group of rows have their own */
    uint32_t bias;      /* value added to the rows' sums; PITH_VALUE_NONE: none, or others read it */
    float *both;        /* [groups][n, n] sum of x x^T */
    float *crossed;     /* [groups][n, n] sum of x x'^T; NULL: not asked for */
    double *mean[2];    /* [groups][n] sum of x, x', times their rows' weights */
    double *weights;    /* [groups] of the rows that were added, summed up */
    float loss_share;   /* of the rows' weights in these sums; the rest is 1 */
    double usual;       /* squared gradient of a row's results; 0: none has come yet */
    float *weight;      /* [room] of the rows; NULL where loss_share is 0 */
    uint64_t room, filled;
    float *x[2];    /* [room, n] of x, x' */
    int64_t *place; /* [room, n] at most */
};

/* n is 0 where the parameter stands in what is not a convolution or product, or in several of
 * different groups, or reads more than LAYER_INPUTS_MOST. */
struct layer_inputs pith_layer_inputs_of(const struct tape *t, const struct tape_parameter *p);
/* loss_share: above 0, both and crossed weigh each row by how much the loss minds an error of its
 * results, the sum of its squared gradients, as a share of what is usual. False: no memory. */
bool pith_layer_inputs_open(struct layer_inputs *in, bool crossed, float loss_share);
void pith_layer_inputs_free(struct layer_inputs *in); /* accepts zeros */
/* The samples of a batch, per_slice in each slice, in all steps that multiply by the value. before:
 * a tape of the same steps, behind its backward where the loss has a share; NULL if not crossed. */
void pith_layer_inputs_add(struct layer_inputs *in, uint32_t value, uint32_t per_slice,
                           const struct tape *now, const struct tape *before);
void pith_layer_inputs_end(struct layer_inputs *in, const struct tape *now);

/* Behind the end: both and crossed lose this share, 0..1, of what the means make of them. */
void pith_layer_inputs_centre(struct layer_inputs *in, double share);

/* Whether the step multiplies by the value. */
bool pith_step_multiplies(const struct tape *t, const struct tape_step *step, uint32_t value);

#endif
