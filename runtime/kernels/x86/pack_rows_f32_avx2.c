/* SPDX-License-Identifier: MIT */
/* pack_rows_f32_avx2.c - see pack_rows_f32_impl.h. */
#include <immintrin.h>
#include <stddef.h>

#define PACK(name) name##_avx2
typedef __m128 four;

static inline four four_zero(void)
{
    return _mm_setzero_ps();
}

static inline four four_load(const float *p)
{
    return _mm_loadu_ps(p);
}

static inline void four_store(float *p, four v)
{
    _mm_storeu_ps(p, v);
}

static inline void four_turn(four v[4])
{
    _MM_TRANSPOSE4_PS(v[0], v[1], v[2], v[3]);
}

#include "kernels/ref/pack_rows_f32_impl.h"
