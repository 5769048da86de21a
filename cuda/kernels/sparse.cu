/* SPDX-License-Identifier: MIT */
/* sparse.cu - y = W x of a sparse matrix in relative index (pack_relative.c). A warp has a row, a
 * lane a piece of its entries; x and codebooks are read from shared memory.
 *
 * The inner loop takes some 7 instructions an entry, with indices of 8 bits 8 (tests/cuda/sass.txt).
 * A dot product of four steps and fours is the address, in bytes, behind some of them; one shift and
 * one mask make addresses of four indices; fillers read a zero of x, so that nothing is compared; and
 * words are loaded a turn ahead. */
#include "device_map.cuh"

DEVICE float number_at(const float *base, uint32_t bytes)
{
    return *(const float *)(const void *)((const char *)base + bytes);
}

/* Where the centroid of entry i of a lot lies, whose indices times four are bytes of `index`, or, if
 * wide, the indices; book: where the codebook does, a multiple of 1024. */
DEVICE uint32_t centroid_at(uint32_t book, uint32_t index, uint32_t i, bool wide)
{
    return wide ? ((i ? index >> (8u * i - 2u) : index << 2u) & 0x3fcu) | book
                : pick_bytes(index, book, 0x7650u + i);
}

/* book, place: in bytes of shared memory, of the entry before. pair: words of two lots, a constant
 * here and below. */
DEVICE float add_lot(const float *shared, uint32_t book, uint32_t steps, uint32_t index,
                     uint32_t pair, int32_t *place, float sum)
{
    const int32_t begin = *place;
    UNROLLED
    for (uint32_t i = 0; i < RELATIVE_LOT; i++) {
        *place = dot_i8((int32_t)steps, (int32_t)(0x04040404u >> (24u - 8u * i)), begin);
        const uint32_t own = centroid_at(book, index, i, pair == RELATIVE_PAIR_WIDE);
        sum = fmaf(number_at(shared, own), number_at(shared, (uint32_t)*place), sum);
    }
    return sum;
}

/* Lot 0 or 1 of two, which share a word of indices of 4 bits: of bytes' lower halves, or upper. */
DEVICE uint32_t lot_index(uint32_t word, uint32_t lot, uint32_t pair)
{
    return pair == RELATIVE_PAIR_WIDE ? word : (lot ? word >> 2u : word << 2u) & 0x3c3c3c3cu;
}

DEVICE float add_lots(const float *shared, uint32_t book, const uint32_t *word, uint32_t pair,
                      int32_t *place, float sum)
{
    UNROLLED
    for (uint32_t lot = 0; lot < 2u; lot++) {
        const uint32_t index = lot_index(word[lot ? pair - 1u : 2u], lot, pair);
        sum = add_lot(shared, book, word[lot], index, pair, place, sum);
    }
    return sum;
}

/* Lots of a lane that are not added yet. Words of the first four are loaded already, whether there
 * are as many or not. */
struct lane_lots {
    uint32_t at, left, word[RELATIVE_AHEAD];
    int32_t place;
};

DEVICE void load_lots(const struct spmv_args *arg, struct lane_lots *l, uint32_t pair)
{
    const uint32_t *from = arg->words + l->at;
    UNROLLED
    for (uint32_t i = 0; i < 2u * pair; i++)
        l->word[i] = from[i * SPMV_LANES];
}

/* A row of b, below n. */
DEVICE struct lane_lots lane_begin(const struct spmv_args *arg, uint32_t row, uint32_t pair)
{
    const uint32_t lane = THREAD % SPMV_LANES, line = arg->row_at[row];
    struct lane_lots l = {line * SPMV_LANES + lane, 0, {0}, 0};
    l.left = (arg->row_at[row + 1u] - line) * 2u / pair;
    l.place = (int32_t)(1024u * arg->books) + 4 * (int32_t)arg->start[(size_t)row * SPMV_LANES + lane];
    load_lots(arg, &l, pair);
    return l;
}

/* While four lots are added the next ones are on their way. */
DEVICE float lane_sum(const struct spmv_args *arg, struct lane_lots *l, const float *shared,
                      uint32_t book, uint32_t pair)
{
    float sum = 0.0f;
    for (; l->left >= 4u; l->left -= 4u) {
        struct lane_lots next = *l;
        next.at += 2u * pair * SPMV_LANES;
        load_lots(arg, &next, pair);
        sum = add_lots(shared, book, l->word, pair, &l->place, sum);
        sum = add_lots(shared, book, l->word + pair, pair, &l->place, sum);
        next.place = l->place;
        next.left = l->left;
        *l = next;
    }
    if (l->left >= 2u)
        sum = add_lots(shared, book, l->word, pair, &l->place, sum);
    if (l->left % 2u) { /* its indices are the next word */
        const bool third = l->left == 3u;
        const uint32_t index = lot_index(third ? l->word[pair + 1u] : l->word[1], 0, pair);
        sum = add_lot(shared, book, third ? l->word[pair] : l->word[0], index, pair, &l->place, sum);
    }
    return sum;
}

/* Of several codebooks a warp copies its row's. */
DEVICE void load_book(const struct spmv_args *arg, float *book, uint32_t number)
{
    for (uint32_t i = THREAD % 32u; i < arg->centroids; i += 32u)
        book[i] = arg->book[(size_t)number * arg->centroids + i];
    warp_barrier();
}

/* The row behind is begun before a row is added, and the first one before x is there; a warp without
 * a row has the last one's. */
DEVICE void sum_rows(const struct spmv_args *arg, float *shared, uint32_t pair)
{
    const uint32_t warp = THREAD / SPMV_LANES, step = BLOCKS_X * arg->warps;
    const uint32_t first = BLOCK_X * arg->warps + warp;
    const uint32_t own = first < arg->g.n ? first : arg->g.n - 1u;
    const uint32_t at = 256u * (warp % arg->books);
    float *const book = shared + at;
    struct lane_lots next = lane_begin(arg, own + arg->first, pair);
    load_near(shared + 256u * arg->books, &arg->g, 32u * arg->warps);
    if (arg->books == 1u && warp == 0)
        load_book(arg, book, 0);
    barrier();
    for (uint32_t row = first; row < arg->g.n; row += step) {
        struct lane_lots l = next;
        if (row + step < arg->g.n)
            next = lane_begin(arg, row + step + arg->first, pair);
        if (arg->books > 1u)
            load_book(arg, book, (row + arg->first) / arg->book_rows);
        const float sum = warp_sum(lane_sum(arg, &l, shared, 4u * at, pair));
        if (THREAD % SPMV_LANES == 0)
            put_product(&arg->g, 0, BLOCK_Y, row, sum);
    }
}

KERNEL_WIDE(spmv_relative, spmv_args, 32u * SPMV_MOST_WARPS)
{
    if (arg->wide)
        sum_rows(arg, SHARED_OF_LAUNCH, RELATIVE_PAIR_WIDE);
    else
        sum_rows(arg, SHARED_OF_LAUNCH, RELATIVE_PAIR);
}
