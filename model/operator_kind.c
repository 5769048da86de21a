/* SPDX-License-Identifier: MIT */
#include "operator_kind.h"

#include <string.h>

#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "pith_host.h"

static const struct kind_row {
    uint32_t op;
    int32_t kind;
    const char *op_type;
    bool newer; /* than opset 13 */
} rows[] = {
    {PITH_OP_UNARY, UNARY_SQRT, "Sqrt", false},
    {PITH_OP_UNARY, UNARY_EXP, "Exp", false},
    {PITH_OP_UNARY, UNARY_LOG, "Log", false},
    {PITH_OP_UNARY, UNARY_NEG, "Neg", false},
    {PITH_OP_UNARY, UNARY_ABS, "Abs", false},
    {PITH_OP_UNARY, UNARY_SIGN, "Sign", false},
    {PITH_OP_UNARY, UNARY_FLOOR, "Floor", false},
    {PITH_OP_UNARY, UNARY_CEIL, "Ceil", false},
    {PITH_OP_UNARY, UNARY_ROUND, "Round", false},
    {PITH_OP_UNARY, UNARY_RECIPROCAL, "Reciprocal", false},
    {PITH_OP_UNARY, UNARY_ERF, "Erf", false},
    {PITH_OP_UNARY, UNARY_SIN, "Sin", false},
    {PITH_OP_UNARY, UNARY_COS, "Cos", false},
    {PITH_OP_UNARY, UNARY_ELU, "Elu", false},
    {PITH_OP_UNARY, UNARY_SELU, "Selu", false},
    {PITH_OP_UNARY, UNARY_CELU, "Celu", false},
    {PITH_OP_UNARY, UNARY_GELU, "Gelu", true},
    {PITH_OP_UNARY, UNARY_MISH, "Mish", true},
    {PITH_OP_UNARY, UNARY_SOFTPLUS, "Softplus", false},
    {PITH_OP_UNARY, UNARY_SOFTSIGN, "Softsign", false},
    {PITH_OP_UNARY, UNARY_THRESHOLDED_RELU, "ThresholdedRelu", false},
    {PITH_OP_UNARY, UNARY_NOT, "Not", false},
    {PITH_OP_UNARY, UNARY_ATAN, "Atan", false},
    {PITH_OP_UNARY, UNARY_ASINH, "Asinh", false},
    {PITH_OP_UNARY, UNARY_ATANH, "Atanh", false},
    {PITH_OP_ARG, ARG_MAX, "ArgMax", false},
    {PITH_OP_ARG, ARG_MIN, "ArgMin", false},
    {PITH_OP_ALONG_AXIS, ALONG_HARDMAX, "Hardmax", false},
    {PITH_OP_ALONG_AXIS, ALONG_CUM_SUM, "CumSum", false},
    {PITH_OP_ALONG_AXIS, ALONG_LP_NORMALIZATION, "LpNormalization", false},
    {PITH_OP_VARIADIC, VARIADIC_MIN, "Min", false},
    {PITH_OP_VARIADIC, VARIADIC_MAX, "Max", false},
    {PITH_OP_VARIADIC, VARIADIC_SUM, "Sum", false},
    {PITH_OP_VARIADIC, VARIADIC_MEAN, "Mean", false},
    {PITH_OP_REDUCE, REDUCE_SUM, "ReduceSum", false},
    {PITH_OP_REDUCE, REDUCE_MAX, "ReduceMax", false},
    {PITH_OP_REDUCE, REDUCE_MIN, "ReduceMin", false},
    {PITH_OP_REDUCE, REDUCE_PROD, "ReduceProd", false},
    {PITH_OP_REDUCE, REDUCE_L1, "ReduceL1", false},
    {PITH_OP_REDUCE, REDUCE_L2, "ReduceL2", false},
    {PITH_OP_REDUCE, REDUCE_LOG_SUM, "ReduceLogSum", false},
    {PITH_OP_REDUCE, REDUCE_LOG_SUM_EXP, "ReduceLogSumExp", false},
    {PITH_OP_REDUCE, REDUCE_SUM_SQUARE, "ReduceSumSquare", false},
    {PITH_OP_COMPARE, COMPARE_EQUAL, "Equal", false},
    {PITH_OP_COMPARE, COMPARE_LESS, "Less", false},
    {PITH_OP_COMPARE, COMPARE_LESS_EQUAL, "LessOrEqual", false},
    {PITH_OP_COMPARE, COMPARE_GREATER, "Greater", false},
    {PITH_OP_COMPARE, COMPARE_GREATER_EQUAL, "GreaterOrEqual", false},
    {PITH_OP_COMPARE, COMPARE_AND, "And", false},
    {PITH_OP_COMPARE, COMPARE_OR, "Or", false},
    {PITH_OP_COMPARE, COMPARE_XOR, "Xor", false},
};

int32_t pith_onnx_kind(uint32_t op, const char *op_type)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op && strcmp(rows[i].op_type, op_type) == 0)
            return rows[i].kind;
    return -1;
}

const char *pith_onnx_kind_name(uint32_t op, int32_t kind)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op && rows[i].kind == kind && !rows[i].newer)
            return rows[i].op_type;
    return NULL;
}

const char *pith_node_text(const struct pith_node *node)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == node->op && rows[i].kind == node->attr[ATTR_KIND])
            return rows[i].op_type;
    return pith_op_text(node->op);
}
