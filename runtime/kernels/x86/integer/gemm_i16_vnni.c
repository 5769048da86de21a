/* SPDX-License-Identifier: MIT */
/* gemm_i16_vnni.c - see gemm_i8_impl.h: pairs of products of i16 are added to 32 bits, modulo 2^32,
 * at once. Networks of 16 bits run on it, and Winograd's products of bytes (integer_winograd.c),
 * which are short: with 64 channels a tile of sums is complete after 32 steps, so these are stored
 * from the registers they are in. Panels that are left over go one by one. */
#include "kernels/x86/integer/gemm_i8_zmm.h"

#define ISA(name) pith_gemm_i16_vnni
#define ROWS 6u
#define SUMS_ALONE 1

static inline ivec ivec_repeat(const uint8_t *p)
{
    return _mm512_set1_epi32((int32_t)load_le32(p));
}

static inline ivec ivec_dot(ivec acc, ivec x, ivec w)
{
    return _mm512_dpwssd_epi32(acc, x, w);
}

#include "kernels/ref/gemm_i8_impl.h"
