/* SPDX-License-Identifier: MIT */
/* onnx_branch.c - If: where the condition is constant, only the branch it takes is lowered and the
 * If is gone; else both are, between the runtime's Branch, BranchElse and BranchEnd. */
#include "onnx/graph/onnx.h"

static struct onnx_region *region_of(const struct onnx_lower *l)
{
    return &l->im->regions[l->flat->region];
}

static enum pith_status begin_branch(struct onnx_lower *l)
{
    struct onnx_region *r = region_of(l);
    uint32_t condition = l->in[0], out = l->first_out;
    struct onnx_lower step;
    bool constant;
    int64_t holds = 0;
    if (condition == ONNX_VALUE_NONE)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    enum pith_status status = pith_onnx_as_scalar(l, "condition", PITH_BOOL, &condition);
    if (!status)
        status = pith_onnx_constant_scalar(l, condition, &constant, &holds);
    if (status)
        return status;
    r->taken_first = constant && holds;
    r->taken_second = constant && !holds;
    if (constant)
        return PITH_OK;
    status = pith_onnx_check_depth(l);
    if (status)
        return status;
    status = pith_onnx_step(l, PITH_OP_BRANCH, &step, &out);
    step.in = &condition;
    if (!status)
        status = pith_onnx_finish(&step);
    r->emitted = status ? 0 : l->im->n_nodes;
    return status;
}

static enum pith_status middle_branch(struct onnx_lower *l)
{
    struct onnx_region *r = region_of(l);
    struct onnx_lower step = *l;
    uint32_t condition = l->im->flat[r->begin].out, out = ONNX_VALUE_NONE;
    l->first_out = condition; /* whose producer the new value gets */
    enum pith_status status = pith_onnx_step(l, PITH_OP_BRANCH_ELSE, &step, &out);
    step.in = &condition;
    if (!status)
        status = pith_onnx_finish(&step);
    if (!status)
        r->emitted_middle = l->im->n_nodes;
    return status;
}

static enum pith_status check_pairs(struct onnx_lower *l)
{
    for (uint32_t i = 0; i < l->n_out; i++) {
        const struct onnx_value *a = &l->im->values[l->in[i]];
        const struct onnx_value *b = &l->im->values[l->in[l->n_out + i]];
        char first[96], second[96];
        if (a->empty || b->empty || a->type != b->type || !pith_shape_equal(&a->shape, &b->shape))
            return pith_onnx_node_fail(
                l, PITH_ERR_UNSUPPORTED,
                "output '%.60s' is %s from one branch and %s from the other: "
                "choose one, by freezing its condition '%.60s' with "
                "--set-input",
                l->im->values[l->first_out + i].name, pith_onnx_shape_text(a, first),
                pith_onnx_shape_text(b, second), l->node->input[0]);
    }
    return PITH_OK;
}

static enum pith_status end_branch(struct onnx_lower *l)
{
    struct onnx_import *im = l->im;
    const struct onnx_region *r = region_of(l);
    struct onnx_lower step;
    uint32_t out = l->first_out;
    uint32_t *in = pith_onnx_alloc(&im->budget, l->n_in + 1u, sizeof *in);
    if (!in)
        return pith_onnx_no_memory(im);
    in[0] = im->flat[r->begin].out;
    memcpy(in + 1, l->in, l->n_in * sizeof *in);
    enum pith_status status = check_pairs(l);
    if (!status)
        status = pith_onnx_step(l, PITH_OP_BRANCH_END, &step, &out);
    step.in = in;
    step.n_in = 1 + l->n_in;
    step.n_out = l->n_out;
    if (!status)
        status = pith_onnx_finish(&step);
    if (status)
        return status;
    im->nodes[im->n_nodes - 1].begin = r->emitted - 1;
    im->nodes[im->n_nodes - 1].middle = r->emitted_middle - 1;
    return PITH_OK;
}

enum pith_status pith_lower_if(struct onnx_lower *l)
{
    l->done = true;
    if (l->flat->role == ONNX_BEGIN)
        return begin_branch(l);
    if (!region_of(l)->emitted)
        return PITH_OK;
    return l->flat->role == ONNX_ELSE ? middle_branch(l) : end_branch(l);
}

/* The end of a region that import has decided: other names for what is known, and for what a loop
 * that never runs would have collected, nothing. */
bool pith_onnx_settle_end(struct onnx_import *im, const struct onnx_flat *end)
{
    const struct onnx_region *r = &im->regions[end->region];
    const uint32_t *from = end->in + (r->taken_second ? r->n_out : 0);
    if (!r->never && !r->taken_first && !r->taken_second)
        return false;
    for (uint32_t i = 0; i < r->n_out; i++) {
        struct onnx_value *v = &im->values[end->out + i];
        bool state = r->never && i < r->n_states;
        if (state || !r->never)
            v->alias = pith_onnx_alias(im, state ? im->flat[r->begin].in[2 + i] : from[i]);
        else
            v->known = v->constant = v->empty = true;
    }
    return true;
}
