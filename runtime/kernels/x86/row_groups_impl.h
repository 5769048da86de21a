/* SPDX-License-Identifier: MIT */
/* row_groups_impl.h - template of what row_f32_impl.h takes from a level: exp, sigmoid, tanh, erf,
 * gelu and softmax for several vectors at once.
 *
 * What one vector goes through is a single chain of some 30 operations, each of which waits 3 to 4
 * cycles for the one before: a processor looks far enough ahead to have two of them under way.
 * Statement by statement for some vectors, it has enough to do. Bit for bit the
 * functions of exp_log_f32.h and activation_f32.h.
 *
 * Parameters: ROW(name); vec, a vector of WIDTH floats, and vmask, which of its lanes are there;
 * GROUP, how many vectors registers hold, whole blocks of LANES (row_lanes.h); TILE, vectors of a
 * tile of gemm_f32; functions named vec_. vec_min, vec_max: the second operand where one is NaN.
 * vec_power(shifted): power_of_shifted; vec_scaled(v, shifted): v times the power with the bits of
 * exp_f32. */
#ifndef ROW_GROUPS_IMPL_H
#define ROW_GROUPS_IMPL_H

#include "kernels/kernel_row.h"
#include "kernels/ref/activation_f32.h"
#include "kernels/x86/row_lanes.h"

#define OWN_GROUPS
#define VECTORS (LANES / WIDTH)
#define EACH_VECTOR _Pragma("GCC unroll 8") for (size_t i = 0; i < n; i++)

/* to = x * one + zero, and to = to * z + (x * one + zero); the constants are one number each. */
#define PAIR(to, x, one, zero)                                                                     \
    EACH_VECTOR to[i] = x[i] * (one);                                                              \
    EACH_VECTOR to[i] = to[i] + (zero);
#define NEXT_PAIR(to, z, x, one, zero)                                                             \
    EACH_VECTOR to[i] = to[i] * z[i];                                                              \
    PAIR(pair, x, one, zero)                                                                       \
    EACH_VECTOR to[i] = to[i] + pair[i];

/* exp(v) = 2^k (1 + p), v becomes p: exp_parts. */
static inline __attribute__((always_inline)) void exp_parts_of(vec *v, vec *shifted, const size_t n)
{
    vec p[GROUP], z[GROUP], pair[GROUP];
    EACH_VECTOR z[i] = v[i] * 1.44269504f;
    EACH_VECTOR shifted[i] = z[i] + EXP_SHIFT;
    EACH_VECTOR z[i] = shifted[i] - EXP_SHIFT;
    EACH_VECTOR v[i] = v[i] - z[i] * LN2_HI;
    EACH_VECTOR v[i] = v[i] - z[i] * LN2_LO;
    EACH_VECTOR z[i] = v[i] * v[i];
    PAIR(p, v, 8.366847411e-3f, 4.166769981e-2f)
    EACH_VECTOR p[i] = p[i] + z[i] * 1.384524861e-3f;
    NEXT_PAIR(p, z, v, 1.666654050e-1f, 4.999999702e-1f)
    EACH_VECTOR p[i] = p[i] * z[i];
    EACH_VECTOR v[i] = p[i] + v[i];
}

/* v = exp(v): exp_near_f32. */
static inline __attribute__((always_inline)) void exp_near_vectors(vec *v, const size_t n)
{
    vec shifted[GROUP];
    exp_parts_of(v, shifted, n);
    EACH_VECTOR shifted[i] = vec_power(shifted[i]);
    EACH_VECTOR v[i] = v[i] + 1.0f;
    EACH_VECTOR v[i] = v[i] * shifted[i];
}

/* v = exp(v): exp_fall_f32. */
static inline __attribute__((always_inline)) void fall_vectors(vec *v, const size_t n)
{
    EACH_VECTOR v[i] = vec_max(vec_all(-88.0f), v[i]);
    exp_near_vectors(v, n);
}

/* q = 2^q: exp2_near_f32. */
static inline __attribute__((always_inline)) void exp2_near_vectors(vec *q, float shift,
                                                                    const size_t n)
{
    vec p[GROUP], z[GROUP], pair[GROUP], shifted[GROUP];
    EACH_VECTOR shifted[i] = q[i] + shift;
    EACH_VECTOR q[i] = q[i] - (shifted[i] - shift);
    EACH_VECTOR shifted[i] = vec_power(shifted[i]);
    EACH_VECTOR z[i] = q[i] * q[i];
    PAIR(p, q, 1.326955506e-3f, 9.671293199e-3f)
    NEXT_PAIR(p, z, q, 5.550710857e-2f, 2.402224690e-1f)
    NEXT_PAIR(p, z, q, 6.931470037e-1f, 1.0f)
    EACH_VECTOR q[i] = p[i] * shifted[i];
}

/* y = exp(x - p) of n vectors */
static inline __attribute__((always_inline)) void exp_group(const float *x, float p, float *y,
                                                            const size_t n)
{
    vec v[GROUP], shifted[GROUP];
    EACH_VECTOR v[i] = vec_min(vec_all(89.0f), vec_load(x + WIDTH * i) - p);
    EACH_VECTOR v[i] = vec_max(vec_all(-105.0f), v[i]);
    exp_parts_of(v, shifted, n);
    EACH_VECTOR v[i] = vec_scaled(v[i] + 1.0f, shifted[i]);
    EACH_VECTOR vec_store(y + WIDTH * i, v[i]);
}

/* The same of what is at most 0. */
static inline __attribute__((always_inline)) void fall_group(const float *x, float p, float *y,
                                                             const size_t n)
{
    vec v[GROUP];
    EACH_VECTOR v[i] = vec_load(x + WIDTH * i) - p;
    fall_vectors(v, n);
    EACH_VECTOR vec_store(y + WIDTH * i, v[i]);
}

/* y = sigmoid(x) of n vectors; x sigmoid(x) where p is not 0. The product with x is masked and not
 * multiplied by 1, so that both functions are this one. */
static inline __attribute__((always_inline)) void sigmoid_group(const float *x, float p, float *y,
                                                                const size_t n)
{
    const vmask times_x = p != 0.0f ? vmask_first(WIDTH) : vmask_first(0);
    vec v[GROUP];
    EACH_VECTOR v[i] = vec_min(vec_all(86.0f), vec_load(x + WIDTH * i));
    EACH_VECTOR v[i] = -vec_max(vec_all(-89.0f), v[i]);
    exp_near_vectors(v, n);
    EACH_VECTOR v[i] = 1.0f / (1.0f + v[i]);
    EACH_VECTOR v[i] = vec_mul_there(times_x, v[i], vec_load(x + WIDTH * i));
    EACH_VECTOR vec_store(y + WIDTH * i, v[i]);
}

/* y = tanh(x) of n vectors; p is not used. */
static inline __attribute__((always_inline)) void tanh_group(const float *x, float p, float *y,
                                                             const size_t n)
{
    vec v[GROUP], e[GROUP];
    (void)p;
    EACH_VECTOR v[i] = vec_or(vec_load(x + WIDTH * i), vec_all(-0.0f));
    EACH_VECTOR v[i] = vec_max(vec_all(-40.0f), v[i] + v[i]);
    exp_parts_of(v, e, n);
    EACH_VECTOR e[i] = vec_power(e[i]);
    EACH_VECTOR v[i] = v[i] * e[i];
    EACH_VECTOR v[i] = (1.0f - e[i]) - v[i];
    EACH_VECTOR v[i] = v[i] / (2.0f - v[i]);
    EACH_VECTOR vec_store(y + WIDTH * i, vec_or(v[i], vec_sign(vec_load(x + WIDTH * i))));
}

/* y = erf(x) of n vectors; p is not used. The polynomials are those of erf_f32, which says where
 * they come from. The one for |x| < 1 comes last, so that registers do not hold both. */
static inline __attribute__((always_inline)) void erf_group(const float *x, float p, float *y,
                                                            const size_t n)
{
    vec v[GROUP], t[GROUP], z[GROUP], q[GROUP], pair[GROUP];
    (void)p;
    EACH_VECTOR t[i] = vec_min(vec_all(4.0f), vec_magnitude(vec_load(x + WIDTH * i)));
    EACH_VECTOR z[i] = t[i] * t[i];
    PAIR(q, t, -1.669513877e-3f, 2.139781602e-2f)
    NEXT_PAIR(q, z, t, -1.281109005e-1f, -9.438688755e-1f)
    NEXT_PAIR(q, z, t, -1.612386703f, -3.778644139e-3f)
    exp2_near_vectors(q, EXP_SHIFT, n);
    EACH_VECTOR v[i] = vec_load(x + WIDTH * i);
    EACH_VECTOR q[i] = vec_or(1.0f - q[i], vec_sign(v[i]));
    EACH_VECTOR t[i] = v[i] * v[i];
    EACH_VECTOR z[i] = t[i] * t[i];
    PAIR(v, t, -7.997853099e-4f, 5.187162198e-3f)
    EACH_VECTOR v[i] = v[i] + z[i] * 7.806903886e-5f;
    NEXT_PAIR(v, z, t, -2.685334720e-2f, 1.128357872e-1f)
    NEXT_PAIR(v, z, t, -3.761262596e-1f, 1.283791661e-1f)
    EACH_VECTOR t[i] = vec_load(x + WIDTH * i);
    EACH_VECTOR v[i] = v[i] * t[i];
    EACH_VECTOR v[i] = v[i] + t[i];
    EACH_VECTOR vec_store(y + WIDTH * i, vec_where_below(vec_magnitude(t[i]), 1.0f, v[i], q[i]));
}

/* y = gelu(x) of n vectors, by tanh where p is not 0: gelu_by. */
static inline __attribute__((always_inline)) void gelu_group(const float *x, float p, float *y,
                                                             const size_t n)
{
    static const float fits[2][9] = {GELU_ERF, GELU_TANH};
    const float *c = fits[p != 0.0f];
    vec t[GROUP], z[GROUP], q[GROUP], pair[GROUP];
    EACH_VECTOR t[i] = vec_min(vec_all(c[8]), vec_magnitude(vec_load(x + WIDTH * i)));
    EACH_VECTOR z[i] = t[i] * t[i];
    PAIR(q, t, c[7], c[6])
    NEXT_PAIR(q, z, t, c[5], c[4])
    NEXT_PAIR(q, z, t, c[3], c[2])
    NEXT_PAIR(q, z, t, c[1], c[0])
    EACH_VECTOR q[i] = q[i] * t[i];
    exp2_near_vectors(q, EXP_SHIFT - 1.0f, n);
    EACH_VECTOR q[i] = q[i] * t[i];
    EACH_VECTOR t[i] = vec_max(vec_all(0.0f), vec_load(x + WIDTH * i));
    EACH_VECTOR vec_store(y + WIDTH * i, t[i] - q[i]);
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
IN_GROUPS(fall)
IN_GROUPS(sigmoid)
IN_GROUPS(tanh)
IN_GROUPS(erf)
IN_GROUPS(gelu)

/* y = exp(x - max) of n vectors, lanes of a block's that are there; added to the block's sums. */
static inline __attribute__((always_inline)) void softmax_group(const float *x, vec max,
                                                                const vmask *there,
                                                                const bool whole, float *y,
                                                                vec *sum, const size_t n)
{
    vec v[GROUP];
    EACH_VECTOR v[i] = vec_load_there(x + WIDTH * i, there[i % VECTORS], whole) - max;
    fall_vectors(v, n);
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
        fall_vectors(v, n);
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
