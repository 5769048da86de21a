/* SPDX-License-Identifier: MIT */
/* integer_product.cu - products of matrices of 8-bit integers (integer_tile.cuh): of any two, and
 * with weights that are packed (pack_rows.c), whose rows are the columns of the tile. */
#include "integer_tile.cuh"

/* Terms [k0, k0 + I8_SLICE) of rows from row0 on; what is not there is 0 and adds nothing. */
DEVICE void load_side(struct side_i8 *s, const void *x, uint32_t is_signed, uint32_t row0,
                      uint32_t rows, uint32_t row_step, uint32_t k0, uint32_t ks, uint32_t k_step)
{
    for (uint32_t i = THREAD; i < I8_WORDS * TILE; i += LAUNCH_THREADS) {
        uint32_t row = k_step == 1 ? i / I8_WORDS : i % TILE;
        uint32_t word = k_step == 1 ? i % I8_WORDS : i / TILE, v = 0;
        for (uint32_t b = 0; b < 4 && row0 + row < rows; b++) {
            uint32_t k = k0 + 4 * word + b;
            if (k < ks)
                v |= signed_byte(x, (size_t)(row0 + row) * row_step + (size_t)k * k_step, is_signed)
                     << 8 * b;
        }
        s->row[row][word] = v;
    }
}

/* Of row `row` of a, and of column `column` of b without what packed weights have beside. */
DEVICE struct value_line row_line(const struct gemm_i8_args *g, uint32_t row, int32_t sum)
{
    struct value_line v = {0, sum};
    if (row < g->s.m)
        v.zero = signed_zero(g->zero_a, row * g->zero_a_step, g->a_signed);
    return v;
}

DEVICE struct weight_line column_line(const struct gemm_i8_args *g, uint32_t column, int32_t sum)
{
    struct weight_line w = {0, 0, 0, 0.0f};
    if (column >= g->s.n)
        return w;
    w.zero = signed_zero(g->zero_b, column * g->zero_b_step, g->b_signed);
    w.fixed = without_zero(sum, g->s.k, w.zero);
    w.factor = factor_of(&g->q, column);
    return w;
}

DEVICE struct tile_place gemm_place(const struct gemm_i8_args *g, uint32_t batch)
{
    struct tile_place p;
    const uint32_t row0 = BLOCK_Y * TILE, column = BLOCK_X * TILE + own_quad();
    for (uint32_t j = 0; j < 4u; j++)
        p.at[j] = (batch * g->s.m + row0) * g->s.n + column + j;
    p.y = g->y;
    p.there = column < g->s.n ? g->s.n - column : 0u;
    p.rows = g->s.m - row0;
    p.row_step = g->s.n;
    p.rows_are_weights = p.raw = false;
    p.whole = g->s.n % 4u == 0u && (uintptr_t)g->q.y % 4u == 0u;
    return p;
}

KERNEL(gemm_i8, gemm_i8_args)
{
    SHARED struct tile_i8 s;
    int32_t sum[EACH][EACH] = {{0}}, line_a = 0, line_b = 0;
    const uint32_t row0 = BLOCK_Y * TILE, column0 = BLOCK_X * TILE;
    const struct offsets at = batch_offsets(&arg->s, BLOCK_Z);
    const struct shared_tail tail = tail_of(&arg->q);
    struct slice_i8 *t = &s.of.slice[0];
    for (uint32_t k0 = 0; k0 < arg->s.k; k0 += I8_SLICE) {
        load_side(&t->a, (const uint8_t *)arg->a + at.a, arg->a_signed, row0, arg->s.m, arg->s.a_row,
                  k0, arg->s.k, arg->s.a_col);
        load_side(&t->b, (const uint8_t *)arg->b + at.b, arg->b_signed, column0, arg->s.n, arg->s.b_col,
                  k0, arg->s.k, arg->s.b_row);
        barrier();
        add_words(t, sum);
        line_a = add_line(&t->a, line_a);
        line_b = add_line(&t->b, line_b);
        barrier();
    }
    if (THREAD < TILE) {
        s.value[THREAD] = row_line(arg, row0 + THREAD, line_a);
        s.weight[THREAD] = column_line(arg, column0 + THREAD, line_b);
    }
    const struct tile_place place = gemm_place(arg, BLOCK_Z);
    put_tile_i8(&s, &place, sum, &arg->q, &tail);
}

/* For cuBLASLt, which has no other bytes. */
KERNEL(rows_i8, rows_i8_args)
{
    SHARED struct side_i8 s;
    const uint32_t row = BLOCK_X * TILE + THREAD / I8_PARTS, part = THREAD % I8_PARTS;
    load_side(&s, (const uint8_t *)arg->x + (size_t)BLOCK_Z * arg->image_step, arg->is_signed,
              BLOCK_X * TILE, arg->rows, arg->row_step, BLOCK_Y * I8_SLICE, arg->terms,
              arg->term_step);
    barrier();
    if (row < arg->rows)
        ((struct words *)arg->y)[(((size_t)BLOCK_Z * arg->rows + row) * arg->row +
                                    BLOCK_Y * I8_SLICE) / I8_PART + part] =
            *(const struct words *)(const void *)(s.row[row % TILE] + I8_PART / 4u * part);
}

/* ---- packed weights ----------------------------------------------------------------------------
 */

/* Sixteen terms of a row of a; what is not there is 0. */
DEVICE struct words row_part_i8(const struct gemm_packed_i8_args *arg, uint32_t row, uint32_t k)
{
    const struct gemm_i8_args *g = &arg->g;
    const uint32_t flip = flip_of(g->a_signed);
    struct words p = {{0}};
    if (row >= g->s.m || k >= g->s.k)
        return p;
    const uint8_t *at = (const uint8_t *)g->a + (size_t)row * g->s.a_row + k;
    if (arg->whole) {
        p = *(const struct words *)(const void *)at;
        for (uint32_t i = 0; i < I8_PART / 4u; i++)
            p.word[i] ^= flip * (uint32_t)ONES;
        return p;
    }
    UNROLLED
    for (uint32_t i = 0; i < I8_PART; i++)
        if (k + i < g->s.k)
            p.word[i / 4u] |= (at[i] ^ flip) << 8u * (i % 4u);
    return p;
}

KERNEL(gemm_packed_i8, gemm_packed_i8_args)
{
    SHARED struct tile_i8 s;
    const uint32_t row0 = BLOCK_Y * TILE, column0 = BLOCK_X * TILE;
    const uint32_t own = THREAD / I8_PARTS, part = THREAD % I8_PARTS, k = I8_PART * part;
    int32_t sum[EACH][EACH] = {{0}}, line = 0;
    struct words a = row_part_i8(arg, row0 + own, k);
    struct words b = weight_part_i8(&arg->w, column0 + own, arg->g.s.n, k);
    const struct shared_tail tail = tail_of(&arg->g.q);
    if (THREAD < TILE)
        s.weight[THREAD] =
            column_line(&arg->g, column0 + THREAD,
                        column0 + THREAD < arg->g.s.n ? arg->w.sum[column0 + THREAD] : 0);
    for (uint32_t k0 = 0; k0 < arg->w.row; k0 += I8_SLICE) {
        struct slice_i8 *t = &s.of.slice[k0 / I8_SLICE % 2u];
        const uint32_t next = k0 + I8_SLICE;
        put_part_i8(&t->a, own, part, a);
        put_part_i8(&t->b, own, part, b);
        barrier();
        if (next < arg->w.row) {
            a = row_part_i8(arg, row0 + own, next + k);
            b = weight_part_i8(&arg->w, column0 + own, arg->g.s.n, next + k);
        }
        add_words(t, sum);
        if (arg->w.sums_values)
            line = add_line(&t->a, line);
    }
    if (THREAD < TILE)
        s.value[THREAD] = row_line(&arg->g, row0 + THREAD, line);
    const struct tile_place place = gemm_place(&arg->g, 0);
    put_tile_i8(&s, &place, sum, &arg->g.q, &tail);
}

/* ---- few rows ----------------------------------------------------------------------------------
 *
 * Weights are codes, or bytes, in steps for groups of eight rows (pack_codes.c), which warps of a team
 * take in turn. A codebook is in four registers: a code of 4 bits is one of the first eight centroids
 * and one of the last eight, each by one PRMT for four codes, and its highest bit says which, by a
 * third. Sums of weights, which correct for what zero points are, are sums with a row of ones, the
 * last of `many` + 1; behind them are those of the values.
 */

#define FEW_SUMS (CODES_MANY + 2u)

struct few_task {
    const uint8_t *row[CODES_MANY];
    struct words book;
    uint32_t k, flip;
};

/* Four terms of row m from k on, or ones, as signed bytes; 0 behind the last. */
DEVICE uint32_t few_terms(const struct few_task *t, uint32_t m, bool ones, uint32_t k, bool whole)
{
    uint32_t v = 0;
    if (whole)
        return ones ? (uint32_t)ONES : *(const uint32_t *)(const void *)(t->row[m] + k) ^ t->flip;
    NOT_UNROLLED
    for (uint32_t i = 0; i < 4u && k + i < t->k; i++)
        v |= (ones ? 1u : t->row[m][k + i] ^ (t->flip & 0xffu)) << 8u * i;
    return v;
}

/* A lane's word of a row, as bytes of four columns each: of a slice, but with codes of 2 bits of the
 * even columns of two slices, and of their odd ones. */
DEVICE void code_bytes(const struct words *book, uint32_t word, uint32_t bits, uint32_t four[4])
{
    const uint32_t *b = book->word, low = word & 0x77777777u;
    const uint32_t upper = (word >> 1 & 0x44444444u) | 0x32103210u;
    four[0] = word;
    UNROLLED
    for (uint32_t i = 0; i < 2u && bits == 4u; i++)
        four[i] = pick_coded(pick_coded(b[0], b[1], low >> 16u * i),
                             pick_coded(b[2], b[3], low >> 16u * i), upper >> 16u * i);
    UNROLLED
    for (uint32_t i = 0; i < 4u && bits == 2u; i++)
        four[i] = pick_coded(b[0], b[0], (word >> 2u * (i % 2u) & 0x33333333u) >> i / 2u * 16u);
}

/* bits, many, whole: constants where functions are called with them. */
DEVICE void add_few(int32_t sum[FEW_SUMS][CODES_ROWS], const struct few_task *t, const struct code_lot *l,
                    uint32_t step, uint32_t bits, uint32_t many, bool whole)
{
    const uint32_t k = step * CODES_COLUMNS(bits) + THREAD % 32u * 4u, n = 8u / bits;
    uint32_t x[CODES_MANY + 1u][4], w[4];
    UNROLLED
    for (uint32_t m = 0; m <= many; m++) {
        UNROLLED
        for (uint32_t i = 0; i < n; i++)
            x[m][i] = few_terms(t, m, m == many, k + 128u * i, whole);
        UNROLLED
        for (uint32_t i = 0; i + 1u < n && bits == 2u; i += 2u) {
            const uint32_t first = x[m][i], second = x[m][i + 1u];
            x[m][i] = pick_bytes(first, second, 0x6420u);
            x[m][i + 1u] = pick_bytes(first, second, 0x7531u);
        }
        UNROLLED
        for (uint32_t i = 0; i < n && m < many; i++)
            sum[many + 1u][m] = dot_i8((int32_t)x[m][i], ONES, sum[many + 1u][m]);
    }
    UNROLLED
    for (uint32_t row = 0; row < CODES_ROWS; row++) {
        code_bytes(&t->book, l->half[row / 4u].word[row % 4u], bits, w);
        UNROLLED
        for (uint32_t m = 0; m <= many; m++)
            UNROLLED
            for (uint32_t i = 0; i < n; i++)
                sum[m][row] = dot_i8((int32_t)x[m][i], (int32_t)w[i], sum[m][row]);
    }
}

/* Rows of a behind the last are the last again. The next words are on their way while some are
 * added. */
DEVICE void add_few_steps(int32_t sum[FEW_SUMS][CODES_ROWS], const struct gemv_i8_args *arg, uint32_t group,
                          uint32_t bits, uint32_t many)
{
    const struct gemm_args *s = &arg->g.s;
    const uint32_t stride = 1u << arg->log2_parts, steps = arg->w.steps;
    const uint32_t *word = arg->w.word + (size_t)group * steps * CODES_STEP_WORDS + THREAD % 32u * 4u;
    struct few_task t;
    const uint32_t whole = arg->whole ? s->k / CODES_COLUMNS(bits) : 0u;
    uint32_t step = THREAD / 32u % stride;
    struct code_lot next = load_lot(word + (step < whole ? step : 0u) * CODES_STEP_WORDS);
    t.book = *(const struct words *)(const void *)arg->w.book;
    t.k = s->k;
    t.flip = flip_of(arg->g.a_signed) * (uint32_t)ONES;
    UNROLLED
    for (uint32_t m = 0; m < many; m++) {
        const uint32_t row = BLOCK_X * many + m;
        t.row[m] = (const uint8_t *)arg->g.a + (size_t)(row < s->m ? row : s->m - 1u) * s->a_row;
    }
    NOT_UNROLLED
    for (; step < whole; step += stride) {
        const struct code_lot now = next;
        if (step + stride < whole)
            next = load_lot(word + (step + stride) * CODES_STEP_WORDS);
        add_few(sum, &t, &now, step, bits, many, true);
    }
    NOT_UNROLLED
    for (; step < steps; step += stride) {
        next = load_lot(word + step * CODES_STEP_WORDS);
        add_few(sum, &t, &next, step, bits, many, false);
    }
}

DEVICE void few_product(const struct gemv_i8_args *arg, uint32_t many,
                        int32_t (*sums)[FEW_SUMS * CODES_ROWS])
{
    const struct gemm_i8_args *g = &arg->g;
    const uint32_t warp = THREAD / 32u, lane = THREAD % 32u, parts = 1u << arg->log2_parts;
    const uint32_t group = BLOCK_Y * (GEMV_ROWS >> arg->log2_parts) + (warp >> arg->log2_parts);
    const uint32_t column = group * CODES_ROWS + lane % CODES_ROWS, m = lane / CODES_ROWS;
    const uint32_t row = BLOCK_X * many + m;
    int32_t sum[FEW_SUMS][CODES_ROWS] = {{0}}, of = 0, weights = 0, values = 0;
    const bool there = group * CODES_ROWS < g->s.n;
    if (there && arg->w.bits == 2u)
        add_few_steps(sum, arg, group, 2u, many);
    else if (there && arg->w.bits == 4u)
        add_few_steps(sum, arg, group, 4u, many);
    else if (there)
        add_few_steps(sum, arg, group, 8u, many);
    UNROLLED
    for (uint32_t i = 0; i < many + 2u; i++) {
        const int32_t of_row = group_sum_i32(sum[i]);
        if (lane % 4u == 0u)
            sums[warp][CODES_ROWS * i + lane / 4u] = of_row;
    }
    barrier();
    if (warp % parts != 0u || m >= many || column >= g->s.n || row >= g->s.m)
        return;
    for (uint32_t i = warp; i < warp + parts; i++) {
        of += sums[i][lane];
        weights += sums[i][CODES_ROWS * many + lane % CODES_ROWS];
        values += sums[i][CODES_ROWS * (many + 1u) + m];
    }
    const struct weight_line w = column_line(g, column, weights);
    const struct value_line v = row_line(g, row, values);
    const struct shared_tail tail = tail_of(&g->q);
    put_sum(g->y, &g->q, &tail, w.factor, row * g->s.n + column, corrected(of, &w, &v));
}

KERNEL(gemv_codes_i8, gemv_i8_args)
{
    SHARED int32_t sums[GEMV_ROWS][FEW_SUMS * CODES_ROWS];
    few_product(arg, 1u, sums);
}

KERNEL(gemv_codes_i8_many, gemv_i8_args)
{
    SHARED int32_t sums[GEMV_ROWS][FEW_SUMS * CODES_ROWS];
    few_product(arg, CODES_MANY, sums);
}
