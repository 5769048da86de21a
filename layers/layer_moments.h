/* SPDX-License-Identifier: MIT */
/* layer_moments.h - second moments of what a layer multiplies its weight with: the Gram matrix
 * H = X X^T of its input rows, one for each group of channels, and the cross moments of these rows
 * with others, on the mean of samples. A convolution's rows are its windows (im2col), in the order
 * of a row of the weight.
 *
 * An output row that is off by e in its weights is off by e H e^T in its results, squared and added
 * up over the places of a sample.
 *
 *     pith_layer_rows_of(&input, &rows, err);             of a float layer
 *     pith_layer_moments(&rows, NULL, &opts, &m, err);
 *     pith_layer_rows_end(&rows);
 *     ... m.h, m.mean[0], m.shrinkage ...                 layer_factor.h
 *     pith_layer_moments_end(&m);
 */
#ifndef PITH_LAYER_MOMENTS_H
#define PITH_LAYER_MOMENTS_H

#include "layer_walk.h"
#include "sensitivity.h"
#include "op_interface/window.h"

#define PITH_LAYER_MOST_COLUMNS 2048u

/* ---- rows ------------------------------------------------------------------------------------ */

/* Rows of floats that lie in samples: side by side, [places, groups, n]; or with `place`, which a
 * convolution has, [places / out, groups, n / taps, in], row `at` having the element place[at *
 * taps
 * + tap] of each channel, 0 where that is negative (im2col.h). */
struct layer_rows {
    size_t n;        /* columns */
    uint32_t groups; /* of rows, at each place */
    uint64_t places; /* of a sample */
    uint64_t elems;  /* of a sample */
    size_t taps, in, out;
    int64_t *place; /* owns: [out, taps]; NULL: side by side */
    /* x: [elems] of a sample */
    enum pith_status (*read)(const void *of, uint64_t sample, float *x, struct pith_error *err);
    const void *of; /* borrowed */
};

/* Into how many blocks of columns, which are summed up as if they were independent, a row of the
 * node's weight is cut: 1, or more where it has more than PITH_LAYER_MOST_COLUMNS. 0: there are no
 * moments: it is no Conv, Gemm, MatMul or recurrent product whose output channels are rows of the
 * weight, or has no such blocks. */
uint32_t pith_layer_blocks(const struct pith_model *m, const struct pith_node *node);

/* The value that is added as it is to what a weight gives, wherever that is read, and to nothing
 * else; PITH_VALUE_NONE: there is none. A bias may make up for what rounding the weight does to the
 * mean of results then. */
uint32_t pith_weight_bias(const struct pith_model *m, uint32_t value);

/* What a float layer, of pith_layer_blocks > 0, reads; blocks are groups. Borrows the input.
 * PITH_ERR_MEMORY. */
enum pith_status pith_layer_rows_of(const struct layer_input *in, struct layer_rows *rows,
                                    struct pith_error *err);
/* place from a window; taps, in, out, too. False: no memory. */
bool pith_layer_rows_window(struct layer_rows *rows, const struct window *window);
void pith_layer_rows_end(struct layer_rows *rows); /* accepts zeros */
/* row: [n], of a sample x. */
void pith_layer_row(const struct layer_rows *rows, const float *x, uint32_t group, uint64_t place,
                    float *row);
/* All rows of a sample x, added to sum: that of column k of group g to sum[(g * n + k) * step]. */
void pith_layer_row_sums(const struct layer_rows *rows, const float *x, double *sum, size_t step);

/* ---- sums ------------------------------------------------------------------------------------ */

struct layer_moments {
    size_t n;               /* columns of a matrix: of a row of the weight, or of a block of it */
    size_t n_others;        /* m, columns of the others */
    uint32_t groups;        /* matrices: groups of rows of the weight, or blocks of its columns */
    uint64_t samples, rows; /* that were summed up: rows of X, of each group */
    /* On the mean of samples, of all places of each; x: the rows, y: the others, [m] numbers each.
     * The others of a sweep are the rows as they were in the network as it came. */
    double *h;        /* [groups, n, n] sum of x x^T; NULL: data-free, H = I */
    double *cross;    /* [groups, n, m] sum of x y^T; NULL: there are no others */
    double *mean[2];  /* [groups, n] of x, [groups, m] of y */
    bool of_results;  /* the others are the layer's results, [m] of the rows of a group */
    double weight;    /* of all rows */
    double places;    /* rows of a sample */
    double shrinkage; /* of h (Ledoit and Wolf, 2004): what the mean of its diagonal is multiplied
                         with before it is added to the diagonal; 0 without h */
    const struct pith_opts *runtime; /* borrowed: threads that factor it; NULL: one */
};

struct moments_opts {
    uint64_t samples;     /* of the rows, all */
    uint64_t first, step; /* only samples first, first + step, ...; step 0: all */
    uint64_t per_column;  /* as many rows are taken for each column, evenly from all samples, or all
                             that there are */
    uint64_t least_rows;  /* but no fewer than that */
    /* A row is weighted by the sensitivity of the loss to its place: this share of it, the mean of
     * all rows being 1. NULL, or a layer whose places are not known: all rows count the same. */
    const struct pith_sensitivity *sensitivity;
    uint32_t weight;    /* with sensitivity: the value */
    double place_share; /* 0..1 */
    double centre;      /* 0..1: of what the means make of h, that shrinkage leaves out */
    const struct pith_opts *runtime; /* parallel_for; NULL: one thread */
};

/* others: of as many places and groups; NULL: none. The same bits for any number of
 * threads. PITH_ERR_MEMORY, and what reading rows returns; *m is to be ended then, too. */
enum pith_status pith_layer_moments(const struct layer_rows *rows, const struct layer_rows *others,
                                    const struct moments_opts *opts, struct layer_moments *m,
                                    struct pith_error *err);
/* Data-free: of the weight, rows of n columns. */
struct layer_moments pith_layer_moments_none(size_t n);
void pith_layer_moments_end(struct layer_moments *m); /* accepts zeros */

/* This share of what the means make of h and cross is taken off; below 0: put back. */
void pith_layer_centre(struct layer_moments *m, double share);

#endif
