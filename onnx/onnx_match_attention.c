/* SPDX-License-Identifier: MIT */
/* onnx_match_attention.c - attention, as exporters write it:
 *
 *     q [B,H,M,D] (scaled) --MatMul-- (scaled) (+ mask | Where mask) -- Softmax --MatMul-- y
 *     k [B,H,N,D] (scaled) - Transpose -'                        v [B,H,N,E] -'
 *
 * with bytes between the steps where a file is quantized (onnx_patterns.c), and
 * where q, k, v are often transposed [B,T,H,D], and y is transposed back: then the operator reads
 * and writes them as they are. */
#include "op_interface/broadcast.h"
#include "onnx_patterns.h"
#include "op_interface/op_exec.h"
#include "op_interface/op_attr.h"

static const struct shape *shape_of(const struct matcher *m, uint32_t value)
{
    return &m->im->values[value].shape;
}

/* Its axis i is axis perm[i] of what it reads. */
static bool has_perm(const struct onnx_node *node, const int32_t perm[4])
{
    if (!node || attr_count(node->attr, ATTR_PERM) != 4)
        return false;
    for (uint32_t i = 0; i < 4; i++)
        if (node->attr[ATTR_PERM + 1 + i] != perm[i])
            return false;
    return true;
}

/* value = *from, transposed by perm */
static bool is_transposed(const struct matcher *m, uint32_t value, const int32_t perm[4],
                          uint32_t *from)
{
    const struct onnx_node *node = pith_match_maker(m, value, PITH_OP_TRANSPOSE);
    if (!has_perm(node, perm))
        return false;
    *from = node->in[0];
    return true;
}

/* Looks behind a multiplication or division by a constant. */
static uint32_t unscaled(struct matcher *m, uint32_t value, float *scale)
{
    float factor;
    const struct onnx_node *div = pith_match_maker(m, value, PITH_OP_DIV);
    if (div && pith_match_scalar(m, div->in[1], &factor) && factor != 0.0f &&
        shape_of(m, value)->rank == shape_of(m, div->in[0])->rank) {
        *scale /= factor;
        return div->in[0];
    }
    const struct onnx_node *mul = pith_match_maker(m, value, PITH_OP_MUL);
    for (uint32_t i = 0; i < 2 && mul; i++)
        if (pith_match_scalar(m, mul->in[i], &factor) &&
            shape_of(m, value)->rank == shape_of(m, mul->in[1 - i])->rank) {
            *scale *= factor;
            return mul->in[1 - i];
        }
    return value;
}

struct found {
    uint32_t in[4];     /* q, k, v, mask */
    uint32_t turned[3]; /* of q, k, v: the node that transposes its bytes, or ONNX_VALUE_NONE */
    uint32_t n_in;
    float scale, fill;
    bool keep;
    int32_t layout;
};

static bool is_product(const struct matcher *m, uint32_t value, const struct onnx_node **node)
{
    *node = pith_match_maker(m, value, PITH_OP_MATMUL);
    return *node && !(*node)->attr[ATTR_MATMUL_TRANS_B] && shape_of(m, value)->rank == 4;
}

/* Operand i is `value`, transposed by perm: as floats, or as bytes that this operator alone reads
 * and that are dequantized then. */
static bool take_transposed(const struct matcher *m, struct found *f, uint32_t i, uint32_t value,
                            const int32_t perm[4])
{
    if (is_transposed(m, value, perm, &f->in[i]))
        return true;
    const struct onnx_node *real = pith_match_maker(m, value, PITH_OP_DEQUANTIZE);
    const uint32_t n = real ? m->made_by[real->in[0]] : ONNX_VALUE_NONE;
    if (n == ONNX_VALUE_NONE || m->im->nodes[n].info->op != PITH_OP_TRANSPOSE ||
        !has_perm(&m->im->nodes[n], perm) || m->n_uses[value] != 1 || m->n_uses[real->in[0]] != 1 ||
        shape_elems(shape_of(m, real->in[1])) != 1)
        return false;
    f->in[i] = value;
    f->turned[i] = n;
    return true;
}

/* The bytes are dequantized where they were transposed. */
static void unturn(struct matcher *m, struct found *f, uint32_t i)
{
    struct onnx_node *turn = &m->im->nodes[f->turned[i]];
    const struct onnx_node *real = pith_match_maker(m, f->in[i], PITH_OP_DEQUANTIZE);
    struct onnx_value *y = &m->im->values[turn->out[0]];
    const uint32_t in[3] = {turn->in[0], real->in[1],
                            real->n_in > 2 ? real->in[2] : ONNX_VALUE_NONE};
    y->shape = *shape_of(m, in[0]);
    y->type = PITH_F32;
    if (pith_match_replace(m, f->turned[i], PITH_OP_DEQUANTIZE, in, real->n_in))
        f->in[i] = turn->out[0];
}

/* Axes 1 and 2 swapped: the operator does that itself. */
static void take_layout(const struct matcher *m, struct found *f, uint32_t i)
{
    static const int32_t swap[4] = {0, 2, 1, 3};
    if (take_transposed(m, f, i, f->in[i], swap))
        f->layout |= 1 << i;
}

/* Its transpose is what the product wants: [B,H,D,N]. */
static bool take_keys(struct matcher *m, struct found *f, uint32_t value)
{
    static const int32_t last_two[4] = {0, 1, 3, 2}, all_three[4] = {0, 2, 3, 1};
    value = unscaled(m, value, &f->scale);
    if (take_transposed(m, f, 1, value, all_three)) {
        f->layout |= 2;
        return true;
    }
    if (!is_transposed(m, value, last_two, &value))
        return false;
    f->in[1] = unscaled(m, value, &f->scale);
    take_layout(m, f, 1);
    return true;
}

/* scores = scale * q k^T */
static bool take_scores(struct matcher *m, struct found *f, uint32_t scores)
{
    const struct onnx_node *product;
    scores = unscaled(m, scores, &f->scale);
    if (!is_product(m, scores, &product) || !take_keys(m, f, product->in[1]))
        return false;
    f->in[0] = unscaled(m, product->in[0], &f->scale);
    take_layout(m, f, 0);
    return true;
}

/* value = masked scores */
static bool take_masked(struct matcher *m, struct found *f, uint32_t value)
{
    const struct onnx_node *where = pith_match_maker(m, value, PITH_OP_WHERE);
    const struct onnx_node *add = pith_match_maker(m, value, PITH_OP_ADD);
    if (!where && !add)
        return take_scores(m, f, value);
    f->n_in = 4;
    if (where) {
        f->keep = pith_match_scalar(m, where->in[2], &f->fill);
        f->in[3] = where->in[0];
        return (f->keep || pith_match_scalar(m, where->in[1], &f->fill)) &&
               take_scores(m, f, where->in[f->keep ? 1 : 2]);
    }
    struct found empty = *f;
    for (uint32_t i = 0; i < 2; i++) {
        *f = empty;
        f->in[3] = add->in[1 - i];
        if (take_scores(m, f, add->in[i]))
            return true;
    }
    return false;
}

/* All ranks are 4, batches and heads equal: the operator's rule says so for these inputs. */
static bool is_valid(const struct matcher *m, const struct found *f, const int32_t *attr,
                     uint32_t out)
{
    const struct op_info *info = pith_op_get(PITH_OP_ATTENTION);
    struct tview view[5] = {0}, *outs[1] = {&view[4]};
    const struct tview *in[4];
    for (uint32_t i = 0; i < f->n_in; i++) {
        const bool turned = i < 3 && f->turned[i] != ONNX_VALUE_NONE;
        view[i].type = m->im->values[f->in[i]].type;
        view[i].shape = *shape_of(m, turned ? m->im->nodes[f->turned[i]].in[0] : f->in[i]);
        in[i] = &view[i];
    }
    struct op_args args = {
        .info = info, .attr = attr, .n_in = f->n_in, .n_out = 1, .in = in, .out = outs};
    return !info->shape(&args) && pith_shape_equal(&view[4].shape, shape_of(m, out));
}

void pith_match_attention(struct matcher *m, uint32_t n)
{
    const struct onnx_node *node = &m->im->nodes[n], *product;
    struct found f = {.turned = {ONNX_VALUE_NONE, ONNX_VALUE_NONE, ONNX_VALUE_NONE},
                      .n_in = 3,
                      .scale = 1.0f,
                      .fill = 0.0f};
    if (!is_product(m, node->out[0], &product))
        return;
    const struct onnx_node *softmax = pith_match_maker(m, product->in[0], PITH_OP_SOFTMAX);
    if (!softmax || softmax->attr[ATTR_SOFTMAX_AXIS] != 3 || !take_masked(m, &f, softmax->in[0]))
        return;
    f.in[2] = product->in[1];
    take_layout(m, &f, 2);
    int32_t attr[4] = {[ATTR_ATTENTION_SCALE] = (int32_t)f32_bits(f.scale),
                       [ATTR_ATTENTION_FILL] = (int32_t)f32_bits(f.fill),
                       [ATTR_ATTENTION_KEEP] = f.keep,
                       [ATTR_ATTENTION_LAYOUT] = f.layout};
    if (!(f.scale < 3e38f && f.scale > -3e38f) || f.fill != f.fill ||
        !is_valid(m, &f, attr, node->out[0]))
        return;
    for (uint32_t i = 0; i < 3; i++)
        if (f.turned[i] != ONNX_VALUE_NONE)
            unturn(m, &f, i);
    int32_t *to = pith_match_replace(m, n, PITH_OP_ATTENTION, f.in, f.n_in);
    if (to)
        memcpy(to, attr, sizeof attr);
}

/* Node n is a Transpose; what it swaps back is read by nothing else. */
void pith_match_attention_layout(struct matcher *m, uint32_t n)
{
    static const int32_t swap[4] = {0, 2, 1, 3};
    uint32_t value;
    if (!is_transposed(m, m->im->nodes[n].out[0], swap, &value) || !pith_match_alone(m, value))
        return;
    const struct onnx_node *attention = pith_match_maker(m, value, PITH_OP_ATTENTION);
    if (!attention || attention->attr[ATTR_ATTENTION_LAYOUT] & 8)
        return;
    int32_t *attr = pith_match_replace(m, n, PITH_OP_ATTENTION, attention->in, attention->n_in);
    if (!attr)
        return;
    memcpy(attr, attention->attr, 4 * sizeof *attr);
    attr[ATTR_ATTENTION_LAYOUT] |= 8;
}
