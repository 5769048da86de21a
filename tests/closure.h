/* SPDX-License-Identifier: MIT */
/* closure.h - what export writes, import reads, and it is the same network: outputs of the same
 * types, shapes and, where the caller says that they may be compared, numbers. */
#ifndef CLOSURE_H
#define CLOSURE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "pith_host.h"
#include "pith_model.h"
#include "pith_onnx.h"
#include "onnx/onnx_read.h"
#include "pith_pack.h"

#define CLOSURE_PLAN_BYTES (16u << 20)
#define CLOSURE_STEPS 2000u
#define CLOSURE_MACS 20000000u

enum closure {
    CLOSURE_SAME,        /* written again it is the same file */
    CLOSURE_EQUAL,       /* another graph, the same outputs */
    CLOSURE_NOT_OURS,    /* ONNX of that opset cannot say it, and the message says so */
    CLOSURE_NOT_RUN,     /* too large, or without an end: the types alone are the same */
    CLOSURE_NOT_READ,    /* import refuses what export wrote */
    CLOSURE_OTHER_TYPES, /* outputs of other types or shapes */
    CLOSURE_OTHER_OUTPUTS
};

static inline bool closure_may_run(struct pith_plan *plan)
{
    struct pith_layer layer;
    uint64_t macs = 0;
    for (uint32_t i = 0; pith_plan_layer(plan, i, &layer) == PITH_OK; i++)
        macs += layer.macs;
    return macs <= CLOSURE_MACS;
}

static inline void closure_fill(struct pith_plan *plan)
{
    struct pith_tensor t;
    for (uint32_t k = 0; pith_plan_input(plan, k, &t) == PITH_OK; k++) {
        float *x = pith_plan_input_data(plan, k);
        memset(x, 0, (size_t)t.bytes);
        for (uint64_t i = 0; t.type == PITH_F32 && i < t.bytes / sizeof *x; i++)
            x[i] = (float)((i * 37 + k * 11) % 33) / 16.0f - 1.0f;
    }
}

/* NULL: it cannot be planned, or run to its end. */
static inline struct pith_session *closure_run(const struct pith_buffer *file)
{
    struct pith_session *s = NULL;
    struct pith_opts opts = {.size_bytes = sizeof opts,
                             .flags = PITH_FLAG_NO_FUSION,
                             .cpu_mask = PITH_CPU_REF,
                             .max_bytes = CLOSURE_PLAN_BYTES,
                             .max_steps = CLOSURE_STEPS};
    if (pith_open_memory(file->data, file->bytes, &opts, &s, NULL))
        return NULL;
    closure_fill(pith_plan_of(s));
    if (closure_may_run(pith_plan_of(s)) && pith_plan_run(pith_plan_of(s)) == PITH_OK)
        return s;
    pith_close(s);
    return NULL;
}

static inline bool closure_same_numbers(const struct pith_tensor *x, const struct pith_tensor *y)
{
    const float *p = x->data, *q = y->data;
    if (x->type != PITH_F32)
        return memcmp(x->data, y->data, (size_t)x->bytes) == 0;
    for (uint64_t i = 0; i < x->bytes / sizeof *p; i++)
        if (!(fabsf(p[i] - q[i]) <= 1e-4f * (1 + fabsf(p[i]))) && isfinite(p[i]))
            return false;
    return true;
}

static inline enum closure closure_compare_runs(const struct pith_buffer *a,
                                                const struct pith_buffer *b, bool numbers)
{
    enum closure found = CLOSURE_NOT_RUN;
    struct pith_session *x = closure_run(a), *y = closure_run(b);
    struct pith_tensor p, q;
    if (x && y) {
        found = CLOSURE_EQUAL;
        for (uint32_t i = 0; numbers && pith_plan_output(pith_plan_of(x), i, &p) == PITH_OK; i++)
            if (pith_plan_output(pith_plan_of(y), i, &q) || p.bytes != q.bytes ||
                p.type != q.type || !closure_same_numbers(&p, &q))
                found = CLOSURE_OTHER_OUTPUTS;
    }
    pith_close(x);
    pith_close(y);
    return found;
}

static inline bool closure_same_types(const struct pith_model *a, const struct pith_model *b)
{
    bool same = a->n_outputs == b->n_outputs;
    for (uint32_t i = 0; i < a->n_outputs && same; i++) {
        const struct pith_value *x = &a->values[a->outputs[i]], *y = &b->values[b->outputs[i]];
        same = x->type == y->type && x->rank == y->rank &&
               memcmp(x->dim, y->dim, x->rank * sizeof *x->dim) == 0;
    }
    return same;
}

static inline enum closure closure_compare(const struct pith_model *m,
                                           const struct pith_model *back,
                                           const struct pith_buffer *onnx, bool numbers)
{
    struct pith_buffer again = {0}, a = {0}, b = {0};
    enum closure found = CLOSURE_NOT_RUN;
    if (!closure_same_types(m, back))
        return CLOSURE_OTHER_TYPES;
    if (!pith_model_pack(m, NULL, &a, NULL) && !pith_model_pack(back, NULL, &b, NULL))
        found = closure_compare_runs(&a, &b, numbers);
    if (found != CLOSURE_OTHER_OUTPUTS && !pith_model_write_onnx(back, &again, NULL) &&
        again.bytes == onnx->bytes && memcmp(again.data, onnx->data, again.bytes) == 0)
        found = CLOSURE_SAME;
    pith_buffer_free(&again);
    pith_buffer_free(&a);
    pith_buffer_free(&b);
    return found;
}

/* err: why import refused. */
static inline enum closure closure_of(const struct pith_model *m, bool numbers,
                                      struct pith_error *err)
{
    struct pith_buffer onnx;
    struct pith_model *back = NULL;
    enum pith_status st = pith_model_write_onnx(m, &onnx, err);
    if (st)
        return st == PITH_ERR_UNSUPPORTED && err->text[0] ? CLOSURE_NOT_OURS : CLOSURE_NOT_READ;
    enum closure found = CLOSURE_NOT_READ;
    if (pith_onnx_read(onnx.data, onnx.bytes, "back", NULL, &back, err) == PITH_OK)
        found = closure_compare(m, back, &onnx, numbers);
    pith_model_free(back);
    pith_buffer_free(&onnx);
    return found;
}

#endif
