/* SPDX-License-Identifier: MIT */
/* conv_coded.h - planes of a convolution made weight by weight, as a decoder hands them out: y is
 * where the sums are kept, and no filter is. Each sum has the order of conv_f32
 * (kernel_dense.h), and so its bits. */
#ifndef CONV_CODED_H
#define CONV_CODED_H

#include "kernels/kernel_dense.h"
#include "decode/weight_rows.h"

/* One output channel of all images; x, y, residual: of its group in the first image. */
struct conv_coded_job {
    const struct conv_geom *g;
    uint32_t images, k;              /* k: weights of a filter */
    size_t pixels, x_image, y_image; /* floats from one image to the next */
    const float *x;                  /* [C, H, W] */
    const float *bias;               /* of this channel, or NULL */
    const float *residual;           /* as y, or NULL */
    float *y;                        /* [OH, OW]; overlaps nothing */
    struct dense_act act;
};

/* rows: at the first weight of the filter; goes on to the next. */
void pith_conv_coded_filter(const struct conv_coded_job *job, struct weight_rows *rows);

#endif
