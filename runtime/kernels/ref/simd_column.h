/* SPDX-License-Identifier: MIT */
/* simd_column.h - columns of LANES output pixels under a sliding window, walked from top to bottom.
 * Padding on the left and right is masked out of the loads, by masks that are the same for all rows
 * and planes and are made once. Included after the vector operations of a level. */
#ifndef SIMD_COLUMN_H
#define SIMD_COLUMN_H

#include "kernels/kernel_dense.h"

/* Masks of eight columns are 4 KB at most, on the stack. */
#define COLUMNS 8 /* made at once, for all planes */

enum reach { REACH_ONE, REACH_TWO }; /* the stride in x */

/* One column of lanes under each kx: where lane 0 reads and which lanes lie inside. mask_hi: for
 * stride 2, elements of the second vector. */
struct column {
    ptrdiff_t offset[COLUMN_MAX_KW];
    vmask mask[COLUMN_MAX_KW], mask_hi[COLUMN_MAX_KW];
    size_t ox;
    vmask out;
    bool whole;  /* all lanes of out */
    bool inside; /* all of mask and mask_hi; with stride 2 all but lane 0 of tap 0, */
    bool edge;   /* which is outside */
};

/* 32-bit positions, hence pith_conv_is_small() in who calls. The barrier at the end: gcc 12 takes
 * the function for one that leaves offset[0] and mask[0] as they were and moves loads of them
 * before the call (pool_f32 with AVX2 at -O2; -fno-ipa-modref cures it, too). */
static void column_set(struct column *col, const struct conv_geom *g, size_t ox)
{
    int32_t w = (int32_t)g->w, stride = (int32_t)g->stride_w;
    int32_t n = g->ow - ox < LANES ? (int32_t)(g->ow - ox) : LANES;
    col->ox = ox;
    col->out = vmask_range(0, n);
    col->whole = n == LANES;
    int32_t first = (int32_t)(ox * g->stride_w) - (int32_t)g->pad_left;
    int32_t last = first + (int32_t)((g->kw - 1) * g->dil_w) + LANES;
    col->edge = first < 0;
    col->inside = stride == 1 ? first >= 0 && last <= w : first >= -1 && last + LANES - 1 <= w;
    for (uint32_t kx = 0; kx < g->kw; kx++) {
        int32_t x0 = (int32_t)(ox * g->stride_w + kx * g->dil_w) - (int32_t)g->pad_left;
        col->offset[kx] = x0;
        col->mask[kx] = vmask_range(-x0, w - x0);
        col->mask_hi[kx] = vmask_range(-x0 - LANES, w - x0 - LANES);
    }
    __asm__ volatile("" : : "r"(col) : "memory");
}

#endif
