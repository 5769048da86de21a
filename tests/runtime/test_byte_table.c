/* SPDX-License-Identifier: MIT */
/* Functions of one byte as plans run them: one table each (integer_case.h). */
#include "integer_case.h"

#define TABLE_NODES 16u /* of a table at most (fuse_table.c), beside its end */

/* What a function of one tensor of bytes is made of, and its nodes so far. */
struct function {
    uint32_t x, real, scale[4], zero[2], number[4], n_nodes;
};

static struct function new_function(const struct shape *x, enum pith_type type)
{
    struct function f = {.x = new_graph(x, type), .real = PITH_NO_VALUE};
    for (uint32_t k = 0; k < 4; k++) {
        float *p = own(malloc(sizeof *p));
        *p = ((float)pick(0, 200) - 100.0f) * 0.03f;
        f.scale[k] = scale_weight();
        f.number[k] = gd_weight_of(PITH_F32, p, &(struct shape){pick(0, 4), {1, 1, 1, 1}});
    }
    for (uint32_t k = 0; k < 2; k++)
        f.zero[k] = bytes_weight(k ? PITH_I8 : PITH_U8, (struct shape){0});
    return f;
}

static uint32_t function_node(struct function *f, enum pith_op op, int32_t kind, uint32_t a,
                              uint32_t b)
{
    const uint32_t in[2] = {a, b};
    f->n_nodes++;
    return gd_node_of(op, kind < 0 ? NULL : set_axis, &kind, 1, b == PITH_NO_VALUE ? 1 : 2, in);
}

static uint32_t bytes_again(struct function *f, uint32_t real, enum pith_type type)
{
    int32_t params[2] = {(int32_t)type, 1};
    const bool zero = type == PITH_U8 || pick(0, 1);
    f->n_nodes++;
    return gd_node(PITH_OP_QUANTIZE, set_type, params, 1, 3, real, f->scale[pick(0, 3)],
                   zero ? f->zero[type == PITH_I8] : PITH_NO_VALUE);
}

/* A DequantizeLinear of x, one for all that read it or now and then one more. */
static uint32_t real_again(struct function *f, uint32_t x, enum pith_type type, bool shared)
{
    const bool zero = type == PITH_U8 || pick(0, 1);
    if (shared && f->real != PITH_NO_VALUE && pick(0, 3))
        return f->real;
    f->n_nodes++;
    uint32_t y = gd_node(PITH_OP_DEQUANTIZE, NULL, NULL, 1, 3, x, f->scale[pick(0, 3)],
                         zero ? f->zero[type == PITH_I8] : PITH_NO_VALUE);
    f->real = shared ? y : f->real;
    return y;
}

static uint32_t random_function(struct function *f, uint32_t depth)
{
    static const enum pith_op one[] = {PITH_OP_SIGMOID, PITH_OP_HARD_SWISH, PITH_OP_TANH,
                                       PITH_OP_RELU, PITH_OP_CLIP};
    static const enum pith_op two[] = {PITH_OP_ADD, PITH_OP_SUB,   PITH_OP_MUL,
                                       PITH_OP_DIV, PITH_OP_PRELU, PITH_OP_VARIADIC};
    static const int32_t kinds[] = {UNARY_GELU, UNARY_MISH, UNARY_ERF, UNARY_NEG, UNARY_EXP};
    if (depth == 0)
        return real_again(f, f->x, gd.value[f->x].type, true);
    uint32_t a = random_function(f, depth - 1), kind = pick(0, 9), b;
    if (kind < 2)
        return function_node(f, one[pick(0, 4)], -1, a, PITH_NO_VALUE);
    if (kind < 4)
        return function_node(f, PITH_OP_UNARY, kinds[pick(0, 4)], a, PITH_NO_VALUE);
    if (kind < 6) {
        enum pith_type type = byte_type();
        return real_again(f, bytes_again(f, a, type), type, false);
    }
    b = pick(0, 2) ? random_function(f, pick(0, depth - 1)) : f->number[pick(0, 3)];
    enum pith_op op = two[pick(0, 5)];
    return function_node(f, op, op == PITH_OP_VARIADIC ? (int32_t)pick(0, VARIADIC_END - 1) : -1, a,
                         b);
}

/* Whatever stands between bytes and bytes of the same places is one step; values enough that each
 * of the 256 bytes is among them. What somebody else reads stays. */
TEST(test_tables)
{
    for (uint32_t i = 0; i < 400; i++) {
        struct shape x = {4, {1, 16, 16, 16}};
        enum pith_type type = byte_type();
        struct function f = new_function(&x, type);
        uint32_t y = random_function(&f, pick(0, 4));
        const bool small = f.n_nodes <= TABLE_NODES;
        y = bytes_again(&f, y, byte_type());
        gd_output(y);
        check_levels("table", small);
        if (f.real != PITH_NO_VALUE && small) {
            gd_output(f.real);
            check_levels("table of what others read", 0);
        }
        release_case();
    }
}

/* An operand of another shape is none that a table knows. */
TEST(test_other_shapes)
{
    for (uint32_t i = 0; i < 8; i++) {
        struct shape x = {4, {1, 16, 4, 4}};
        const enum pith_type type = byte_type();
        struct function f = new_function(&x, type);
        const uint32_t real = real_again(&f, f.x, type, true);
        const uint32_t pooled = gd_node(PITH_OP_GLOBAL_MAX_POOL, NULL, NULL, 1, 1, real);
        gd_output(bytes_again(&f, function_node(&f, PITH_OP_ADD, -1, real, pooled), byte_type()));
        check_levels("operand of another shape", 0);
        release_case();
    }
}

/* Functions of more nodes than a table takes are none: each of their nodes is a step. */
TEST(test_long_functions)
{
    for (uint32_t n = TABLE_NODES - 2; n <= TABLE_NODES + 1; n++) {
        struct shape x = {4, {1, 3, 5, 4}};
        struct function f = new_function(&x, PITH_U8);
        uint32_t y = real_again(&f, f.x, PITH_U8, true);
        while (f.n_nodes < n)
            y = function_node(&f, PITH_OP_TANH, -1, y, PITH_NO_VALUE);
        gd_output(bytes_again(&f, y, PITH_U8));
        check_levels("long function", n <= TABLE_NODES ? 1 : n + 1);
        release_case();
    }
}

RUN_TESTS
