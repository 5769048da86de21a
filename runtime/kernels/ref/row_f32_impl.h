/* SPDX-License-Identifier: MIT */
/* row_f32_impl.h - template of the row kernels (kernel_row.h). Parameter: ROW(name), the name
 * with the level's suffix; OWN_LANES: load_rest, store_rest, fold_sum and fold_max are there;
 * OWN_GROUPS: exp_blocks, fall_blocks, sigmoid_blocks, tanh_blocks, erf_blocks, gelu_blocks,
 * where_lanes, softmax_row and softmax_columns_f32; SQRT_F32, where an instruction does it.
 *
 * Rows go in blocks of 16 elements through a local array: loops of known length over it become
 * vector code for 4, 8 or 16 lanes, whatever the compiler's target is, and x and y may
 * be the same. What is left of a row is copied out and back and runs as one block more. */
#include "kernels/ref/activation_f32.h"
#include "kernels/kernel_row.h"
#include "kernels/ref/elementwise_f32.h"
#include "kernels/ref/math_f32.h"
#include "kernels/ref/sum_f32.h"
#include "kernels/ref/transpose_quads.h"

/* One AVX-512 register, two of AVX2, four of SSE or NEON: the same blocks everywhere, hence the
 * same bits. */
#define LANES 16u

#ifndef SQRT_F32
#define SQRT_F32 pith_sqrt_f32
#endif

/* y = f(x, p), element by element */
typedef void blocks_fn(const float *x, float p, float *y, size_t blocks);

#ifndef OWN_LANES
/* What is left of a row; lanes past it become `pad`. */
static inline void load_rest(float last[LANES], const float *x, size_t rest, float pad)
{
    for (size_t k = 0; k < LANES; k++)
        last[k] = pad;
    memcpy(last, x, rest * sizeof *x);
}

static inline void store_rest(float *y, const float last[LANES], size_t rest)
{
    memcpy(y, last, rest * sizeof *y);
}
#endif

/* Inlined for each function it would cost 5 KB and gain nothing. */
static __attribute__((noinline)) void in_blocks(blocks_fn *f, const float *x, float p, float *y,
                                                size_t n)
{
    size_t blocks = n / LANES, rest = n % LANES;
    float last[LANES];
    f(x, p, y, blocks);
    if (rest == 0)
        return;
    load_rest(last, x + blocks * LANES, rest, 0.0f);
    f(last, p, last, 1);
    store_rest(y + blocks * LANES, last, rest);
}

/* x and y may be one row. */
#define BLOCKS(name, value)                                                                        \
    static void name##_blocks(const float *x, float p, float *y, size_t blocks)                    \
    {                                                                                              \
        const size_t n = blocks * LANES;                                                           \
        (void)p;                                                                                   \
        EACH(value);                                                                               \
    }

#define ROW_OF(name)                                                                               \
    void ROW(pith_##name##_row_f32)(const float *x, float *y, size_t n)                            \
    {                                                                                              \
        in_blocks(name##_blocks, x, 0.0f, y, n);                                                   \
    }

#ifndef OWN_GROUPS
static const float gelu_fits[2][9] = {GELU_ERF, GELU_TANH};

BLOCKS(exp, exp_f32(x[i] - p))
BLOCKS(fall, exp_fall_f32(x[i] - p))
/* times x where p is not 0 */
BLOCKS(sigmoid, sigmoid_f32(x[i]) * choose(p != 0.0f, x[i], 1.0f))
BLOCKS(tanh, tanh_f32(x[i]))
BLOCKS(erf, erf_f32(x[i]))
/* p != 0: the form by tanh */
BLOCKS(gelu, gelu_by(p != 0.0f ? gelu_fits[1] : gelu_fits[0], x[i]))

/* y = c ? a : b */
static inline void where_lanes(const uint8_t *c, const uint32_t *a, const uint32_t *b, uint32_t *y)
{
    uint32_t v[LANES];
    for (size_t k = 0; k < LANES; k++) {
        uint32_t mask = 0u - (uint32_t)(c[k] != 0);
        v[k] = (a[k] & mask) | (b[k] & ~mask);
    }
    memcpy(y, v, sizeof v);
}
#endif

ROW_OF(tanh)
ROW_OF(sigmoid)
ROW_OF(erf)
ROW_OF(gelu)
BLOCKS(at_least, x[i] < p ? p : x[i])
BLOCKS(at_most, x[i] > p ? p : x[i])

void ROW(pith_swish_row_f32)(const float *x, float *y, size_t n)
{
    in_blocks(sigmoid_blocks, x, 1.0f, y, n);
}

void ROW(pith_gelu_tanh_row_f32)(const float *x, float *y, size_t n)
{
    in_blocks(gelu_blocks, x, 1.0f, y, n);
}

void ROW(pith_relu_row_f32)(const float *x, float *y, size_t n)
{
    in_blocks(at_least_blocks, x, 0.0f, y, n);
}

/* A piece is bounded from below, then, in the first-level cache, from above. */
void ROW(pith_clip_row_f32)(const float *x, float low, float high, float *y, size_t n)
{
    const size_t piece = 1024;
    for (size_t k; n > 0; n -= k, x += k, y += k) {
        k = n < piece ? n : piece;
        in_blocks(at_least_blocks, x, low, y, k);
        in_blocks(at_most_blocks, y, high, y, k);
    }
}

void ROW(pith_exp_row_f32)(const float *x, float minus, float *y, size_t n)
{
    in_blocks(exp_blocks, x, minus, y, n);
}

/* ---- folds ------------------------------------------------------------------------------- */

static inline float larger(float x, float than)
{
    return x > than ? x : than;
}

#ifndef OWN_LANES
/* 16 -> 8 -> 4 -> 2 -> 1, lane k with lane k + half, as in sum_f32.c. */
static float fold_sum(float lane[LANES])
{
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++)
            lane[k] += lane[k + half];
    return lane[0];
}

static float fold_max(float lane[LANES])
{
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++)
            lane[k] = larger(lane[k + half], lane[k]);
    return lane[0];
}
#endif

static float sum_of(const float *x, size_t n)
{
    float lane[LANES] = {0}, last[LANES];
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lane[k] += x[i + k];
    load_rest(last, x + i, n - i, 0.0f);
    for (size_t k = 0; k < LANES; k++)
        lane[k] += last[k];
    return fold_sum(lane);
}

static float sum_of_squares(const float *x, float minus, size_t n)
{
    float lane[LANES] = {0}, last[LANES];
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lane[k] += (x[i + k] - minus) * (x[i + k] - minus);
    load_rest(last, x + i, n - i, minus);
    for (size_t k = 0; k < LANES; k++)
        lane[k] += (last[k] - minus) * (last[k] - minus);
    return fold_sum(lane);
}

/* ---- rows -------------------------------------------------------------------------------- */

#ifndef __OPTIMIZE_SIZE__
#define SHORT_ROW 64u
#ifndef SHORT_SOFTMAX
#define SHORT_SOFTMAX SHORT_ROW
#endif

/* LANES rows of few elements side by side: one row alone fills few lanes and waits for its maximum
 * and its sum. */
typedef float short_rows[SHORT_ROW][LANES];

/* Four elements of four rows at a time; the last ones together with some before. */
static __attribute__((noinline)) void turn_in(const float *x, size_t n, short_rows v)
{
    for (size_t c = 0; c < LANES && n < 4; c++)
        for (size_t r = 0; r < n; r++)
            v[r][c] = x[c * n + r];
    for (size_t c = 0; c < LANES && n >= 4; c += 4)
        for (size_t r = 0; r < n; r += 4) {
            const size_t at = r + 4 <= n ? r : n - 4;
            transpose_quad(x + c * n + at, (int64_t)n, &v[at][c], LANES);
        }
}

static __attribute__((noinline)) void turn_back(short_rows v, size_t n, float *y)
{
    for (size_t c = 0; c < LANES && n < 4; c++)
        for (size_t r = 0; r < n; r++)
            y[c * n + r] = v[r][c];
    for (size_t c = 0; c < LANES && n >= 4; c += 4)
        for (size_t r = 0; r < n; r += 4) {
            const size_t at = r + 4 <= n ? r : n - 4;
            transpose_quad(&v[at][c], LANES, y + c * n + at, (int64_t)n);
        }
}

/* In the order of one row: lanes k and k + LANES, then the tree of fold_sum. */
static void sum_short_rows(const short_rows v, size_t n, float total[LANES])
{
    float sum[LANES][LANES] = {{0}};
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c < LANES; c++)
            sum[r % LANES][c] += v[r][c];
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++)
            for (size_t c = 0; c < LANES; c++)
                sum[k][c] += sum[k + half][c];
    memcpy(total, sum[0], sizeof sum[0]);
}

static void softmax_short_rows(const float *x, float *y, size_t n)
{
    float v[SHORT_ROW][LANES], sum[LANES], max[LANES];
    turn_in(x, n, v);
    memcpy(max, v[0], sizeof max);
    for (size_t r = 1; r < n; r++)
        for (size_t c = 0; c < LANES; c++)
            max[c] = larger(v[r][c], max[c]);
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c < LANES; c++)
            v[r][c] -= max[c];
    fall_blocks(v[0], 0.0f, v[0], n);
    sum_short_rows(v, n, sum);
    for (size_t c = 0; c < LANES; c++)
        sum[c] = 1.0f / sum[c];
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c < LANES; c++)
            v[r][c] *= sum[c];
    turn_back(v, n, y);
}

static void norm_short_rows(const struct norm_rows *norm, const float *x, float *y, size_t n)
{
    float v[SHORT_ROW][LANES], squares[SHORT_ROW][LANES], sum[LANES], factor[LANES];
    turn_in(x, n, v);
    sum_short_rows(v, n, sum);
    for (size_t c = 0; c < LANES; c++)
        sum[c] = norm->about_zero ? 0.0f : (float)((double)sum[c] / (double)n);
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c < LANES; c++) {
            v[r][c] -= sum[c];
            squares[r][c] = v[r][c] * v[r][c];
        }
    sum_short_rows(squares, n, sum);
    for (size_t c = 0; c < LANES; c++)
        factor[c] = 1.0f / SQRT_F32((float)((double)sum[c] / (double)n) + norm->epsilon);
    for (size_t r = 0; r < n; r++) {
        const float scale = norm->scale[r], bias = norm->bias ? norm->bias[r] : 0.0f;
        for (size_t c = 0; c < LANES; c++)
            v[r][c] = v[r][c] * (factor[c] * scale);
        for (size_t c = 0; norm->bias && c < LANES; c++)
            v[r][c] += bias;
    }
    turn_back(v, n, y);
}

#endif

#ifndef OWN_GROUPS
static float max_of(const float *x, size_t n)
{
    float lane[LANES];
    size_t rest = n % LANES;
    load_rest(lane, x + (n - rest), rest, x[0]);
    for (size_t i = 0; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lane[k] = larger(x[i + k], lane[k]);
    return fold_max(lane);
}

BLOCKS(times, x[i] * p)

static void softmax_row(const float *x, float *y, size_t n)
{
    in_blocks(fall_blocks, x, max_of(x, n), y, n);
    in_blocks(times_blocks, y, 1.0f / sum_of(y, n), y, n);
}
#endif

void ROW(pith_softmax_rows_f32)(const float *x, float *y, size_t rows, size_t n)
{
#ifdef SHORT_ROW
    for (; n <= SHORT_SOFTMAX && rows >= LANES; rows -= LANES, x += LANES * n, y += LANES * n)
        softmax_short_rows(x, y, n);
#endif
    for (; rows > 0; rows--, x += n, y += n)
        softmax_row(x, y, n);
}

#ifndef OWN_GROUPS
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
            v[c] = exp_fall_f32(v[c] - max[c]);
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
#endif

#define PIECE 256u /* of long sums, as in sum_f32.c */

static void norm_row(const struct norm_rows *norm, const float *x, float *y, size_t n)
{
    const float *scale = norm->scale, *bias = norm->bias;
    double sum = 0, square = 0;
    for (size_t at = 0; at < n && !norm->about_zero; at += PIECE)
        sum += (double)sum_of(x + at, n - at < PIECE ? n - at : PIECE);
    const float mean = (float)(sum / (double)n);
    for (size_t at = 0; at < n; at += PIECE)
        square += (double)sum_of_squares(x + at, mean, n - at < PIECE ? n - at : PIECE);
    const float factor = 1.0f / SQRT_F32((float)(square / (double)n) + norm->epsilon);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        float v[LANES];
        for (size_t k = 0; k < LANES; k++)
            v[k] = (x[i + k] - mean) * (factor * scale[i + k]);
        for (size_t k = 0; bias && k < LANES; k++)
            v[k] += bias[i + k];
        memcpy(y + i, v, sizeof v);
    }
    for (; i < n; i++) {
        const float v = (x[i] - mean) * (factor * scale[i]);
        y[i] = bias ? v + bias[i] : v;
    }
}

void ROW(pith_layer_norm_rows_f32)(const struct norm_rows *norm, size_t rows, size_t n)
{
    const float *x = norm->x;
    float *y = norm->y;
#ifdef SHORT_ROW
    for (; n <= SHORT_ROW && rows >= LANES; rows -= LANES, x += LANES * n, y += LANES * n)
        norm_short_rows(norm, x, y, n);
#endif
    for (; rows > 0; rows--, x += n, y += n)
        norm_row(norm, x, y, n);
}

void ROW(pith_sum_rows_f32)(const float *x, float *y, size_t rows, size_t n)
{
#ifdef SHORT_ROW
    for (; n <= SHORT_ROW && rows >= LANES; rows -= LANES, x += LANES * n, y += LANES) {
        float v[SHORT_ROW][LANES];
        turn_in(x, n, v);
        sum_short_rows(v, n, y);
    }
#endif
    for (; rows > 0; rows--, x += n, y++)
        *y = sum_of(x, n);
}

/* Per lane the largest of turn * v; `odd` notes a NaN, which any comparison would lose. */
static inline void join_lanes(float lane[LANES], uint32_t odd[LANES], const float *v, float turn)
{
    for (size_t k = 0; k < LANES; k++) {
        odd[k] |= 0u - (uint32_t)(v[k] != v[k]);
        lane[k] = larger(turn * v[k], lane[k]);
    }
}

static inline void put_odd(float lane[LANES], const uint32_t odd[LANES])
{
    for (size_t k = 0; k < LANES; k++)
        lane[k] = f32_from_bits(f32_bits(lane[k]) | odd[k]);
}

void ROW(pith_extreme_rows_f32)(const float *x, float turn, float *y, size_t rows, size_t n)
{
#ifdef SHORT_ROW
    for (; n <= SHORT_ROW && rows >= LANES; rows -= LANES, x += LANES * n, y += LANES) {
        float v[SHORT_ROW][LANES], lane[LANES];
        uint32_t odd[LANES] = {0};
        turn_in(x, n, v);
        for (size_t k = 0; k < LANES; k++)
            lane[k] = turn * v[0][k];
        for (size_t r = 0; r < n; r++)
            join_lanes(lane, odd, v[r], turn);
        put_odd(lane, odd);
        memcpy(y, lane, sizeof lane);
    }
#endif
    for (; rows > 0; rows--, x += n, y++) {
        float lane[LANES], last[LANES];
        uint32_t odd[LANES] = {0}, any = 0;
        for (size_t k = 0; k < LANES; k++)
            lane[k] = turn * x[0];
        size_t i = 0;
        for (; i + LANES <= n; i += LANES)
            join_lanes(lane, odd, x + i, turn);
        load_rest(last, x + i, n - i, x[0]);
        join_lanes(lane, odd, last, turn);
        for (size_t k = 0; k < LANES; k++)
            any |= odd[k];
        *y = f32_from_bits(f32_bits(fold_max(lane)) | any);
    }
}

/* ---- columns ----------------------------------------------------------------------------- */

#define PIECE_ROWS 64u /* of which sums are in f32 */
void ROW(pith_sum_columns_f32)(const float *x, size_t ld, size_t rows, size_t width, double *sum)
{
    for (size_t n; rows > 0; rows -= n, x += n * ld) {
        n = rows < PIECE_ROWS ? rows : PIECE_ROWS;
        for (size_t c = 0; c < width; c += LANES) {
            const size_t left = width - c < LANES ? width - c : LANES;
            float lane[LANES] = {0}, v[LANES];
            for (size_t r = 0; left == LANES && r < n; r++)
                for (size_t k = 0; k < LANES; k++)
                    lane[k] += x[r * ld + c + k];
            for (size_t r = 0; left < LANES && r < n; r++) {
                load_rest(v, x + r * ld + c, left, 0.0f);
                for (size_t k = 0; k < LANES; k++)
                    lane[k] += v[k];
            }
            for (size_t k = 0; k < left; k++)
                sum[c + k] += (double)lane[k];
        }
    }
}

void ROW(pith_extreme_columns_f32)(const float *x, size_t ld, size_t rows, size_t width, float turn,
                                   float *y)
{
    for (size_t c = 0; c < width; c += LANES) {
        const size_t left = width - c < LANES ? width - c : LANES;
        float lane[LANES], v[LANES];
        uint32_t odd[LANES] = {0};
        load_rest(lane, y + c, left, 0.0f);
        for (size_t r = 0; left == LANES && r < rows; r++)
            join_lanes(lane, odd, x + r * ld + c, turn);
        for (size_t r = 0; left < LANES && r < rows; r++) {
            load_rest(v, x + r * ld + c, left, 0.0f);
            join_lanes(lane, odd, v, turn);
        }
        put_odd(lane, odd);
        store_rest(y + c, lane, left);
    }
}

/* A step of 0 reads the same 16 elements again. */
void ROW(pith_where_row_b32)(const uint8_t *c, const uint32_t *a, size_t a_step, const uint32_t *b,
                             size_t b_step, uint32_t *y, size_t n)
{
    uint32_t fixed_a[LANES], fixed_b[LANES];
    for (size_t k = 0; k < LANES; k++) {
        fixed_a[k] = *a;
        fixed_b[k] = *b;
    }
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const uint32_t *from_a = a_step ? a + i : fixed_a, *from_b = b_step ? b + i : fixed_b;
        where_lanes(c + i, from_a, from_b, y + i);
    }
    for (; i < n; i++)
        y[i] = c[i] ? a[i * a_step] : b[i * b_step];
}
