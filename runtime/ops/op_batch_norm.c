/* SPDX-License-Identifier: MIT */
/* op_batch_norm.c - BatchNormalization at inference: y = x * s[c] + t[c] with s = scale /
 * sqrt(var + epsilon) and t = bias - mean * s, each rounded to f32 as written.
 *
 * ONNX BatchNormalization-15 with training_mode = 0. Stages that change weights anyway fold it
 * into the convolution before it (model/fold_batch_norm.c); import leaves it, since folding
 * rounds the weights anew. */
#include "kernels/ref/math_f32.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

static enum pith_status shape_batch_norm(const struct op_args *args)
{
    enum pith_status st = pith_in_f32(args, 5);
    if (st)
        return st;
    const struct shape *x = &args->in[0]->shape;
    /* At least [N, C]; without C there is nothing to normalize by. */
    if (x->rank < 2)
        return PITH_ERR_CORRUPT;
    for (uint32_t i = 1; i < 5; i++) {
        const struct shape *p = &args->in[i]->shape;
        if (p->rank != 1 || p->dim[0] != x->dim[1])
            return PITH_ERR_CORRUPT;
    }
    return pith_out_set(args->out[0], PITH_F32, x);
}

struct batch_norm_job {
    const float *x; /* [images, channels, elems] */
    float *y;
    const float *scale, *bias, *mean, *var; /* [C] */
    float epsilon;
    size_t images, channels, elems;
};

/* s and t are computed at each run: they would be memory that the plan had to give. Those of
 * several channels one after the other, since independent square roots and divisions cost a
 * quarter. */
#define CHANNELS 32u

static void factors(const struct batch_norm_job *j, size_t c, size_t n, float *s, float *t)
{
    for (size_t i = 0; i < n; i++) {
        s[i] = j->scale[c + i] / pith_sqrt_f32(j->var[c + i] + j->epsilon);
        t[i] = j->bias[c + i] - j->mean[c + i] * s[i];
    }
}

/* Items are channels: tokens have many images of one element, which share the factors. */
static void batch_norm_range(void *arg, size_t begin, size_t end)
{
    const struct batch_norm_job *j = arg;
    float s[CHANNELS], t[CHANNELS];
    for (size_t c = begin, n; c < end; c += n) {
        n = end - c < CHANNELS ? end - c : CHANNELS;
        factors(j, c, n, s, t);
        for (size_t image = 0; image < j->images; image++) {
            const float *x = j->x + (image * j->channels + c) * j->elems;
            float *y = j->y + (image * j->channels + c) * j->elems;
            for (size_t k = 0; k < n && j->elems == 1; k++)
                y[k] = x[k] * s[k] + t[k];
            for (size_t k = 0; k < n && j->elems > 1; k++, x += j->elems, y += j->elems)
                for (size_t i = 0; i < j->elems; i++)
                    y[i] = x[i] * s[k] + t[k];
        }
    }
}

static void run_batch_norm(const struct op_args *args, const struct op_env *env)
{
    const struct shape *s = &args->in[0]->shape;
    struct batch_norm_job job = {
        .x = args->in[0]->data,
        .y = args->out[0]->data,
        .scale = args->in[1]->data,
        .bias = args->in[2]->data,
        .mean = args->in[3]->data,
        .var = args->in[4]->data,
        .epsilon = attr_f32(args->attr, ATTR_BN_EPSILON),
        .images = s->dim[0],
        .channels = s->dim[1],
        .elems = shape_product(s, 2, s->rank),
    };
    pith_op_range(env, job.channels, job.images * job.elems, batch_norm_range, &job);
}

static const struct attr_field fields[] = {
    {ATTR_FLOAT, ATTR_BN_EPSILON, 0x3727c5ac /* 1e-5 */, 0, 0},
};

const struct op_info pith_op_batch_norm = {
    .op = PITH_OP_BATCH_NORM,
    .n_in_min = 5,
    .n_in_max = 5,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 1,
    .n_slots = 1,
    .flags = OP_INPLACE,
    .fields = fields,
    .traits = {.flags = TRAIT_NORMALIZES | TRAIT_CHANNELS_FIRST, .parameters = 1u << 1 | 1u << 2},
    .shape = shape_batch_norm,
    .run = run_batch_norm,
};
