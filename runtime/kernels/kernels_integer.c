/* SPDX-License-Identifier: MIT */
/* kernels_integer.c - fills the integer part of the kernel table, worst level to best. */
#include "pith_kernel_integer.h"
#include "build_choice.h"

static const struct integer_kernels reference = {.nr = 8,
                                                 .k_step = 1,
                                                 .block = 8,
                                                 .group = 1,
                                                 .gemm_i8 = pith_gemm_i8,
                                                 .depthwise_i8 = pith_depthwise_i8};

#ifdef __x86_64__
static const struct integer_kernels avx2 = {.nr = 8,
                                            .k_step = 2,
                                            .block = 32,
                                            .group = 2,
                                            .wide = true,
                                            .gemm_i8 = pith_gemm_i8_avx2,
                                            .depthwise_i8 = pith_depthwise_i8_avx2};
static const struct integer_kernels avxvnni = {.nr = 8,
                                               .k_step = 4,
                                               .block = 32,
                                               .group = 4,
                                               .gemm_i8 = pith_gemm_i8_avxvnni,
                                               .depthwise_i8 = pith_depthwise_i8_avxvnni};
static const struct integer_kernels vnni = {.nr = 16,
                                            .k_step = 4,
                                            .block = 32,
                                            .group = 4,
                                            .gemm_i8 = pith_gemm_i8_vnni,
                                            .gemm_i4 = pith_gemm_i4_vnni,
                                            .depthwise_i8 = pith_depthwise_i8_vnni};

static void fill_x86(struct integer_kernels *k, uint32_t features)
{
    if (features & PITH_CPU_AVX2) {
        *k = features & PITH_CPU_AVXVNNI ? avxvnni : avx2;
        k->bytes = pith_byte_rows_avx2;
    }
    if (features & PITH_CPU_AVX512)
        k->bytes = pith_byte_rows_avx512;
    if (features & PITH_CPU_VNNI) {
        *k = vnni;
        k->bytes = pith_byte_rows_avx512;
    }
    if (features & PITH_CPU_AVX2) { /* whose x and w are i16 anyway */
        k->gemm_i16[0] = pith_gemm_i8_avx2;
        k->gemm_i16[1] = pith_gemm_i16_avx2;
    }
    if (features & PITH_CPU_VBMI)
        k->bytes.look_up = pith_look_up_bytes_vbmi;
}
#endif

#ifdef __aarch64__
static const struct integer_kernels neon = {.nr = 8,
                                            .k_step = 1,
                                            .block = 8,
                                            .group = 1,
                                            .wide = true,
                                            .gemm_i8 = pith_gemm_i8_neon,
                                            .depthwise_i8 = pith_depthwise_i8_neon};
static const struct integer_kernels dotprod = {.nr = 8,
                                               .k_step = 4,
                                               .block = 16,
                                               .group = 4,
                                               .middle = 128,
                                               .gemm_i8 = pith_gemm_i8_dotprod,
                                               .depthwise_i8 = pith_depthwise_i8_dotprod};

static void fill_arm(struct integer_kernels *k, uint32_t features)
{
    if (!(features & PITH_CPU_NEON))
        return;
    *k = features & PITH_CPU_DOTPROD ? dotprod : neon;
    k->bytes = pith_byte_rows_neon;
}
#endif

void pith_integer_kernels_fill(struct integer_kernels *k, uint32_t features)
{
    *k = reference;
    k->bytes = pith_byte_rows;
#ifdef __x86_64__
    fill_x86(k, features & PITH_BUILD_CPU);
#elif defined __aarch64__
    fill_arm(k, features & PITH_BUILD_CPU);
#else
    (void)features;
#endif
}
