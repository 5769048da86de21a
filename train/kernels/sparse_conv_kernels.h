/* SPDX-License-Identifier: MIT */
/* sparse_conv_kernels.h - the inner loops of sparse_conv.c, on a group of pictures: one picture is
 * one lane, and a place in all of them is one vector. One template (sparse_conv_impl.h) compiled
 * for each instruction set: train_kernels.h. */
#ifndef SPARSE_CONV_KERNELS_H
#define SPARSE_CONV_KERNELS_H

#include <stdint.h>

/* A row of each map, and the weights that make it: map m is made of first[m] .. first[m + 1], and
 * weight i reads column j at from + (offset[i] * lanes + j * step). */
struct sparse_row {
    const float *from;
    int64_t step; /* floats */
    int64_t maps, columns;
    const uint32_t *first; /* [maps + 1] */
    const int32_t *offset; /* vectors */
};

/* A row of pixels in n pictures <= lanes, channels last, picture_step floats from one to the next;
 * and the same as vectors: pixel p of channel c at vectors + c * channel_step + p * pixel_step. */
struct sparse_pixels {
    int64_t n, picture_step, channels, pixels, channel_step, pixel_step;
};

struct sparse_conv_kernels {
    int64_t lanes;
    /* to [maps, columns] vectors; weight: one for each offset; bias [maps] or NULL */
    void (*sum)(const struct sparse_row *row, const float *weight, const float *bias, float *to);
    /* dy: column j of map m at m * map_step + j * column_step floats. Added to: dw, a vector for
     * each offset; db [maps] vectors. */
    void (*gradient)(const struct sparse_row *row, const float *dy, int64_t map_step,
                     int64_t column_step, float *dw, float *db);
    /* total[i]: the lanes of vector i, which may be written over */
    void (*total)(const float *vectors, int64_t n, float *total);
    void (*to_lanes)(const struct sparse_pixels *p, const float *pictures, float *vectors);
    void (*from_lanes)(const struct sparse_pixels *p, const float *vectors, float *pictures);
};

#endif
