/* SPDX-License-Identifier: MIT */
/* kernels_decode.c - fills the kernels of the entropy decoders, worst level to best. Those of codes
 * that are not built are NULL. */
#include "build_choice.h"
#include "pith_kernel_decode.h"
#include "pith_runtime.h"

static void fill_rans(struct decode_kernels *k, uint32_t features)
{
    (void)features;
    k->rans_rows = pith_rans_rows;
#if defined(__x86_64__)
    if (features & PITH_CPU_AVX2)
        k->rans_rows = pith_rans_rows_avx2;
    if (features & PITH_CPU_AVX512)
        k->rans_rows = pith_rans_rows_avx512;
#elif defined(__aarch64__)
    if (features & PITH_CPU_NEON)
        k->rans_rows = pith_rans_rows_neon;
#endif
}

static void fill_context(struct decode_kernels *k, uint32_t features)
{
    (void)features;
    k->context_indices = pith_context_indices;
#if defined(__x86_64__)
    if (features & PITH_CPU_AVX2)
        k->context_indices = pith_context_indices_avx2;
#elif defined(__aarch64__)
    if (features & PITH_CPU_NEON)
        k->context_indices = pith_context_indices_neon;
#endif
}

void pith_decode_kernels_fill(struct decode_kernels *k, uint32_t features)
{
    *k = (struct decode_kernels){NULL, NULL};
    if (PITH_BUILD_RANS)
        fill_rans(k, features & PITH_BUILD_CPU);
    if (PITH_BUILD_CONTEXT)
        fill_context(k, features & PITH_BUILD_CPU);
}
