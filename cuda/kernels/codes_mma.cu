/* SPDX-License-Identifier: MIT */
/* codes_mma.cu - up to 64 rows of a by a weight of codes (pack_codes.c) on tensor cores: factors of
 * 16 bits, sums in f32. A warp has 32 rows of the weight, and all columns of y: codes are decoded
 * once, into the registers of mma, by the table of codes.cu with pairs of f16 in it. Behind a row's
 * pairs is room for a lane's word each: there the block's a lies, 16 columns of 8 rows in two of
 * them, as mma has it.
 *
 * Lane 4 g + t has words of rows 4 g to 4 g + 3, and of columns 4 t to 4 t + 3 of each 16: what mma
 * calls rows g and g + 8 are the first two of them, or the others, and what it calls columns 2 t,
 * 2 t + 1, 2 t + 8, 2 t + 9 are the lane's four.
 */
#include "device_map.cuh"

#define PAIR_ROWS 32u /* of a warp */
#define AT_ONCE 4u    /* words that a lane has of each row: half a step */
#define A_AT_ONCE 2u  /* blocks of a that a warp loads at once */

DEVICE void fill_pairs(uint32_t *table, const struct codes *w)
{
    const uint32_t mask = (1u << w->bits) - 1u;
    for (uint32_t i = THREAD; i < 256u * TABLE_VALUES; i += LAUNCH_THREADS) {
        const uint32_t byte = i / TABLE_VALUES, word = i % TABLE_VALUES;
        const uint32_t first = w->bits == 2u ? word % 2u * 4u : 0u;
        const uint32_t second = w->bits == 8u ? 0u : first + w->bits;
        table[byte * TABLE_ROW + word] =
            pair_f16(w->book[byte >> first & mask], w->book[byte >> second & mask]);
    }
}

/* Of a lane: what lies in row `row` of the table, behind the pairs. */
DEVICE uint32_t *hole(uint32_t *table, uint32_t row)
{
    return table + row * TABLE_ROW + TABLE_VALUES + THREAD % 32u;
}

/* Of `blocks` times 16 columns from `column` on, each warp takes blocks of 8 rows. */
DEVICE void load_pairs_of_a(uint32_t *table, const struct gemm_args *g, uint32_t column,
                            uint32_t blocks, uint32_t tiles)
{
    const uint32_t lane = THREAD % 32u, all = blocks * tiles, step = LAUNCH_THREADS / 32u;
    const bool whole = (uintptr_t)g->a % 16u == 0u && (g->m == 1u || g->a_row % 4u == 0u);
    for (uint32_t first = THREAD / 32u; first < all; first += A_AT_ONCE * step) {
        struct floats x[A_AT_ONCE];
        UNROLLED
        for (uint32_t i = 0; i < A_AT_ONCE; i++) {
            const uint32_t at = first + i * step, row = at % tiles * 8u + lane / 4u;
            const uint32_t k = column + at / tiles * 16u + lane % 4u * 4u;
            const uint32_t left = at < all && row < g->m && k < g->k ? g->k - k : 0u;
            x[i] = load_four(g->a + (size_t)row * g->a_row + k, left, whole && left >= 4u);
        }
        UNROLLED
        for (uint32_t i = 0; i < A_AT_ONCE && first + i * step < all; i++) {
            *hole(table, 2u * (first + i * step)) = pair_f16(x[i].of[0], x[i].of[1]);
            *hole(table, 2u * (first + i * step) + 1u) = pair_f16(x[i].of[2], x[i].of[3]);
        }
    }
}

/* Four codes of a word, those of slice i of its step, as two pairs. */
DEVICE void word_pairs(const uint32_t *table, uint32_t word, uint32_t i, uint32_t bits,
                       uint32_t pair[2])
{
    const char *base = (const char *)table;
    const uint32_t copy = THREAD % (bits == 2u ? 16u : 32u) * (bits == 2u ? 8u : 4u);
    if (bits == 2u) {
        const struct code_pair both =
            *(const struct code_pair *)(const void *)(base + code_address(word, i, copy));
        pair[0] = f32_bits(both.of[0]);
        pair[1] = f32_bits(both.of[1]);
    } else if (bits == 4u) {
        pair[0] = *(const uint32_t *)(const void *)(base + code_address(word, 2u * i, copy));
        pair[1] = *(const uint32_t *)(const void *)(base + code_address(word, 2u * i + 1u, copy));
    } else {
        uint32_t of[4];
        UNROLLED
        for (uint32_t k = 0; k < 4u; k++)
            of[k] = *(const uint32_t *)(const void *)(base + code_address(word, k, copy));
        pair[0] = pick_bytes(of[0], of[1], 0x5410u);
        pair[1] = pick_bytes(of[2], of[3], 0x5410u);
    }
}

/* Of a lane: mma's sums of the first two of its four rows, and of the others, for each 8 rows of a. */
struct pair_sums {
    float of[CODES_MMA_ROWS / 8u][2][4];
};

/* Slice number `slice` of half a step by what the block has of a, from 16 columns number `block` on.
 */
DEVICE void add_pairs(struct pair_sums *sum, uint32_t *table, const struct words w[AT_ONCE],
                      uint32_t slice, uint32_t block, uint32_t tiles, uint32_t most, uint32_t bits)
{
    UNROLLED
    for (uint32_t q = 0; q < AT_ONCE; q++) {
        uint32_t pair[4][2];
        UNROLLED
        for (uint32_t r = 0; r < 4u; r++)
            word_pairs(table, w[q].word[r], slice, bits, pair[r]);
        const uint32_t upper[4] = {pair[0][0], pair[1][0], pair[0][1], pair[1][1]};
        const uint32_t lower[4] = {pair[2][0], pair[3][0], pair[2][1], pair[3][1]};
        uint32_t *const a = hole(table, 2u * (block + q) * tiles);
        UNROLLED
        for (uint32_t i = 0; i < most; i++)
            if (i < tiles) {
                const uint32_t of_a[2] = {a[2u * i * TABLE_ROW], a[(2u * i + 1u) * TABLE_ROW]};
                mma_f16(sum->of[i][0], upper, of_a);
                mma_f16(sum->of[i][1], lower, of_a);
            }
    }
}

DEVICE void load_words(struct words w[AT_ONCE], const uint32_t *from, uint32_t half)
{
    UNROLLED
    for (uint32_t i = 0; i < AT_ONCE; i++)
        w[i] = *(const struct words *)(const void *)(from + half / 2u * CODES_STEP_WORDS +
                                                     half % 2u * 64u + 16u * i);
}

/* Steps of the block's part. The block loads a for as many of them as there is room; meanwhile, and
 * while half a step is added, the next words are on their way. */
DEVICE void add_part(struct pair_sums *sum, const struct gemm_codes_args *arg, uint32_t *table,
                     uint32_t tiles, uint32_t most, uint32_t bits)
{
    const uint32_t lane = THREAD % 32u, last = (arg->g.n - 1u) / CODES_ROWS;
    const uint32_t own = (BLOCK_X * CODES_MMA_TILE + THREAD / 32u * PAIR_ROWS) / CODES_ROWS + lane / 8u;
    const uint32_t per = 64u / bits, room = CODES_MMA_BLOCKS / (per * tiles); /* steps of a */
    const struct terms steps = block_terms(&arg->g.split, arg->w.steps);
    const uint32_t *from = arg->w.word +
                           (size_t)(own < last ? own : last) * arg->w.steps * CODES_STEP_WORDS +
                           lane / 4u % 2u * 128u + lane % 4u * 4u;
    struct words next[AT_ONCE];
    load_words(next, from, 2u * steps.first);
    NOT_UNROLLED
    for (uint32_t half = 2u * steps.first; half < 2u * steps.end; half++) {
        const uint32_t in_room = (half - 2u * steps.first) % (2u * room), step = half / 2u;
        struct words now[AT_ONCE];
        if (in_room == 0u) {
            const uint32_t n = steps.end - step < room ? steps.end - step : room;
            barrier();
            load_pairs_of_a(table, &arg->g, step * CODES_COLUMNS(bits), n * per, tiles);
            barrier();
        }
        UNROLLED
        for (uint32_t i = 0; i < AT_ONCE; i++)
            now[i] = next[i];
        if (half + 1u < 2u * steps.end)
            load_words(next, from, half + 1u);
        NOT_UNROLLED
        for (uint32_t slice = 0; slice < 8u / bits; slice++)
            add_pairs(sum, table, now, slice,
                      in_room / 2u * per + 8u * slice + in_room % 2u * AT_ONCE, tiles, most, bits);
    }
}

/* By way of shared memory, where y's rows then lie one behind the other. */
DEVICE void put_pairs(const struct gemm_args *g, float *shared, const struct pair_sums *sum,
                      uint32_t tiles, uint32_t most)
{
    const uint32_t lane = THREAD % 32u, row0 = BLOCK_X * CODES_MMA_TILE;
    barrier();
    UNROLLED
    for (uint32_t i = 0; i < most; i++)
        UNROLLED
        for (uint32_t j = 0; j < 2u && i < tiles; j++) {
            const float(*s)[4] = sum->of[i];
            const struct floats four = {{s[0][j], s[0][j + 2u], s[1][j], s[1][j + 2u]}};
            float *to = shared + (8u * i + lane % 4u * 2u + j) * CODES_MMA_TILE +
                        THREAD / 32u * PAIR_ROWS + lane / 4u * 4u;
            *(struct floats *)(void *)to = four;
        }
    barrier();
    for (uint32_t i = THREAD; i < g->m * CODES_MMA_TILE; i += LAUNCH_THREADS) {
        const uint32_t m = i / CODES_MMA_TILE, row = row0 + i % CODES_MMA_TILE;
        if (row < g->n && g->split.parts > 1u)
            part_sums(&g->split)[(size_t)m * g->n + row] = shared[i];
        else if (row < g->n)
            put_product(g, 0, m, row, shared[i]);
    }
}

/* most: tiles that the kernel has room for. */
DEVICE void pairs_product(const struct gemm_codes_args *arg, uint32_t most)
{
    uint32_t *const table = (uint32_t *)(void *)SHARED_OF_LAUNCH;
    const uint32_t tiles = (arg->g.m + 7u) / 8u;
    struct pair_sums sum = {{{{0.0f}}}};
    fill_pairs(table, &arg->w);
    if (arg->w.bits == 2u)
        add_part(&sum, arg, table, tiles, most < 4u ? most : 4u, 2u);
    else if (arg->w.bits == 4u)
        add_part(&sum, arg, table, tiles, most, 4u);
    else
        add_part(&sum, arg, table, tiles, most, 8u);
    put_pairs(&arg->g, SHARED_OF_LAUNCH, &sum, tiles, most);
}

KERNEL_OF(codes_mma_few, gemm_codes_args, LAUNCH_THREADS, 3)
{
    pairs_product(arg, 1u);
}

KERNEL_OF(codes_mma, gemm_codes_args, LAUNCH_THREADS, 2)
{
    pairs_product(arg, CODES_MMA_ROWS / 8u);
}
