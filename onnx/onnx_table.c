/* SPDX-License-Identifier: MIT */
/* onnx_table.c - the ONNX operators pith takes, one row each. To add one: a row here and, unless a
 * lowering of its family fits, a function in onnx_<family>.c. */
#include "onnx.h"

static const struct onnx_row rows[] = {
    {"Abs", PITH_OP_UNARY, pith_lower_unary},
    {"Acos", PITH_OP_UNARY, pith_lower_formula},
    {"Acosh", PITH_OP_UNARY, pith_lower_formula},
    {"Add", PITH_OP_ADD, pith_lower_plain},
    {"And", PITH_OP_COMPARE, pith_lower_kind},
    {"ArgMax", PITH_OP_ARG, pith_lower_arg},
    {"ArgMin", PITH_OP_ARG, pith_lower_arg},
    {"Attention", PITH_OP_MATMUL, pith_lower_attention},
    {"Asin", PITH_OP_UNARY, pith_lower_formula},
    {"Asinh", PITH_OP_UNARY, pith_lower_unary},
    {"Atan", PITH_OP_UNARY, pith_lower_unary},
    {"Atanh", PITH_OP_UNARY, pith_lower_unary},
    {"AveragePool", PITH_OP_AVERAGE_POOL, pith_lower_pool},
    {"BatchNormalization", PITH_OP_BATCH_NORM, pith_lower_batch_norm},
    {"Cast", PITH_OP_CAST, pith_lower_cast},
    {"CastLike", PITH_OP_CAST, pith_lower_cast_like},
    {"Ceil", PITH_OP_UNARY, pith_lower_unary},
    {"Celu", PITH_OP_UNARY, pith_lower_unary},
    {"Clip", PITH_OP_CLIP, pith_lower_clip},
    {"Concat", PITH_OP_CONCAT, pith_lower_concat},
    {"Constant", PITH_OP_IDENTITY, pith_lower_constant},
    {"ConstantOfShape", PITH_OP_IDENTITY, pith_lower_constant_of_shape},
    {"Conv", PITH_OP_CONV, pith_lower_conv},
    {"ConvInteger", PITH_OP_CONV_INTEGER, pith_lower_conv},
    {"ConvTranspose", PITH_OP_CONV_TRANSPOSE, pith_lower_conv_transpose},
    {"Cos", PITH_OP_UNARY, pith_lower_unary},
    {"Cosh", PITH_OP_UNARY, pith_lower_formula},
    {"CumSum", PITH_OP_ALONG_AXIS, pith_lower_cum_sum},
    {"DepthToSpace", PITH_OP_DEPTH_SPACE, pith_lower_depth_to_space},
    {"DequantizeLinear", PITH_OP_DEQUANTIZE, pith_lower_dequantize},
    {"Div", PITH_OP_DIV, pith_lower_plain},
    {"Dropout", PITH_OP_IDENTITY, pith_lower_dropout},
    {"DynamicQuantizeLinear", PITH_OP_DYNAMIC_QUANTIZE, pith_lower_dynamic_quantize},
    {"Einsum", PITH_OP_MATMUL, pith_lower_einsum},
    {"Elu", PITH_OP_UNARY, pith_lower_unary},
    {"Equal", PITH_OP_COMPARE, pith_lower_kind},
    {"Erf", PITH_OP_UNARY, pith_lower_unary},
    {"Exp", PITH_OP_UNARY, pith_lower_unary},
    {"Expand", PITH_OP_TILE, pith_lower_expand},
    {"EyeLike", PITH_OP_IDENTITY, pith_lower_eye_like},
    {"Flatten", PITH_OP_FLATTEN, pith_lower_flatten},
    {"Floor", PITH_OP_UNARY, pith_lower_unary},
    {"GRU", PITH_OP_RECURRENT, pith_lower_recurrent},
    {"Gather", PITH_OP_GATHER, pith_lower_gather},
    {"GatherElements", PITH_OP_GATHER, pith_lower_gather_elements},
    {"GatherND", PITH_OP_GATHER, pith_lower_gather_nd},
    {"Gelu", PITH_OP_UNARY, pith_lower_unary},
    {"Gemm", PITH_OP_GEMM, pith_lower_gemm},
    {"GlobalAveragePool", PITH_OP_GLOBAL_AVERAGE_POOL, pith_lower_plain},
    {"GlobalLpPool", PITH_OP_LP_POOL, pith_lower_global_lp_pool},
    {"GlobalMaxPool", PITH_OP_GLOBAL_MAX_POOL, pith_lower_plain},
    {"Greater", PITH_OP_COMPARE, pith_lower_kind},
    {"GreaterOrEqual", PITH_OP_COMPARE, pith_lower_kind},
    {"GroupNormalization", PITH_OP_GROUP_NORM, pith_lower_group_norm},
    {"HardSigmoid", PITH_OP_HARD_SIGMOID, pith_lower_alpha},
    {"HardSwish", PITH_OP_HARD_SWISH, pith_lower_plain},
    {"Hardmax", PITH_OP_ALONG_AXIS, pith_lower_hardmax},
    {"Identity", PITH_OP_IDENTITY, pith_lower_identity},
    {"If", PITH_OP_BRANCH, pith_lower_if},
    {"InstanceNormalization", PITH_OP_GROUP_NORM, pith_lower_group_norm},
    {"IsInf", PITH_OP_COMPARE, pith_lower_is_inf},
    {"IsNaN", PITH_OP_COMPARE, pith_lower_is_nan},
    {"LRN", PITH_OP_LRN, pith_lower_lrn},
    {"LSTM", PITH_OP_RECURRENT, pith_lower_recurrent},
    {"LayerNormalization", PITH_OP_LAYER_NORM, pith_lower_layer_norm},
    {"LeakyRelu", PITH_OP_LEAKY_RELU, pith_lower_alpha},
    {"Less", PITH_OP_COMPARE, pith_lower_kind},
    {"LessOrEqual", PITH_OP_COMPARE, pith_lower_kind},
    {"Log", PITH_OP_UNARY, pith_lower_unary},
    {"LogSoftmax", PITH_OP_LOG_SOFTMAX, pith_lower_softmax},
    {"Loop", PITH_OP_LOOP, pith_lower_loop},
    {"LpNormalization", PITH_OP_ALONG_AXIS, pith_lower_lp_norm},
    {"LpPool", PITH_OP_LP_POOL, pith_lower_pool},
    {"MatMul", PITH_OP_MATMUL, pith_lower_matmul},
    {"MatMulInteger", PITH_OP_MATMUL_INTEGER, pith_lower_plain},
    {"Max", PITH_OP_VARIADIC, pith_lower_kind},
    {"MaxPool", PITH_OP_MAX_POOL, pith_lower_pool},
    {"Mean", PITH_OP_VARIADIC, pith_lower_kind},
    {"MeanVarianceNormalization", PITH_OP_MEAN_VARIANCE, pith_lower_mean_variance},
    {"Min", PITH_OP_VARIADIC, pith_lower_kind},
    {"Mish", PITH_OP_UNARY, pith_lower_unary},
    {"Mod", PITH_OP_MOD, pith_lower_mod},
    {"Mul", PITH_OP_MUL, pith_lower_plain},
    {"Neg", PITH_OP_UNARY, pith_lower_unary},
    {"NonMaxSuppression", PITH_OP_NON_MAX_SUPPRESSION, pith_lower_non_max_suppression},
    {"Not", PITH_OP_UNARY, pith_lower_unary},
    {"OneHot", PITH_OP_ONE_HOT, pith_lower_one_hot},
    {"Or", PITH_OP_COMPARE, pith_lower_kind},
    {"PRelu", PITH_OP_PRELU, pith_lower_prelu},
    {"Pad", PITH_OP_PAD, pith_lower_pad},
    {"Pow", PITH_OP_POWER, pith_lower_pow},
    {"QLinearConv", PITH_OP_CONV_INTEGER, pith_lower_qlinear_conv},
    {"QLinearMatMul", PITH_OP_MATMUL_INTEGER, pith_lower_qlinear_matmul},
    {"QuantizeLinear", PITH_OP_QUANTIZE, pith_lower_quantize},
    {"RMSNormalization", PITH_OP_REDUCE_MEAN, pith_lower_rms_norm},
    {"RNN", PITH_OP_RECURRENT, pith_lower_recurrent},
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
    {"Relu", PITH_OP_RELU, pith_lower_relu},
    {"Reshape", PITH_OP_RESHAPE, pith_lower_reshape},
    {"Resize", PITH_OP_RESIZE, pith_lower_resize},
    {"RotaryEmbedding", PITH_OP_MUL, pith_lower_rotary_embedding},
    {"Round", PITH_OP_UNARY, pith_lower_unary},
    {"Scan", PITH_OP_LOOP, pith_lower_scan},
    {"STFT", PITH_OP_CONV, pith_lower_stft},
    {"Scatter", PITH_OP_SCATTER, pith_lower_scatter_elements},
    {"ScatterElements", PITH_OP_SCATTER, pith_lower_scatter_elements},
    {"ScatterND", PITH_OP_SCATTER, pith_lower_scatter_nd},
    {"Selu", PITH_OP_UNARY, pith_lower_unary},
    {"Shape", PITH_OP_IDENTITY, pith_lower_shape},
    {"Shrink", PITH_OP_WHERE, pith_lower_formula},
    {"Sigmoid", PITH_OP_SIGMOID, pith_lower_plain},
    {"Sign", PITH_OP_UNARY, pith_lower_unary},
    {"Sin", PITH_OP_UNARY, pith_lower_unary},
    {"Sinh", PITH_OP_UNARY, pith_lower_formula},
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
    {"Swish", PITH_OP_SIGMOID, pith_lower_swish},
    {"Tan", PITH_OP_UNARY, pith_lower_formula},
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

/* Of com.microsoft; each ends in a QuantizeLinear or Requantize. */
static const struct onnx_row qlinear_rows[] = {
    {"QGemm", PITH_OP_MATMUL_INTEGER, pith_lower_qgemm},
    {"QLinearAdd", PITH_OP_QUANTIZE, pith_lower_qlinear_binary},
    {"QLinearAveragePool", PITH_OP_QUANTIZE, pith_lower_qlinear_unary},
    {"QLinearConcat", PITH_OP_QUANTIZE, pith_lower_qlinear_concat},
    {"QLinearGlobalAveragePool", PITH_OP_QUANTIZE, pith_lower_qlinear_unary},
    {"QLinearLeakyRelu", PITH_OP_QUANTIZE, pith_lower_qlinear_unary},
    {"QLinearMul", PITH_OP_QUANTIZE, pith_lower_qlinear_binary},
    {"QLinearSigmoid", PITH_OP_QUANTIZE, pith_lower_qlinear_unary},
    {"QLinearSoftmax", PITH_OP_QUANTIZE, pith_lower_qlinear_softmax},
};

static const struct onnx_row *find_row(const struct onnx_row *list, size_t n, const char *op_type)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].op_type, op_type) == 0)
            return &list[i];
    return NULL;
}

const struct onnx_row *pith_onnx_row(const Onnx__NodeProto *node)
{
    const char *domain = node->domain ? node->domain : "";
    if (strcmp(domain, "com.microsoft") == 0)
        return find_row(qlinear_rows, sizeof qlinear_rows / sizeof *qlinear_rows, node->op_type);
    if (*domain && strcmp(domain, "ai.onnx") != 0)
        return NULL;
    return find_row(rows, sizeof rows / sizeof *rows, node->op_type);
}

const char *pith_onnx_op_name(uint32_t i)
{
    return i < sizeof rows / sizeof *rows ? rows[i].op_type : NULL;
}

/* Inputs as they are, no attributes. */
enum pith_status pith_lower_plain(struct onnx_lower *l)
{
    return pith_onnx_single_output(l);
}
