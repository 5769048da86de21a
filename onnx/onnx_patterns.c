/* SPDX-License-Identifier: MIT */
/* onnx_patterns.c - what exporters write in pieces becomes the one operator it is.
 *
 *     LayerNormalization   d = x - mean(x);  d / sqrt(mean(d^2) + epsilon) * scale + bias
 *     Gelu                 x * (1 + erf(x / sqrt 2)) * 0.5, factors in any order
 *     its tanh form        x * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) * 0.5
 *     Mish                 x * tanh(softplus(x))
 *     Attention            onnx_match_attention.c
 *     Expand               before an operator that repeats axes of 1 itself: left out
 *
 * Pieces are found behind QuantizeLinear and DequantizeLinear, too, which quantizing exporters
 * write around each: what is rounded between the pieces is rounded no more, what goes in and comes
 * out is.
 *
 * The last node of a pattern is replaced and keeps its name and output; the pieces before it vanish
 * with what nothing reads (onnx_emit.c). Values are the same functions of the same inputs; what
 * differs is the order of roundings (docs/arithmetic.md). Constants of a formula are recognised
 * within 1e-6 of their value. */
#include "op_interface/broadcast.h"
#include "onnx_patterns.h"
#include "op_interface/op_attr.h"

/* ---- pieces ------------------------------------------------------------------------------ */

static const struct onnx_node *maker(const struct matcher *m, uint32_t value, enum pith_op op)
{
    uint32_t n = value == ONNX_VALUE_NONE ? ONNX_VALUE_NONE : m->made_by[value];
    return n == ONNX_VALUE_NONE || m->im->nodes[n].info->op != op ? NULL : &m->im->nodes[n];
}

/* What was quantized to bytes and dequantized into this value, else the value itself. */
static uint32_t unrounded(const struct matcher *m, uint32_t value)
{
    const struct onnx_node *real = maker(m, value, PITH_OP_DEQUANTIZE);
    const struct onnx_node *bytes = real ? maker(m, real->in[0], PITH_OP_QUANTIZE) : NULL;
    return bytes && pith_type_bytes(m->im->values[real->in[0]].type) == 1 ? bytes->in[0] : value;
}

const struct onnx_node *pith_match_maker(const struct matcher *m, uint32_t value, enum pith_op op)
{
    return maker(m, unrounded(m, value), op);
}

bool pith_match_alone(const struct matcher *m, uint32_t value)
{
    if (m->n_uses[value] != 1 || unrounded(m, value) == value)
        return m->n_uses[value] == 1;
    return m->n_uses[maker(m, value, PITH_OP_DEQUANTIZE)->in[0]] == 1 &&
           m->n_uses[unrounded(m, value)] == 1;
}

/* The same value, rounded or not. */
static bool is_same(const struct matcher *m, uint32_t a, uint32_t b)
{
    return unrounded(m, a) == unrounded(m, b);
}

static const struct onnx_node *unary_maker(const struct matcher *m, uint32_t value, int32_t kind)
{
    const struct onnx_node *node = pith_match_maker(m, value, PITH_OP_UNARY);
    return node && node->attr[ATTR_KIND] == kind ? node : NULL;
}

static const struct shape *shape_of(const struct matcher *m, uint32_t value)
{
    return &m->im->values[value].shape;
}

/* A loaded constant of one element. */
static bool is_constant(struct matcher *m, uint32_t value)
{
    const struct onnx_value *v = &m->im->values[value];
    if (!v->constant || v->empty || shape_elems(&v->shape) != 1)
        return false;
    if (!v->data && !m->status)
        m->status = pith_onnx_load(m->im, value);
    return !m->status;
}

/* As DequantizeLinear: of a byte, with a zero point of its type or none. */
static bool dequantized_scalar(struct matcher *m, const struct onnx_node *real, float *x)
{
    const struct onnx_value *v = m->im->values;
    const uint32_t zero = real->n_in > 2 ? real->in[2] : ONNX_VALUE_NONE;
    const enum pith_type type = v[real->in[0]].type;
    if ((type != PITH_U8 && type != PITH_I8) || v[real->in[1]].type != PITH_F32 ||
        !is_constant(m, real->in[0]) || !is_constant(m, real->in[1]) ||
        (zero != ONNX_VALUE_NONE && !is_constant(m, zero)))
        return false;
    int32_t q[2] = {0, 0};
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t at = i ? zero : real->in[0];
        if (at != ONNX_VALUE_NONE)
            q[i] = type == PITH_U8 ? *(const uint8_t *)v[at].data : *(const int8_t *)v[at].data;
    }
    *x = (float)(q[0] - q[1]) * *(const float *)v[real->in[1]].data;
    return true;
}

bool pith_match_scalar(struct matcher *m, uint32_t value, float *x)
{
    if (value == ONNX_VALUE_NONE)
        return false;
    const struct onnx_node *real = maker(m, value, PITH_OP_DEQUANTIZE);
    if (real)
        return dequantized_scalar(m, real, x);
    if (m->im->values[value].type != PITH_F32 || !is_constant(m, value))
        return false;
    *x = *(const float *)m->im->values[value].data;
    return true;
}

static bool is_scalar(struct matcher *m, uint32_t value, float expected)
{
    float x;
    if (!pith_match_scalar(m, value, &x))
        return false;
    float off = x - expected, slack = expected * 1e-6f;
    return off <= slack && off >= -slack;
}

/* node(a, b) in either order, b the scalar: a. */
static bool beside_scalar(struct matcher *m, const struct onnx_node *node, float scalar,
                          uint32_t *other)
{
    for (uint32_t i = 0; i < 2 && node; i++)
        if (is_scalar(m, node->in[i], scalar)) {
            *other = node->in[1 - i];
            return true;
        }
    return false;
}

/* value = other * factor, or other / divisor (their product is 1). */
static bool is_scaled(struct matcher *m, uint32_t value, float factor, float divisor,
                      uint32_t *other)
{
    const struct onnx_node *div = pith_match_maker(m, value, PITH_OP_DIV);
    if (div && is_scalar(m, div->in[1], divisor)) {
        *other = div->in[0];
        return true;
    }
    return beside_scalar(m, pith_match_maker(m, value, PITH_OP_MUL), factor, other);
}

int32_t *pith_match_replace(struct matcher *m, uint32_t n, enum pith_op op, const uint32_t *in,
                            uint32_t n_in)
{
    struct onnx_node *node = &m->im->nodes[n];
    const struct op_info *info = pith_op_get(op);
    int32_t *attr = pith_onnx_alloc(&m->im->budget, info->n_slots + 1u, sizeof *attr);
    uint32_t *kept = pith_onnx_alloc(&m->im->budget, n_in, sizeof *kept);
    if (!attr || !kept) {
        m->status = pith_onnx_no_memory(m->im);
        return NULL;
    }
    pith_op_attr_defaults(info, attr);
    memcpy(kept, in, n_in * sizeof *kept);
    node->info = info;
    node->attr = attr;
    node->in = kept;
    node->n_in = n_in;
    return attr;
}

static void become_unary(struct matcher *m, uint32_t n, uint32_t x, int32_t kind)
{
    int32_t *attr = pith_match_replace(m, n, PITH_OP_UNARY, &x, 1);
    if (attr)
        attr[ATTR_KIND] = kind;
}

/* ---- LayerNormalization ------------------------------------------------------------------ */

/* value is the mean of x over its last axes, kept as 1, from *axis on. */
static bool is_row_mean(const struct matcher *m, uint32_t value, uint32_t *x, uint32_t *axis)
{
    const struct onnx_node *mean = pith_match_maker(m, value, PITH_OP_REDUCE_MEAN);
    if (!mean || !mean->attr[ATTR_REDUCE_KEEP])
        return false;
    uint32_t rank = shape_of(m, mean->in[0])->rank, n = attr_count(mean->attr, ATTR_AXES), set = 0;
    for (uint32_t i = 0; i < n; i++)
        set |= 1u << mean->attr[ATTR_AXES + 1 + i];
    if (n == 0 || n > rank || set != ((1u << n) - 1u) << (rank - n))
        return false;
    *x = mean->in[0];
    *axis = rank - n;
    return true;
}

/* value = x - mean(x) */
static bool is_centred(const struct matcher *m, uint32_t value, uint32_t *x, uint32_t *axis)
{
    const struct onnx_node *sub = pith_match_maker(m, value, PITH_OP_SUB);
    return sub && is_row_mean(m, sub->in[1], x, axis) && is_same(m, *x, sub->in[0]);
}

/* value = d^2 */
static bool is_square(struct matcher *m, uint32_t value, uint32_t *d)
{
    const struct onnx_node *node = pith_match_maker(m, value, PITH_OP_POWER);
    if (node && is_scalar(m, node->in[1], 2.0f)) {
        *d = node->in[0];
        return true;
    }
    node = pith_match_maker(m, value, PITH_OP_MUL);
    if (!node || !is_same(m, node->in[0], node->in[1]))
        return false;
    *d = node->in[0];
    return true;
}

/* value = sqrt(mean((x - mean(x))^2) + *epsilon) */
static bool is_deviation(struct matcher *m, uint32_t value, uint32_t x, uint32_t axis,
                         float *epsilon)
{
    const struct onnx_node *root = unary_maker(m, value, UNARY_SQRT);
    const struct onnx_node *add = root ? pith_match_maker(m, root->in[0], PITH_OP_ADD) : NULL;
    if (!add)
        return false;
    uint32_t variance = add->in[0], square, d, square_axis, of, of_axis;
    if (!pith_match_scalar(m, add->in[1], epsilon)) {
        variance = add->in[1];
        if (!pith_match_scalar(m, add->in[0], epsilon))
            return false;
    }
    return *epsilon >= 0.0f && *epsilon <= 1.0f &&
           is_row_mean(m, variance, &square, &square_axis) && square_axis == axis &&
           is_square(m, square, &d) && is_centred(m, d, &of, &of_axis) && is_same(m, of, x) &&
           of_axis == axis;
}

/* value = (x - mean) / deviation, or (x - mean) * (1 / deviation) */
static bool is_normalized(struct matcher *m, uint32_t value, uint32_t *x, uint32_t *axis,
                          float *epsilon)
{
    const struct onnx_node *div = pith_match_maker(m, value, PITH_OP_DIV);
    if (div)
        return is_centred(m, div->in[0], x, axis) &&
               is_deviation(m, div->in[1], *x, *axis, epsilon);
    const struct onnx_node *mul = pith_match_maker(m, value, PITH_OP_MUL);
    for (uint32_t i = 0; i < 2 && mul; i++) {
        const struct onnx_node *inverse = unary_maker(m, mul->in[1 - i], UNARY_RECIPROCAL);
        if (inverse && is_centred(m, mul->in[i], x, axis) &&
            is_deviation(m, inverse->in[0], *x, *axis, epsilon))
            return true;
    }
    return false;
}

/* One f32 for each element of the axes of x from `axis` on. */
static bool is_per_element(const struct matcher *m, uint32_t value, uint32_t x, uint32_t axis)
{
    const struct shape *s = shape_of(m, value), *rows = shape_of(m, x);
    if (m->im->values[value].type != PITH_F32 || s->rank != rows->rank - axis)
        return false;
    for (uint32_t i = 0; i < s->rank; i++)
        if (s->dim[i] != rows->dim[axis + i])
            return false;
    return true;
}

static void match_norm(struct matcher *m, uint32_t n)
{
    const struct onnx_node *mul = &m->im->nodes[n];
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t in[2] = {0, mul->in[1 - i]}, axis;
        float epsilon;
        if (!is_normalized(m, mul->in[i], &in[0], &axis, &epsilon) ||
            !is_per_element(m, in[1], in[0], axis))
            continue;
        int32_t *attr = pith_match_replace(m, n, PITH_OP_LAYER_NORM, in, 2);
        if (attr) {
            attr[ATTR_LAYER_NORM_AXIS] = (int32_t)axis;
            attr[ATTR_LAYER_NORM_EPSILON] = (int32_t)f32_bits(epsilon);
        }
        return;
    }
}

/* A LayerNormalization that nothing but this Add reads takes its bias. */
static void match_norm_bias(struct matcher *m, uint32_t n)
{
    const struct onnx_node *add = &m->im->nodes[n];
    for (uint32_t i = 0; i < 2; i++) {
        const struct onnx_node *norm = pith_match_maker(m, add->in[i], PITH_OP_LAYER_NORM);
        if (!norm || norm->n_in != 2 || !pith_match_alone(m, add->in[i]))
            continue;
        const uint32_t axis = (uint32_t)norm->attr[ATTR_LAYER_NORM_AXIS];
        const uint32_t in[3] = {norm->in[0], norm->in[1], add->in[1 - i]};
        if (!is_per_element(m, in[2], in[0], axis))
            continue;
        int32_t *attr = pith_match_replace(m, n, PITH_OP_LAYER_NORM, in, 3);
        if (attr)
            memcpy(attr, norm->attr, norm->info->n_slots * sizeof *attr);
        return;
    }
}

/* ---- Gelu -------------------------------------------------------------------------------- */

#define SQRT_2 1.41421356f
#define SQRT_HALF 0.707106781f
#define SQRT_2_BY_PI 0.797884561f

/* value = c x^3 */
static bool is_cube(struct matcher *m, uint32_t value, uint32_t x)
{
    uint32_t cube;
    if (!beside_scalar(m, pith_match_maker(m, value, PITH_OP_MUL), 0.044715f, &cube))
        return false;
    const struct onnx_node *power = pith_match_maker(m, cube, PITH_OP_POWER);
    return power && is_same(m, power->in[0], x) && is_scalar(m, power->in[1], 3.0f);
}

/* value = 1 + erf(x / sqrt 2), or 1 + tanh(...); *kind: which */
static bool is_gate(struct matcher *m, uint32_t value, uint32_t x, int32_t *kind)
{
    uint32_t f, arg;
    if (!beside_scalar(m, pith_match_maker(m, value, PITH_OP_ADD), 1.0f, &f))
        return false;
    const struct onnx_node *erf = unary_maker(m, f, UNARY_ERF);
    *kind = UNARY_GELU;
    if (erf)
        return is_scaled(m, erf->in[0], SQRT_HALF, SQRT_2, &arg) && is_same(m, arg, x);
    const struct onnx_node *tanh = pith_match_maker(m, f, PITH_OP_TANH), *add;
    if (!tanh ||
        !beside_scalar(m, pith_match_maker(m, tanh->in[0], PITH_OP_MUL), SQRT_2_BY_PI, &arg))
        return false;
    add = pith_match_maker(m, arg, PITH_OP_ADD);
    *kind = UNARY_GELU_TANH;
    return add && ((is_same(m, add->in[0], x) && is_cube(m, add->in[1], x)) ||
                   (is_same(m, add->in[1], x) && is_cube(m, add->in[0], x)));
}

/* Three factors: x, 1/2 and the gate, in any order. */
static bool is_gelu(struct matcher *m, const uint32_t factor[3], uint32_t *x, int32_t *kind)
{
    for (uint32_t half = 0; half < 3; half++) {
        if (!is_scalar(m, factor[half], 0.5f))
            continue;
        uint32_t a = factor[(half + 1) % 3], b = factor[(half + 2) % 3];
        *x = a;
        if (is_gate(m, b, a, kind))
            return true;
        *x = b;
        if (is_gate(m, a, b, kind))
            return true;
    }
    return false;
}

/* mul = (p q) r: its factors when operand i is the inner product */
static bool match_gelu(struct matcher *m, uint32_t n)
{
    const struct onnx_node *mul = &m->im->nodes[n];
    for (uint32_t i = 0; i < 2; i++) {
        const struct onnx_node *inner = pith_match_maker(m, mul->in[i], PITH_OP_MUL);
        uint32_t x;
        int32_t kind;
        if (!inner)
            continue;
        const uint32_t factor[3] = {inner->in[0], inner->in[1], mul->in[1 - i]};
        if (!is_gelu(m, factor, &x, &kind) ||
            !pith_shape_equal(shape_of(m, x), shape_of(m, mul->out[0])))
            continue;
        become_unary(m, n, x, kind);
        return true;
    }
    return false;
}

/* ---- Mish -------------------------------------------------------------------------------- */

static bool match_mish(struct matcher *m, uint32_t n)
{
    const struct onnx_node *mul = &m->im->nodes[n];
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t x = mul->in[1 - i];
        const struct onnx_node *tanh = pith_match_maker(m, mul->in[i], PITH_OP_TANH);
        const struct onnx_node *soft = tanh ? unary_maker(m, tanh->in[0], UNARY_SOFTPLUS) : NULL;
        if (!soft || !is_same(m, soft->in[0], x))
            continue;
        become_unary(m, n, x, UNARY_MISH);
        return true;
    }
    return false;
}

/* ---- Expand ------------------------------------------------------------------------------ */

/* The input of a Tile that repeats axes of 1 alone. */
static bool is_expanded(const struct matcher *m, uint32_t value, uint32_t *from)
{
    const struct onnx_node *tile = pith_match_maker(m, value, PITH_OP_TILE);
    if (!tile)
        return false;
    const struct shape *x = shape_of(m, tile->in[0]), *y = shape_of(m, value);
    uint32_t n = attr_count(tile->attr, ATTR_TILE_REPEATS);
    for (uint32_t i = 0; i < x->rank; i++) {
        bool has_repeat =
            n + i >= x->rank; /* an entry is 0 where an open batch repeats: here once */
        int32_t times = has_repeat ? tile->attr[ATTR_TILE_REPEATS + 1 + n + i - x->rank] : 1;
        if (x->dim[i] != 1 && (times == 0 || x->dim[i] != y->dim[y->rank - x->rank + i]))
            return false;
    }
    *from = tile->in[0];
    return true;
}

/* The node's inputs broadcast to its output also with `value` as input i. */
static bool still_fits(const struct matcher *m, const struct onnx_node *node, uint32_t i,
                       uint32_t value)
{
    struct shape s = *shape_of(m, value);
    for (uint32_t k = 0; k < node->n_in; k++)
        if (k != i && pith_broadcast_shape(&s, shape_of(m, node->in[k]), &s))
            return false;
    return pith_shape_equal(&s, shape_of(m, node->out[0]));
}

static void skip_expand(struct matcher *m, uint32_t n)
{
    struct onnx_node *node = &m->im->nodes[n];
    uint32_t from;
    for (uint32_t i = 0; i < node->n_in; i++)
        if (is_expanded(m, node->in[i], &from) && still_fits(m, node, i, from))
            node->in[i] = from;
}

/* ------------------------------------------------------------------------------------------ */

static void match_node(struct matcher *m, uint32_t n)
{
    switch (m->im->nodes[n].info->op) {
    case PITH_OP_MUL:
        if (match_gelu(m, n) || match_mish(m, n))
            return;
        match_norm(m, n);
        break;
    case PITH_OP_ADD:
        match_norm_bias(m, n);
        break;
    case PITH_OP_MATMUL:
        pith_match_attention(m, n);
        break;
    case PITH_OP_TRANSPOSE:
        pith_match_attention_layout(m, n);
        break;
    default:
        break;
    }
    enum pith_op op = m->im->nodes[n].info->op; /* a match may have changed it */
    if (pith_op_is(op, TRAIT_ARITHMETIC) || op == PITH_OP_WHERE)
        skip_expand(m, n);
}

enum pith_status pith_onnx_match_patterns(struct onnx_import *im)
{
    struct matcher m = {.im = im};
    m.made_by = pith_onnx_alloc(&im->budget, im->n_values + 1u, sizeof *m.made_by);
    m.n_uses = pith_onnx_alloc(&im->budget, im->n_values + 1u, sizeof *m.n_uses);
    if (!m.made_by || !m.n_uses)
        return pith_onnx_no_memory(im);
    for (uint32_t v = 0; v < im->n_values; v++)
        m.made_by[v] = ONNX_VALUE_NONE;
    for (uint32_t i = 0; i < im->n_outputs; i++)
        m.n_uses[pith_onnx_alias(im, im->outputs[i])]++;
    for (uint32_t n = 0; n < im->n_nodes; n++) {
        for (uint32_t i = 0; i < im->nodes[n].n_out; i++)
            m.made_by[im->nodes[n].out[i]] = n;
        for (uint32_t i = 0; i < im->nodes[n].n_in; i++)
            if (im->nodes[n].in[i] != ONNX_VALUE_NONE)
                m.n_uses[im->nodes[n].in[i]]++;
    }
    for (uint32_t n = 0; n < im->n_nodes && !m.status; n++)
        match_node(&m, n);
    return m.status;
}
