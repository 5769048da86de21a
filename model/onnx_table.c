/* SPDX-License-Identifier: MIT */
/* onnx_table.c - the ONNX operators pith takes, one row each. To add one: a row here and, unless a
 * lowering of its family fits, a function in onnx_<family>.c. */
#include "onnx.h"

static const struct onnx_row rows[] = {
    {"Abs", PITH_OP_UNARY, pith_lower_unary},
    {"Add", PITH_OP_ADD, pith_lower_plain},
    {"And", PITH_OP_COMPARE, pith_lower_kind},
    {"ArgMax", PITH_OP_ARG, pith_lower_arg},
    {"ArgMin", PITH_OP_ARG, pith_lower_arg},
    {"AveragePool", PITH_OP_AVERAGE_POOL, pith_lower_pool},
    {"BatchNormalization", PITH_OP_BATCH_NORM, pith_lower_batch_norm},
    {"Cast", PITH_OP_CAST, pith_lower_cast},
    {"Ceil", PITH_OP_UNARY, pith_lower_unary},
    {"Celu", PITH_OP_UNARY, pith_lower_unary},
    {"Clip", PITH_OP_CLIP, pith_lower_clip},
    {"Concat", PITH_OP_CONCAT, pith_lower_concat},
    {"Constant", PITH_OP_IDENTITY, pith_lower_constant},
    {"ConstantOfShape", PITH_OP_IDENTITY, pith_lower_constant_of_shape},
    {"Conv", PITH_OP_CONV, pith_lower_conv},
    {"ConvTranspose", PITH_OP_CONV_TRANSPOSE, pith_lower_conv_transpose},
    {"Cos", PITH_OP_UNARY, pith_lower_unary},
    {"CumSum", PITH_OP_ALONG_AXIS, pith_lower_cum_sum},
    {"DepthToSpace", PITH_OP_DEPTH_SPACE, pith_lower_depth_to_space},
    {"Div", PITH_OP_DIV, pith_lower_plain},
    {"Dropout", PITH_OP_IDENTITY, pith_lower_identity},
    {"Einsum", PITH_OP_MATMUL, pith_lower_einsum},
    {"Elu", PITH_OP_UNARY, pith_lower_unary},
    {"Equal", PITH_OP_COMPARE, pith_lower_kind},
    {"Erf", PITH_OP_UNARY, pith_lower_unary},
    {"Exp", PITH_OP_UNARY, pith_lower_unary},
    {"Expand", PITH_OP_TILE, pith_lower_expand},
    {"EyeLike", PITH_OP_IDENTITY, pith_lower_eye_like},
    {"Flatten", PITH_OP_FLATTEN, pith_lower_flatten},
    {"Floor", PITH_OP_UNARY, pith_lower_unary},
    {"Gather", PITH_OP_GATHER, pith_lower_gather},
    {"GatherElements", PITH_OP_GATHER, pith_lower_gather_elements},
    {"GatherND", PITH_OP_GATHER, pith_lower_gather_nd},
    {"Gelu", PITH_OP_UNARY, pith_lower_unary},
    {"Gemm", PITH_OP_GEMM, pith_lower_gemm},
    {"GlobalAveragePool", PITH_OP_GLOBAL_AVERAGE_POOL, pith_lower_plain},
    {"GlobalMaxPool", PITH_OP_GLOBAL_MAX_POOL, pith_lower_plain},
    {"Greater", PITH_OP_COMPARE, pith_lower_kind},
    {"GreaterOrEqual", PITH_OP_COMPARE, pith_lower_kind},
    {"GroupNormalization", PITH_OP_GROUP_NORM, pith_lower_group_norm},
    {"HardSigmoid", PITH_OP_HARD_SIGMOID, pith_lower_alpha},
    {"HardSwish", PITH_OP_HARD_SWISH, pith_lower_plain},
    {"Hardmax", PITH_OP_ALONG_AXIS, pith_lower_hardmax},
    {"Identity", PITH_OP_IDENTITY, pith_lower_identity},
    {"InstanceNormalization", PITH_OP_GROUP_NORM, pith_lower_group_norm},
    {"IsNaN", PITH_OP_COMPARE, pith_lower_is_nan},
    {"LRN", PITH_OP_LRN, pith_lower_lrn},
    {"LayerNormalization", PITH_OP_LAYER_NORM, pith_lower_layer_norm},
    {"LeakyRelu", PITH_OP_LEAKY_RELU, pith_lower_alpha},
    {"Less", PITH_OP_COMPARE, pith_lower_kind},
    {"LessOrEqual", PITH_OP_COMPARE, pith_lower_kind},
    {"Log", PITH_OP_UNARY, pith_lower_unary},
    {"LogSoftmax", PITH_OP_LOG_SOFTMAX, pith_lower_softmax},
    {"LpNormalization", PITH_OP_ALONG_AXIS, pith_lower_lp_norm},
    {"MatMul", PITH_OP_MATMUL, pith_lower_matmul},
    {"Max", PITH_OP_VARIADIC, pith_lower_kind},
    {"MaxPool", PITH_OP_MAX_POOL, pith_lower_pool},
    {"Mean", PITH_OP_VARIADIC, pith_lower_kind},
    {"MeanVarianceNormalization", PITH_OP_MEAN_VARIANCE, pith_lower_mean_variance},
    {"Min", PITH_OP_VARIADIC, pith_lower_kind},
    {"Mish", PITH_OP_UNARY, pith_lower_unary},
    {"Mod", PITH_OP_MOD, pith_lower_mod},
    {"Mul", PITH_OP_MUL, pith_lower_plain},
    {"Neg", PITH_OP_UNARY, pith_lower_unary},
    {"Not", PITH_OP_UNARY, pith_lower_unary},
    {"OneHot", PITH_OP_ONE_HOT, pith_lower_one_hot},
    {"Or", PITH_OP_COMPARE, pith_lower_kind},
    {"PRelu", PITH_OP_PRELU, pith_lower_plain},
    {"Pad", PITH_OP_PAD, pith_lower_pad},
    {"Pow", PITH_OP_POWER, pith_lower_plain},
    {"Range", PITH_OP_IDENTITY, pith_lower_range},
    {"Reciprocal", PITH_OP_UNARY, pith_lower_unary},
    {"ReduceL1", PITH_OP_REDUCE, pith_lower_reduce},
    {"ReduceL2", PITH_OP_REDUCE, pith_lower_reduce},
    {"ReduceLogSum", PITH_OP_REDUCE, pith_lower_reduce},
    {"ReduceLogSumExp", PITH_OP_REDUCE, pith_lower_reduce},
    {"ReduceMax", PITH_OP_REDUCE, pith_lower_reduce},
    {"ReduceMean", PITH_OP_REDUCE_MEAN, pith_lower_reduce_mean},
    {"ReduceMin", PITH_OP_REDUCE, pith_lower_reduce},
    {"ReduceProd", PITH_OP_REDUCE, pith_lower_reduce},
    {"ReduceSum", PITH_OP_REDUCE, pith_lower_reduce},
    {"ReduceSumSquare", PITH_OP_REDUCE, pith_lower_reduce},
    {"Relu", PITH_OP_RELU, pith_lower_plain},
    {"Reshape", PITH_OP_RESHAPE, pith_lower_reshape},
    {"Resize", PITH_OP_RESIZE, pith_lower_resize},
    {"Round", PITH_OP_UNARY, pith_lower_unary},
    {"Scatter", PITH_OP_SCATTER, pith_lower_scatter_elements},
    {"ScatterElements", PITH_OP_SCATTER, pith_lower_scatter_elements},
    {"ScatterND", PITH_OP_SCATTER, pith_lower_scatter_nd},
    {"Selu", PITH_OP_UNARY, pith_lower_unary},
    {"Shape", PITH_OP_IDENTITY, pith_lower_shape},
    {"Sigmoid", PITH_OP_SIGMOID, pith_lower_plain},
    {"Sign", PITH_OP_UNARY, pith_lower_unary},
    {"Sin", PITH_OP_UNARY, pith_lower_unary},
    {"Size", PITH_OP_IDENTITY, pith_lower_size},
    {"Slice", PITH_OP_SLICE, pith_lower_slice},
    {"Softmax", PITH_OP_SOFTMAX, pith_lower_softmax},
    {"Softplus", PITH_OP_UNARY, pith_lower_unary},
    {"Softsign", PITH_OP_UNARY, pith_lower_unary},
    {"SpaceToDepth", PITH_OP_DEPTH_SPACE, pith_lower_space_to_depth},
    {"Split", PITH_OP_SPLIT, pith_lower_split},
    {"Sqrt", PITH_OP_UNARY, pith_lower_unary},
    {"Squeeze", PITH_OP_SQUEEZE, pith_lower_squeeze},
    {"Sub", PITH_OP_SUB, pith_lower_plain},
    {"Sum", PITH_OP_VARIADIC, pith_lower_kind},
    {"Tanh", PITH_OP_TANH, pith_lower_plain},
    {"ThresholdedRelu", PITH_OP_UNARY, pith_lower_unary},
    {"Tile", PITH_OP_TILE, pith_lower_tile},
    {"TopK", PITH_OP_TOP_K, pith_lower_top_k},
    {"Transpose", PITH_OP_TRANSPOSE, pith_lower_transpose},
    {"Trilu", PITH_OP_TRILU, pith_lower_trilu},
    {"Unsqueeze", PITH_OP_UNSQUEEZE, pith_lower_unsqueeze},
    {"Upsample", PITH_OP_RESIZE, pith_lower_resize},
    {"Where", PITH_OP_WHERE, pith_lower_plain},
    {"Xor", PITH_OP_COMPARE, pith_lower_kind},
};

const struct onnx_row *pith_onnx_row(const Onnx__NodeProto *node)
{
    if (node->domain && *node->domain && strcmp(node->domain, "ai.onnx") != 0)
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].op_type, node->op_type) == 0)
            return &rows[i];
    return NULL;
}

const char *pith_onnx_op_name(uint32_t i)
{
    return i < sizeof rows / sizeof *rows ? rows[i].op_type : NULL;
}

static const struct hint {
    const char *op_type, *hint;
} hints[] = {
    {"DequantizeLinear", "import the float network instead"},
    {"If", "freeze its condition with --set-input"},
    {"NonMaxSuppression", "cut the graph before it with --outputs"},
    {"NonZero", "cut the graph before it with --outputs"},
    {"QuantizeLinear", "import the float network instead"},
};

const char *pith_onnx_hint(const char *op_type)
{
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strcmp(hints[i].op_type, op_type) == 0)
            return hints[i].hint;
    return "rewrite it with supported operators, or cut the graph before it with --outputs";
}

/* Inputs as they are, no attributes. */
enum pith_status pith_lower_plain(struct onnx_lower *l)
{
    return pith_onnx_single_output(l);
}
