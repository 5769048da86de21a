/* SPDX-License-Identifier: MIT */
/* onnx_finish.c - what a lowering ends in: the runtime's operator checks and shapes the node, which
 * is then folded where constant, else emitted. And the first of several nodes that are made of one.
 */
#include "onnx.h"
#include "op_interface/op_exec.h"

#include <stdio.h>

const char *pith_onnx_shape_text(const struct onnx_value *v, char text[96])
{
    static const char *const type_names[] = {"?",  "f32", "f16", "bf16", "f64", "i8",
                                             "u8", "i16", "u16", "i32",  "i64", "bool"};
    size_t size = 96, at = (size_t)snprintf(text, size, "%s ",
                                            v->type <= PITH_BOOL ? type_names[v->type] : "?");
    if (v->empty || v->shape.rank == 0)
        snprintf(text + at, size - at, "%s", v->empty ? "of no elements" : "scalar");
    for (uint32_t i = 0; i < v->shape.rank && !v->empty && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%u", i ? "x" : "", v->shape.dim[i]);
    return text;
}

static enum pith_status fail_shape(struct onnx_lower *l, enum pith_status status)
{
    char text[256] = "no input", one[96];
    size_t at = 0;
    for (uint32_t i = 0; i < l->n_in && at < sizeof text - sizeof one - 2; i++)
        if (l->in[i] != ONNX_VALUE_NONE)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", at ? ", " : "",
                                   pith_onnx_shape_text(&l->im->values[l->in[i]], one));
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
            return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "input %u '%.60s' has no elements",
                                       i, l->im->values[l->in[i]].name);
        if (l->in[i] != ONNX_VALUE_NONE && l->im->values[l->in[i]].selected)
            return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                       "the number of rows of input %u is known only at run time: "
                                       "cut the graph before it with --outputs '%.100s'",
                                       i, l->im->values[l->in[i]].name);
    }
    return PITH_OK;
}

static bool reserve_node(struct onnx_import *im)
{
    if (im->n_nodes < im->cap_nodes)
        return true;
    uint32_t cap = im->cap_nodes < 16 ? 16 : im->cap_nodes;
    struct onnx_node *nodes = cap <= UINT32_MAX / 2
                                  ? pith_onnx_alloc(&im->budget, 2 * (uint64_t)cap, sizeof *nodes)
                                  : NULL;
    if (!nodes)
        return false;
    if (im->n_nodes)
        memcpy(nodes, im->nodes, im->n_nodes * sizeof *nodes);
    pith_onnx_free(&im->budget, im->nodes);
    im->nodes = nodes;
    im->cap_nodes = 2 * cap;
    return true;
}

struct onnx_node *pith_onnx_new_node(struct onnx_import *im, const struct op_info *info,
                                     uint32_t n_in, uint32_t n_out)
{
    if (!reserve_node(im))
        return NULL;
    struct onnx_node *node = &im->nodes[im->n_nodes];
    *node = (struct onnx_node){.name = "", .info = info, .n_in = n_in, .n_out = n_out};
    node->attr = pith_onnx_alloc(&im->budget, info->n_slots + 1u, sizeof *node->attr);
    node->in = pith_onnx_alloc(&im->budget, n_in + 1u, sizeof *node->in);
    node->out = pith_onnx_alloc(&im->budget, n_out + 1u, sizeof *node->out);
    if (!node->attr || !node->in || !node->out)
        return NULL;
    im->n_nodes++;
    return node;
}

/* Room for the operands of one node. */
static enum pith_status reserve_views(struct onnx_import *im, uint32_t n_in, uint32_t n_out)
{
    uint64_t n = (uint64_t)n_in + n_out, cap = n < 16 ? 16 : 2 * n;
    if (n <= im->cap_view)
        return PITH_OK;
    pith_onnx_free(&im->budget, im->view_in);
    pith_onnx_free(&im->budget, im->view_out);
    pith_onnx_free(&im->budget, im->view);
    im->view_in = pith_onnx_alloc(&im->budget, cap, sizeof *im->view_in);
    im->view_out = pith_onnx_alloc(&im->budget, cap, sizeof *im->view_out);
    im->view = pith_onnx_alloc(&im->budget, cap, sizeof *im->view);
    im->cap_view = im->view_in && im->view_out && im->view ? (uint32_t)cap : 0;
    return im->cap_view ? PITH_OK : pith_onnx_no_memory(im);
}

static enum pith_status emit(struct onnx_lower *l)
{
    struct onnx_node *node = pith_onnx_new_node(l->im, l->info, l->n_in, l->n_out);
    if (!node)
        return pith_onnx_no_memory(l->im);
    node->name = l->node->name ? l->node->name : "";
    memcpy(node->attr, l->attr, l->info->n_slots * sizeof *node->attr);
    memcpy(node->in, l->in, l->n_in * sizeof *node->in);
    for (uint32_t i = 0; i < l->n_out; i++)
        node->out[i] = l->first_out + i;
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
static enum pith_status follow_batch(struct onnx_lower *l, struct op_args *args, bool folded)
{
    struct onnx_import *im = l->im;
    bool any = false;
    args->in = im->view_in; /* other nodes may have been made in between */
    args->out = im->view_out;
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

/* Is the result one of f64? Of Pow the exponent may be of another type. */
static bool is_wide(const struct onnx_lower *l)
{
    uint32_t n = l->info->op == PITH_OP_POWER && l->n_in > 1 ? 1 : l->n_in;
    bool wide = false;
    for (uint32_t i = 0; i < n && l->info->op != PITH_OP_CAST; i++)
        wide |= l->in[i] != ONNX_VALUE_NONE && l->im->values[l->in[i]].wide;
    return wide;
}

static enum pith_status mark_wide(struct onnx_lower *l, bool folded)
{
    if (!is_wide(l))
        return PITH_OK;
    for (uint32_t i = 0; i < l->n_out; i++) {
        struct onnx_value *v = &l->im->values[l->first_out + i];
        v->wide = v->type == PITH_F32;
        if (v->wide && !folded)
            return pith_onnx_node_fail(
                l, PITH_ERR_UNSUPPORTED,
                "it computes in double (f64) when it runs: export the network "
                "in float32");
    }
    return PITH_OK;
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
    status = reserve_views(im, l->n_in, l->n_out);
    if (status)
        return status;
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
    if (!status)
        status = mark_wide(l, folded);
    if (!status && im->batch_open && !folded)
        status = pith_onnx_open_constants(l);
    if (!status && im->batch_open)
        status = follow_batch(l, &args, folded);
    return status || folded ? status : emit(l);
}

/* A name for what stands between; the label may be that of the output. */
static const char *step_name(struct onnx_lower *l)
{
    size_t room = strlen(l->label) + sizeof ".step";
    char *name = pith_onnx_alloc(&l->im->budget, room, 1);
    if (name)
        snprintf(name, room, "%s.step", l->label);
    return name;
}

enum pith_status pith_onnx_open_step(struct onnx_lower *l, enum pith_op op, bool last,
                                     struct onnx_lower *sub, uint32_t *out)
{
    *out = last ? l->first_out : ONNX_VALUE_NONE;
    return pith_onnx_step(l, op, sub, out);
}

enum pith_status pith_onnx_step(struct onnx_lower *l, uint32_t op, struct onnx_lower *step,
                                uint32_t *out)
{
    *step = *l;
    step->info = pith_op_get(op);
    step->n_in = 1;
    step->n_out = 1;
    step->done = false;
    if (!step->info)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "this build of the runtime does not have what it is made of");
    pith_op_attr_defaults(step->info, step->attr);
    if (*out == ONNX_VALUE_NONE) {
        const char *name = step_name(l);
        *out = name ? pith_onnx_add_value(l->im, name) : ONNX_VALUE_NONE;
        if (*out == ONNX_VALUE_NONE)
            return pith_onnx_no_memory(l->im);
        l->im->values[*out].producer = l->im->values[l->first_out].producer;
    }
    step->first_out = *out;
    return PITH_OK;
}
