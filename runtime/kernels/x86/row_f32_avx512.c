/* SPDX-License-Identifier: MIT */
/* row_f32_avx512.c - see row_f32_impl.h. Its own are exp, sigmoid, tanh, gelu and what a softmax
 * takes of columns, for several vectors at once.
 *
 * What one vector goes through is a single chain of some 30 operations, each of which waits 3 to 4
 * cycles for the one before: a processor looks far enough ahead to have two of them under way.
 * Statement by statement for some vectors, it has enough to do. Bit for bit exp_falling_f32,
 * sigmoid_f32, tanh_f32 and gelu_f32, but that one instruction scales by 2^n, rounding once, where
 * integers make two factors of it. */
#include <immintrin.h>
#include "kernels/ref/activation_f32.h"
#include "kernels/kernel_row.h"

#define ROW(name) name##_avx512
#define OWN_GROUPS
#define SHORT_SOFTMAX 24u /* more fill two vectors well */
#define SQRT_F32(x) _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)))

#include "kernels/x86/row_lanes.h"

#define GROUP 5 /* as many as registers hold */
#define TILE 3  /* of gemm_f32, in vectors */
#define EACH_VECTOR _Pragma("GCC unroll 5") for (size_t i = 0; i < n; i++)

static inline __m512 all_of(float f)
{
    return _mm512_set1_ps(f);
}

/* exp(v) = 2^k (1 + p), v becomes p: exp_parts. */
static inline __attribute__((always_inline)) void exp_parts_of(__m512 *v, __m512 *k, const size_t n)
{
    static const float steps[] = {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                                  1.6666665459e-1f, 5.0000001201e-1f};
    __m512 p[GROUP], t[GROUP];
    EACH_VECTOR k[i] = v[i] * 1.44269504f;
    EACH_VECTOR k[i] = k[i] + ROUND_F32;
    EACH_VECTOR k[i] = k[i] - ROUND_F32;
    EACH_VECTOR t[i] = k[i] * LN2_HI;
    EACH_VECTOR v[i] = v[i] - t[i];
    EACH_VECTOR t[i] = k[i] * LN2_LO;
    EACH_VECTOR v[i] = v[i] - t[i];
    EACH_VECTOR p[i] = all_of(1.9875691500e-4f);
#pragma GCC unroll 5
    for (int s = 0; s < 5; s++) {
        EACH_VECTOR p[i] = p[i] * v[i];
        EACH_VECTOR p[i] = p[i] + steps[s];
    }
    EACH_VECTOR t[i] = v[i] * v[i];
    EACH_VECTOR p[i] = p[i] * t[i];
    EACH_VECTOR v[i] = p[i] + v[i];
}

/* v = exp(v), none above 89. */
static inline __attribute__((always_inline)) void exp_vectors(__m512 *v, const size_t n)
{
    __m512 k[GROUP];
    EACH_VECTOR v[i] = _mm512_max_ps(all_of(-105.0f), v[i]);
    exp_parts_of(v, k, n);
    EACH_VECTOR v[i] = v[i] + 1.0f;
    EACH_VECTOR v[i] = _mm512_scalef_ps(v[i], k[i]);
}

/* y = exp(x - p) of n vectors; beyond 89 it is infinite anyway, and a NaN stays one. */
static inline __attribute__((always_inline)) void exp_group(const float *x, float p, float *y,
                                                            const size_t n)
{
    __m512 v[GROUP];
    EACH_VECTOR v[i] = _mm512_min_ps(all_of(89.0f), _mm512_loadu_ps(x + LANES * i) - p);
    exp_vectors(v, n);
    EACH_VECTOR _mm512_storeu_ps(y + LANES * i, v[i]);
}

/* y = sigmoid(x) of n vectors; x sigmoid(x) where p is not 0. exp(-|x|) never overflows: below 0 it
 * is the numerator, above 0 that is 1, and a NaN compares as above and stays one. The product with
 * x is masked and not multiplied by 1, so that both functions are this one. */
static inline __attribute__((always_inline)) void sigmoid_group(const float *x, float p, float *y,
                                                                const size_t n)
{
    const __mmask16 times_x = p != 0.0f ? 0xffff : 0;
    __m512 v[GROUP], e[GROUP], d[GROUP];
    EACH_VECTOR v[i] = _mm512_loadu_ps(x + LANES * i);
    EACH_VECTOR e[i] = _mm512_or_ps(v[i], all_of(-0.0f));
    exp_vectors(e, n);
    EACH_VECTOR d[i] = 1.0f + e[i];
    EACH_VECTOR e[i] =
        _mm512_mask_mov_ps(all_of(1.0f), _mm512_cmp_ps_mask(v[i], all_of(0.0f), _CMP_LT_OQ), e[i]);
    EACH_VECTOR e[i] = e[i] / d[i];
    EACH_VECTOR e[i] = _mm512_mask_mul_ps(e[i], times_x, e[i], v[i]);
    EACH_VECTOR _mm512_storeu_ps(y + LANES * i, e[i]);
}

/* y = tanh(x) of n vectors; p is not used. */
static inline __attribute__((always_inline)) void tanh_group(const float *x, float p, float *y,
                                                             const size_t n)
{
    __m512 v[GROUP], k[GROUP], e[GROUP];
    (void)p;
    EACH_VECTOR v[i] = _mm512_abs_ps(_mm512_loadu_ps(x + LANES * i));
    EACH_VECTOR v[i] = _mm512_min_ps(all_of(40.0f), v[i] + v[i]);
    exp_parts_of(v, k, n);
    EACH_VECTOR e[i] = _mm512_scalef_ps(all_of(1.0f), k[i]);
    EACH_VECTOR v[i] = v[i] * e[i];
    EACH_VECTOR v[i] = v[i] + (e[i] - 1.0f);
    EACH_VECTOR v[i] = v[i] / (v[i] + 2.0f);
    EACH_VECTOR e[i] = _mm512_and_ps(_mm512_loadu_ps(x + LANES * i), all_of(-0.0f));
    EACH_VECTOR _mm512_storeu_ps(y + LANES * i, _mm512_or_ps(v[i], e[i]));
}

/* y = gelu(x) of n vectors; p is not used. The polynomial and its end are those of gelu_f32, which
 * says where they come from. */
static inline __attribute__((always_inline)) void gelu_group(const float *x, float p, float *y,
                                                             const size_t n)
{
    static const float steps[] = {2.729554399e-05f, -1.290542714e-04f, -9.490925004e-05f,
                                  4.895981401e-03f, -3.638757393e-02f, -3.182988763e-01f,
                                  -7.978852987e-01f};
    __m512 v[GROUP], t[GROUP], q[GROUP];
    (void)p;
    EACH_VECTOR v[i] = _mm512_loadu_ps(x + LANES * i);
    EACH_VECTOR t[i] = _mm512_min_ps(all_of(GELU_END), _mm512_abs_ps(v[i]));
    EACH_VECTOR q[i] = all_of(-1.965112233e-06f);
#pragma GCC unroll 7
    for (int s = 0; s < 7; s++) {
        EACH_VECTOR q[i] = q[i] * t[i];
        EACH_VECTOR q[i] = q[i] + steps[s];
    }
    EACH_VECTOR q[i] = q[i] * t[i];
    exp_vectors(q, n);
    EACH_VECTOR q[i] = 1.0f - q[i];
    EACH_VECTOR q[i] = _mm512_or_ps(q[i], _mm512_and_ps(v[i], all_of(-0.0f)));
    EACH_VECTOR q[i] = 1.0f + q[i];
    EACH_VECTOR v[i] = 0.5f * v[i];
    EACH_VECTOR v[i] = v[i] * q[i];
    EACH_VECTOR _mm512_storeu_ps(y + LANES * i, v[i]);
}

/* A blocks_fn (row_f32_impl.h): groups as long as there are whole ones, then vector by vector. */
#define IN_GROUPS(name)                                                                            \
    static void name##_blocks(const float *x, float p, float *y, size_t blocks)                    \
    {                                                                                              \
        for (; blocks >= GROUP; blocks -= GROUP, x += GROUP * LANES, y += GROUP * LANES)           \
            name##_group(x, p, y, GROUP);                                                          \
        for (; blocks > 0; blocks--, x += LANES, y += LANES)                                       \
            name##_group(x, p, y, 1);                                                              \
    }

IN_GROUPS(exp)
IN_GROUPS(sigmoid)
IN_GROUPS(tanh)
IN_GROUPS(gelu)

/* y = c ? a : b */
static inline void where_lanes(const uint8_t *c, const uint32_t *a, const uint32_t *b, uint32_t *y)
{
    const __m128i bytes = _mm_loadu_si128((const void *)c);
    const __m512i v = _mm512_loadu_si512(b);
    _mm512_storeu_si512(
        y, _mm512_mask_loadu_epi32(v, _mm_test_epi8_mask(bytes, bytes), (const void *)a));
}

/* y = exp(x - max) of n vectors' lanes that are there; returns `sum` with those added. */
static inline __attribute__((always_inline)) __m512
softmax_group(const float *x, __m512 max, __mmask16 there, float *y, __m512 sum, const size_t n)
{
    __m512 v[GROUP];
    EACH_VECTOR v[i] = _mm512_maskz_loadu_ps(there, x + LANES * i) - max;
    exp_vectors(v, n);
    EACH_VECTOR sum = _mm512_mask_add_ps(sum, there, sum, v[i]);
    EACH_VECTOR _mm512_mask_storeu_ps(y + LANES * i, there, v[i]);
    return sum;
}

/* A row with its maximum and sum in registers; `last` holds what is left of whole vectors. */
static inline void softmax_row(const float *x, float *y, size_t n)
{
    const size_t step = GROUP * LANES, whole = n - n % LANES;
    const __mmask16 last = (__mmask16)((1u << n % LANES) - 1u);
    __m512 max = _mm512_mask_loadu_ps(all_of(x[0]), last, x + whole), sum = _mm512_setzero_ps();
    float lane[LANES];
    size_t i = 0;
    for (size_t k = 0; k < whole; k += LANES)
        max = _mm512_max_ps(_mm512_loadu_ps(x + k), max);
    _mm512_storeu_ps(lane, max);
    max = all_of(fold_max(lane));
    for (; i + step <= whole; i += step)
        sum = softmax_group(x + i, max, 0xffff, y + i, sum, GROUP);
    for (; i < n; i += LANES)
        sum = softmax_group(x + i, max, i < whole ? 0xffff : last, y + i, sum, 1);
    _mm512_storeu_ps(lane, sum);
    const __m512 inverse = all_of(1.0f / fold_sum(lane));
    for (i = 0; i < whole; i += LANES)
        _mm512_storeu_ps(y + i, _mm512_loadu_ps(y + i) * inverse);
    _mm512_mask_storeu_ps(y + i, last, _mm512_maskz_loadu_ps(last, y + i) * inverse);
}

/* n vectors of columns, of the last of which those in `last` are there. What is not reads as 0, and
 * so is exp(0): sums of it go nowhere. */
static inline __attribute__((always_inline)) void
columns_group(float *x, size_t ld, size_t rows, __mmask16 last, float *inverse, const size_t n)
{
    __m512 max[GROUP], sum[GROUP], v[GROUP];
    __mmask16 there[GROUP];
    EACH_VECTOR there[i] = i + 1 < n ? 0xffff : last;
    EACH_VECTOR max[i] = _mm512_maskz_loadu_ps(there[i], x + LANES * i);
    EACH_VECTOR sum[i] = _mm512_setzero_ps();
    for (size_t r = 1; r < rows; r++) {
        EACH_VECTOR v[i] = _mm512_maskz_loadu_ps(there[i], x + r * ld + LANES * i);
        EACH_VECTOR max[i] = _mm512_max_ps(v[i], max[i]);
    }
    for (size_t r = 0; r < rows; r++, x += ld) {
        EACH_VECTOR v[i] = _mm512_maskz_loadu_ps(there[i], x + LANES * i) - max[i];
        exp_vectors(v, n);
        EACH_VECTOR sum[i] = sum[i] + v[i];
        EACH_VECTOR _mm512_mask_storeu_ps(x + LANES * i, there[i], v[i]);
    }
    EACH_VECTOR _mm512_mask_storeu_ps(inverse + LANES * i, there[i], 1.0f / sum[i]);
}

void ROW(pith_softmax_columns_f32)(float *x, size_t ld, size_t n, size_t width, float *inverse)
{
    const size_t step = TILE * LANES;
    for (; width >= step; width -= step, x += step, inverse += step)
        columns_group(x, ld, n, 0xffff, inverse, TILE);
    for (; width > 0; x += LANES, inverse += LANES) {
        const size_t columns = width < LANES ? width : LANES;
        columns_group(x, ld, n, (__mmask16)((1u << columns) - 1u), inverse, 1);
        width -= columns;
    }
}

#include "kernels/ref/row_f32_impl.h"
