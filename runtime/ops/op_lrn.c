/* SPDX-License-Identifier: MIT */
/* op_lrn.c - local response normalisation across channels:
 *     y[c] = x[c] / (bias + alpha / size * sum of x[k]^2)^beta
 * over k from c - floor((size - 1) / 2) to c + ceil((size - 1) / 2), cut at the ends. Squares
 * are summed in the order of channels, for 64 pixels at a time.
 *
 * ONNX LRN-13, of AlexNet (Krizhevsky et al. 2012, section 3.3), over channels only. Each
 * channel sums its window anew instead of sliding it: a running sum would add and take away in
 * f32 and drift, and depend on where a thread began. */
#include "kernels/kernels.h"
#include "kernels/ref/elementwise_f32.h"
#include "kernels/ref/math_f32.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#define PIXELS 64u

static enum pith_status shape_lrn(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    return args->in[0]->shape.rank < 2 ? PITH_ERR_CORRUPT : pith_shape_same_f32(args);
}

struct lrn_job {
    const float *x; /* [N, C, pixels] */
    float *y;
    size_t channels, pixels, size;
    float alpha, beta, bias;
    const struct elementwise_rows *rows; /* NULL: none */
};

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

/* sum[i] += x[i]^2 */
static void add_squares(const float *x, float *sum, size_t n)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const four v = *(const four *)(const void *)(x + i);
        *(four *)(void *)(sum + i) += v * v;
    }
    for (; i < n; i++)
        sum[i] += x[i] * x[i];
}

static void square_roots(const struct lrn_job *j, const float *x, float *y, size_t n)
{
    if (j->rows)
        j->rows->unary(UNARY_SQRT, 0, 0, x, y, n);
    for (size_t i = 0; i < n && !j->rows; i++)
        y[i] = pith_sqrt_f32(x[i]);
}

/* v[i]^beta in its place; AlexNet's 3/4 by two square roots. */
static void powers(const struct lrn_job *j, float *v, size_t n)
{
    float quarter[PIXELS];
    if (j->beta == 0.75f) {
        square_roots(j, v, v, n);
        square_roots(j, v, quarter, n);
        for (size_t i = 0; i < n; i++)
            v[i] *= quarter[i];
    } else if (j->rows) {
        j->rows->binary[BINARY_POWER](v, 1, &j->beta, 0, v, n);
    } else {
        for (size_t i = 0; i < n; i++)
            v[i] = pith_pow_f32(v[i], j->beta);
    }
}

/* Channel c of n <= PIXELS pixels. x: [C, pixels], y: [n], both from the first of these pixels.
 * A column of pixels shares its window, so the inner loop is over neighbours in memory. */
static void lrn_block(const struct lrn_job *j, const float *x, size_t c, float *y, size_t n)
{
    size_t before = (j->size - 1) / 2, after = j->size / 2;
    size_t begin = c > before ? c - before : 0;
    /* The first form cannot wrap for a size near 2^20; the second line cuts at the last channel. */
    size_t end = after < j->channels - c ? c + after + 1 : j->channels;
    end = end > j->channels ? j->channels : end;
    float sum[PIXELS] = {0};
    for (size_t k = begin; k < end; k++)
        add_squares(x + k * j->pixels, sum, n);
    const float share = j->alpha / (float)j->size;
    for (size_t i = 0; i < n; i++)
        sum[i] = j->bias + share * sum[i];
    powers(j, sum, n);
    for (size_t i = 0; i < n; i++)
        y[i] = x[c * j->pixels + i] / sum[i];
}

/* Items are planes n * C + c. */
static void lrn_range(void *arg, size_t begin, size_t end)
{
    const struct lrn_job *j = arg;
    for (size_t plane = begin; plane < end; plane++) {
        size_t c = plane % j->channels;
        const float *x = j->x + (plane - c) * j->pixels;
        for (size_t p = 0; p < j->pixels; p += PIXELS) {
            size_t n = j->pixels - p < PIXELS ? j->pixels - p : PIXELS;
            lrn_block(j, x + p, c, j->y + plane * j->pixels + p, n);
        }
    }
}

static void run_lrn(const struct op_args *args, const struct op_env *env)
{
    const struct shape *s = &args->in[0]->shape;
    struct lrn_job job = {
        .x = args->in[0]->data,
        .y = args->out[0]->data,
        .channels = s->dim[1],
        .pixels = shape_product(s, 2, s->rank),
        .size = (size_t)args->attr[ATTR_LRN_SIZE],
        .alpha = attr_f32(args->attr, ATTR_LRN_ALPHA),
        .beta = attr_f32(args->attr, ATTR_LRN_BETA),
        .bias = attr_f32(args->attr, ATTR_LRN_BIAS),
        .rows = env->kernels ? env->kernels->row.elementwise : NULL,
    };
    /* Powers and windows cost about as much as 16 elements. */
    pith_op_range(env, (size_t)s->dim[0] * s->dim[1], job.pixels * 16, lrn_range, &job);
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_LRN_SIZE, 0, 1, 1 << 20},
    {ATTR_FLOAT, ATTR_LRN_ALPHA, 0x38d1b717 /* 1e-4 */, 0, 0},
    {ATTR_FLOAT, ATTR_LRN_BETA, 0x3f400000 /* 0.75 */, 0, 0},
    {ATTR_FLOAT, ATTR_LRN_BIAS, 0x3f800000 /* 1 */, 0, 0},
};

const struct op_info pith_op_lrn = {
    .op = PITH_OP_LRN,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 4,
    .n_slots = 4,
    .fields = fields,
    .traits = {.flags = TRAIT_CHANNELS_FIRST},
    .shape = shape_lrn,
    .run = run_lrn,
};
