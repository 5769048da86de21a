/* SPDX-License-Identifier: MIT */
/* onnx_resample.c - Resize with antialiasing, or of a cut-out (tf_crop_and_resize), as matrix
 * products: along an axis each output is a weighted sum of inputs, and the weights are known.
 *
 *     y[.., out, n] = A [out, in] x[.., in, n]     for the last axis but one; others are brought
 * there
 *
 * Antialiasing stretches the linear or cubic kernel by input / output when an axis shrinks; the
 * weights are then divided by their sum. An output that a cut-out places outside of the input is
 * the extrapolation value: its row of A is 0, and a constant is added in the end. The matrix stands
 * on the left, where no stage takes it for a weight. */
#include "onnx_resample.h"
#include "onnx/graph/onnx_step.h"

#include <math.h>

/* A matrix larger than this is an image that was not meant to be resized this way. */
#define MAX_MATRIX (UINT64_C(1) << 24)

struct resampling {
    struct onnx_steps steps;
    const struct resample_rule *rule;
    const struct resample_axis *axis;
    uint8_t
        *outside[PITH_MAX_RANK]; /* [out] of each sampled axis: 1 where the cut-out has no input */
};

static bool is_sampled(const struct resample_rule *r, const struct resample_axis *a)
{
    bool cut = r->coord == COORD_CROP && (a->start != 0 || a->end != 1);
    return a->in != a->out || a->scale != 1 || cut;
}

/* The place in the input of output o, as ONNX defines it. */
static double coordinate(const struct resample_rule *r, const struct resample_axis *a, uint32_t o)
{
    double in = a->in, out = a->out;
    switch (r->coord) {
    case COORD_ASYMMETRIC:
        return o / a->scale;
    case COORD_ALIGN_CORNERS:
        return a->out == 1 ? 0 : o * (in - 1) / (out - 1);
    case COORD_PYTORCH_HALF_PIXEL:
        return a->out == 1 ? 0 : (o + 0.5) / a->scale - 0.5;
    case COORD_HALF_PIXEL_SYMMETRIC:
        return in / 2 * (1 - out / (a->scale * in)) + (o + 0.5) / a->scale - 0.5;
    case COORD_CROP:
        return a->out == 1 ? (a->start + a->end) * (in - 1) / 2
                           : a->start * (in - 1) + o * (a->end - a->start) * (in - 1) / (out - 1);
    default: /* COORD_HALF_PIXEL */
        return (o + 0.5) / a->scale - 0.5;
    }
}

/* Keys' kernel for cubic, the triangle for linear. */
static double kernel(const struct resample_rule *r, double x)
{
    double a = (double)r->cubic_a;
    x = fabs(x);
    if (r->mode == RESIZE_LINEAR)
        return x < 1 ? 1 - x : 0;
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0;
}

static double nearest_place(const struct resample_rule *r, double x)
{
    switch (r->nearest) {
    case ROUND_PREFER_CEIL:
        return floor(x + 0.5);
    case ROUND_FLOOR:
        return floor(x);
    case ROUND_CEIL:
        return ceil(x);
    default: /* ROUND_PREFER_FLOOR */
        return ceil(x - 0.5);
    }
}

static uint32_t clamped(double place, uint32_t in)
{
    return place <= 0 ? 0 : place >= in - 1 ? in - 1 : (uint32_t)place;
}

/* Row [in] of output o, zeroed before. */
static void weigh(const struct resample_rule *r, const struct resample_axis *a, double x,
                  float *row)
{
    double stretch = r->antialias && a->scale < 1 ? a->scale : 1, sum = 0;
    double reach = (r->mode == RESIZE_CUBIC ? 2 : 1) / stretch;
    if (r->mode == RESIZE_NEAREST) {
        row[clamped(nearest_place(r, x), a->in)] = 1;
        return;
    }
    for (double at = ceil(x - reach); at <= x + reach; at++) {
        bool outside = at < 0 || at > a->in - 1;
        if (!outside || !r->exclude_outside)
            sum += kernel(r, (at - x) * stretch);
    }
    for (double at = ceil(x - reach); at <= x + reach; at++) {
        bool outside = at < 0 || at > a->in - 1;
        if ((!outside || !r->exclude_outside) && sum != 0)
            row[clamped(at, a->in)] += (float)(kernel(r, (at - x) * stretch) / sum);
    }
}

static void fill_matrix(const struct resample_rule *r, const struct resample_axis *a, float *matrix,
                        uint8_t *outside)
{
    for (uint32_t o = 0; o < a->out; o++) {
        double x = coordinate(r, a, o), top = (double)a->in + 2;
        outside[o] = r->coord == COORD_CROP && !(x >= 0 && x <= a->in - 1);
        x = x > -3 ? x : -3; /* further out all weights are the edge's; NaN too */
        x = x < top ? x : top;
        if (!outside[o])
            weigh(r, a, x, matrix + (size_t)o * a->in);
    }
}

/* x resampled along axis i. */
static uint32_t resample_axis(struct resampling *s, uint32_t i, uint32_t rank, uint32_t x)
{
    struct onnx_lower *l = s->steps.l;
    const struct resample_axis *a = &s->axis[i];
    int32_t perm[PITH_MAX_RANK];
    bool moved = i != rank - 2;
    void *matrix;
    if (!s->steps.status && (uint64_t)a->in * a->out > MAX_MATRIX)
        s->steps.status =
            pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                "resampling %u to %u samples this way is too large", a->in, a->out);
    s->outside[i] = pith_onnx_alloc(&l->im->budget, a->out, 1);
    if (!s->outside[i] && !s->steps.status)
        s->steps.status = pith_onnx_no_memory(l->im);
    uint32_t weights =
        pith_step_constant(&s->steps, PITH_F32, 2, (const uint32_t[]){a->out, a->in}, &matrix);
    if (s->steps.status)
        return x;
    fill_matrix(s->rule, a, matrix, s->outside[i]);
    for (uint32_t k = 0; k < rank; k++)
        perm[k] = (int32_t)(k == i ? rank - 2 : k == rank - 2 ? i : k);
    if (moved)
        x = pith_step_transpose(&s->steps, x, rank, perm);
    x = pith_step_two(&s->steps, PITH_OP_MATMUL, weights, x);
    return moved ? pith_step_transpose(&s->steps, x, rank, perm) : x;
}

/* x with the extrapolation value added where some axis is outside. */
static uint32_t extrapolate(struct resampling *s, uint32_t rank, uint32_t x)
{
    struct shape shape = {.rank = rank};
    uint64_t count = 0;
    bool any = false;
    void *data;
    for (uint32_t i = 0; i < rank && !s->steps.status; i++) {
        shape.dim[i] = s->outside[i] ? s->axis[i].out : 1;
        any = any || (s->outside[i] && memchr(s->outside[i], 1, s->axis[i].out));
    }
    if (!any || s->rule->extrapolation == 0.0f)
        return x;
    if (pith_shape_count(&shape, &count) || count > MAX_MATRIX) {
        s->steps.status =
            pith_onnx_node_fail(s->steps.l, PITH_ERR_UNSUPPORTED, "its output is too large");
        return x;
    }
    uint32_t added = pith_step_constant(&s->steps, PITH_F32, rank, shape.dim, &data);
    for (uint64_t e = 0; e < count && !s->steps.status; e++) {
        uint64_t left = e;
        for (uint32_t i = rank; i-- > 0; left /= shape.dim[i])
            if (s->outside[i] && s->outside[i][left % shape.dim[i]])
                ((float *)data)[e] = s->rule->extrapolation;
    }
    return pith_step_two(&s->steps, PITH_OP_ADD, x, added);
}

enum pith_status pith_onnx_resample(struct onnx_lower *l, const struct resample_rule *rule,
                                    const struct resample_axis *axis)
{
    struct resampling s = {.steps = {l, PITH_OK}, .rule = rule, .axis = axis};
    uint32_t x = l->in[0], rank = pith_onnx_in_shape(l, 0)->rank;
    if (l->im->values[x].type != PITH_F32 || rank < 2)
        return pith_onnx_node_fail(
            l, PITH_ERR_UNSUPPORTED,
            "antialiased and cut-out resizing takes floats of 2 dims or more");
    for (uint32_t i = 0; i < rank; i++)
        if (is_sampled(rule, &axis[i]))
            x = resample_axis(&s, i, rank, x);
    return pith_step_result(&s.steps, 0, extrapolate(&s, rank, x));
}
