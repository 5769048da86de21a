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
    uint32_t at_a, at_b;
    batch_offsets(&arg->s, BLOCK_Z, &at_a, &at_b);
    const struct shared_tail tail = tail_of(&arg->q);
    struct slice_i8 *t = &s.of.slice[0];
    for (uint32_t k0 = 0; k0 < arg->s.k; k0 += I8_SLICE) {
        load_side(&t->a, (const uint8_t *)arg->a + at_a, arg->a_signed, row0, arg->s.m, arg->s.a_row,
                  k0, arg->s.k, arg->s.a_col);
        load_side(&t->b, (const uint8_t *)arg->b + at_b, arg->b_signed, column0, arg->s.n, arg->s.b_col,
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

/* Few rows of a: a warp has an output, and weights come from memory at the speed that it has. */
KERNEL(gemv_packed_i8, gemm_packed_i8_args)
{
    const struct gemm_i8_args *g = &arg->g;
    const uint32_t column = BLOCK_X * GEMV_ROWS + THREAD / 32u, row = BLOCK_Y, lane = THREAD % 32u;
    int32_t sum = 0, line = 0;
    if (column >= g->s.n)
        return;
    for (uint32_t k = I8_PART * lane; k < arg->w.row; k += 32u * I8_PART) {
        const struct words a = row_part_i8(arg, row, k);
        const struct words b = weight_part_i8(&arg->w, column, g->s.n, k);
        for (uint32_t i = 0; i < I8_PART / 4u; i++) {
            sum = dot_i8((int32_t)a.word[i], (int32_t)b.word[i], sum);
            line = dot_i8((int32_t)a.word[i], ONES, line);
        }
    }
    for (uint32_t half = 16; half > 0; half /= 2) {
        sum += shuffle_xor_i32(sum, half);
        line += shuffle_xor_i32(line, half);
    }
    if (lane != 0)
        return;
    const struct weight_line w = column_line(g, column, arg->w.sum[column]);
    const struct value_line v = row_line(g, row, line);
    const struct shared_tail tail = tail_of(&g->q);
    put_sum(g->y, &g->q, &tail, w.factor, row * g->s.n + column, corrected(sum, &w, &v));
}
