/* SPDX-License-Identifier: MIT */
/* Layers of few weights get more bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "network_run.h"
#include "pith_quantize.h"

/* Of 64 x 4, 64 x 64 (twice), and 4 x 64 weights: 8,704. */
enum { N_LAYERS = 4, WIDTH = 64, N_WEIGHTS = 8704 };

static struct pith_model *network(void)
{
    static const uint32_t shape[N_LAYERS][2] = {{WIDTH, 4}, {WIDTH, WIDTH}, {WIDTH, WIDTH}, {4, WIDTH}};
    static const char *const name[N_LAYERS] = {"a", "b", "c", "d"};
    struct sample_random r = sample_random_of(1);
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    uint32_t x = add_value(m, "x", PITH_F32, 2, (const uint32_t[]){1, 4});
    m->inputs[m->n_inputs++] = x;
    for (uint32_t i = 0; i < N_LAYERS; i++)
        x = add_layer(m, &r, PITH_OP_GEMM, name[i], x, 2, shape[i]);
    m->outputs[m->n_outputs++] = x;
    if (pith_model_infer_shapes(m, &err))
        fail_msg("%s", err.text);
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
    if (pith_quantize(m, &o, layer, &n, &err))
        fail_msg("%s", err.text);
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
            fail_msg("weights %u: layer %u has %u bits, not %u", o.weight_bits, i, bits[i], wanted[i]);
}

/* 4 bits: 8,704 * 4 / 16 = 2,176 bits to give away, 256 of them for each bit of `a` and `d`: four each to
 * both, and none is enough for the others' 4,096. 2 bits: 1,088, which is four times 256; the rows of `a`
 * are short, so it goes before `d` until it has two bits more. */
static void few_weights_get_more_bits(void **state)
{
    (void)state;
    expect((struct pith_quantize_opts){.weight_bits = 4}, (const uint32_t[]){8, 4, 4, 8});
    expect((struct pith_quantize_opts){.weight_bits = 2}, (const uint32_t[]){5, 2, 2, 3});
    expect((struct pith_quantize_opts){.weight_bits = 8}, (const uint32_t[]){8, 8, 8, 8});
}

static void not_where_all_are_asked_to_be_alike(void **state)
{
    (void)state;
    expect((struct pith_quantize_opts){.weight_bits = 4, .same_bits = true},
           (const uint32_t[]){4, 4, 4, 4});
    expect((struct pith_quantize_opts){.fixed_bits = 5}, (const uint32_t[]){5, 5, 5, 5});
}

/* What is kept is counted: the others get what they would have without it. */
static void what_stays_float_changes_nothing(void **state)
{
    (void)state;
    const char *keep[] = {"b", "d"};
    expect((struct pith_quantize_opts){.weight_bits = 4, .keep = keep, .n_keep = 2},
           (const uint32_t[]){8, 0, 4, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_weights_get_more_bits),
        cmocka_unit_test(not_where_all_are_asked_to_be_alike),
        cmocka_unit_test(what_stays_float_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
