/* SPDX-License-Identifier: MIT */
/* onnx_lower.c - node by node: lowered by its row of the table, checked and shaped by the runtime's
 * operator, folded where constant, else emitted. A node that this version cannot take is noted and
 * the walk goes on without what depends on it, so that one import reports all of them. */
#include "onnx/graph/onnx.h"
#include "onnx/lower/onnx_qdq.h"

#include <stdio.h>

static enum pith_status refuse(struct onnx_import *im, uint32_t flat, const char *why)
{
    const Onnx__NodeProto *node = im->flat[flat].node;
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
        (struct onnx_refusal){op, pith_onnx_label(node), kept, im->n_refusals, flat};
    im->n_refusals++;
    return PITH_OK;
}

/* Aliases resolved, initializers described. *ready: all inputs are known. */
static enum pith_status bind(struct onnx_lower *l, bool *ready)
{
    struct onnx_import *im = l->im;
    *ready = true;
    l->in = l->flat->in;
    l->n_in = l->flat->n_in;
    l->first_out = l->flat->out;
    l->n_out = l->flat->n_out;
    while (l->flat->role == ONNX_PLAIN && l->n_out > 1 && !*l->node->output[l->n_out - 1])
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

static enum pith_status refuse_early(struct onnx_lower *l, uint32_t flat)
{
    char text[300];
    snprintf(
        text, sizeof text,
        "node '%.80s' (%.40s) follows the rules of opset %lld: convert the file to opset %d or "
        "later with onnx.version_converter",
        l->label, l->node->op_type, (long long)l->im->opset, ONNX_OPSET_MIN);
    return refuse(l->im, flat, text);
}

/* A file may name more outputs than the operator has. */
static enum pith_status check_outputs(struct onnx_lower *l)
{
    for (uint32_t i = 0; i < l->flat->n_out; i++) {
        const struct onnx_value *v = &l->im->values[l->flat->out + i];
        if (v->live && !v->known && !v->tensor && v->alias == l->flat->out + i)
            return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                       "nothing makes its output %u '%.60s'", i, v->name);
    }
    return PITH_OK;
}

static enum pith_status lower_by_row(struct onnx_lower *l)
{
    l->im->attributes_read = 0;
    enum pith_status status = l->row->lower(l);
    const char *news = status || l->flat->role != ONNX_PLAIN ? NULL : pith_onnx_too_new(l);
    if (news)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "attribute %.60s is newer than opset %d", news, ONNX_OPSET_MAX);
    return status;
}

enum pith_status pith_onnx_lower_bound(struct onnx_lower *l)
{
    pith_op_attr_defaults(l->info, l->attr);
    enum pith_status status = pith_onnx_layer_in_integers(l);
    if (!status && !l->done)
        status = lower_by_row(l);
    if (!status && !l->done)
        status = pith_onnx_finish(l);
    return status;
}

static enum pith_status lower_node(struct onnx_import *im, uint32_t index)
{
    struct onnx_lower l = {.im = im, .flat = &im->flat[index], .node = im->flat[index].node};
    l.label = pith_onnx_label(l.node);
    l.row = pith_onnx_row(im, l.node);
    if (!l.row)
        return refuse(im, index, "");
    im->opset = l.flat->opset;
    if (pith_onnx_too_early(l.node, im->opset))
        return refuse_early(&l, index);
    if (im->n_open)
        return PITH_OK; /* a survey: without shapes, only names can be checked */
    if (l.flat->role == ONNX_END && pith_onnx_settle_end(im, l.flat))
        return PITH_OK;
    bool ready;
    enum pith_status status = bind(&l, &ready);
    if (status || !ready)
        return status;
    l.info = pith_op_get(l.row->op);
    if (!l.info)
        return refuse(im, index, "this build of the runtime does not have it");
    if (im->sized && l.flat->role == ONNX_PLAIN)
        status = pith_onnx_follow_sizes(&l);
    if (!status)
        status = pith_onnx_lower_bound(&l);
    if (!status && im->sized)
        pith_onnx_note_sized(im, l.flat);
    return status || l.flat->role != ONNX_PLAIN ? status : check_outputs(&l);
}

/* Where the order goes on behind place i: the body of a loop that never runs and the branch that is
 * not taken are left out, whatever is in them. */
static uint32_t next_place(const struct onnx_import *im, uint32_t i)
{
    const struct onnx_flat *f = &im->flat[im->order[i]];
    if (f->role != ONNX_BEGIN && f->role != ONNX_ELSE)
        return i + 1;
    const struct onnx_region *r = &im->regions[f->region];
    if (f->role == ONNX_BEGIN && r->never)
        return r->at_end;
    if (f->role == ONNX_BEGIN && r->taken_second)
        return r->at_middle;
    if (f->role == ONNX_ELSE && r->taken_first)
        return r->at_end;
    return i + 1;
}

enum pith_status pith_onnx_lower_all(struct onnx_import *im)
{
    struct pith_error local = {0}, *err = im->err;
    int64_t opset = im->opset;
    im->err = &local; /* keeps the reason of a refusal apart from a failure */
    im->refusals = pith_onnx_alloc(&im->budget, (uint64_t)im->n_order + 1, sizeof *im->refusals);
    enum pith_status status = im->refusals ? PITH_OK : pith_onnx_no_memory(im);
    im->stopped = im->n_order;
    for (uint32_t i = 0; i < im->n_order && !status; i = next_place(im, i)) {
        const uint32_t refused = im->n_refusals;
        status = lower_node(im, im->order[i]);
        if (im->stopped == im->n_order && (status || im->n_refusals > refused))
            im->stopped = i;
        if (status == PITH_ERR_UNSUPPORTED)
            status = refuse(im, im->order[i], local.text);
    }
    if (!status && im->n_refusals)
        status = pith_onnx_drop_refusals(im);
    im->opset = opset;
    im->err = err;
    if (status && err)
        *err = local;
    return status;
}
