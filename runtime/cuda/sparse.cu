/* SPDX-License-Identifier: MIT */
/* sparse.cu - y = W x of a sparse matrix in relative index (pack_relative.c). A warp has a row, a
 * lane a piece of its entries; x is gathered from shared memory where it fits there.
 *
 * The inner loop takes 12 instructions an entry on sm_90. What makes it so: offsets are bytes, as a
 * shared load takes them; a filler masks one load instead of being branched around; and book and x
 * are one array, whose address is then made once. */
#include "device_map.cuh"

DEVICE float number_at(const float *base, uint32_t bytes)
{
    return *(const float *)((const char *)base + bytes);
}

/* One entry: a step of all ones is a filler, which reads no x. All but sum in bytes; column counts
 * from the place before x. */
DEVICE float add_entry(const float *book, const float *x, uint32_t step, uint32_t marker,
                       uint32_t index, uint32_t *column, float sum)
{
    *column += step;
    const float value = step == marker ? 0.0f : number_at(x - 1, *column);
    return fmaf(number_at(book, index), value, sum);
}

DEVICE float lane_sum(const struct spmv_args *arg, const float *book, const float *x, uint32_t row,
                      uint32_t lane)
{
    const uint32_t begin = arg->row_at[row], end = arg->row_at[row + 1];
    uint32_t column = begin < end ? 4u * arg->start[(size_t)row * SPMV_LANES + lane] : 0;
    float sum = 0.0f;
    for (uint32_t at = begin + lane; at < end; at += SPMV_LANES) {
        const uint64_t word = (uint64_t)arg->words[at] << 2; /* fields times four */
        for (uint32_t b = 0; b < 32 && !arg->wide; b += 8)
            sum = add_entry(book, x, (uint32_t)(word >> b) & 60u, 60u,
                            (uint32_t)(word >> (b + 4)) & 60u, &column, sum);
        for (uint32_t b = 0; b < 32 && arg->wide; b += 16)
            sum = add_entry(book, x, (uint32_t)(word >> b) & 1020u, 1020u,
                            (uint32_t)(word >> (b + 8)) & 1020u, &column, sum);
    }
    return sum;
}

DEVICE void sum_rows(const struct spmv_args *arg, const float *book, const float *x)
{
    const uint32_t lane = THREAD % SPMV_LANES;
    for (uint32_t row = BLOCK_X * GEMV_ROWS + THREAD / SPMV_LANES; row < arg->g.n;
         row += BLOCKS_X * GEMV_ROWS) {
        float sum = lane_sum(arg, book, x, row + arg->first, lane);
        for (uint32_t half = SPMV_LANES / 2; half > 0; half /= 2)
            sum += shuffle_xor_f32(sum, half);
        if (lane == 0)
            put_product(&arg->g, 0, BLOCK_Y, row, sum);
    }
}

KERNEL(spmv_relative, spmv_args)
{
    SHARED float book[256 + SPMV_SHARED]; /* and x */
    const float *a = arg->g.a + (size_t)BLOCK_Y * arg->g.a_row;
    for (uint32_t i = THREAD; i < arg->g.k; i += LAUNCH_THREADS)
        book[256 + i] = a[i];
    for (uint32_t i = THREAD; i < arg->centroids; i += LAUNCH_THREADS)
        book[i] = arg->book[i];
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
