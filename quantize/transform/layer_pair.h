/* SPDX-License-Identifier: MIT */
/* layer_pair.h - two layers of which the second reads, channel by channel, what the first gives. */
#ifndef LAYER_PAIR_H
#define LAYER_PAIR_H

#include "pith_model.h"

/* A Conv or a Gemm with rows of weights that nothing else reads. Row o is output channel o; input
 * channel i is column i: of the rows of the group that reads it, `taps` weights each. */
struct layer_weight {
    float *w; /* [rows, per_group * taps] */
    uint64_t rows, cols;
    uint64_t taps, per_group, rows_of_group;
    float *bias; /* [rows], not shared; NULL: none */
};

struct layer_pair {
    struct layer_weight first, second;
    uint64_t channels; /* rows of the first, columns of the second */
};

/* Does node give each of so many channels a result of its own, with op(s x) = s op(x) for s > 0?
 * Relu, LeakyRelu, pools, and what flattens channels of one number each. */
bool pith_keeps_factors(const struct pith_model *m, const struct pith_node *node,
                        uint64_t channels);

typedef bool passes_channels(const struct pith_model *m, const struct pith_node *node,
                             uint64_t channels);

/* Layers between which stand only nodes that `passes` takes, whose values nothing else reads. The
 * caller owns *pairs (free), in the order of their first layers. PITH_ERR_MEMORY. */
enum pith_status pith_find_layer_pairs(const struct pith_model *m, passes_channels *passes,
                                       struct layer_pair **pairs, uint32_t *n,
                                       struct pith_error *err);

/* [rows_of_group] weights of column i lie `cols` apart, from here on: taps weights each. */
static inline float *pith_column(const struct layer_weight *l, uint64_t i)
{
    uint64_t group = i / l->per_group;
    return l->w + group * l->rows_of_group * l->cols + i % l->per_group * l->taps;
}

#endif
