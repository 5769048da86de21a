/* SPDX-License-Identifier: MIT */
/* gemm_i8_avx2.c - see gemm_i8_impl.h: pairs of i16, because adding pairs of u8 x s8 in 16 bits
 * would saturate. */
#define ISA(name) name##_avx2
#define VALUES_INLINE 2u
#include "kernels/x86/integer/gemm_i8_ymm.h"

static inline ivec ivec_dot(ivec acc, ivec x, ivec w)
{
    return _mm256_add_epi32(acc, _mm256_madd_epi16(x, w));
}
