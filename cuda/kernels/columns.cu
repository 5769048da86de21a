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

struct lane_pairs {
    uint32_t pair[SPMV_AT_ONCE], index[SPMV_AT_ONCE];
};

/* The lane's pairs from `at` on, whether they are there or behind the last. */
DEVICE struct lane_pairs load_pairs(const struct columns_args *arg, uint32_t at)
{
    struct lane_pairs p;
    UNROLLED
    for (uint32_t i = 0; i < SPMV_AT_ONCE; i++) {
        p.pair[i] = arg->pair[at + i * SPMV_LANES];
        p.index[i] = pair_index(arg, at + i * SPMV_LANES);
    }
    return p;
}

DEVICE float add_pair(const struct columns_args *arg, const float *book, const float *x,
                      uint32_t pair, uint32_t index, float sum)
{
    const uint32_t shift = arg->wide ? 8u : 4u, mask = arg->wide ? 255u : 15u;
    sum = fmaf(book[index & mask], x[pair & 0xffffu], sum);
    return fmaf(book[index >> shift], x[pair >> 16], sum);
}

/* Where a lane is in its row: `left` pairs, the first of which are loaded already; odd: the row
 * ends in a pair of one entry, at `end`. */
struct lane_row {
    uint32_t at, left, end, odd;
    struct lane_pairs pairs;
};

DEVICE struct lane_row row_begin(const struct columns_args *arg, uint32_t row, uint32_t lane)
{
    const uint32_t begin = arg->row_at[row], odd = begin & 1u;
    struct lane_row r = {begin / 2 + lane, 0, arg->row_at[row + 1] / 2 - odd, odd, {{0}, {0}}};
    r.left = r.at < r.end ? (r.end - r.at + SPMV_LANES - 1) / SPMV_LANES : 0;
    r.pairs = load_pairs(arg, r.at);
    return r;
}

/* While pairs are added the next ones are on their way. */
DEVICE float columns_sum(const struct columns_args *arg, const float *book, const float *x,
                         const struct lane_row *r, uint32_t lane)
{
    const uint32_t mask = arg->wide ? 255u : 15u;
    struct lane_pairs now = r->pairs;
    uint32_t at = r->at, left = r->left;
    float sum = 0.0f;
    for (; left >= SPMV_AT_ONCE; left -= SPMV_AT_ONCE) {
        at += SPMV_AHEAD;
        const struct lane_pairs next = load_pairs(arg, at);
        UNROLLED
        for (uint32_t i = 0; i < SPMV_AT_ONCE; i++)
            sum = add_pair(arg, book, x, now.pair[i], now.index[i], sum);
        now = next;
    }
    UNROLLED
    for (uint32_t i = 0; i + 1 < SPMV_AT_ONCE; i++)
        if (i < left)
            sum = add_pair(arg, book, x, now.pair[i], now.index[i], sum);
    if (r->odd && lane == 0)
        sum = fmaf(book[pair_index(arg, r->end) & mask], x[arg->pair[r->end] & 0xffffu], sum);
    return sum;
}

DEVICE uint32_t columns_first(const struct columns_args *arg)
{
    return BLOCK_X * arg->warps + THREAD / SPMV_LANES;
}

/* Of the warp's first row; a warp without a row has the last one's. */
DEVICE struct lane_row columns_begin(const struct columns_args *arg)
{
    const uint32_t row = columns_first(arg);
    return row_begin(arg, (row < arg->g.n ? row : arg->g.n - 1) + arg->first, THREAD % SPMV_LANES);
}

/* near: `book` is the only one, in shared memory. The row behind is begun before a row is added. */
DEVICE void columns_rows(const struct columns_args *arg, const float *book, const float *x,
                         bool near, struct lane_row next)
{
    const uint32_t lane = THREAD % SPMV_LANES, step = BLOCKS_X * arg->warps;
    for (uint32_t row = columns_first(arg); row < arg->g.n; row += step) {
        const uint32_t w_row = row + arg->first;
        const size_t at = near ? 0 : (size_t)(w_row / arg->book_rows) * arg->centroids;
        const struct lane_row r = next;
        if (row + step < arg->g.n)
            next = row_begin(arg, w_row + step, lane);
        float sum = columns_sum(arg, book + at, x, &r, lane);
        put_row(&arg->g, row, lane, sum);
    }
}

KERNEL_WIDE(spmv_columns, columns_args, 32u * SPMV_MOST_WARPS)
{
    float *const book = SHARED_OF_LAUNCH; /* and x */
    const struct lane_row first = columns_begin(arg);
    load_near(book, &arg->g, arg->book, arg->centroids, 32u * arg->warps);
    barrier();
    columns_rows(arg, book, book + 256, true, first);
}

KERNEL(spmv_columns_far, columns_args)
{
    columns_rows(arg, arg->book, arg->g.a + (size_t)BLOCK_Y * arg->g.a_row, false,
                 columns_begin(arg));
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
