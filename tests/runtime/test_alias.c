/* SPDX-License-Identifier: MIT */
/* test_alias.c - which values share storage, on graphs of a few nodes: by what is read from there
 * afterwards, and by the bytes of the arena. */
#define GRAPH_DOUBLE_READER
#include "graph_double.h"
#include "plan/plan.h"
#include "op_interface/op_attr.h"

#define SIDE 4u

static float data[16];

static void set_halves(int32_t *attr, void *arg)
{
    int32_t half = (int32_t) * (const uint32_t *)arg / 2;
    attr[ATTR_AXIS] = 1;
    attr[ATTR_SPLIT_SIZES] = 2;
    attr[ATTR_SPLIT_SIZES + 1] = attr[ATTR_SPLIT_SIZES + 2] = half;
}

static void set_same_shape(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_RESHAPE_DIMS] = 4; /* 0: as the input */
}

struct case_plan {
    void *mem;
    struct pith_plan *plan;
    struct pith_need need;
};

static struct case_plan make(void)
{
    struct case_plan c;
    struct pith_opts opts = {.size_bytes = sizeof opts, .cpu_mask = PITH_CPU_REF};
    c.mem = gd_plan(&opts, &c.plan, &c.need);
    return c;
}

static void set_sum(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_KIND] = VARIADIC_SUM;
}

/* The next input is written while the last output is read, which here is a view of what a
 * convolution gave when the input was no longer needed. */
TEST(test_outputs_are_apart_from_inputs)
{
    gd_clear();
    uint32_t x = gd_input(4, 1, 4, SIDE, SIDE), w = gd_weight(data, 4, 4, 4, 1, 1);
    uint32_t once = gd_node(PITH_OP_CONV, NULL, NULL, 1, 2, x, w);
    uint32_t twice = gd_node(PITH_OP_CONV, NULL, NULL, 1, 2, once, w);
    gd_output(gd_node(PITH_OP_RESHAPE, set_same_shape, NULL, 1, 1, twice));
    struct case_plan c = make();
    const uint8_t *in = pith_plan_input_data(c.plan, 0);
    const uint8_t *out = (const uint8_t *)pith_plan_output_data(c.plan, 0);
    size_t n = 4 * SIDE * SIDE * sizeof(float);
    assert_true(in + n <= out || out + n <= in);
    free(c.mem);
}

/* 2 x + 3 x + 2 x: what is read again after the first sum is not written over by it. */
TEST(test_sum_of_a_value_twice)
{
    static const float two = 2, three = 3;
    gd_clear();
    uint32_t x = gd_input(4, 1, 1, SIDE, SIDE);
    uint32_t v = gd_weight(&two, 4, 1, 1, 1, 1), w = gd_weight(&three, 4, 1, 1, 1, 1);
    uint32_t a = gd_node(PITH_OP_CONV, NULL, NULL, 1, 2, x, v);
    uint32_t b = gd_node(PITH_OP_CONV, NULL, NULL, 1, 2, x, w);
    gd_output(gd_node(PITH_OP_VARIADIC, set_sum, NULL, 1, 3, a, b, a));
    struct case_plan c = make();
    float *in = pith_plan_input_data(c.plan, 0);
    for (uint32_t i = 0; i < SIDE * SIDE; i++)
        in[i] = (float)i;
    float want[SIDE * SIDE];
    for (uint32_t i = 0; i < SIDE * SIDE; i++)
        want[i] = 7 * (float)i;
    assert_int_equal(pith_plan_run(c.plan), PITH_OK);
    assert_memory_equal(pith_plan_output_data(c.plan, 0), want, sizeof want);
    free(c.mem);
}

/* The halves of a value lie side by side, so one may be written over while the other is read: the
 * arena holds the input and that value. */
TEST(test_neighbours_do_not_meet)
{
    uint32_t channels_of_both = 4;
    gd_clear();
    uint32_t x = gd_input(4, 1, 4, SIDE, SIDE), w = gd_weight(data, 4, 4, 4, 1, 1);
    uint32_t t = gd_node(PITH_OP_CONV, NULL, NULL, 1, 2, x, w);
    uint32_t half_of_it = gd_node(PITH_OP_SPLIT, set_halves, &channels_of_both, 2, 1, t);
    gd_output(gd_node(PITH_OP_ADD, NULL, NULL, 1, 2, half_of_it, half_of_it + 1));
    struct case_plan c = make();
    assert_int_equal(c.need.arena_bytes, 2 * 4 * SIDE * SIDE * sizeof(float));
    free(c.mem);
}

RUN_TESTS
