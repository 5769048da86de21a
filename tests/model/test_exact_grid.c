/* SPDX-License-Identifier: MIT */
/* test_exact_grid.c - grids that weights lie on are found, and never where there is none: whatever
 * is found gives every number back to the bit, and no number changes. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "test_run.h"
#include "model/exact_grid.h"
#include "core/op_number.h"
#include "op_interface/op_info.h"

#define MOST 40000u

static uint32_t rng;

static uint32_t draw(uint32_t n)
{
    rng = rng * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)rng * n >> 32);
}

static uint32_t bits_of(float x)
{
    uint32_t b;
    memcpy(&b, &x, 4);
    return b;
}

static float float_of(uint32_t b)
{
    float x;
    memcpy(&x, &b, 4);
    return x;
}

struct one_weight {
    struct pith_model *m;
    struct pith_const *k;
    float *w;
    struct pith_grids_found found;
};

/* x -> Gemm with a weight [rows, cols]. */
static void make(struct one_weight *o, uint32_t rows, uint32_t cols)
{
    assert_int_equal(pith_model_new(NULL, &o->m), PITH_OK);
    struct pith_model *m = o->m;
    m->values = pith_model_alloc(m, 3, sizeof *m->values);
    m->nodes = pith_model_alloc(m, 1, sizeof *m->nodes);
    m->n_values = 3;
    m->n_nodes = 1;
    for (uint32_t v = 0; v < 3; v++)
        m->values[v] = (struct pith_value){.name = pith_model_strdup(m, ""), .type = PITH_F32};
    o->k = pith_model_alloc(m, 1, sizeof *o->k);
    o->w = pith_model_alloc(m, (uint64_t)rows * cols, sizeof *o->w);
    *o->k = (struct pith_const){.count = (uint64_t)rows * cols, .data = o->w};
    m->values[1].constant = o->k;
    m->values[1].rank = 2;
    m->values[1].dim[0] = rows;
    m->values[1].dim[1] = cols;
    struct pith_node *n = &m->nodes[0];
    n->name = pith_model_strdup(m, "layer");
    n->op = PITH_OP_GEMM;
    n->n_in = 2;
    n->n_out = 1;
    n->in = pith_model_alloc(m, 2, sizeof *n->in);
    n->out = pith_model_alloc(m, 1, sizeof *n->out);
    n->in[1] = 1;
    n->out[0] = 2;
    n->attr = pith_model_alloc(m, PITH_OP_MAX_SLOTS, sizeof *n->attr);
    pith_op_attr_defaults(pith_op_get(PITH_OP_GEMM), n->attr);
}

/* What must hold of everything: the numbers are what they were, and what the codebook says. */
static void find(struct one_weight *o)
{
    static float before[MOST];
    assert_true(o->k->count <= MOST);
    memcpy(before, o->w, o->k->count * sizeof *before);
    assert_int_equal(pith_find_grids(o->m, &o->found, NULL), PITH_OK);
    assert_memory_equal(before, o->w, o->k->count * sizeof *before);
    const struct pith_codebook *b = o->k->codebook;
    assert_int_equal(o->found.n_few + o->found.n_rows, b != NULL);
    if (!b)
        return;
    assert_true(b->n_centroids >= 1 && b->n_centroids <= 256);
    assert_int_equal(b->n_groups * b->group_elems, o->k->count);
    for (uint64_t i = 0; i < o->k->count; i++) {
        assert_true(b->index[i] < b->n_centroids);
        float c = b->centroid[i / b->group_elems * b->n_centroids + b->index[i]];
        if (bits_of(c) != bits_of(before[i]))
            fail_msg("element %d: %a, the codebook says %a", (int)i, before[i], c);
    }
    for (uint64_t i = 0; i < b->n_groups * b->n_centroids; i++) {
        assert_true((bits_of(b->centroid[i]) & 0x7fffffffu) < 0x7f800000u);
        if (i % b->n_centroids)
            assert_true(b->centroid[i] >= b->centroid[i - 1]);
    }
}

/* A normal number of which 128 times is finite, and so that a row has 256 different ones soon. */
static float draw_scale(void)
{
    uint32_t exponent = draw(8) ? 60 + draw(60) : 1 + draw(246);
    return float_of(exponent << 23 | draw(1u << 23));
}

TEST(rows_of_integers_are_found)
{
    for (uint32_t seed = 1; seed <= 300; seed++) {
        struct one_weight o;
        rng = seed;
        uint32_t rows = 16 + draw(60), cols = 2 + draw(300), most = 1 + draw(127);
        bool full = draw(2), zeros = draw(2);
        make(&o, rows, cols);
        for (uint32_t r = 0; r < rows; r++) {
            float scale = draw_scale();
            bool empty = zeros && draw(5) == 0;
            for (uint32_t c = 0; c < cols; c++) {
                int32_t k = empty ? 0 : (int32_t)draw(2 * most + 1) - (int32_t)most;
                o.w[r * cols + c] = scale * (float)(full && c == 0 && !empty ? (int32_t)most : k);
            }
        }
        find(&o);
        bool large = rows * cols >= 600 && cols > 4;
        if (large && !o.k->codebook)
            fail_msg("seed %u: %u x %u, integers up to %u, and no grid", seed, rows, cols, most);
        pith_model_free(o.m);
    }
}

/* One number is moved to its neighbour. As a rule no scale gives all of the row any more; where one
 * does, find() compares every bit. */
TEST(a_number_beside_the_grid_spoils_it)
{
    uint32_t spoilt = 0, trials = 200;
    for (uint32_t seed = 1; seed <= trials; seed++) {
        struct one_weight o;
        rng = seed;
        make(&o, 40, 100);
        for (uint32_t r = 0; r < 40; r++) {
            float scale = float_of((100 + draw(20)) << 23 | draw(1u << 23));
            for (uint32_t c = 0; c < 100; c++)
                o.w[r * 100 + c] = scale * (float)((int32_t)draw(255) - 127);
        }
        uint32_t at = draw(4000);
        while (o.w[at] == 0)
            at = draw(4000);
        o.w[at] = float_of(bits_of(o.w[at]) + 1);
        find(&o);
        spoilt += !o.k->codebook;
        pith_model_free(o.m);
    }
    assert_true(spoilt >= trials * 9 / 10);
}

TEST(no_grid_holds_minus_zero_or_what_is_not_finite)
{
    static const uint32_t odd[] = {0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0x7f800001u};
    for (uint32_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (uint32_t at = 0; at < 4000; at += 1333) {
            struct one_weight o;
            rng = i + 1;
            make(&o, 40, 100);
            for (uint32_t j = 0; j < 4000; j++)
                o.w[j] = (0.01f + 0.001f * (float)(j / 100)) * (float)((int32_t)draw(255) - 127);
            find(&o);
            assert_int_equal(o.found.n_rows, 1);
            o.k->codebook = NULL;
            o.w[at] = float_of(odd[i]);
            find(&o);
            assert_null(o.k->codebook);
            pith_model_free(o.m);
        }
}

/* Row r, of 40, is scale[r % 2] times integers, of which `extreme` and the other end of -127..127
 * are two. */
static void fill_rows(struct one_weight *o, const float scale[2], int32_t extreme)
{
    make(o, 40, 100);
    for (uint32_t r = 0; r < 40; r++)
        for (uint32_t c = 0; c < 100; c++) {
            int32_t most = r % 2 ? 3 : 127;
            int32_t k = (int32_t)draw(2u * (uint32_t)most + 1) - most;
            if (r % 2 == 0 && (c == 7 || c == 8))
                k = c == 7 ? extreme : extreme > 0 ? -127 : 127;
            o->w[r * 100 + c] = scale[r % 2] * (1 + 0.01f * (float)r) * (float)k;
        }
}

TEST(integers_are_of_eight_bits)
{
    static const float one[2] = {0.37f, 0.53f};
    struct one_weight o;
    for (int32_t extreme = -130; extreme <= 130; extreme += extreme == -127 ? 253 : 1) {
        rng = 5;
        fill_rows(&o, one, extreme);
        find(&o);
        assert_int_equal(o.k->codebook != NULL, extreme >= -128 && extreme <= 128);
        if (extreme == -128 || extreme == 128)
            assert_int_equal(o.k->codebook->n_centroids, 256);
        pith_model_free(o.m);
    }
}

/* Integers of 8 bits less a zero point of each row; of one more value, none are found. */
TEST(rows_may_have_zero_points)
{
    for (uint32_t seed = 1; seed <= 100; seed++) {
        struct one_weight o;
        rng = seed;
        bool wide = seed % 4 == 0;
        make(&o, 40, 100);
        for (uint32_t r = 0; r < 40; r++) {
            float scale = float_of((100 + draw(20)) << 23 | draw(1u << 23));
            int32_t zero = (int32_t)draw(256);
            for (uint32_t c = 0; c < 100; c++) {
                int32_t k = c == 0 ? 0 : c == 1 ? 255 + wide : (int32_t)draw(256);
                o.w[r * 100 + c] = scale * (float)(k - zero);
            }
        }
        find(&o);
        assert_int_equal(o.k->codebook != NULL, !wide);
        if (!wide)
            assert_int_equal(o.k->codebook->n_centroids, 256);
        pith_model_free(o.m);
    }
}

TEST(scales_are_normal_and_all_multiples_finite)
{
    static const struct {
        float scale[2];
        bool found;
    } cases[] = {
        {{1.2e-38f, 1.2e-38f}, true}, {{5.0e-39f, 0.5f}, false}, {{0.5f, 5.0e-39f}, false},
        {{1.9e36f, 1.9e36f}, true},   {{0.5f, 7.0e37f}, false},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct one_weight o;
        rng = 9;
        fill_rows(&o, cases[i].scale, 127);
        find(&o);
        assert_int_equal(o.found.n_rows, cases[i].found);
        pith_model_free(o.m);
    }
}

TEST(a_row_of_minus_zeros_is_no_row_of_zeros)
{
    static const float one[2] = {0.37f, 0.53f};
    for (uint32_t minus = 0; minus < 2; minus++) {
        struct one_weight o;
        rng = 11;
        fill_rows(&o, one, 127);
        for (uint32_t c = 0; c < 100; c++)
            o.w[3000 + c] = minus ? -0.0f : 0.0f;
        find(&o);
        assert_int_equal(o.found.n_rows, !minus);
        pith_model_free(o.m);
    }
}

/* 7 values take 3 bits each, the 13 multiples that they are among would take 4. */
TEST(indices_do_not_grow_for_a_shorter_codebook)
{
    struct one_weight o;
    make(&o, 20, 100);
    for (uint32_t i = 0; i < 2000; i++)
        o.w[i] = (float)(i % 7);
    find(&o);
    assert_int_equal(o.k->codebook->n_centroids, 7);
    pith_model_free(o.m);
}

TEST(few_values_may_be_any_finite_ones)
{
    for (uint32_t n = 1; n <= 257; n++) {
        struct one_weight o;
        rng = n;
        float value[257];
        make(&o, 20, 100);
        for (uint32_t i = 0; i < n; i++)
            value[i] = float_of((draw(2) << 31) | draw(0x7f800000u)); /* subnormal ones, too */
        if (n > 2) {
            value[0] = 0.0f;
            value[1] = -0.0f;
        }
        for (uint32_t i = 0; i < 2000; i++)
            o.w[i] = value[i < n ? i : draw(n)];
        find(&o);
        assert_int_equal(o.found.n_few, n <= 256);
        pith_model_free(o.m);
    }
}

TEST(a_not_a_number_is_no_value)
{
    struct one_weight o;
    make(&o, 20, 100);
    for (uint32_t i = 0; i < 2000; i++)
        o.w[i] = (float)(i % 7);
    o.w[1999] = float_of(0x7fc00001u);
    find(&o);
    assert_null(o.k->codebook);
    pith_model_free(o.m);
}

TEST(floats_as_drawn_are_left_alone)
{
    static const uint32_t cols[] = {1, 2, 9, 100};
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t seed = 1; seed <= 20; seed++) {
            struct one_weight o;
            rng = seed;
            make(&o, 300, cols[i]);
            for (uint32_t j = 0; j < 300 * cols[i]; j++)
                o.w[j] = ((float)draw(1u << 24) - 8388608.0f) * 1.7e-7f;
            find(&o);
            assert_null(o.k->codebook);
            assert_int_equal(o.k->stored, 0);
            pith_model_free(o.m);
        }
}

/* f16 numbers widened, subnormal and infinite ones, NaNs; then one that is none. */
TEST(floats_of_two_bytes_are_known)
{
    for (uint32_t wide = 0; wide < 2; wide++) {
        struct one_weight o;
        rng = 7 + wide;
        make(&o, 40, 100);
        for (uint32_t j = 0; j < 4000; j++) {
            uint32_t sign = draw(2) << 31;
            if (wide)
                o.w[j] = float_of(sign | draw(1u << 15) << 16);
            else if (j % 50 == 0) /* subnormal in f16 */
                o.w[j] = (float)(1 + draw(1023)) * 5.9604644775390625e-8f;
            else
                o.w[j] = float_of(sign | (113 + draw(31)) << 23 | draw(1024) << 13);
            if (!wide && (bits_of(o.w[j]) >> 23 & 255) > 142)
                o.w[j] = float_of(sign | 0x7f800000u | draw(1024) << 13);
        }
        find(&o);
        assert_int_equal(o.k->stored, wide ? PITH_BF16 : PITH_F16);
        assert_int_equal(o.found.n_narrow, 1);
        o.k->stored = 0;
        o.w[2000] = wide ? float_of(0x3f800001u) : float_of(0x3f801000u);
        find(&o);
        assert_int_equal(o.k->stored, 0);
        pith_model_free(o.m);
    }
}

TEST(what_has_a_grid_keeps_it)
{
    static const float value[] = {-0.75f, -0.5f, 0, 0.5f, 0.75f};
    struct one_weight o;
    make(&o, 20, 100);
    for (uint32_t i = 0; i < 2000; i++)
        o.w[i] = value[i % 5];
    find(&o);
    const struct pith_codebook *b = o.k->codebook;
    assert_int_equal(b->n_centroids, 7); /* a step gives them all, -3 .. 3 */
    assert_int_equal(pith_find_grids(o.m, NULL, NULL), PITH_OK);
    assert_ptr_equal(o.k->codebook, b);
    pith_model_free(o.m);
}

RUN_TESTS
