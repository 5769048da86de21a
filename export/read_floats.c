/* SPDX-License-Identifier: MIT */
/* read_floats.c - operators on floats. */
#include "reading.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <math.h>
#include <string.h>

/* ---- floats ------------------------------------------------------------------------------------
 */

void pith_export_set_floats(struct reading *r, uint32_t v, uint32_t store)
{
    struct value *x = &r->value[v];
    if (x->form == FORM_BYTE_FUNCTION)
        x->floats = store;
    else
        pith_export_set_stored(r, v, store);
}

static enum pith_status gemm_f32(struct reading *r, const struct pith_node *n)
{
    struct pith_model *m = r->m;
    const struct pith_value *w = &m->values[n->in[1]];
    const struct pith_const *weight = constant_of(m, n->in[1]);
    const uint32_t c = input_of(n, 2);
    const bool gemm = n->op == PITH_OP_GEMM;
    const bool turned = n->attr[gemm ? ATTR_GEMM_TRANS_B : ATTR_MATMUL_TRANS_B] == 0;
    uint32_t x, bias = STORE_NONE;
    if (!weight || w->rank != 2 || w->type != PITH_F32)
        return pith_export_refuse(r, n, "has a second operand that is no constant matrix");
    if (gemm && (n->attr[ATTR_GEMM_TRANS_A] || attr_f32(n->attr, ATTR_GEMM_ALPHA) != 1.0f ||
                 (c != PITH_VALUE_NONE && attr_f32(n->attr, ATTR_GEMM_BETA) != 1.0f)))
        return pith_export_refuse(r, n, "has factors, or a first operand that is transposed");
    const uint32_t k = w->dim[turned ? 0 : 1], outputs = w->dim[turned ? 1 : 0];
    const struct pith_value *b = c == PITH_VALUE_NONE ? NULL : &m->values[c];
    if (b && elems(m, c) != 1 && b->dim[b->rank - 1] != outputs)
        return pith_export_refuse(r, n, "has a bias that is none of its outputs");
    if (b && elems(m, c) == 1 && outputs != 1)
        return pith_export_refuse(r, n, "has one bias for all outputs");
    enum pith_status st = pith_export_floats_of(r, n, n->in[0], &x);
    if (!st && b)
        st = pith_export_floats_of(r, n, c, &bias);
    if (st)
        return st;
    const uint32_t y = pith_export_store_for(r, n->out[0], true);
    const float *from = weight->data;
    if (turned) {
        float *t = pith_model_alloc(m, weight->count, sizeof *t);
        if (!t)
            return PITH_ERR_MEMORY;
        for (uint32_t o = 0; o < outputs; o++)
            for (uint32_t i = 0; i < k; i++)
                t[(size_t)o * k + i] = from[(size_t)i * outputs + o];
        from = t;
    }
    struct step *s = pith_export_new_step(r, STEP_GEMM_F32, n, x, y);
    s->wf = from;
    s->x[1] = bias;
    s->spread = b && elems(m, c) > outputs ? outputs : 0;
    s->k = k;
    s->outputs = outputs;
    s->rows = (uint32_t)(elems(m, n->in[0]) / k);
    s->macs = (uint64_t)k * outputs * s->rows;
    pith_export_set_floats(r, n->out[0], y);
    return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
}

static enum pith_status conv_f32(struct reading *r, const struct pith_node *n)
{
    struct pith_model *m = r->m;
    const struct pith_const *weight = constant_of(m, n->in[1]);
    struct window_shape g;
    uint32_t x, bias = STORE_NONE;
    if (!weight)
        return pith_export_refuse(r, n, "has a weight that is computed");
    if (!pith_export_conv_window(m, n, &g) || !pith_export_is_small(&g))
        return pith_export_refuse(
            r, n, "is no convolution over one or two axes of a few thousand places");
    enum pith_status st = pith_export_floats_of(r, n, n->in[0], &x);
    if (!st && input_of(n, 2) != PITH_VALUE_NONE)
        st = pith_export_floats_of(r, n, n->in[2], &bias);
    if (st)
        return st;
    const uint32_t y = pith_export_store_for(r, n->out[0], true);
    struct step *s = pith_export_new_step(r, STEP_CONV_F32, n, x, y);
    s->g = g;
    s->wf = weight->data;
    s->x[1] = bias;
    s->outputs = g.oc;
    s->k = g.c / g.groups * g.kh * g.kw;
    s->macs = (uint64_t)s->k * g.oc * g.oh * g.ow;
    pith_export_set_floats(r, n->out[0], y);
    return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
}

/* Of element-wise functions that are no activations; ACT_NONE: no C kernel has it. A power is one
 * with the constant exponent 2. */
static uint32_t function_of(const struct reading *r, const struct pith_node *n)
{
    if (n->op == PITH_OP_POWER) {
        const struct pith_const *c = constant_of(r->m, n->in[1]);
        const enum pith_type type = r->m->values[n->in[1]].type;
        const bool squares =
            c && c->count == 1 &&
            (type == PITH_F32   ? *(const float *)c->data == 2.0f
             : type == PITH_I64 ? *(const int64_t *)c->data == 2
                                : type == PITH_I32 && *(const int32_t *)c->data == 2);
        return squares ? FUNCTION_SQUARE : ACT_NONE;
    }
    switch (n->attr[ATTR_KIND]) {
    case UNARY_SQRT:
        return FUNCTION_SQRT;
    case UNARY_RECIPROCAL:
        return FUNCTION_RECIPROCAL;
    case UNARY_NEG:
        return FUNCTION_NEG;
    case UNARY_EXP:
        return FUNCTION_EXP;
    default:
        return ACT_NONE;
    }
}

static enum pith_status activate(struct reading *r, const struct pith_node *n)
{
    struct epilogue_act act = pith_activation_of(pith_op_get(n->op), n->attr);
    uint32_t x;
    if (n->op == PITH_OP_POWER || n->op == PITH_OP_UNARY)
        act.kind = function_of(r, n);
    if (act.kind == ACT_NONE || act.kind == ACT_GELU || act.kind == ACT_GELU_TANH)
        return pith_export_refuse(r, n, "has no C kernel on floats");
    enum pith_status st = pith_export_floats_of(r, n, n->in[0], &x);
    if (st)
        return st;
    const uint32_t y = pith_export_store_for(r, n->out[0], true);
    struct step *s = pith_export_new_step(r, STEP_ACTIVATE, n, x, y);
    s->act = act.kind;
    s->act_a = act.a;
    s->act_b = act.b;
    pith_export_set_floats(r, n->out[0], y);
    return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
}

/* Numpy's broadcasting over four axes. */
static bool broadcast_steps(const struct pith_value *x, const struct pith_value *y,
                            uint32_t step[4])
{
    uint32_t at = 1;
    if (y->rank > 4)
        return false;
    for (uint32_t i = 0; i < 4; i++)
        step[i] = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        const uint32_t dim = x->dim[x->rank - 1 - i];
        step[3 - i] = dim == 1 ? 0 : at;
        at *= dim;
    }
    return true;
}

static enum pith_status binary(struct reading *r, const struct pith_node *n)
{
    struct pith_model *m = r->m;
    const struct pith_value *y = &m->values[n->out[0]];
    uint32_t x[2], step[2][4];
    for (uint32_t i = 0; i < 2; i++) {
        enum pith_status st = pith_export_floats_of(r, n, n->in[i], &x[i]);
        if (st)
            return st;
        if (!broadcast_steps(&m->values[n->in[i]], y, step[i]))
            return pith_export_refuse(r, n, "has more than four axes");
    }
    const uint32_t to = pith_export_store_for(r, n->out[0], true);
    struct step *s = pith_export_new_step(r, STEP_BINARY_F32, n, x[0], to);
    s->x[1] = x[1];
    s->op = n->op;
    for (uint32_t i = 0; i < 4; i++)
        s->dim[i] = i + y->rank >= 4 ? y->dim[i + y->rank - 4] : 1;
    memcpy(s->x_step, step, sizeof step);
    pith_export_set_floats(r, n->out[0], to);
    return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
}

static enum pith_status softmax(struct reading *r, const struct pith_node *n)
{
    const struct pith_value *v = &r->m->values[n->in[0]];
    const uint32_t axis = (uint32_t)n->attr[ATTR_SOFTMAX_AXIS];
    uint32_t x;
    enum pith_status st = pith_export_floats_of(r, n, n->in[0], &x);
    if (st)
        return st;
    const uint32_t y = pith_export_store_for(r, n->out[0], true);
    struct step *s = pith_export_new_step(r, STEP_SOFTMAX, n, x, y);
    s->rows = 1;
    for (uint32_t i = 0; i < axis; i++)
        s->rows *= v->dim[i];
    s->k = (uint32_t)(elems(r->m, n->in[0]) / s->rows);
    s->columns = 1;
    for (uint32_t i = axis + 1; i < v->rank && !n->attr[ATTR_SOFTMAX_FLAT]; i++)
        s->columns *= v->dim[i];
    s->k /= s->columns;
    s->kind = s->columns > 1 ? STEP_SOFTMAX_COLUMNS : STEP_SOFTMAX;
    pith_export_set_floats(r, n->out[0], y);
    return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
}

/* x * s + t, with the factors that the runtime makes of scale, bias, mean and variance. */
static enum pith_status batch_norm(struct reading *r, const struct pith_node *n)
{
    struct pith_model *m = r->m;
    const struct pith_value *v = &m->values[n->out[0]];
    const uint32_t channels = v->dim[1];
    const float *p[4];
    uint32_t x;
    for (uint32_t i = 0; i < 4; i++) {
        const struct pith_const *c = constant_of(m, n->in[1 + i]);
        if (!c || v->dim[0] != 1)
            return pith_export_refuse(r, n, "has statistics that are computed, or is of a batch");
        p[i] = c->data;
    }
    enum pith_status st = pith_export_floats_of(r, n, n->in[0], &x);
    if (st)
        return st;
    const uint32_t y = pith_export_store_for(r, n->out[0], true);
    float *f = pith_model_alloc(m, 2ull * channels, sizeof *f);
    struct step *s = pith_export_new_step(r, STEP_SCALE_SHIFT, n, x, y);
    if (!f || r->no_memory)
        return PITH_ERR_MEMORY;
    for (uint32_t c = 0; c < channels; c++) {
        f[c] = p[0][c] / sqrtf(p[3][c] + attr_f32(n->attr, ATTR_BN_EPSILON));
        f[channels + c] = p[1][c] - p[2][c] * f[c];
    }
    s->factor = f;
    s->outputs = channels;
    s->k = (uint32_t)(elems(m, n->out[0]) / channels);
    pith_export_set_floats(r, n->out[0], y);
    return PITH_OK;
}

static enum pith_status pool_f32(struct reading *r, const struct pith_node *n)
{
    struct window_shape g;
    uint32_t x;
    const bool is_max = n->op == PITH_OP_MAX_POOL || n->op == PITH_OP_GLOBAL_MAX_POOL;
    if (!pith_export_pool_window(r->m, n, &g))
        return pith_export_refuse(r, n, "has windows that are dilated or wide");
    enum pith_status st = pith_export_floats_of(r, n, n->in[0], &x);
    if (st)
        return st;
    const uint32_t y = pith_export_store_for(r, n->out[0], true);
    struct step *s = pith_export_new_step(
        r, !is_max && pith_export_is_whole(&g) ? STEP_MEAN_F32 : STEP_POOL_F32, n, x, y);
    s->g = g;
    s->largest = is_max;
    s->include_pad = n->op == PITH_OP_AVERAGE_POOL && n->attr[ATTR_POOL_INCLUDE_PAD];
    if (s->include_pad && n->attr[ATTR_POOL_CEIL])
        return pith_export_refuse(r, n, "counts its padding in windows of ceil mode");
    pith_export_set_floats(r, n->out[0], y);
    return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
}

/* Over the last axes: rows of neighbours. */
static enum pith_status mean_of_rows(struct reading *r, const struct pith_node *n)
{
    const struct pith_value *v = &r->m->values[n->in[0]];
    const uint32_t named = (uint32_t)attr_count(n->attr, ATTR_AXES), axes = named ? named : v->rank;
    uint64_t row = 1;
    uint32_t x;
    for (uint32_t i = 0; i < axes; i++) {
        bool reduced = !named;
        for (uint32_t k = 0; k < named; k++)
            reduced = reduced || (uint32_t)n->attr[ATTR_AXES + 1 + k] == v->rank - 1 - i;
        if (!reduced)
            return pith_export_refuse(r, n, "is over axes that are not the last ones");
        row *= v->dim[v->rank - 1 - i];
    }
    enum pith_status st = pith_export_floats_of(r, n, n->in[0], &x);
    if (st)
        return st;
    const uint32_t y = pith_export_store_for(r, n->out[0], true);
    struct step *s = pith_export_new_step(r, STEP_MEAN_F32, n, x, y);
    s->g = (struct window_shape){
        .c = (uint32_t)(elems(r->m, n->in[0]) / row), .h = 1, .w = (uint32_t)row};
    pith_export_set_floats(r, n->out[0], y);
    return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
}

enum pith_status pith_export_float_step(struct reading *r, const struct pith_node *n)
{
    switch (n->op) {
    case PITH_OP_GEMM:
    case PITH_OP_MATMUL:
        return gemm_f32(r, n);
    case PITH_OP_CONV:
        return conv_f32(r, n);
    case PITH_OP_RELU:
    case PITH_OP_LEAKY_RELU:
    case PITH_OP_CLIP:
    case PITH_OP_SIGMOID:
    case PITH_OP_TANH:
    case PITH_OP_HARD_SIGMOID:
    case PITH_OP_HARD_SWISH:
    case PITH_OP_UNARY:
    case PITH_OP_POWER:
        return activate(r, n);
    case PITH_OP_REDUCE_MEAN:
        return mean_of_rows(r, n);
    case PITH_OP_ADD:
    case PITH_OP_SUB:
    case PITH_OP_MUL:
    case PITH_OP_DIV:
        return binary(r, n);
    case PITH_OP_SOFTMAX:
        return softmax(r, n);
    case PITH_OP_BATCH_NORM:
        return batch_norm(r, n);
    case PITH_OP_MAX_POOL:
    case PITH_OP_AVERAGE_POOL:
    case PITH_OP_GLOBAL_MAX_POOL:
    case PITH_OP_GLOBAL_AVERAGE_POOL:
        return pool_f32(r, n);
    default:
        return pith_export_refuse(r, n, "has no C kernel");
    }
}
