/* SPDX-License-Identifier: MIT */
/* test_integer_numbers.c - integers as numbers, what a grid does to numbers, and networks of
 * integers held against floats by value. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include "measure/integer_numbers.h"
#include "small_net.h"

TEST(integers_stand_for_numbers)
{
    const uint8_t q[8] = {0, 1, 2, 255, 3, 4, 5, 6};
    float scale[2] = {0.5f, 2}, x[8];
    struct pith_grid g = {.type = PITH_U8, .bits = 8, .zero_point = 1, .n = 1, .scale = scale};
    struct pith_tensor t = {
        .type = PITH_U8, .rank = 3, .dim = {1, 2, 4}, .bytes = sizeof q, .data = q};
    pith_integers_to_floats(&g, &t, x);
    assert_memory_equal(x, ((const float[]){-0.5f, 0, 0.5f, 127, 1, 1.5f, 2, 2.5f}), sizeof x);
    g.n = 2;
    g.axis = 1;
    pith_integers_to_floats(&g, &t, x);
    assert_memory_equal(x, ((const float[]){-0.5f, 0, 0.5f, 127, 4, 6, 8, 10}), sizeof x);
    const int16_t wide[2] = {-300, 300};
    const struct pith_grid g16 = {.type = PITH_I16, .bits = 16, .n = 1, .scale = scale};
    t = (struct pith_tensor){.type = PITH_I16, .rank = 1, .dim = {2}, .bytes = 4, .data = wide};
    pith_integers_to_floats(&g16, &t, x);
    assert_memory_equal(x, ((const float[]){-150, 150}), 2 * sizeof *x);
}

/* Steps of 1 from -2 to 253: 254 and -5 are cut, 0.25 is rounded; channel 1 becomes 0. */
TEST(errors_of_a_grid_are_distinguished)
{
    float scale[1] = {1};
    const float was[6] = {0.25f, 254, -5, 0.5f, -0.25f, 0}, is[6] = {0, 253, -2, 0, 0, 0};
    const uint8_t q[6] = {2, 255, 0, 2, 2, 2};
    const struct pith_grid g = {
        .type = PITH_U8, .bits = 8, .zero_point = 2, .n = 1, .scale = scale};
    const struct pith_tensor t = {
        .type = PITH_U8, .rank = 3, .dim = {1, 2, 3}, .bytes = 6, .data = q};
    struct grid_error e = {0};
    assert_true(pith_grid_error_add(&e, &g, &t, was, is));
    assert_int_equal(e.n, 6);
    assert_int_equal(e.clipped, 2);
    assert_true(e.clipping == 1 + 9);
    assert_true(e.rounding == 0.0625 + 0.25 + 0.0625);
    assert_true(e.low == -2 && e.high == 253 && e.step == 1);
    assert_int_equal(e.n_channels, 2);
    assert_int_equal(pith_grid_error_dead(&e), 1);
    const float alive[6] = {0, 0, 0, 0, 0, 1};
    assert_true(pith_grid_error_add(&e, &g, &t, was, alive));
    assert_int_equal(pith_grid_error_dead(&e), 0);
    free(e.alive);
}

/* x -> fc -> act, and after it QuantizeLinear and DequantizeLinear: the integers are called act, as
 * the floats are in the other model. */
static struct pith_model *with_integers(const float *w, bool by_grid)
{
    static const float scale = 0.25f;
    struct pith_model *m = small_net(2, 2, w, true);
    struct sample_random r = sample_random_of(2);
    struct pith_error err = {0};
    uint32_t s = add_constant(m, &r, "s", 0, NULL), y = m->outputs[0], ends[2] = {y, s};
    *(float *)m->values[s].constant->data = scale;
    struct pith_node *q = add_node(m, PITH_OP_QUANTIZE, "act", "act.out", 2, ends);
    m->values[y].name = "";
    q->attr[ATTR_QUANTIZE_TYPE] = PITH_U8;
    q->attr[ATTR_QUANTIZE_AXIS] = 1;
    ends[0] = q->out[0];
    struct pith_node *d = add_node(m, PITH_OP_DEQUANTIZE, "last", "last.out", 2, ends);
    d->attr[ATTR_QUANTIZE_AXIS] = 1;
    m->outputs[0] = d->out[0];
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    if (by_grid) {
        struct pith_grid *g = pith_model_alloc(m, 1, sizeof *g);
        *g = (struct pith_grid){
            .type = PITH_U8, .bits = 8, .method = PITH_RANGE_MAX, .n = 1, .scale = (float *)&scale};
        m->values[q->out[0]].grid = g;
    }
    return m;
}

TEST(integers_are_compared_by_value)
{
    const float w[4] = {1, 0, 0, 1}, x[4] = {0.375f, -1, 100, 0.05f};
    struct pith_data *data = rows_of(x, 2, 2, NULL);
    const struct pith_feed_input input = {.data = data};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &input};
    const struct pith_compare_opts o = {.size_bytes = sizeof o, .feed = &feed, .layers = true};
    struct pith_model *a = small_net(2, 2, w, true);
    for (uint32_t by_grid = 0; by_grid < 2; by_grid++) {
        struct pith_model *b = with_integers(w, by_grid != 0);
        struct pith_comparison c;
        struct pith_error err = {0};
        SUCCEEDS(pith_compare(a, b, &o, &c, &err));
        assert_int_equal(c.n_layers, 2);
        assert_string_equal(c.layers[0].layer, "fc");
        assert_false(c.layers[0].integers);
        const struct pith_difference *d = &c.layers[1];
        assert_string_equal(d->layer, "act");
        assert_true(d->integers);
        /* 0.375 becomes 0.5 (a tie goes to the even integer), 100 is cut to 63.75, 0.05 becomes 0
         */
        assert_true(fabs(d->max_abs - 36.25) < 1e-4);
        assert_true(d->step == 0.25 && d->low == 0 && d->high == 63.75);
        assert_true(fabs(d->clipped - 0.25) < 1e-12);
        assert_true(fabs(d->clip_db - d->snr_db) < 0.01);
        assert_int_equal(d->channels, 2);
        assert_int_equal(d->dead, 1);
        pith_comparison_free(&c);
        pith_model_free(b);
    }
    pith_model_free(a);
    pith_data_free(data);
}

/* Integers without a grid, and what no name ties to anything, are not compared with what happens to
 * have the same number. */
TEST(strangers_are_not_paired)
{
    const float w[4] = {1, 0, 0, 1};
    struct pith_model *a = small_net(2, 2, w, true), *b = with_integers(w, false);
    b->nodes[0].name = "other";
    b->values[b->nodes[0].out[0]].name = "other.out";
    for (uint32_t i = 1; i < b->n_nodes; i++)
        b->nodes[i].name = b->values[b->nodes[i].out[0]].name = "";
    const struct pith_compare_opts o = {.size_bytes = sizeof o, .layers = true};
    struct pith_comparison c;
    assert_int_equal(pith_compare(a, b, &o, &c, NULL), PITH_OK);
    assert_int_equal(c.n_layers, 0);
    pith_comparison_free(&c);
    pith_model_free(a);
    pith_model_free(b);
}

RUN_TESTS
