/* SPDX-License-Identifier: MIT */
/* bitmap.cu - y = W x of a matrix with a bit for each element (pack_bitmap.c). A warp has a row; a
 * lane takes one nonzero after the other of its word, all of whose columns lie in one bank of x. */
#include "device_map.cuh"

/* Where the lane's indices begin within the chunk: behind those of the lanes after it. */
DEVICE uint32_t indices_before(uint32_t own, uint32_t lane)
{
    uint32_t sum = own;
    for (uint32_t lanes = 1; lanes < BITMAP_LANES; lanes *= 2) {
        const uint32_t more = shuffle_down_u32(sum, lanes);
        sum += lane + lanes < BITMAP_LANES ? more : 0;
    }
    return sum - own;
}

DEVICE uint32_t index_at_place(const struct bitmap_args *arg, uint32_t place)
{
    return arg->wide ? arg->index[place] : arg->index[place / 2] >> place % 2 * 4 & 15u;
}

DEVICE float bitmap_sum(const struct bitmap_args *arg, const float *book, const float *x,
                        uint32_t row, uint32_t lane)
{
    const uint32_t chunks = (arg->g.k + BITMAP_CHUNK - 1) / BITMAP_CHUNK;
    float sum = 0.0f;
    x += lane;
    for (uint32_t at = row * chunks; at < (row + 1) * chunks; at++, x += BITMAP_CHUNK) {
        uint32_t bits = arg->bits[(size_t)at * BITMAP_LANES + lane];
        uint32_t place = arg->chunk_at[at] + indices_before(count_ones(bits), lane);
        while (bits) {
            const uint32_t bit = highest_bit(bits);
            bits ^= 1u << bit;
            sum = fmaf(book[index_at_place(arg, place)], x[bit * BITMAP_LANES], sum);
            place++;
        }
    }
    return sum;
}

/* near: `book` is the only one, in shared memory. */
DEVICE void bitmap_rows(const struct bitmap_args *arg, const float *book, const float *x, bool near)
{
    const uint32_t lane = THREAD % BITMAP_LANES;
    for (uint32_t row = BLOCK_X * GEMV_ROWS + THREAD / BITMAP_LANES; row < arg->g.n;
         row += BLOCKS_X * GEMV_ROWS) {
        const uint32_t w_row = row + arg->first;
        const size_t at = near ? 0 : (size_t)(w_row / arg->book_rows) * arg->centroids;
        float sum = bitmap_sum(arg, book + at, x, w_row, lane);
        put_row(&arg->g, row, lane, sum);
    }
}

KERNEL(spmv_bitmap, bitmap_args)
{
    SHARED float book[256 + SPMV_SHARED]; /* and x */
    load_near(book, &arg->g, arg->book, arg->centroids);
    barrier();
    bitmap_rows(arg, book, book + 256, true);
}

KERNEL(spmv_bitmap_far, bitmap_args)
{
    bitmap_rows(arg, arg->book, arg->g.a + (size_t)BLOCK_Y * arg->g.a_row, false);
}
