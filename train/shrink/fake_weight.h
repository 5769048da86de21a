/* SPDX-License-Identifier: MIT */
/* fake_weight.h - weights of integers in the loop (fake_quant.h): what moves is a latent weight for
 * each weight, and behind them the v of each row's step. */
#ifndef FAKE_WEIGHT_H
#define FAKE_WEIGHT_H

#include "train/tape/fake_quant.h"
#include "pith_train.h"

struct fake_weight {
    uint64_t n_rows, cols; /* that share a step: those of the tensor, or one of all */
    float lowest, highest;
    bool radix;
    float first[]; /* [n_rows] step at first */
};

/* The requested integers of the constant `value`; NULL: nothing. */
const struct pith_train_weight *pith_fake_weight_request(const struct pith_train_opts *opts,
                                                         uint32_t value);
/* x [count]: the weights, `rows` of them beside each other; v [count + rows] gets the numbers that
 * move. alive: NULL, or what is 0 stays so. NULL: no memory. */
struct float_weight {
    const float *x; /* [count] */
    const unsigned char *alive;
    uint64_t rows, count;
};
struct fake_weight *pith_fake_weight_new(const struct pith_train_weight *request, bool radix,
                                         const struct float_weight *from, float *v);
/* The weights that numbers x, with their steps behind them, make. */
void pith_fake_weight_values(const struct fake_weight *w, const float *x,
                             const unsigned char *alive, float *to);
/* From the gradient by the weights y (0 where they are not alive), which x makes, that by x. */
void pith_fake_weight_gradient(const struct fake_weight *w, const float *x, const float *y,
                               const float *grad, float *by_x);
/* k of each weight, less the lowest, and the steps' k * step: of a codebook. */
void pith_fake_weight_store(const struct fake_weight *w, const float *x, struct pith_codebook *b);

#endif
