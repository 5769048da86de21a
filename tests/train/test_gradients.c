/* SPDX-License-Identifier: MIT */
/* Every gradient against central differences (gradient_check.h): all that moves, row-major and
 * channels last, alone and beside another reader of the same value. */
#include <stddef.h>
#include <stdint.h>
#include "train/gradient_check.h"

#define F(x)                                                                                       \
    ((union {                                                                                      \
         float f;                                                                                  \
         int32_t i;                                                                                \
     }){.f = (x)}                                                                                  \
         .i)
#define ATTRS(...)                                                                                 \
    .attr = {__VA_ARGS__}, .n_attr = sizeof((int32_t[][2]){__VA_ARGS__}) / sizeof(int32_t[2])
#define LIST1(slot, a)                                                                             \
    {slot, 1},                                                                                     \
    {                                                                                              \
        (slot) + 1, a                                                                              \
    }
#define LIST2(slot, a, b)                                                                          \
    {slot, 2}, {(slot) + 1, a},                                                                    \
    {                                                                                              \
        (slot) + 2, b                                                                              \
    }
#define LIST3(slot, a, b, c)                                                                       \
    {slot, 3}, {(slot) + 1, a}, {(slot) + 2, b},                                                   \
    {                                                                                              \
        (slot) + 3, c                                                                              \
    }
#define LIST4(slot, a, b, c, d)                                                                    \
    {slot, 4}, {(slot) + 1, a}, {(slot) + 2, b}, {(slot) + 3, c},                                  \
    {                                                                                              \
        (slot) + 4, d                                                                              \
    }
#define RUN(cases) check_cases(cases, sizeof cases / sizeof *cases)

TEST(convolutions)
{
    const struct op_case cases[] = {
        {"Conv", PITH_OP_CONV, .in = {"v2x3x5x6", "c4x3x3x3", "c4"},
         ATTRS(LIST4(ATTR_CONV_PADS, 1, 1, 1, 1))},
        {"Conv without bias, strides, uneven pads", PITH_OP_CONV, .in = {"v1x2x7x6", "c3x2x3x2"},
         ATTRS(LIST4(ATTR_CONV_PADS, 1, 0, 2, 1), LIST2(ATTR_CONV_STRIDES, 2, 3))},
        {"Conv dilated", PITH_OP_CONV, .in = {"v1x2x7x7", "c2x2x3x3", "c2"},
         ATTRS(LIST2(ATTR_CONV_DILATIONS, 2, 2))},
        {"Conv with bias", PITH_OP_CONV, .in = {"v1x9x5x6", "c10x9x3x3", "c10"},
         ATTRS(LIST4(ATTR_CONV_PADS, 1, 0, 1, 2), LIST2(ATTR_CONV_STRIDES, 2, 1))},
        {"Conv, no pads, no bias", PITH_OP_CONV, .in = {"v2x8x4x4", "c9x8x3x3"}},
        {"Conv grouped", PITH_OP_CONV, .in = {"v2x4x4x4", "c6x2x2x2", "c6"},
         ATTRS({ATTR_CONV_GROUP, 2})},
        {"Conv depthwise", PITH_OP_CONV, .in = {"v1x5x6x5", "c5x1x3x3", "c5"},
         ATTRS({ATTR_CONV_GROUP, 5}, LIST4(ATTR_CONV_PADS, 1, 1, 1, 1))},
        {"Conv 1-D", PITH_OP_CONV, .in = {"v2x3x8", "c4x3x3", "c4"},
         ATTRS(LIST1(ATTR_CONV_STRIDES, 2))},
        {"Conv 3-D", PITH_OP_CONV, .in = {"v1x2x4x3x4", "c2x2x2x2x2", "c2"}},
        {"ConvTranspose", PITH_OP_CONV_TRANSPOSE, .in = {"v1x3x4x4", "c3x2x3x3", "c2"}},
        {"ConvTranspose strided, padded, with more", PITH_OP_CONV_TRANSPOSE,
         .in = {"v2x2x3x3", "c2x3x3x3", "c3"},
         ATTRS(LIST2(ATTR_CONV_T_STRIDES, 2, 2), LIST4(ATTR_CONV_T_PADS, 1, 1, 1, 1),
               LIST2(ATTR_CONV_T_EXTRA, 1, 1))},
        {"ConvTranspose grouped, 1-D", PITH_OP_CONV_TRANSPOSE, .in = {"v1x4x5", "c4x2x2"},
         ATTRS({ATTR_CONV_T_GROUP, 2}, LIST1(ATTR_CONV_T_DILATIONS, 2))},
        {"Conv of a computed weight", PITH_OP_CONV, .in = {"v1x2x4x4", "v3x2x3x3", "v3"}},
    };
    RUN(cases);
}

TEST(products)
{
    const struct op_case cases[] = {
        {"MatMul", PITH_OP_MATMUL, .in = {"v3x5", "c5x4"}},
        {"MatMul by b^T", PITH_OP_MATMUL, .in = {"v2x3x5", "c4x5"},
         ATTRS({ATTR_MATMUL_TRANS_B, 1})},
        {"MatMul of batches", PITH_OP_MATMUL, .in = {"v2x2x3x4", "v2x2x4x3"}},
        {"MatMul, b repeated", PITH_OP_MATMUL, .in = {"v2x2x3x4", "v2x1x4x3"}},
        {"MatMul, a repeated", PITH_OP_MATMUL, .in = {"v3x4", "v2x4x3"}},
        {"MatMul of lists", PITH_OP_MATMUL, .in = {"v4", "v4"}},
        {"MatMul list by batch", PITH_OP_MATMUL, .in = {"v4", "v2x4x3"}},
        {"MatMul batch by list", PITH_OP_MATMUL, .in = {"v2x3x4", "v4"}},
        {"Gemm", PITH_OP_GEMM, .in = {"v3x5", "c4x5", "c4"}},
        {"Gemm a^T b, scaled", PITH_OP_GEMM, .in = {"v5x3", "c5x4", "c3x1"},
         ATTRS({ATTR_GEMM_TRANS_A, 1}, {ATTR_GEMM_TRANS_B, 0}, {ATTR_GEMM_ALPHA, F(0.5f)},
               {ATTR_GEMM_BETA, F(-2.0f)})},
        {"Gemm of values", PITH_OP_GEMM, .in = {"v3x5", "v5x4", "v3x4"},
         ATTRS({ATTR_GEMM_TRANS_B, 0})},
        {"Gemm a^T b^T", PITH_OP_GEMM, .in = {"v5x3", "v4x5"}, ATTRS({ATTR_GEMM_TRANS_A, 1})},
    };
    RUN(cases);
}

TEST(pools)
{
    const struct op_case cases[] = {
        {"MaxPool", PITH_OP_MAX_POOL, .in = {"v1x3x6x6@-2:2"},
         ATTRS(LIST2(ATTR_POOL_KERNEL, 2, 2), LIST2(ATTR_POOL_STRIDES, 2, 2))},
        {"MaxPool overlapping, padded", PITH_OP_MAX_POOL, .in = {"v1x2x5x5@-2:2"},
         ATTRS(LIST2(ATTR_POOL_KERNEL, 3, 3), LIST2(ATTR_POOL_STRIDES, 2, 2),
               LIST4(ATTR_POOL_PADS, 1, 1, 1, 1))},
        {"MaxPool 1-D", PITH_OP_MAX_POOL, .in = {"v2x3x8@-2:2"}, ATTRS(LIST1(ATTR_POOL_KERNEL, 3))},
        {"AveragePool", PITH_OP_AVERAGE_POOL, .in = {"v1x3x6x5"},
         ATTRS(LIST2(ATTR_POOL_KERNEL, 3, 2), LIST4(ATTR_POOL_PADS, 1, 0, 1, 1))},
        {"AveragePool counting pads", PITH_OP_AVERAGE_POOL, .in = {"v1x2x5x5"},
         ATTRS(LIST2(ATTR_POOL_KERNEL, 3, 3), LIST4(ATTR_POOL_PADS, 1, 1, 1, 1),
               {ATTR_POOL_INCLUDE_PAD, 1})},
        {"AveragePool to the ceiling", PITH_OP_AVERAGE_POOL, .in = {"v1x2x6x6"},
         ATTRS(LIST2(ATTR_POOL_KERNEL, 3, 3), LIST2(ATTR_POOL_STRIDES, 2, 2), {ATTR_POOL_CEIL, 1})},
    };
    RUN(cases);
}

TEST(global_pools)
{
    const struct op_case cases[] = {
        {"GlobalAveragePool", PITH_OP_GLOBAL_AVERAGE_POOL, .in = {"v2x3x4x4"}},
        {"GlobalMaxPool", PITH_OP_GLOBAL_MAX_POOL, .in = {"v2x3x3x4@-2:2"}},
        {"GlobalMaxPool 1-D", PITH_OP_GLOBAL_MAX_POOL, .in = {"v2x3x5@-2:2"}},
    };
    RUN(cases);
}

TEST(batch_norms)
{
    const struct op_case cases[] = {
        {"BatchNorm", PITH_OP_BATCH_NORM,
         .in = {"v2x3x2x3", "c3@0.5:2", "c3", "f3@-0.5:0.5", "f3@0.5:2"}, .bound = 6e-3f},
        {"BatchNorm of rows", PITH_OP_BATCH_NORM,
         .in = {"v3x18", "c18@0.5:2", "c18", "f18@-0.5:0.5", "f18@0.5:2"}, .bound = 6e-3f},
        {"BatchNorm 1-D", PITH_OP_BATCH_NORM,
         .in = {"v2x17x2", "v17@0.5:2", "v17", "f17@-0.5:0.5", "f17@0.5:2"}, .bound = 6e-3f},
    };
    RUN(cases);
}

TEST(softmaxes)
{
    const struct op_case cases[] = {
        {"Softmax", PITH_OP_SOFTMAX, .in = {"v3x5@-2:2"}, ATTRS({ATTR_SOFTMAX_AXIS, 1})},
        {"Softmax of channels", PITH_OP_SOFTMAX, .in = {"v2x3x4@-2:2"},
         ATTRS({ATTR_SOFTMAX_AXIS, 1})},
        {"Softmax flat", PITH_OP_SOFTMAX, .in = {"v2x3x4@-2:2"},
         ATTRS({ATTR_SOFTMAX_AXIS, 1}, {ATTR_SOFTMAX_FLAT, 1})},
        {"LogSoftmax", PITH_OP_LOG_SOFTMAX, .in = {"v2x3x4@-2:2"}, ATTRS({ATTR_SOFTMAX_AXIS, 1})},
    };
    RUN(cases);
}

TEST(joints)
{
    const struct op_case cases[] = {
        {"Concat of channels", PITH_OP_CONCAT, .in = {"v2x3x2x2", "v2x1x2x2", "v2x2x2x2"},
         ATTRS({ATTR_AXIS, 1})},
        {"Concat of rows", PITH_OP_CONCAT, .in = {"v2x3x2x2", "v2x3x1x2"}, ATTRS({ATTR_AXIS, 2})},
        {"Concat of columns", PITH_OP_CONCAT, .in = {"v2x3x2x2", "v2x3x2x3"},
         ATTRS({ATTR_AXIS, 3})},
        {"Concat of batches with a constant", PITH_OP_CONCAT, .in = {"v2x3x4", "f1x3x4"},
         ATTRS({ATTR_AXIS, 0})},
        {"Concat with itself", PITH_OP_CONCAT, .in = {"v2x3x4", "="}, ATTRS({ATTR_AXIS, 1})},
        {"Split channels", PITH_OP_SPLIT, 2, .in = {"v2x5x2x2"},
         ATTRS({ATTR_AXIS, 1}, LIST2(ATTR_SPLIT_SIZES, 2, 3))},
        {"Split rows", PITH_OP_SPLIT, 3, .in = {"v2x3x6"},
         ATTRS({ATTR_AXIS, 2}, LIST3(ATTR_SPLIT_SIZES, 1, 2, 3))},
    };
    RUN(cases);
}

TEST(moves)
{
    const struct op_case cases[] = {
        {"Slice", PITH_OP_SLICE, .in = {"v2x3x6"},
         ATTRS(LIST2(ATTR_SLICE_AXES, 1, 2), LIST2(ATTR_SLICE_STARTS, 1, 0),
               LIST2(ATTR_SLICE_ENDS, 3, 6), LIST2(ATTR_SLICE_STEPS, 1, 2))},
        {"Slice backwards", PITH_OP_SLICE, .in = {"v2x5"},
         ATTRS(LIST1(ATTR_SLICE_AXES, 1), LIST1(ATTR_SLICE_STARTS, 4),
               LIST1(ATTR_SLICE_ENDS, INT32_MIN), LIST1(ATTR_SLICE_STEPS, -1))},
        {"Pad by a number", PITH_OP_PAD, .in = {"v2x3x3"},
         ATTRS(LIST3(ATTR_PAD_BEGIN, 0, 1, 2), LIST3(ATTR_PAD_END, 1, 0, -1),
               {ATTR_PAD_VALUE, F(0.5f)})},
        {"Pad by reflection", PITH_OP_PAD, .in = {"v1x4x4"},
         ATTRS({ATTR_PAD_MODE, 1}, LIST3(ATTR_PAD_BEGIN, 0, 2, 1), LIST3(ATTR_PAD_END, 0, 1, 2))},
        {"Pad by the edge", PITH_OP_PAD, .in = {"v1x4x4"},
         ATTRS({ATTR_PAD_MODE, 2}, LIST3(ATTR_PAD_BEGIN, 0, 2, 1), LIST3(ATTR_PAD_END, 0, 1, 2))},
        {"Transpose", PITH_OP_TRANSPOSE, .in = {"v2x3x4"}, ATTRS(LIST3(ATTR_PERM, 2, 0, 1))},
        {"Tile", PITH_OP_TILE, .in = {"v2x1x3"}, ATTRS(LIST3(ATTR_TILE_REPEATS, 1, 4, 2))},
        {"DepthToSpace", PITH_OP_DEPTH_SPACE, .in = {"v1x8x2x2"},
         ATTRS({ATTR_DEPTH_SPACE_BLOCK, 2})},
        {"SpaceToDepth", PITH_OP_DEPTH_SPACE, .in = {"v1x2x4x4"},
         ATTRS({ATTR_DEPTH_SPACE_KIND, 2}, {ATTR_DEPTH_SPACE_BLOCK, 2})},
        {"Trilu", PITH_OP_TRILU, .in = {"v2x4x4"}, ATTRS({ATTR_TRILU_K, 1})},
        {"Gather", PITH_OP_GATHER, .in = {"v5x3", "i2x4@-5:4"}},
        {"Gather of a table", PITH_OP_GATHER, .in = {"c5x3", "j7@0:4"}},
        {"Gather along an axis", PITH_OP_GATHER, .in = {"v2x4x3", "i5@0:3"},
         ATTRS({ATTR_GATHER_AXIS, 1})},
        {"GatherElements", PITH_OP_GATHER, .in = {"v2x4x3", "i2x2x3@0:3"},
         ATTRS({ATTR_GATHER_KIND, 1}, {ATTR_GATHER_AXIS, 1})},
        {"GatherND", PITH_OP_GATHER, .in = {"v3x4x2", "i5x2@0:2"}, ATTRS({ATTR_GATHER_KIND, 2})},
    };
    RUN(cases);
}

#define REDUCE(name, kind, range)                                                                  \
    {                                                                                              \
        name, PITH_OP_REDUCE, .in = {"v2x3x4@" range},                                             \
                              ATTRS({ATTR_KIND, kind}, LIST2(ATTR_REDUCE_KIND_AXES, 0, 2))         \
    }

TEST(reductions)
{
    const struct op_case cases[] = {
        {"ReduceMean", PITH_OP_REDUCE_MEAN, .in = {"v2x3x2x2"}, ATTRS(LIST2(ATTR_AXES, 2, 3))},
        {"ReduceMean of all", PITH_OP_REDUCE_MEAN, .in = {"v2x3x4"}},
        {"ReduceMean of channels, dropped", PITH_OP_REDUCE_MEAN, .in = {"v2x3x4"},
         ATTRS(LIST1(ATTR_AXES, 1), {ATTR_REDUCE_KEEP, 0})},
        REDUCE("ReduceSum", REDUCE_SUM, "-1:1"),
        REDUCE("ReduceMax", REDUCE_MAX, "-1:1"),
        REDUCE("ReduceMin", REDUCE_MIN, "-1:1"),
        REDUCE("ReduceProd", REDUCE_PROD, "-1.5:1.5"),
        REDUCE("ReduceL1", REDUCE_L1, "-1:1"),
        REDUCE("ReduceL2", REDUCE_L2, "-1:1"),
        REDUCE("ReduceLogSum", REDUCE_LOG_SUM, "0.5:2"),
        REDUCE("ReduceLogSumExp", REDUCE_LOG_SUM_EXP, "-1:1"),
        REDUCE("ReduceSumSquare", REDUCE_SUM_SQUARE, "-1:1"),
    };
    RUN(cases);
}

TEST(normalisations)
{
    const struct op_case cases[] = {
        {"LayerNorm", PITH_OP_LAYER_NORM, .in = {"v2x3x8", "c8@0.5:2", "c8"},
         ATTRS({ATTR_LAYER_NORM_AXIS, 2})},
        {"LayerNorm of two axes, no bias", PITH_OP_LAYER_NORM, .in = {"v2x3x4", "v3x4@0.5:2"},
         ATTRS({ATTR_LAYER_NORM_AXIS, 1})},
        {"LayerNorm about 0", PITH_OP_LAYER_NORM, .in = {"v2x3x8", "c8@0.5:2"},
         ATTRS({ATTR_LAYER_NORM_AXIS, 2}, {ATTR_LAYER_NORM_ABOUT_ZERO, 1})},
        {"InstanceNorm", PITH_OP_GROUP_NORM, .in = {"v2x3x4x2", "c3@0.5:2", "c3"}},
        {"GroupNorm", PITH_OP_GROUP_NORM, .in = {"v2x4x3", "c4@0.5:2", "c4"},
         ATTRS({ATTR_GROUP_NORM_GROUPS, 2})},
        {"GroupNorm, a scale a group", PITH_OP_GROUP_NORM, .in = {"v2x4x3", "c2@0.5:2", "c2"},
         ATTRS({ATTR_GROUP_NORM_GROUPS, 2}, {ATTR_GROUP_NORM_PER_GROUP, 1})},
        {"MeanVariance", PITH_OP_MEAN_VARIANCE, .in = {"v2x3x4"}, ATTRS(LIST2(ATTR_AXES, 0, 2))},
        {"LRN", PITH_OP_LRN, .in = {"v2x5x3@-2:2"},
         ATTRS({ATTR_LRN_SIZE, 3}, {ATTR_LRN_ALPHA, F(0.8f)})},
        {"LRN of an even window", PITH_OP_LRN, .in = {"v1x5x2@-2:2"},
         ATTRS({ATTR_LRN_SIZE, 4}, {ATTR_LRN_ALPHA, F(0.8f)}, {ATTR_LRN_BIAS, F(2.0f)})},
        {"LpNormalization", PITH_OP_ALONG_AXIS, .in = {"v2x4x3"},
         ATTRS({ATTR_KIND, ALONG_LP_NORMALIZATION}, {ATTR_ALONG_AXIS, 1})},
        {"LpNormalization of sums", PITH_OP_ALONG_AXIS, .in = {"v2x4x3"},
         ATTRS({ATTR_KIND, ALONG_LP_NORMALIZATION}, {ATTR_ALONG_AXIS, 1}, {ATTR_ALONG_P, 1})},
        {"CumSum", PITH_OP_ALONG_AXIS, .in = {"v2x4x3"},
         ATTRS({ATTR_KIND, ALONG_CUM_SUM}, {ATTR_ALONG_AXIS, 1})},
        {"CumSum backwards without itself", PITH_OP_ALONG_AXIS, .in = {"v2x4x3"},
         ATTRS({ATTR_KIND, ALONG_CUM_SUM}, {ATTR_ALONG_AXIS, 2}, {ATTR_ALONG_REVERSE, 1},
               {ATTR_ALONG_EXCLUSIVE, 1})},
    };
    RUN(cases);
}

TEST(resizes)
{
    const struct op_case cases[] = {
        {"Resize nearest", PITH_OP_RESIZE, .in = {"v1x2x3x3"},
         ATTRS(LIST4(ATTR_RESIZE_DIMS, 0, 0, 6, 6), {ATTR_RESIZE_COORD, 1},
               {ATTR_RESIZE_NEAREST, 2})},
        {"Resize linear", PITH_OP_RESIZE, .in = {"v1x2x3x4"},
         ATTRS(LIST4(ATTR_RESIZE_DIMS, 0, 0, 7, 6), {ATTR_RESIZE_MODE, 1})},
        {"Resize linear, smaller, by corners", PITH_OP_RESIZE, .in = {"v1x2x7x5"},
         ATTRS(LIST4(ATTR_RESIZE_DIMS, 0, 0, 3, 4), {ATTR_RESIZE_MODE, 1}, {ATTR_RESIZE_COORD, 2})},
        {"Resize cubic", PITH_OP_RESIZE, .in = {"v1x2x4x5"},
         ATTRS(LIST4(ATTR_RESIZE_DIMS, 0, 0, 7, 9), {ATTR_RESIZE_MODE, 2},
               LIST4(ATTR_RESIZE_SCALES, F(1.0f), F(1.0f), F(1.75f), F(1.8f)))},
    };
    RUN(cases);
}

TEST(recurrences)
{
    const struct op_case cases[] = {
        {"RNN", PITH_OP_RECURRENT, .in = {"v4x2x3", "c3x3", "c3"},
         ATTRS({ATTR_KIND, RECURRENT_RNN})},
        {"RNN of relu, reverse, from a state", PITH_OP_RECURRENT, 2,
         .in = {"v4x2x3@0.1:1", "c3x3@0.1:0.5", "c3@0.1:1", "-", "v2x3@0.1:1"},
         ATTRS({ATTR_KIND, RECURRENT_RNN}, {ATTR_RECURRENT_REVERSE, 1},
               LIST1(ATTR_RECURRENT_ACT, RECURRENT_RELU))},
        {"GRU", PITH_OP_RECURRENT, 2, .in = {"v4x2x9", "c9x3", "c9", "-", "v2x3"},
         ATTRS({ATTR_KIND, RECURRENT_GRU})},
        {"GRU, linear before reset", PITH_OP_RECURRENT, 2,
         .in = {"v4x2x9", "c9x3", "c9", "-", "v2x3"},
         ATTRS({ATTR_KIND, RECURRENT_GRU}, {ATTR_RECURRENT_LINEAR_BEFORE_RESET, 1})},
        {"GRU of some lengths, reverse", PITH_OP_RECURRENT, 2,
         .in = {"v4x3x6", "c6x2", "c6", "j3@0:4", "v3x2"},
         ATTRS({ATTR_KIND, RECURRENT_GRU}, {ATTR_RECURRENT_REVERSE, 1})},
        {"LSTM", PITH_OP_RECURRENT, 3, .in = {"v4x2x12", "c12x3", "c12", "-", "v2x3", "v2x3"},
         ATTRS({ATTR_KIND, RECURRENT_LSTM})},
        {"LSTM of some lengths, peepholes", PITH_OP_RECURRENT, 3,
         .in = {"v4x3x8", "c8x2", "-", "j3@1:4", "v3x2", "v3x2", "c6"},
         ATTRS({ATTR_KIND, RECURRENT_LSTM})},
        {"LSTM, coupled gates, other activations", PITH_OP_RECURRENT, 1,
         .in = {"v3x2x12", "c12x3", "c12"},
         ATTRS({ATTR_KIND, RECURRENT_LSTM}, {ATTR_RECURRENT_INPUT_FORGET, 1},
               LIST3(ATTR_RECURRENT_ACT, RECURRENT_SOFTSIGN, RECURRENT_ELU, RECURRENT_SCALED_TANH),
               LIST3(ATTR_RECURRENT_ALPHA, F(0.0f), F(0.7f), F(1.5f)),
               LIST3(ATTR_RECURRENT_BETA, F(0.0f), F(0.0f), F(0.6f)))},
        {"RNN of softplus", PITH_OP_RECURRENT, .in = {"v3x2x3", "c3x3"},
         ATTRS({ATTR_KIND, RECURRENT_RNN}, LIST1(ATTR_RECURRENT_ACT, RECURRENT_SOFTPLUS))},
        {"RNN of leaky relu", PITH_OP_RECURRENT, .in = {"v3x2x3@0.2:1", "c3x3@0.1:0.5"},
         ATTRS({ATTR_KIND, RECURRENT_RNN}, LIST1(ATTR_RECURRENT_ACT, RECURRENT_LEAKY_RELU),
               LIST1(ATTR_RECURRENT_ALPHA, F(0.2f)))},
    };
    RUN(cases);
}

TEST(attentions)
{
    const struct op_case cases[] = {
        {"Attention", PITH_OP_ATTENTION, .in = {"v1x2x3x4", "v1x2x5x4", "v1x2x5x3"},
         ATTRS({ATTR_ATTENTION_SCALE, F(0.7f)})},
        {"Attention of rows first, added mask", PITH_OP_ATTENTION,
         .in = {"v2x3x2x4", "v2x5x2x4", "v2x5x2x3", "v1x2x3x5"},
         ATTRS({ATTR_ATTENTION_SCALE, F(0.7f)}, {ATTR_ATTENTION_LAYOUT, 15})},
        {"Attention with what is filled", PITH_OP_ATTENTION,
         .in = {"v1x2x3x4", "v1x2x5x4", "v1x2x5x3", "b3x5"},
         ATTRS({ATTR_ATTENTION_FILL, F(-1.0f)})},
        {"Attention of shared keys, a mask for every other sample", PITH_OP_ATTENTION,
         .in = {"v4x2x4x3", "v4x5x2x3", "v4x2x5x3", "v2x1x2x5"},
         ATTRS({ATTR_ATTENTION_SCALE, F(0.7f)}, {ATTR_ATTENTION_LAYOUT, 3})},
    };
    RUN(cases);
}

TEST(activations)
{
    const struct op_case cases[] = {
        {"Relu", PITH_OP_RELU, .in = {"v2x3x4"}},
        {"LeakyRelu", PITH_OP_LEAKY_RELU, .in = {"v2x3x4"}, ATTRS({ATTR_ALPHA, F(0.2f)})},
        {"Clip", PITH_OP_CLIP, .in = {"v2x3x4"},
         ATTRS({ATTR_CLIP_MIN, F(-0.5f)}, {ATTR_CLIP_MAX, F(0.6f)}), .kinks = {-0.5f, 0.6f}},
        {"Sigmoid", PITH_OP_SIGMOID, .in = {"v2x3x4@-4:4"}},
        {"Tanh", PITH_OP_TANH, .in = {"v2x3x4@-3:3"}},
        {"HardSigmoid", PITH_OP_HARD_SIGMOID, .in = {"v2x3x4@-3:3"}, .kinks = {-2.5f, 2.5f}},
        {"HardSwish", PITH_OP_HARD_SWISH, .in = {"v2x3x4@-4:4"}, .kinks = {-3, 3}},
    };
    RUN(cases);
}

#define UNARY(name, kind, range)                                                                   \
    {                                                                                              \
        name, PITH_OP_UNARY, .in = {"v2x3x4@" range}, ATTRS({ATTR_KIND, kind})                     \
    }
#define UNARY_ALPHA(name, kind, range, a)                                                          \
    {                                                                                              \
        name, PITH_OP_UNARY,                                                                       \
            .in = {"v2x3x4@" range},                                                               \
            ATTRS({ATTR_KIND, kind}, {ATTR_UNARY_ALPHA, F(a)}, {ATTR_UNARY_GAMMA, F(1.3f)}),       \
            .kinks = {                                                                             \
                a                                                                                  \
            }                                                                                      \
    }

TEST(functions)
{
    const struct op_case cases[] = {
        UNARY("Sqrt", UNARY_SQRT, "0.3:3"),
        UNARY("Exp", UNARY_EXP, "-1:1"),
        UNARY("Log", UNARY_LOG, "0.3:3"),
        UNARY("Neg", UNARY_NEG, "-1:1"),
        UNARY("Abs", UNARY_ABS, "-1:1"),
        UNARY("Reciprocal", UNARY_RECIPROCAL, "0.5:3"),
        UNARY("Erf", UNARY_ERF, "-2:2"),
        UNARY("Sin", UNARY_SIN, "-3:3"),
        UNARY("Cos", UNARY_COS, "-3:3"),
        UNARY("Atan", UNARY_ATAN, "-3:3"),
        UNARY("Asinh", UNARY_ASINH, "-3:3"),
        UNARY("Atanh", UNARY_ATANH, "-0.8:0.8"),
        UNARY("Gelu", UNARY_GELU, "-4:4"),
        UNARY("Gelu by tanh", UNARY_GELU_TANH, "-4:4"),
        UNARY("Mish", UNARY_MISH, "-4:4"),
        UNARY("Softplus", UNARY_SOFTPLUS, "-4:4"),
        UNARY("Softsign", UNARY_SOFTSIGN, "-3:3"),
        UNARY_ALPHA("Elu", UNARY_ELU, "-3:3", 0.7f),
        UNARY_ALPHA("Selu", UNARY_SELU, "-3:3", 0.7f),
        UNARY_ALPHA("Celu", UNARY_CELU, "-3:3", 0.7f),
        UNARY_ALPHA("ThresholdedRelu", UNARY_THRESHOLDED_RELU, "-3:3", 0.7f),
    };
    RUN(cases);
}

TEST(arithmetic)
{
    const struct op_case cases[] = {
        {"Add", PITH_OP_ADD, .in = {"v2x3x2x2", "v2x3x2x2"}},
        {"Add to itself", PITH_OP_ADD, .in = {"v2x3x2x2", "="}},
        {"Add a channel's bias", PITH_OP_ADD, .in = {"v2x3x2x2", "c3x1x1"}},
        {"Add broadcast both ways", PITH_OP_ADD, .in = {"v2x1x4", "v3x1"}},
        {"Sub", PITH_OP_SUB, .in = {"v2x3x2x2", "v1x3x1x2"}},
        {"Sub first repeated", PITH_OP_SUB, .in = {"v3x1x1", "v2x3x2x2"}},
        {"Mul", PITH_OP_MUL, .in = {"v2x3x2x2", "v2x3x2x2"}},
        {"Mul by itself", PITH_OP_MUL, .in = {"v2x3x4", "="}},
        {"Mul by a channel's scale", PITH_OP_MUL, .in = {"v2x3x2x2", "v2x3x1x1"}},
        {"Mul, scale first", PITH_OP_MUL, .in = {"v2x3x1x1", "v2x3x2x2"}},
        {"Mul by a number", PITH_OP_MUL, .in = {"v2x3x2x2", "f1@2:3"}},
        {"Div", PITH_OP_DIV, .in = {"v2x3x4", "v2x3x4@1:2"}},
        {"Div by rows", PITH_OP_DIV, .in = {"v2x3x4", "v3x1@-2:-1"}},
        {"Pow", PITH_OP_POWER, .in = {"v2x3x4@0.5:2", "v2x3x4@1:3"}},
        {"Pow by a number", PITH_OP_POWER, .in = {"v2x3x4@0.5:2", "f1@2:3"}},
        {"PRelu", PITH_OP_PRELU, .in = {"v2x3x2x2", "c3x1x1"}},
        {"PRelu of one slope", PITH_OP_PRELU, .in = {"v2x3x4", "c1"}},
        {"Where", PITH_OP_WHERE, .in = {"b2x3x4", "v2x3x4", "v1x1x4"}},
        {"Where by rows", PITH_OP_WHERE, .in = {"b3x1", "v2x3x4", "v2x3x4"}},
        {"Min", PITH_OP_VARIADIC, .in = {"v2x3x4@-3:3", "v2x3x4@-2.5:2.5", "v3x1@-2:2"},
         ATTRS({ATTR_KIND, VARIADIC_MIN})},
        {"Max of a value twice", PITH_OP_VARIADIC, .in = {"v2x3x4", "="},
         ATTRS({ATTR_KIND, VARIADIC_MAX})},
        {"Sum", PITH_OP_VARIADIC, .in = {"v2x3x4", "v1x3x1", "v2x3x4"},
         ATTRS({ATTR_KIND, VARIADIC_SUM})},
        {"Mean", PITH_OP_VARIADIC, .in = {"v2x3x4", "v4"}, ATTRS({ATTR_KIND, VARIADIC_MEAN})},
    };
    RUN(cases);
}

TEST(views)
{
    const struct op_case cases[] = {
        {"Flatten", PITH_OP_FLATTEN, .in = {"v2x3x4x2"}},
        {"Reshape", PITH_OP_RESHAPE, .in = {"v2x3x4"}, ATTRS(LIST2(ATTR_RESHAPE_DIMS, 4, -1))},
        {"Squeeze", PITH_OP_SQUEEZE, .in = {"v2x1x4"}, ATTRS(LIST1(ATTR_AXES, 1))},
        {"Unsqueeze", PITH_OP_UNSQUEEZE, .in = {"v2x3x4"}, ATTRS(LIST1(ATTR_AXES, 2))},
        {"Identity", PITH_OP_IDENTITY, .in = {"v2x3x4"}},
        {"Cast", PITH_OP_CAST, .in = {"v2x3x4"}, ATTRS({ATTR_CAST_TO, PITH_F32})},
    };
    RUN(cases);
}

RUN_TESTS
