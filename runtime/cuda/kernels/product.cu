/* SPDX-License-Identifier: MIT */
/* product.cu - products of f32 matrices and convolutions. A block computes a tile of 64 x 64
 * outputs, a thread 4 x 4 of them, from slices of 16 terms in shared memory. Sums go over the terms
 * in order, each by one fused multiply-add. */
#include "device_map.cuh"

#define TILE GEMM_TILE
#define SLICE 16u
#define EACH 4u /* outputs of a thread along either side */

struct tile {
    float a[SLICE][TILE + 1], b[SLICE][TILE + 1]; /* a column more: no two lanes in one bank */
};

/* Adds a slice to the thread's sums: rows THREAD / 16 + 16 i, columns THREAD % 16 + 16 k. */
DEVICE void add_slice(const struct tile *t, float sum[EACH][EACH])
{
    const uint32_t row = THREAD / SLICE, column = THREAD % SLICE;
    for (uint32_t k = 0; k < SLICE; k++) {
        float a[EACH], b[EACH];
        for (uint32_t i = 0; i < EACH; i++) {
            a[i] = t->a[k][row + SLICE * i];
            b[i] = t->b[k][column + SLICE * i];
        }
        for (uint32_t i = 0; i < EACH; i++)
            for (uint32_t j = 0; j < EACH; j++)
                sum[i][j] = fmaf(a[i], b[j], sum[i][j]);
    }
}

DEVICE void batch_offsets(const struct gemm_args *arg, uint32_t item, uint32_t *a, uint32_t *b)
{
    *a = *b = 0;
    for (uint32_t i = arg->batch_rank; i-- > 0;) {
        uint32_t at = item % arg->batch_dim[i];
        item /= arg->batch_dim[i];
        *a += at * arg->a_batch[i];
        *b += at * arg->b_batch[i];
    }
}

DEVICE float *product_at(const struct gemm_args *arg, uint32_t item, uint32_t row, uint32_t column)
{
    return arg->y + ((size_t)item * arg->m + row) * arg->n + column;
}

/* Of the sum, before the activation. */
DEVICE float product_value(const struct gemm_args *arg, uint32_t item, uint32_t row, uint32_t column,
                           float sum)
{
    float y = arg->alpha * sum;
    if (arg->c)
        y += arg->beta * arg->c[(size_t)row * arg->c_row + (size_t)column * arg->c_col];
    if (arg->residual)
        y += arg->residual[((size_t)item * arg->m + row) * arg->n + column];
    return y;
}

DEVICE void put_product(const struct gemm_args *arg, uint32_t item, uint32_t row, uint32_t column,
                        float sum)
{
    *product_at(arg, item, row, column) =
        activated(arg->act, arg->act_a, arg->act_b, product_value(arg, item, row, column, sum));
}

/* Of what the lanes of a warp hold. */
DEVICE float warp_sum(float sum)
{
    for (uint32_t half = 16; half > 0; half /= 2)
        sum += shuffle_xor_f32(sum, half);
    return sum;
}

/* A row of a sparse product, of whose sum each lane of a warp holds a part. */
DEVICE void put_row(const struct gemm_args *arg, uint32_t row, uint32_t lane, float sum)
{
    sum = warp_sum(sum);
    if (lane == 0)
        put_product(arg, 0, BLOCK_Y, row, sum);
}

#define NEAR_AT_ONCE 8u

/* [0, 256) of `near`: the codebook, behind it the row of a: both shared by the block. */
DEVICE void load_near(float *near, const struct gemm_args *arg, const float *book,
                      uint32_t centroids, uint32_t threads)
{
    const float *a = arg->a + (size_t)BLOCK_Y * arg->a_row;
    for (uint32_t first = THREAD; first < arg->k; first += NEAR_AT_ONCE * threads) {
        float v[NEAR_AT_ONCE]; /* all on their way before the first is needed */
        UNROLLED
        for (uint32_t i = 0; i < NEAR_AT_ONCE; i++)
            v[i] = first + i * threads < arg->k ? a[first + i * threads] : 0.0f;
        UNROLLED
        for (uint32_t i = 0; i < NEAR_AT_ONCE; i++)
            if (first + i * threads < arg->k)
                near[256 + first + i * threads] = v[i];
    }
    for (uint32_t i = THREAD; i < centroids; i += threads)
        near[i] = book[i];
}

/* Which of a tile's outputs is the thread's sum [i][j]: as add_slice has them, or mma. */
DEVICE uint32_t tile_row(bool by_mma, uint32_t i, uint32_t j)
{
    return by_mma ? mma_row(j) : THREAD / SLICE + SLICE * i;
}

DEVICE uint32_t tile_column(bool by_mma, uint32_t i, uint32_t j)
{
    return by_mma ? mma_column(i, j) : THREAD % SLICE + SLICE * j;
}

/* Element (row, k) of the slice that begins at k0; a thread loads 4, neighbours along the axis
 * whose step is 1. */
DEVICE void load_slice(float slice[SLICE][TILE + 1], const float *x, uint32_t row0, uint32_t rows,
                       uint32_t row_step, uint32_t k0, uint32_t ks, uint32_t k_step)
{
    for (uint32_t i = THREAD; i < SLICE * TILE; i += LAUNCH_THREADS) {
        uint32_t row = k_step == 1 ? i / SLICE : i % TILE, k = k_step == 1 ? i % SLICE : i / TILE;
        bool there = row0 + row < rows && k0 + k < ks;
        slice[k][row] =
            there ? x[(size_t)(row0 + row) * row_step + (size_t)(k0 + k) * k_step] : 0.0f;
    }
}

DEVICE void put_tile(const struct gemm_args *arg, uint32_t item, uint32_t row0, uint32_t column0,
                     float sum[EACH][EACH], bool by_mma)
{
    UNROLLED
    for (uint32_t i = 0; i < EACH; i++) {
        UNROLLED
        for (uint32_t j = 0; j < EACH; j++) {
            uint32_t row = row0 + tile_row(by_mma, i, j);
            uint32_t column = column0 + tile_column(by_mma, i, j);
            if (row < arg->m && column < arg->n)
                *product_at(arg, item, row, column) =
                    activated_short(arg->act, arg->act_a, arg->act_b,
                                    product_value(arg, item, row, column, sum[i][j]));
        }
    }
    NOT_UNROLLED
    for (uint32_t e = is_long(arg->act) ? 0 : EACH * EACH; e < EACH * EACH; e++) {
        uint32_t row = row0 + tile_row(by_mma, e / EACH, e % EACH);
        uint32_t column = column0 + tile_column(by_mma, e / EACH, e % EACH);
        float *y = product_at(arg, item, row, column);
        if (row < arg->m && column < arg->n)
            *y = activated(arg->act, arg->act_a, arg->act_b, *y);
    }
}

KERNEL(gemm_f32, gemm_args)
{
    SHARED struct tile t;
    const uint32_t row0 = BLOCK_Y * TILE, column0 = BLOCK_X * TILE;
    uint32_t at_a, at_b;
    float sum[EACH][EACH] = {{0.0f}};
    batch_offsets(arg, BLOCK_Z, &at_a, &at_b);
    for (uint32_t k0 = 0; k0 < arg->k; k0 += SLICE) {
        load_slice(t.a, arg->a + at_a, row0, arg->m, arg->a_row, k0, arg->k, arg->a_col);
        load_slice(t.b, arg->b + at_b, column0, arg->n, arg->b_col, k0, arg->k, arg->b_row);
        barrier();
        add_slice(&t, sum);
        barrier();
    }
    put_tile(arg, BLOCK_Z, row0, column0, sum, false);
}

/* A warp an output: for few rows of a. */
KERNEL(gemv_f32, gemm_args)
{
    const uint32_t lane = THREAD % 32u, column = BLOCK_X * GEMV_ROWS + THREAD / 32u;
    const bool there = column < arg->n;
    uint32_t at_a, at_b;
    batch_offsets(arg, BLOCK_Z, &at_a, &at_b);
    const float *a = arg->a + at_a + (size_t)BLOCK_Y * arg->a_row;
    const float *b = arg->b + at_b + (size_t)(there ? column : 0) * arg->b_col;
    float sum = 0.0f;
    for (uint32_t k = lane; k < arg->k; k += 32u)
        sum = fmaf(a[(size_t)k * arg->a_col], b[k], sum);
    sum = warp_sum(sum);
    if (there && lane == 0)
        put_product(arg, BLOCK_Z, BLOCK_Y, column, sum);
}

/* Output `pixel` of a plane of y, whose channel has a bias. */
DEVICE float *pixel_at(const struct conv_args *arg, uint32_t plane, uint32_t pixel)
{
    return arg->y + (size_t)plane * (uint32_t)(arg->oh * arg->ow) + pixel;
}

/* Of the sum, before the activation. */
DEVICE float pixel_value(const struct conv_args *arg, uint32_t plane, uint32_t pixel, float sum)
{
    const size_t at = (size_t)plane * (uint32_t)(arg->oh * arg->ow) + pixel;
    float y = sum;
    if (arg->bias)
        y += arg->bias[plane % (arg->groups * arg->outputs)];
    if (arg->residual)
        y += arg->residual[at];
    return y;
}

/* x under tap (kh, kw) of output pixel (oh, ow); 0 outside. plane: of x. */
DEVICE float under_tap(const struct conv_args *arg, const float *plane, int32_t oh, int32_t ow,
                       int32_t kh, int32_t kw)
{
    int32_t ih = oh * arg->stride_h + kh * arg->dil_h - arg->pad_top;
    int32_t iw = ow * arg->stride_w + kw * arg->dil_w - arg->pad_left;
    bool inside = ih >= 0 && ih < arg->h && iw >= 0 && iw < arg->width;
    return inside ? plane[(int64_t)ih * arg->width + iw] : 0.0f;
}

/* Terms [k0, k0 + 16) - channel, row and column of the window - of the pixels from p0 on. */
DEVICE void load_windows(float slice[SLICE][TILE + 1], const struct conv_args *arg, const float *x,
                         uint32_t p0, uint32_t k0, uint32_t terms)
{
    const uint32_t taps = (uint32_t)(arg->kh * arg->kw), pixels = (uint32_t)(arg->oh * arg->ow);
    const size_t plane = (size_t)arg->h * (size_t)arg->width;
    for (uint32_t i = THREAD; i < SLICE * TILE; i += LAUNCH_THREADS) {
        uint32_t p = p0 + i % TILE, k = k0 + i / TILE, tap = k % taps;
        bool there = p < pixels && k < terms;
        slice[i / TILE][i % TILE] =
            there ? under_tap(arg, x + (size_t)(k / taps) * plane, (int32_t)p / arg->ow,
                              (int32_t)p % arg->ow, (int32_t)tap / arg->kw, (int32_t)tap % arg->kw)
                  : 0.0f;
    }
}

/* Output o of the block's group, and pixel p of `images` images, the first of which is the block's
 * (by_mma: all of them, and BLOCK_Z is the group). */
struct conv_place {
    bool there;
    uint32_t plane, pixel;
};

DEVICE struct conv_place place_of(const struct conv_args *arg, uint32_t images, uint32_t o,
                                  uint32_t p, bool by_mma)
{
    const uint32_t pixels = (uint32_t)(arg->oh * arg->ow), image = by_mma ? p / pixels : 0;
    struct conv_place at = {o < arg->outputs && (by_mma ? image < images : p < pixels),
                            (image * arg->groups + BLOCK_Z) * arg->outputs + o,
                            by_mma ? p % pixels : p};
    return at;
}

DEVICE void put_conv_tile(const struct conv_args *arg, uint32_t images, uint32_t o0, uint32_t p0,
                          float sum[EACH][EACH], bool by_mma)
{
    UNROLLED
    for (uint32_t i = 0; i < EACH; i++) {
        UNROLLED
        for (uint32_t j = 0; j < EACH; j++) {
            const struct conv_place at = place_of(arg, images, o0 + tile_row(by_mma, i, j),
                                                  p0 + tile_column(by_mma, i, j), by_mma);
            if (at.there)
                *pixel_at(arg, at.plane, at.pixel) =
                    activated_short(arg->act, arg->act_a, arg->act_b,
                                    pixel_value(arg, at.plane, at.pixel, sum[i][j]));
        }
    }
    NOT_UNROLLED
    for (uint32_t e = is_long(arg->act) ? 0 : EACH * EACH; e < EACH * EACH; e++) {
        const uint32_t o = o0 + tile_row(by_mma, e / EACH, e % EACH);
        const struct conv_place at =
            place_of(arg, images, o, p0 + tile_column(by_mma, e / EACH, e % EACH), by_mma);
        float *y = pixel_at(arg, at.plane, at.pixel);
        if (at.there)
            *y = activated(arg->act, arg->act_a, arg->act_b, *y);
    }
}

KERNEL(conv_f32, conv_args)
{
    SHARED struct tile t;
    const uint32_t o0 = BLOCK_Y * TILE, p0 = BLOCK_X * TILE, group = BLOCK_Z % arg->groups;
    const uint32_t terms = arg->channels * (uint32_t)(arg->kh * arg->kw);
    const float *x = arg->x + (size_t)BLOCK_Z * arg->channels * (size_t)arg->h * (size_t)arg->width;
    const float *w = arg->w + (size_t)group * arg->outputs * terms;
    float sum[EACH][EACH] = {{0.0f}};
    for (uint32_t k0 = 0; k0 < terms; k0 += SLICE) {
        load_slice(t.a, w, o0, arg->outputs, terms, k0, terms, 1);
        load_windows(t.b, arg, x, p0, k0, terms);
        barrier();
        add_slice(&t, sum);
        barrier();
    }
    put_conv_tile(arg, 1, o0, p0, sum, false);
}

/* Few terms an output: depthwise, and narrow groups. */
KERNEL(conv_direct_f32, conv_args)
{
    const uint32_t pixels = (uint32_t)(arg->oh * arg->ow);
    const uint32_t taps = (uint32_t)(arg->kh * arg->kw), all = arg->groups * arg->outputs;
    const size_t plane = (size_t)arg->h * (size_t)arg->width;
    FOR_EACH(i, arg->n)
    {
        const uint32_t pixel = i % pixels, o = i / pixels % all, image = i / pixels / all;
        const int32_t oh = (int32_t)pixel / arg->ow, ow = (int32_t)pixel % arg->ow;
        const size_t group = (size_t)image * arg->groups + o / arg->outputs;
        const float *x = arg->x + group * arg->channels * plane;
        const float *w = arg->w + (size_t)o * arg->channels * taps;
        float sum = 0.0f;
        for (uint32_t c = 0; c < arg->channels; c++, x += plane)
            for (int32_t kh = 0; kh < arg->kh; kh++)
                for (int32_t kw = 0; kw < arg->kw; kw++)
                    sum = fmaf(*w++, under_tap(arg, x, oh, ow, kh, kw), sum);
        *pixel_at(arg, i / pixels, pixel) = activated(
            arg->act, arg->act_a, arg->act_b, pixel_value(arg, i / pixels, pixel, sum));
    }
}
