/* SPDX-License-Identifier: MIT */
/* winograd_kernels.h - the inner loops of winograd.c. One template (winograd_impl.h) compiled for
 * each instruction set: train_kernels.h.
 *
 * A block is some tiles of one tensor, in row-major order of (picture, tile row, tile column). Its
 * planes hold one number per channel for each of the n * n points, n = 6 or 8:
 *
 *     planes [n * n][tiles][padded channels], plane_step floats from plane to plane
 *
 * Padded channels are a multiple of `lanes`, and those that are padding are zero. */
#ifndef WINOGRAD_KERNELS_H
#define WINOGRAD_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WINOGRAD_OUT = 4 }; /* a tile makes 4 x 4 outputs, of n x n inputs */

struct winograd_block {
    float *tensor; /* [N, height, width, channels] */
    int64_t height, width, channels, padded;
    int64_t top, left;               /* where tile 0 begins: -pad */
    int64_t tile_rows, tile_columns; /* of one picture */
    int64_t first, n_tiles;
    float *planes;
    size_t plane_step;
    bool add; /* gradients(): to what the tensor holds */
};

/* c [rows, columns] (+)= a b for each plane; element (i, k) of a lies at i * a_row + k * a_k, b and
 * c are row-major. rows: multiple of 4; rows of b and c go on to a multiple of lanes, what c has
 * beyond the columns is undefined. */
struct winograd_product {
    const float *a, *b;
    float *c;
    size_t a_plane, b_plane, c_plane; /* floats from plane to plane */
    int64_t a_row, a_k, b_k, c_row;
    int64_t rows, columns, depth, planes;
    bool add;
};

struct winograd_kernels {
    int64_t lanes;
    /* points: n, 6 or 8. tensor -> planes: B^T x B of n x n inputs */
    void (*inputs)(const struct winograd_block *b, int points);
    /* tensor -> planes: A y A^T of 4 x 4 outputs */
    void (*outputs)(const struct winograd_block *b, int points);
    /* planes -> tensor: A^T m A (+ bias [channels], where not NULL) */
    void (*results)(const struct winograd_block *b, int points, const float *bias);
    /* planes -> tensor: B m B^T, n x n gradients of inputs, added where tiles overlap, and set
     * where none of those before was, unless b->add */
    void (*gradients)(const struct winograd_block *b, int points);
    /* kernel [r, r, lanes] -> n * n planes of lanes numbers, G w G^T; and back, G^T u G */
    void (*kernel)(const float *kernel, int points, float *planes, size_t plane_step);
    void (*kernel_back)(const float *planes, size_t plane_step, int points, float *kernel);
    void (*product)(const struct winograd_product *p);
    /* sum [c] = of rows [rows, c] */
    void (*row_sums)(const float *from, int64_t rows, int64_t c, float *sum);
};

#endif
