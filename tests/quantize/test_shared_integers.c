/* SPDX-License-Identifier: MIT */
/* A weight that several layers read: one set of integers for all readers, and as exact as a set
 * each. */
#include "test_run.h"
#include "network_run.h"
#include "pith_pack.h"
#include "pith_quantize.h"

enum { WIDTH = 64, CHANNELS = 8, SIDE = 6, SAMPLES = 48, READERS = 6 };

struct wanted {
    uint32_t op, readers;
    bool copied;      /* each has an equal weight of its own */
    bool pruned;      /* every third weight */
    bool both_ways;   /* every second Gemm reads it transposed */
    float largest;    /* 0, or what one weight is */
    float last_alpha; /* Gemm; of the last reader */
};

static uint64_t elems_of(const struct wanted *w)
{
    return w->op == PITH_OP_CONV ? CHANNELS * SIDE * SIDE : WIDTH;
}

static uint32_t weight_of(struct pith_model *m, const struct wanted *w)
{
    const uint32_t conv[4] = {CHANNELS, CHANNELS, 3, 3}, gemm[2] = {WIDTH, WIDTH};
    struct sample_random r = sample_random_of(5);
    bool is_conv = w->op == PITH_OP_CONV;
    uint32_t v = add_constant(m, &r, "", is_conv ? 4 : 2, is_conv ? conv : gemm);
    struct pith_const *c = m->values[v].constant;
    float *x = c->data;
    c->mask = w->pruned ? pith_model_alloc(m, c->count, 1) : NULL;
    for (uint64_t i = 0; i < c->count; i++) {
        bool gone = w->pruned && i % 3 == 0;
        x[i] = gone ? 0 : x[i] / 8;
        if (c->mask)
            c->mask[i] = !gone;
    }
    if (w->largest != 0)
        x[WIDTH + 1] = w->largest;
    return v;
}

static struct pith_model *network(const struct wanted *w)
{
    const uint32_t conv[4] = {1, CHANNELS, SIDE, SIDE}, gemm[2] = {1, WIDTH},
                   rows = w->op == PITH_OP_CONV ? CHANNELS : WIDTH;
    bool is_conv = w->op == PITH_OP_CONV;
    struct sample_random r = sample_random_of(9);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", is_conv ? 4 : 2, is_conv ? conv : gemm), weight = 0;
    for (uint32_t i = 0; i < w->readers; i++) {
        char name[16];
        snprintf(name, sizeof name, "fc%u", i);
        if (i == 0 || w->copied)
            weight = weight_of(m, w);
        uint32_t bias = add_constant(m, &r, "", 1, &rows);
        struct pith_node *node =
            add_node(m, w->op, name, name, 3, (const uint32_t[]){x, weight, bias});
        if (is_conv) {
            node->attr[ATTR_CONV_PADS] = 4;
            for (int k = 1; k <= 4; k++)
                node->attr[ATTR_CONV_PADS + k] = 1;
        } else {
            node->attr[ATTR_GEMM_TRANS_B] = !(w->both_ways && i % 2 == 0);
        }
        if (i + 1 == w->readers && w->last_alpha != 0) {
            memcpy(&node->attr[ATTR_GEMM_ALPHA], &w->last_alpha, sizeof w->last_alpha);
        }
        x = node->out[0];
        if (i + 1 < w->readers)
            x = add_node(m, PITH_OP_TANH, "", "", 1, &x)->out[0];
    }
    return sample_done(m, x);
}

static void draw(uint64_t seed, float *x, uint64_t n)
{
    struct sample_random r = sample_random_of(seed);
    for (uint64_t i = 0; i < n; i++)
        x[i] = sample_gauss(&r);
}

struct result {
    double db;        /* on held-out samples */
    uint64_t weights; /* numbers of all constant integers of 2 axes or more */
    size_t bytes;     /* of the file */
};

static uint64_t count_weights(const struct pith_model *m)
{
    uint64_t n = 0;
    for (uint32_t v = 0; v < m->n_values; v++)
        if (m->values[v].constant && m->values[v].type != PITH_F32 && m->values[v].rank >= 2)
            n += m->values[v].constant->count;
    return n;
}

static struct result quantize(const struct wanted *w, struct pith_quantize_opts o, bool data)
{
    enum { MOST = SAMPLES * CHANNELS * SIDE * SIDE };
    static float fitted[MOST], other[MOST], was[MOST], is[MOST];
    uint64_t n = elems_of(w);
    struct pith_model *m = network(w);
    struct pith_error err = {0};
    struct pith_buffer file = {0};
    draw(1, fitted, SAMPLES * n);
    draw(2, other, SAMPLES * n);
    for (uint32_t i = 0; i < SAMPLES; i++)
        run_network(m, m, fitted + i * n, n, NULL);
    for (uint32_t i = 0; i < SAMPLES; i++)
        run_network(m, NULL, other + i * n, n, was + i * n);
    o.size_bytes = sizeof o;
    struct pith_data *samples = data ? data_of_rows(fitted, SAMPLES, n) : NULL;
    o.data = samples;
    SUCCEEDS(pith_quantize(m, &o, NULL, NULL, &err) || pith_model_pack(m, NULL, &file, &err));
    for (uint32_t i = 0; i < SAMPLES; i++)
        run_network(m, NULL, other + i * n, n, is + i * n);
    pith_data_free(samples);
    struct result r = {snr_db(was, is, SAMPLES * n), count_weights(m), file.bytes};
    pith_buffer_free(&file);
    pith_model_free(m);
    return r;
}

/* Nodes and grids are each reader's own, with their names and what was observed. So is the bias
 * here, 4 bytes a row. */
static size_t of_one_reader(const struct wanted *w)
{
    return 4 * (w->op == PITH_OP_CONV ? CHANNELS : WIDTH) + 170;
}

static void is_stored_once(struct wanted w, struct pith_quantize_opts o, bool data)
{
    struct wanted one = w;
    one.readers = 1;
    struct result single = quantize(&one, o, data), shared = quantize(&w, o, data);
    w.copied = true;
    struct result copied = quantize(&w, o, data);
    /* two copies that are read either way are one weight, too */
    assert_int_equal(copied.weights, w.readers / (w.both_ways ? 2 : 1) * single.weights);
    assert_int_equal(shared.weights, single.weights);
    size_t most = single.bytes + single.bytes / 100 + (w.readers - 1) * of_one_reader(&w);
    if (shared.bytes > most)
        fail_msg("%zu bytes, %zu with one reader", shared.bytes, single.bytes);
    if (shared.db < 22 || shared.db < copied.db - 3)
        fail_msg("%.1f dB, %.1f with copies", shared.db, copied.db);
}

TEST(products_share)
{
    const struct wanted gemm = {.op = PITH_OP_GEMM, .readers = READERS};
    is_stored_once(gemm, (struct pith_quantize_opts){0}, true);
    is_stored_once(gemm, (struct pith_quantize_opts){0}, false);
    is_stored_once(gemm, (struct pith_quantize_opts){.rounding = PITH_ROUND_NEAREST}, true);
    is_stored_once(gemm, (struct pith_quantize_opts){.per_tensor = true}, true);
}

TEST(convolutions_share)
{
    const struct wanted conv = {.op = PITH_OP_CONV, .readers = READERS};
    is_stored_once(conv, (struct pith_quantize_opts){0}, true);
    is_stored_once(conv, (struct pith_quantize_opts){0}, false);
}

TEST(what_is_pruned_stays_so)
{
    is_stored_once((struct wanted){.op = PITH_OP_GEMM, .readers = 3, .pruned = true},
                   (struct pith_quantize_opts){0}, true);
}

/* Sums of 64 bits in all readers, or in none. */
TEST(wide_sums_share)
{
    const struct wanted gemm = {.op = PITH_OP_GEMM, .readers = 3};
    const struct pith_quantize_opts wide = {.activation_bits = 16, .weight_bits = 16};
    struct wanted copied = gemm;
    copied.copied = true;
    struct result a = quantize(&gemm, wide, false), b = quantize(&copied, wide, false);
    assert_int_equal(3 * a.weights, b.weights);
    assert_true(a.db > 60 && b.db > 60);
}

/* Layers are rounded with their alpha. */
TEST(another_alpha_is_another_weight)
{
    const struct wanted gemm = {.op = PITH_OP_GEMM, .readers = 3, .last_alpha = 0.5f};
    struct result r = quantize(&gemm, (struct pith_quantize_opts){0}, true);
    assert_int_equal(r.weights, 2 * WIDTH * WIDTH);
    assert_true(r.db > 22);
}

/* Rows of one way are columns of the other: one scale suits both. */
TEST(both_ways_share)
{
    struct wanted gemm = {.op = PITH_OP_GEMM, .readers = READERS, .both_ways = true};
    is_stored_once(gemm, (struct pith_quantize_opts){0}, true);
    is_stored_once(gemm, (struct pith_quantize_opts){0}, false);
    gemm.readers = 2;
    gemm.pruned = true;
    is_stored_once(gemm, (struct pith_quantize_opts){0}, true);
}

/* Each way keeps its integers where one scale is too coarse, or sums are no floats. */
TEST(ways_that_do_not_share)
{
    struct wanted gemm = {.op = PITH_OP_GEMM, .readers = 4, .both_ways = true, .largest = 2};
    const struct pith_quantize_opts apart[] = {
        {.weight_bits = 4}, {.fixed_bits = 8}, {.activation_bits = 16, .weight_bits = 16}};
    struct result r = quantize(&gemm, (struct pith_quantize_opts){0}, true);
    assert_int_equal(r.weights, 2 * WIDTH * WIDTH);
    assert_true(r.db > 22);
    gemm.largest = 0;
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(quantize(&gemm, apart[i], false).weights, 2 * WIDTH * WIDTH);
    gemm.readers = 2;
    gemm.last_alpha = 0.5f;
    assert_int_equal(quantize(&gemm, (struct pith_quantize_opts){0}, true).weights,
                     2 * WIDTH * WIDTH);
}

/* Counted for each of the five, there would be 5,120 bits to give away, one for each weight and
 * more. */
TEST(bits_are_given_once)
{
    struct pith_quantize_opts o = {.weight_bits = 4};
    struct pith_quantize_layer layer[PITH_QUANTIZE_PARTS * 16];
    const struct wanted gemm = {.op = PITH_OP_GEMM, .readers = 5};
    struct pith_model *m = network(&gemm);
    struct pith_error err = {0};
    float x[WIDTH];
    uint32_t n;
    draw(1, x, WIDTH);
    run_network(m, m, x, WIDTH, NULL);
    o.size_bytes = sizeof o;
    SUCCEEDS(pith_quantize(m, &o, layer, &n, &err));
    assert_int_equal(n, 5);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(layer[i].weight_bits, 4);
    pith_model_free(m);
}

RUN_TESTS
