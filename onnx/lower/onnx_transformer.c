/* SPDX-License-Identifier: MIT */
/* onnx_transformer.c - what opsets 23 and 24 gave names to, as what the runtime has: Attention,
 * RotaryEmbedding, Swish.
 *
 *     Attention    q [B,H,L,D], k [B,G,S,D], v [B,G,S,E]; 3-D operands are cut into heads first
 *         scores = (q * scale) k^T, softcap, + bias;  y = softmax(scores) v
 *
 * Heads that share a key (H > G) are written as exporters do, by repeating it: the operator that
 * all this becomes (onnx_match_attention.c) does not. Causal and window masks depend on shapes
 * alone and become a constant. */
#include "onnx/graph/onnx_step.h"
#include "op_interface/op_attr.h"

#include <math.h>

static const struct shape *shape_of(const struct onnx_steps *s, uint32_t value)
{
    return &s->l->im->values[value].shape;
}

static bool given(const struct onnx_lower *l, uint32_t i)
{
    return i < l->n_in && l->in[i] != ONNX_VALUE_NONE;
}

static bool wanted(const struct onnx_lower *l, uint32_t i)
{
    return i < l->n_out && l->im->values[l->first_out + i].live;
}

/* ---- Attention ------------------------------------------------------------------------------- */

enum { IN_Q, IN_K, IN_V, IN_MASK, IN_PAST_K, IN_PAST_V, IN_LENGTHS };

struct attention {
    int64_t q_heads, kv_heads; /* of 3-D operands */
    int64_t causal, left, right, scores_mode;
    float scale, softcap;
    bool flat;           /* operands are 3-D */
    uint32_t h, g;       /* heads of q, of k and v */
    uint32_t rows, cols; /* L, S */
    int64_t past;        /* keys in front of the first that belongs to q */
};

static enum pith_status read_attention(struct onnx_lower *l, struct attention *a)
{
    enum pith_status status = pith_onnx_get_int(l, "q_num_heads", 0, &a->q_heads);
    if (!status)
        status = pith_onnx_get_int(l, "kv_num_heads", 0, &a->kv_heads);
    if (!status)
        status = pith_onnx_get_int(l, "is_causal", 0, &a->causal);
    if (!status)
        status = pith_onnx_get_int(l, "left_window_size", -1, &a->left);
    if (!status)
        status = pith_onnx_get_int(l, "right_window_size", -1, &a->right);
    if (!status)
        status = pith_onnx_get_int(l, "qk_matmul_output_mode", 0, &a->scores_mode);
    if (!status)
        status = pith_onnx_get_float(l, "scale", 0.0f, &a->scale);
    return status ? status : pith_onnx_get_float(l, "softcap", 0.0f, &a->softcap);
}

static enum pith_status check_operands(struct onnx_lower *l, struct attention *a)
{
    for (uint32_t i = 0; i < 3; i++)
        if (!pith_onnx_has_input(l, i))
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %u is missing", i);
    uint32_t rank = pith_onnx_in_shape(l, IN_Q)->rank;
    a->flat = rank == 3;
    for (uint32_t i = 0; i < 3; i++)
        if ((rank != 3 && rank != 4) || pith_onnx_in_shape(l, i)->rank != rank)
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %u has %u dims", i,
                                       pith_onnx_in_shape(l, i)->rank);
    if (given(l, IN_LENGTHS))
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "input 'nonpad_kv_seqlen' is not supported: use attn_mask");
    if (given(l, IN_PAST_K) != given(l, IN_PAST_V))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "it has one of past_key and past_value");
    return PITH_OK;
}

static enum pith_status check_heads(struct onnx_lower *l, struct attention *a)
{
    const struct shape *q = pith_onnx_in_shape(l, IN_Q), *k = pith_onnx_in_shape(l, IN_K);
    const struct shape *v = pith_onnx_in_shape(l, IN_V);
    if (!a->flat) {
        a->q_heads = q->dim[1];
        a->kv_heads = k->dim[1];
    }
    bool fits = a->kv_heads >= 1 && a->q_heads >= 1 && a->q_heads <= INT32_MAX &&
                a->q_heads % a->kv_heads == 0;
    if (fits && a->flat)
        fits = q->dim[2] % a->q_heads == 0 && k->dim[2] % a->kv_heads == 0 &&
               v->dim[2] % a->kv_heads == 0;
    if (!fits)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%lld heads of q and %lld of k do not fit",
                                   (long long)a->q_heads, (long long)a->kv_heads);
    a->h = (uint32_t)a->q_heads;
    a->g = (uint32_t)a->kv_heads;
    a->rows = q->dim[a->flat ? 1 : 2];
    return PITH_OK;
}

/* Input i as [B,heads,length,size]. */
static uint32_t in_heads(struct onnx_steps *s, const struct attention *a, uint32_t i,
                         uint32_t heads)
{
    static const int32_t perm[] = {0, 2, 1, 3};
    const int32_t dims[] = {0, 0, (int32_t)heads, -1};
    uint32_t x = s->l->in[i];
    return a->flat ? pith_step_transpose(s, pith_step_reshape(s, x, 4, dims), 4, perm) : x;
}

/* Keys or values, those of earlier calls in front. */
static uint32_t with_past(struct onnx_steps *s, struct attention *a, uint32_t i, uint32_t past)
{
    uint32_t x = in_heads(s, a, i, a->g);
    if (!given(s->l, past))
        return x;
    if (pith_onnx_in_shape(s->l, past)->rank == 4)
        a->past = pith_onnx_in_shape(s->l, past)->dim[2];
    return pith_step_concat(s, 2, s->l->in[past], x);
}

/* x [B,G,S,D], each head as often as it is shared. */
static uint32_t repeated(struct onnx_steps *s, const struct attention *a, uint32_t x)
{
    const struct step_attr axis[] = {{ATTR_AXES, 1}, {ATTR_AXES + 1, 2}};
    const struct step_attr times[] = {{ATTR_TILE_REPEATS, 3},
                                      {ATTR_TILE_REPEATS + 1, (int32_t)(a->h / a->g)},
                                      {ATTR_TILE_REPEATS + 2, 1},
                                      {ATTR_TILE_REPEATS + 3, 1}};
    if (s->status || a->h == a->g)
        return x;
    const int32_t dims[] = {0, (int32_t)a->h, -1, (int32_t)shape_of(s, x)->dim[3]};
    x = pith_step(s, PITH_OP_UNSQUEEZE, 1, &x, 2, axis);
    return pith_step_reshape(s, pith_step(s, PITH_OP_TILE, 1, &x, 4, times), 4, dims);
}

static uint32_t raw_scores(struct onnx_steps *s, const struct attention *a, uint32_t q, uint32_t k)
{
    static const int32_t perm[] = {0, 1, 3, 2};
    float scale = a->scale;
    if (s->status)
        return ONNX_VALUE_NONE;
    if (scale == 0.0f)
        scale = 1.0f / sqrtf((float)shape_of(s, q)->dim[3]);
    q = pith_step_two(s, PITH_OP_MUL, q, pith_step_scalar(s, scale));
    return pith_step_two(s, PITH_OP_MATMUL, q, pith_step_transpose(s, k, 4, perm));
}

static uint32_t capped(struct onnx_steps *s, const struct attention *a, uint32_t x)
{
    if (!(a->softcap > 0.0f))
        return x;
    uint32_t cap = pith_step_scalar(s, a->softcap);
    x = pith_step_two(s, PITH_OP_DIV, x, cap);
    x = pith_step(s, PITH_OP_TANH, 1, &x, 0, NULL);
    return pith_step_two(s, PITH_OP_MUL, x, cap);
}

/* 0 where query i may see key j, -inf elsewhere, [L,S]. */
static uint32_t position_bias(struct onnx_steps *s, const struct attention *a)
{
    const uint32_t dims[2] = {a->rows, a->cols};
    void *data;
    uint32_t value = pith_step_constant(s, PITH_F32, 2, dims, &data);
    float *bias = data;
    for (int64_t i = 0; i < a->rows && bias; i++)
        for (int64_t j = 0; j < a->cols; j++) {
            int64_t ahead = j - (i + a->past);
            bool attended = (!a->causal || ahead <= 0) && (a->left < 0 || -ahead <= a->left) &&
                            (a->right < 0 || ahead <= a->right);
            bias[i * a->cols + j] = attended ? 0.0f : -INFINITY;
        }
    return value;
}

static bool follows_batch(const struct onnx_import *im, uint32_t value)
{
    const struct onnx_value *v = &im->values[value];
    return v->varies && v->shape.dim[2] != v->other.dim[2];
}

static uint32_t masked(struct onnx_steps *s, const struct attention *a, uint32_t scores,
                       bool choose)
{
    if (s->status)
        return ONNX_VALUE_NONE;
    if (a->causal || a->left >= 0 || a->right >= 0) {
        if (follows_batch(s->l->im, scores))
            s->l->im->batch_open = false;
        scores = pith_step_two(s, PITH_OP_ADD, scores, position_bias(s, a));
    }
    if (!given(s->l, IN_MASK))
        return scores;
    uint32_t mask = s->l->in[IN_MASK];
    if (!choose)
        return pith_step_two(s, PITH_OP_ADD, scores, mask);
    const uint32_t in[3] = {mask, scores, pith_step_scalar(s, -INFINITY)};
    return pith_step(s, PITH_OP_WHERE, 3, in, 0, NULL);
}

/* Softmax over the keys; a query that may see none gets 0 of each, not 0 / 0. */
static uint32_t weights(struct onnx_steps *s, uint32_t scores, bool choose)
{
    const struct step_attr last = {ATTR_SOFTMAX_AXIS, 3};
    uint32_t y = pith_step(s, PITH_OP_SOFTMAX, 1, &scores, 1, &last);
    if (!choose)
        return y;
    const uint32_t in[3] = {s->l->in[IN_MASK], y, pith_step_scalar(s, 0.0f)};
    return pith_step(s, PITH_OP_WHERE, 3, in, 0, NULL);
}

static uint32_t merged_heads(struct onnx_steps *s, uint32_t y)
{
    static const int32_t perm[] = {0, 2, 1, 3}, dims[] = {0, 0, -1};
    return pith_step_reshape(s, pith_step_transpose(s, y, 4, perm), 3, dims);
}

static enum pith_status check_mask(struct onnx_lower *l, const struct attention *a)
{
    if (wanted(l, 3) && (a->scores_mode < 0 || a->scores_mode > 3))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "qk_matmul_output_mode is %lld",
                                   (long long)a->scores_mode);
    if (!given(l, IN_MASK))
        return PITH_OK;
    const struct shape *m = pith_onnx_in_shape(l, IN_MASK);
    if (m->rank == 0 || m->rank > 4 || (m->dim[m->rank - 1] != a->cols && m->dim[m->rank - 1] != 1))
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "the last dim of attn_mask is not the %u keys", a->cols);
    return PITH_OK;
}

enum pith_status pith_lower_attention(struct onnx_lower *l)
{
    struct attention a = {0};
    struct onnx_steps s = {l, PITH_OK};
    enum pith_status status = read_attention(l, &a);
    if (!status)
        status = check_operands(l, &a);
    if (!status)
        status = check_heads(l, &a);
    if (status)
        return status;
    uint32_t q = in_heads(&s, &a, IN_Q, a.h);
    uint32_t k = with_past(&s, &a, IN_K, IN_PAST_K), v = with_past(&s, &a, IN_V, IN_PAST_V);
    if (s.status)
        return s.status;
    a.cols = shape_of(&s, k)->dim[2];
    status = check_mask(l, &a);
    if (status)
        return status;
    bool choose = given(l, IN_MASK) && l->im->values[l->in[IN_MASK]].type == PITH_BOOL;
    uint32_t shown[4];
    shown[0] = raw_scores(&s, &a, q, repeated(&s, &a, k));
    shown[1] = capped(&s, &a, shown[0]);
    shown[2] = masked(&s, &a, shown[1], choose);
    shown[3] = weights(&s, shown[2], choose);
    uint32_t y = pith_step_two(&s, PITH_OP_MATMUL, shown[3], repeated(&s, &a, v));
    if (wanted(l, 3))
        pith_step_result(&s, 3, shown[a.scores_mode]);
    pith_step_result(&s, 2, v);
    pith_step_result(&s, 1, k);
    return pith_step_result(&s, 0, a.flat ? merged_heads(&s, y) : y);
}

/* ---- RotaryEmbedding ------------------------------------------------------------------------- */

struct rotary {
    int64_t interleaved, heads, width; /* width: of what is turned */
    bool flat;
    uint32_t size; /* of a head */
};

static enum pith_status read_rotary(struct onnx_lower *l, struct rotary *r)
{
    enum pith_status status = pith_onnx_get_int(l, "interleaved", 0, &r->interleaved);
    if (!status)
        status = pith_onnx_get_int(l, "num_heads", 0, &r->heads);
    if (!status)
        status = pith_onnx_get_int(l, "rotary_embedding_dim", 0, &r->width);
    if (status)
        return status;
    for (uint32_t i = 0; i < 3; i++)
        if (!pith_onnx_has_input(l, i))
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %u is missing", i);
    const struct shape *x = pith_onnx_in_shape(l, 0);
    r->flat = x->rank == 3;
    if (!r->flat && x->rank != 4)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "its input has %u dims", x->rank);
    if (r->flat && (r->heads < 1 || x->dim[2] % r->heads != 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "num_heads is %lld", (long long)r->heads);
    r->size = r->flat ? x->dim[2] / (uint32_t)r->heads : x->dim[3];
    r->width = r->width == 0 ? r->size : r->width;
    if (r->width < 2 || r->width % 2 != 0 || r->width > r->size)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "rotary_embedding_dim is %lld of %u",
                                   (long long)r->width, r->size);
    return PITH_OK;
}

/* cos or sin, with an axis of 1 where the heads are. */
static uint32_t angles(struct onnx_steps *s, const struct rotary *r, uint32_t i)
{
    uint32_t in[2] = {s->l->in[i], given(s->l, 3) ? s->l->in[3] : ONNX_VALUE_NONE};
    uint32_t x = in[1] == ONNX_VALUE_NONE ? in[0] : pith_step(s, PITH_OP_GATHER, 2, in, 0, NULL);
    const struct step_attr attr[] = {{ATTR_AXES, 1}, {ATTR_AXES + 1, r->flat ? 2 : 1}};
    return pith_step(s, PITH_OP_UNSQUEEZE, 1, &x, 2, attr);
}

/* Real and imaginary parts back into one axis. */
static uint32_t joined(struct onnx_steps *s, const struct rotary *r, uint32_t re, uint32_t im)
{
    static const int32_t apart[] = {0, 0, 0, -1, 1}, together[] = {0, 0, 0, -1};
    if (!r->interleaved)
        return pith_step_concat(s, 3, re, im);
    re = pith_step_reshape(s, re, 5, apart);
    im = pith_step_reshape(s, im, 5, apart);
    return pith_step_reshape(s, pith_step_concat(s, 4, re, im), 4, together);
}

enum pith_status pith_lower_rotary_embedding(struct onnx_lower *l)
{
    static const int32_t back[] = {0, 0, -1};
    struct rotary r;
    struct onnx_steps s = {l, PITH_OK};
    enum pith_status status = read_rotary(l, &r);
    if (status)
        return status;
    const int32_t dims[] = {0, 0, (int32_t)r.heads, -1};
    uint32_t x = r.flat ? pith_step_reshape(&s, l->in[0], 4, dims) : l->in[0];
    uint32_t cos = angles(&s, &r, 1), sin = angles(&s, &r, 2);
    int32_t width = (int32_t)r.width, step = r.interleaved ? 2 : 1, half = width / 2;
    uint32_t a = pith_step_slice(&s, x, 3, 0, r.interleaved ? width : half, step);
    uint32_t b = pith_step_slice(&s, x, 3, r.interleaved ? 1 : half, width, step);
    uint32_t re = pith_step_two(&s, PITH_OP_SUB, pith_step_two(&s, PITH_OP_MUL, a, cos),
                                pith_step_two(&s, PITH_OP_MUL, b, sin));
    uint32_t im = pith_step_two(&s, PITH_OP_ADD, pith_step_two(&s, PITH_OP_MUL, a, sin),
                                pith_step_two(&s, PITH_OP_MUL, b, cos));
    uint32_t y = joined(&s, &r, re, im);
    if (r.width < r.size)
        y = pith_step_concat(&s, 3, y, pith_step_slice(&s, x, 3, width, (int32_t)r.size, 1));
    return pith_step_result(&s, 0, r.flat ? pith_step_reshape(&s, y, 3, back) : y);
}

/* ---- Swish ------------------------------------------------------------------------------------
 */

/* x * sigmoid(alpha * x) */
enum pith_status pith_lower_swish(struct onnx_lower *l)
{
    struct onnx_steps s = {l, PITH_OK};
    float alpha;
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    enum pith_status status = pith_onnx_get_float(l, "alpha", 1.0f, &alpha);
    if (status)
        return status;
    uint32_t x = l->in[0], at = x;
    if (alpha != 1.0f)
        at = pith_step_two(&s, PITH_OP_MUL, x, pith_step_scalar(&s, alpha));
    at = pith_step(&s, PITH_OP_SIGMOID, 1, &at, 0, NULL);
    return pith_step_result(&s, 0, pith_step_two(&s, PITH_OP_MUL, x, at));
}
