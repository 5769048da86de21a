/* SPDX-License-Identifier: MIT */
/* onnx_lower.c - node by node: lowered by its row of the table, checked and shaped by the runtime's
 * operator, folded where constant, else emitted. A node that this version cannot take is noted and
 * the walk goes on without what depends on it, so that one import tells all of them. */
#include "onnx.h"

#include <stdio.h>

static enum pith_status refuse(struct onnx_import *im, const Onnx__NodeProto *node, const char *why)
{
    const char *op = node->op_type, *domain = node->domain ? node->domain : "";
    if (*domain && strcmp(domain, "ai.onnx") != 0) {
        size_t room = strlen(domain) + strlen(op) + 2;
        char *full = pith_onnx_alloc(&im->budget, room, 1);
        if (!full)
            return pith_onnx_no_memory(im);
        snprintf(full, room, "%s.%s", domain, op);
        op = full;
    }
    char *kept = pith_onnx_alloc(&im->budget, strlen(why) + 1, 1);
    if (!kept)
        return pith_onnx_no_memory(im);
    memcpy(kept, why, strlen(why));
    im->refusals[im->n_refusals] =
        (struct onnx_refusal){op, pith_onnx_label(node), kept, im->n_refusals};
    im->n_refusals++;
    return PITH_OK;
}

/* Text of a shape for messages: "f32 1x3x224x224". */
static size_t append_shape(char *text, size_t at, size_t size, const struct onnx_value *v)
{
    static const char *const type_names[] = {"?",  "f32", "f16", "bf16", "f64", "i8",
                                             "u8", "i16", "u16", "i32",  "i64", "bool"};
    const char *type = v->type <= PITH_BOOL ? type_names[v->type] : "?";
    at += (size_t)snprintf(text + at, size - at, "%s%s ", at ? ", " : "", type);
    if (v->shape.rank == 0 && at < size)
        at += (size_t)snprintf(text + at, size - at, "scalar");
    for (uint32_t i = 0; i < v->shape.rank && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%u", i ? "x" : "", v->shape.dim[i]);
    return at < size ? at : size - 1;
}

static enum pith_status fail_shape(struct onnx_lower *l, enum pith_status status)
{
    char text[256] = "no input";
    size_t at = 0;
    for (uint32_t i = 0; i < l->n_in && at < sizeof text - 64; i++)
        if (l->in[i] != ONNX_VALUE_NONE)
            at = append_shape(text, at, sizeof text, &l->im->values[l->in[i]]);
    const char *what = status == PITH_ERR_UNSUPPORTED ? "its input types or dims are not supported"
                                                      : "its inputs and attributes do not fit";
    return pith_onnx_node_fail(l, status, "%s: %s", what, text);
}

static enum pith_status check_inputs(struct onnx_lower *l)
{
    uint32_t min = l->info->n_in_min, max = l->info->n_in_max;
    while (l->n_in > min && l->in[l->n_in - 1] == ONNX_VALUE_NONE)
        l->n_in--;
    if (l->n_in < min || (max != OP_ANY && l->n_in > max))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "it has %u inputs, %u..%u are allowed",
                                   l->n_in, min, max);
    if (l->n_out < l->info->n_out_min ||
        (l->info->n_out_max != OP_ANY && l->n_out > l->info->n_out_max))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "it has %u outputs", l->n_out);
    for (uint32_t i = 0; i < l->n_in; i++) {
        if (i < min && l->in[i] == ONNX_VALUE_NONE)
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %u is missing", i);
        if (l->in[i] != ONNX_VALUE_NONE && l->im->values[l->in[i]].empty)
            return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "input %u has no elements", i);
    }
    return PITH_OK;
}

static enum pith_status emit(struct onnx_lower *l)
{
    struct onnx_import *im = l->im;
    struct onnx_node *node = &im->nodes[im->n_nodes];
    node->name = l->node->name ? l->node->name : "";
    node->info = l->info;
    node->n_in = l->n_in;
    node->n_out = l->n_out;
    node->attr = pith_onnx_alloc(&im->budget, l->info->n_slots + 1u, sizeof *node->attr);
    node->in = pith_onnx_alloc(&im->budget, l->n_in + 1u, sizeof *node->in);
    node->out = pith_onnx_alloc(&im->budget, l->n_out + 1u, sizeof *node->out);
    if (!node->attr || !node->in || !node->out)
        return pith_onnx_no_memory(im);
    memcpy(node->attr, l->attr, l->info->n_slots * sizeof *node->attr);
    memcpy(node->in, l->in, l->n_in * sizeof *node->in);
    for (uint32_t i = 0; i < l->n_out; i++)
        node->out[i] = l->first_out + i;
    im->n_nodes++;
    return PITH_OK;
}

/* Types and shapes of all inputs, and no data, to im->view and im->view_in. */
static void set_views(struct onnx_lower *l, bool other)
{
    struct onnx_import *im = l->im;
    for (uint32_t i = 0; i < l->n_in; i++) {
        const struct onnx_value *v = l->in[i] == ONNX_VALUE_NONE ? NULL : &im->values[l->in[i]];
        if (v)
            im->view[i] =
                (struct tview){v->type, other ? *pith_onnx_other_shape(v) : v->shape, NULL};
        im->view_in[i] = v ? &im->view[i] : NULL;
    }
    for (uint32_t i = 0; i < l->n_out; i++) {
        im->view[l->n_in + i] = (struct tview){0};
        im->view_out[i] = &im->view[l->n_in + i];
    }
}

/* What the outputs would be under the other batch. A node that cannot follow, or one that stays a
 * node and takes a constant made for one batch, closes it. */
static enum pith_status follow_batch(struct onnx_lower *l, const struct op_args *args, bool folded)
{
    struct onnx_import *im = l->im;
    bool any = false;
    for (uint32_t i = 0; i < l->n_in; i++) {
        const struct onnx_value *v = l->in[i] == ONNX_VALUE_NONE ? NULL : &im->values[l->in[i]];
        if (!v || !v->varies)
            continue;
        any = true;
        im->batch_open = im->batch_open && (folded || !v->constant);
    }
    if (!any || !im->batch_open)
        return PITH_OK;
    set_views(l, true);
    if (args->info->shape(args)) {
        im->batch_open = false;
        return PITH_OK;
    }
    for (uint32_t i = 0; i < l->n_out; i++) {
        struct onnx_value *v = &im->values[l->first_out + i];
        v->other = args->out[i]->shape;
        v->varies = !pith_shape_equal(&v->shape, &v->other);
    }
    return folded ? pith_onnx_fold_other(l, args) : PITH_OK;
}

/* Shapes of the outputs by the runtime's rule; then the node is folded or emitted. */
enum pith_status pith_onnx_finish(struct onnx_lower *l)
{
    struct onnx_import *im = l->im;
    enum pith_status status = check_inputs(l);
    if (status)
        return status;
    if (pith_op_check(l->info, l->attr, l->n_in, l->n_out))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "an attribute is missing or out of range");
    const struct tview *outs = im->view + l->n_in;
    set_views(l, false);
    struct op_args args = {.info = l->info,
                           .attr = l->attr,
                           .n_in = l->n_in,
                           .n_out = l->n_out,
                           .in = im->view_in,
                           .out = im->view_out};
    status = l->info->shape(&args);
    if (status)
        return fail_shape(l, status);
    for (uint32_t i = 0; i < l->n_out; i++) {
        struct onnx_value *v = &im->values[l->first_out + i];
        v->type = outs[i].type;
        v->shape = outs[i].shape;
        v->known = true;
    }
    bool folded;
    status = pith_onnx_fold(l, &args, &folded);
    if (!status && im->batch_open)
        status = follow_batch(l, &args, folded);
    return status || folded ? status : emit(l);
}

/* Aliases resolved, initializers described. *ready: all inputs are known. */
static enum pith_status bind(struct onnx_lower *l, uint32_t index, bool *ready)
{
    struct onnx_import *im = l->im;
    *ready = true;
    l->in = im->node_in[index];
    l->n_in = (uint32_t)l->node->n_input;
    l->first_out = im->node_out[index];
    l->n_out = (uint32_t)l->node->n_output;
    while (l->n_out > 1 && !*l->node->output[l->n_out - 1])
        l->n_out--;
    for (uint32_t i = 0; i < l->n_in; i++) {
        if (l->in[i] == ONNX_VALUE_NONE)
            continue;
        l->in[i] = pith_onnx_alias(im, l->in[i]);
        if (im->values[l->in[i]].tensor && !im->values[l->in[i]].known) {
            enum pith_status status = pith_onnx_describe_tensor(im, l->in[i]);
            if (status)
                return status;
        }
        *ready = *ready && im->values[l->in[i]].known;
    }
    return PITH_OK;
}

static enum pith_status lower_node(struct onnx_import *im, uint32_t index)
{
    struct onnx_lower l = {.im = im, .node = im->graph->node[index]};
    l.label = pith_onnx_label(l.node);
    l.row = pith_onnx_row(l.node);
    if (!l.row)
        return refuse(im, l.node, "");
    if (im->n_open)
        return PITH_OK; /* a survey: without shapes, names are all there is to judge */
    bool ready;
    enum pith_status status = bind(&l, index, &ready);
    if (status || !ready)
        return status;
    l.info = pith_op_get(l.row->op);
    if (!l.info)
        return refuse(im, l.node, "this build of the runtime does not have it");
    pith_op_attr_defaults(l.info, l.attr);
    status = l.row->lower(&l);
    if (!status && !l.done)
        status = pith_onnx_finish(&l);
    return status;
}

static enum pith_status reserve(struct onnx_import *im)
{
    uint64_t widest_in = 2, widest_out = 1; /* pith_onnx_input_twice */
    uint64_t more = 0;
    for (size_t i = 0; i < im->graph->n_node; i++) {
        const Onnx__NodeProto *node = im->graph->node[i];
        widest_in = node->n_input > widest_in ? node->n_input : widest_in;
        widest_out = node->n_output > widest_out ? node->n_output : widest_out;
        more += strcmp(node->op_type, "Einsum") == 0 ? ONNX_EINSUM_NODES : 0;
    }
    im->nodes = pith_onnx_alloc(&im->budget, (uint64_t)im->n_order + im->n_outputs + more + 1,
                                sizeof *im->nodes); /* an Identity may stand before each output */
    im->refusals = pith_onnx_alloc(&im->budget, (uint64_t)im->n_order + 1, sizeof *im->refusals);
    im->view_in = pith_onnx_alloc(&im->budget, widest_in, sizeof *im->view_in);
    im->view_out = pith_onnx_alloc(&im->budget, widest_out, sizeof *im->view_out);
    im->view = pith_onnx_alloc(&im->budget, widest_in + widest_out, sizeof *im->view);
    if (!im->nodes || !im->refusals || !im->view_in || !im->view_out || !im->view)
        return pith_onnx_no_memory(im);
    return PITH_OK;
}

enum pith_status pith_onnx_lower_all(struct onnx_import *im)
{
    struct pith_error local = {0}, *err = im->err;
    im->err = &local; /* keeps the reason of a refusal apart from a failure */
    enum pith_status status = reserve(im);
    for (uint32_t i = 0; i < im->n_order && !status; i++) {
        status = lower_node(im, im->order[i]);
        if (status == PITH_ERR_UNSUPPORTED)
            status = refuse(im, im->graph->node[im->order[i]], local.text);
    }
    im->err = err;
    if (status && err)
        *err = local;
    return status;
}
