/* SPDX-License-Identifier: MIT */
/* Networks in the QDQ format: which layers become integer ones, with which constants, and which
 * stay as they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include "test_run.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "onnx/onnx_read.h"
#include "pith_onnx.h"
#include "quantized_builder.h"

static void expect_ops(struct pith_model *m, uint32_t n, const uint32_t *ops)
{
    assert_int_equal(m->n_nodes, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(m->nodes[i].op, ops[i]);
}

#define OPS(...)                                                                                   \
    sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[])                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static const void *constant(const struct pith_model *m, uint32_t node, uint32_t input, size_t bytes)
{
    const struct pith_value *v = &m->values[m->nodes[node].in[input]];
    assert_non_null(v->constant);
    assert_non_null(v->constant->data);
    struct shape s = {.rank = v->rank};
    memcpy(s.dim, v->dim, sizeof s.dim);
    assert_int_equal(shape_elems(&s) * pith_type_bytes(v->type), bytes);
    return v->constant->data;
}

/* What every network here has: x [1,2,3,3] quantized to xq, and dequantized again as xd, by 0.5 and
 * 3; weights of two outputs as wd by 0.25 and 0.125; zero point and scale of the output. */
struct layer_spec {
    uint8_t y_zero;
    float y_scale;
    int8_t w[4], w_zero[2];
    int32_t bias[2];
    size_t w_rank;
    int64_t axis;
};

static void build_layer(struct proto *g, const struct layer_spec *s)
{
    static const int64_t w_dims[4] = {2, 2, 1, 1}, two[1] = {2};
    static const float half = 0.5f, w_scale[2] = {0.25f, 0.125f}, b_scale[2] = {0.125f, 0.0625f};
    static const uint8_t three = 3;
    if (s->w_rank == 4)
        build_input(g, "x", 4, 1, 2, 3, 3);
    else
        build_input(g, "x", 2, 2, 2);
    raw(g, "sx", BUILD_FLOAT, 0, NULL, &half);
    raw(g, "zx", BUILD_UINT8, 0, NULL, &three);
    raw(g, "w", BUILD_INT8, s->w_rank, w_dims, s->w);
    raw(g, "sw", BUILD_FLOAT, 1, two, w_scale);
    raw(g, "zw", BUILD_INT8, 1, two, s->w_zero);
    raw(g, "b", BUILD_INT32, 1, two, s->bias);
    raw(g, "sb", BUILD_FLOAT, 1, two, b_scale);
    raw(g, "sy", BUILD_FLOAT, 0, NULL, &s->y_scale);
    raw(g, "zy", BUILD_UINT8, 0, NULL, &s->y_zero);
    add(g, "QuantizeLinear", "x sx zx -> xq");
    add(g, "DequantizeLinear", "xq sx zx -> xd");
    add_with(g, "DequantizeLinear", "w sw zw -> wd", "axis", s->axis);
    add_with(g, "DequantizeLinear", "b sb -> bd", "axis", 0);
}

static const struct layer_spec plain = {
    .y_scale = 2.0f, .w = {1, -2, 3, -128}, .bias = {-5, 7}, .w_rank = 4};

TEST(test_convolution)
{
    for (int relu = 0; relu < 2; relu++) {
        struct proto g = {0};
        build_layer(&g, &plain);
        add(&g, "Conv", "xd wd bd -> c");
        if (relu)
            add(&g, "Relu", "c -> r");
        add(&g, "QuantizeLinear", relu ? "r sy zy -> q" : "c sy zy -> q");
        add(&g, "DequantizeLinear", "q sy zy -> y");
        struct pith_model *m = import_of(g);
        expect_ops(
            m, OPS(PITH_OP_QUANTIZE, PITH_OP_CONV_INTEGER, PITH_OP_REQUANTIZE, PITH_OP_DEQUANTIZE));
        assert_memory_equal(constant(m, 1, 1, 4), plain.w, 4);
        assert_memory_equal(constant(m, 1, 4, 8), plain.bias, 8);
        const float *factor = constant(m, 2, 1, 8);
        assert_true(factor[0] == 0.0625f && factor[1] == 0.03125f);
        pith_model_free(m);
    }
}

/* A Relu whose 0 lies inside the range cuts off what the type does not. */
TEST(relu_inside_the_range)
{
    struct layer_spec s = plain;
    s.y_zero = 1;
    struct proto g = {0};
    build_layer(&g, &s);
    add_all(&g, "Conv xd wd bd -> c; Relu c -> r; QuantizeLinear r sy zy -> q; DequantizeLinear q "
                "sy zy -> y");
    struct pith_model *m = import_of(g);
    expect_ops(m, OPS(PITH_OP_QUANTIZE, PITH_OP_CONV_INTEGER, PITH_OP_DEQUANTIZE, PITH_OP_RELU,
                      PITH_OP_QUANTIZE, PITH_OP_DEQUANTIZE));
    pith_model_free(m);
}

/* Clip vanishes where the type clips as much: 255 * 2 = 510. */
TEST(test_clip)
{
    for (int inside = 0; inside < 2; inside++) {
        struct proto g = {0};
        build_layer(&g, &plain);
        build_floats(&g, "low", 0, 0, 0);
        build_floats(&g, "high", inside ? 500 : 510, 0, 0);
        add_all(&g, "Conv xd wd bd -> c; Clip c low high -> r; QuantizeLinear r sy zy -> q; "
                    "DequantizeLinear q sy zy -> y");
        struct pith_model *m = import_of(g);
        assert_int_equal(m->nodes[1].op, PITH_OP_CONV_INTEGER);
        assert_int_equal(m->nodes[2].op, inside ? PITH_OP_DEQUANTIZE : PITH_OP_REQUANTIZE);
        assert_int_equal(m->n_nodes, inside ? 6 : 4);
        pith_model_free(m);
    }
}

TEST(weights_around_another_zero)
{
    struct layer_spec s = plain;
    s.w_zero[1] = 1;
    struct proto g = {0};
    build_layer(&g, &s);
    add_all(&g, "Conv xd wd bd -> c; QuantizeLinear c sy zy -> q; DequantizeLinear q sy zy -> y");
    struct pith_model *m = import_of(g);
    assert_int_equal(m->nodes[2].op, PITH_OP_CONV);
    pith_model_free(m);
}

TEST(weights_moved_to_zero)
{
    struct layer_spec s = plain;
    s.w_zero[1] = -1;
    struct proto g = {0};
    build_layer(&g, &s);
    add_all(&g, "Conv xd wd bd -> c; QuantizeLinear c sy zy -> q; DequantizeLinear q sy zy -> y");
    struct pith_model *m = import_of(g);
    static const int8_t w[4] = {1, -2, 4, -127};
    assert_int_equal(m->nodes[1].op, PITH_OP_CONV_INTEGER);
    assert_memory_equal(constant(m, 1, 1, 4), w, 4);
    pith_model_free(m);
}

/* u8 whose distances from their zero point need nine bits: i8 with one. */
TEST(unsigned_weights)
{
    static const int64_t dims[4] = {2, 2, 1, 1};
    static const uint8_t u[4] = {0, 99, 100, 255}, zero = 100;
    static const int8_t w[4] = {-128, -29, -28, 127}, w_zero = -28;
    static const float scale = 0.25f;
    for (size_t rank = 2; rank <= 4; rank += 2) {
        struct layer_spec s = plain;
        s.w_rank = rank;
        struct proto g = {0};
        build_layer(&g, &s);
        raw(&g, "u", BUILD_UINT8, rank, dims, u);
        raw(&g, "su", BUILD_FLOAT, 0, NULL, &scale);
        raw(&g, "zu", BUILD_UINT8, 0, NULL, &zero);
        add(&g, "DequantizeLinear", "u su zu -> ud");
        add(&g, rank == 4 ? "Conv" : "MatMul", "xd ud -> c");
        add_all(&g, "QuantizeLinear c sy zy -> q; DequantizeLinear q sy zy -> y");
        struct pith_model *m = import_of(g);
        expect_ops(m,
                   OPS(PITH_OP_QUANTIZE, rank == 4 ? PITH_OP_CONV_INTEGER : PITH_OP_MATMUL_INTEGER,
                       PITH_OP_REQUANTIZE, PITH_OP_DEQUANTIZE));
        assert_memory_equal(constant(m, 1, 1, 4), w, 4);
        assert_memory_equal(constant(m, 1, 3, 1), &w_zero, 1);
        pith_model_free(m);
    }
}

/* The second channel's bias is halved once, with its weights; its factor doubled. */
TEST(bias_beyond_the_sums)
{
    struct layer_spec s = plain;
    s.bias[1] = INT32_MIN;
    struct proto g = {0};
    build_layer(&g, &s);
    add_all(&g, "Conv xd wd bd -> c; QuantizeLinear c sy zy -> q; DequantizeLinear q sy zy -> y");
    struct pith_model *m = import_of(g);
    const int8_t w[4] = {1, -2, 2, -64};
    const int32_t bias[2] = {-5, INT32_MIN / 2};
    assert_memory_equal(constant(m, 1, 1, 4), w, 4);
    assert_memory_equal(constant(m, 1, 4, 8), bias, 8);
    const float *factor = constant(m, 2, 1, 8);
    assert_true(factor[0] == 0.0625f && factor[1] == 0.0625f);
    pith_model_free(m);
}

/* Scales by which no factor can be made are refused, and not merged before. */
TEST(no_scales)
{
    static const float scales[] = {0, -2, INFINITY, NAN};
    static const char *const texts[] = {"0", "-2", "inf", "nan"};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        struct layer_spec s = plain;
        char text[96];
        s.y_scale = scales[i];
        struct proto g = {0};
        build_layer(&g, &s);
        add_all(&g, "Conv xd wd bd -> c; QuantizeLinear c sy zy -> y");
        build_output(&g, "y");
        snprintf(text, sizeof text,
                 "node 'c sy zy -> y' (QuantizeLinear): scale 0 of input 1 is %s", texts[i]);
        refuse_file(build_model(g, 13), PITH_ERR_CORRUPT, text);
    }
}

TEST(test_gemm)
{
    const int8_t turned[4] = {1, 3, -2, -128};
    for (int by_row = 0; by_row < 2; by_row++) {
        struct layer_spec s = plain;
        s.w_rank = 2;
        s.axis = by_row ? 0 : -1;
        struct proto g = {0};
        build_layer(&g, &s);
        add_with(&g, "Gemm", "xd wd bd -> c", "transB", by_row);
        add_all(&g, "QuantizeLinear c sy zy -> q; DequantizeLinear q sy zy -> y");
        struct pith_model *m = import_of(g);
        expect_ops(m, OPS(PITH_OP_QUANTIZE, PITH_OP_MATMUL_INTEGER, PITH_OP_ADD, PITH_OP_REQUANTIZE,
                          PITH_OP_DEQUANTIZE));
        assert_memory_equal(constant(m, 1, 1, 4), by_row ? turned : s.w, 4);
        assert_memory_equal(constant(m, 2, 1, 8), s.bias, 8);
        assert_int_equal(m->nodes[3].attr[ATTR_QUANTIZE_AXIS], 1);
        pith_model_free(m);
    }
}

/* What Add widens to another rank, and scales whose product is no f32, stay as they are. */
TEST(no_layers)
{
    const int64_t wide[3] = {1, 1, 2};
    const float c[2] = {1, 2}, tiny = 1e-30f;
    for (int scales = 0; scales < 2; scales++) {
        struct layer_spec s = plain;
        s.w_rank = 2;
        s.axis = 1;
        struct proto g = {0};
        build_layer(&g, &s);
        raw(&g, "wide", BUILD_FLOAT, 3, wide, c);
        raw(&g, "tiny", BUILD_FLOAT, 0, NULL, &tiny);
        add_all(&g, "DequantizeLinear w tiny -> wt; DequantizeLinear xq tiny zx -> xt");
        add(&g, "MatMul", scales ? "xt wt -> p" : "xd wd -> p");
        if (!scales)
            add(&g, "Add", "p wide -> c");
        add(&g, "QuantizeLinear", scales ? "p sy zy -> q" : "c sy zy -> q");
        add(&g, "DequantizeLinear", "q sy zy -> y");
        struct pith_model *m = import_of(g);
        for (uint32_t i = 0; i < m->n_nodes; i++)
            assert_int_not_equal(m->nodes[i].op, PITH_OP_REQUANTIZE);
        assert_int_equal(m->values[m->outputs[0]].rank, scales ? 2 : 3);
        pith_model_free(m);
    }
}

/* A Gemm's C of one number a row, in a batch as large as there are outputs, is no bias. */
TEST(numbers_of_rows)
{
    const int64_t column[2] = {2, 1};
    const float c[2] = {1, 2};
    struct layer_spec s = plain;
    s.w_rank = 2;
    s.axis = 1;
    struct proto g = {0};
    build_layer(&g, &s);
    raw(&g, "rows", BUILD_FLOAT, 2, column, c);
    add_all(&g, "Gemm xd wd rows -> c; QuantizeLinear c sy zy -> q; DequantizeLinear q sy zy -> y");
    struct pith_model *m = import_of(g);
    assert_int_equal(m->nodes[2].op, PITH_OP_GEMM);
    pith_model_free(m);
}

/* Elements that only move stay integers, where both grids are the same. */
TEST(test_moves)
{
    for (int same = 0; same < 2; same++) {
        struct layer_spec s = plain;
        s.y_zero = 3;
        s.y_scale = same ? 0.5f : 0.25f;
        struct proto g = {0};
        build_layer(&g, &s);
        add_all(&g, "Flatten xd -> f; QuantizeLinear f sy zy -> q; DequantizeLinear q sy zy -> y");
        struct pith_model *m = import_of(g);
        if (same)
            expect_ops(m, OPS(PITH_OP_QUANTIZE, PITH_OP_FLATTEN, PITH_OP_DEQUANTIZE));
        else
            expect_ops(m, OPS(PITH_OP_QUANTIZE, PITH_OP_DEQUANTIZE, PITH_OP_FLATTEN,
                              PITH_OP_QUANTIZE, PITH_OP_DEQUANTIZE));
        pith_model_free(m);
    }
}

RUN_TESTS
