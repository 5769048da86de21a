/* SPDX-License-Identifier: MIT */
/* onnx_qdq.c - networks quantized in the QDQ format: float operators between DequantizeLinear and
 * QuantizeLinear. When a QuantizeLinear is lowered, what it quantizes is looked at:
 *
 *     DQ(x), DQ(w), bias -> Conv, Gemm, MatMul [-> Add] [-> Relu, Clip] -> Q
 *         becomes ConvInteger, or MatMulInteger and Add, then Requantize by
 *         x_scale * w_scale / y_scale; without Q behind it, DequantizeLinear by x_scale * w_scale
 *     DQ(x) -> Reshape, Flatten, Transpose, ... -> Q of the same scale and zero point
 *         becomes the same operator on integers; so does a Concat whose inputs are all such
 *
 * The float operators are then read by nothing and vanish. Every other operator stays as it is.
 * What must hold: scales and zero points are constants; x has one scale, or one for each channel
 * where an output reads one channel, and one zero point; w is i8 around 0 or one zero point, or u8
 * that becomes so; the range that Relu or Clip leave is the range of y's type. The bias becomes a
 * multiple of x_scale * w_scale; where that is too large - a channel whose weights are next to
 * nothing - its weights and bias are halved, and its factor doubled, as often as it takes. */
#include "onnx_qdq.h"
#include "op_interface/op_attr.h"

#include <math.h>

#include "onnx/graph/onnx_step.h"

#define MAX_IN 64u
#define MAX_HALVED 120
#define BIAS_LIMIT 1073741824.0 /* as much again is left for the sums */

struct grid {
    uint32_t q, scale, zero; /* values; zero: ONNX_VALUE_NONE for 0 */
    const struct onnx_flat *node;
};

/* ---- looking back ---------------------------------------------------------------------------- */

static uint32_t input_of(const struct onnx_lower *l, const struct onnx_flat *f, uint32_t i)
{
    return i < f->n_in && f->in[i] != ONNX_VALUE_NONE ? pith_onnx_alias(l->im, f->in[i])
                                                      : ONNX_VALUE_NONE;
}

/* The node of the file that makes a value; *op: what it is here. NULL: none, or a loop's. */
static const struct onnx_flat *maker(const struct onnx_lower *l, uint32_t value, uint32_t *op)
{
    int64_t producer = value == ONNX_VALUE_NONE ? ONNX_NONE : l->im->values[value].producer;
    if (producer == ONNX_NONE)
        return NULL;
    const struct onnx_flat *f = &l->im->flat[producer];
    const struct onnx_row *row = f->role == ONNX_PLAIN ? pith_onnx_row(l->im, f->node) : NULL;
    if (!row || f->n_out != 1)
        return NULL;
    *op = row->op;
    return f;
}

/* A constant's elements; NULL: it is none of this type, or s->status says why. */
static const void *elements(struct onnx_steps *s, uint32_t value, enum pith_type type, size_t *n)
{
    struct onnx_import *im = s->l->im;
    if (s->status || value == ONNX_VALUE_NONE || !im->values[value].constant)
        return NULL;
    if (!im->values[value].known)
        s->status = pith_onnx_describe_tensor(im, value);
    if (s->status || im->values[value].empty || im->values[value].type != type)
        return NULL;
    s->status = pith_onnx_load(im, value);
    *n = shape_elems(&im->values[value].shape);
    return s->status ? NULL : im->values[value].data;
}

static bool scalar_f32(struct onnx_steps *s, uint32_t value, float *x)
{
    size_t n;
    const float *p = elements(s, value, PITH_F32, &n);
    if (!p || n != 1)
        return false;
    *x = *p;
    return true;
}

/* A zero point of 8 bits, the same for all scales; absent: 0. */
static bool one_zero(struct onnx_steps *s, uint32_t value, int32_t *zero)
{
    size_t n = 0;
    *zero = 0;
    if (value == ONNX_VALUE_NONE)
        return true;
    const uint8_t *u = elements(s, value, PITH_U8, &n);
    const int8_t *i = u ? NULL : elements(s, value, PITH_I8, &n);
    const uint8_t *bytes = u ? u : (const uint8_t *)i;
    for (size_t k = 1; bytes && k < n; k++)
        if (bytes[k] != bytes[0])
            return false;
    if (!bytes || n == 0)
        return false;
    *zero = u ? *u : *i;
    return true;
}

static bool behind_dequantize(const struct onnx_lower *l, uint32_t value, struct grid *g)
{
    uint32_t op;
    const struct onnx_flat *f = maker(l, value, &op);
    if (!f || op != PITH_OP_DEQUANTIZE)
        return false;
    *g = (struct grid){input_of(l, f, 0), input_of(l, f, 1), input_of(l, f, 2), f};
    return g->q != ONNX_VALUE_NONE && g->scale != ONNX_VALUE_NONE;
}

static struct grid own_grid(const struct onnx_lower *l)
{
    return (struct grid){.scale = l->in[1],
                         .zero = pith_onnx_has_input(l, 2) ? l->in[2] : ONNX_VALUE_NONE};
}

/* One scale and zero point. */
static bool grid_numbers(struct onnx_steps *s, const struct grid *g, float *scale, int32_t *zero)
{
    return scalar_f32(s, g->scale, scale) && one_zero(s, g->zero, zero) && *scale > 0.0f &&
           *scale < INFINITY;
}

/* Scales, one or several: constants, all positive. */
struct scales {
    const float *each;
    size_t n;
};

static float scale_at(const struct scales *scales, size_t i)
{
    return scales->each[scales->n > 1 ? i : 0];
}

static bool take_scales(struct onnx_steps *s, uint32_t value, struct scales *scales)
{
    scales->each = elements(s, value, PITH_F32, &scales->n);
    for (size_t i = 0; scales->each && i < scales->n; i++)
        if (!(scales->each[i] > 0.0f && scales->each[i] < INFINITY))
            return false;
    return scales->each && scales->n > 0;
}

/* The zero point as Requantize takes it: one number, also where it was absent or one a scale. */
static uint32_t scalar_zero(struct onnx_steps *s, uint32_t value, enum pith_type type)
{
    int32_t zero;
    void *data;
    if (value != ONNX_VALUE_NONE && s->l->im->values[value].shape.rank == 0)
        return value;
    if (!one_zero(s, value, &zero))
        return ONNX_VALUE_NONE;
    value = pith_step_constant(s, type, 0, NULL, &data);
    if (data)
        *(uint8_t *)data = (uint8_t)zero;
    return value;
}

static bool is_byte(const struct onnx_lower *l, uint32_t value)
{
    enum pith_type type = l->im->values[value].type;
    return type == PITH_U8 || type == PITH_I8;
}

/* ---- the same node again --------------------------------------------------------------------- */

/* Node f of the file as operator `op` on other inputs; last: it makes what the node being lowered
 * does. */
static uint32_t lower_again(struct onnx_steps *s, const struct onnx_flat *f, enum pith_op op,
                            bool last, uint32_t *in, uint32_t n_in)
{
    struct onnx_lower sub;
    struct onnx_import *im = s->l->im;
    uint32_t out = ONNX_VALUE_NONE;
    int64_t opset = im->opset;
    if (s->status)
        return ONNX_VALUE_NONE;
    s->status = pith_onnx_open_step(s->l, op, last, &sub, &out);
    if (s->status)
        return ONNX_VALUE_NONE;
    sub.node = f->node;
    sub.flat = f;
    sub.row = pith_onnx_row(im, f->node);
    sub.in = in;
    sub.n_in = n_in;
    im->opset = f->opset;
    if (sub.row->lower)
        s->status = sub.row->lower(&sub);
    if (!s->status && !sub.done)
        s->status = pith_onnx_finish(&sub);
    im->opset = opset;
    return s->status ? ONNX_VALUE_NONE : pith_onnx_alias(im, out);
}

/* ---- layers --------------------------------------------------------------------------------- */

struct layer {
    const struct onnx_flat *node;
    uint32_t op;
    struct grid x, w;
    struct scales x_scale, w_scale, y_scale;
    uint32_t bias; /* or ONNX_VALUE_NONE */
    size_t outputs;
    uint8_t *halved; /* [outputs] how often; NULL: never */
};

static float input_scale(const struct layer *y, size_t o)
{
    return scale_at(&y->x_scale, y->x_scale.n > 1 ? o / (y->outputs / y->x_scale.n) : 0);
}

/* What 1 in the sums of output o stands for. */
static float unit_of(const struct layer *y, size_t o)
{
    return input_scale(y, o) * scale_at(&y->w_scale, o);
}

static float factor_at(const struct layer *y, size_t o)
{
    return unit_of(y, o) / scale_at(&y->y_scale, o);
}

static bool int_attr_is(struct onnx_steps *s, const struct onnx_flat *f, const char *name,
                        int64_t def, int64_t wanted)
{
    struct onnx_lower sub = *s->l;
    int64_t value = def;
    sub.node = f->node;
    if (!s->status)
        s->status = pith_onnx_get_int(&sub, name, def, &value);
    return value == wanted;
}

static bool float_attr_is_one(struct onnx_steps *s, const struct onnx_flat *f, const char *name)
{
    struct onnx_lower sub = *s->l;
    float value = 1.0f;
    sub.node = f->node;
    if (!s->status)
        s->status = pith_onnx_get_float(&sub, name, 1.0f, &value);
    return value == 1.0f;
}

/* The weight's scales lie along its outputs, axis `axis`, and it is i8, around 0 or one zero point,
 * or can be made so. */
static bool takes_weight(struct onnx_steps *s, struct layer *y, uint32_t axis)
{
    const struct onnx_import *im = s->l->im;
    size_t n = 0;
    if (axis >= im->values[y->w.q].shape.rank)
        return false;
    if (!s->status)
        s->status = pith_onnx_center_weight(s->l, axis == 0, &y->w.q, &y->w.zero);
    if (!elements(s, y->w.q, PITH_I8, &n))
        return false;
    uint32_t rank = im->values[y->w.q].shape.rank;
    y->outputs = im->values[y->w.q].shape.dim[axis];
    if (!take_scales(s, y->w.scale, &y->w_scale) || !int_attr_is(s, y->w.node, "block_size", 0, 0))
        return false;
    if (y->w_scale.n != 1 && (y->w_scale.n != y->outputs ||
                              (!int_attr_is(s, y->w.node, "axis", 1, axis) &&
                               !int_attr_is(s, y->w.node, "axis", 1, (int64_t)axis - rank))))
        return false;
    return y->w.zero == ONNX_VALUE_NONE || (elements(s, y->w.zero, PITH_I8, &n) && n == 1);
}

/* One number an output, not one a row: its last axis is theirs, and the sums keep their rank. */
static bool lies_along_outputs(const struct onnx_steps *s, const struct layer *y,
                               const struct shape *bias)
{
    return shape_elems(bias) == y->outputs && bias->rank <= s->l->im->values[y->x.q].shape.rank &&
           (bias->rank == 0 || bias->dim[bias->rank - 1] == y->outputs);
}

/* What is added to output o in real numbers; or, where *exact, in units of the sums. */
static bool bias_of(struct onnx_steps *s, const struct layer *y, uint32_t value, size_t o,
                    double *bias, bool *exact)
{
    struct grid g;
    size_t n = 0, n_scale = 0;
    *exact = false;
    if (!behind_dequantize(s->l, value, &g)) {
        const float *real = elements(s, value, PITH_F32, &n);
        bool fits = real && lies_along_outputs(s, y, &s->l->im->values[value].shape);
        *bias = fits ? (double)real[o] : 0;
        return fits;
    }
    const int32_t *q = elements(s, g.q, PITH_I32, &n), *zero = NULL;
    const float *scale = elements(s, g.scale, PITH_F32, &n_scale);
    if (!q || !lies_along_outputs(s, y, &s->l->im->values[g.q].shape) || !scale ||
        (n_scale != 1 && n_scale != n))
        return false;
    size_t n_zero = 1;
    if (g.zero != ONNX_VALUE_NONE) {
        zero = elements(s, g.zero, PITH_I32, &n_zero);
        if (!zero || n_zero != n_scale)
            return false;
    }
    double unit = (double)scale[n_scale > 1 ? o : 0];
    double own = (double)input_scale(y, o) * (double)scale_at(&y->w_scale, o);
    *bias = (double)q[o] - (zero ? (double)zero[n_zero > 1 ? o : 0] : 0.0);
    *exact = fabs(unit - own) <= 1e-6 * own;
    if (!*exact)
        *bias *= unit;
    return true;
}

/* The bias in units of the sums: a constant i32 [outputs]. Fills y->halved. */
static bool integer_bias(struct onnx_steps *s, struct layer *y, uint32_t value, uint32_t *bias)
{
    uint32_t n = (uint32_t)y->outputs;
    void *data;
    *bias = pith_step_constant(s, PITH_I32, 1, &n, &data);
    uint8_t *halved = pith_onnx_alloc(&s->l->im->budget, n, 1);
    if (!data || !halved) {
        s->status = s->status ? s->status : pith_onnx_no_memory(s->l->im);
        return false;
    }
    for (size_t o = 0; o < y->outputs; o++) {
        double real;
        bool exact;
        if (!bias_of(s, y, value, o, &real, &exact))
            return false;
        double unit = exact ? 1.0 : (double)input_scale(y, o) * (double)scale_at(&y->w_scale, o);
        double q = rint(real / unit);
        for (halved[o] = 0; fabs(q) > BIAS_LIMIT && halved[o] < MAX_HALVED; halved[o]++)
            q = rint(q / 2);
        if (!(fabs(q) <= BIAS_LIMIT) || isinf(ldexpf(factor_at(y, o), halved[o])))
            return false;
        if (halved[o])
            y->halved = halved;
        ((int32_t *)data)[o] = (int32_t)q;
    }
    return true;
}

/* The weights, those of some outputs halved. inner: weights of one output that are neighbours. */
static bool halve_weights(struct onnx_steps *s, struct layer *y, size_t inner)
{
    const struct shape shape = s->l->im->values[y->w.q].shape;
    void *data;
    size_t n;
    uint32_t value = pith_step_constant(s, PITH_I8, shape.rank, shape.dim, &data);
    const int8_t *w = elements(s, y->w.q, PITH_I8, &n);
    if (!w || !data)
        return false;
    for (size_t i = 0; i < n; i++)
        ((int8_t *)data)[i] = (int8_t)rint(ldexp(w[i], -y->halved[i / inner % y->outputs]));
    y->w.q = value;
    return true;
}

/* [outputs], or one: x_scale * w_scale / y_scale in f32, in this order. */
static uint32_t factors(struct onnx_steps *s, const struct layer *y)
{
    bool many = y->halved || y->x_scale.n > 1 || y->w_scale.n > 1 || y->y_scale.n > 1;
    uint32_t n = many ? (uint32_t)y->outputs : 1;
    void *data;
    uint32_t value = pith_step_constant(s, PITH_F32, n > 1, &n, &data);
    for (size_t i = 0; data && i < n; i++) {
        ((float *)data)[i] = y->halved ? ldexpf(factor_at(y, i), y->halved[i]) : factor_at(y, i);
    }
    return value;
}

/* Several scales of x: one a channel, and each output reads one channel. Of y: one an output. What
 * they make together is a factor still: no product of tiny or huge ones. */
static bool scales_fit(struct onnx_steps *s, const struct layer *y)
{
    const struct shape *w = &s->l->im->values[y->w.q].shape;
    size_t n = y->x_scale.n;
    if ((n != 1 && !(y->op == PITH_OP_CONV && w->dim[1] == 1 && y->outputs % n == 0 &&
                     int_attr_is(s, y->node, "group", 1, (int64_t)n) &&
                     int_attr_is(s, y->x.node, "axis", 1, 1) &&
                     int_attr_is(s, y->x.node, "block_size", 0, 0))) ||
        (y->y_scale.n != 1 && y->y_scale.n != y->outputs))
        return false;
    for (size_t o = 0; o < y->outputs; o++)
        if (!(factor_at(y, o) > 0.0f && factor_at(y, o) < INFINITY))
            return false;
    return true;
}

/* Is matrix a [rows, cols] what matrix b is transposed? */
static bool are_transposes(const int8_t *a, const int8_t *b, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows * cols; i++)
        if (a[i] != b[i % cols * rows + i / cols])
            return false;
    return true;
}

/* The constant matrix that a Transpose makes value q, a matrix, of; else ONNX_VALUE_NONE. */
static uint32_t transpose_of(struct onnx_steps *s, uint32_t q)
{
    uint32_t op;
    size_t n = 0, n_from = 0;
    const struct onnx_flat *f = maker(s->l, q, &op);
    uint32_t from = f && op == PITH_OP_TRANSPOSE ? input_of(s->l, f, 0) : ONNX_VALUE_NONE;
    const int8_t *b = elements(s, from, PITH_I8, &n_from), *a = b ? elements(s, q, PITH_I8, &n) : b;
    const struct shape *shape = &s->l->im->values[q].shape;
    bool is_one = a && n == n_from && are_transposes(a, b, shape->dim[0], shape->dim[1]) &&
                  s->l->im->values[from].shape.rank == 2 &&
                  s->l->im->values[from].shape.dim[1] == shape->dim[0];
    return is_one ? from : ONNX_VALUE_NONE;
}

/* The layer's sums; ONNX_VALUE_NONE: it is none. */
static uint32_t sums(struct onnx_steps *s, struct layer *y)
{
    const struct onnx_lower *l = s->l;
    bool conv = y->op == PITH_OP_CONV, gemm = y->op == PITH_OP_GEMM;
    uint32_t bias = y->bias;
    bool by_row = gemm && int_attr_is(s, y->node, "transB", 0, 1);
    if (gemm &&
        (l->im->values[y->x.q].shape.rank != 2 || !int_attr_is(s, y->node, "transA", 0, 0) ||
         !float_attr_is_one(s, y->node, "alpha") || !float_attr_is_one(s, y->node, "beta")))
        return ONNX_VALUE_NONE;
    if (!takes_weight(s, y, conv || by_row ? 0 : 1) ||
        (!conv && l->im->values[y->w.q].shape.rank != 2) || !scales_fit(s, y) ||
        (bias != ONNX_VALUE_NONE && !integer_bias(s, y, bias, &bias)))
        return ONNX_VALUE_NONE;
    const struct shape *shape = &l->im->values[y->w.q].shape;
    if (y->halved &&
        (y->w.zero != ONNX_VALUE_NONE ||
         !halve_weights(s, y, conv || by_row ? shape_product(shape, 1, shape->rank) : 1)))
        return ONNX_VALUE_NONE;
    uint32_t zero = y->x.zero;
    if (zero != ONNX_VALUE_NONE)
        zero = scalar_zero(s, zero, l->im->values[y->x.q].type);
    if (conv) {
        uint32_t in[5] = {y->x.q, y->w.q, zero, y->w.zero, bias};
        return lower_again(s, y->node, PITH_OP_CONV_INTEGER, false, in, 5);
    }
    /* as it lies in the file: onnx_share.c transposes it if nothing reads it so */
    uint32_t of = gemm || y->halved ? ONNX_VALUE_NONE : transpose_of(s, y->w.q);
    const struct step_attr turned = {ATTR_MATMUL_TRANS_B, by_row || of != ONNX_VALUE_NONE};
    const uint32_t in[4] = {y->x.q, of != ONNX_VALUE_NONE ? of : y->w.q, zero, y->w.zero};
    uint32_t acc = pith_step(s, PITH_OP_MATMUL_INTEGER, 4, in, 1, &turned);
    return bias == ONNX_VALUE_NONE ? acc : pith_step_two(s, PITH_OP_ADD, acc, bias);
}

/* Every real number in [low, high] that Q can write it writes, and none outside. */
static bool is_whole_range(struct onnx_steps *s, const struct layer *y, float low, float high,
                           enum pith_type type)
{
    int32_t zero;
    double first = type == PITH_I8 ? -128 : 0;
    if (!one_zero(s, own_grid(s->l).zero, &zero))
        return false;
    for (size_t i = 0; i < y->y_scale.n; i++) {
        double scale = (double)y->y_scale.each[i];
        if (!(rint((double)low / scale) + zero <= first &&
              rint((double)high / scale) + zero >= first + 255))
            return false;
    }
    return true;
}

/* Skips Relu or Clip; false: what they cut off is not what the type of y does. */
static bool skip_activation(struct onnx_steps *s, struct layer *y, enum pith_type type)
{
    float low = 0.0f, high = INFINITY;
    if (y->op != PITH_OP_RELU && y->op != PITH_OP_CLIP)
        return true;
    if (y->op == PITH_OP_CLIP) {
        uint32_t min = input_of(s->l, y->node, 1), max = input_of(s->l, y->node, 2);
        low = -INFINITY;
        if (y->node->opset < 11 || (min != ONNX_VALUE_NONE && !scalar_f32(s, min, &low)) ||
            (max != ONNX_VALUE_NONE && !scalar_f32(s, max, &high)))
            return false;
    }
    if (!is_whole_range(s, y, low, high, type))
        return false;
    y->node = maker(s->l, input_of(s->l, y->node, 0), &y->op);
    return y->node != NULL;
}

/* The layer's operands, if it is one: also a MatMul and the Add behind it. */
static bool find_operands(struct onnx_steps *s, struct layer *y)
{
    const struct onnx_lower *l = s->l;
    int32_t zero;
    y->bias = ONNX_VALUE_NONE;
    for (uint32_t i = 0; i < 2 && y->op == PITH_OP_ADD; i++) {
        uint32_t op;
        const struct onnx_flat *product = maker(l, input_of(l, y->node, i), &op);
        if (!product || op != PITH_OP_MATMUL)
            continue;
        y->bias = input_of(l, y->node, 1 - i);
        y->node = product;
        y->op = op;
    }
    if (y->op == PITH_OP_CONV || y->op == PITH_OP_GEMM)
        y->bias = input_of(l, y->node, 2);
    return (y->op == PITH_OP_CONV || y->op == PITH_OP_GEMM || y->op == PITH_OP_MATMUL) &&
           behind_dequantize(l, input_of(l, y->node, 0), &y->x) && is_byte(l, y->x.q) &&
           behind_dequantize(l, input_of(l, y->node, 1), &y->w) &&
           take_scales(s, y->x.scale, &y->x_scale) && one_zero(s, y->x.zero, &zero);
}

/* Sums of output channels, scaled by `op` to `type`, as output 0 of the node being lowered. */
static void scale_sums(struct onnx_steps *s, const struct layer *y, uint32_t acc, enum pith_op op,
                       enum pith_type type)
{
    uint32_t rank = s->l->im->values[acc].shape.rank;
    const struct step_attr attr[] = {
        {ATTR_QUANTIZE_AXIS, y->op == PITH_OP_CONV ? 1 : (int32_t)rank - 1},
        {ATTR_QUANTIZE_TYPE, (int32_t)type}};
    uint32_t in[3] = {acc, factors(s, y), ONNX_VALUE_NONE};
    bool whole = op == PITH_OP_REQUANTIZE;
    if (whole)
        in[2] = scalar_zero(s, own_grid(s->l).zero, type);
    pith_step_last(s, op, whole ? 3 : 2, in, whole ? 2 : 1, attr);
}

static enum pith_status layer_in_integers(struct onnx_lower *l, enum pith_type type)
{
    struct onnx_steps s = {l, PITH_OK};
    struct layer y = {0};
    int32_t zero;
    y.node = maker(l, l->in[0], &y.op);
    if (!y.node || !take_scales(&s, l->in[1], &y.y_scale) ||
        !one_zero(&s, own_grid(l).zero, &zero) || !skip_activation(&s, &y, type) ||
        !find_operands(&s, &y))
        return s.status;
    const char *label = l->label;
    l->label = pith_onnx_label(y.node->node);
    uint32_t acc = sums(&s, &y);
    bool along = y.y_scale.n == 1 ||
                 l->attr[ATTR_QUANTIZE_AXIS] ==
                     (y.op == PITH_OP_CONV ? 1 : (int32_t)pith_onnx_in_shape(l, 0)->rank - 1);
    if (acc != ONNX_VALUE_NONE && along && !l->attr[ATTR_QUANTIZE_BLOCK])
        scale_sums(&s, &y, acc, PITH_OP_REQUANTIZE, type);
    l->label = label;
    return s.status;
}

/* The sums as they are, where nothing rounds them to a grid. */
enum pith_status pith_onnx_layer_in_integers(struct onnx_lower *l)
{
    static const float one = 1.0f;
    struct onnx_steps s = {l, PITH_OK};
    struct layer y = {.node = l->flat, .op = l->row->op, .y_scale = {&one, 1}};
    if (l->info->op != y.op || l->flat->role != ONNX_PLAIN || !find_operands(&s, &y))
        return s.status;
    uint32_t acc = sums(&s, &y);
    if (acc != ONNX_VALUE_NONE)
        scale_sums(&s, &y, acc, PITH_OP_DEQUANTIZE, PITH_F32);
    return s.status;
}

/* ---- operators that only move elements ------------------------------------------------------- */

static bool moves(uint32_t op)
{
    switch (op) {
    case PITH_OP_RESHAPE:
    case PITH_OP_FLATTEN:
    case PITH_OP_SQUEEZE:
    case PITH_OP_UNSQUEEZE:
    case PITH_OP_TRANSPOSE:
    case PITH_OP_CONCAT:
    case PITH_OP_DEPTH_SPACE:
        return true;
    default:
        return false;
    }
}

static bool same_grid(struct onnx_steps *s, const struct grid *a, const struct grid *b)
{
    float scale_a, scale_b;
    int32_t zero_a, zero_b;
    return grid_numbers(s, a, &scale_a, &zero_a) && grid_numbers(s, b, &scale_b, &zero_b) &&
           scale_a == scale_b && zero_a == zero_b;
}

static enum pith_status move_in_integers(struct onnx_lower *l, enum pith_type type)
{
    struct onnx_steps s = {l, PITH_OK};
    uint32_t op, in[MAX_IN];
    struct grid own = own_grid(l), g;
    const struct onnx_flat *f = maker(l, l->in[0], &op);
    if (!f || !moves(op) || f->n_in > MAX_IN)
        return PITH_OK;
    for (uint32_t i = 0; i < f->n_in; i++) {
        in[i] = input_of(l, f, i);
        if (i > 0 && op != PITH_OP_CONCAT)
            continue; /* a shape */
        if (!behind_dequantize(l, in[i], &g) || l->im->values[g.q].type != type ||
            !same_grid(&s, &g, &own))
            return s.status;
        in[i] = g.q;
    }
    const char *label = l->label;
    l->label = pith_onnx_label(f->node);
    lower_again(&s, f, (enum pith_op)op, true, in, f->n_in);
    l->done = true;
    l->label = label;
    return s.status;
}

enum pith_status pith_onnx_quantized_in_integers(struct onnx_lower *l, enum pith_type type)
{
    if (type != PITH_I8 && type != PITH_U8)
        return PITH_OK;
    enum pith_status status = layer_in_integers(l, type);
    return status || l->done ? status : move_in_integers(l, type);
}
