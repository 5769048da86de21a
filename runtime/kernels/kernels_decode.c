/* SPDX-License-Identifier: MIT */
/* kernels_decode.c - fills the kernels of the entropy decoders, worst level to best. */
#include "build_choice.h"
#include "pith_kernel_decode.h"
#include "pith_runtime.h"

void pith_decode_kernels_fill(struct decode_kernels *k, uint32_t features)
{
    k->rans_rows = pith_rans_rows;
    k->context_indices = pith_context_indices;
    features &= PITH_BUILD_CPU;
#if defined(__x86_64__)
    if (features & PITH_CPU_AVX2) {
        k->rans_rows = pith_rans_rows_avx2;
        k->context_indices = pith_context_indices_avx2;
    }
    if (features & PITH_CPU_AVX512)
        k->rans_rows = pith_rans_rows_avx512;
#elif defined(__aarch64__)
    if (features & PITH_CPU_NEON) {
        k->rans_rows = pith_rans_rows_neon;
        k->context_indices = pith_context_indices_neon;
    }
#else
    (void)features;
#endif
}
