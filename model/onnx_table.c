/* SPDX-License-Identifier: MIT */
/* onnx_table.c - the ONNX operators pith takes, one row each. To add one: a row here and, unless a
 * lowering of its family fits, a function in onnx_<family>.c. */
#include "onnx.h"

static const struct onnx_row rows[] = {
    {"Add", PITH_OP_ADD, pith_lower_plain},
    {"AveragePool", PITH_OP_AVERAGE_POOL, pith_lower_pool},
    {"BatchNormalization", PITH_OP_BATCH_NORM, pith_lower_batch_norm},
    {"Cast", PITH_OP_CAST, pith_lower_cast},
    {"Clip", PITH_OP_CLIP, pith_lower_clip},
    {"Concat", PITH_OP_CONCAT, pith_lower_concat},
    {"Constant", PITH_OP_IDENTITY, pith_lower_constant},
    {"Conv", PITH_OP_CONV, pith_lower_conv},
    {"Div", PITH_OP_DIV, pith_lower_plain},
    {"Dropout", PITH_OP_IDENTITY, pith_lower_identity},
    {"Flatten", PITH_OP_FLATTEN, pith_lower_flatten},
    {"Gemm", PITH_OP_GEMM, pith_lower_gemm},
    {"GlobalAveragePool", PITH_OP_GLOBAL_AVERAGE_POOL, pith_lower_plain},
    {"GlobalMaxPool", PITH_OP_GLOBAL_MAX_POOL, pith_lower_plain},
    {"HardSigmoid", PITH_OP_HARD_SIGMOID, pith_lower_alpha},
    {"HardSwish", PITH_OP_HARD_SWISH, pith_lower_plain},
    {"Identity", PITH_OP_IDENTITY, pith_lower_identity},
    {"LRN", PITH_OP_LRN, pith_lower_lrn},
    {"LeakyRelu", PITH_OP_LEAKY_RELU, pith_lower_alpha},
    {"LogSoftmax", PITH_OP_LOG_SOFTMAX, pith_lower_softmax},
    {"MatMul", PITH_OP_MATMUL, pith_lower_matmul},
    {"MaxPool", PITH_OP_MAX_POOL, pith_lower_pool},
    {"Mul", PITH_OP_MUL, pith_lower_plain},
    {"PRelu", PITH_OP_PRELU, pith_lower_plain},
    {"Pad", PITH_OP_PAD, pith_lower_pad},
    {"ReduceMean", PITH_OP_REDUCE_MEAN, pith_lower_reduce_mean},
    {"Relu", PITH_OP_RELU, pith_lower_plain},
    {"Reshape", PITH_OP_RESHAPE, pith_lower_reshape},
    {"Resize", PITH_OP_RESIZE, pith_lower_resize},
    {"Sigmoid", PITH_OP_SIGMOID, pith_lower_plain},
    {"Slice", PITH_OP_SLICE, pith_lower_slice},
    {"Softmax", PITH_OP_SOFTMAX, pith_lower_softmax},
    {"Split", PITH_OP_SPLIT, pith_lower_split},
    {"Squeeze", PITH_OP_SQUEEZE, pith_lower_squeeze},
    {"Sub", PITH_OP_SUB, pith_lower_plain},
    {"Tanh", PITH_OP_TANH, pith_lower_plain},
    {"Transpose", PITH_OP_TRANSPOSE, pith_lower_transpose},
    {"Unsqueeze", PITH_OP_UNSQUEEZE, pith_lower_unsqueeze},
    {"Upsample", PITH_OP_RESIZE, pith_lower_resize},
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
    {"ConstantOfShape", "fold it: export with static shapes"},
    {"DequantizeLinear", "import the float network instead"},
    {"Einsum", "rewrite as MatMul and Transpose before export"},
    {"Expand", "fold it: export with static shapes"},
    {"Gather", "fold it: export with static shapes"},
    {"If", "freeze its condition with --set-input"},
    {"NonMaxSuppression", "cut the graph before it with --outputs"},
    {"NonZero", "cut the graph before it with --outputs"},
    {"QuantizeLinear", "import the float network instead"},
    {"Range", "fold it: export with static shapes"},
    {"Shape", "fold it: export with static shapes"},
    {"TopK", "cut the graph before it with --outputs"},
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
