/* SPDX-License-Identifier: MIT */
/* test_node_weight.c - which input of a node is its weight and its bias, and how the weight lies:
 * for every operator, a node that reads the constant [6, 1, 3, 3] as every input but the first. */
#include <stdint.h>
#include "test_run.h"
#include "pith_model.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_info.h"

enum { X, W, OTHER, N_VALUES };

struct one_node {
    struct pith_const constant;
    struct pith_value values[N_VALUES];
    struct pith_model m;
    int32_t attr[PITH_OP_MAX_SLOTS];
    uint32_t in[5];
    struct pith_node node;
};

/* Input 1 is W, all behind it are OTHER. */
static void make(struct one_node *n, uint32_t op)
{
    *n = (struct one_node){.constant = {.count = 54}, .in = {X, W, OTHER, OTHER, OTHER}};
    n->values[W] = (struct pith_value){
        .type = PITH_F32, .rank = 4, .dim = {6, 1, 3, 3}, .constant = &n->constant};
    n->m.values = n->values;
    n->m.n_values = N_VALUES;
    pith_op_attr_defaults(pith_op_get(op), n->attr);
    n->node = (struct pith_node){.op = op, .n_in = 5, .in = n->in, .attr = n->attr};
}

static bool is_one_of(uint32_t op, const uint32_t *ops)
{
    for (; *ops; ops++)
        if (*ops == op)
            return true;
    return false;
}

TEST(weights_and_biases_are_found)
{
    static const uint32_t weight[] = {PITH_OP_CONV,           PITH_OP_GEMM,      PITH_OP_MATMUL,
                                      PITH_OP_CONV_TRANSPOSE, PITH_OP_RECURRENT, 0};
    static const uint32_t bias[] = {PITH_OP_CONV,      PITH_OP_GEMM,         PITH_OP_CONV_TRANSPOSE,
                                    PITH_OP_RECURRENT, PITH_OP_CONV_INTEGER, 0};
    static const uint32_t by_rows[] = {PITH_OP_CONV, PITH_OP_GEMM, 0};
    for (uint32_t op = 1; op < PITH_OP_END; op++) {
        struct one_node n;
        make(&n, op);
        assert_int_equal(pith_node_weight(&n.m, &n.node) == W, is_one_of(op, weight));
        assert_int_equal(pith_node_bias(&n.node) == OTHER, is_one_of(op, bias));
        assert_int_equal(pith_node_by_rows(&n.node), is_one_of(op, by_rows));
        assert_false(pith_node_is_depthwise(&n.m, &n.node)); /* of one group */
    }
}

TEST(attributes_say_how_it_lies)
{
    struct one_node n;
    make(&n, PITH_OP_MATMUL);
    n.attr[ATTR_MATMUL_TRANS_B] = 1;
    assert_true(pith_node_by_rows(&n.node));
    make(&n, PITH_OP_GEMM);
    n.attr[ATTR_GEMM_TRANS_A] = 1;
    assert_false(pith_node_by_rows(&n.node));
    n.attr[ATTR_GEMM_TRANS_A] = n.attr[ATTR_GEMM_TRANS_B] = 0;
    assert_false(pith_node_by_rows(&n.node));
    make(&n, PITH_OP_CONV);
    n.attr[ATTR_CONV_GROUP] = 6;
    assert_true(pith_node_is_depthwise(&n.m, &n.node));
    n.values[W].dim[1] = 2;
    assert_false(pith_node_is_depthwise(&n.m, &n.node));
    make(&n, PITH_OP_CONV_TRANSPOSE); /* [C, O / groups, ..]: its rows are inputs */
    n.attr[ATTR_CONV_T_GROUP] = 6;
    assert_false(pith_node_is_depthwise(&n.m, &n.node));
}

TEST(what_is_no_matrix_of_floats_is_no_weight)
{
    struct one_node n;
    make(&n, PITH_OP_CONV);
    n.values[W].rank = 1;
    assert_int_equal(pith_node_weight(&n.m, &n.node), PITH_VALUE_NONE);
    make(&n, PITH_OP_CONV);
    n.values[W].type = PITH_I8;
    assert_int_equal(pith_node_weight(&n.m, &n.node), PITH_VALUE_NONE);
    make(&n, PITH_OP_CONV);
    n.values[W].constant = NULL;
    assert_int_equal(pith_node_weight(&n.m, &n.node), PITH_VALUE_NONE);
    make(&n, PITH_OP_CONV);
    n.in[1] = n.in[2] = PITH_VALUE_NONE;
    assert_int_equal(pith_node_weight(&n.m, &n.node), PITH_VALUE_NONE);
    assert_int_equal(pith_node_bias(&n.node), PITH_VALUE_NONE);
    n.node.n_in = 1;
    assert_int_equal(pith_node_weight(&n.m, &n.node), PITH_VALUE_NONE);
}

RUN_TESTS
