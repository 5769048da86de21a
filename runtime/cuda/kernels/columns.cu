/* SPDX-License-Identifier: MIT */
/* columns.cu - y = W x of a sparse matrix whose nonzeros have columns of 16 bits (pack_columns.c).
 * A warp has a row, a lane each 32nd pair of entries; nothing depends on the entry before. With
 * many rows of a, lanes have a row of it each, so that all of them use an entry that was read once.
 */
#include "device_map.cuh"

/* Indices of both entries of a pair: the second from bit 8 (wide) or 4 on. */
DEVICE uint32_t pair_index(const struct columns_args *arg, uint32_t pair)
{
    return arg->wide ? ((const uint16_t *)arg->index)[pair] : ((const uint8_t *)arg->index)[pair];
}

DEVICE float columns_sum(const struct columns_args *arg, const float *book, const float *x,
                         uint32_t row, uint32_t lane)
{
    const uint32_t begin = arg->row_at[row], end = arg->row_at[row + 1] / 2;
    const uint32_t odd = begin & 1u, shift = arg->wide ? 8u : 4u, mask = arg->wide ? 255u : 15u;
    float sum = 0.0f;
    for (uint32_t at = begin / 2 + lane; at < end - odd; at += SPMV_LANES) {
        const uint32_t pair = arg->pair[at], index = pair_index(arg, at);
        sum = fmaf(book[index & mask], x[pair & 0xffffu], sum);
        sum = fmaf(book[index >> shift], x[pair >> 16], sum);
    }
    if (odd && lane == 0)
        sum = fmaf(book[pair_index(arg, end - 1) & mask], x[arg->pair[end - 1] & 0xffffu], sum);
    return sum;
}

/* near: `book` is the only one, in shared memory. */
DEVICE void columns_rows(const struct columns_args *arg, const float *book, const float *x,
                         bool near)
{
    const uint32_t lane = THREAD % SPMV_LANES;
    for (uint32_t row = BLOCK_X * GEMV_ROWS + THREAD / SPMV_LANES; row < arg->g.n;
         row += BLOCKS_X * GEMV_ROWS) {
        const uint32_t w_row = row + arg->first;
        const size_t at = near ? 0 : (size_t)(w_row / arg->book_rows) * arg->centroids;
        float sum = columns_sum(arg, book + at, x, w_row, lane);
        put_row(&arg->g, row, lane, sum);
    }
}

KERNEL(spmv_columns, columns_args)
{
    SHARED float book[256 + SPMV_SHARED]; /* and x */
    load_near(book, &arg->g, arg->book, arg->centroids);
    barrier();
    columns_rows(arg, book, book + 256, true);
}

KERNEL(spmv_columns_far, columns_args)
{
    columns_rows(arg, arg->book, arg->g.a + (size_t)BLOCK_Y * arg->g.a_row, false);
}

/* Lanes are teams of as many as there are rows of a here, up to a power of two; teams take pairs in
 * turn. Lanes behind the last row of a read that row, and are not stored. */
DEVICE uint32_t team_width(uint32_t m)
{
    return m > 16 ? 32 : m > 8 ? 16 : m > 4 ? 8 : 4;
}

DEVICE float many_sum(const struct columns_args *arg, const float *book, const float *x,
                      uint32_t row, uint32_t team, uint32_t teams)
{
    const uint32_t begin = arg->row_at[row], end = arg->row_at[row + 1] / 2, m = arg->g.m;
    const uint32_t odd = begin & 1u, shift = arg->wide ? 8u : 4u, mask = arg->wide ? 255u : 15u;
    float sum = 0.0f;
    for (uint32_t at = begin / 2 + team; at < end - odd; at += teams) {
        const uint32_t pair = arg->pair[at], index = pair_index(arg, at);
        sum = fmaf(book[index & mask], x[(pair & 0xffffu) * m], sum);
        sum = fmaf(book[index >> shift], x[(pair >> 16) * m], sum);
    }
    if (odd && team == 0)
        sum = fmaf(book[pair_index(arg, end - 1) & mask],
                   x[(arg->pair[end - 1] & 0xffffu) * m], sum);
    return sum;
}

KERNEL(spmm_columns, columns_args)
{
    const uint32_t lane = THREAD % SPMV_LANES, m0 = BLOCK_Y * SPMV_LANES;
    const uint32_t here = arg->g.m - m0 < SPMV_LANES ? arg->g.m - m0 : SPMV_LANES;
    const uint32_t width = team_width(here), own = lane % width;
    const float *x = arg->g.a + m0 + (own < here ? own : here - 1);
    for (uint32_t row = BLOCK_X * GEMV_ROWS + THREAD / SPMV_LANES; row < arg->g.n;
         row += BLOCKS_X * GEMV_ROWS) {
        const uint32_t w_row = row + arg->first;
        const float *book = arg->book + (size_t)(w_row / arg->book_rows) * arg->centroids;
        float sum = many_sum(arg, book, x, w_row, lane / width, SPMV_LANES / width);
        for (uint32_t half = SPMV_LANES / 2; half >= width; half /= 2)
            sum += shuffle_xor_f32(sum, half);
        if (lane < here)
            put_product(&arg->g, 0, m0 + lane, row, sum);
    }
}
