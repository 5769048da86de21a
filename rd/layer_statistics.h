/* SPDX-License-Identifier: MIT */
/* layer_statistics.h - what samples tell about the weight of a layer: the Gram matrix of the rows
 * that it is multiplied with, H = X X^T, one for each group of channels, on the mean of samples. A
 * convolution's rows are its windows (im2col), in the order of a row of the weight.
 *
 * An output row that is off by e in its weights is off by e H e^T in its results, squared and added
 * up over the places of a sample. */
#ifndef LAYER_STATISTICS_H
#define LAYER_STATISTICS_H

#include "pith_layer_walk.h"
#include "pith_sensitivity.h"
#include "pith_sweep_ranks.h"

#define STATISTICS_MOST_COLUMNS 2048u

struct layer_statistics {
    size_t n;               /* columns of a matrix: of a row of the weight, or of a block of it */
    uint32_t groups;        /* matrices: groups of rows of the weight, or blocks of its columns */
    uint64_t samples, rows; /* that were summed up: rows of X, of each group */
    /* On the mean of samples, of all places of each; now: inputs in the network as it is; was: in
     * the network as it came. */
    double *h;       /* [groups, n, n] sum of now now^T; NULL: data-free, H = I */
    double *crossed; /* [groups, n, n] sum of now was^T; NULL: goals are the weights */
    double *mean[2]; /* [groups, n] of a row of now, of was */
    double weight;   /* of all rows */
    double places;   /* rows of a sample */
    double doubt;    /* of h: sample_doubt.h; 0 without h */
};

/* Into how many blocks of columns, which are as if they knew nothing of each other, a row of the
 * node's weight is cut for its statistics: 1, or more where it has more than
 * STATISTICS_MOST_COLUMNS. 0: there are none: it is no Conv, Gemm, MatMul or recurrent product
 * whose output channels are rows of the weight, or has no such blocks. */
uint32_t pith_layer_statistics_blocks(const struct pith_model *m, const struct pith_node *node);

struct statistics_opts {
    uint64_t samples;
    uint64_t per_column; /* as many rows are taken for each column, evenly from all samples, or all
                            that there are */
    bool few_rows;       /* no more than that even where columns are few */
    /* A row counts as much as the loss minds its place: this share of it, the mean of all rows
     * being
     * 1. NULL, or a layer whose places are not known: all rows count the same. */
    const struct pith_sensitivity *sensitivity;
    double place_share; /* 0..1 */
    double centre;      /* 0..1: of what the means make of h, that its doubt leaves out */
    const struct pith_opts *runtime;      /* parallel_for; NULL: one thread */
    const struct pith_sweep_ranks *ranks; /* that share the sums; NULL: one process */
};

/* Of a node of two models that are alike but for constants, with as many elements a sample; was:
 * NULL where nothing crossed is asked for, nor the mean as it came. The same bits for any number of
 * threads and ranks. PITH_ERR_MEMORY, and what pith_layer_input_read returns; *s is to be ended
 * then, too. */
enum pith_status pith_layer_statistics(const struct layer_input *now, const struct layer_input *was,
                                       const struct statistics_opts *opts,
                                       struct layer_statistics *s, struct pith_error *err);
/* Data-free: of the weight, rows of n columns. */
struct layer_statistics pith_layer_statistics_none(size_t n);
void pith_layer_statistics_end(struct layer_statistics *s); /* accepts zeros */

#endif
