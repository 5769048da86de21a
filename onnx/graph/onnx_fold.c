/* SPDX-License-Identifier: MIT */
/* onnx_fold.c - a node whose inputs are all constant is computed at import, by the operator's own
 * reference implementation: what is folded is by construction what would have been computed. */
#include "onnx.h"
#include "core/integer_at.h"
#include "kernels/kernels.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_exec.h"

/* A network does not hide days of work in its constants; a hostile file may try. */
#define FOLD_MAX_MACS (UINT64_C(1) << 30)

struct fold {
    struct onnx_lower *l;
    struct op_args args;
    struct op_env env;
    void *scratch, *prep_scratch;
    bool other; /* under the other batch */
};

static enum pith_status load_inputs(struct fold *f)
{
    struct onnx_import *im = f->l->im;
    for (uint32_t i = 0; i < f->l->n_in; i++) {
        if (f->l->in[i] == ONNX_VALUE_NONE)
            continue;
        enum pith_status status = pith_onnx_load(im, f->l->in[i]);
        if (status)
            return status;
        const struct onnx_value *v = &im->values[f->l->in[i]];
        im->view[i].data = f->other && v->varies && v->other_data ? v->other_data : v->data;
    }
    return PITH_OK;
}

static enum pith_status alloc_outputs(struct fold *f)
{
    struct onnx_import *im = f->l->im;
    for (uint32_t i = 0; i < f->l->n_out; i++) {
        struct onnx_value *v = &im->values[f->l->first_out + i];
        const struct shape *s = &f->args.out[i]->shape;
        void *data = pith_onnx_alloc(&im->budget, shape_elems(s), pith_type_bytes(v->type));
        if (!data)
            return pith_onnx_no_memory(im);
        f->args.out[i]->data = data;
        if (f->other)
            v->other_data = data;
        else
            v->data = data;
        v->constant = true;
    }
    return PITH_OK;
}

static enum pith_status prepare(struct fold *f, const struct op_need *need)
{
    struct onnx_budget *b = &f->l->im->budget;
    f->args.prep = pith_onnx_alloc(b, need->prep_bytes + 64, 1);
    f->prep_scratch = pith_onnx_alloc(b, need->prep_scratch_bytes + 128, 1);
    f->scratch = pith_onnx_alloc(b, need->scratch_bytes + 128, 1);
    if (!f->args.prep || !f->prep_scratch || !f->scratch)
        return pith_onnx_no_memory(f->l->im);
    void *prep = f->args.prep;
    /* as in a plan: with no bytes requested there is no prep, which operators test */
    f->args.prep = need->prep_bytes ? (void *)(((uintptr_t)prep + 63) & ~(uintptr_t)63) : NULL;
    f->env.scratch = (void *)(((uintptr_t)f->prep_scratch + 63) & ~(uintptr_t)63);
    enum pith_status status = PITH_OK;
    if (f->args.prep && f->args.info->prepare)
        status = f->args.info->prepare(&f->args, &f->env);
    f->env.scratch = (void *)(((uintptr_t)f->scratch + 63) & ~(uintptr_t)63);
    if (!status)
        f->args.info->run(&f->args, &f->env);
    pith_onnx_free(b, prep);
    pith_onnx_free(b, f->prep_scratch);
    pith_onnx_free(b, f->scratch);
    return status;
}

static bool all_constant(const struct onnx_lower *l)
{
    bool any = false;
    for (uint32_t i = 0; i < l->n_in; i++) {
        if (l->in[i] == ONNX_VALUE_NONE)
            continue;
        if (!l->im->values[l->in[i]].constant)
            return false;
        any = true;
    }
    return any;
}

static enum pith_status compute(struct onnx_lower *l, const struct op_args *args, bool other,
                                bool *folded)
{
    struct pith_kernels kernels;
    pith_kernels_fill(&kernels, 0);
    struct fold f = {.l = l, .args = *args, .env = {.kernels = &kernels}, .other = other};
    struct op_need need = {0};
    uint64_t lowered[(OP_LOWERED_MAX + 7) / 8] = {0};
    f.args.lowered = lowered;
    if (args->info->need && args->info->need(&f.args, &f.env, &need))
        return PITH_OK; /* stays a node */
    if (need.macs > FOLD_MAX_MACS)
        return PITH_OK;
    enum pith_status status = load_inputs(&f);
    if (!status)
        status = alloc_outputs(&f);
    if (!status)
        status = prepare(&f, &need);
    *folded = !status;
    return status;
}

/* The integers that a DequantizeLinear folds, so that a file can have them again. */
static enum pith_status note_integers(struct onnx_lower *l)
{
    struct onnx_import *im = l->im;
    const struct onnx_value *q = &im->values[l->in[0]], *scale = &im->values[l->in[1]];
    const void *zero =
        l->n_in > 2 && l->in[2] != ONNX_VALUE_NONE ? im->values[l->in[2]].data : NULL;
    if (q->type != PITH_I8 && q->type != PITH_U8 && q->type != PITH_I16 && q->type != PITH_U16)
        return PITH_OK;
    struct pith_integers *g = pith_onnx_alloc(&im->budget, 1, sizeof *g);
    if (!g)
        return pith_onnx_no_memory(im);
    *g = (struct pith_integers){.type = q->type,
                                .n = shape_elems(&scale->shape),
                                .axis = (uint32_t)l->attr[ATTR_QUANTIZE_AXIS],
                                .block = (uint64_t)l->attr[ATTR_QUANTIZE_BLOCK]};
    g->block = g->block == 1 && scale->shape.rank == 1 ? 0 : g->block;
    g->scale = pith_onnx_alloc(&im->budget, g->n, sizeof *g->scale);
    g->zero = pith_onnx_alloc(&im->budget, g->n, sizeof *g->zero);
    if (!g->scale || !g->zero)
        return pith_onnx_no_memory(im);
    memcpy(g->scale, scale->data, g->n * sizeof *g->scale);
    for (uint64_t i = 0; i < g->n; i++)
        g->zero[i] = zero ? integer_at(q->type, zero, i) : 0;
    im->values[l->first_out].integers = g;
    return PITH_OK;
}

enum pith_status pith_onnx_fold(struct onnx_lower *l, const struct op_args *args, bool *folded)
{
    *folded = false;
    if (args->info->flags & OP_CONTROL || args->info->op == PITH_OP_NON_MAX_SUPPRESSION)
        return PITH_OK;
    enum pith_status status = PITH_OK;
    if (all_constant(l) && !l->im->no_fold)
        status = compute(l, args, false, folded);
    if (status || !*folded)
        return status;
    if (l->info->op == PITH_OP_DEQUANTIZE)
        return note_integers(l);
    if (l->info->traits.flags & TRAIT_MOVES && l->n_in == 1)
        l->im->values[l->first_out].integers = l->im->values[l->in[0]].integers;
    return PITH_OK;
}

enum pith_status pith_onnx_fold_other(struct onnx_lower *l, const struct op_args *args)
{
    struct onnx_import *im = l->im;
    bool done = false;
    enum pith_status status = compute(l, args, true, &done);
    im->batch_open = im->batch_open && done;
    for (uint32_t i = 0; i < l->n_out && done; i++) {
        struct onnx_value *v = &im->values[l->first_out + i];
        size_t bytes = shape_elems(&v->shape) * pith_type_bytes(v->type);
        v->varies = v->varies || memcmp(v->data, v->other_data, bytes) != 0;
    }
    return status;
}
