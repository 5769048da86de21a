/* SPDX-License-Identifier: MIT */
/* Context-coded indices: what is encoded comes back at every level of the kernel, in pieces of any
 * length, the levels agree on every byte of a broken stream, and what neighbours tell is made use
 * of. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "guard_page.h"
#include "pith_context_encode.h"
#include "pith_huffman.h"

#define SEED 11u
#define MOST 8000u

#if defined(__aarch64__)
static const uint32_t level_mask[] = {0, PITH_CPU_NEON};
#else
static const uint32_t level_mask[] = {0, PITH_CPU_AVX2};
#endif
enum { LEVELS = sizeof level_mask / sizeof *level_mask };

struct coded {
    struct weight w;
    float codebook[256];
    uint8_t codebook_bytes[2048];
    uint8_t index[MOST], mask[MOST];
    struct guarded memory; /* of the stream */
};

static bool has_level(uint32_t i)
{
    return (level_mask[i] & ~pith_cpu_features()) == 0;
}

/* zero: where the centroids change their sign; negative: the codebook has no +0 there. */
static void make_codebook(struct coded *c, uint32_t n, uint32_t zero, bool has_zero)
{
    for (uint32_t i = 0; i < n; i++)
        c->codebook[i] = (float)(int32_t)(i - zero) + (has_zero ? 0.0f : 0.5f);
    size_t bytes;
    assert_int_equal(pith_codebook_encode(c->codebook, 1, n, c->codebook_bytes,
                                          sizeof c->codebook_bytes, &bytes),
                     PITH_OK);
    c->w.codebook = (struct stream){c->codebook_bytes, bytes};
}

/* rank 0..4; density in thousandths, 1000: dense. Indices are a bell whose width is that of the
 * row; every third tensor has one index alone. */
static void make(struct coded *c, uint32_t rank, uint32_t n, uint32_t density, uint64_t *seed)
{
    static const uint32_t dims[5][4] = {{1}, {3001}, {61, 99}, {17, 5, 40}, {29, 7, 3, 5}};
    memset(c, 0, sizeof *c);
    struct weight *w = &c->w;
    w->type = PITH_F32;
    w->shape.rank = rank;
    w->count = 1;
    for (uint32_t i = 0; i < rank; i++)
        w->count *= w->shape.dim[i] = dims[rank][i];
    w->grid = GRID_CODEBOOK;
    w->code = CODE_CONTEXT;
    w->n_centroids = n;
    w->n_groups = 1;
    w->group_elems = w->count;
    make_codebook(c, n, n / 2, random_u64(seed) % 2);
    uint32_t row = (uint32_t)(w->count / (rank < 2 ? 1 : w->shape.dim[0]));
    for (uint64_t i = 0; i < w->count; i++) {
        float width = (float)n / (float)(1 + i / row % 5);
        float v = (random_f32(seed) + random_f32(seed)) * width / 4 + (float)(n / 2);
        c->index[i] = (uint8_t)(v < 0 ? 0 : v >= (float)n ? (float)(n - 1) : v);
        c->mask[i] = density == 1000 || random_u64(seed) % 1000 < density;
    }
    c->mask[random_u64(seed) % w->count] = 1;
    for (uint64_t i = 0; i < w->count; i++)
        w->nnz += c->mask[i];
    w->support = density == 1000 ? SUPPORT_DENSE : SUPPORT_ADAPTIVE;
}

/* rows: of a slice; 0: one stream. */
static enum pith_status write_stream(const struct coded *c, uint64_t rows, uint8_t *dst, size_t cap,
                                     size_t *bytes)
{
    return rows ? pith_context_encode_sliced(&c->w, rows, c->mask, c->index, dst, cap, bytes)
                : pith_context_encode(&c->w, c->mask, c->index, dst, cap, bytes);
}

/* Room that the encoder of slices asks for: sizes are written in front when all are known. */
static size_t room_for(const struct coded *c, uint64_t rows)
{
    return rows ? 10 + 5 * (c->w.shape.dim[0] / rows + 1) : 0;
}

/* The stream ends at a page. */
static void encode(struct coded *c, uint64_t rows)
{
    size_t bytes, again;
    uint8_t *room = malloc(3 * MOST + room_for(c, rows));
    assert_true(pith_context_allows(&c->w));
    assert_int_equal(write_stream(c, rows, NULL, 0, &bytes), PITH_OK);
    c->memory = guard_new(bytes, 1);
    if (bytes)
        assert_int_equal(write_stream(c, rows, c->memory.data, bytes - 1, &again), PITH_ERR_SPACE);
    assert_int_equal(write_stream(c, rows, room, bytes + room_for(c, rows), &again), PITH_OK);
    assert_int_equal(again, bytes);
    memcpy(c->memory.data, room, bytes);
    free(room);
    c->w.sliced = rows > 0;
    c->w.index_stream = (struct stream){c->memory.data, bytes};
}

/* Elements that are stored, in pieces. pos, index: [nnz] */
static enum pith_status decode(struct weight w, uint32_t level, uint32_t piece, uint32_t *pos,
                               uint8_t *index)
{
    struct context_stream *s = malloc(sizeof *s);
    struct guarded column = guard_new(pith_context_bytes(&w), 1);
    w.cpu = level_mask[level];
    enum pith_status st = pith_context_open(s, &w, column.data);
    for (uint64_t at = 0; !st && at < w.nnz; at += piece) {
        uint32_t n = w.nnz - at < piece ? (uint32_t)(w.nnz - at) : piece;
        st = w.support == SUPPORT_DENSE ? pith_context_next(s, index + at, n)
                                        : pith_context_stored(s, pos + at, index + at, n);
    }
    guard_free(&column);
    free(s);
    return st;
}

static void check_slices(struct coded *c, uint64_t rows, uint64_t *seed)
{
    struct guarded index = guard_new(c->w.nnz, 1), pos = guard_new(4 * c->w.nnz, 1);
    encode(c, rows);
    for (uint32_t l = 0; l < LEVELS; l++) {
        if (!has_level(l))
            continue;
        memset(index.data, 77, c->w.nnz);
        assert_int_equal(
            decode(c->w, l, 1 + (uint32_t)(random_u64(seed) % 3000), pos.data, index.data),
            PITH_OK);
        const uint32_t *at = pos.data;
        for (uint64_t i = 0, k = 0; i < c->w.count; i++) {
            if (!c->mask[i])
                continue;
            assert_int_equal(((uint8_t *)index.data)[k], c->index[i]);
            assert_true(c->w.support == SUPPORT_DENSE || at[k] == i);
            k++;
        }
    }
    guard_free(&index);
    guard_free(&pos);
}

static void check(struct coded *c, uint64_t *seed)
{
    check_slices(c, 0, seed);
}

static void round_trips(void **state)
{
    static struct coded c;
    uint64_t seed = SEED;
    (void)state;
    printf("# seed %u\n", SEED);
    for (uint32_t n = 1; n <= 256; n += n < 20 ? 1 : 13)
        for (uint32_t rank = 0; rank < 5; rank++)
            for (uint32_t k = 0; k < 4; k++) {
                static const uint32_t density[] = {1000, 1000, 300, 10};
                make(&c, rank, n, n == 256 ? 1000 : density[k], &seed);
                check(&c, &seed);
                guard_free(&c.memory);
            }
}

/* In slices of a row, of some, of all but one; with what stores little, some slices store nothing.
 */
static void slices(void **state)
{
    static struct coded c;
    static const uint32_t density[] = {1000, 300, 5};
    uint64_t seed = SEED;
    (void)state;
    for (uint32_t n = 1; n <= 255; n += n < 20 ? 6 : 59)
        for (uint32_t i = 0; i < 27; i++) {
            make(&c, 2 + i / 3 % 3, n, density[i % 3], &seed);
            uint64_t all = c.w.shape.dim[0], rows = i < 9 ? 1 : i < 18 ? all / 3 : all - 1;
            check_slices(&c, rows, &seed);
            uint64_t pieces = (all + rows - 1) / rows;
            assert_int_equal(pith_slice_elements(&c.w), rows * (c.w.count / all));
            assert_int_equal(pith_slice_pieces(&c.w),
                             pieces < SLICE_PIECES ? pieces : SLICE_PIECES);
            guard_free(&c.memory);
        }
    size_t bytes;
    make(&c, 2, 7, 1000, &seed);
    assert_int_equal(write_stream(&c, c.w.shape.dim[0], NULL, 0, &bytes), PITH_ERR_ARGUMENT);
}

/* Any slice can be entered, and goes on with those behind it. */
static void entry_points(void **state)
{
    static struct coded c;
    static struct context_stream s;
    static uint8_t index[MOST];
    uint32_t columns[99];
    uint64_t seed = SEED;
    (void)state;
    make(&c, 2, 40, 1000, &seed);
    encode(&c, 4);
    for (uint32_t i = 0; i < 16; i++) {
        uint64_t at = 4 * 99 * i;
        assert_int_equal(pith_context_enter(&s, &c.w, columns, i), PITH_OK);
        assert_int_equal(pith_context_next(&s, index, c.w.count - at), PITH_OK);
        assert_memory_equal(index, c.index + at, c.w.count - at);
        assert_int_equal(pith_context_next(&s, index, 1), PITH_ERR_CORRUPT);
    }
    guard_free(&c.memory);
}

/* Directories that no writer gives. */
static void directories(void **state)
{
    /* 61 rows: 30 a slice are three slices; the first two are told */
    static const uint8_t wrong[][6] = {
        {0, 9, 9, 9, 9, 9},        /* no rows */
        {61, 9, 9, 9, 9, 9},       /* all of them */
        {62, 9, 9, 9, 9, 9},       /* more */
        {30, 0xff, 0x7f, 1, 1, 1}, /* longer than all there is */
        {30, 3, 0x80, 0x80, 0x80, 0x80},
        {30, 0, 3, 1, 1, 1}, /* a slice without a head */
        {1, 1, 1, 1, 1, 1},  /* the directory is not there whole */
        {0x80, 0x80, 0x80, 0x80, 0x80, 0x80},
    };
    static struct coded c;
    static struct context_stream s;
    uint32_t columns[99];
    uint64_t seed = SEED;
    (void)state;
    make(&c, 2, 7, 1000, &seed);
    c.w.sliced = true;
    c.w.codebook.bytes = c.codebook_bytes;
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (size_t n = 0; n <= sizeof *wrong; n++) {
            struct guarded g = guard_new(n, 1);
            memcpy(g.data, wrong[i], n);
            c.w.index_stream = (struct stream){g.data, n};
            assert_int_equal(pith_context_open(&s, &c.w, columns), PITH_ERR_CORRUPT);
            guard_free(&g);
        }
    encode(&c, 30);
    uint8_t *bytes = malloc(c.w.index_stream.n_bytes + 1);
    memcpy(bytes, c.memory.data, c.w.index_stream.n_bytes);
    c.w.index_stream.bytes = bytes;
    static uint8_t index[MOST];
    assert_int_equal(decode(c.w, 0, 512, NULL, index), PITH_OK);
    for (uint32_t at = 0; at < 5; at++) /* rows, and two sizes of two bytes */
        for (uint32_t bit = 0; bit < 8; bit++) {
            bytes[at] ^= (uint8_t)(1u << bit);
            assert_int_equal(decode(c.w, 0, 512, NULL, index), PITH_ERR_CORRUPT);
            bytes[at] ^= (uint8_t)(1u << bit);
        }
    bytes[c.w.index_stream.n_bytes++] = 0;
    assert_int_equal(decode(c.w, 0, 512, NULL, index), PITH_ERR_CORRUPT);
    free(bytes);
    guard_free(&c.memory);
}

/* A tensor of one value takes no code; 256 centroids and one more level are too many. */
static void ends_of_the_range(void **state)
{
    static struct coded c;
    uint64_t seed = SEED;
    (void)state;
    make(&c, 2, 1, 1000, &seed);
    check(&c, &seed);
    assert_int_equal(c.w.index_stream.n_bytes, 1);
    guard_free(&c.memory);
    make(&c, 2, 256, 500, &seed);
    assert_false(pith_context_allows(&c.w));
    c.w.n_centroids = 255;
    assert_true(pith_context_allows(&c.w));
    c.w.count = UINT64_C(1) << 28;
    assert_false(pith_context_allows(&c.w));
}

/* Rows of very different widths: fewer bytes than the entropy of the indices taken together. */
static void neighbours_tell(void **state)
{
    static struct coded c;
    uint64_t seed = SEED, hist[256] = {0};
    double entropy = 0;
    (void)state;
    make(&c, 2, 15, 1000, &seed);
    for (uint64_t i = 0; i < c.w.count; i++) {
        uint64_t column = i % 99;
        c.index[i] =
            column < 50 ? (uint8_t)(7 + random_u64(&seed) % 2) : (uint8_t)(random_u64(&seed) % 15);
        hist[c.index[i]]++;
    }
    for (uint32_t v = 0; v < 256; v++)
        if (hist[v])
            entropy -= (double)hist[v] * log2((double)hist[v] / (double)c.w.count) / 8;
    check(&c, &seed);
    assert_true((double)c.w.index_stream.n_bytes < 0.93 * entropy);
    guard_free(&c.memory);
}

/* One of 20 is stored, at random: 4 % more bytes than where and which cost at least; with zeros
 * among the symbols it would be 11 %. */
static void few_are_stored(void **state)
{
    static struct coded c;
    uint64_t seed = SEED;
    (void)state;
    make(&c, 2, 16, 50, &seed);
    for (uint64_t i = 0; i < c.w.count; i++)
        c.index[i] = (uint8_t)(random_u64(&seed) % 16);
    check(&c, &seed);
    double n = (double)c.w.count, p = (double)c.w.nnz / n;
    double bits = n * -(p * log2(p) + (1 - p) * log2(1 - p)) + 4 * n * p;
    printf("# %zu bytes, at least %.0f\n", c.w.index_stream.n_bytes, bits / 8);
    assert_int_equal(c.w.index_stream.bytes[0] >> 7, 1);
    assert_true((double)c.w.index_stream.n_bytes < 1.06 * bits / 8);
    guard_free(&c.memory);
}

/* What a stream that tells zeros apart needs: a zero, and a level beside it. */
static void what_apart_needs(void **state)
{
    static struct coded c;
    uint64_t seed = SEED;
    (void)state;
    for (uint32_t n = 1; n < 3; n++)
        for (uint32_t has_zero = 0; has_zero < 2; has_zero++) {
            make(&c, 2, n, 1000, &seed);
            make_codebook(&c, n, n / 2, has_zero);
            memset(c.index, 0, sizeof c.index);
            uint8_t apart[3] = {128 + 40};
            c.w.index_stream = (struct stream){apart, 1};
            c.w.codebook.bytes = c.codebook_bytes;
            struct context_stream s;
            uint32_t columns[99];
            bool may = n > 1 && has_zero;
            assert_int_equal(pith_context_open(&s, &c.w, columns),
                             may ? PITH_OK : PITH_ERR_CORRUPT);
            apart[0] = 40;
            assert_int_equal(pith_context_open(&s, &c.w, columns), PITH_OK);
        }
}

/* Changed bytes: the same status and indices at every level, and nothing outside is touched. */
static void broken_streams(void **state)
{
    static struct coded c;
    static uint8_t index[2][MOST];
    static uint32_t pos[2][MOST];
    uint64_t seed = SEED;
    uint32_t refused = 0;
    (void)state;
    for (uint32_t i = 0; i < 600; i++) {
        make(&c, 1 + i % 4, 1 + (uint32_t)(random_u64(&seed) % 255), i % 3 ? 1000 : 300, &seed);
        encode(&c, i % 4 && i % 5 == 4 ? 1 + i % 7 : 0); /* a vector has one row */
        uint8_t *bytes = c.memory.data;
        size_t n = c.w.index_stream.n_bytes, within = i % 2 && n > 12 ? 12 : n;
        for (uint32_t k = 0; k < 1 + i % 3; k++)
            bytes[random_u64(&seed) % within] ^= (uint8_t)(1u << random_u64(&seed) % 8);
        memset(index, 0, sizeof index);
        enum pith_status st = decode(c.w, 0, 512, pos[0], index[0]);
        for (uint32_t l = 1; l < LEVELS; l++)
            if (has_level(l)) {
                assert_int_equal(decode(c.w, l, 512, pos[1], index[1]), st);
                assert_memory_equal(index[0], index[1], MOST);
            }
        assert_true(st == PITH_OK || st == PITH_ERR_CORRUPT);
        refused += st != PITH_OK;
        guard_free(&c.memory);
    }
    assert_true(refused > 560);
}

/* A byte more is refused. With some less the stream is another one, as of any arithmetic code, with
 * the same meaning at every level. */
static void other_lengths(void **state)
{
    static struct coded c;
    static uint8_t index[2][MOST];
    uint64_t seed = SEED;
    (void)state;
    make(&c, 4, 9, 1000, &seed);
    encode(&c, 0);
    size_t n = c.w.index_stream.n_bytes;
    uint8_t *more = calloc(n + 1, 1);
    memcpy(more, c.memory.data, n);
    for (uint32_t l = 0; l < LEVELS; l++) {
        if (!has_level(l))
            continue;
        c.w.index_stream = (struct stream){more, n + 1};
        assert_int_equal(decode(c.w, l, 512, NULL, index[0]), PITH_ERR_CORRUPT);
        for (size_t less = 0; less < n; less += less < 20 ? 1 : 97) {
            struct guarded cut = guard_new(less, 1);
            memcpy(cut.data, more, less);
            memset(index, 0, sizeof index);
            c.w.index_stream = (struct stream){cut.data, less};
            enum pith_status st = decode(c.w, 0, 512, NULL, index[0]);
            assert_int_equal(decode(c.w, l, 512, NULL, index[1]), st);
            assert_memory_equal(index[0], index[1], MOST);
            assert_true(st || memcmp(index[0], c.index, c.w.count));
            guard_free(&cut);
        }
    }
    free(more);
    guard_free(&c.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips),      cmocka_unit_test(ends_of_the_range),
        cmocka_unit_test(neighbours_tell),  cmocka_unit_test(few_are_stored),
        cmocka_unit_test(what_apart_needs), cmocka_unit_test(broken_streams),
        cmocka_unit_test(other_lengths),    cmocka_unit_test(slices),
        cmocka_unit_test(entry_points),     cmocka_unit_test(directories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
