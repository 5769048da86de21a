/* SPDX-License-Identifier: MIT */
/* pith_prune.h - remove weights by magnitude: attaches a support (mask) to a model's weights.
 *
 *     struct pith_prune_opts o = {.size_bytes = sizeof o, .sparsity = 0.9};
 *     struct pith_prune_amount per_layer[] = {{"conv1", 0.4}, {"fc*", 0.95}};
 *     o.layers = per_layer, o.n_layers = 2;
 *     pith_pattern_parse("2:4", &o.pattern, &err);   // or leave it zero: any
 *     pith_prune(model, &o, NULL, NULL, &err);
 *
 * A weight is a matrix [rows = O, cols = count / O], row-major; for convolutions the
 * columns run over C/group, KH, KW. Pruning takes away whole units: an element, a block, a row or a
 * column slab of an input channel. A unit's score is the root mean square of its elements (|w| for
 * one element). The units with the largest scores stay; of equal scores the lower unit number
 * stays.
 *
 * A depthwise convolution (one input channel to an output channel) is left alone unless an entry of
 * `layers` names it: its few weights are what a network can spare least. A layer that the pattern
 * does not divide is left alone, too.
 *
 * What is already pruned stays pruned and counts towards the target. Biases and everything else
 * that pith_model_weights does not list are never touched. Pruned elements become 0 in data and
 * lose their index where the weight has a codebook; the codebook itself stays. */
#ifndef PITH_PRUNE_H
#define PITH_PRUNE_H

#include "pith_model.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum pith_pattern_kind {
    PITH_PATTERN_ANY = 0,    /* single elements */
    PITH_PATTERN_N_OF_M = 1, /* a of every b consecutive columns stay; where b divides cols */
    PITH_PATTERN_BLOCK = 2, /* blocks of a rows x b columns; where a divides rows, b divides cols */
    PITH_PATTERN_BALANCED = 3, /* a of every b columns of a row stay; of a shorter last window the
                                  same share, rounded half up, at least 1 */
    PITH_PATTERN_ROW = 4,      /* output channels */
    PITH_PATTERN_CHANNEL = 5   /* input channels: KH*KW neighbouring columns of all rows */
};

#define PITH_PATTERN_MAX 4096u /* largest a and b */

struct pith_pattern {
    enum pith_pattern_kind kind;
    uint32_t a, b; /* 1..PITH_PATTERN_MAX where used; else 0 */
};

/* "any", "2:4", "1x4", "balanced:12/128", "row", "channel". PITH_ERR_ARGUMENT; *pattern is then
 * untouched. */
enum pith_status pith_pattern_parse(const char *text, struct pith_pattern *pattern,
                                    struct pith_error *err);
/* The text that parses to the same pattern. out: at least 40 bytes, always terminated. */
void pith_pattern_print(const struct pith_pattern *pattern, char *out, size_t out_bytes);
/* Of N:M and balanced patterns: how many of a window's n columns stay, 1..n. Windows begin at
 * column 0 of a row; the last may have fewer than b columns. */
uint64_t pith_pattern_kept(const struct pith_pattern *pattern, uint64_t n);

enum pith_prune_by {
    PITH_PRUNE_BY_SPARSITY = 0, /* share of units to remove, 0..1 (exclusive) */
    PITH_PRUNE_BY_SIGMA = 1, /* units scoring below s * sigma go, sigma: standard deviation of the
                                layer's kept weights */
    PITH_PRUNE_BY_ZERO = 2   /* exactly the zeros the weights already hold go: lossless */
};

enum pith_prune_scope {
    PITH_PRUNE_LAYER = 0, /* every layer reaches the target */
    PITH_PRUNE_GLOBAL = 1 /* one threshold for all layers without an amount of their own; a layer
                             may then end empty */
};

struct pith_prune_amount {
    const char *pattern; /* as pith_weight_matches; must match some layer */
    double value;        /* sparsity or s; 0 leaves the layer alone */
};

struct pith_prune_opts {
    uint32_t size_bytes;
    enum pith_prune_by by;
    enum pith_prune_scope scope; /* PITH_PRUNE_GLOBAL: BY_SPARSITY only */
    struct pith_pattern pattern;
    double sparsity; /* BY_SPARSITY: 0 <= sparsity < 1. N:M and balanced fix it: leave 0 */
    double sigma;    /* BY_SIGMA: >= 0 */
    /* By layer; of several that match, the last counts. */
    const struct pith_prune_amount *layers;
    uint32_t n_layers;
};

/* Why a layer was left alone that the common amount was meant for. */
enum pith_prune_left {
    PITH_PRUNE_TAKEN = 0, /* it was not; or `layers` gives it 0 */
    PITH_PRUNE_LEFT_DEPTHWISE = 1,
    PITH_PRUNE_LEFT_PATTERN = 2 /* the pattern does not divide its rows or columns */
};

/* Whether a weight is left alone by an amount that all get in this pattern, and why. err: of one
 * that the pattern does not divide, what does not; may be NULL. */
enum pith_prune_left pith_prune_leaves(const struct pith_model *m,
                                       const struct pith_weight_ref *ref,
                                       const struct pith_pattern *pattern, struct pith_error *err);

struct pith_prune_layer {
    const char *layer, *tensor; /* borrowed from the model */
    uint32_t value;             /* number of the constant */
    uint64_t count;
    uint64_t kept_before, kept;
    enum pith_prune_left left;
};

/* Prunes m. layers (NULL or room for m->n_nodes entries) and *n_layers (may be NULL) receive one
 * entry per weight, also for those left alone. On failure the model is as before.
 * In layer scope a touched layer keeps at least one unit; with n units, n - floor(sparsity*n + 1/2)
 * stay. PITH_ERR_ARGUMENT (options, the pattern divides no layer, an entry of layers matches none),
 * PITH_ERR_UNSUPPORTED (a weight is NaN or infinite), PITH_ERR_MEMORY. */
enum pith_status pith_prune(struct pith_model *m, const struct pith_prune_opts *opts,
                            struct pith_prune_layer *layers, uint32_t *n_layers,
                            struct pith_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
