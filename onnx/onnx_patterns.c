/* SPDX-License-Identifier: MIT */
/* onnx_patterns.c - what exporters write in pieces becomes the one operator it is.
 *
 *     LayerNormalization   d = x - mean(x);  d / sqrt(mean(d^2) + epsilon) * scale + bias
 *     RMSNormalization     the same with d = x
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

static const struct onnx_node *made(const struct matcher *m, uint32_t value)
{
    const uint32_t n = value < m->n_values ? m->made_by[value] : ONNX_VALUE_NONE;
    return n == ONNX_VALUE_NONE ? NULL : &m->im->nodes[n];
}

static const struct onnx_node *maker(const struct matcher *m, uint32_t value, enum pith_op op)
{
    const struct onnx_node *node = made(m, value);
    return node && node->info->op == op ? node : NULL;
}

/* What was quantized to bytes and dequantized into this value, else the value itself. */
static uint32_t unrounded(const struct matcher *m, uint32_t value)
{
    const struct onnx_node *real = maker(m, value, PITH_OP_DEQUANTIZE);
    const struct onnx_node *bytes = real ? maker(m, real->in[0], PITH_OP_QUANTIZE) : NULL;
    return bytes && pith_type_bytes(m->im->values[real->in[0]].type) == 1 ? bytes->in[0] : value;
}

const struct onnx_node *pith_match_source(const struct matcher *m, uint32_t value)
{
    return made(m, unrounded(m, value));
}

const struct onnx_node *pith_match_maker(const struct matcher *m, uint32_t value, enum pith_op op)
{
    return maker(m, unrounded(m, value), op);
}

bool pith_match_alone(const struct matcher *m, uint32_t value)
{
    if (value >= m->n_values)
        return false;
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

/* ---- nodes that are put in --------------------------------------------------------------- */

/* Where there are loops and branches, a node elsewhere may not have run. */
static bool find_inserted(const struct matcher *m, const struct match_insert *as, uint32_t *out)
{
    for (uint32_t i = 0; i < m->n_inserted && m->im->n_regions == 0; i++) {
        const struct match_insert *at = &m->inserted[i];
        *out = at->out;
        if (at->op == as->op && at->n_in == as->n_in && at->attr == as->attr &&
            memcmp(at->in, as->in, sizeof at->in) == 0)
            return true;
    }
    return false;
}

static bool keep_inserted(struct matcher *m, const struct match_insert *made)
{
    if (m->n_inserted == m->cap_inserted) {
        const uint32_t cap = 2 * m->cap_inserted + 16;
        struct match_insert *more = pith_onnx_alloc(&m->im->budget, cap, sizeof *more);
        if (!more)
            return false;
        memcpy(more, m->inserted, m->n_inserted * sizeof *more);
        m->inserted = more;
        m->cap_inserted = cap;
    }
    m->inserted[m->n_inserted++] = *made;
    return true;
}

/* As a lowering of what node n was lowered from. What a mask is computed from is less than what it
 * would be in the file: nothing is folded but what has another shape. */
static uint32_t insert(struct matcher *m, struct match_insert *as, const struct new_node *node)
{
    static const Onnx__NodeProto none = ONNX__NODE_PROTO__INIT;
    struct onnx_import *im = m->im;
    const struct onnx_node *next = &im->nodes[as->before];
    const int64_t from = im->values[next->out[0]].producer;
    struct onnx_lower l = {.im = im,
                           .node = from == ONNX_NONE ? &none : im->flat[from].node,
                           .label = *next->name ? next->name : im->values[next->out[0]].name,
                           .first_out = next->out[0]};
    struct onnx_steps s = {&l, m->status};
    const bool no_fold = im->no_fold;
    const uint32_t before = im->n_nodes;
    float x;
    memcpy(&x, &as->in[0], sizeof x);
    im->no_fold = no_fold || as->op == PITH_OP_ADD || as->op == PITH_OP_WHERE;
    as->out = as->op == PITH_OP_END
                  ? pith_step_scalar(&s, x)
                  : pith_step(&s, as->op, node->n_in, node->in, node->n_attr, node->attr);
    im->no_fold = no_fold;
    m->status = s.status;
    as->n_nodes = im->n_nodes - before;
    if (!m->status && !keep_inserted(m, as))
        m->status = pith_onnx_no_memory(im);
    return as->out;
}

uint32_t pith_match_insert(struct matcher *m, uint32_t n, const struct new_node *node)
{
    struct match_insert as = {.before = n, .op = node->op, .n_in = node->n_in};
    uint32_t out;
    if (m->status)
        return ONNX_VALUE_NONE;
    as.attr = node->n_attr > 1 ? node->attr[1].value : 0;
    memcpy(as.in, node->in, (node->n_in < 3 ? node->n_in : 3) * sizeof *node->in);
    return node->op != PITH_OP_ATTENTION && find_inserted(m, &as, &out) ? out
                                                                        : insert(m, &as, node);
}

uint32_t pith_match_constant(struct matcher *m, uint32_t n, float x)
{
    struct match_insert as = {.before = n, .op = PITH_OP_END, .in = {f32_bits(x)}};
    uint32_t out;
    if (m->status)
        return ONNX_VALUE_NONE;
    return find_inserted(m, &as, &out) ? out : insert(m, &as, &(struct new_node){0});
}

/* Nodes that were appended go to where they belong. */
static void place_inserted(struct matcher *m)
{
    struct onnx_import *im = m->im;
    const uint32_t n_all = im->n_nodes;
    struct onnx_node *to = pith_onnx_alloc(&im->budget, im->cap_nodes, sizeof *to);
    uint32_t *now = pith_onnx_alloc(&im->budget, n_all + 1u, sizeof *now), n = 0;
    if (!to || !now) {
        m->status = pith_onnx_no_memory(im);
        return;
    }
    uint32_t next = m->n_nodes, entry = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        for (; entry < m->n_inserted && m->inserted[entry].before == i; entry++)
            for (uint32_t k = 0; k < m->inserted[entry].n_nodes; k++)
                to[n++] = im->nodes[next++];
        now[i] = n;
        to[n++] = im->nodes[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        to[i].begin = to[i].begin < m->n_nodes ? now[to[i].begin] : to[i].begin;
        to[i].middle = to[i].middle < m->n_nodes ? now[to[i].middle] : to[i].middle;
    }
    pith_onnx_free(&im->budget, im->nodes);
    im->nodes = to;
}

/* ------------------------------------------------------------------------------------------ */

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

struct norm {
    uint32_t x, axis;
    float epsilon;
    bool about_zero; /* the mean is not subtracted: RMSNormalization */
};

/* value = sqrt(mean((x - mean(x))^2) + epsilon), with the mean of *norm */
static bool is_deviation(struct matcher *m, uint32_t value, struct norm *norm)
{
    const struct onnx_node *root = unary_maker(m, value, UNARY_SQRT);
    const struct onnx_node *add = root ? pith_match_maker(m, root->in[0], PITH_OP_ADD) : NULL;
    uint32_t square, d, axis, of, of_axis;
    if (!add)
        return false;
    uint32_t variance = add->in[0];
    if (!pith_match_scalar(m, add->in[1], &norm->epsilon)) {
        variance = add->in[1];
        if (!pith_match_scalar(m, add->in[0], &norm->epsilon))
            return false;
    }
    if (!(norm->epsilon >= 0.0f && norm->epsilon <= 1.0f) ||
        !is_row_mean(m, variance, &square, &axis) || !is_square(m, square, &d))
        return false;
    if (norm->about_zero) {
        norm->axis = axis;
        return is_same(m, d, norm->x);
    }
    return is_centred(m, d, &of, &of_axis) && is_same(m, of, norm->x) && of_axis == axis &&
           axis == norm->axis;
}

/* part / deviation, of part = x - mean or x */
static bool is_quotient(struct matcher *m, uint32_t part, uint32_t deviation, struct norm *norm)
{
    *norm = (struct norm){0};
    if (is_centred(m, part, &norm->x, &norm->axis) && is_deviation(m, deviation, norm))
        return true;
    *norm = (struct norm){.x = part, .about_zero = true};
    return is_deviation(m, deviation, norm);
}

/* value = 1 / *of */
static bool is_inverse(struct matcher *m, uint32_t value, uint32_t *of)
{
    const struct onnx_node *node = unary_maker(m, value, UNARY_RECIPROCAL);
    const struct onnx_node *div = pith_match_maker(m, value, PITH_OP_DIV);
    if (!node && !(div && is_scalar(m, div->in[0], 1.0f)))
        return false;
    *of = node ? node->in[0] : div->in[1];
    return true;
}

static bool is_normalized(struct matcher *m, uint32_t value, struct norm *norm)
{
    const struct onnx_node *div = pith_match_maker(m, value, PITH_OP_DIV);
    if (div)
        return is_quotient(m, div->in[0], div->in[1], norm);
    const struct onnx_node *mul = pith_match_maker(m, value, PITH_OP_MUL);
    uint32_t deviation;
    for (uint32_t i = 0; i < 2 && mul; i++)
        if (is_inverse(m, mul->in[1 - i], &deviation) &&
            is_quotient(m, mul->in[i], deviation, norm))
            return true;
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
        struct norm norm;
        if (!is_normalized(m, mul->in[i], &norm) ||
            !is_per_element(m, mul->in[1 - i], norm.x, norm.axis))
            continue;
        const uint32_t in[2] = {norm.x, mul->in[1 - i]};
        int32_t *attr = pith_match_replace(m, n, PITH_OP_LAYER_NORM, in, 2);
        if (attr) {
            attr[ATTR_LAYER_NORM_AXIS] = (int32_t)norm.axis;
            attr[ATTR_LAYER_NORM_EPSILON] = (int32_t)f32_bits(norm.epsilon);
            attr[ATTR_LAYER_NORM_ABOUT_ZERO] = norm.about_zero;
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

/* ---- GlobalAveragePool ------------------------------------------------------------------- */

static bool is_mean_of_planes(const struct matcher *m, const struct onnx_node *node)
{
    uint32_t set = 0,
             rank = node->info->op == PITH_OP_REDUCE_MEAN ? shape_of(m, node->in[0])->rank : 0;
    for (uint32_t i = 0; rank >= 4 && i < attr_count(node->attr, ATTR_AXES); i++)
        set |= 1u << node->attr[ATTR_AXES + 1 + i];
    return rank >= 4 && set == (1u << rank) - 4u;
}

/* What exporters write for global pooling: the mean over height and width. Integers know the pool
 * alone. Of three axes it may be a statistic of tokens, which stays a mean. */
static void match_global_pool(struct matcher *m, uint32_t n)
{
    struct onnx_node *node = &m->im->nodes[n];
    if (!is_mean_of_planes(m, node))
        return;
    uint32_t x = node->in[0];
    const bool keeps = node->attr[ATTR_REDUCE_KEEP] != 0;
    if (!keeps)
        x = pith_match_insert(
            m, n, &(struct new_node){.op = PITH_OP_GLOBAL_AVERAGE_POOL, .n_in = 1, .in = &x});
    if (!m->status)
        pith_match_replace(m, n, keeps ? PITH_OP_GLOBAL_AVERAGE_POOL : PITH_OP_FLATTEN, &x, 1);
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
    case PITH_OP_RESHAPE:
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
    struct matcher m = {.im = im, .n_values = im->n_values, .n_nodes = im->n_nodes};
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
    for (uint32_t n = 0; n < m.n_nodes && !m.status; n++)
        match_node(&m, n);
    for (uint32_t n = 0; n < m.n_nodes && !m.status; n++) /* what is no part of a normalization */
        match_global_pool(&m, n);
    if (!m.status && im->n_nodes > m.n_nodes)
        place_inserted(&m);
    return m.status;
}
