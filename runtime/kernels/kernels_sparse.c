/* SPDX-License-Identifier: MIT */
/* kernels_sparse.c - fills the table of sparse and codebook products, worst to best. */
#include "pith_kernel_sparse.h"
#include "build_choice.h"
#include "pith_runtime.h"

static void fill_ref(struct sparse_kernels *k)
{
    *k = (struct sparse_kernels){
        .matvec = {[FORM_CSR_VALUE] = pith_spmv_csr_value,
                   [FORM_CSR_CODEBOOK] = pith_spmv_csr_codebook,
                   [FORM_WINDOW] = pith_spmv_window,
                   [FORM_DENSE4] = pith_gemv_codebook4,
                   [FORM_DENSE5] = pith_gemv_codebook5,
                   [FORM_DENSE8] = pith_gemv_codebook8},
        /* All alike: without vectors an index costs about what an f32 does, and the form takes a
         * quarter of the memory or less, which is what such machines are short of. */
        .speed = {[FORM_CSR_VALUE] = 8,
                  [FORM_CSR_CODEBOOK] = 8,
                  [FORM_DENSE4] = 8,
                  [FORM_DENSE5] = 8,
                  [FORM_DENSE8] = 8},
        .dense_speed = {8, 8, 8},
        .csr_centroids = 256,
    };
}

#if defined(__x86_64__)
static void fill_avx2(struct sparse_kernels *k)
{
    k->matvec[FORM_CSR_VALUE] = pith_spmv_csr_value_avx2;
    k->matvec[FORM_CSR_CODEBOOK] = pith_spmv_csr_codebook_avx2;
    k->matvec[FORM_DENSE4] = pith_gemv_codebook4_avx2;
    k->matvec[FORM_DENSE5] = pith_gemv_codebook5_avx2;
    k->csr_centroids = 32;
    k->speed[FORM_CSR_VALUE] = 26;
    k->speed[FORM_CSR_CODEBOOK] = 30;
    k->speed[FORM_DENSE4] = 105;
    k->speed[FORM_DENSE5] = 56;
    k->speed[FORM_DENSE8] = 0;
    k->dense_speed[DENSE_IN_L2] = 175;
    k->dense_speed[DENSE_IN_L3] = 105;
    k->dense_speed[DENSE_IN_RAM] = 52;
    k->tile_speed = 390;
}

static void fill_avx512(struct sparse_kernels *k)
{
    k->matvec[FORM_WINDOW] = pith_spmv_window_avx512;
    k->matvec[FORM_DENSE4] = pith_gemv_codebook4_avx512;
    k->matvec[FORM_DENSE5] = pith_gemv_codebook5_avx512;
    k->speed[FORM_WINDOW] = 90;
    k->window_batch_speed = 155;
    k->tile_speed = 420;
    k->speed[FORM_DENSE4] = 220;
    k->speed[FORM_DENSE5] = 210;
}

static void fill_vbmi(struct sparse_kernels *k)
{
    k->matvec[FORM_DENSE8] = pith_gemv_codebook8_vbmi;
    k->speed[FORM_DENSE8] = 110;
}
#endif

void pith_sparse_kernels_fill(struct sparse_kernels *k, uint32_t features)
{
    fill_ref(k);
#if defined(__x86_64__)
    features &= PITH_BUILD_CPU;
    if (features & PITH_CPU_AVX2)
        fill_avx2(k);
    if (features & PITH_CPU_AVX512)
        fill_avx512(k);
    if (features & PITH_CPU_VBMI)
        fill_vbmi(k);
#else
    (void)features;
#endif
}
