/* SPDX-License-Identifier: MIT */
/* sparse.cu - y = W x of a sparse matrix in relative index (pack_relative.c). A warp has a row, a
 * lane a piece of its entries; x is gathered from shared memory where it fits there.
 *
 * The inner loop takes 10.4 to 11.6 instructions an entry (tests/cuda/sass.txt). What makes it so:
 * offsets are bytes, as a shared load takes them; a filler masks one load instead of being branched
 * around; book and x are one array, whose address is then made once; and a loop has four words,
 * whose addresses differ by constants. */
#include "device_map.cuh"

DEVICE float number_at(const float *base, uint32_t bytes)
{
    return *(const float *)((const char *)base + bytes);
}

/* Entries of a word, each `bits` of step and of index. A step of all ones is a filler, which reads
 * no x. A step says `back` columns too many: the word subtracts them once, and its entries read x
 * so much before. All but sum in bytes; bits and back are constants where this is called. */
DEVICE float add_entries(const float *book, const float *x, uint32_t word, uint32_t bits,
                         uint32_t back, uint32_t *column, float sum)
{
    const uint64_t fields = (uint64_t)word << 2; /* times four */
    const uint32_t marker = ((1u << bits) - 1) * 4, n = 16 / bits;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t step = (uint32_t)(fields >> 2 * bits * i) & marker;
        const uint32_t index = (uint32_t)(fields >> (2 * i + 1) * bits) & marker;
        *column += step;
        const float value = step == marker ? 0.0f : number_at(x - (i + 1) * back, *column);
        sum = fmaf(number_at(book, index), value, sum);
    }
    *column -= 4 * n * back;
    return sum;
}

DEVICE float lane_entries(const struct spmv_args *arg, const float *book, const float *x,
                          uint32_t row, uint32_t lane, uint32_t bits, uint32_t back)
{
    const uint32_t begin = arg->row_at[row] + lane, end = arg->row_at[row + 1];
    const uint32_t *word = arg->words + begin;
    uint32_t left = begin < end ? (end - begin + SPMV_LANES - 1) / SPMV_LANES : 0;
    uint32_t column = left ? 4u * arg->start[(size_t)row * SPMV_LANES + lane] : 0;
    float sum = 0.0f;
    for (; left >= 4; left -= 4, word += 4 * SPMV_LANES) {
        UNROLLED
        for (uint32_t i = 0; i < 4; i++)
            sum = add_entries(book, x, word[i * SPMV_LANES], bits, back, &column, sum);
    }
    for (; left > 0; left--, word += SPMV_LANES)
        sum = add_entries(book, x, *word, bits, back, &column, sum);
    return sum;
}

DEVICE float lane_sum(const struct spmv_args *arg, const float *book, const float *x, uint32_t row,
                      uint32_t lane)
{
    if (arg->wide)
        return lane_entries(arg, book, x, row, lane, 8, RELATIVE_BACK_WIDE);
    return arg->back ? lane_entries(arg, book, x, row, lane, 4, RELATIVE_BACK)
                     : lane_entries(arg, book, x, row, lane, 4, 0);
}

DEVICE void sum_rows(const struct spmv_args *arg, const float *book, const float *x)
{
    const uint32_t lane = THREAD % SPMV_LANES;
    for (uint32_t row = BLOCK_X * GEMV_ROWS + THREAD / SPMV_LANES; row < arg->g.n;
         row += BLOCKS_X * GEMV_ROWS) {
        float sum = lane_sum(arg, book, x, row + arg->first, lane);
        put_row(&arg->g, row, lane, sum);
    }
}

KERNEL(spmv_relative, spmv_args)
{
    SHARED float book[256 + SPMV_SHARED]; /* and x */
    load_near(book, &arg->g, arg->book, arg->centroids);
    barrier();
    sum_rows(arg, book, book + 256);
}

KERNEL(spmv_relative_far, spmv_args)
{
    SHARED float book[256];
    for (uint32_t i = THREAD; i < arg->centroids; i += LAUNCH_THREADS)
        book[i] = arg->book[i];
    barrier();
    sum_rows(arg, book, arg->g.a + (size_t)BLOCK_Y * arg->g.a_row);
}
