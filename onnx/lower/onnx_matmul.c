/* SPDX-License-Identifier: MIT */
/* onnx_matmul.c - Gemm and MatMul. A constant matrix is brought to [O, C] once: rows are then what
 * one output needs, which is what pruning, codebooks and kernels work on. On the right it stays a
 * matrix. On the left it is the kernel of a convolution, one element wide, of which no operand has
 * to be transposed:
 *
 *     W [M, K] times x [.., K, N]     K channels in, M out, N places, a sample for each ..
 *     W [G.., M, K] times the same x  G * M channels out; times x [.., G.., K, N]: G groups */
#include "onnx/graph/onnx_step.h"
#include "op_interface/op_attr.h"

enum pith_status pith_onnx_new_weight(struct onnx_lower *l, uint32_t value,
                                      const struct shape *shape, uint32_t *made, const float **from,
                                      float **to)
{
    struct onnx_import *im = l->im;
    enum pith_status status = pith_onnx_load(im, value);
    if (status)
        return status;
    *made = pith_onnx_add_value(im, im->values[value].name);
    if (*made == ONNX_VALUE_NONE)
        return pith_onnx_no_memory(im);
    struct onnx_value *v = &im->values[*made];
    uint64_t count;
    *from = im->values[value].data;
    *to = pith_shape_count(shape, &count) ? NULL : pith_onnx_alloc(&im->budget, count, sizeof **to);
    if (!*to)
        return pith_onnx_no_memory(im);
    if (im->values[value].varies)
        im->batch_open = false;
    v->type = PITH_F32;
    v->shape = v->other = *shape;
    v->known = v->constant = true;
    v->data = *to;
    v->integers = im->values[value].integers;
    v->producer = im->values[value].producer; /* onnx_qdq.c looks for a DequantizeLinear there */
    return PITH_OK;
}

void pith_onnx_unload(struct onnx_lower *l, uint32_t value)
{
    struct onnx_value *v = &l->im->values[value];
    if (!v->tensor)
        return;
    pith_onnx_free(&l->im->budget, v->data);
    v->data = NULL;
}

/* The constant that is `value` [1.., K, N] transposed to [N, K]: one for all its readers. */
static enum pith_status transposed(struct onnx_lower *l, uint32_t value, uint32_t *result)
{
    const struct shape shape = l->im->values[value].shape;
    const uint32_t k = shape.dim[shape.rank - 2], n = shape.dim[shape.rank - 1];
    const float *from;
    float *to;
    if (l->im->values[value].turned) {
        *result = l->im->values[value].turned - 1;
        return PITH_OK;
    }
    enum pith_status status = pith_onnx_new_weight(
        l, value, &(struct shape){.rank = 2, .dim = {n, k}}, result, &from, &to);
    if (status)
        return status;
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < n; j++)
            to[j * k + i] = from[i * n + j];
    pith_onnx_unload(l, value);
    l->im->values[value].turned = *result + 1;
    return PITH_OK;
}

static bool is_weight(const struct onnx_value *v)
{
    return v->constant && !v->empty && v->type == PITH_F32 && v->shape.rank >= 2;
}

/* Input 1 becomes [O, C] if it is a constant matrix stored [C, O]. */
static enum pith_status transpose_weight(struct onnx_lower *l, bool *done)
{
    *done = false;
    if (!pith_onnx_has_input(l, 0) || !pith_onnx_has_input(l, 1))
        return PITH_OK;
    const struct onnx_value *b = &l->im->values[l->in[1]];
    const uint32_t rank = b->shape.rank;
    if (!is_weight(b) || (rank > 2 && (b->varies || rank > l->im->values[l->in[0]].shape.rank)))
        return PITH_OK; /* one that varies is repeated for each sample */
    for (uint32_t i = 0; i + 2 < rank; i++)
        if (b->shape.dim[i] != 1)
            return PITH_OK;
    *done = true;
    return transposed(l, l->in[1], &l->in[1]);
}

/* ---- W x ------------------------------------------------------------------------------------- */

struct left_product {
    uint32_t w, x, bias; /* values; bias: [m], or ONNX_VALUE_NONE */
    bool turned;         /* w is [k, m] */
    float scale;         /* of its elements */
    uint32_t m, k, n;
    uint32_t own_axes;         /* leading axes of w, without the first ones of one element */
    uint32_t matrices, groups; /* in these axes; of the convolution */
};

/* Dim i of the axes before the matrices of s, from the last one on; 1 where there is none. */
static uint32_t lead(const struct shape *s, uint32_t i)
{
    return i + 2 < s->rank ? s->dim[s->rank - 3 - i] : 1;
}

/* Finds the groups; false: some of w's matrices are for one of x alone, others for several. */
static bool find_groups(struct left_product *p, const struct shape *w, const struct shape *x)
{
    bool shared = true, paired = true;
    p->matrices = 1;
    p->own_axes = 0;
    for (uint32_t i = 0; i + 2 < w->rank; i++) {
        p->matrices *= lead(w, i);
        p->own_axes = lead(w, i) > 1 ? i + 1 : p->own_axes;
    }
    for (uint32_t i = 0; i < p->own_axes; i++) {
        shared = shared && lead(x, i) == 1;
        paired = paired && lead(x, i) == lead(w, i);
    }
    p->groups = shared ? 1 : p->matrices;
    return shared || paired;
}

/* A batch that is not the first axis of x cannot be that of a convolution. */
static bool fits(const struct onnx_import *im, struct left_product *p)
{
    const struct onnx_value *w = &im->values[p->w], *x = &im->values[p->x];
    const struct shape *ws = &w->shape, *xs = &x->shape, *other = pith_onnx_other_shape(x);
    if (!is_weight(w) || x->constant || x->type != PITH_F32 || xs->rank < 2)
        return false;
    for (uint32_t i = 1; i < xs->rank; i++)
        if (other->dim[i] != xs->dim[i])
            return false;
    p->m = ws->dim[ws->rank - (p->turned ? 1 : 2)];
    p->k = ws->dim[ws->rank - (p->turned ? 2 : 1)];
    p->n = xs->dim[xs->rank - 1];
    return xs->dim[xs->rank - 2] == p->k && find_groups(p, ws, xs);
}

/* w as [matrices * m, k, 1]. */
static uint32_t kernel_of(struct onnx_steps *s, const struct left_product *p)
{
    const struct shape shape = {.rank = 3, .dim = {p->matrices * p->m, p->k, 1}};
    const float *from;
    uint32_t made;
    float *to;
    if (!s->status)
        s->status = pith_onnx_new_weight(s->l, p->w, &shape, &made, &from, &to);
    if (s->status)
        return ONNX_VALUE_NONE;
    for (size_t i = 0; i < shape.dim[0]; i++)
        for (size_t j = 0; j < p->k; j++)
            to[i * p->k + j] = p->scale * from[p->turned ? j * p->m + i : i * p->k + j];
    pith_onnx_unload(s->l, p->w);
    return made;
}

/* [samples, matrices * m, n] */
static uint32_t convolve(struct onnx_steps *s, const struct left_product *p)
{
    const struct shape x = s->l->im->values[p->x].shape;
    const int32_t flat[] = {-1, (int32_t)(p->groups * p->k), (int32_t)p->n};
    const struct step_attr groups = {ATTR_CONV_GROUP, (int32_t)p->groups};
    const uint32_t in[] = {x.rank == 3 && p->groups == 1 ? p->x
                                                         : pith_step_reshape(s, p->x, 3, flat),
                           kernel_of(s, p), p->bias};
    return pith_step(s, PITH_OP_CONV, p->bias == ONNX_VALUE_NONE ? 2 : 3, in, 1, &groups);
}

static uint32_t times_left(struct onnx_steps *s, const struct left_product *p)
{
    const struct shape w = s->l->im->values[p->w].shape, x = s->l->im->values[p->x].shape;
    const uint32_t rank = w.rank > x.rank ? w.rank : x.rank, y = convolve(s, p);
    int32_t dims[PITH_MAX_RANK];
    for (uint32_t axis = 0; axis + 2 < rank; axis++) {
        const uint32_t i = rank - 3 - axis, of_w = lead(&w, i), of_x = lead(&x, i);
        const bool batch = i + 3 == x.rank && i >= p->own_axes;
        dims[axis] = batch ? -1 : (int32_t)(of_w > 1 ? of_w : of_x);
    }
    dims[rank - 2] = (int32_t)p->m;
    dims[rank - 1] = (int32_t)p->n;
    return rank == 3 && x.rank == 3 && p->own_axes == 0 ? y : pith_step_reshape(s, y, rank, dims);
}

static bool is_constant(const struct onnx_lower *l, uint32_t i)
{
    return pith_onnx_has_input(l, i) && l->im->values[l->in[i]].constant;
}

/* ---- operators ------------------------------------------------------------------------------- */

static float float_attr(const struct onnx_lower *l, uint32_t slot)
{
    float v;
    memcpy(&v, &l->attr[slot], sizeof v);
    return v;
}

/* C as [m] where it is a constant of one column; else ONNX_VALUE_NONE. */
static uint32_t bias_of(struct onnx_steps *s, const struct left_product *p, uint32_t c)
{
    const struct onnx_value *v = c == ONNX_VALUE_NONE ? NULL : &s->l->im->values[c];
    const int32_t dims = (int32_t)p->m;
    const bool column =
        v && v->constant && v->shape.rank == 2 && v->shape.dim[0] == p->m && v->shape.dim[1] == 1;
    return column ? pith_step_reshape(s, c, 1, &dims) : ONNX_VALUE_NONE;
}

static const int32_t exchanged[] = {1, 0};

/* A is the constant. */
static enum pith_status left_gemm(struct onnx_lower *l, bool *done)
{
    struct onnx_steps s = {l, PITH_OK};
    struct left_product p = {.w = l->in[0],
                             .x = l->in[1],
                             .turned = l->attr[ATTR_GEMM_TRANS_A],
                             .scale = float_attr(l, ATTR_GEMM_ALPHA)};
    if (l->attr[ATTR_GEMM_TRANS_B])
        p.x = pith_step_transpose(&s, p.x, 2, exchanged);
    *done = !s.status && fits(l->im, &p);
    if (!*done)
        return s.status;
    uint32_t c = pith_onnx_has_input(l, 2) ? l->in[2] : ONNX_VALUE_NONE;
    const float beta = float_attr(l, ATTR_GEMM_BETA);
    if (c != ONNX_VALUE_NONE && beta != 1)
        c = pith_step_two(&s, PITH_OP_MUL, c, pith_step_scalar(&s, beta));
    p.bias = s.status ? ONNX_VALUE_NONE : bias_of(&s, &p, c);
    uint32_t y = times_left(&s, &p);
    if (c != ONNX_VALUE_NONE && p.bias == ONNX_VALUE_NONE)
        y = pith_step_two(&s, PITH_OP_ADD, y, c);
    return pith_step_result(&s, 0, y);
}

static bool is_matrix(const struct onnx_lower *l, uint32_t i, bool constant)
{
    const struct onnx_value *v = pith_onnx_has_input(l, i) ? &l->im->values[l->in[i]] : NULL;
    return v && v->shape.rank == 2 && v->constant == constant && v->type == PITH_F32;
}

/* B is the constant: as rows, and A not transposed, so that rows meet rows. */
static enum pith_status right_gemm(struct onnx_lower *l)
{
    struct onnx_steps s = {l, PITH_OK};
    bool done = false;
    if (l->attr[ATTR_GEMM_TRANS_A])
        l->in[0] = pith_step_transpose(&s, l->in[0], 2, exchanged);
    l->attr[ATTR_GEMM_TRANS_A] = 0;
    if (!s.status && !l->attr[ATTR_GEMM_TRANS_B])
        s.status = transpose_weight(l, &done);
    l->attr[ATTR_GEMM_TRANS_B] |= done;
    return s.status;
}

enum pith_status pith_lower_gemm(struct onnx_lower *l)
{
    bool done;
    l->attr[ATTR_GEMM_TRANS_B] = 0; /* ONNX's default */
    enum pith_status status = pith_onnx_take_int(l, "transA", ATTR_GEMM_TRANS_A);
    if (!status)
        status = pith_onnx_take_int(l, "transB", ATTR_GEMM_TRANS_B);
    if (!status)
        status = pith_onnx_take_float(l, "alpha", ATTR_GEMM_ALPHA);
    if (!status)
        status = pith_onnx_take_float(l, "beta", ATTR_GEMM_BETA);
    if (!status && is_matrix(l, 0, true) && is_matrix(l, 1, false))
        return left_gemm(l, &done);
    return !status && is_matrix(l, 0, false) && is_matrix(l, 1, true) ? right_gemm(l) : status;
}

/* A vector takes the other side: W x is x W^T then. */
static enum pith_status left_matmul(struct onnx_lower *l)
{
    struct left_product p = {.w = l->in[0], .x = l->in[1], .scale = 1, .bias = ONNX_VALUE_NONE};
    struct onnx_steps s = {l, PITH_OK};
    const struct shape *w = &l->im->values[p.w].shape, *x = &l->im->values[p.x].shape;
    if (fits(l->im, &p))
        return pith_step_result(&s, 0, times_left(&s, &p));
    if (is_matrix(l, 0, true) && x->rank == 1 && x->dim[0] == w->dim[1]) {
        l->in[0] = p.x;
        l->in[1] = p.w;
        l->attr[ATTR_MATMUL_TRANS_B] = 1;
    }
    return PITH_OK;
}

enum pith_status pith_lower_matmul(struct onnx_lower *l)
{
    bool done;
    if (is_constant(l, 0)) /* both: the node will be folded */
        return pith_onnx_has_input(l, 1) && !is_constant(l, 1) ? left_matmul(l) : PITH_OK;
    enum pith_status status = transpose_weight(l, &done);
    l->attr[ATTR_MATMUL_TRANS_B] = done;
    return status;
}
