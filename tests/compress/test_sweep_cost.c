/* SPDX-License-Identifier: MIT */
/* What parts of a search are reckoned to take, by networks that differ in one thing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "gemm_model.h"
#include "test_compress_goal.h"

static struct pith_model *new_model(void)
{
    struct pith_model *m = NULL;
    assert_int_equal(pith_model_new(NULL, &m), PITH_OK);
    m->values = pith_model_alloc(m, 8, sizeof *m->values);
    m->nodes = pith_model_alloc(m, 4, sizeof *m->nodes);
    m->inputs = pith_model_alloc(m, 1, sizeof *m->inputs);
    m->outputs = pith_model_alloc(m, 1, sizeof *m->outputs);
    m->n_inputs = m->n_outputs = 1;
    return m;
}

/* x [1, cols] -> gemm -> [1, rows] */
static struct pith_model *dense(uint32_t rows, uint32_t cols)
{
    struct pith_model *m = new_model();
    m->inputs[0] = add_value(m, "x", 2, (uint32_t[]){1, cols});
    const uint32_t w = add_weight(m, "w", 2, (uint32_t[]){rows, cols});
    m->outputs[0] = add_value(m, "y", 2, (uint32_t[]){1, rows});
    add_node(m, "fc", PITH_OP_GEMM, 2, (uint32_t[]){m->inputs[0], w}, m->outputs[0]);
    m->nodes[0].attr[ATTR_GEMM_TRANS_B] = 1;
    return m;
}

static struct sweep_cost cost_of(uint32_t rows, uint32_t cols, double samples)
{
    struct pith_model *m = dense(rows, cols);
    const struct sweep_cost cost = pith_sweep_cost(m, samples, 0);
    pith_model_free(m);
    return cost;
}

static void more_of_anything_costs_more(void **state)
{
    (void)state;
    const struct sweep_cost c = cost_of(64, 128, 100), wide = cost_of(64, 256, 100),
                            high = cost_of(128, 128, 100), many = cost_of(64, 128, 200);
    assert_true(c.macs == 64 * 128 && c.steps == 1);
    assert_true(c.run > 0 && c.gradients > 0 && c.layers > 0 && c.coder > 0 && c.open > 0);
    assert_true(wide.layers > 2 * (c.layers - 2e6)); /* a layer's own 1.5 ms aside */
    assert_true(high.layers > c.layers && high.layers < 2 * c.layers);
    assert_true(many.layers > c.layers && many.layers < 2 * c.layers);
    assert_true(many.gradients == c.gradients && many.run == c.run); /* they are of one */
    assert_true(high.coder == 2 * c.coder);
}

/* Rows of fewer than 16 have no trellis: a weight of them takes a third. */
static void short_rows_are_rounded_fast(void **state)
{
    (void)state;
    const double few = cost_of(1600, 15, 1).layers, more = cost_of(1500, 16, 1).layers;
    assert_true(more > 2 * few);
}

/* What a plan counts beyond the layers' own products are iterations, but of loops alone. */
static void no_loop_has_one_step(void **state)
{
    (void)state;
    struct pith_model *m = dense(64, 128);
    assert_true(pith_sweep_cost(m, 10, 1e9).steps == 1);
    m->n_nodes = 2;
    m->nodes[1] = (struct pith_node){.op = PITH_OP_LOOP, .name = m->nodes[0].name};
    const struct sweep_cost loop = pith_sweep_cost(m, 10, 50 * 64 * 128);
    assert_true(fabs(loop.steps - 50) < 1e-9);
    assert_true(loop.layers > pith_sweep_cost(m, 10, 0).layers);
    assert_true(loop.gradients > 50 * (64 * 128));
    pith_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_of_anything_costs_more),
        cmocka_unit_test(short_rows_are_rounded_fast),
        cmocka_unit_test(no_loop_has_one_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
