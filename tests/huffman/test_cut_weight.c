/* SPDX-License-Identifier: MIT */
/* test_cut_weight.c - large weights decoded in pieces by several threads: the bits of one thread,
 * and of broken streams its status, whatever the order of the pieces. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "backwards.h"
#include "guard_page.h"
#include "core/bytes.h"
#include "op_interface/op_exec.h"
#include "huffman/rans_encode.h"
#include "decode/gap_decode.h"
#include "decode/weight_cut.h"
#include "sanitized.h"

/* Neither whole blocks nor whole rows of 32 symbols; 7 divides it, and 7 rows end inside of blocks.
 */
#define ROWS 7u
#define COLS 120001u
#define COUNT (ROWS * COLS)
#define CENTROIDS 13u
#define SEED 11u

struct big {
    struct weight w;
    struct pith_rans_code code;
    uint8_t codebooks[1 + 4 * ROWS * CENTROIDS];
    uint8_t *stream;
    void *scratch;
    uint32_t calls;
    struct op_env env;
};

static uint8_t symbol[COUNT];

/* Symbols of the lower half of the alphabet are the common ones; the last is rare, so that there
 * are escapes. */
static void fill(void)
{
    uint64_t seed = SEED;
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t r = random_u64(&seed);
        symbol[i] = (uint8_t)(r >> 40 & 4095 ? r % (CENTROIDS / 2) : r % CENTROIDS);
    }
}

/* Whole numbers, which a weight of i8 may have, other ones in each group. */
static void set_codebooks(struct big *b, uint32_t groups)
{
    b->codebooks[0] = 0; /* raw */
    for (uint32_t g = 0; g < groups; g++)
        for (uint32_t i = 0; i < CENTROIDS; i++)
            store_le32(b->codebooks + 1 + 4 * (g * CENTROIDS + i), f32_bits((float)(i * (g + 1))));
    b->w.n_groups = groups;
    b->w.group_elems = COUNT / groups;
    b->w.codebook = (struct stream){b->codebooks, 1 + 4 * (size_t)groups * CENTROIDS};
}

static void set_rans(struct big *b)
{
    uint64_t hist[PITH_SYMBOLS] = {0};
    size_t bytes = pith_rans_bound(COUNT);
    pith_histogram_add(hist, symbol, COUNT);
    pith_rans_build(hist, &b->code);
    b->stream = malloc(bytes);
    assert_int_equal(pith_rans_encode(&b->code, symbol, COUNT, b->stream, bytes, &bytes), PITH_OK);
    b->w.code = CODE_RANS;
    b->w.index_table = (struct huff_table){b->code.table, b->code.table_bytes};
    b->w.index_stream = (struct stream){b->stream, bytes};
}

/* Four bits each. */
static void set_plain(struct big *b)
{
    b->stream = calloc(COUNT / 2 + 1, 1);
    for (uint32_t i = 0; i < COUNT; i++)
        b->stream[i / 2] |= (uint8_t)(symbol[i] << i % 2 * 4);
    b->w.code = CODE_PLAIN;
    b->w.index_bits = 4;
    b->w.index_stream = (struct stream){b->stream, COUNT / 2 + COUNT % 2};
}

static struct big *make(enum weight_code code, enum pith_type type, uint32_t groups)
{
    struct big *b = calloc(1, sizeof *b);
    b->w = (struct weight){.type = type,
                           .shape = {2, {ROWS, COLS}},
                           .count = COUNT,
                           .nnz = COUNT,
                           .grid = GRID_CODEBOOK,
                           .n_centroids = CENTROIDS};
    set_codebooks(b, groups);
    if (code == CODE_RANS)
        set_rans(b);
    else
        set_plain(b);
    b->scratch = malloc(pith_weight_scratch_bytes(&b->w));
    b->env = (struct op_env){.user = &b->calls, .parallel_for = backwards};
    return b;
}

static void let_go(struct big *b)
{
    free(b->stream);
    free(b->scratch);
    free(b);
}

static void same_elements(const struct big *b, const float *value, const float *one_by_one)
{
    assert_memory_equal(value, one_by_one, COUNT * sizeof *value);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t group = (uint32_t)(i / b->w.group_elems);
        assert_true(value[i] == (float)(symbol[i] * (group + 1)));
    }
}

TEST(test_same_bits)
{
    float *cut = malloc(COUNT * sizeof *cut), *whole = malloc(COUNT * sizeof *whole);
    uint8_t *index = malloc(COUNT), *as_i8 = malloc(COUNT), *whole_i8 = malloc(COUNT);
    for (uint32_t k = 0; k < 4; k++) {
        static const enum weight_code codes[] = {CODE_PLAIN, CODE_RANS};
        enum weight_code code = codes[k % 2];
        struct big *b = make(code, PITH_F32, k < 2 ? 1 : ROWS), *i8 = make(code, PITH_I8, ROWS);
        assert_true(pith_weight_is_cut(&b->w));
        assert_int_equal(pith_weight_cut_f32(&b->env, &b->w, cut, b->scratch), PITH_OK);
        assert_int_equal(pith_weight_expand_f32(&b->w, whole, b->scratch), PITH_OK);
        same_elements(b, cut, whole);
        assert_int_equal(pith_weight_cut_parts(&b->env, &b->w, NULL, index, NULL, b->scratch),
                         PITH_OK);
        assert_memory_equal(index, symbol, COUNT);
        assert_int_equal(pith_weight_cut_plain(&i8->env, &i8->w, as_i8, i8->scratch), PITH_OK);
        assert_int_equal(pith_weight_expand_plain(&i8->w, whole_i8, i8->scratch), PITH_OK);
        assert_memory_equal(as_i8, whole_i8, COUNT);
        assert_int_equal(b->calls, 2);
        assert_int_equal(i8->calls, 1);
        let_go(b);
        let_go(i8);
    }
    free(cut);
    free(whole);
    free(index);
    free(as_i8);
    free(whole_i8);
}

/* Without threads nothing is cut; small weights and other codes are not. */
TEST(test_not_cut)
{
    struct big *b = make(CODE_RANS, PITH_F32, 1);
    float *value = malloc(COUNT * sizeof *value);
    b->env.parallel_for = NULL;
    assert_int_equal(pith_weight_cut_f32(&b->env, &b->w, value, b->scratch), PITH_OK);
    assert_int_equal(b->calls, 0);
    b->w.code = CODE_ADAPTIVE;
    assert_false(pith_weight_is_cut(&b->w));
    b->w.code = CODE_RANS;
    b->w.support = SUPPORT_BITMAP;
    assert_false(pith_weight_is_cut(&b->w));
    b->w.support = SUPPORT_DENSE;
    b->w.count = b->w.nnz = 1u << 18;
    assert_false(pith_weight_is_cut(&b->w));
    free(value);
    let_go(b);
}

/* A flipped bit in the directory, the states, the words and the escapes of any block, a byte less,
 * a codebook that is none: pieces say what one thread says. */
TEST(test_damage)
{
    struct big *b = make(CODE_RANS, PITH_F32, ROWS);
    float *value = malloc(COUNT * sizeof *value);
    uint64_t seed = SEED;
    for (uint32_t i = 0; i < TEST_ROUNDS(40, 12); i++) {
        size_t at = i < 20 ? i : random_u64(&seed) % b->w.index_stream.n_bytes;
        b->stream[at] ^= (uint8_t)(1u << i % 8);
        enum pith_status st = pith_weight_expand_f32(&b->w, value, b->scratch);
        assert_int_equal(pith_weight_cut_f32(&b->env, &b->w, value, b->scratch), st);
        assert_int_equal(st, PITH_ERR_CORRUPT);
        b->stream[at] ^= (uint8_t)(1u << i % 8);
    }
    b->w.index_stream.n_bytes--;
    assert_int_equal(pith_weight_cut_f32(&b->env, &b->w, value, b->scratch), PITH_ERR_CORRUPT);
    b->w.index_stream.n_bytes++;
    store_le32(b->codebooks + 1 + 4 * 6 * CENTROIDS, f32_bits(INFINITY)); /* of the last group */
    assert_int_equal(pith_weight_cut_f32(&b->env, &b->w, value, b->scratch), PITH_ERR_CORRUPT);
    set_codebooks(b, ROWS);
    assert_int_equal(pith_weight_cut_f32(&b->env, &b->w, value, b->scratch), PITH_OK);
    free(value);
    let_go(b);
}

/* A table of one symbol, and symbols that name no centroid. */
TEST(test_tables)
{
    uint8_t *index = malloc(COUNT);
    memset(symbol, 3, COUNT);
    struct big *b = make(CODE_RANS, PITH_F32, 1);
    memset(index, 1, COUNT);
    assert_int_equal(pith_weight_cut_parts(&b->env, &b->w, NULL, index, NULL, b->scratch), PITH_OK);
    assert_memory_equal(index, symbol, COUNT);
    let_go(b);
    fill();
    symbol[COUNT - 1] = CENTROIDS;
    b = make(CODE_RANS, PITH_F32, 1);
    assert_int_equal(pith_weight_cut_parts(&b->env, &b->w, NULL, index, NULL, b->scratch),
                     PITH_ERR_CORRUPT);
    let_go(b);
    free(index);
}

int main(void)
{
    fill();
    return run_listed_tests(NULL, NULL);
}
