/* SPDX-License-Identifier: MIT */
/* pith_quantize.h - few values instead of many: codebooks for a model's weights (pith_cluster), or
 * integers for its weights and activations (pith_quantize, below).
 *
 *     struct pith_cluster_opts o = {.size_bytes = sizeof o, .n_centroids = 32};
 *     struct pith_cluster_size per_layer[] = {{"conv*", 256}, {"fc_out", 0}};
 *     o.layers = per_layer, o.n_layers = 2;
 *     struct pith_cluster_layer *report = calloc(model->n_nodes, sizeof *report);
 *     uint32_t n;
 *     pith_cluster(model, &o, report, &n, &err);
 *
 * One-dimensional k-means: each group of elements gets a codebook of up to n_centroids values, each
 * element the index of the nearest (of two equally near ones the lower). Centroids are strictly
 * ascending in each group.
 *
 * Zero stays exact. With a mask, only kept values are clustered and pruned ones stay 0. Without
 * one, a group that holds exact zeros gets one centroid that is exactly 0 and never moves (with
 * fewer than 3 centroids only where at least 1/n_centroids of the group are zeros).
 *
 * A group with fewer distinct values than centroids uses just those, without error. Where groups of
 * one tensor differ in the number they use, the shorter codebooks are filled up at the end with the
 * next representable values, which no index names. Biases are never touched. The result depends on
 * options and values alone, not on CPU or threads. */
#ifndef PITH_QUANTIZE_H
#define PITH_QUANTIZE_H

#include "pith_data.h"
#include "pith_model.h"
#include "pith_value_stats.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum pith_cluster_init {
    PITH_CLUSTER_LINEAR = 0, /* evenly between the extremes (Deep Compression) */
    PITH_CLUSTER_EXACT = 1   /* the least squared error there is (dynamic programming), up to double
                                rounding; with more than 65,536 distinct values in a group, optimal
                                among boundaries on a grid of as many runs of neighbouring values,
                                then improved by Lloyd's iteration over all values */
};

enum pith_cluster_per {
    PITH_CLUSTER_PER_TENSOR = 0,
    PITH_CLUSTER_PER_CHANNEL = 1, /* one codebook per row (output channel) */
    PITH_CLUSTER_PER_GROUP = 2    /* one per group_elems consecutive elements, which must divide the
                                     weight's count */
};

enum pith_cluster_values {
    PITH_CLUSTER_F32 = 0,
    PITH_CLUSTER_F16 = 1 /* centroids are rounded to f16 values; weights up to 32,768 only */
};

struct pith_cluster_size {
    const char *pattern;  /* as pith_weight_matches; must match some layer */
    uint32_t n_centroids; /* 2..256 (bits b: 1 << b); 0 leaves the layer alone */
};

struct pith_cluster_opts {
    uint32_t size_bytes;
    uint32_t n_centroids; /* 2..256; 0: 16 */
    enum pith_cluster_init init;
    enum pith_cluster_per per;
    uint64_t group_elems; /* PER_GROUP: >= 1 */
    enum pith_cluster_values values;
    /* By layer; of several that match, the last counts. */
    const struct pith_cluster_size *layers;
    uint32_t n_layers;
    const struct pith_opts *runtime; /* parallel_for (pith_threads_start); NULL: one thread */
};

struct pith_cluster_layer {
    const char *layer, *tensor; /* borrowed from the model */
    uint32_t value;             /* number of the constant */
    uint64_t n_weights;         /* clustered: all, or those the mask keeps */
    uint64_t n_groups;
    uint32_t n_centroids; /* most used by any group; 0: layer left alone */
    double mse;           /* mean squared change of the clustered weights */
    double snr_db;        /* 10 log10(sum w^2 / sum change^2); HUGE_VAL when nothing changed */
};

/* Clusters m's weights. layers (NULL or room for m->n_nodes entries) and *n_layers (may be NULL)
 * receive one entry per weight. On failure the model is as before.
 * PITH_ERR_ARGUMENT (options, group does not divide a layer, no layer matches a pattern),
 * PITH_ERR_UNSUPPORTED (a weight is NaN, infinite or beyond 2^126, or 32,768 with f16),
 * PITH_ERR_MEMORY. Working memory: 16 bytes a weight of the largest layer, and up to 200 MB with
 * PITH_CLUSTER_EXACT. */
enum pith_status pith_cluster(struct pith_model *m, const struct pith_cluster_opts *opts,
                              struct pith_cluster_layer *layers, uint32_t *n_layers,
                              struct pith_error *err);

/* ---- integers
 * ------------------------------------------------------------------------------------
 *
 *     ... pith_calibrate(model, ...) has set every activation's range ...
 *     struct pith_quantize_opts q = {.size_bytes = sizeof q};
 *     struct pith_quantize_layer *report = calloc(model->n_nodes, sizeof *report);
 *     pith_quantize(model, &q, report, &n, &err);
 *     for (i = 0; i < n; i++) if (report[i].why) ... this layer stayed float, and why ...
 *
 * Rewrites a float network as one whose layers compute with integers. It is an ordinary graph
 * afterwards, of operators that state the arithmetic to the bit:
 *
 *     Conv             x (u8) -> ConvInteger with i8 weights and i32 bias -> Requantize -> y (u8)
 *     Gemm, MatMul     x (u8) -> MatMulInteger with i8 weights -> Add of the i32 bias -> Requantize
 *     Relu, Clip       behind a layer: nothing, where the grid of the output ends where they cut
 *     Reshape, ...     what only moves elements moves integers
 *     Add, pools, ...  DequantizeLinear -> the operator -> QuantizeLinear
 *     Gather           of a table of 1,024 numbers and more: integers, and a scale for each row; or
 *                      indices into a codebook. Rows become floats behind it (table_grid.h)
 *
 * QuantizeLinear stands where integers begin, DequantizeLinear where they end: what follows the
 * last layer with weights is float, computed from its 32-bit sums. In loops and branches layers
 * alone are integers; LSTM, GRU and RNN become such loops. What cannot be integers stays float; the
 * report says why.
 *
 * A value's grid is values[v].grid (pith_calibrate), or where there is none the 256 steps between
 * its observed extremes and 0. The input of a depthwise convolution gets one scale a channel where
 * the channels' extremes were observed and none is negative: its channels never mix, so that costs
 * nothing when it runs.
 *
 * Data - some 64 samples, without labels - make it better: with them the change that rounding makes
 * in sums and means is measured and compensated, layer by layer. */

enum pith_rounding {
    PITH_ROUND_DEFAULT =
        0, /* where there is data GPTQ, or ADAPTIVE where weight_bits or
              activation_bits, not of fixed point, are fewer than 8; else NEAREST */
    PITH_ROUND_NEAREST = 1,
    PITH_ROUND_GPTQ = 2,    /* what a weight's rounding changes in the layer's sums over the
                                  samples is made up for by the weights not yet rounded (OBQ, GPTQ) */
    PITH_ROUND_ADAPTIVE = 3 /* the same towards the sums that the float network has, so that layers
                               make  up for what those before them have lost */
};

#define PITH_WIDER_PART 16u

struct rounded_layers;

struct pith_quantize_opts {
    uint32_t size_bytes;
    uint32_t weight_bits;     /* 2..8, stored as i8, or with activations of 16 bits up to 16; 0:
                                 fixed_bits,     or 8 */
    uint32_t activation_bits; /* 2..8 or 16; 0: fixed_bits, or 8. Below 8 a Clip cuts bytes */
    uint32_t
        fixed_bits;   /* fixed point: scales are powers of two, zero points 0, so that sums become
                         integers again by shifting; 2..8 or 16; 0: scales are any numbers */
    bool per_channel; /* in fixed point a scale a channel, as without; else one a tensor */
    bool per_tensor;  /* one weight scale a layer instead of one an output channel */
    bool per_tensor_activations; /* one scale also at depthwise inputs */
    bool as_trained; /* every value with the grid it has, of 2 to 8 bits; weights that lie on k *
                        step (by their codebook) with that step. Without data */
    enum pith_rounding rounding; /* GPTQ and ADAPTIVE need data */
    /* Layer by layer, what rounding the weights changes in the mean of an output channel goes into
     * its bias, where it is more than chance: done where there is data. */
    bool bias_correct; /* insists: no data is an error */
    bool keep_biases;  /* not done */
    bool same_bits;    /* every layer has weight_bits. Else, where these are fewer than 8, layers of
                        few weights    have more, up to 8: together at most 1 / PITH_WIDER_PART of all
                        weights' bits. Not    in fixed point, nor as_trained */
    const char *const
        *keep; /* layers that stay float, as pith_weight_matches; each must match one */
    uint32_t n_keep;
    struct pith_data *data;          /* borrowed: samples of the model's only input; NULL: none */
    struct recorded_feed *feed;      /* borrowed, instead of data: calls of a model of any inputs
                                        (recorded_feed.h), open for m or one of the same inputs */
    uint64_t n_samples;              /* of data the first so many, 0 or more than there are: all */
    const struct pith_opts *runtime; /* cpu_mask, max_bytes, parallel_for; NULL: defaults */
    /* Called now and then; false ends the work (PITH_ERR_ARGUMENT). NULL: not wanted. */
    bool (*progress)(void *user, uint64_t done, uint64_t total);
    void *user;
    bool same_numbers; /* values keep their numbers: those that no node reads any more stay, too */
    /* Borrowed: rounded weights and corrected biases of earlier runs over the same float network.
     * Those of all layers are taken over where the float network's results are no goals; others
     * are added. NULL: none. */
    struct rounded_layers *rounded;
};

static inline bool pith_quantize_has_data(const struct pith_quantize_opts *o)
{
    return o->data || o->feed;
}

static inline uint32_t pith_activation_bits(const struct pith_quantize_opts *o)
{
    return o->activation_bits ? o->activation_bits : o->fixed_bits ? o->fixed_bits : 8;
}

static inline uint32_t pith_weight_bits(const struct pith_quantize_opts *o)
{
    return o->weight_bits ? o->weight_bits : o->fixed_bits ? o->fixed_bits : 8;
}

/* Zero point 0 and scales that are powers of two. */
bool pith_grid_is_radix(const struct pith_grid *g);

/* No node becomes more layers than this: two products of an RNN, in 8 parts each. */
#define PITH_QUANTIZE_PARTS 16u

struct pith_quantize_layer {
    const char *layer, *tensor; /* borrowed from the model */
    const char *why;            /* why it stayed float; NULL: it computes with integers */
    uint64_t n_weights;
    uint32_t weight_bits; /* of each; 0: it stayed float */
    double snr_db;        /* of the weights; HUGE_VAL when they did not change */
    uint32_t n_corrected; /* channels whose bias was corrected */
    uint32_t sum_bits; /* that its sums have: 32, or 64 where 32 might overflow; 0: it stayed float,
                          or a table */
    double most_sum;   /* |sum| <= most_sum < 2^(sum_bits - 1), whatever the input */
    bool table; /* no layer: a Gather looks up rows of the tensor, which are floats behind it */
};

/* Rewrites m; batch normalisation is folded first. layers (NULL or room for PITH_QUANTIZE_PARTS *
 * m->n_nodes entries: of layers in loops, and of RNNs, some become several) and
 * *n_layers (may be NULL) receive one entry for each node with weights or a table. On failure the
 * model computes what it did before (batch normalisation may be folded). PITH_ERR_ARGUMENT
 * (options, nothing calibrated, nothing to keep by a name), PITH_ERR_UNSUPPORTED (a weight is NaN
 * or infinite; grids that layers cannot read; nothing can be an integer), PITH_ERR_MEMORY, and what
 * reading data returns. */
enum pith_status pith_quantize(struct pith_model *m, const struct pith_quantize_opts *opts,
                               struct pith_quantize_layer *layers, uint32_t *n_layers,
                               struct pith_error *err);

/* ---- where integers would be --------------------------------------------------------------------
 *
 * For training with them in the loop (pith_train.h): what pith_quantize would put on grids. */

struct pith_quantize_place {
    uint32_t value, like; /* they share a grid; `like` is one of the places itself */
    bool rounded;         /* its elements come from values on that grid: nothing is left to round */
    bool from_layer;      /* something with weights is in front of it */
    bool one_sided;       /* the zero point is the lowest integer */
    bool at_edge; /* it, or one it shares with, is read by the first or last layer; a weight: is
                     theirs */
};

struct pith_quantize_places {
    struct pith_quantize_place *values,
        *weights; /* owns, malloc'ed; of weights: value and at_edge */
    uint32_t n_values, n_weights;
};

/* m is calibrated. It computes the same afterwards, with what can be folded into its layers folded,
 * and has at every place the grid that pith_quantize would take, which covers those of all that
 * share it. With opts->per_tensor_activations values whose grid has several scales are not listed.
 * PITH_ERR_ARGUMENT, _UNSUPPORTED, _MEMORY as pith_quantize. */
enum pith_status pith_quantize_find_places(struct pith_model *m,
                                           const struct pith_quantize_opts *opts,
                                           struct pith_quantize_places *places,
                                           struct pith_error *err);
void pith_quantize_places_free(struct pith_quantize_places *places);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
