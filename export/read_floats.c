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

/* The step of n, which reads the inputs of `inputs`, a bit for each, as floats and writes floats.
 */
static enum pith_status float_step(struct reading *r, const struct pith_node *n,
                                   enum step_kind kind, uint32_t inputs, struct step **s)
{
    uint32_t x[STEP_INPUTS], at = 0;
    memset(x, 0xff, sizeof x); /* STORE_NONE */
    for (uint32_t i = 0; inputs >> i; i++) {
        if (!(inputs >> i & 1u))
            continue;
        if (input_of(n, i) != PITH_VALUE_NONE) {
            enum pith_status st = pith_export_floats_of(r, n, n->in[i], &x[at]);
            if (st)
                return st;
        }
        at++;
    }
    const uint32_t y = pith_export_store_for(r, n->out[0], ELEMENT_F32);
    *s = pith_export_new_step(r, kind, n, x[0], y);
    memcpy((*s)->x, x, sizeof x);
    pith_export_set_floats(r, n->out[0], y);
    return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
}

/* rows x columns floats as columns x rows; NULL: no memory. */
static const float *transposed(struct reading *r, const float *from, uint32_t rows,
                               uint32_t columns)
{
    float *to = pith_model_alloc(r->m, (uint64_t)rows * columns, sizeof *to);
    for (uint32_t i = 0; to && i < rows; i++)
        for (uint32_t k = 0; k < columns; k++)
            to[(size_t)k * rows + i] = from[(size_t)i * columns + k];
    return to;
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

/* Of two values that are computed, or of a constant of more axes than two. */
static enum pith_status products(struct reading *r, const struct pith_node *n)
{
    struct pith_model *m = r->m;
    const bool gemm = n->op == PITH_OP_GEMM, turned_a = gemm && n->attr[ATTR_GEMM_TRANS_A],
               turned_b = n->attr[gemm ? ATTR_GEMM_TRANS_B : ATTR_MATMUL_TRANS_B] != 0;
    struct pith_value v[2] = {m->values[n->in[0]], m->values[n->in[1]]}, y = m->values[n->out[0]];
    struct step *s;
    enum pith_status st = float_step(r, n, STEP_PRODUCTS, 7, &s);
    if (st)
        return st;
    if (v[0].rank == 1 || v[1].rank == 1) { /* a row, or a column, whose axis y lacks */
        if (v[1].rank == 1)
            y.dim[y.rank++] = 1;
        if (v[0].rank == 1) {
            y.dim[y.rank] = y.dim[y.rank - 1];
            y.dim[y.rank - 1] = 1;
            y.rank++;
        }
        for (uint32_t i = 0; i < 2; i++)
            if (v[i].rank == 1) {
                v[i].rank = 2;
                v[i].dim[!i] = v[i].dim[0];
                v[i].dim[i] = 1;
            }
    }
    s->product.k = v[0].dim[v[0].rank - (turned_a ? 2 : 1)];
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t *step = s->loops.step[i];
        if (!broadcast_steps(&v[i], &y, step))
            return pith_export_refuse(r, n, "has more than two axes of batches");
        const uint32_t columns = v[i].dim[v[i].rank - 1];
        const bool turned = i ? !turned_b : turned_a; /* its last axis is not k */
        step[2] = turned ? 1 : columns;
        step[3] = turned ? columns : 1;
    }
    if (input_of(n, 2) != PITH_VALUE_NONE)
        broadcast_steps(&m->values[n->in[2]], &y, s->loops.step[2]);
    for (uint32_t i = 0; i < 4; i++)
        s->loops.dim[i] = i + y.rank >= 4 ? y.dim[i + y.rank - 4] : 1;
    s->macs = elems(m, n->out[0]) * s->product.k;
    return PITH_OK;
}

static enum pith_status gemm_f32(struct reading *r, const struct pith_node *n)
{
    struct pith_model *m = r->m;
    const struct pith_value *w = &m->values[n->in[1]];
    const struct pith_const *weight = constant_of(m, n->in[1]);
    const uint32_t c = input_of(n, 2);
    const bool gemm = n->op == PITH_OP_GEMM;
    const bool turned = n->attr[gemm ? ATTR_GEMM_TRANS_B : ATTR_MATMUL_TRANS_B] == 0;
    struct step *s;
    if (gemm && (attr_f32(n->attr, ATTR_GEMM_ALPHA) != 1.0f ||
                 (c != PITH_VALUE_NONE && attr_f32(n->attr, ATTR_GEMM_BETA) != 1.0f)))
        return pith_export_refuse(r, n, "has factors");
    if (!weight || w->rank != 2 || (gemm && n->attr[ATTR_GEMM_TRANS_A]))
        return products(r, n);
    const uint32_t k = w->dim[turned ? 0 : 1], outputs = w->dim[turned ? 1 : 0];
    const struct pith_value *b = c == PITH_VALUE_NONE ? NULL : &m->values[c];
    if (b && (elems(m, c) == 1 ? outputs != 1 : b->dim[b->rank - 1] != outputs))
        return products(r, n);
    enum pith_status st = float_step(r, n, STEP_GEMM_F32, 1 | 4, &s);
    if (st)
        return st;
    s->product.wf = turned ? transposed(r, weight->data, k, outputs) : weight->data;
    s->spread = b && elems(m, c) > outputs ? outputs : 0;
    s->product.k = k;
    s->outputs = outputs;
    s->rows = (uint32_t)(elems(m, n->in[0]) / k);
    s->macs = (uint64_t)k * outputs * s->rows;
    return s->product.wf ? PITH_OK : PITH_ERR_MEMORY;
}

/* Transposed: filters [inputs][outputs / groups][taps], which become [outputs][inputs /
 * groups][taps] as those of a convolution are. */
static const float *turned_filters(struct reading *r, const float *from,
                                   const struct window_shape *g)
{
    const uint32_t taps = g->kh * g->kw, inputs = g->c / g->groups, outputs = g->oc / g->groups;
    float *w = pith_model_alloc(r->m, (uint64_t)g->oc * inputs * taps, sizeof *w);
    for (uint32_t o = 0; w && o < g->oc; o++)
        for (uint32_t c = 0; c < inputs; c++)
            memcpy(w + ((size_t)o * inputs + c) * taps,
                   from + ((size_t)(o / outputs * inputs + c) * outputs + o % outputs) * taps,
                   taps * sizeof *w);
    return w;
}

static enum pith_status conv_f32(struct reading *r, const struct pith_node *n)
{
    const struct pith_const *weight = constant_of(r->m, n->in[1]);
    struct window_shape g;
    struct step *s;
    if (!weight)
        return pith_export_refuse(r, n, "has a weight that is computed");
    if (!pith_export_conv_window(r->m, n, &g) || !pith_export_is_small(&g))
        return pith_export_refuse(
            r, n, "is no convolution over one or two axes of a few thousand places");
    enum pith_status st = float_step(r, n, STEP_CONV_F32, 1 | 4, &s);
    if (st)
        return st;
    s->transposed = n->op == PITH_OP_CONV_TRANSPOSE;
    s->g = g;
    s->product.wf = s->transposed ? turned_filters(r, weight->data, &g) : weight->data;
    s->outputs = g.oc;
    s->product.k = g.c / g.groups * g.kh * g.kw;
    s->macs = (uint64_t)s->product.k * g.oc * (s->transposed ? g.h * g.w : g.oh * g.ow);
    return s->product.wf ? PITH_OK : PITH_ERR_MEMORY;
}

/* Softmax(q k^T) v; steps of q, k, v, y: heads, rows, of k then the heads of q that share one; of
 * the mask: heads, queries, keys. */
static enum pith_status attention(struct reading *r, const struct pith_node *n)
{
    struct pith_model *m = r->m;
    const uint32_t layout = (uint32_t)n->attr[ATTR_ATTENTION_LAYOUT], mask = input_of(n, 3);
    const struct pith_value *q = &m->values[n->in[0]], *v = &m->values[n->in[2]];
    struct step *s;
    if (q->dim[0] != 1)
        return pith_export_refuse(r, n, "is of a batch");
    if (mask != PITH_VALUE_NONE && m->values[mask].type != PITH_F32)
        return pith_export_refuse(r, n, "has a mask that is not added");
    enum pith_status st = float_step(r, n, STEP_ATTENTION, 15, &s);
    if (st)
        return st;
    for (uint32_t i = 0; i < 4; i++) {
        const struct pith_value *x = &m->values[i < 3 ? n->in[i] : n->out[0]];
        const bool rows_first = layout >> i & 1u;
        s->loops.step[i][rows_first] = x->dim[2] * x->dim[3];
        s->loops.step[i][!rows_first] = x->dim[3];
    }
    s->loops.dim[0] = q->dim[layout & 1u ? 2 : 1];
    s->loops.dim[1] = q->dim[layout & 1u ? 1 : 2];
    s->loops.dim[2] = v->dim[layout & 4u ? 1 : 2];
    s->loops.dim[3] = q->dim[3];
    s->product.k = v->dim[3];
    s->loops.step[1][2] = s->loops.dim[0] / v->dim[layout & 4u ? 2 : 1];
    if (mask != PITH_VALUE_NONE) {
        const struct pith_value scores = {.rank = 4};
        uint32_t step[4];
        broadcast_steps(&m->values[mask], &scores, step);
        memcpy(s->loops.step[4], step + 1, 3 * sizeof *step);
    }
    s->act.a = attr_f32(n->attr, ATTR_ATTENTION_SCALE);
    s->scratch.bytes = 4ull * s->loops.dim[2];
    s->macs = (uint64_t)s->loops.dim[0] * s->loops.dim[1] * s->loops.dim[2] *
              (s->loops.dim[3] + s->product.k);
    return PITH_OK;
}

/* `rows` groups of k neighbours, `columns` of which have one scale and bias; these begin anew after
 * `spread` groups. */
static enum pith_status normalize(struct reading *r, const struct pith_node *n)
{
    const struct pith_value *v = &r->m->values[n->in[0]];
    const bool layer = n->op == PITH_OP_LAYER_NORM;
    const uint32_t all = (uint32_t)elems(r->m, n->in[0]);
    struct step *s;
    enum pith_status st = float_step(r, n, STEP_NORMALIZE, 7, &s);
    if (st)
        return st;
    s->act.a = attr_f32(n->attr, layer ? ATTR_LAYER_NORM_EPSILON : ATTR_GROUP_NORM_EPSILON);
    s->about_zero = layer && n->attr[ATTR_LAYER_NORM_ABOUT_ZERO];
    s->columns = s->spread = s->rows = 1;
    if (layer) {
        for (uint32_t i = 0; i < (uint32_t)n->attr[ATTR_LAYER_NORM_AXIS]; i++)
            s->rows *= v->dim[i];
        s->product.k = all / s->rows;
        return PITH_OK;
    }
    s->spread = (uint32_t)n->attr[ATTR_GROUP_NORM_GROUPS];
    s->spread = s->spread ? s->spread : v->dim[1];
    s->rows = v->dim[0] * s->spread;
    s->product.k = all / s->rows;
    s->columns = s->product.k / (uint32_t)(elems(r->m, n->in[1]) / s->spread);
    return PITH_OK;
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
    struct dense_act act = pith_activation_of(pith_op_get(n->op), n->attr);
    struct step *s;
    if (act.kind == ACT_NONE)
        act.kind = function_of(r, n);
    if (act.kind == ACT_NONE)
        return pith_export_refuse(r, n, "has no C kernel on floats");
    enum pith_status st = float_step(r, n, STEP_ACTIVATE, 1, &s);
    if (st)
        return st;
    s->act.kind = act.kind;
    s->act.a = act.a;
    s->act.b = act.b;
    return PITH_OK;
}

static enum pith_status binary(struct reading *r, const struct pith_node *n)
{
    const struct pith_value *y = &r->m->values[n->out[0]];
    struct step *s;
    enum pith_status st = float_step(r, n, STEP_BINARY_F32, 3, &s);
    if (st)
        return st;
    for (uint32_t i = 0; i < 2; i++)
        if (!broadcast_steps(&r->m->values[n->in[i]], y, s->loops.step[i]))
            return pith_export_refuse(r, n, "has more than four axes");
    s->op = n->op;
    for (uint32_t i = 0; i < 4; i++)
        s->loops.dim[i] = i + y->rank >= 4 ? y->dim[i + y->rank - 4] : 1;
    return PITH_OK;
}

/* `rows` blocks of k rows, each of `columns` elements behind the axis. */
static void along_axis(const struct pith_value *v, uint32_t axis, bool flat, struct step *s)
{
    s->rows = s->product.k = s->columns = 1;
    for (uint32_t i = 0; i < v->rank; i++)
        *(i < axis ? &s->rows : i == axis || flat ? &s->product.k : &s->columns) *= v->dim[i];
}

static enum pith_status softmax(struct reading *r, const struct pith_node *n)
{
    struct step *s;
    enum pith_status st = float_step(r, n, STEP_SOFTMAX, 1, &s);
    if (st)
        return st;
    along_axis(&r->m->values[n->in[0]], (uint32_t)n->attr[ATTR_SOFTMAX_AXIS],
               n->attr[ATTR_SOFTMAX_FLAT] != 0, s);
    return PITH_OK;
}

static enum pith_status arg(struct reading *r, const struct pith_node *n)
{
    uint32_t x;
    enum pith_status st = pith_export_floats_of(r, n, n->in[0], &x);
    if (st)
        return st;
    const uint32_t y = pith_export_store_for(r, n->out[0], ELEMENT_I64);
    struct step *s = pith_export_new_step(r, STEP_ARG, n, x, y);
    along_axis(&r->m->values[n->in[0]], (uint32_t)n->attr[ATTR_ARG_AXIS], false, s);
    s->pool.smallest = n->attr[ATTR_KIND] == ARG_MIN;
    s->pool.largest = n->attr[ATTR_ARG_LAST] != 0;
    pith_export_set_stored(r, n->out[0], y);
    return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
}

/* x * s + t, with the factors that the runtime makes of scale, bias, mean and variance. */
static enum pith_status batch_norm(struct reading *r, const struct pith_node *n)
{
    struct pith_model *m = r->m;
    const struct pith_value *v = &m->values[n->out[0]];
    const uint32_t channels = v->dim[1];
    const float *p[4];
    struct step *s;
    for (uint32_t i = 0; i < 4; i++) {
        const struct pith_const *c = constant_of(m, n->in[1 + i]);
        if (!c || v->dim[0] != 1)
            return pith_export_refuse(r, n, "has statistics that are computed, or is of a batch");
        p[i] = c->data;
    }
    enum pith_status st = float_step(r, n, STEP_SCALE_SHIFT, 1, &s);
    float *f = pith_model_alloc(m, 2ull * channels, sizeof *f);
    if (st || !f)
        return st ? st : PITH_ERR_MEMORY;
    for (uint32_t c = 0; c < channels; c++) {
        f[c] = p[0][c] / sqrtf(p[3][c] + attr_f32(n->attr, ATTR_BN_EPSILON));
        f[channels + c] = p[1][c] - p[2][c] * f[c];
    }
    s->product.factor = f;
    s->outputs = channels;
    s->product.k = (uint32_t)(elems(m, n->out[0]) / channels);
    return PITH_OK;
}

static enum pith_status pool_f32(struct reading *r, const struct pith_node *n)
{
    struct window_shape g;
    struct step *s;
    const bool is_max = n->op == PITH_OP_MAX_POOL || n->op == PITH_OP_GLOBAL_MAX_POOL;
    if (!pith_export_pool_window(r->m, n, &g))
        return pith_export_refuse(r, n, "has windows that are dilated or wide");
    enum pith_status st = float_step(r, n,
                                     is_max                     ? STEP_MAX_POOL_F32
                                     : pith_export_is_whole(&g) ? STEP_MEAN_F32
                                                                : STEP_POOL_F32,
                                     1, &s);
    if (st)
        return st;
    s->g = g;
    s->pool.include_pad = n->op == PITH_OP_AVERAGE_POOL && n->attr[ATTR_POOL_INCLUDE_PAD];
    if (s->pool.include_pad && n->attr[ATTR_POOL_CEIL])
        return pith_export_refuse(r, n, "counts its padding in windows of ceil mode");
    return PITH_OK;
}

/* One more axis: it joins the one before where it lies behind that. false: there is no room. */
static bool push_axis(uint32_t n[4], uint32_t step[4], uint32_t dim, uint32_t by)
{
    if (n[3] > 1 && step[3] == dim * by) {
        n[3] *= dim;
        step[3] = by;
        return true;
    }
    if (n[0] > 1)
        return false;
    memmove(n, n + 1, 3 * sizeof *n);
    memmove(step, step + 1, 3 * sizeof *step);
    n[3] = dim;
    step[3] = by;
    return true;
}

/* Kept axes: dim and step[0]; reduced ones: step[1] and step[2]; k: neighbours that are reduced. */
static enum pith_status reduce(struct reading *r, const struct pith_node *n)
{
    const struct pith_value *v = &r->m->values[n->in[0]];
    const bool mean = n->op == PITH_OP_REDUCE_MEAN;
    const uint32_t list = mean ? ATTR_AXES : ATTR_REDUCE_KIND_AXES;
    const uint32_t named = (uint32_t)attr_count(n->attr, list), kind = (uint32_t)n->attr[ATTR_KIND];
    uint32_t set = named ? 0 : UINT32_MAX, by = (uint32_t)elems(r->m, n->in[0]);
    bool fits = true;
    struct step *s;
    if (!mean && (kind == REDUCE_LOG_SUM || kind == REDUCE_LOG_SUM_EXP))
        return pith_export_refuse(r, n, "takes logarithms");
    enum pith_status st = float_step(r, n, STEP_REDUCE, 1, &s);
    if (st)
        return st;
    for (uint32_t i = 0; i < named; i++)
        set |= 1u << n->attr[list + 1 + i];
    for (uint32_t i = 0; i < 4; i++)
        s->loops.dim[i] = s->loops.step[1][i] = 1;
    for (uint32_t i = 0; i < v->rank; i++) {
        by /= v->dim[i];
        if (v->dim[i] > 1)
            fits = fits &&
                   (set >> i & 1u ? push_axis(s->loops.step[1], s->loops.step[2], v->dim[i], by)
                                  : push_axis(s->loops.dim, s->loops.step[0], v->dim[i], by));
    }
    if (!fits)
        return pith_export_refuse(r, n, "is over too many axes");
    s->product.k = 1;
    if (s->loops.step[1][3] > 1 && s->loops.step[2][3] == 1) {
        s->product.k = s->loops.step[1][3];
        s->loops.step[1][3] = 1;
    }
    s->act.kind = mean ? FUNCTION_MEAN : kind;
    if (mean && s->loops.step[1][0] * s->loops.step[1][1] * s->loops.step[1][2] == 1 &&
        s->product.k > 1) {
        s->kind = STEP_MEAN_F32;
        s->g = (struct window_shape){
            .c = (uint32_t)(elems(r->m, n->in[0]) / s->product.k), .h = 1, .w = s->product.k};
    }
    return PITH_OK;
}

enum pith_status pith_export_float_step(struct reading *r, const struct pith_node *n)
{
    switch (n->op) {
    case PITH_OP_GEMM:
    case PITH_OP_MATMUL:
        return gemm_f32(r, n);
    case PITH_OP_CONV:
    case PITH_OP_CONV_TRANSPOSE:
        return conv_f32(r, n);
    case PITH_OP_ATTENTION:
        return attention(r, n);
    case PITH_OP_LAYER_NORM:
    case PITH_OP_GROUP_NORM:
        return normalize(r, n);
    case PITH_OP_ARG:
        return arg(r, n);
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
    case PITH_OP_REDUCE:
        return reduce(r, n);
    case PITH_OP_ADD:
    case PITH_OP_SUB:
    case PITH_OP_MUL:
    case PITH_OP_DIV:
    case PITH_OP_PRELU:
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
