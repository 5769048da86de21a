/* SPDX-License-Identifier: MIT */
/* kernels_dense.c - fills the dense part of the kernel table, worst level to best. */
#include "pith_kernel_dense.h"
#include "build_choice.h"
#include "pith_runtime.h"

#ifdef __x86_64__
static void fill_x86(struct dense_kernels *k, uint32_t features)
{
    if (features & PITH_CPU_AVX2) {
        k->mr = 4;
        k->nr = 24;
        k->nr_max = 24;
        k->mr_wide = 6;
        k->nr_wide = 16;
        k->gemm_f32 = pith_gemm_f32_avx2;
        k->lanes = 8;
        k->im2col_f32 = pith_im2col_f32_avx2;
        k->conv_rows_f32 = pith_conv_rows_f32_avx2;
        k->depthwise_f32 = pith_depthwise_f32_avx2;
        k->gemv_f32 = pith_gemv_f32_avx2;
        k->max_pool_f32 = pith_max_pool_f32_avx2;
        k->pack_rows_f32 = pith_pack_rows_f32_avx2;
    }
    if (features & PITH_CPU_AVX512) {
        k->mr = 8;
        k->nr = 48;
        k->nr_max = 49;
        k->mr_wide = k->nr_wide = 0;
        k->gemm_f32 = pith_gemm_f32_avx512;
        k->lanes = 16;
        k->im2col_f32 = pith_im2col_f32_avx512;
        k->conv_rows_f32 = pith_conv_rows_f32_avx512;
        k->depthwise_f32 = pith_depthwise_f32_avx512;
        k->gemv_f32 = pith_gemv_f32_avx512;
        k->max_pool_f32 = pith_max_pool_f32_avx512;
    }
}
#endif

void pith_dense_kernels_fill(struct dense_kernels *k, uint32_t features)
{
    *k = (struct dense_kernels){.conv_f32 = pith_conv_f32,
                                .im2col_f32 = pith_im2col_f32,
                                .depthwise_f32 = pith_depthwise_f32,
                                .gemv_f32 = pith_gemv_f32,
                                .pack_rows_f32 = pith_pack_rows_f32};
#ifdef __x86_64__
    fill_x86(k, features & PITH_BUILD_CPU);
#else
    (void)features;
#endif
}
