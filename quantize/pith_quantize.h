/* SPDX-License-Identifier: MIT */
/* pith_quantize.h - few values instead of many: attaches codebooks to a model's weights.
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
 * Zero stays exact. With a mask, only kept values are clustered and pruned ones stay 0. Without one,
 * a group that holds exact zeros gets one centroid that is exactly 0 and never moves (with fewer than
 * 3 centroids only where at least 1/n_centroids of the group are zeros).
 *
 * A group with fewer distinct values than centroids uses just those, without error. Where groups of
 * one tensor differ in the number they use, the shorter codebooks are filled up at the end with the
 * next representable values, which no index names. Biases are never touched. The result depends on
 * options and values alone, not on CPU or threads. */
#ifndef PITH_QUANTIZE_H
#define PITH_QUANTIZE_H

#include "pith_model.h"

#ifdef __cplusplus
extern "C" {
#endif

enum pith_cluster_init {
    PITH_CLUSTER_LINEAR = 0,  /* evenly between the extremes (Deep Compression) */
    PITH_CLUSTER_DENSITY = 1, /* quantiles */
    PITH_CLUSTER_RANDOM = 2,  /* seeded choice of values */
    PITH_CLUSTER_EXACT = 3    /* the least squared error there is (dynamic programming), up to double
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
    uint32_t iterations; /* most of Lloyd's; 0: 300. It stops by itself when nothing moves. */
    uint64_t seed;       /* RANDOM */
    /* By layer; of several that match, the last counts. */
    const struct pith_cluster_size *layers;
    uint32_t n_layers;
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

#ifdef __cplusplus
}
#endif
#endif
