/* SPDX-License-Identifier: MIT */
/* row_f32_impl.h - template of the row kernels (pith_kernel_row.h). Parameter: ROW(name), the name
 * with the level's suffix; OWN_EXP_LANES: it has an exp_lanes of its own.
 *
 * Rows go in blocks of 16 elements through a local array: loops of known length over it become
 * vector code for 4, 8 or 16 lanes, whatever the compiler is told the machine has, and x and y may
 * be the same. What is left of a row is copied out and back and runs as one block more. */
#include "activation_f32.h"
#include "pith_kernel_row.h"
#include "math_f32.h"
#include "sum_f32.h"

/* One AVX-512 register, two of AVX2, four of SSE or NEON: the same blocks everywhere, hence the
 * same bits. */
#define LANES 16u

/* y = f(x, p), element by element, of `rows` rows of so many blocks, ld floats apart in x and y. */
typedef void blocks_fn(const float *x, float p, float *y, size_t blocks, size_t rows, size_t ld);

/* Inlined for each function it would cost 5 KB and gain nothing. */
static __attribute__((noinline)) void in_blocks(blocks_fn *f, const float *x, float p, float *y,
                                                size_t n, size_t rows, size_t ld)
{
    size_t blocks = n / LANES, rest = n % LANES;
    f(x, p, y, blocks, rows, ld);
    x += blocks * LANES;
    y += blocks * LANES;
    for (; rest > 0 && rows > 0; rows--, x += ld, y += ld) {
        float last[LANES] = {0};
        memcpy(last, x, rest * sizeof *last);
        f(last, p, last, 1, 1, 0);
        memcpy(y, last, rest * sizeof *last);
    }
}

/* Rows outside, so that constants are loaded once for all of them. The local array v lets x and y
 * be one row. */
#define EACH_BLOCK                                                                                 \
    for (; rows > 0; rows--, x += ld, y += ld)                                                     \
        for (size_t at = 0; at < blocks * LANES; at += LANES)

#define ACT_BLOCKS(name)                                                                           \
    static void name##_blocks(const float *x, float p, float *y, size_t blocks, size_t rows,       \
                              size_t ld)                                                           \
    {                                                                                              \
        (void)p;                                                                                   \
        EACH_BLOCK                                                                                 \
        {                                                                                          \
            float v[LANES];                                                                        \
            for (size_t i = 0; i < LANES; i++)                                                     \
                v[i] = name##_f32(x[at + i]);                                                      \
            memcpy(y + at, v, sizeof v);                                                           \
        }                                                                                          \
    }

/* Of one row: what no epilogue asks for. */
#define BLOCKS(name, value)                                                                        \
    static void name##_blocks(const float *x, float p, float *y, size_t blocks, size_t rows,       \
                              size_t ld)                                                           \
    {                                                                                              \
        (void)p, (void)rows, (void)ld;                                                             \
        for (; blocks > 0; blocks--, x += LANES, y += LANES) {                                     \
            float v[LANES];                                                                        \
            for (size_t i = 0; i < LANES; i++)                                                     \
                v[i] = value;                                                                      \
            memcpy(y, v, sizeof v);                                                                \
        }                                                                                          \
    }

#define ROW_OF(name)                                                                               \
    void ROW(pith_##name##_row_f32)(const float *x, float *y, size_t n)                            \
    {                                                                                              \
        in_blocks(name##_blocks, x, 0.0f, y, n, 1, 0);                                             \
    }

#ifndef OWN_EXP_LANES
/* exp of LANES values, none above 89. */
static inline void exp_lanes(float v[LANES])
{
    for (size_t i = 0; i < LANES; i++)
        v[i] = exp_falling_f32(v[i]);
}
#endif

static void exp_blocks(const float *x, float p, float *y, size_t blocks, size_t rows, size_t ld)
{
    (void)rows, (void)ld;
    for (; blocks > 0; blocks--, x += LANES, y += LANES) {
        float v[LANES];
        for (size_t i = 0; i < LANES; i++)
            v[i] = exp_bounded_f32(x[i] - p);
        exp_lanes(v);
        memcpy(y, v, sizeof v);
    }
}

/* sigmoid_f32; times x with p != 0. */
static void sigmoid_blocks(const float *x, float p, float *y, size_t blocks, size_t rows, size_t ld)
{
    EACH_BLOCK
    {
        float v[LANES];
        for (size_t i = 0; i < LANES; i++)
            v[i] = with_sign_of(x[at + i], -1.0f);
        exp_lanes(v);
        for (size_t i = 0; i < LANES; i++)
            v[i] = choose(x[at + i] < 0.0f, v[i], 1.0f) / (1.0f + v[i]) *
                   choose(p != 0.0f, x[at + i], 1.0f);
        memcpy(y + at, v, sizeof v);
    }
}

ACT_BLOCKS(tanh)
ACT_BLOCKS(gelu)
ACT_BLOCKS(gelu_tanh)
BLOCKS(erf, erf_f32(x[i]))
BLOCKS(at_least, x[i] < p ? p : x[i])
BLOCKS(at_most, x[i] > p ? p : x[i])
BLOCKS(over, x[i] / p)

ROW_OF(sigmoid)
ROW_OF(tanh)
ROW_OF(erf)
ROW_OF(gelu)
ROW_OF(gelu_tanh)

void ROW(pith_swish_row_f32)(const float *x, float *y, size_t n)
{
    in_blocks(sigmoid_blocks, x, 1.0f, y, n, 1, 0);
}

static blocks_fn *blocks_of(enum act_kind kind)
{
    switch (kind) {
    case ACT_SIGMOID:
    case ACT_SWISH:
        return sigmoid_blocks;
    case ACT_TANH:
        return tanh_blocks;
    case ACT_GELU:
        return gelu_blocks;
    case ACT_GELU_TANH:
        return gelu_tanh_blocks;
    default:
        return NULL;
    }
}

bool ROW(pith_activate_rows_f32)(enum act_kind kind, float *y, size_t ld, size_t rows, size_t n)
{
    blocks_fn *f = blocks_of(kind);
    if (f)
        in_blocks(f, y, kind == ACT_SWISH, y, n, rows, ld);
    return f;
}

void ROW(pith_relu_row_f32)(const float *x, float *y, size_t n)
{
    in_blocks(at_least_blocks, x, 0.0f, y, n, 1, 0);
}

/* A piece is bounded from below, then, in the first-level cache, from above. */
void ROW(pith_clip_row_f32)(const float *x, float low, float high, float *y, size_t n)
{
    const size_t piece = 1024;
    for (size_t k; n > 0; n -= k, x += k, y += k) {
        k = n < piece ? n : piece;
        in_blocks(at_least_blocks, x, low, y, k, 1, 0);
        in_blocks(at_most_blocks, y, high, y, k, 1, 0);
    }
}

void ROW(pith_exp_row_f32)(const float *x, float minus, float *y, size_t n)
{
    in_blocks(exp_blocks, x, minus, y, n, 1, 0);
}

/* ---- folds ------------------------------------------------------------------------------- */

/* 16 -> 8 -> 4 -> 2 -> 1, lane k with lane k + half, as in sum_f32.c. */
static float fold_sum(float lane[LANES])
{
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++)
            lane[k] += lane[k + half];
    return lane[0];
}

static inline float larger(float x, float than)
{
    return x > than ? x : than;
}

static float max_of(const float *x, size_t n)
{
    float lane[LANES], max = x[0];
    for (size_t k = 0; k < LANES; k++)
        lane[k] = max;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lane[k] = larger(x[i + k], lane[k]);
    for (; i < n; i++)
        max = larger(x[i], max);
    for (size_t k = 0; k < LANES; k++)
        max = larger(lane[k], max);
    return max;
}

/* Lanes past the last add 0, which changes no sum that began with 0. */
static float sum_of(const float *x, size_t n)
{
    float lane[LANES] = {0}, last[LANES] = {0};
    for (; n >= LANES; n -= LANES, x += LANES)
        for (size_t k = 0; k < LANES; k++)
            lane[k] += x[k];
    memcpy(last, x, n * sizeof *last);
    for (size_t k = 0; k < LANES; k++)
        lane[k] += last[k];
    return fold_sum(lane);
}

static float sum_of_squares(const float *x, float minus, size_t n)
{
    float lane[LANES] = {0}, last[LANES] = {0};
    for (; n >= LANES; n -= LANES, x += LANES)
        for (size_t k = 0; k < LANES; k++)
            lane[k] += (x[k] - minus) * (x[k] - minus);
    memcpy(last, x, n * sizeof *last);
    for (uint32_t k = 0; k < LANES; k++)
        lane[k] += choose(k < n, (last[k] - minus) * (last[k] - minus), 0.0f);
    return fold_sum(lane);
}

/* ---- rows -------------------------------------------------------------------------------- */

void ROW(pith_softmax_row_f32)(const float *x, float *y, size_t n)
{
    in_blocks(exp_blocks, x, max_of(x, n), y, n, 1, 0);
    in_blocks(over_blocks, y, sum_of(y, n), y, n, 1, 0);
}

#ifdef __OPTIMIZE_SIZE__
#define INSTANCES __attribute__((noinline))
#else
#define INSTANCES inline __attribute__((always_inline))
#endif

/* LANES columns, of which `columns` are there. */
static INSTANCES void lanes_of(float *x, size_t ld, size_t n, size_t columns, float *inverse)
{
    const size_t bytes = columns * sizeof *x;
    float max[LANES] = {0}, sum[LANES] = {0}, v[LANES] = {0};
    memcpy(max, x, bytes);
    for (size_t r = 1; r < n; r++) {
        memcpy(v, x + r * ld, bytes);
        for (size_t c = 0; c < LANES; c++)
            max[c] = larger(v[c], max[c]);
    }
    for (size_t r = 0; r < n; r++) {
        memcpy(v, x + r * ld, bytes);
        for (size_t c = 0; c < LANES; c++)
            v[c] -= max[c];
        exp_lanes(v);
        for (size_t c = 0; c < LANES; c++)
            sum[c] += v[c];
        memcpy(x + r * ld, v, bytes);
    }
    for (size_t c = 0; c < LANES; c++)
        max[c] = 1.0f / sum[c];
    memcpy(inverse, max, bytes);
}

/* An instance for whole ones, whose copies are of known length. */
void ROW(pith_softmax_columns_f32)(float *x, size_t ld, size_t n, size_t width, float *inverse)
{
    size_t c = 0;
    for (; c + LANES <= width; c += LANES)
        lanes_of(x + c, ld, n, LANES, inverse + c);
    if (c < width)
        lanes_of(x + c, ld, n, width - c, inverse + c);
}

#define PIECE 256u /* of long sums, as in sum_f32.c */

static __attribute__((noinline)) void norm_blocks(const struct norm_row *row, float mean,
                                                  float factor, size_t blocks)
{
    const float *x = row->x, *scale = row->scale, *bias = row->bias;
    float *y = row->y, v[LANES];
    for (size_t i = 0; i < blocks * LANES; i += LANES) {
        for (size_t k = 0; k < LANES; k++)
            v[k] = (x[i + k] - mean) * (factor * scale[i + k]);
        for (size_t k = 0; bias && k < LANES; k++)
            v[k] += bias[i + k];
        memcpy(y + i, v, sizeof v);
    }
}

void ROW(pith_layer_norm_row_f32)(const struct norm_row *row, size_t n)
{
    const float *x = row->x;
    double sum = 0, square = 0;
    for (size_t at = 0; at < n; at += PIECE)
        sum += (double)sum_of(x + at, n - at < PIECE ? n - at : PIECE);
    const float mean = (float)(sum / (double)n);
    for (size_t at = 0; at < n; at += PIECE)
        square += (double)sum_of_squares(x + at, mean, n - at < PIECE ? n - at : PIECE);
    const float factor = 1.0f / pith_sqrt_f32((float)(square / (double)n) + row->epsilon);
    const size_t blocks = n / LANES, done = blocks * LANES, rest = (n - done) * sizeof *x;
    float last[3][LANES] = {{0}};
    const struct norm_row end = {last[0], last[0], last[1], row->bias ? last[2] : NULL, 0.0f};
    norm_blocks(row, mean, factor, blocks);
    memcpy(last[0], x + done, rest);
    memcpy(last[1], row->scale + done, rest);
    if (row->bias)
        memcpy(last[2], row->bias + done, rest);
    norm_blocks(&end, mean, factor, 1);
    memcpy(row->y + done, last[0], rest);
}

/* A step of 0 reads the same 16 elements again. */
void ROW(pith_where_row_b32)(const uint8_t *c, const uint32_t *a, size_t a_step, const uint32_t *b,
                             size_t b_step, uint32_t *y, size_t n)
{
    uint32_t fixed_a[LANES], fixed_b[LANES], v[LANES];
    for (size_t k = 0; k < LANES; k++) {
        fixed_a[k] = *a;
        fixed_b[k] = *b;
    }
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const uint32_t *from_a = a_step ? a + i : fixed_a, *from_b = b_step ? b + i : fixed_b;
        for (size_t k = 0; k < LANES; k++) {
            uint32_t mask = 0u - (uint32_t)(c[i + k] != 0);
            v[k] = (from_a[k] & mask) | (from_b[k] & ~mask);
        }
        memcpy(y + i, v, sizeof v);
    }
    for (; i < n; i++)
        y[i] = c[i] ? a[i * a_step] : b[i * b_step];
}
