/* SPDX-License-Identifier: MIT */
/* row_f32_avx512.c - see row_f32_impl.h. */
#include <immintrin.h>
#include "exp_log_f32.h"

#define ROW(name) name##_avx512
#define OWN_EXP_LANES

/* As exp_falling_f32, bit for bit: one instruction scales by 2^n, rounding once, where integers
 * make two factors of it. */
static inline void exp_lanes(float v[16])
{
    float p[16], n[16];
    _mm512_storeu_ps(v, _mm512_max_ps(_mm512_set1_ps(-105.0f), _mm512_loadu_ps(v)));
    for (size_t i = 0; i < 16; i++) {
        p[i] = exp_parts(v[i], &n[i]) + 1.0f;
        n[i] -= ROUND_F32;
    }
    _mm512_storeu_ps(v, _mm512_scalef_ps(_mm512_loadu_ps(p), _mm512_loadu_ps(n)));
}

#include "row_f32_impl.h"
