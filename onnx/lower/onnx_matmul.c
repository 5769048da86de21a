/* SPDX-License-Identifier: MIT */
/* onnx_matmul.c - Gemm and MatMul. A constant matrix on the right is brought to [O, C] once: rows
 * are then what one output needs, which is what pruning, codebooks and kernels work on. */
#include "onnx.h"

/* The constant that is `value` [K, N] transposed to [N, K]: one for all who ask for it. */
static enum pith_status transposed(struct onnx_lower *l, uint32_t value, uint32_t *result)
{
    struct onnx_import *im = l->im;
    if (im->values[value].turned) {
        *result = im->values[value].turned - 1;
        return PITH_OK;
    }
    enum pith_status status = pith_onnx_load(im, value);
    if (status)
        return status;
    uint32_t made = pith_onnx_add_value(im, im->values[value].name);
    if (made == ONNX_VALUE_NONE)
        return pith_onnx_no_memory(im);
    const struct onnx_value *from = &im->values[value];
    if (from->varies)
        im->batch_open = false;
    size_t k = from->shape.dim[0], n = from->shape.dim[1];
    float *t = pith_onnx_alloc(&im->budget, (uint64_t)k * n, sizeof *t);
    if (!t)
        return pith_onnx_no_memory(im);
    const float *f = from->data;
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < n; j++)
            t[j * k + i] = f[i * n + j];
    struct onnx_value *to = &im->values[made];
    to->type = PITH_F32;
    to->shape = (struct shape){.rank = 2, .dim = {from->shape.dim[1], from->shape.dim[0]}};
    to->known = to->constant = true;
    to->data = t;
    to->producer = from->producer; /* onnx_qdq.c looks for a DequantizeLinear there */
    if (from->tensor) {            /* can be loaded again, should another node want it as it was */
        pith_onnx_free(&im->budget, im->values[value].data);
        im->values[value].data = NULL;
    }
    im->values[value].turned = made + 1;
    *result = made;
    return PITH_OK;
}

/* Input 1 becomes [O, C] if it is a constant matrix stored [C, O]. */
static enum pith_status transpose_weight(struct onnx_lower *l, bool *done)
{
    *done = false;
    if (!pith_onnx_has_input(l, 1))
        return PITH_OK;
    const struct onnx_value *b = &l->im->values[l->in[1]];
    if (!b->constant || b->empty || b->type != PITH_F32 || b->shape.rank != 2)
        return PITH_OK;
    *done = true;
    return transposed(l, l->in[1], &l->in[1]);
}

/* All inputs constant: the node will be folded, and what is transposed here is lost work. */
static bool a_is_constant(const struct onnx_lower *l)
{
    return pith_onnx_has_input(l, 0) && l->im->values[l->in[0]].constant;
}

enum pith_status pith_lower_gemm(struct onnx_lower *l)
{
    l->attr[ATTR_GEMM_TRANS_B] = 0; /* ONNX's default */
    enum pith_status status = pith_onnx_take_int(l, "transA", ATTR_GEMM_TRANS_A);
    if (!status)
        status = pith_onnx_take_int(l, "transB", ATTR_GEMM_TRANS_B);
    if (!status)
        status = pith_onnx_take_float(l, "alpha", ATTR_GEMM_ALPHA);
    if (!status)
        status = pith_onnx_take_float(l, "beta", ATTR_GEMM_BETA);
    if (status || l->attr[ATTR_GEMM_TRANS_B] || a_is_constant(l))
        return status;
    bool done;
    status = transpose_weight(l, &done);
    l->attr[ATTR_GEMM_TRANS_B] = done;
    return status;
}

enum pith_status pith_lower_matmul(struct onnx_lower *l)
{
    if (a_is_constant(l))
        return PITH_OK;
    bool done;
    enum pith_status status = transpose_weight(l, &done);
    l->attr[ATTR_MATMUL_TRANS_B] = done;
    return status;
}
