/* SPDX-License-Identifier: MIT */
/* gemm_i8_vnni.c - see gemm_i8_impl.h: 4 products of u8 and i8 are added to 32 bits at once. */
#include "kernels/x86/integer/gemm_i8_zmm.h"

#define ISA(name) name##_vnni
/* Six rows by four vectors: 24 sums, 4 weights, 1 broadcast of 32 registers. */
#define ROWS 6u
#define VALUES_INLINE 1
#define FETCHES_AHEAD 1

static inline ivec ivec_repeat(const uint8_t *p)
{
    return _mm512_set1_epi32((int32_t)load_le32(p));
}

static inline ivec ivec_less(ivec a, ivec b)
{
    return _mm512_sub_epi32(a, b);
}

static inline ivec ivec_dot(ivec acc, ivec x, ivec w)
{
    return _mm512_dpbusd_epi32(acc, x, w);
}

#include "kernels/ref/gemm_i8_impl.h"
