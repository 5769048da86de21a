/* SPDX-License-Identifier: MIT */
/* test_op_traits.c - for each trait, the operators that have it, by name: a stage that tests the
 * trait gets these and no others. What an operator says of its weight is held against where its own
 * shape rule wants rows, groups and a bias. */
#include <stdint.h>
#include "test_run.h"
#include "op_interface/op_exec.h"
#include "core/op_number.h"

/* Lists end with 0, which is no operator. */
#define HOLD(what, ...) hold(#what, what, (const uint32_t[]){__VA_ARGS__, 0})

static bool listed(const uint32_t *ops, uint32_t op)
{
    for (; *ops; ops++)
        if (*ops == op)
            return true;
    return false;
}

static void hold(const char *name, uint32_t traits, const uint32_t *ops)
{
    for (uint32_t op = 0; op <= PITH_OP_END; op++)
        if (pith_op_is(op, traits) != listed(ops, op))
            fail_msg("%s: operator %u %s", name, op, listed(ops, op) ? "lacks it" : "has it");
}

TEST(each_trait_has_its_operators)
{
    HOLD(TRAIT_MOVES, PITH_OP_CONCAT, PITH_OP_SPLIT, PITH_OP_SLICE, PITH_OP_SQUEEZE,
         PITH_OP_UNSQUEEZE, PITH_OP_RESHAPE, PITH_OP_FLATTEN, PITH_OP_TRANSPOSE, PITH_OP_IDENTITY,
         PITH_OP_PAD, PITH_OP_DEPTH_SPACE);
    HOLD(TRAIT_SELECTS, PITH_OP_MAX_POOL, PITH_OP_GLOBAL_MAX_POOL);
    HOLD(TRAIT_AVERAGES, PITH_OP_MAX_POOL, PITH_OP_AVERAGE_POOL, PITH_OP_GLOBAL_MAX_POOL,
         PITH_OP_GLOBAL_AVERAGE_POOL, PITH_OP_REDUCE_MEAN, PITH_OP_RESIZE);
    HOLD(TRAIT_UNARY, PITH_OP_RELU, PITH_OP_CLIP, PITH_OP_LEAKY_RELU, PITH_OP_SIGMOID, PITH_OP_TANH,
         PITH_OP_HARD_SIGMOID, PITH_OP_HARD_SWISH, PITH_OP_UNARY);
    HOLD(TRAIT_CLAMPS, PITH_OP_RELU, PITH_OP_CLIP);
    HOLD(TRAIT_RECTIFIES, PITH_OP_RELU, PITH_OP_LEAKY_RELU, PITH_OP_PRELU, PITH_OP_CLIP,
         PITH_OP_HARD_SWISH);
    HOLD(TRAIT_ARITHMETIC, PITH_OP_ADD, PITH_OP_SUB, PITH_OP_MUL, PITH_OP_DIV);
    HOLD(TRAIT_BROADCASTS, PITH_OP_ADD, PITH_OP_SUB, PITH_OP_MUL, PITH_OP_DIV, PITH_OP_POWER,
         PITH_OP_MOD, PITH_OP_COMPARE, PITH_OP_WHERE, PITH_OP_VARIADIC);
    HOLD(TRAIT_HOMOGENEOUS, PITH_OP_RELU, PITH_OP_LEAKY_RELU, PITH_OP_MAX_POOL,
         PITH_OP_AVERAGE_POOL, PITH_OP_GLOBAL_AVERAGE_POOL, PITH_OP_GLOBAL_MAX_POOL);
    HOLD(TRAIT_NORMALIZES, PITH_OP_BATCH_NORM, PITH_OP_GROUP_NORM, PITH_OP_LAYER_NORM);
    HOLD(TRAIT_CHANNELS_FIRST, PITH_OP_CONV, PITH_OP_CONV_TRANSPOSE, PITH_OP_CONV_INTEGER,
         PITH_OP_BATCH_NORM, PITH_OP_GROUP_NORM, PITH_OP_LRN, PITH_OP_MAX_POOL,
         PITH_OP_AVERAGE_POOL, PITH_OP_GLOBAL_MAX_POOL, PITH_OP_GLOBAL_AVERAGE_POOL,
         PITH_OP_LP_POOL);
    HOLD(TRAIT_RECURS, PITH_OP_RECURRENT);
    HOLD(TRAIT_INTEGERS, PITH_OP_CONV_INTEGER, PITH_OP_MATMUL_INTEGER);
    HOLD(TRAIT_GRID, PITH_OP_QUANTIZE, PITH_OP_DEQUANTIZE, PITH_OP_REQUANTIZE);
    HOLD(TRAIT_OPENS_BODY, PITH_OP_LOOP, PITH_OP_BRANCH);
    HOLD(TRAIT_CLOSES_BODY, PITH_OP_LOOP_END, PITH_OP_BRANCH_END);
}

/* The weight, if any; rows: of the weight as attributes are by default, and with trans_b changed.
 */
struct weight_row {
    uint32_t op;
    bool floats;
    uint8_t input, bias;
    bool rows_first, rows_turned;
    bool has_groups;
    uint32_t integer_op;
};

static const struct weight_row weights[] = {
    {PITH_OP_CONV, true, 1, 2, true, true, true, PITH_OP_CONV_INTEGER},
    {PITH_OP_GEMM, true, 1, 2, true, false, false, PITH_OP_MATMUL_INTEGER},
    {PITH_OP_MATMUL, true, 1, 0, false, true, false, PITH_OP_MATMUL_INTEGER},
    {PITH_OP_CONV_TRANSPOSE, true, 1, 2, false, false, true, 0},
    {PITH_OP_RECURRENT, true, 1, 2, true, true, false, 0},
    {PITH_OP_CONV_INTEGER, false, 1, 4, true, true, true, 0},
    {PITH_OP_MATMUL_INTEGER, false, 1, 0, false, true, false, 0},
};

enum { N_WEIGHTS = sizeof weights / sizeof *weights };

static const struct weight_row *row_of(uint32_t op)
{
    for (uint32_t i = 0; i < N_WEIGHTS; i++)
        if (weights[i].op == op)
            return &weights[i];
    return NULL;
}

static void hold_attributes(const struct weight_row *w, const struct op_info *info)
{
    int32_t attr[PITH_OP_MAX_SLOTS] = {0};
    pith_op_attr_defaults(info, attr);
    assert_int_equal(pith_op_rows_first(w->op, attr), w->rows_first);
    assert_int_equal(pith_op_groups(w->op, attr), 1);
    if (w->has_groups)
        attr[info->traits.group_slot] = 3;
    assert_int_equal(pith_op_groups(w->op, attr), w->has_groups ? 3 : 1);
    uint32_t slot = pith_op_trans_slot(w->op);
    assert_int_equal(slot != OP_NO_SLOT, w->rows_first != w->rows_turned);
    if (slot != OP_NO_SLOT)
        attr[slot] = !attr[slot];
    assert_int_equal(pith_op_rows_first(w->op, attr), w->rows_turned);
}

TEST(weights_are_described)
{
    for (uint32_t op = 0; op <= PITH_OP_END; op++) {
        const struct weight_row *w = row_of(op);
        const struct op_traits t = pith_op_traits(op);
        assert_int_equal(t.weight_input, w ? w->input : 0);
        assert_int_equal(t.bias_input, w ? w->bias : 0);
        assert_int_equal(t.integer_op, w ? w->integer_op : 0);
        assert_int_equal(pith_op_has_weight(op), w && w->floats);
        assert_int_equal(pith_op_trans_slot(op) != OP_NO_SLOT, op == PITH_OP_GEMM ||
                                                                   op == PITH_OP_MATMUL ||
                                                                   op == PITH_OP_MATMUL_INTEGER);
        if (w)
            hold_attributes(w, pith_op_get(op));
    }
}

/* Whether a constant at input i is learned. */
static bool learned(uint32_t op, uint32_t i)
{
    switch (op) {
    case PITH_OP_CONV:
    case PITH_OP_GEMM:
    case PITH_OP_CONV_TRANSPOSE:
    case PITH_OP_BATCH_NORM:
    case PITH_OP_GROUP_NORM:
    case PITH_OP_LAYER_NORM:
        return i == 1 || i == 2;
    case PITH_OP_MATMUL:
    case PITH_OP_PRELU:
        return i == 1;
    case PITH_OP_RECURRENT: /* weight, bias, peepholes; not lengths and first states */
        return i == 1 || i == 2 || i == 6;
    case PITH_OP_ADD:
    case PITH_OP_MUL:
        return i <= 1;
    case PITH_OP_GATHER:
        return i == 0;
    default:
        return false;
    }
}

TEST(parameters_are_what_is_learned)
{
    for (uint32_t op = 0; op <= PITH_OP_END; op++)
        for (uint32_t i = 0; i < 8; i++)
            if ((pith_op_traits(op).parameters >> i & 1u) != learned(op, i))
                fail_msg("operator %u, input %u", op, i);
}

/* A weight of 6 rows where the traits say that they are gives 6 channels where they say those are.
 */
TEST(the_shape_rule_agrees)
{
    static const uint32_t ops[] = {PITH_OP_CONV, PITH_OP_GEMM, PITH_OP_MATMUL,
                                   PITH_OP_CONV_TRANSPOSE};
    for (uint32_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        const struct op_info *info = pith_op_get(ops[k]);
        int32_t attr[PITH_OP_MAX_SLOTS] = {0};
        pith_op_attr_defaults(info, attr);
        bool first = pith_op_rows_first(ops[k], attr),
             spatial = pith_op_channel_axis(ops[k], 4) == 1;
        struct tview x = {.type = PITH_F32, .shape = {.rank = 2, .dim = {5, 4}}}, w = x, y = {0};
        struct tview bias = {.type = PITH_F32, .shape = {.rank = 1, .dim = {6}}};
        w.shape.dim[0] = first ? 6 : 4;
        w.shape.dim[1] = first ? 4 : 6;
        if (spatial)
            for (uint32_t i = 2; i < 4; i++) {
                x.shape.rank = w.shape.rank = 4;
                x.shape.dim[i] = 7;
                w.shape.dim[i] = 3;
            }
        const struct tview *in[] = {&x, &w, &bias};
        struct tview *out[] = {&y};
        uint32_t n_in = info->traits.bias_input ? 3 : 2;
        const struct op_args args = {
            .info = info, .attr = attr, .n_in = n_in, .n_out = 1, .in = in, .out = out};
        assert_int_equal(info->shape(&args), PITH_OK);
        assert_int_equal(y.shape.dim[pith_op_channel_axis(ops[k], y.shape.rank)], 6);
    }
}

RUN_TESTS
