/* SPDX-License-Identifier: MIT */
/* conv_direct.c - convolutions with weights as the file has them: nothing is packed. */
#include "products/conv_coded.h"
#include "products/conv_kernel.h"
#include "products/conv_window.h"
#include "decode/weight_cut.h"
#include "decode/weight_f32.h"
#include "decode/weight_rows.h"

#define DEPTHWISE_MAX_O 3u

/* A weight that lies in the file as f32 is read where it lies; a coded one is expanded into
 * prep. */
static enum pith_status plain_need(const struct op_args *args, struct op_need *need)
{
    if (!args->weight || pith_weight_f32_borrow(args->weight))
        return PITH_OK;
    need->prep_scratch_bytes = pith_weight_scratch_bytes(args->weight);
    need->prep_form = prep_form(PREP_ELEMENTS, 0);
    return mul_ok(args->weight->count, sizeof(float), &need->prep_bytes) ? PITH_OK : PITH_ERR_LIMIT;
}

/* Without prep there is nothing to make. */
static enum pith_status plain_pack(const struct op_args *args, const struct op_env *env)
{
    return args->prep ? pith_weight_cut_f32(env, args->weight, args->prep, env->scratch) : PITH_OK;
}

/* Output planes of all images. */
static uint64_t planes_of(const struct conv *v)
{
    return (uint64_t)v->n * v->groups * v->g.o;
}

/* ---- depthwise ------------------------------------------------------------------------------ */

/* The columns of tiles cost about as much to make as DEPTHWISE_MAX_O output channels of one input
 * channel cost to compute. */
static bool depthwise_supports(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    (void)env;
    return !v->more && v->g.c == 1 && depthwise_fits(&v->g) && pith_conv_is_small(v) &&
           (v->groups > 1 || v->g.o <= DEPTHWISE_MAX_O);
}

/* Nothing is copied. */
static uint64_t depthwise_cost(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    (void)env;
    return (uint64_t)v->g.ow * v->g.o;
}

static enum pith_status depthwise_workspace(const struct op_args *args, const struct op_env *env,
                                            struct op_need *need)
{
    (void)env;
    need->kernel = "depthwise-f32";
    return plain_need(args, need);
}

/* One call goes on to the end of the image at most, as bias and weights begin anew there. */
static void depthwise_body(void *arg, uint32_t i)
{
    const struct conv_run *r = arg;
    const struct conv *v = r->v;
    const float *bias = r->bias;
    float *y = r->y;
    size_t channels = (size_t)v->groups * v->g.o;
    for (uint64_t u = conv_chunk(r, i), end = conv_chunk(r, i + 1), next; u < end; u = next) {
        /* planes in one call share an image and, where a group has several outputs, their input */
        size_t o = (size_t)(u % channels);
        next = u + (v->g.o > 1 ? v->g.o - o % v->g.o : channels - o);
        next = next < end ? next : end;
        struct depthwise_f32_job job = {.g = &v->g,
                                        .x = r->x + u / v->g.o * r->x_group,
                                        .x_step = v->g.o > 1 ? 0 : r->x_group,
                                        .w = r->w + o * v->k,
                                        .y = y + u * v->pixels,
                                        .y_step = v->pixels,
                                        .bias = bias ? bias + o : NULL,
                                        .residual =
                                            r->residual ? r->residual + u * v->pixels : NULL,
                                        .planes = (uint32_t)(next - u),
                                        .act = r->act};
        r->d->depthwise_f32(&job);
    }
}

static void depthwise_run(const struct op_args *args, const struct op_env *env)
{
    struct conv_run r = pith_conv_run_of(args, env);
    conv_set_chunks(&r, env, planes_of(args->lowered));
    pith_op_parallel(env, r.chunks, depthwise_body, &r);
}

/* To the kernel a band is an image of fewer rows, and padding is above its first one alone. */
void pith_conv_depthwise_band(const struct op_args *args, const struct op_env *env,
                              const struct conv_band *band)
{
    const struct conv_run r = pith_conv_run_of(args, env);
    const uint32_t first = band->begin * r.v->g.stride_h, pad = r.v->g.pad_top;
    const size_t out = (size_t)band->begin * r.v->g.ow;
    struct conv_geom g = r.v->g;
    g.h = band->x_end - band->x_begin;
    g.oh = band->end - band->begin;
    g.pad_top = pad > first ? pad - first : 0;
    const struct depthwise_f32_job job = {.g = &g,
                                          .x = band->between,
                                          .x_step = (size_t)g.h * g.w,
                                          .w = r.w,
                                          .y = r.y + out,
                                          .y_step = r.v->pixels,
                                          .bias = r.bias,
                                          .residual = r.residual ? r.residual + out : NULL,
                                          .planes = r.v->groups,
                                          .act = r.act};
    r.d->depthwise_f32(&job);
}

const struct conv_kernel pith_conv_depthwise = {depthwise_supports, depthwise_cost,
                                                depthwise_workspace, plain_pack, depthwise_run};

/* ---- decoded at each run -------------------------------------------------------------------- */

/* The reader counts elements of a filter in 32 bits. */
static bool coded_supports(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    return !v->more && v->k <= UINT32_MAX && pith_weight_rows_wanted(env, args->weight);
}

static bool depthwise_coded_supports(const struct op_args *args, const struct op_env *env)
{
    return depthwise_supports(args, env) && coded_supports(args, env);
}

/* Where weights are to stay as they are, time does not count. */
static uint64_t coded_cost(const struct op_args *args, const struct op_env *env)
{
    (void)args;
    (void)env;
    return 0;
}

/* The reader's memory is taken twice: when the plan is made, to check every bit of the weight, and
 * at each run. */
static enum pith_status coded_workspace(const struct op_args *args, const struct op_env *env,
                                        struct op_need *need)
{
    (void)env;
    need->kernel = "conv-coded";
    need->reads_rows = true;
    need->scratch_bytes = need->prep_scratch_bytes = pith_weight_rows_bytes(args->weight);
    return PITH_OK;
}

static enum pith_status depthwise_coded_workspace(const struct op_args *args,
                                                  const struct op_env *env, struct op_need *need)
{
    enum pith_status status = coded_workspace(args, env, need);
    need->kernel = "depthwise-coded";
    return status;
}

/* Filter after filter, each over all images before the next is decoded. */
static void coded_run(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    const struct conv_run own = pith_conv_run_of(args, env), *r = &own;
    const float *bias = r->bias;
    struct weight_rows *rows = pith_weight_rows_open(args->weight, env->scratch);
    size_t filters = (size_t)v->groups * v->g.o;
    struct conv_coded_job job = {.g = &v->g,
                                 .images = v->n,
                                 .k = (uint32_t)v->k,
                                 .pixels = v->pixels,
                                 .x_image = v->groups * r->x_group,
                                 .y_image = filters * v->pixels,
                                 .act = r->act};
    for (size_t f = 0; f < filters; f++) {
        job.x = r->x + f / v->g.o * r->x_group;
        job.y = r->y + f * v->pixels;
        job.bias = bias ? bias + f : NULL;
        job.residual = r->residual ? r->residual + f * v->pixels : NULL;
        pith_conv_coded_filter(&job, rows);
    }
}

const struct conv_kernel pith_conv_depthwise_coded = {depthwise_coded_supports, coded_cost,
                                                      depthwise_coded_workspace, NULL, coded_run};
const struct conv_kernel pith_conv_coded = {coded_supports, coded_cost, coded_workspace, NULL,
                                            coded_run};

/* ---- direct --------------------------------------------------------------------------------- */

/* The reference kernel does everything, so every convolution has a kernel, and with the highest
 * cost it is the last choice. */
static bool direct_supports(const struct op_args *args, const struct op_env *env)
{
    (void)args;
    (void)env;
    return true;
}

static uint64_t direct_cost(const struct op_args *args, const struct op_env *env)
{
    (void)args;
    (void)env;
    return UINT64_MAX;
}

static enum pith_status direct_workspace(const struct op_args *args, const struct op_env *env,
                                         struct op_need *need)
{
    (void)env;
    need->kernel = "conv-f32-direct";
    return plain_need(args, need);
}

/* Plane u of all images' and groups' outputs. */
static void window_unit(const struct conv_run *r, uint64_t u)
{
    const struct conv *v = r->v;
    size_t group = (size_t)(u / v->g.o), own = group % v->groups, o = (size_t)(u % v->g.o);
    const float *bias = r->bias;
    struct window_plane plane = {.v = &v->window,
                                 .channels = v->g.c,
                                 .x = r->x + group * r->x_group,
                                 .w = r->w + own * r->w_group + o * v->k,
                                 .y = r->y + u * v->pixels,
                                 .residual = r->residual ? r->residual + u * v->pixels : NULL,
                                 .bias = bias ? bias[own * v->g.o + o] : 0.0f,
                                 .act = r->act};
    pith_window_plane(&plane);
}

static void window_body(void *arg, uint32_t i)
{
    const struct conv_run *r = arg;
    for (uint64_t u = conv_chunk(r, i); u < conv_chunk(r, i + 1); u++)
        window_unit(r, u);
}

/* Chunks are of output planes: o is one output channel of a group of an image. */
static void direct_body(void *arg, uint32_t i)
{
    const struct conv_run *r = arg;
    const struct conv *v = r->v;
    const float *bias = r->bias;
    float *y = r->y;
    for (uint64_t u = conv_chunk(r, i); u < conv_chunk(r, i + 1); u++) {
        size_t group = (size_t)(u / v->g.o), own = group % v->groups;
        uint32_t o = (uint32_t)(u % v->g.o);
        struct conv_f32_job job = {.g = &v->g,
                                   .x = r->x + group * r->x_group,
                                   .w = r->w + own * r->w_group,
                                   .y = y + group * r->y_group,
                                   .bias = bias ? bias + own * v->g.o : NULL,
                                   .residual =
                                       r->residual ? r->residual + group * r->y_group : NULL,
                                   .o0 = o,
                                   .o1 = o + 1,
                                   .act = r->act};
        r->d->conv_f32(&job);
    }
}

static void direct_run(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    struct conv_run r = pith_conv_run_of(args, env);
    conv_set_chunks(&r, env, planes_of(v));
    pith_op_parallel(env, r.chunks, v->more ? window_body : direct_body, &r);
}

const struct conv_kernel pith_conv_direct = {direct_supports, direct_cost, direct_workspace,
                                             plain_pack, direct_run};
