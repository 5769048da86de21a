/* SPDX-License-Identifier: MIT */
/* sparse.cu - y = W x of a sparse matrix in relative index (pack_relative.c). A warp has a row, a
 * lane a piece of its entries; x is gathered from shared memory where it fits there.
 *
 * The inner loop takes 11 instructions an entry (tests/cuda/sass.txt), with steps of 8 bits 12, some
 * 0.3 of them for words that are loaded a turn ahead. What else makes it so: offsets are bytes, as a
 * shared load takes them, and fields are taken out times four; a filler masks one load instead of
 * being branched around; book and x are one array, whose address is then made once; and a loop has
 * four words, whose addresses differ by constants. */
#include "device_map.cuh"

DEVICE float number_at(const float *base, uint32_t bytes)
{
    return *(const float *)((const char *)base + bytes);
}

/* Bits of an entry: constants where functions are called with them. */
struct entry_bits {
    uint32_t step, index;
};

/* Entries of a word, whose numbers are taken out times four. A step of all ones is a filler, which reads no x. back: what a step says too
 * many; it, column and what is read are in bytes. */
DEVICE float add_entries(const float *book, const float *x, uint32_t word, struct entry_bits bits,
                         uint32_t back, uint32_t *column, float sum)
{
    const uint64_t fields = (uint64_t)word << (2 - RELATIVE_SPARE(bits.step, bits.index));
    const uint32_t marker = ((1u << bits.step) - 1) * 4, all = bits.step + bits.index;
    const uint32_t book_mask = ((1u << bits.index) - 1) * 4;
    UNROLLED
    for (uint32_t i = 0; i < RELATIVE_PER_WORD(bits.step, bits.index); i++) {
        const uint32_t step = (uint32_t)(fields >> all * i) & marker;
        const uint32_t index = (uint32_t)(fields >> (all * i + bits.step)) & book_mask;
        *column = *column + step - back;
        const float value = step == marker ? 0.0f : number_at(x, *column);
        sum = fmaf(number_at(book, index), value, sum);
    }
    return sum;
}

/* A lane's words of a row that are not added yet: from `at` on, below `end`. The first are loaded
 * already, and as many behind the last. */
struct lane_words {
    uint32_t at, end, column, word[SPMV_AT_ONCE];
};

DEVICE void load_lane(const uint32_t *at, uint32_t word[SPMV_AT_ONCE])
{
    UNROLLED
    for (uint32_t i = 0; i < SPMV_AT_ONCE; i++)
        word[i] = at[i * SPMV_LANES];
}

/* A row of b, below n. */
DEVICE struct lane_words lane_begin(const struct spmv_args *arg, uint32_t row, uint32_t lane)
{
    struct lane_words l = {arg->row_at[row] + lane, arg->row_at[row + 1], 0, {0}};
    l.column = 4u * arg->start[(size_t)row * SPMV_LANES + lane];
    load_lane(arg->words + l.at, l.word);
    return l;
}

/* While words are added the next ones are on their way. */
DEVICE float lane_entries(const uint32_t *words, struct lane_words *l, const float *book,
                          const float *x, struct entry_bits bits, uint32_t back)
{
    const uint32_t last = SPMV_AHEAD - SPMV_LANES; /* from the first of a lot to its last */
    float sum = 0.0f;
    while (l->at + last < l->end) {
        uint32_t next[SPMV_AT_ONCE];
        l->at += SPMV_AHEAD;
        load_lane(words + l->at, next);
        UNROLLED
        for (uint32_t i = 0; i < SPMV_AT_ONCE; i++) {
            sum = add_entries(book, x, l->word[i], bits, back, &l->column, sum);
            l->word[i] = next[i];
        }
    }
    UNROLLED
    for (uint32_t i = 0; i + 1 < SPMV_AT_ONCE; i++)
        if (l->at + i * SPMV_LANES < l->end)
            sum = add_entries(book, x, l->word[i], bits, back, &l->column, sum);
    return sum;
}

DEVICE float lane_sum(const struct spmv_args *arg, const float *book, const float *x,
                      struct lane_words *l)
{
    const struct entry_bits narrow = {RELATIVE_STEP, RELATIVE_INDEX};
    const struct entry_bits wide = {RELATIVE_STEP_WIDE, RELATIVE_INDEX_WIDE};
    return arg->wide ? lane_entries(arg->words, l, book, x, wide, arg->back)
                     : lane_entries(arg->words, l, book, x, narrow, arg->back);
}

DEVICE uint32_t first_row(const struct spmv_args *arg)
{
    return BLOCK_X * arg->warps + THREAD / SPMV_LANES;
}

/* next: where the warp's first row begins; a warp without a row has the last one's. */
DEVICE struct lane_words first_words(const struct spmv_args *arg)
{
    const uint32_t row = first_row(arg);
    return lane_begin(arg, (row < arg->g.n ? row : arg->g.n - 1) + arg->first, THREAD % SPMV_LANES);
}

/* The row behind is begun before a row is added. */
DEVICE void sum_rows(const struct spmv_args *arg, const float *book, const float *x,
                     struct lane_words next)
{
    const uint32_t lane = THREAD % SPMV_LANES, step = BLOCKS_X * arg->warps;
    for (uint32_t row = first_row(arg); row < arg->g.n; row += step) {
        struct lane_words l = next;
        if (row + step < arg->g.n)
            next = lane_begin(arg, row + step + arg->first, lane);
        float sum = lane_sum(arg, book, x, &l);
        put_row(&arg->g, row, lane, sum);
    }
}

KERNEL_WIDE(spmv_relative, spmv_args, 32u * SPMV_MOST_WARPS)
{
    float *const book = SHARED_OF_LAUNCH; /* and x */
    const struct lane_words words = first_words(arg);
    load_near(book, &arg->g, arg->book, arg->centroids, 32u * arg->warps);
    barrier();
    sum_rows(arg, book, book + 256, words);
}

KERNEL(spmv_relative_far, spmv_args)
{
    SHARED float book[256];
    for (uint32_t i = THREAD; i < arg->centroids; i += LAUNCH_THREADS)
        book[i] = arg->book[i];
    barrier();
    sum_rows(arg, book, arg->g.a + (size_t)BLOCK_Y * arg->g.a_row, first_words(arg));
}
