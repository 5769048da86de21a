/* SPDX-License-Identifier: MIT */
/* Layers of few weights get more bits. */
#include "test_run.h"
#include "network_run.h"
#include "pith_quantize.h"

/* Of 64 x 4, 64 x 64 (twice), and 4 x 64 weights: 8,704. */
enum { N_LAYERS = 4, WIDTH = 64, N_WEIGHTS = 8704 };

static struct pith_model *network(void)
{
    static const uint32_t shape[N_LAYERS][2] = {
        {WIDTH, 4}, {WIDTH, WIDTH}, {WIDTH, WIDTH}, {4, WIDTH}};
    static const char *const name[N_LAYERS] = {"a", "b", "c", "d"};
    struct sample_random r = sample_random_of(1);
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    uint32_t x = add_input(m, "x", 2, (const uint32_t[]){1, 4});
    for (uint32_t i = 0; i < N_LAYERS; i++)
        x = add_layer(m, &r, PITH_OP_GEMM, name[i], x, 2, shape[i]);
    m->outputs[m->n_outputs++] = x;
    SUCCEEDS(pith_model_infer_shapes(m, &err));
    run_network(m, m, (const float[]){1, -2, 3, 4}, 4, NULL);
    return m;
}

static void bits_of(struct pith_quantize_opts o, uint32_t *bits)
{
    struct pith_model *m = network();
    struct pith_quantize_layer *layer = calloc(PITH_QUANTIZE_PARTS * m->n_nodes, sizeof *layer);
    struct pith_error err = {0};
    uint32_t n;
    o.size_bytes = sizeof o;
    SUCCEEDS(pith_quantize(m, &o, layer, &n, &err));
    assert_int_equal(n, N_LAYERS);
    for (uint32_t i = 0; i < n; i++)
        bits[i] = layer[i].weight_bits;
    free(layer);
    pith_model_free(m);
}

static void expect(struct pith_quantize_opts o, const uint32_t *wanted)
{
    uint32_t bits[N_LAYERS];
    bits_of(o, bits);
    for (uint32_t i = 0; i < N_LAYERS; i++)
        if (bits[i] != wanted[i])
            fail_msg("weights %u: layer %u has %u bits, not %u", o.weight_bits, i, bits[i],
                     wanted[i]);
}

/* 4 bits: 8,704 * 4 / 16 = 2,176 bits to give away, 256 of them for each bit of `a` and `d`: four
 * each to both, and none is enough for the others' 4,096. 2 bits: 1,088, which is four times 256;
 * the rows of `a` are short, so it goes before `d` until it has two bits more. */
TEST(few_weights_get_more_bits)
{
    expect((struct pith_quantize_opts){.weight_bits = 4}, (const uint32_t[]){8, 4, 4, 8});
    expect((struct pith_quantize_opts){.weight_bits = 2}, (const uint32_t[]){5, 2, 2, 3});
    expect((struct pith_quantize_opts){.weight_bits = 8}, (const uint32_t[]){8, 8, 8, 8});
}

/* A network of two layers x -> 1 -> 1 of `first` and `second` weights a row. */
static void bits_of_two(const uint32_t *first, const uint32_t *second, uint32_t bits,
                        uint32_t *given)
{
    struct sample_random r = sample_random_of(1);
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    uint32_t n = 0;
    uint32_t x = add_input(m, "x", 2, (const uint32_t[]){1, first[1]});
    x = add_layer(m, &r, PITH_OP_GEMM, "a", x, 2, first);
    sample_done(m, add_layer(m, &r, PITH_OP_GEMM, "b", x, 2, second));
    float in[64];
    for (uint32_t i = 0; i < first[1]; i++)
        in[i] = (float)i - 3.0f;
    run_network(m, m, in, first[1], NULL);
    struct pith_quantize_layer *layer = calloc(PITH_QUANTIZE_PARTS * m->n_nodes, sizeof *layer);
    struct pith_quantize_opts o = {.size_bytes = sizeof o, .weight_bits = bits};
    SUCCEEDS(pith_quantize(m, &o, layer, &n, &err));
    assert_int_equal(n, 2);
    given[0] = layer[0].weight_bits;
    given[1] = layer[1].weight_bits;
    free(layer);
    pith_model_free(m);
}

/* Ties and bounds at 4 bits, a quarter of a bit a weight to give away. 8 x 8 and 8 x 8: 32 bits are
 * fewer than either needs. 8 x 8 and 2 x 8, 20 bits: one for all of the second. 8 x 16 and 2 x 8:
 * 36, two. 6 x 8 and 2 x 8: 16 bits, which the second needs to the last. Rows of 32 are not short:
 * of 31 and 32 weights in one row each, 15 bits suffice for neither. */
TEST(the_last_bits)
{
    static const struct {
        uint32_t first[2], second[2], bits, want[2];
    } cases[] = {{{8, 8}, {8, 8}, 4, {4, 4}},  {{8, 8}, {2, 8}, 4, {4, 5}},
                 {{8, 14}, {2, 8}, 4, {4, 6}}, {{6, 8}, {2, 6}, 4, {4, 5}},
                 {{8, 6}, {2, 8}, 4, {4, 5}},  {{8, 40}, {1, 8}, 4, {4, 8}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t given[2];
        bits_of_two(cases[i].first, cases[i].second, cases[i].bits, given);
        if (given[0] != cases[i].want[0] || given[1] != cases[i].want[1])
            fail_msg("case %zu: %u and %u bits", i, given[0], given[1]);
    }
}

/* Bits of a chain of layers x -> w[0] -> w[1] ... of [rows, cols], 4 requested; conv: 1x1
 * convolutions. */
static void expect_chain(bool conv, uint32_t n, uint32_t w[][2], const uint32_t *wanted)
{
    struct sample_random r = sample_random_of(1);
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    uint32_t n_reported = 0, x_dim[] = {1, w[0][1], 1, 1}, rank = conv ? 4 : 2;
    uint32_t x = add_input(m, "x", rank, x_dim);
    for (uint32_t i = 0; i < n; i++)
        x = add_layer(m, &r, conv ? PITH_OP_CONV : PITH_OP_GEMM, (char[]){(char)('a' + i), 0}, x,
                      rank, (const uint32_t[]){w[i][0], w[i][1], 1, 1});
    sample_done(m, x);
    float in[64];
    for (uint32_t i = 0; i < w[0][1]; i++)
        in[i] = (float)i - 3.0f;
    run_network(m, m, in, w[0][1], NULL);
    struct pith_quantize_layer *layer = calloc(PITH_QUANTIZE_PARTS * m->n_nodes, sizeof *layer);
    struct pith_quantize_opts o = {.size_bytes = sizeof o, .weight_bits = 4};
    SUCCEEDS(pith_quantize(m, &o, layer, &n_reported, &err));
    assert_int_equal(n_reported, n);
    for (uint32_t i = 0; i < n; i++)
        if (layer[i].weight_bits != wanted[i])
            fail_msg("layer %u of %u has %u bits, not %u", i, n, layer[i].weight_bits, wanted[i]);
    free(layer);
    pith_model_free(m);
}

/* A quarter of 2,048, 4,096, 4,096 and 2,048 weights is 3,072 bits: one for one of the small
 * layers, the first of equals. With 1,984 weights the last goes before it, since rows of 32 are not
 * short. */
TEST(the_first_of_equals_and_rows_of_32)
{
    expect_chain(false, 4, (uint32_t[][2]){{64, 32}, {64, 64}, {64, 64}, {32, 64}},
                 (const uint32_t[]){5, 4, 4, 4});
    expect_chain(false, 4, (uint32_t[][2]){{64, 32}, {64, 64}, {64, 64}, {31, 64}},
                 (const uint32_t[]){4, 4, 4, 5});
}

/* 8 x 8 and 2 x 8 weights as convolutions, as in the_last_bits. */
TEST(convolutions_count)
{
    expect_chain(true, 2, (uint32_t[][2]){{8, 8}, {2, 8}}, (const uint32_t[]){4, 5});
}

TEST(not_where_all_must_be_alike)
{
    expect((struct pith_quantize_opts){.weight_bits = 4, .same_bits = true},
           (const uint32_t[]){4, 4, 4, 4});
    expect((struct pith_quantize_opts){.fixed_bits = 5}, (const uint32_t[]){5, 5, 5, 5});
}

/* What is kept is counted: the others get what they would have without it. */
TEST(what_stays_float_changes_nothing)
{
    const char *keep[] = {"b", "d"};
    expect((struct pith_quantize_opts){.weight_bits = 4, .keep = keep, .n_keep = 2},
           (const uint32_t[]){8, 0, 4, 0});
}

RUN_TESTS
