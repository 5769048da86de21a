/* SPDX-License-Identifier: MIT */
/* codes.cu - products with a weight that has a code for each element (pack_codes.c): a warp an
 * output for few rows of a, else the tiles of product.cu, which look each code up as they load it.
 */
#include "device_map.cuh"

/* A row of the weight begins at word `at`; `book` is the number of its codebook. */
struct code_row {
    uint32_t at, book;
};

/* Most weights have one codebook, for which nothing is divided. */
DEVICE struct code_row code_row_of(const struct codes *w, uint32_t row)
{
    row += w->first;
    struct code_row r = {row * w->row_words, row < w->book_rows ? 0u : row / w->book_rows};
    return r;
}

/* Every row has the code of a column in the same word of its own, and the same slot of that. */
struct code_place {
    uint32_t word, slot;
};

DEVICE struct code_place code_place_of(const struct codes *w, uint32_t column)
{
    const uint32_t log2_slots = w->bits == 8u ? 2u : 3u;
    struct code_place p = {(column / 32u >> log2_slots) * 32u + column % 32u,
                           column / 32u & ((1u << log2_slots) - 1u)};
    return p;
}

/* The weight and its codebook are read from global memory. */
DEVICE float code_value(const struct codes *w, struct code_row row, struct code_place p)
{
    const uint32_t at = row.at + p.word, shift = w->bits == 8u ? 8u * p.slot : 4u * p.slot;
    uint32_t code = w->low[at] >> shift & (w->bits == 8u ? 255u : 15u);
    if (w->bits == 5u)
        code |= ((uint32_t)w->high[at] >> p.slot & 1u) << 4;
    return w->book[((size_t)row.book << w->bits) + code];
}

/* A thread loads every 16th row of each slice, which are the same rows in all of them: what is
 * divided to find them is divided once. Bit i of `there` says that there is an of[i]. */
struct code_rows {
    struct code_row of[EACH];
    uint32_t there;
};

/* The tile has rows from row0 on, of `rows` that begin at row first_row of the weight. */
DEVICE struct code_rows code_rows_of(const struct codes *w, uint32_t row0, uint32_t rows,
                                     uint32_t first_row)
{
    struct code_rows r = {{{0, 0}}, 0};
    UNROLLED
    for (uint32_t i = 0; i < EACH; i++) {
        const uint32_t row = row0 + THREAD / SLICE + SLICE * i;
        r.of[i] = code_row_of(w, first_row + row);
        r.there |= (uint32_t)(row < rows) << i;
    }
    return r;
}

/* This is load_slice for a weight whose columns are the terms. */
DEVICE void load_codes(float slice[SLICE][TILE + 1], const struct codes *w,
                       const struct code_rows *rows, uint32_t k0, uint32_t ks)
{
    const uint32_t k = THREAD % SLICE, there = k0 + k < ks ? rows->there : 0u;
    const struct code_place p = code_place_of(w, k0 + k);
    UNROLLED
    for (uint32_t i = 0; i < EACH; i++)
        slice[k][THREAD / SLICE + SLICE * i] =
            there >> i & 1u ? code_value(w, rows->of[i], p) : 0.0f;
}

/* This is load_slice for a weight whose rows are the terms: a thread loads one column of it. */
DEVICE void load_terms(float slice[SLICE][TILE + 1], const struct codes *w, uint32_t column0,
                       uint32_t columns, uint32_t k0, uint32_t ks)
{
    const uint32_t column = column0 + THREAD % TILE;
    const struct code_place p = code_place_of(w, column);
    UNROLLED
    for (uint32_t k = THREAD / TILE; k < SLICE; k += LAUNCH_THREADS / TILE)
        slice[k][THREAD % TILE] = column < columns && k0 + k < ks
                                      ? code_value(w, code_row_of(w, k0 + k), p)
                                      : 0.0f;
}

KERNEL(gemm_codes, gemm_codes_args)
{
    SHARED struct tile t;
    const struct gemm_args *g = &arg->g;
    const uint32_t row0 = BLOCK_Y * TILE, column0 = BLOCK_X * TILE;
    const struct terms k = block_terms(&g->split, g->k);
    const struct code_rows rows = code_rows_of(&arg->w, column0, g->n, 0);
    float sum[EACH][EACH] = {{0.0f}};
    for (uint32_t k0 = k.first; k0 < k.end; k0 += SLICE) {
        load_slice(t.a, g->a, row0, g->m, g->a_row, k0, k.end, g->a_col);
        if (arg->terms_first)
            load_terms(t.b, &arg->w, column0, g->n, k0, k.end);
        else
            load_codes(t.b, &arg->w, &rows, k0, k.end);
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
    const uint32_t o0 = BLOCK_Y * TILE, p0 = BLOCK_X * TILE;
    const uint32_t item = block_item(&c->split), group = item % c->groups;
    const uint32_t terms = c->channels * (uint32_t)(c->kh * c->kw);
    const float *x = c->x + (size_t)item * c->channels * (size_t)c->h * (size_t)c->width;
    const struct terms k = block_terms(&c->split, terms);
    const struct code_rows rows = code_rows_of(&arg->w, o0, c->outputs, group * c->outputs);
    struct pixel_window window = window_from(c, x, p0, k.first);
    float sum[EACH][EACH] = {{0.0f}};
    for (uint32_t k0 = k.first; k0 < k.end; k0 += SLICE) {
        load_codes(t.a, &arg->w, &rows, k0, k.end);
        load_windows(t.b, c, &window);
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
