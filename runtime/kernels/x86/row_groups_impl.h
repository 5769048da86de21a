/* SPDX-License-Identifier: MIT */
/* row_groups_impl.h - template of what row_f32_impl.h takes from a level: exp, sigmoid, tanh, erf,
 * gelu and softmax for several vectors at once.
 *
 * What one vector goes through is a single chain of some 30 operations, each of which waits 3 to 4
 * cycles for the one before: a processor looks far enough ahead to have two of them under way.
 * Statement by statement for some vectors, it has enough to do. Bit for bit exp_falling_f32,
 * sigmoid_f32, tanh_f32, erf_f32, gelu_f32 and gelu_tanh_f32.
 *
 * Parameters: ROW(name); vec, a vector of WIDTH floats, and vmask, which of its lanes are there;
 * GROUP, how many vectors registers hold, whole blocks of LANES (row_lanes.h); TILE, vectors of a
 * tile of gemm_f32; functions named vec_. vec_min, vec_max: the second operand where one is NaN.
 * vec_scaled(v, k): v * 2^k with the bits of exp_falling_f32; vec_scaled_near: of exp_near_f32;
 * vec_scaled_wide: of exp_wide_f32. */
#ifndef ROW_GROUPS_IMPL_H
#define ROW_GROUPS_IMPL_H

#include "kernels/kernel_row.h"
#include "kernels/ref/activation_f32.h"
#include "kernels/x86/row_lanes.h"

#define OWN_GROUPS
#define VECTORS (LANES / WIDTH)
#define EACH_VECTOR _Pragma("GCC unroll 8") for (size_t i = 0; i < n; i++)

/* A polynomial's steps: p = p * x + step. */
#define POLYNOMIAL(p, x, steps)                                                                    \
    _Pragma("GCC unroll 8") for (size_t s = 0; s < sizeof(steps) / sizeof *(steps); s++)           \
    {                                                                                              \
        EACH_VECTOR p[i] = p[i] * x[i];                                                            \
        EACH_VECTOR p[i] = p[i] + (steps)[s];                                                      \
    }

/* exp(v) = 2^k (1 + p), v becomes p: exp_parts. */
static inline __attribute__((always_inline)) void exp_parts_of(vec *v, vec *k, const size_t n)
{
    static const float steps[] = {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                                  1.6666665459e-1f, 5.0000001201e-1f};
    vec p[GROUP], t[GROUP];
    EACH_VECTOR k[i] = v[i] * 1.44269504f;
    EACH_VECTOR k[i] = k[i] + ROUND_F32;
    EACH_VECTOR k[i] = k[i] - ROUND_F32;
    EACH_VECTOR t[i] = k[i] * LN2_HI;
    EACH_VECTOR v[i] = v[i] - t[i];
    EACH_VECTOR t[i] = k[i] * LN2_LO;
    EACH_VECTOR v[i] = v[i] - t[i];
    EACH_VECTOR p[i] = vec_all(1.9875691500e-4f);
    POLYNOMIAL(p, v, steps)
    EACH_VECTOR t[i] = v[i] * v[i];
    EACH_VECTOR p[i] = p[i] * t[i];
    EACH_VECTOR v[i] = p[i] + v[i];
}

/* v = exp(v), none above 89. */
static inline __attribute__((always_inline)) void exp_vectors(vec *v, const size_t n)
{
    vec k[GROUP];
    EACH_VECTOR v[i] = vec_max(vec_all(-105.0f), v[i]);
    exp_parts_of(v, k, n);
    EACH_VECTOR v[i] = v[i] + 1.0f;
    EACH_VECTOR v[i] = vec_scaled(v[i], k[i]);
}

/* v = exp(v), -87 <= v <= 88. */
static inline __attribute__((always_inline)) void exp_near_vectors(vec *v, const size_t n)
{
    vec k[GROUP];
    exp_parts_of(v, k, n);
    EACH_VECTOR v[i] = v[i] + 1.0f;
    EACH_VECTOR v[i] = vec_scaled_near(v[i], k[i]);
}

/* e = sigmoid(v) */
static inline __attribute__((always_inline)) void sigmoid_vectors(const vec *v, vec *e,
                                                                  const size_t n)
{
    vec k[GROUP];
    EACH_VECTOR e[i] = vec_max(vec_all(-86.0f), -v[i]);
    EACH_VECTOR e[i] = vec_min(vec_all(89.0f), e[i]);
    exp_parts_of(e, k, n);
    EACH_VECTOR e[i] = e[i] + 1.0f;
    EACH_VECTOR e[i] = vec_scaled_wide(e[i], k[i]);
    EACH_VECTOR e[i] = 1.0f / (1.0f + e[i]);
}

/* y = exp(x - p) of n vectors; beyond 89 it is infinite anyway, and a NaN stays one. */
static inline __attribute__((always_inline)) void exp_group(const float *x, float p, float *y,
                                                            const size_t n)
{
    vec v[GROUP];
    EACH_VECTOR v[i] = vec_min(vec_all(89.0f), vec_load(x + WIDTH * i) - p);
    exp_vectors(v, n);
    EACH_VECTOR vec_store(y + WIDTH * i, v[i]);
}

/* y = sigmoid(x) of n vectors; x sigmoid(x) where p is not 0. The product with x is masked and not
 * multiplied by 1, so that both functions are this one. */
static inline __attribute__((always_inline)) void sigmoid_group(const float *x, float p, float *y,
                                                                const size_t n)
{
    const vmask times_x = p != 0.0f ? vmask_first(WIDTH) : vmask_first(0);
    vec v[GROUP], e[GROUP];
    EACH_VECTOR v[i] = vec_load(x + WIDTH * i);
    sigmoid_vectors(v, e, n);
    EACH_VECTOR v[i] = vec_load(x + WIDTH * i);
    EACH_VECTOR e[i] = vec_mul_there(times_x, e[i], v[i]);
    EACH_VECTOR vec_store(y + WIDTH * i, e[i]);
}

/* y = tanh(x) of n vectors; p is not used. */
static inline __attribute__((always_inline)) void tanh_group(const float *x, float p, float *y,
                                                             const size_t n)
{
    vec v[GROUP], k[GROUP], e[GROUP];
    (void)p;
    EACH_VECTOR v[i] = vec_magnitude(vec_load(x + WIDTH * i));
    EACH_VECTOR v[i] = vec_min(vec_all(40.0f), v[i] + v[i]);
    exp_parts_of(v, k, n);
    EACH_VECTOR e[i] = vec_power(k[i]);
    EACH_VECTOR v[i] = v[i] * e[i];
    EACH_VECTOR v[i] = v[i] + (e[i] - 1.0f);
    EACH_VECTOR v[i] = v[i] / (v[i] + 2.0f);
    EACH_VECTOR e[i] = vec_sign(vec_load(x + WIDTH * i));
    EACH_VECTOR vec_store(y + WIDTH * i, vec_or(v[i], e[i]));
}

/* y = erf(x) of n vectors; p is not used. The polynomials are those of erf_f32, which says where
 * they come from. The one for |x| < 1 comes last, so that registers do not hold both. */
static inline __attribute__((always_inline)) void erf_group(const float *x, float p, float *y,
                                                            const size_t n)
{
    static const float far[] = {-2.960122208e-03f, 2.188967337e-02f,  -1.032182653e-01f,
                                -6.380121468e-01f, -1.127171691e+00f, -3.205644171e-04f};
    static const float near[] = {-8.010241949e-04f, 5.188333780e-03f,  -2.685381563e-02f,
                                 1.128358526e-01f,  -3.761262584e-01f, 1.283791670e-01f};
    vec v[GROUP], t[GROUP], q[GROUP];
    (void)p;
    EACH_VECTOR t[i] = vec_min(vec_all(4.0f), vec_magnitude(vec_load(x + WIDTH * i)));
    EACH_VECTOR q[i] = vec_all(1.876056448e-04f);
    POLYNOMIAL(q, t, far)
    exp_near_vectors(q, n);
    EACH_VECTOR v[i] = vec_load(x + WIDTH * i);
    EACH_VECTOR q[i] = vec_or(1.0f - q[i], vec_sign(v[i]));
    EACH_VECTOR t[i] = v[i] * v[i];
    EACH_VECTOR v[i] = vec_all(7.854008922e-05f);
    POLYNOMIAL(v, t, near)
    EACH_VECTOR t[i] = vec_load(x + WIDTH * i);
    EACH_VECTOR v[i] = v[i] * t[i];
    EACH_VECTOR v[i] = v[i] + t[i];
    EACH_VECTOR vec_store(y + WIDTH * i, vec_where_below(vec_magnitude(t[i]), 1.0f, v[i], q[i]));
}

/* y = gelu(x) of n vectors; p is not used. The polynomial and its end are those of gelu_f32, which
 * says where they come from. */
static inline __attribute__((always_inline)) void gelu_group(const float *x, float p, float *y,
                                                             const size_t n)
{
    static const float steps[] = {2.729554399e-05f, -1.290542714e-04f, -9.490925004e-05f,
                                  4.895981401e-03f, -3.638757393e-02f, -3.182988763e-01f,
                                  -7.978852987e-01f};
    vec v[GROUP], t[GROUP], q[GROUP];
    (void)p;
    EACH_VECTOR v[i] = vec_load(x + WIDTH * i);
    EACH_VECTOR t[i] = vec_min(vec_all(GELU_END), vec_magnitude(v[i]));
    EACH_VECTOR q[i] = vec_all(-1.965112233e-06f);
    POLYNOMIAL(q, t, steps)
    EACH_VECTOR q[i] = q[i] * t[i];
    exp_near_vectors(q, n);
    EACH_VECTOR q[i] = 1.0f - q[i];
    EACH_VECTOR q[i] = vec_or(q[i], vec_sign(v[i]));
    EACH_VECTOR q[i] = 1.0f + q[i];
    EACH_VECTOR v[i] = 0.5f * v[i];
    EACH_VECTOR v[i] = v[i] * q[i];
    EACH_VECTOR vec_store(y + WIDTH * i, v[i]);
}

/* y = gelu(x) by tanh of n vectors; p is not used. */
static inline __attribute__((always_inline)) void gelu_tanh_group(const float *x, float p, float *y,
                                                                  const size_t n)
{
    vec v[GROUP], u[GROUP], e[GROUP];
    (void)p;
    EACH_VECTOR v[i] = vec_load(x + WIDTH * i);
    EACH_VECTOR u[i] = vec_max(vec_all(-20.0f), vec_min(vec_all(20.0f), v[i]));
    EACH_VECTOR v[i] = vec_max(vec_all(-20.0f), v[i]);
    EACH_VECTOR e[i] = 0.044715f * (u[i] * u[i] * u[i]);
    EACH_VECTOR u[i] = 1.59576912f * (u[i] + e[i]);
    sigmoid_vectors(u, e, n);
    EACH_VECTOR vec_store(y + WIDTH * i, v[i] * e[i]);
}

/* A blocks_fn (row_f32_impl.h): groups as long as there are whole ones, then block by block. */
#define IN_GROUPS(name)                                                                            \
    static void name##_blocks(const float *x, float p, float *y, size_t blocks)                    \
    {                                                                                              \
        size_t left = blocks * VECTORS;                                                            \
        for (; left >= GROUP; left -= GROUP, x += GROUP * WIDTH, y += GROUP * WIDTH)               \
            name##_group(x, p, y, GROUP);                                                          \
        for (; left > 0; left -= VECTORS, x += LANES, y += LANES)                                  \
            name##_group(x, p, y, VECTORS);                                                        \
    }

IN_GROUPS(exp)
IN_GROUPS(sigmoid)
IN_GROUPS(tanh)
IN_GROUPS(erf)
IN_GROUPS(gelu)
IN_GROUPS(gelu_tanh)

/* y = exp(x - max) of n vectors, lanes of a block's that are there; added to the block's sums. */
static inline __attribute__((always_inline)) void softmax_group(const float *x, vec max,
                                                                const vmask *there,
                                                                const bool whole, float *y,
                                                                vec *sum, const size_t n)
{
    vec v[GROUP];
    EACH_VECTOR v[i] = vec_load_there(x + WIDTH * i, there[i % VECTORS], whole) - max;
    exp_vectors(v, n);
    EACH_VECTOR sum[i % VECTORS] = vec_add_there(sum[i % VECTORS], v[i], there[i % VECTORS], whole);
    EACH_VECTOR vec_store_there(y + WIDTH * i, v[i], there[i % VECTORS], whole);
}

/* A row with its maximum and sum in registers; `last` holds what is left of whole blocks. */
static inline void softmax_row(const float *x, float *y, size_t row)
{
    const size_t n = VECTORS, step = GROUP * WIDTH, whole = row - row % LANES;
    vec max[VECTORS], sum[VECTORS];
    vmask last[VECTORS];
    float lane[LANES];
    size_t k = 0;
    EACH_VECTOR last[i] = vmask_first((int)(row - whole) - (int)(i * WIDTH));
    EACH_VECTOR sum[i] = vec_all(0.0f);
    EACH_VECTOR max[i] = vec_load_there_or(x[0], x + whole + WIDTH * i, last[i]);
    for (; k < whole; k += LANES)
        EACH_VECTOR max[i] = vec_max(vec_load(x + k + WIDTH * i), max[i]);
    EACH_VECTOR vec_store(lane + WIDTH * i, max[i]);
    max[0] = vec_all(fold_max(lane));
    for (k = 0; k + step <= whole; k += step)
        softmax_group(x + k, max[0], last, true, y + k, sum, GROUP);
    for (; k < whole; k += LANES)
        softmax_group(x + k, max[0], last, true, y + k, sum, VECTORS);
    if (k < row)
        softmax_group(x + k, max[0], last, false, y + k, sum, VECTORS);
    EACH_VECTOR vec_store(lane + WIDTH * i, sum[i]);
    const vec inverse = vec_all(1.0f / fold_sum(lane));
    for (k = 0; k < whole; k += LANES)
        EACH_VECTOR vec_store(y + k + WIDTH * i, vec_load(y + k + WIDTH * i) * inverse);
    if (k < row)
        EACH_VECTOR vec_store_there(y + k + WIDTH * i,
                                    vec_load_there(y + k + WIDTH * i, last[i], false) * inverse,
                                    last[i], false);
}

struct last_vector {
    vmask lanes; /* that are there */
    bool whole;
};

/* n vectors of columns, the last of which is `end`. What is not there reads as 0, and so is exp(0):
 * sums of it go nowhere. */
static inline __attribute__((always_inline)) void columns_group(float *x, size_t ld, size_t rows,
                                                                const struct last_vector end,
                                                                float *inverse, const size_t n)
{
    const vmask last = end.lanes;
    const bool whole = end.whole;
    vec max[GROUP], sum[GROUP], v[GROUP];
    EACH_VECTOR max[i] = vec_load_there(x + WIDTH * i, last, whole);
    EACH_VECTOR sum[i] = vec_all(0.0f);
    for (size_t r = 1; r < rows; r++) {
        EACH_VECTOR v[i] = vec_load_there(x + r * ld + WIDTH * i, last, whole);
        EACH_VECTOR max[i] = vec_max(v[i], max[i]);
    }
    for (size_t r = 0; r < rows; r++, x += ld) {
        EACH_VECTOR v[i] = vec_load_there(x + WIDTH * i, last, whole) - max[i];
        exp_vectors(v, n);
        EACH_VECTOR sum[i] = sum[i] + v[i];
        EACH_VECTOR vec_store_there(x + WIDTH * i, v[i], last, whole);
    }
    EACH_VECTOR vec_store_there(inverse + WIDTH * i, 1.0f / sum[i], last, whole);
}

void ROW(pith_softmax_columns_f32)(float *x, size_t ld, size_t n, size_t width, float *inverse)
{
    const size_t step = TILE * WIDTH;
    const struct last_vector all = {vmask_first(WIDTH), true};
    for (; width >= step; width -= step, x += step, inverse += step)
        columns_group(x, ld, n, all, inverse, TILE);
    for (; width >= WIDTH; width -= WIDTH, x += WIDTH, inverse += WIDTH)
        columns_group(x, ld, n, all, inverse, 1);
    if (width > 0)
        columns_group(x, ld, n, (struct last_vector){vmask_first((int)width), false}, inverse, 1);
}

#include "kernels/ref/row_f32_impl.h"

#endif
