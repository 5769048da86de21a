/* SPDX-License-Identifier: MIT */
/* test_mixed_precision.c - the layers that get more than a byte are those that need it most for
 * what it takes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "test_compress.h"
#include "measure/small_net.h"
#include "pith_op_semantics.h"

#define SIDE 4u
#define FEW 4u   /* channels in front */
#define MANY 64u /* and behind: nearly all products are of the last two layers */

struct net {
    struct pith_model *m;
    uint32_t x, spread, even, narrow,
        wide; /* inputs of the layers, in order; the last: of "wide" */
};

static uint32_t convolution(struct pith_model *m, struct sample_random *r, const char *name,
                            uint32_t x, uint32_t outputs, uint32_t side, uint32_t groups)
{
    uint32_t inputs = m->values[x].dim[1];
    uint32_t w =
        add_constant(m, r, "", 4, (const uint32_t[]){outputs, inputs / groups, side, side});
    struct pith_node *node = add_node(m, PITH_OP_CONV, name, "", 2, (const uint32_t[]){x, w});
    struct pith_error err = {0};
    uint32_t y = node->out[0];
    node->attr[ATTR_CONV_GROUP] = (int32_t)groups;
    m->outputs[0] = y;
    m->n_outputs = 1;
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    return y;
}

/* "first" FEW -> FEW, "even" depthwise, Relu, "narrow" FEW -> MANY, "wide" and "last" MANY -> MANY;
 * 1x1. */
static struct net network(void)
{
    struct sample_random r = sample_random_of(5);
    struct net n = {.m = sample_new()};
    n.x = add_value(n.m, "x", PITH_F32, 4, (const uint32_t[]){1, FEW, SIDE, SIDE});
    n.m->inputs[n.m->n_inputs++] = n.x;
    n.spread = convolution(n.m, &r, "first", n.x, FEW, 1, 1);
    n.even = convolution(n.m, &r, "even", n.spread, FEW, 1, FEW);
    n.narrow = add_node(n.m, PITH_OP_RELU, "act", "", 1, &n.even)->out[0];
    n.m->outputs[0] = n.narrow;
    struct pith_error err = {0};
    assert_int_equal(pith_model_infer_shapes(n.m, &err), PITH_OK);
    n.wide = convolution(n.m, &r, "narrow", n.narrow, MANY, 1, 1);
    convolution(n.m, &r, "last", convolution(n.m, &r, "wide", n.wide, MANY, 1, 1), MANY, 1, 1);
    return n;
}

/* signal is 10^(db / 10) times all of the error. */
static struct wider_layers choose(struct net *n, const struct finer_way *way,
                                  struct value_cost *cost, uint32_t n_costs, double rest, double db)
{
    struct wider_layers wider = {.n = 0};
    struct pith_error err = {0};
    double total = rest;
    for (uint32_t i = 0; i < n_costs; i++)
        total += cost[i].error;
    assert_int_equal(pith_choose_precision(n->m, way, cost, n_costs, rest, total * pow(10, db / 10),
                                           &wider, &err),
                     PITH_OK);
    return wider;
}

static void what_is_good_enough_stays(void **state)
{
    (void)state;
    struct net n = network();
    struct value_cost cost[] = {{n.x, 9}, {n.narrow, 90}};
    assert_int_equal(choose(&n, &pith_way_int16, cost, 2, 0, 28.1).n, 0);
    assert_int_equal(choose(&n, &pith_way_float, cost, 2, 0, 25.1).n, 0);
    assert_int_equal(choose(&n, &pith_way_int16, cost, 2, 0, 27.9).n, 1);
    pith_model_free(n.m);
}

/* The most error for its price goes first, and nothing is done beyond what is wanted. */
static void the_worth_decides(void **state)
{
    (void)state;
    struct net n = network();
    struct value_cost cost[] = {{n.x, 3}, {n.narrow, 45}, {n.wide, 52}};
    struct wider_layers wider = choose(&n, &pith_way_int16, cost, 3, 0, 27);
    assert_int_equal(wider.n, 1); /* 40 of 100 less are 2.2 dB */
    assert_string_equal(wider.name[0], "narrow");
    assert_null(wider.why[0]);
    wider = choose(&n, &pith_way_int16, cost, 3, 0, 20);
    assert_int_equal(wider.n, 2); /* half of all products is too much */
    assert_string_equal(wider.name[1], "first");
    cost[0].error = 1;
    assert_int_equal(choose(&n, &pith_way_int16, cost, 3, 0, 20).n, 1); /* next to nothing */
    pith_model_free(n.m);
}

/* A layer that stays float takes the depthwise one in front of it along, each says why, and they
 * stand behind those that were asked for. */
static void floats_take_depthwise_layers_along(void **state)
{
    (void)state;
    struct net n = network();
    struct finer_way way = pith_way_float;
    struct value_cost cost = {n.narrow, 50};
    struct pith_error err = {0};
    struct wider_layers wider = {.layer = {"asked"}, .n = 1};
    way.passes = 0;
    assert_int_equal(pith_choose_precision(n.m, &way, &cost, 1, 50, 100 * 100, &wider, &err),
                     PITH_OK);
    assert_int_equal(wider.n, 3);
    assert_string_equal(wider.layer[0], "asked");
    assert_string_equal(wider.name[1], "even");
    assert_string_equal(wider.name[2], "narrow");
    assert_non_null(strstr(wider.why[1], "behind"));
    assert_non_null(strstr(wider.why[2], "gives 23.0 dB"));
    pith_model_free(n.m);
}

/* Converting what it reads and writes may be dearer than the layer. */
static void passes_have_their_price(void **state)
{
    (void)state;
    struct net n = network();
    struct finer_way way = pith_way_float;
    struct value_cost cost[] = {{n.narrow, 50}};
    way.passes = 0;
    assert_int_equal(choose(&n, &way, cost, 1, 50, 20).n, 2);
    way.passes = 4 * MANY;
    assert_int_equal(choose(&n, &way, cost, 1, 50, 20).n, 0);
    pith_model_free(n.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_good_enough_stays),
        cmocka_unit_test(the_worth_decides),
        cmocka_unit_test(floats_take_depthwise_layers_along),
        cmocka_unit_test(passes_have_their_price),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
