/* SPDX-License-Identifier: MIT */
/* codes.cu - products of few rows with a weight that has a code for each element, or integers with
 * scales (pack_codes.c).
 *
 * The table has a row of 256 bytes for each byte of codes: its values, once for each lane or, where
 * shared memory serves so many at once, for 16 or 8 of them, in the first 128 bytes. So lanes read in
 * banks of their own, and a byte of codes beside a byte that says which copy is the address: one
 * PRMT. Behind a row's values is room for the sums of one warp.
 *
 * A lane has 32 bits of each of eight rows at once, and x of their columns, which is loaded once for
 * all of them. Warps of a team take the steps of the same rows in turn. A sum is a lane's terms in
 * order, then its lanes' sums as a tree, then the parts' in order. Of integers a lane's term is the
 * sum of four columns' products, in order, times their scale. */
#include "device_map.cuh"

#define TABLE_ROW 64u   /* floats from a byte of codes to the next */
#define TABLE_VALUES 32u

struct ALIGNED(8) code_pair {
    float of[2];
};

/* What codes are: of codebooks in global memory, of one in the table, or integers. */
enum { CODES_FAR, CODES_NEAR, CODES_SCALED };

DEVICE void fill_table(float *table, const struct codes *w, uint32_t threads)
{
    const uint32_t per = 8u / w->bits, mask = (1u << w->bits) - 1u;
    for (uint32_t i = THREAD; i < 256u * TABLE_VALUES; i += threads) {
        const uint32_t byte = i / TABLE_VALUES, value = i % TABLE_VALUES;
        table[byte * TABLE_ROW + value] = w->book[byte >> w->bits * (value % per) & mask];
    }
}

/* Of what the table has for byte i of a word, in the copy that begins so many bytes from the first.
 */
DEVICE uint32_t code_address(uint32_t word, uint32_t i, uint32_t copy)
{
    return pick_bytes(word, copy, 0x5504u + 16u * i);
}

/* The values of byte i of a word. bits is a constant where functions are called with it. */
DEVICE struct floats byte_values(const float *table, uint32_t word, uint32_t i, uint32_t bits)
{
    const uint32_t copy = THREAD * (32u / bits) % (4u * TABLE_VALUES);
    const char *at = (const char *)table + code_address(word, i, copy);
    struct floats v = {{0.0f, 0.0f, 0.0f, 0.0f}};
    if (bits == 2u) {
        v = *(const struct floats *)(const void *)at;
    } else if (bits == 4u) {
        const struct code_pair pair = *(const struct code_pair *)(const void *)at;
        v.of[0] = pair.of[0];
        v.of[1] = pair.of[1];
    } else {
        v.of[0] = *(const float *)(const void *)at;
    }
    return v;
}

/* The same without a table. */
DEVICE struct floats byte_numbers(const float *book, uint32_t word, uint32_t i, uint32_t bits)
{
    struct floats v = {{0.0f, 0.0f, 0.0f, 0.0f}};
    for (uint32_t k = 0; k < 8u / bits; k++)
        v.of[k] = book[word >> (8u * i + bits * k) & ((1u << bits) - 1u)];
    return v;
}

/* Columns from `from` on, of which `left` are there; whole: four are, and begin at 16 bytes. */
DEVICE struct floats load_four(const float *from, uint32_t left, bool whole)
{
    struct floats x;
    if (whole)
        return *(const struct floats *)(const void *)from;
    UNROLLED
    for (uint32_t i = 0; i < 4u; i++)
        x.of[i] = i < left ? from[i] : 0.0f;
    return x;
}

/* What a warp has of a product: `many` rows of a (a constant, too) by a group of rows. */
struct code_sums {
    float of[CODES_MANY][CODES_ROWS];
};

struct code_task {
    const uint32_t *word; /* of the lane, in step 0 */
    const float *x[CODES_MANY];
    const float *table;        /* or the first of codebooks, or of the group's scales */
    uint32_t book[CODES_ROWS]; /* where each row's codebook begins, where there is no table */
    uint32_t k, stride, shift; /* stride: from a step to the team's warp's next */
};

/* Four columns of integers of each row, which are 128 higher there, as floats of 1/128: exact, and
 * no product is too large. scales: of the rows, one behind the other. */
DEVICE void add_integers(float sum[CODES_ROWS], const struct code_lot *l, const struct floats *x,
                         const struct floats *scales)
{
    const struct floats scale[CODES_ROWS / 4u] = {scales[0], scales[1]};
    UNROLLED
    for (uint32_t row = 0; row < CODES_ROWS; row++) {
        float part = 0.0f;
        UNROLLED
        for (uint32_t i = 0; i < 4u; i++) {
            const uint32_t word = l->half[row / 4u].word[row % 4u];
            const uint32_t bits = pick_bytes(word, 0x47800000u, 0x7650u + i);
            part = fmaf(f32_from_bits(bits) - 65537.0f, x->of[i], part);
        }
        sum[row] = fmaf(part, scale[row / 4u].of[row % 4u], sum[row]);
    }
}

/* Slice s of a step: 128 columns, four a lane. */
DEVICE void add_code_slice(struct code_sums *sum, const struct code_task *t,
                           const struct code_lot *l, uint32_t step, uint32_t s, uint32_t bits,
                           uint32_t many, uint32_t way, bool whole)
{
    const uint32_t per = 8u / bits, column = step * CODES_COLUMNS(bits) + 128u * s + THREAD % 32u * 4u;
    const uint32_t left = column < t->k ? t->k - column : 0u;
    struct floats x[CODES_MANY];
    UNROLLED
    for (uint32_t m = 0; m < many; m++)
        x[m] = load_four(t->x[m] + column, left, whole);
    if (way == CODES_SCALED) {
        const float *scale = t->table + (column >> t->shift) * CODES_ROWS;
        add_integers(sum->of[0], l, x, (const struct floats *)(const void *)scale);
        return;
    }
    UNROLLED
    for (uint32_t i = 0; i < 4u * CODES_ROWS / per; i++) {
        const uint32_t row = i % CODES_ROWS, byte = i / CODES_ROWS;
        const uint32_t word = l->half[row / 4u].word[row % 4u], at = s * bits / 2u + byte;
        const struct floats v = way == CODES_NEAR
                                    ? byte_values(t->table, word, at, bits)
                                    : byte_numbers(t->table + t->book[row], word, at, bits);
        UNROLLED
        for (uint32_t k = 0; k < per; k++)
            UNROLLED
            for (uint32_t m = 0; m < many; m++)
                sum->of[m][row] = fmaf(v.of[k], x[m].of[byte * per + k], sum->of[m][row]);
    }
}

/* Whole steps from `step` on, below `end`; of one row of a the next words are on their way while some
 * are added. Returns the first step that is not below. */
DEVICE uint32_t add_whole(struct code_sums *sum, const struct code_task *t, uint32_t step,
                          uint32_t end, uint32_t bits, uint32_t many, uint32_t way)
{
    struct code_lot next = load_lot(t->word);
    if (many == 1u && step < end)
        next = load_lot(t->word + step * CODES_STEP_WORDS);
    NOT_UNROLLED
    for (; step < end; step += t->stride) {
        const struct code_lot now = many == 1u ? next : load_lot(t->word + step * CODES_STEP_WORDS);
        if (many == 1u && step + t->stride < end)
            next = load_lot(t->word + (step + t->stride) * CODES_STEP_WORDS);
        UNROLLED
        for (uint32_t s = 0; s < 8u / bits; s++)
            add_code_slice(sum, t, &now, step, s, bits, many, way, true);
    }
    return step;
}

/* A group of rows, number `group` of the weight's. Rows of a behind the last are the last again. */
DEVICE void add_group(struct code_sums *sum, const struct gemm_codes_args *arg, const float *table,
                      uint32_t group, uint32_t part, uint32_t bits, uint32_t many, uint32_t way)
{
    const struct gemm_args *g = &arg->g;
    const bool aligned = (uintptr_t)g->a % 16u == 0u && (g->m == 1u || g->a_row % 4u == 0u);
    const uint32_t steps = arg->w.steps, whole = aligned ? g->k / CODES_COLUMNS(bits) : 0u;
    struct code_task t;
    t.word = arg->w.word + (size_t)group * steps * CODES_STEP_WORDS + THREAD % 32u * 4u;
    t.table = way == CODES_NEAR ? table : arg->w.book;
    if (way == CODES_SCALED)
        t.table += (size_t)group * CODES_SCALES(steps, arg->w.scale_shift);
    t.shift = arg->w.scale_shift;
    t.k = g->k;
    UNROLLED
    for (uint32_t m = 0; m < many; m++) {
        const uint32_t row = BLOCK_Y * many + m;
        t.x[m] = g->a + (size_t)(row < g->m ? row : g->m - 1u) * g->a_row;
    }
    UNROLLED
    for (uint32_t i = 0; i < CODES_ROWS; i++) {
        const uint32_t row = group * CODES_ROWS + i, end = arg->w.first + g->n;
        t.book[i] = way != CODES_FAR ? 0u : (row < end ? row : end - 1u) / arg->w.book_rows << bits;
    }
    t.stride = 1u << arg->log2_parts;
    NOT_UNROLLED
    for (uint32_t step = add_whole(sum, &t, part, whole, bits, many, way); step < steps;
         step += t.stride) {
        const struct code_lot lot = load_lot(t.word + step * CODES_STEP_WORDS);
        NOT_UNROLLED
        for (uint32_t s = 0; s < 8u / bits; s++)
            add_code_slice(sum, &t, &lot, step, s, bits, many, way, false);
    }
}

/* Of a team's warps, the first at `sums`; lane l has the group's row l % 8 and row l / 8 of a. */
DEVICE void put_group(const struct gemm_codes_args *arg, const float *sums, uint32_t group,
                      uint32_t many)
{
    const uint32_t lane = THREAD % 32u, row = group * CODES_ROWS + lane % CODES_ROWS;
    const uint32_t m = BLOCK_Y * many + lane / CODES_ROWS;
    float sum = sums[lane];
    for (uint32_t i = 1; i < 1u << arg->log2_parts; i++)
        sum += sums[i * TABLE_ROW + lane];
    if (lane < CODES_ROWS * many && row >= arg->w.first && row - arg->w.first < arg->g.n &&
        m < arg->g.m)
        put_product(&arg->g, 0, m, row - arg->w.first, sum);
}

/* Teams take groups in turn; those of several warps have one, so that sums are not overwritten. */
DEVICE void code_product(const struct gemm_codes_args *arg, uint32_t many, uint32_t way)
{
    float *const table = SHARED_OF_LAUNCH;
    const uint32_t warp = THREAD / 32u, lane = THREAD % 32u, first = arg->w.first / CODES_ROWS;
    const uint32_t end = (arg->w.first + arg->g.n - 1u) / CODES_ROWS + 1u;
    const uint32_t part = warp & ((1u << arg->log2_parts) - 1u);
    const uint32_t bits = way == CODES_SCALED ? 8u : arg->w.bits;
    if (way == CODES_NEAR)
        fill_table(table, &arg->w, arg->teams << arg->log2_parts << 5);
    barrier();
    for (uint32_t begin = first + BLOCK_X * arg->teams; begin < end; begin += BLOCKS_X * arg->teams) {
        const uint32_t group = begin + (warp >> arg->log2_parts);
        float *own = table + warp * TABLE_ROW + TABLE_VALUES;
        struct code_sums sum = {{{0.0f}}};
        if (group < end && bits == 2u)
            add_group(&sum, arg, table, group, part, 2u, many, way);
        else if (group < end && bits == 4u)
            add_group(&sum, arg, table, group, part, 4u, many, way);
        else if (group < end)
            add_group(&sum, arg, table, group, part, 8u, many, way);
        UNROLLED
        for (uint32_t m = 0; m < many; m++) {
            const float of_row = group_sum(sum.of[m]);
            if (lane % 4u == 0u)
                own[CODES_ROWS * m + lane / 4u] = of_row;
        }
        barrier();
        if (part == 0u && group < end)
            put_group(arg, own, group, many);
    }
}

KERNEL_WIDE(gemv_codes, gemm_codes_args, 32u * CODES_WARPS)
{
    code_product(arg, 1u, CODES_NEAR);
}

KERNEL_WIDE(gemv_codes_many, gemm_codes_args, 32u * CODES_WARPS_MANY)
{
    code_product(arg, CODES_MANY, CODES_NEAR);
}

KERNEL_WIDE(gemv_codes_far, gemm_codes_args, 32u * CODES_WARPS_FAR)
{
    code_product(arg, 1u, CODES_FAR);
}

KERNEL_WIDE(gemv_scaled, gemm_codes_args, 32u * CODES_WARPS)
{
    code_product(arg, 1u, CODES_SCALED);
}
