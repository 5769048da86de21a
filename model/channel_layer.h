/* SPDX-License-Identifier: MIT */
/* channel_layer.h - layers of which a row of the weight makes an output channel, so that
 * y = (x - before) * factor + after behind each channel is the layer again, with other numbers: a
 * normalization that is folded, and constants that are multiplied and added. */
#ifndef PITH_CHANNEL_LAYER_H
#define PITH_CHANNEL_LAYER_H

#include "pith_model.h"

struct channel_layer {
    const struct pith_const *weight, *bias; /* bias: one number or one a row; NULL: none */
    uint64_t rows, cols;                    /* output channels, weights of one */
    double alpha, beta;                     /* of a Gemm, else 1 */
};

struct channel_affine {
    double before, factor, after;
};

/* Is node such a layer (Conv, Gemm, MatMul) with constant floats? A Gemm may transpose x: that is
 * not looked at. A bias that differs between rows of the result is none that fits. */
bool pith_channel_layer(const struct pith_model *m, const struct pith_node *node,
                        struct channel_layer *l);

/* Zero stays +0, also under a negative factor: a pruned weight is 0 by its bits. */
static inline float pith_channel_weight(double w, double factor)
{
    return w == 0 ? 0 : (float)(w * factor);
}

/* What is added to channel o instead of the bias. */
float pith_channel_bias(const struct channel_layer *l, uint64_t o, const struct channel_affine *a);

#endif
