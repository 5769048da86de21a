/* SPDX-License-Identifier: MIT */
/* test_plan_operand.c - what a plan reports of its steps: roles in their order, names, and places
 * that are where the data is. */
#define GRAPH_DOUBLE_READER
#include "graph_double.h"
#include "plan/plan.h"
#include "op_interface/op_attr.h"

#define C 4u
#define SIDE 8u

static float weight[C * C * 3 * 3], bias[C];

static void set_pads(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_CONV_PADS] = 4;
    for (uint32_t i = 0; i < 4; i++)
        attr[ATTR_CONV_PADS + 1 + i] = 1;
}

/* relu(conv(x) + x): one step with a bias, a residual, a packed weight and an activation. */
static struct pith_plan *plan_of_block(uint32_t mask, void **mem)
{
    struct pith_need need;
    struct pith_plan *plan;
    struct pith_opts opts = {.size_bytes = sizeof opts, .cpu_mask = mask};
    gd_clear();
    uint32_t x = gd_input(4, 1, C, SIDE, SIDE);
    uint32_t w = gd_weight(weight, 4, C, C, 3, 3), b = gd_weight(bias, 1, C);
    uint32_t y = gd_node(PITH_OP_CONV, set_pads, NULL, 1, 3, x, w, b);
    uint32_t sum = gd_node(PITH_OP_ADD, NULL, NULL, 1, 2, y, x);
    gd_output(gd_node(PITH_OP_RELU, NULL, NULL, 1, 1, sum));
    *mem = gd_plan(&opts, &plan, &need);
    return plan;
}

static const struct pith_operand *with_role(const struct pith_operand *o, uint32_t n,
                                            enum pith_role role)
{
    for (uint32_t i = 0; i < n; i++)
        if (o[i].role == role)
            return &o[i];
    return NULL;
}

TEST(test_block)
{
    void *mem;
    struct pith_plan *plan = plan_of_block(0, &mem);
    struct pith_operand o[8];
    struct pith_layer layer;
    uint32_t n = 0;
    assert_int_equal(pith_plan_layer_count(plan), 1);
    while (n < 8 && !pith_plan_operand(plan, 0, n, &o[n]))
        n++;
    assert_in_range(n, 5, 7);
    for (uint32_t i = 1; i < n; i++)
        assert_true(o[i].role >= o[i - 1].role);
    assert_int_equal(o[0].role, PITH_ROLE_INPUT);
    assert_int_equal(o[0].index, 0);
    assert_int_equal(o[1].index, 1);
    assert_int_equal(o[2].index, 2);
    assert_int_equal(o[2].tensor.bytes, sizeof bias);
    const struct pith_operand *y = with_role(o, n, PITH_ROLE_OUTPUT);
    const struct pith_operand *residual = with_role(o, n, PITH_ROLE_RESIDUAL);
    assert_non_null(y);
    assert_non_null(residual);
    /* the residual is the input */
    assert_int_equal(residual->place, PITH_PLACE_ARENA);
    assert_int_equal(residual->offset, o[0].offset);
    /* offsets differ as the data does */
    assert_int_equal(y->place, PITH_PLACE_ARENA);
    const uint8_t *in = pith_plan_input_data(plan, 0), *out = pith_plan_output_data(plan, 0);
    assert_true(out - in == (ptrdiff_t)y->offset - (ptrdiff_t)o[0].offset);
    assert_int_equal(y->tensor.bytes, C * SIDE * SIDE * sizeof(float));
    assert_int_equal(y->channels_last, 0);
    assert_int_equal(pith_plan_layer(plan, 0, &layer), PITH_OK);
    assert_string_equal(layer.activation, "relu");
    free(mem);
}

/* A packed weight is reported where the kernel has one, and is what the layer counts; without
 * vectors there is none, and the weight is read where it lies. */
TEST(test_packed)
{
    for (uint32_t level = 0; level < 2; level++) {
        void *mem;
        struct pith_plan *plan = plan_of_block(level ? 0 : PITH_CPU_REF, &mem);
        struct pith_operand o;
        struct pith_layer layer;
        uint64_t packed = 0;
        assert_int_equal(pith_plan_layer(plan, 0, &layer), PITH_OK);
        for (uint32_t i = 0; !pith_plan_operand(plan, 0, i, &o); i++) {
            if (o.role == PITH_ROLE_PACKED) {
                packed = o.tensor.bytes;
                assert_int_equal(o.place, PITH_PLACE_WEIGHTS);
            }
        }
        assert_int_equal(layer.weight_bytes, (packed ? packed : sizeof weight) + sizeof bias);
        if (!level)
            assert_int_equal(packed, 0);
        free(mem);
    }
}

static void set_u8(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_QUANTIZE_TYPE] = PITH_U8;
}

/* A product of integers that took over a Requantize: the grid of its result has a name. */
TEST(test_grids)
{
    static const int8_t w[C * C];
    static const float factor = 0.5f;
    static const uint8_t zero = 3;
    struct pith_need need;
    struct pith_plan *plan;
    struct pith_operand o[8];
    uint32_t n = 0;
    struct pith_opts opts = {.size_bytes = sizeof opts};
    gd_clear();
    uint32_t x = gd_input(2, 2, C);
    gd_input_type(PITH_U8);
    uint32_t scale = gd_weight_of(PITH_F32, &factor, &(struct shape){0});
    uint32_t point = gd_weight_of(PITH_U8, &zero, &(struct shape){0});
    uint32_t acc = gd_node(PITH_OP_MATMUL_INTEGER, NULL, NULL, 1, 2, x,
                           gd_weight_of(PITH_I8, w, &(struct shape){2, {C, C}}));
    gd_output(gd_node(PITH_OP_REQUANTIZE, set_u8, NULL, 1, 3, acc, scale, point));
    void *mem = gd_plan(&opts, &plan, &need);
    assert_int_equal(pith_plan_layer_count(plan), 1);
    while (n < 8 && !pith_plan_operand(plan, 0, n, &o[n]))
        n++;
    const struct pith_operand *s = with_role(o, n, PITH_ROLE_SCALE);
    const struct pith_operand *z = with_role(o, n, PITH_ROLE_ZERO_POINT);
    assert_non_null(s);
    assert_non_null(z);
    assert_string_equal(s->of, "result");
    assert_string_equal(z->of, "result");
    assert_int_equal(s->tensor.bytes, sizeof factor);
    assert_int_equal(*(const uint8_t *)z->tensor.data, zero);
    assert_null(o[0].of);
    free(mem);
}

TEST(test_refusals)
{
    void *mem;
    struct pith_plan *plan = plan_of_block(0, &mem);
    struct pith_operand o = {.index = 77};
    assert_int_equal(pith_plan_operand(plan, 1, 0, &o), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_plan_operand(plan, 0, 99, &o), PITH_ERR_ARGUMENT);
    assert_int_equal(o.index, 77);
    free(mem);
}

RUN_TESTS
