/* SPDX-License-Identifier: MIT */
/* codes.cu - products with a weight that has a code for each element (pack_codes.c): a warp an
 * output for few rows of a, else the tiles of product.cu, which look each code up as they load it.
 */
#include "device_map.cuh"

/* Value of the weight at (row, column), in global memory. */
DEVICE float code_value(const struct codes *w, uint32_t row, uint32_t column)
{
    const uint32_t per_word = CODES_PER_WORD(w->bits), slot = column / 32u % per_word;
    row += w->first;
    const size_t at = (size_t)row * w->row_words + column / (32u * per_word) * 32u + column % 32u;
    uint32_t code = w->low[at] >> slot * (32u / per_word) & (w->bits == 8u ? 255u : 15u);
    if (w->bits == 5u)
        code |= ((uint32_t)w->high[at] >> slot & 1u) << 4;
    return w->book[((size_t)(row / w->book_rows) << w->bits) + code];
}

/* As load_slice, of a weight; terms_first: its rows are terms of the sums. */
DEVICE void load_codes(float slice[SLICE][TILE + 1], const struct codes *w, uint32_t row0,
                       uint32_t rows, uint32_t first_row, uint32_t k0, uint32_t ks,
                       bool terms_first)
{
    for (uint32_t i = THREAD; i < SLICE * TILE; i += LAUNCH_THREADS) {
        const uint32_t row = terms_first ? i % TILE : i / SLICE;
        const uint32_t k = terms_first ? i / TILE : i % SLICE;
        const bool there = row0 + row < rows && k0 + k < ks;
        const uint32_t r = first_row + row0 + row;
        slice[k][row] = !there        ? 0.0f
                        : terms_first ? code_value(w, k0 + k, r)
                                      : code_value(w, r, k0 + k);
    }
}

KERNEL(gemm_codes, gemm_codes_args)
{
    SHARED struct tile t;
    const struct gemm_args *g = &arg->g;
    const uint32_t row0 = BLOCK_Y * TILE, column0 = BLOCK_X * TILE;
    float sum[EACH][EACH] = {{0.0f}};
    for (uint32_t k0 = 0; k0 < g->k; k0 += SLICE) {
        load_slice(t.a, g->a, row0, g->m, g->a_row, k0, g->k, g->a_col);
        load_codes(t.b, &arg->w, column0, g->n, 0, k0, g->k, arg->terms_first);
        barrier();
        add_slice(&t, sum);
        barrier();
    }
    put_tile(g, 0, row0, column0, sum, false);
}

KERNEL(conv_codes, conv_codes_args)
{
    SHARED struct tile t;
    const struct conv_args *c = &arg->c;
    const uint32_t o0 = BLOCK_Y * TILE, p0 = BLOCK_X * TILE, group = BLOCK_Z % c->groups;
    const uint32_t terms = c->channels * (uint32_t)(c->kh * c->kw);
    const float *x = c->x + (size_t)BLOCK_Z * c->channels * (size_t)c->h * (size_t)c->width;
    float sum[EACH][EACH] = {{0.0f}};
    for (uint32_t k0 = 0; k0 < terms; k0 += SLICE) {
        load_codes(t.a, &arg->w, o0, c->outputs, group * c->outputs, k0, terms, false);
        load_windows(t.b, c, x, p0, k0, terms);
        barrier();
        add_slice(&t, sum);
        barrier();
    }
    put_conv_tile(c, o0, p0, sum);
}

/* The code in a slot of a word, times four, as an offset into the codebook. */
DEVICE uint32_t code_offset(uint32_t low, uint32_t high, uint32_t slot, uint32_t bits)
{
    const uint32_t at = bits == 8u ? 8u * slot : 4u * slot, mask = bits == 8u ? 1020u : 60u;
    const uint32_t code = (slot == 0 ? low << 2 : low >> (at - 2u)) & mask;
    return bits == 5u ? code | (high << 6 >> slot & 64u) : code;
}

#define CODES_AT_ONCE 2u /* words that a lane loads before it needs the first */

/* A row of a weight for a lane: every 32nd word, `words` of them, each with elements 32 columns
 * apart. bits is a constant where this is called, here and below. */
struct codes_row {
    const uint32_t *low;
    const uint8_t *high;
    uint32_t words;
};

struct codes_lot {
    uint32_t low[CODES_AT_ONCE], high[CODES_AT_ONCE];
};

/* Words [first, first + CODES_AT_ONCE), 0 where the row has none. */
DEVICE struct codes_lot load_lot(const struct codes_row *r, uint32_t first, uint32_t bits)
{
    struct codes_lot l;
    UNROLLED
    for (uint32_t i = 0; i < CODES_AT_ONCE; i++) {
        const bool there = first + i < r->words;
        l.low[i] = there ? r->low[32u * (first + i)] : 0u;
        l.high[i] = there && bits == 5u ? r->high[32u * (first + i)] : 0u;
    }
    return l;
}

/* Of word i of a lot; x of `left` columns from the word's first on is there. */
DEVICE float add_codes(const struct codes_lot *l, uint32_t i, const float *book, const float *x,
                       uint32_t left, uint32_t bits, bool whole, float sum)
{
    UNROLLED
    for (uint32_t slot = 0; slot < CODES_PER_WORD(bits); slot++) {
        const float value = whole || 32u * slot < left ? x[32u * slot] : 0.0f;
        sum = fmaf(number_at(book, code_offset(l->low[i], l->high[i], slot, bits)), value, sum);
    }
    return sum;
}

/* The next words are on their way while some are added. */
DEVICE float codes_sum(const struct gemm_codes_args *arg, const float *book, const float *x,
                       uint32_t row, uint32_t bits)
{
    const uint32_t step = 32u * CODES_PER_WORD(bits), lane = THREAD % 32u, k = arg->g.k;
    const size_t at = (size_t)row * arg->w.row_words + lane;
    const struct codes_row r = {arg->w.low + at, arg->w.high + at, (k + step - 1) / step};
    struct codes_lot now = load_lot(&r, 0, bits);
    uint32_t word = 0;
    float sum = 0.0f;
    x += lane;
    for (; (word + CODES_AT_ONCE) * step <= k; word += CODES_AT_ONCE) {
        const struct codes_lot next = load_lot(&r, word + CODES_AT_ONCE, bits);
        UNROLLED
        for (uint32_t i = 0; i < CODES_AT_ONCE; i++)
            sum = add_codes(&now, i, book, x + (word + i) * step, 0, bits, true, sum);
        now = next;
    }
    UNROLLED
    for (uint32_t i = 0; i < CODES_AT_ONCE; i++) {
        const uint32_t begin = (word + i) * step + lane;
        if (begin < k)
            sum = add_codes(&now, i, book, x + (word + i) * step, k - begin, bits, false, sum);
    }
    return sum;
}

DEVICE float codes_sum_of(const struct gemm_codes_args *arg, const float *book, const float *x,
                          uint32_t row)
{
    if (arg->w.bits == 4u)
        return codes_sum(arg, book, x, row, 4u);
    if (arg->w.bits == 5u)
        return codes_sum(arg, book, x, row, 5u);
    return codes_sum(arg, book, x, row, 8u);
}

KERNEL(gemv_codes, gemm_codes_args)
{
    SHARED float book[256];
    const uint32_t lane = THREAD % 32u, column = BLOCK_X * GEMV_ROWS + THREAD / 32u;
    const bool there = column < arg->g.n;
    const uint32_t row = arg->w.first + (there ? column : 0);
    const float *x = arg->g.a + (size_t)BLOCK_Y * arg->g.a_row;
    for (uint32_t i = THREAD; arg->one_book && i < 1u << arg->w.bits; i += LAUNCH_THREADS)
        book[i] = arg->w.book[i];
    barrier();
    float sum =
        arg->one_book
            ? codes_sum_of(arg, book, x, row)
            : codes_sum_of(arg, arg->w.book + ((size_t)(row / arg->w.book_rows) << arg->w.bits), x,
                           row);
    sum = warp_sum(sum);
    if (there && lane == 0)
        put_product(&arg->g, 0, BLOCK_Y, column, sum);
}
