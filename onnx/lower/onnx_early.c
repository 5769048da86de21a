/* SPDX-License-Identifier: MIT */
/* onnx_early.c - opsets 1 to 6, which old exporters wrote. An operator is taken from the opset on
 * since which its rules are those of opset 7; arithmetic, which then still had its own rule of
 * broadcasting, as long as that rule is not used with an axis; BatchNormalization if is_test says
 * that it does not train. */
#include "onnx/graph/onnx_step.h"

static const struct early {
    const char *op_type;
    int opset;       /* from here on as in opset 7 */
    bool broadcasts; /* trailing dims unless `axis` says otherwise */
} early[] = {
    {"Abs", 1, false},
    {"Add", 1, true},
    {"And", 1, true},
    {"ArgMax", 1, false},
    {"ArgMin", 1, false},
    {"AveragePool", 1, false},
    {"BatchNormalization", 1, false},
    {"Cast", 6, false},
    {"Ceil", 1, false},
    {"Clip", 1, false},
    {"Concat", 1, false},
    {"Constant", 1, false},
    {"Conv", 1, false},
    {"ConvTranspose", 1, false},
    {"DepthToSpace", 1, false},
    {"Div", 1, true},
    {"Dropout", 1, false},
    {"Elu", 1, false},
    {"Equal", 1, true},
    {"Exp", 1, false},
    {"Flatten", 1, false},
    {"Floor", 1, false},
    {"Gather", 1, false},
    {"Gemm", 1, true},
    {"GlobalAveragePool", 1, false},
    {"GlobalLpPool", 1, false},
    {"GlobalMaxPool", 1, false},
    {"Greater", 1, true},
    {"HardSigmoid", 1, false},
    {"Hardmax", 1, false},
    {"Identity", 1, false},
    {"InstanceNormalization", 1, false},
    {"LRN", 1, false},
    {"LeakyRelu", 1, false},
    {"Less", 1, true},
    {"Log", 1, false},
    {"LogSoftmax", 1, false},
    {"LpNormalization", 1, false},
    {"LpPool", 1, false},
    {"MatMul", 1, false},
    {"Max", 1, false},
    {"MaxPool", 1, false},
    {"Mean", 1, false},
    {"Min", 1, false},
    {"Mul", 1, true},
    {"Neg", 1, false},
    {"Not", 1, false},
    {"Or", 1, true},
    {"PRelu", 1, false},
    {"Pad", 2, false},
    {"Pow", 1, true},
    {"Reciprocal", 1, false},
    {"ReduceL1", 1, false},
    {"ReduceL2", 1, false},
    {"ReduceLogSum", 1, false},
    {"ReduceLogSumExp", 1, false},
    {"ReduceMax", 1, false},
    {"ReduceMean", 1, false},
    {"ReduceMin", 1, false},
    {"ReduceProd", 1, false},
    {"ReduceSum", 1, false},
    {"ReduceSumSquare", 1, false},
    {"Relu", 1, false},
    {"Reshape", 5, false},
    {"Selu", 1, false},
    {"Shape", 1, false},
    {"Sigmoid", 1, false},
    {"Size", 1, false},
    {"Slice", 1, false},
    {"Softmax", 1, false},
    {"Softplus", 1, false},
    {"Softsign", 1, false},
    {"SpaceToDepth", 1, false},
    {"Split", 2, false},
    {"Sqrt", 1, false},
    {"Squeeze", 1, false},
    {"Sub", 1, true},
    {"Sum", 1, false},
    {"Tanh", 1, false},
    {"Tile", 6, false},
    {"TopK", 1, false},
    {"Transpose", 1, false},
    {"Unsqueeze", 1, false},
    {"Xor", 1, true},
};

static const Onnx__AttributeProto *attribute(const Onnx__NodeProto *node, const char *name)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->name && strcmp(node->attribute[i]->name, name) == 0)
            return node->attribute[i];
    return NULL;
}

bool pith_onnx_too_early(const Onnx__NodeProto *node, int64_t opset)
{
    if (opset >= ONNX_OPSET_MIN)
        return false;
    for (size_t i = 0; i < sizeof early / sizeof *early; i++) {
        if (strcmp(early[i].op_type, node->op_type) != 0)
            continue;
        const Onnx__AttributeProto *is_test = attribute(node, "is_test");
        bool axis = early[i].broadcasts && attribute(node, "axis");
        bool training =
            strcmp(node->op_type, "BatchNormalization") == 0 && !(is_test && is_test->i);
        return axis || training || opset < early[i].opset;
    }
    return true;
}

/* Up to opset 6 a slope of several elements is one a channel, whatever dims follow. */
enum pith_status pith_lower_prelu(struct onnx_lower *l)
{
    struct onnx_steps s = {l, PITH_OK};
    int32_t dims[PITH_MAX_RANK] = {-1};
    if (l->im->opset >= ONNX_OPSET_MIN || !pith_onnx_has_input(l, 0) || !pith_onnx_has_input(l, 1))
        return pith_onnx_single_output(l);
    uint32_t rank = pith_onnx_in_shape(l, 0)->rank;
    const struct shape *slope = pith_onnx_in_shape(l, 1);
    if (slope->rank != 1 || slope->dim[0] == 1 || rank < 3)
        return pith_onnx_single_output(l);
    for (uint32_t i = 1; i + 1 < rank; i++)
        dims[i] = 1;
    l->in[1] = pith_step_reshape(&s, l->in[1], rank - 1, dims);
    return s.status ? s.status : pith_onnx_single_output(l);
}
