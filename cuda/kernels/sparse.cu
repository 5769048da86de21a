/* SPDX-License-Identifier: MIT */
/* sparse.cu - y = W x of a sparse matrix in relative index (pack_relative.c). A warp has a row, a
 * lane a piece of its entries; x is gathered from shared memory where it fits there.
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

/* The number at a place of x in global memory, which has no zeros between. */
DEVICE float far_number(const float *x, uint32_t place)
{
    return RELATIVE_IS_ZERO(place) ? 0.0f : x[place - place / RELATIVE_GROUP * 4u];
}

/* What is constant where functions are called with it: words of two lots, and where x and codebooks
 * lie. */
struct spmv_kind {
    uint32_t pair;
    bool near;
};

/* Of entry i of a lot, whose indices times four are bytes of `index`, or, if wide, the indices. */
DEVICE uint32_t book_offset(uint32_t index, uint32_t i, bool wide)
{
    return wide ? (i ? index >> (8u * i - 2u) : index << 2u) & 0x3fcu
                : pick_bytes(index, 0u, 0x4440u + i);
}

/* place: in bytes, of the entry before. */
DEVICE float add_lot(const float *book, const float *x, uint32_t steps, uint32_t index,
                     struct spmv_kind kind, int32_t *place, float sum)
{
    const int32_t begin = *place;
    UNROLLED
    for (uint32_t i = 0; i < RELATIVE_LOT; i++) {
        *place = dot_i8((int32_t)steps, (int32_t)(0x04040404u >> (24u - 8u * i)), begin);
        const uint32_t own = book_offset(index, i, kind.pair == RELATIVE_PAIR_WIDE);
        const uint32_t at = (uint32_t)*place;
        sum = fmaf(number_at(book, own), kind.near ? number_at(x, at) : far_number(x, at / 4u), sum);
    }
    return sum;
}

/* Lot 0 or 1 of two, which share a word of indices of 4 bits: of bytes' lower halves, or upper. */
DEVICE uint32_t lot_index(uint32_t word, uint32_t lot, uint32_t pair)
{
    return pair == RELATIVE_PAIR_WIDE ? word : (lot ? word >> 2u : word << 2u) & 0x3c3c3c3cu;
}

DEVICE float add_lots(const float *book, const float *x, const uint32_t *word, struct spmv_kind kind,
                      int32_t *place, float sum)
{
    UNROLLED
    for (uint32_t lot = 0; lot < 2u; lot++) {
        const uint32_t index = lot_index(word[lot ? kind.pair - 1u : 2u], lot, kind.pair);
        sum = add_lot(book, x, word[lot], index, kind, place, sum);
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
    l.place = 4 * (int32_t)arg->start[(size_t)row * SPMV_LANES + lane];
    load_lots(arg, &l, pair);
    return l;
}

/* While four lots are added the next ones are on their way. */
DEVICE float lane_sum(const struct spmv_args *arg, struct lane_lots *l, const float *book,
                      const float *x, struct spmv_kind kind)
{
    const uint32_t pair = kind.pair;
    float sum = 0.0f;
    for (; l->left >= 4u; l->left -= 4u) {
        struct lane_lots next = *l;
        next.at += 2u * pair * SPMV_LANES;
        load_lots(arg, &next, pair);
        sum = add_lots(book, x, l->word, kind, &l->place, sum);
        sum = add_lots(book, x, l->word + pair, kind, &l->place, sum);
        next.place = l->place;
        next.left = l->left;
        *l = next;
    }
    if (l->left >= 2u)
        sum = add_lots(book, x, l->word, kind, &l->place, sum);
    if (l->left % 2u) { /* its indices are the next word */
        const bool third = l->left == 3u;
        const uint32_t index = lot_index(third ? l->word[pair + 1u] : l->word[1], 0, pair);
        sum = add_lot(book, x, third ? l->word[pair] : l->word[0], index, kind, &l->place, sum);
    }
    return sum;
}

/* The row behind is begun before a row is added, and the first one before x is there; a warp without
 * a row has the last one's. */
DEVICE void sum_rows(const struct spmv_args *arg, float *shared, struct spmv_kind kind)
{
    const uint32_t first = BLOCK_X * arg->warps + THREAD / SPMV_LANES, step = BLOCKS_X * arg->warps;
    const uint32_t own = first < arg->g.n ? first : arg->g.n - 1u;
    const float *book = shared, *x = shared + 256;
    struct lane_lots next = lane_begin(arg, own + arg->first, kind.pair);
    if (kind.near)
        load_near(shared, &arg->g, arg->book, arg->centroids, 32u * arg->warps);
    else
        x = arg->g.a + (size_t)BLOCK_Y * arg->g.a_row;
    barrier();
    for (uint32_t row = first; row < arg->g.n; row += step) {
        struct lane_lots l = next;
        if (row + step < arg->g.n)
            next = lane_begin(arg, row + step + arg->first, kind.pair);
        if (!kind.near)
            book = arg->book + (size_t)((row + arg->first) / arg->book_rows) * arg->centroids;
        put_row(&arg->g, row, THREAD % SPMV_LANES, lane_sum(arg, &l, book, x, kind));
    }
}

DEVICE void relative_product(const struct spmv_args *arg, float *shared, bool near)
{
    const struct spmv_kind narrow = {RELATIVE_PAIR, near}, wide = {RELATIVE_PAIR_WIDE, near};
    if (arg->wide)
        sum_rows(arg, shared, wide);
    else
        sum_rows(arg, shared, narrow);
}

KERNEL_WIDE(spmv_relative, spmv_args, 32u * SPMV_MOST_WARPS)
{
    relative_product(arg, SHARED_OF_LAUNCH, true);
}

KERNEL(spmv_relative_far, spmv_args)
{
    relative_product(arg, NULL, false);
}
