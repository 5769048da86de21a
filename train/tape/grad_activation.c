/* SPDX-License-Identifier: MIT */
/* grad_activation.c - elementwise functions of one tensor: forward is the runtime's, the slope is
 * one row of a table here, from x or from y = f(x), whichever is cheaper. At a kink the slope is
 * that of the side which the runtime's comparison takes. */
#include "grad_add.h"
#include "grad_list.h"
#include "core/op_number.h"
#include "kernels/ref/exp_log_f32.h"
#include "op_interface/op_attr.h"

#include <math.h>

struct slope {
    const float *x, *y, *dy;
    float *dx;
    size_t count;
    float a, b; /* the operator's parameters */
    bool set;
};

/* dx (+)= dy * expression of x, y, a, b */
#define SLOPE(name, expression)                                                                    \
    static void name(const struct slope *s)                                                        \
    {                                                                                              \
        const float a = s->a, b = s->b;                                                            \
        const float *restrict xs = s->x, *restrict ys = s->y, *restrict dys = s->dy;               \
        float *restrict dxs = s->dx;                                                               \
        (void)a;                                                                                   \
        (void)b;                                                                                   \
        if (s->set)                                                                                \
            for (size_t i = 0; i < s->count; i++) {                                                \
                const float x = xs[i], y = ys[i];                                                  \
                (void)x;                                                                           \
                (void)y;                                                                           \
                dxs[i] = dys[i] * (expression);                                                    \
            }                                                                                      \
        else                                                                                       \
            for (size_t i = 0; i < s->count; i++) {                                                \
                const float x = xs[i], y = ys[i];                                                  \
                (void)x;                                                                           \
                (void)y;                                                                           \
                dxs[i] += dys[i] * (expression);                                                   \
            }                                                                                      \
    }

static const float two_by_root_pi = 1.12837917f, root_half = 0.707106781f;
static const float root_two_by_pi = 0.797884561f, gelu_cube = 0.044715f;

static float gelu_slope(float x)
{
    float density = 0.5f * root_half * two_by_root_pi * expf(-0.5f * x * x);
    return 0.5f + 0.5f * erff(x * root_half) + x * density;
}

static float gelu_tanh_slope(float x)
{
    float t = tanhf(root_two_by_pi * (x + gelu_cube * x * x * x));
    float inner = root_two_by_pi * (1.0f + 3.0f * gelu_cube * x * x);
    return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * inner;
}

/* x tanh(softplus(x)) */
static float mish_slope(float x)
{
    float softplus = x > 20.0f ? x : log1pf(expf(x)), t = tanhf(softplus);
    return t + x * (1.0f - t * t) / (1.0f + expf(-x));
}

/* choose: jumps are guessed wrong half of the time. */
SLOPE(leaky_relu, choose(x < 0.0f, a, 1.0f))
SLOPE(clip, choose((x >= a) & (x <= b), 1.0f, 0.0f))
SLOPE(sigmoid, y *(1.0f - y))
SLOPE(tanh_, 1.0f - y * y)
SLOPE(hard_sigmoid, choose((y > 0.0f) & (y < 1.0f), a, 0.0f))
SLOPE(hard_swish,
      choose(x <= -3.0f, 0.0f, choose(x >= 3.0f, 1.0f, (2.0f * x + 3.0f) * (1.0f / 6.0f))))
SLOPE(square_root, 0.5f / y)
SLOPE(exponential, y)
SLOPE(logarithm, 1.0f / x)
SLOPE(negative, -1.0f)
SLOPE(magnitude, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f)
SLOPE(reciprocal, -y *y)
SLOPE(error_function, two_by_root_pi *expf(-x *x))
SLOPE(sine, cosf(x))
SLOPE(cosine, -sinf(x))
SLOPE(arc_tangent, 1.0f / (1.0f + x * x))
SLOPE(area_sine, 1.0f / sqrtf(1.0f + x * x))
SLOPE(area_tangent, 1.0f / (1.0f - x * x))
SLOPE(elu, choose(x > 0.0f, 1.0f, y + a))
SLOPE(selu, choose(x > 0.0f, b, y + a * b))
SLOPE(celu, choose(x > 0.0f, 1.0f, y / a + 1.0f))
SLOPE(gelu, gelu_slope(x))
SLOPE(gelu_tanh, gelu_tanh_slope(x))
SLOPE(mish, mish_slope(x))
SLOPE(softplus, 1.0f - expf(-y))
SLOPE(softsign, 1.0f / ((1.0f + fabsf(x)) * (1.0f + fabsf(x))))
SLOPE(thresholded_relu, choose(x > a, 1.0f, 0.0f))

typedef void slope_fn(const struct slope *s);

/* NULL: flat almost everywhere. */
static slope_fn *const unary[UNARY_END] = {
    [UNARY_SQRT] = square_root,   [UNARY_EXP] = exponential,
    [UNARY_LOG] = logarithm,      [UNARY_NEG] = negative,
    [UNARY_ABS] = magnitude,      [UNARY_RECIPROCAL] = reciprocal,
    [UNARY_ERF] = error_function, [UNARY_SIN] = sine,
    [UNARY_COS] = cosine,         [UNARY_ELU] = elu,
    [UNARY_SELU] = selu,          [UNARY_CELU] = celu,
    [UNARY_GELU] = gelu,          [UNARY_GELU_TANH] = gelu_tanh,
    [UNARY_MISH] = mish,          [UNARY_SOFTPLUS] = softplus,
    [UNARY_SOFTSIGN] = softsign,  [UNARY_THRESHOLDED_RELU] = thresholded_relu,
    [UNARY_ATAN] = arc_tangent,   [UNARY_ASINH] = area_sine,
    [UNARY_ATANH] = area_tangent,
};

static void apply(struct grad_node *n, slope_fn *slope, float a, float b)
{
    struct slope s = {.x = n->in[0]->data,
                      .y = n->out[0]->data,
                      .dy = n->out[0]->grad,
                      .dx = n->in[0]->grad,
                      .count = grad_count(n->out[0]),
                      .a = a,
                      .b = b,
                      .set = n->sets[0]};
    if (s.dx)
        slope(&s);
}

static enum pith_status prepare_unary(struct grad_node *n, uint64_t *scratch_bytes)
{
    (void)scratch_bytes;
    return n->in[0]->grad && !unary[n->attr[ATTR_KIND]] ? PITH_ERR_UNSUPPORTED : PITH_OK;
}

static void backward_unary(struct grad_node *n)
{
    apply(n, unary[n->attr[ATTR_KIND]], attr_f32(n->attr, ATTR_UNARY_ALPHA),
          attr_f32(n->attr, ATTR_UNARY_GAMMA));
}

#define ACTIVATION(name, number, slope, first, second)                                             \
    static void backward_##name(struct grad_node *n)                                               \
    {                                                                                              \
        apply(n, slope, first, second);                                                            \
    }                                                                                              \
    const struct grad_op pith_grad_##name = {                                                      \
        .op = number, .layout = GRAD_EITHER, .sets = true, .backward = backward_##name}

/* The most frequent of all: at the speed of memory. */
static void backward_relu(struct grad_node *n)
{
    if (n->in[0]->grad)
        n->rows->rectify(n->out[0]->data, n->out[0]->grad, grad_count(n->out[0]), n->sets[0],
                         n->in[0]->grad);
}

const struct grad_op pith_grad_relu = {
    .op = PITH_OP_RELU, .layout = GRAD_EITHER, .sets = true, .backward = backward_relu};
ACTIVATION(leaky_relu, PITH_OP_LEAKY_RELU, leaky_relu, attr_f32(n->attr, ATTR_ALPHA), 0.0f);
ACTIVATION(clip, PITH_OP_CLIP, clip, attr_f32(n->attr, ATTR_CLIP_MIN),
           attr_f32(n->attr, ATTR_CLIP_MAX));
ACTIVATION(sigmoid, PITH_OP_SIGMOID, sigmoid, 0.0f, 0.0f);
ACTIVATION(tanh, PITH_OP_TANH, tanh_, 0.0f, 0.0f);
ACTIVATION(hard_sigmoid, PITH_OP_HARD_SIGMOID, hard_sigmoid, attr_f32(n->attr, ATTR_ALPHA), 0.0f);
ACTIVATION(hard_swish, PITH_OP_HARD_SWISH, hard_swish, 0.0f, 0.0f);

const struct grad_op pith_grad_unary = {.op = PITH_OP_UNARY,
                                        .layout = GRAD_EITHER,
                                        .sets = true,
                                        .prepare = prepare_unary,
                                        .backward = backward_unary};
