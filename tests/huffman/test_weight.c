/* SPDX-License-Identifier: MIT */
/* Every combination of support, grid and code that the encoders write comes back exactly from
 * runtime/decode/weight.c, without a byte read behind any stream. */
#include <stdint.h>
#include "test_run.h"
#include "core/bytes.h"
#include "coded_weight.h"
#include "decode/rans_table.h"
#include "sanitized.h"

#define SEED 20240611u

/* Moves a stream to the end of a page that nothing follows. */
static struct guarded guard_stream(const uint8_t **bytes, size_t n)
{
    struct guarded g = guard_new(n ? n : 1, 1);
    if (n)
        memcpy(g.data, *bytes, n);
    *bytes = n ? g.data : (const uint8_t *)g.data + 1;
    return g;
}

static void check_parts(const struct weight_case *c, void *scratch)
{
    const struct weight *w = &c->w;
    size_t n = (size_t)(w->nnz ? w->nnz : 1), k = 0;
    uint32_t *pos = malloc(n * sizeof *pos);
    uint8_t *index = malloc(n);
    float *value = malloc(n * sizeof *value), *again = malloc(n * sizeof *value);
    bool codebook = w->grid == GRID_CODEBOOK;
    assert_int_equal(pith_weight_expand_parts(w, pos, codebook ? index : NULL, value, scratch),
                     PITH_OK);
    for (uint64_t i = 0; i < w->count; i++) {
        if (!c->mask[i])
            continue;
        assert_int_equal(pos[k], i);
        if (codebook)
            assert_int_equal(index[k], c->index[i]);
        assert_int_equal(f32_bits(value[k]), f32_bits(c->dense[i]));
        k++;
    }
    assert_int_equal(k, w->nnz);
    assert_int_equal(pith_weight_expand_parts(w, NULL, NULL, again, scratch), PITH_OK);
    assert_memory_equal(again, value, w->nnz * sizeof *value);
    uint32_t *pos_again = malloc(n * sizeof *pos);
    assert_int_equal(pith_weight_expand_parts(w, pos_again, NULL, NULL, scratch), PITH_OK);
    assert_memory_equal(pos_again, pos, w->nnz * sizeof *pos);
    if (codebook) {
        uint8_t *index_again = malloc(n);
        assert_int_equal(pith_weight_expand_parts(w, NULL, index_again, NULL, scratch), PITH_OK);
        assert_memory_equal(index_again, index, w->nnz);
        free(index_again);
    }
    free(pos);
    free(index);
    free(value);
    free(again);
    free(pos_again);
}

static void check_case(const struct case_spec *spec, uint64_t *seed)
{
    struct weight_case c = case_new(spec, seed);
    struct weight *w = &c.w;
    struct guarded g[5] = {
        guard_stream(&w->gap_table.bytes, w->gap_table.n_bytes),
        guard_stream(&w->index_table.bytes, w->index_table.n_bytes),
        guard_stream(&w->support_stream.bytes, w->support_stream.n_bytes),
        guard_stream(&w->index_stream.bytes, w->index_stream.n_bytes),
        guard_stream(&w->codebook.bytes, w->codebook.n_bytes),
    };
    struct guarded scratch = guard_new(pith_weight_scratch_bytes(w), 1);
    struct guarded out = guard_new(w->count * sizeof(float), 1);
    assert_int_equal(pith_weight_expand_f32(w, out.data, scratch.data), PITH_OK);
    for (uint64_t i = 0; i < w->count; i++)
        assert_int_equal(f32_bits(((float *)out.data)[i]), f32_bits(c.dense[i]));
    check_parts(&c, scratch.data);
    if (w->grid == GRID_PLAIN) {
        size_t bytes = w->count * pith_type_bytes(w->type);
        uint8_t *plain = malloc(bytes);
        assert_int_equal(pith_weight_expand_plain(w, plain, scratch.data), PITH_OK);
        assert_memory_equal(plain, c.elements, bytes);
        free(plain);
    } else {
        size_t n = (size_t)w->n_groups * w->n_centroids;
        float *books = malloc(n * sizeof *books);
        assert_int_equal(pith_weight_codebooks(w, books), PITH_OK);
        assert_memory_equal(books, c.codebook, n * sizeof *books);
        free(books);
    }
    for (int i = 0; i < 5; i++)
        guard_free(&g[i]);
    guard_free(&scratch);
    guard_free(&out);
    case_free(&c);
}

static const uint64_t counts[] = {1, 7, 8, 9, 60, 1000, 4095, 4096, 9000, 40000, 150000};
static const uint32_t densities[] = {0, 3, 90, 250, 500, 900, 1000};

TEST(all_codebook_forms)
{
    static const uint32_t sizes[] = {1, 2, 3, 16, 32, 100, 256};
    uint64_t seed = SEED;
    print_message("# seed %u\n", SEED);
    for (size_t a = 0; a < sizeof counts / sizeof *counts - TEST_ROUNDS(0, 2); a++)
        for (size_t b = 0; b < sizeof densities / sizeof *densities; b += counts[a] < 40000 ? 1 : 3)
            for (uint32_t form = 0; form < 3 * CASE_CODES; form++) {
                uint64_t n = counts[a];
                struct case_spec s = {.count = n,
                                      .density = densities[b],
                                      .support = (enum weight_support)(form % 3),
                                      .code = case_codes[form / 3],
                                      .n_centroids = sizes[(a + b + form) % 7],
                                      .n_groups = n % 10 == 0 && (a + b) % 2 ? n / 10 : 1};
                check_case(&s, &seed);
            }
}

TEST(all_plain_types)
{
    uint64_t seed = SEED;
    for (uint32_t type = PITH_F32; type <= PITH_BOOL; type++)
        for (uint32_t support = 0; support < 3; support++)
            for (size_t a = 0; a < sizeof counts / sizeof *counts - 2; a++) {
                struct case_spec s = {.count = counts[a],
                                      .density = densities[a % 7],
                                      .support = (enum weight_support)support,
                                      .type = (enum pith_type)type};
                check_case(&s, &seed);
            }
}

/* Damage that no checksum is needed for: lengths, padding, counts, indices out of range. */
TEST(refusals)
{
    uint64_t seed = SEED;
    struct case_spec s = {.count = 1000,
                          .density = 90,
                          .support = SUPPORT_GAPS,
                          .code = CODE_HUFFMAN,
                          .n_centroids = 20,
                          .n_groups = 10};
    struct weight_case c = case_new(&s, &seed);
    void *scratch = malloc(pith_weight_scratch_bytes(&c.w) + 65536);
    float *dst = malloc(1000 * sizeof *dst);
    struct weight w;
#define REFUSED(change)                                                                            \
    do {                                                                                           \
        w = c.w;                                                                                   \
        change;                                                                                    \
        assert_int_equal(pith_weight_expand_f32(&w, dst, scratch), PITH_ERR_CORRUPT);              \
    } while (0)
    assert_int_equal(pith_weight_expand_f32(&c.w, dst, scratch), PITH_OK);
    REFUSED(w.index_stream.n_bytes--);
    REFUSED(w.index_stream.n_bytes++);
    REFUSED(w.support_stream.n_bytes--);
    REFUSED(w.support_stream.n_bytes++);
    REFUSED(w.codebook.n_bytes--);
    REFUSED(w.codebook.n_bytes++);
    REFUSED(w.gap_table.n_bytes--);
    REFUSED(w.gap_table.n_bytes++);
    REFUSED(w.index_table.n_bytes--);
    REFUSED(w.index_table.n_bytes++);
    REFUSED(w.nnz = 0);
    REFUSED(w.nnz -= 10);
    REFUSED(w.nnz += 10);
    REFUSED(w.count = 500);
    REFUSED(w.n_centroids = 19);
    REFUSED(w.n_centroids = 0);
    REFUSED(w.n_centroids = 257);
    REFUSED(w.n_groups = 9);
    REFUSED(w.n_groups = 11);
    REFUSED(w.group_elems = 0);
    REFUSED(w.support = SUPPORT_DENSE);
    REFUSED(w.support = SUPPORT_BITMAP);
    REFUSED(w.support = (enum weight_support)3);
    REFUSED(w.count = (uint64_t)1 << 32);
    REFUSED((w.code = CODE_PLAIN, w.index_bits = 5));
    REFUSED((w.code = CODE_PLAIN, w.index_bits = 9));
    assert_int_equal(pith_weight_expand_plain(&c.w, dst, scratch), PITH_ERR_ARGUMENT);
    w = c.w;
    w.count = (uint64_t)1 << 32;
    uint32_t pos[1];
    assert_int_equal(pith_weight_expand_parts(&w, pos, NULL, NULL, scratch), PITH_ERR_LIMIT);
    w.grid = GRID_PLAIN;
    assert_int_equal(pith_weight_codebooks(&w, dst), PITH_ERR_ARGUMENT);
    REFUSED(w.grid = GRID_PLAIN);
    free(dst);
    free(scratch);
    case_free(&c);
}

TEST(plain_refusals)
{
    uint64_t seed = SEED;
    struct case_spec s = {.count = 1001,
                          .density = 90,
                          .support = SUPPORT_BITMAP,
                          .code = CODE_PLAIN,
                          .n_centroids = 20,
                          .n_groups = 1};
    struct weight_case c = case_new(&s, &seed);
    void *scratch = malloc(pith_weight_scratch_bytes(&c.w) + 65536);
    float *dst = malloc(1008 * sizeof *dst);
    struct weight w;
    assert_int_equal(pith_weight_expand_f32(&c.w, dst, scratch), PITH_OK);
    REFUSED(w.n_centroids = 19);
    REFUSED(w.nnz--);
    REFUSED(w.nnz++);
    REFUSED(w.index_bits = 6);
    REFUSED(w.support_stream.n_bytes--);
    uint8_t *bitmap = c.bytes[2], *index = c.bytes[3];
    size_t last = c.w.index_stream.n_bytes - 1;
    /* a bit beyond the tensor in place of one inside */
    uint32_t first = 0;
    while (!(bitmap[0] | bitmap[first]))
        first++;
    uint8_t kept = bitmap[first];
    bitmap[first] &= (uint8_t)(kept - 1);
    bitmap[125] |= 0x80;
    REFUSED((void)0);
    bitmap[first] = kept;
    REFUSED((void)0);
    bitmap[125] &= 0x7f;
    assert_int_equal(pith_weight_expand_f32(&c.w, dst, scratch), PITH_OK);
    if (c.w.nnz * 5 % 8) {
        index[last] |= 0x80;
        REFUSED((void)0);
    }
    index[last] &= 0x7f;
    index[0] |= 31;
    REFUSED((void)0);
    free(dst);
    free(scratch);
    case_free(&c);
}

/* i8: centroids are whole numbers in range, and elements those numbers. */
TEST(integers_in_codebooks)
{
    static const float odd_ones[] = {0.5f, 128.0f, -129.0f, -0.0f};
    uint64_t seed = SEED;
    for (uint32_t form = 0; form < 2 * CASE_CODES_APART; form++) {
        struct case_spec s = {.count = 4999,
                              .density = 300,
                              .support = form % 2 ? SUPPORT_BITMAP : SUPPORT_DENSE,
                              .code = case_codes[form / 2],
                              .n_centroids = 15,
                              .n_groups = 1};
        struct weight_case c = case_new(&s, &seed);
        c.w.type = PITH_I8;
        void *scratch = malloc(pith_weight_scratch_bytes(&c.w));
        int8_t *dst = malloc(c.w.count);
        float *real = malloc(c.w.count * sizeof *real);
        uint8_t codebook[256];
        size_t bytes;
        float q[15];
        assert_int_equal(pith_weight_expand_plain(&c.w, dst, scratch), PITH_ERR_CORRUPT);
        c.w.codebook.bytes = codebook;
        for (uint32_t odd = 0; odd <= 4; odd++) {
            for (int i = 0; i < 15; i++)
                q[i] = (float)(i * 17 - 120);
            uint32_t at = odd == 1 ? 14 : odd == 2 ? 0 : 7; /* order is kept */
            if (odd < 4)
                q[at] = odd_ones[odd];
            assert_int_equal(pith_codebook_encode(q, 1, 15, codebook, sizeof codebook, &bytes),
                             PITH_OK);
            c.w.codebook.n_bytes = bytes;
            assert_int_equal(pith_weight_expand_plain(&c.w, dst, scratch),
                             odd < 4 ? PITH_ERR_CORRUPT : PITH_OK);
        }
        assert_int_equal(pith_weight_expand_f32(&c.w, real, scratch), PITH_OK);
        for (uint64_t i = 0; i < c.w.count; i++) {
            float expected = c.mask && !c.mask[i] ? 0 : q[c.index[i]];
            assert_true(real[i] == expected && dst[i] == (int8_t)expected);
        }
        free(real);
        free(dst);
        free(scratch);
        case_free(&c);
    }
}

/* Centroids of which `step` each are alike. */
static void set_integers(struct weight *w, uint8_t *codebook, size_t cap, int step, float *q)
{
    for (uint32_t i = 0; i < w->n_centroids; i++)
        q[i] = (float)((int)i / step - 100);
    assert_int_equal(
        pith_codebook_encode(q, 1, w->n_centroids, codebook, cap, &w->codebook.n_bytes), PITH_OK);
    w->codebook.bytes = codebook;
    w->type = PITH_I8;
}

/* A stream that ends too early; an index that names no centroid. */
static void check_refused(struct weight_case *c, int8_t *dst, void *scratch, int step)
{
    uint8_t codebook[2048], largest = 0;
    struct weight *w = &c->w;
    float q[256];
    if (w->index_stream.n_bytes) {
        w->index_stream.n_bytes--;
        assert_int_equal(pith_weight_expand_plain(w, dst, scratch), PITH_ERR_CORRUPT);
        w->index_stream.n_bytes++;
    }
    for (uint64_t i = 0; i < w->count; i++)
        largest = c->index[i] > largest ? c->index[i] : largest;
    w->n_centroids = largest;
    if (largest == 0)
        return;
    set_integers(w, codebook, sizeof codebook, step, q);
    assert_int_equal(pith_weight_expand_plain(w, dst, scratch), PITH_ERR_CORRUPT);
}

/* Returns whether rare symbols are escaped. */
static bool check_whole(enum weight_code code, uint32_t count, uint32_t n_centroids, int step,
                        uint64_t *seed)
{
    struct case_spec s = {.count = count,
                          .support = SUPPORT_DENSE,
                          .code = code,
                          .n_centroids = n_centroids,
                          .n_groups = 1};
    struct weight_case c = case_new(&s, seed);
    struct guarded stream = guard_stream(&c.w.index_stream.bytes, c.w.index_stream.n_bytes);
    struct guarded out = guard_new(count, 1);
    uint8_t codebook[2048];
    float q[256];
    int8_t *dst = out.data, *expected = malloc(count);
    struct rans_table table;
    bool escapes = code == CODE_RANS &&
                   !pith_rans_read_table(c.w.index_table.bytes, c.w.index_table.n_bytes, &table) &&
                   table.escapes;
    set_integers(&c.w, codebook, sizeof codebook, step, q);
    struct guarded scratch = guard_new(pith_weight_scratch_bytes(&c.w), 1);
    for (uint32_t i = 0; i < count; i++)
        expected[i] = (int8_t)q[c.index[i]];
    for (int plain = 0; plain < 2; plain++) {
        assert_int_equal(pith_weight_expand_plain(&c.w, dst, scratch.data), PITH_OK);
        assert_memory_equal(dst, expected, count);
        c.w.cpu = 0; /* and by the reference's rows */
    }
    check_refused(&c, dst, scratch.data, step);
    free(expected);
    guard_free(&scratch);
    guard_free(&stream);
    guard_free(&out);
    case_free(&c);
    return escapes;
}

/* One codebook of integers for a dense weight: long codes and short ones, sizes around those of
 * sub-streams, one symbol, escapes whose bytes are those of other symbols or are not. */
TEST(integers_whole)
{
    static const uint32_t sizes[] = {1, 7, 4095, 4096, 32768, 40000, 70001, 150000};
    static const uint32_t centroids[] = {1, 2, 16, 100, 220};
    uint64_t seed = SEED;
    uint32_t escaped = 0;
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t k = 0; k < sizeof centroids / sizeof *centroids; k++)
            for (int step = 1; step <= 2; step++) {
                check_whole(CODE_HUFFMAN, sizes[i], centroids[k], step, &seed);
                escaped += check_whole(CODE_RANS, sizes[i], centroids[k], step, &seed);
            }
    assert_true(escaped > 3);
}

/* Nothing for what is not coded, little for little tensors; the rest stands in weight.h. */
TEST(scratch_follows_size)
{
    static const struct {
        enum weight_support support;
        enum weight_code code;
        uint32_t count, n_centroids;
        size_t most;
    } c[] = {{SUPPORT_DENSE, CODE_PLAIN, 100000, 0, 0},
             {SUPPORT_DENSE, CODE_PLAIN, 64, 16, 1024},
             {SUPPORT_BITMAP, CODE_PLAIN, 64, 16, 2048},
             {SUPPORT_BITMAP, CODE_PLAIN, 100000, 16, 20480},
             {SUPPORT_DENSE, CODE_HUFFMAN, 64, 16, 2048},
             {SUPPORT_GAPS, CODE_HUFFMAN, 64, 16, 6144},
             {SUPPORT_DENSE, CODE_RANS, 70000, 256, 32768}};
    uint64_t seed = SEED;
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct case_spec s = {.count = c[i].count,
                              .density = 500,
                              .support = c[i].support,
                              .code = c[i].code,
                              .type = c[i].n_centroids ? 0 : PITH_F16,
                              .n_centroids = c[i].n_centroids,
                              .n_groups = 1};
        struct weight_case w = case_new(&s, &seed);
        assert_in_range(pith_weight_scratch_bytes(&w.w), 0, c[i].most);
        case_free(&w);
    }
}

RUN_TESTS
