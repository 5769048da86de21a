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
    put_conv_tile(c, 1, o0, p0, sum, false);
}

/* The code in a slot of a word, times four, as an offset into the codebook. */
DEVICE uint32_t code_offset(uint32_t low, uint32_t high, uint32_t slot, uint32_t bits)
{
    const uint32_t at = bits == 8u ? 8u * slot : 4u * slot, mask = bits == 8u ? 1020u : 60u;
    const uint32_t code = (slot == 0 ? low << 2 : low >> (at - 2u)) & mask;
    return bits == 5u ? code | (high << 6 >> slot & 64u) : code;
}

/* Terms of one word of each of `rows` rows, 32 columns apart, whose x is read once for all of them;
 * `left` columns are there from the first on. Those behind the last have codes like others, and no
 * x. rows, bits and whole are constants where this is called. */
DEVICE void add_words_of(const struct gemm_codes_args *arg, const float *book, const float *x,
                         uint32_t left, const size_t at[CODES_MOST_ROWS], uint32_t rows,
                         uint32_t bits, bool whole, float sum[CODES_MOST_ROWS])
{
    const uint32_t per_word = CODES_PER_WORD(bits);
    uint32_t low[CODES_MOST_ROWS], high[CODES_MOST_ROWS];
    UNROLLED
    for (uint32_t r = 0; r < rows; r++) {
        low[r] = arg->w.low[at[r]];
        high[r] = bits == 5u ? arg->w.high[at[r]] : 0u;
    }
    UNROLLED
    for (uint32_t slot = 0; slot < per_word; slot++) {
        const float value = whole || 32u * slot < left ? x[32u * slot] : 0.0f;
        UNROLLED
        for (uint32_t r = 0; r < rows; r++)
            sum[r] = fmaf(number_at(book, code_offset(low[r], high[r], slot, bits)), value, sum[r]);
    }
}

DEVICE void codes_sums(const struct gemm_codes_args *arg, const float *book, const float *x,
                       const uint32_t row[CODES_MOST_ROWS], uint32_t rows, uint32_t bits,
                       float sum[CODES_MOST_ROWS])
{
    const uint32_t step = 32u * CODES_PER_WORD(bits), lane = THREAD % 32u;
    size_t at[CODES_MOST_ROWS];
    uint32_t left = arg->g.k;
    x += lane;
    UNROLLED
    for (uint32_t r = 0; r < rows; r++)
        at[r] = (size_t)row[r] * arg->w.row_words + lane;
    for (; left >= step; left -= step, x += step) {
        add_words_of(arg, book, x, left, at, rows, bits, true, sum);
        UNROLLED
        for (uint32_t r = 0; r < rows; r++)
            at[r] += 32u;
    }
    if (lane < left)
        add_words_of(arg, book, x, left - lane, at, rows, bits, false, sum);
}

DEVICE void codes_sums_of(const struct gemm_codes_args *arg, const float *book, const float *x,
                          const uint32_t row[CODES_MOST_ROWS], uint32_t rows,
                          float sum[CODES_MOST_ROWS])
{
    if (arg->w.bits == 4u)
        codes_sums(arg, book, x, row, rows, 4u, sum);
    else if (arg->w.bits == 5u)
        codes_sums(arg, book, x, row, rows, 5u, sum);
    else
        codes_sums(arg, book, x, row, rows, 8u, sum);
}

/* A warp has arg->rows rows, each 8 warps behind the last; rows that are not there are the last one
 * again, and are not stored. */
KERNEL(gemv_codes, gemm_codes_args)
{
    SHARED float book[256];
    const uint32_t lane = THREAD % 32u, n = arg->g.n;
    const uint32_t column = BLOCK_X * arg->rows * GEMV_ROWS + THREAD / 32u;
    const float *x = arg->g.a + (size_t)BLOCK_Y * arg->g.a_row;
    uint32_t row[CODES_MOST_ROWS];
    float sum[CODES_MOST_ROWS] = {0.0f};
    UNROLLED
    for (uint32_t r = 0; r < CODES_MOST_ROWS; r++)
        row[r] = arg->w.first + (column + r * GEMV_ROWS < n ? column + r * GEMV_ROWS : n - 1);
    for (uint32_t i = THREAD; arg->one_book && i < 1u << arg->w.bits; i += LAUNCH_THREADS)
        book[i] = arg->w.book[i];
    barrier();
    if (arg->rows > 1)
        codes_sums_of(arg, book, x, row, CODES_MOST_ROWS, sum);
    else if (arg->one_book)
        codes_sums_of(arg, book, x, row, 1, sum);
    else
        codes_sums_of(arg, arg->w.book + ((size_t)(row[0] / arg->w.book_rows) << arg->w.bits), x,
                      row, 1, sum);
    UNROLLED
    for (uint32_t r = 0; r < CODES_MOST_ROWS; r++) {
        if (r >= arg->rows)
            continue;
        const float whole = warp_sum(sum[r]);
        if (column + r * GEMV_ROWS < n && lane == 0)
            put_product(&arg->g, 0, BLOCK_Y, column + r * GEMV_ROWS, whole);
    }
}
