/* SPDX-License-Identifier: MIT */
/* kernel_ordered.h - the dense kernels of plans with opts.ordered: each result is one
 * chain of roundings that is written down here, so that its bits are the same on every CPU. What a
 * stage decides from activations - ranges, which layers stay float, how a weight is rounded - it
 * decides from these.
 *
 *     gemm_f32       from 0, or from c where it resumes: + a[k] b[k], k ascending, each product
 *                    rounded; then bias of the row, of the column, residual, activation
 *     gemv_f32       ORDERED_SUMS sums, k in sum k % ORDERED_SUMS; sum i of 8, 4, 2, 1 takes sum
 *                    i + 8, 4, 2, 1; then bias, residual, activation
 *     depthwise_f32  from 0: + w x, taps ascending, those outside of the image left out; then as
 *                    gemv_f32
 *
 * Tiles are the same for all levels, since conv_transpose adds them up as they come. There are no
 * rows (conv_rows_f32), no tiles of Winograd, nor vectors of maxima, whose zeros may have another
 * sign; copies are any level's. On Zen 4 (AVX-512) `quantize -d` of DS-CNN takes 1.4 times as long
 * as with the kernels that fuse. */
#ifndef PITH_KERNEL_ORDERED_H
#define PITH_KERNEL_ORDERED_H

#include "kernels/kernel_dense.h"

#define ORDERED_MR 8u
#define ORDERED_NR 48u
#define ORDERED_SUMS 16u

/* What opts.ordered points to: fill is pith_ordered_kernels_fill. */
struct pith_ordered {
    void (*fill)(struct dense_kernels *k, uint32_t features);
};

/* As pith_dense_kernels_fill. */
void pith_ordered_kernels_fill(struct dense_kernels *k, uint32_t features);

/* The list: kernel_list.h. */
#define ORDERED_LEVEL(KERNEL, level, needs)                                                        \
    KERNEL(gemm_f32, gemm_f32_fn, pith_gemm_f32_ordered##level, needs)                             \
    KERNEL(gemv_f32, gemv_f32_fn, pith_gemv_f32_ordered##level, needs)                             \
    KERNEL(depthwise_f32, depthwise_f32_fn, pith_depthwise_f32_ordered##level, needs)
#define ORDERED_KERNELS_ANY(KERNEL) ORDERED_LEVEL(KERNEL, , 0)
#ifdef __x86_64__
#define ORDERED_KERNELS_OWN(KERNEL)                                                                \
    ORDERED_LEVEL(KERNEL, _avx2, PITH_CPU_AVX2) ORDERED_LEVEL(KERNEL, _avx512, PITH_CPU_AVX512)
#else
#define ORDERED_KERNELS_OWN(KERNEL)
#endif
#define ORDERED_KERNELS(KERNEL) ORDERED_KERNELS_ANY(KERNEL) ORDERED_KERNELS_OWN(KERNEL)

ORDERED_KERNELS(KERNEL_DECLARE)

#endif
