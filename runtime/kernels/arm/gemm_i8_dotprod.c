/* SPDX-License-Identifier: MIT */
/* gemm_i8_dotprod.c - see gemm_i8_impl.h: SDOT adds 4 products of i8 to 32 bits at once. It has no
 * form for u8 by i8, so x becomes x - 128 in registers (kernel_integer.h: middle). */
#include "kernels/arm/simd_i32_neon.h"

#define ISA(name) name##_dotprod
/* Two registers a vector, so that panels have eight outputs as on other levels. */
#define LANES 8u
#define VECS 2u
#define ROWS 6u
#define VALUES_INLINE 1
typedef int32x4x2_t ivec;

static inline ivec ivec_load(const void *p)
{
    return load_sums(p);
}

/* The sign bit turned is a subtraction of 128. */
static inline ivec ivec_repeat(const uint8_t *p)
{
    int32x4_t four = vdupq_n_s32((int32_t)load_le32(p));
    four = veorq_s32(four, vreinterpretq_s32_u8(vdupq_n_u8(0x80)));
    return (ivec){{four, four}};
}

static inline ivec ivec_dot(ivec acc, ivec x, ivec w)
{
    int8x16_t four = vreinterpretq_s8_s32(x.val[0]);
    return (ivec){{vdotq_s32(acc.val[0], vreinterpretq_s8_s32(w.val[0]), four),
                   vdotq_s32(acc.val[1], vreinterpretq_s8_s32(w.val[1]), four)}};
}

/* Outputs are stored panel by panel; the last one partly. */
static inline __attribute__((always_inline)) void store_values(uint8_t *y, const ivec *acc,
                                                               const uint32_t vecs, uint32_t n,
                                                               const struct requantize *to,
                                                               uint32_t first)
{
#pragma GCC unroll 2
    for (uint32_t v = 0; v < vecs; v++, y += LANES, n -= LANES)
        store_some(y, values_of(acc[v], to, first + v * (size_t)LANES), n < LANES ? n : LANES);
}

#include "kernels/ref/gemm_i8_impl.h"
