/* SPDX-License-Identifier: MIT */
/* conv_sparse.c - convolutions with a pruned weight: the columns under a tile of pixels are copied
 * into a panel that stays in cache (1x1 ones, too: their channels lie planes apart), and each
 * nonzero of the weight is multiplied with one row of it (kernel_quads.h), as in Elsen et al.,
 * Fast Sparse ConvNets.
 *
 *     prep    = the weight as quads, columns in the order of im2col_f32
 *     scratch = one panel [K][width] for each lane */
#include "products/conv_kernel.h"
#include "products/quad_form.h"
#include "products/run_form.h"
#include "pith_runtime.h"

#define PANEL_FLOATS (1u << 17) /* half of a second-level cache */

/* The panel is as wide as the image has pixels, up to 48, and narrower where a tile of all K rows
 * would not stay in cache. It depends on the shape alone, so planning, packing and running agree on
 * it. */
static struct quad_matrix matrix_of(const struct conv *v)
{
    uint32_t width = QUAD_WIDTH_MAX;
    while (width > QUAD_WIDTH_STEP && width >= v->pixels + QUAD_WIDTH_STEP)
        width -= QUAD_WIDTH_STEP;
    while (width > QUAD_WIDTH_STEP && v->k * width > PANEL_FLOATS)
        width -= QUAD_WIDTH_STEP;
    return (struct quad_matrix){
        .rows = v->g.o, .cols = (uint32_t)v->k, .taps = (uint32_t)(v->k / v->g.c), .width = width};
}

/* One group over at most two axes: im2col_f32 makes the panel. */
static bool sparse_supports(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    const struct sparse_kernels *k = &env->kernels->sparse;
    struct quad_need need;
    if (!args->weight || v->groups != 1 || v->more || k->costs.quads[0] == 0 ||
        (env->flags & PITH_FLAG_DENSE_ONLY) || !pith_conv_is_small(v))
        return false;
    struct quad_matrix m = matrix_of(v);
    return pith_quads_need(args->weight, &m, &need) == PITH_OK;
}

/* What tiles would take for as many output channels as have the time of the nonzeros. */
static uint64_t sparse_cost(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    const struct sparse_kernels *k = &env->kernels->sparse;
    struct quad_matrix m = matrix_of(v);
    uint64_t ns = pith_quads_cost(args->weight, &m, k, m.width, 1, false);
    uint64_t channel_ns = pith_tiles_cost(k, 1, m.cols, m.width);
    return v->g.ow * (ns / (channel_ns ? channel_ns : 1) + conv_copy_channels(&v->g));
}

/* Tiles do not go across images: the pixels of a tile are one range of one plane. */
static uint64_t tiles_of(const struct conv *v, const struct quad_matrix *m)
{
    return (v->pixels + m->width - 1) / m->width;
}

/* The form of prep depends on the width and the taps, since places in it depend on both: steps with
 * the same weight share prep where the form is the same. */
static enum pith_status sparse_workspace(const struct op_args *args, const struct op_env *env,
                                         struct op_need *need)
{
    const struct conv *v = args->lowered;
    struct quad_matrix m = matrix_of(v);
    struct quad_need form;
    enum pith_status status = pith_quads_need(args->weight, &m, &form);
    if (status)
        return status;
    need->kernel = v->in_place ? "conv1x1-sparse" : "conv-sparse";
    need->prep_bytes = form.bytes;
    need->prep_scratch_bytes = form.scratch_bytes;
    need->prep_form = prep_form(PREP_CONV_QUADS + m.width / QUAD_WIDTH_STEP, m.taps);
    need->scratch_bytes = v->k * m.width * sizeof(float) *
                          conv_lanes_of(env, tiles_of(v, &m) * v->n); /* below 2^48 */
    return PITH_OK;
}

static enum pith_status sparse_pack(const struct op_args *args, const struct op_env *env)
{
    struct quad_matrix m = matrix_of(args->lowered);
    return pith_quads_build(env, args->weight, &m, args->prep);
}

/* Pixels [p0, end) of an image, or as many as a panel is wide. A tile's outputs are neighbours in
 * each output plane. */
static void tile_run(const struct conv_run *r, const struct quad_matrix *m, float *panel,
                     size_t image, size_t p0, size_t end)
{
    const struct conv *v = r->v;
    const struct quad_form *form = r->args->prep;
    uint32_t n = end - p0 < m->width ? (uint32_t)(end - p0) : m->width;
    size_t out = image * r->y_group + (p0 - r->y_first);
    const struct im2col_f32_job columns = {.g = &v->g,
                                           .x = r->x + image * r->x_group,
                                           .b = panel,
                                           .plane = (size_t)v->g.h * v->g.w,
                                           .ldb = m->width,
                                           .p0 = p0,
                                           .n = n,
                                           .k0 = 0,
                                           .k1 = m->cols};
    const struct quads_job job = {.form = form,
                                  .x = panel,
                                  .x_step = QUAD_WIDTH_STEP,
                                  .y = r->y + out,
                                  .ldy = r->y_plane,
                                  .bias = r->bias,
                                  .residual = r->residual ? r->residual + out : NULL,
                                  .n = n,
                                  .unit_end = form->n_units,
                                  .act = r->act};
    r->d->im2col_f32(&columns);
    r->quads(&job);
}

/* Chunk i: some tiles, all output channels. */
static void sparse_body(void *arg, uint32_t i, uint32_t lane)
{
    const struct conv_run *r = arg;
    const struct quad_matrix m = matrix_of(r->v);
    const uint64_t tiles = tiles_of(r->v, &m);
    float *panel = r->panels + (size_t)lane * r->v->k * m.width;
    for (uint64_t u = conv_chunk(r, i); u < conv_chunk(r, i + 1); u++)
        tile_run(r, &m, panel, (size_t)(u / tiles), (size_t)(u % tiles) * m.width, r->v->pixels);
}

static void sparse_run(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    struct quad_matrix m = matrix_of(v);
    struct conv_run r = pith_conv_run_of(args, env);
    r.panels = env->scratch;
    r.quads = env->kernels->sparse.quads;
    conv_set_chunks(&r, env, tiles_of(v, &m) * v->n);
    pith_op_parallel_lanes(env, r.chunks, sparse_body, &r);
}

void pith_conv_sparse_band(const struct op_args *args, const struct op_env *env,
                           const struct conv_band *band)
{
    const struct conv *v = args->lowered;
    const struct quad_matrix m = matrix_of(v);
    const size_t end = (size_t)band->x_end * v->g.ow;
    struct conv_run r = pith_conv_run_of(args, env);
    float *panel = (float *)env->scratch + (size_t)band->lane * v->k * m.width;
    r.quads = env->kernels->sparse.quads;
    r.y = band->between;
    r.y_first = (size_t)band->x_begin * v->g.ow;
    r.y_plane = end - r.y_first;
    for (size_t p = r.y_first; p < end; p += m.width)
        tile_run(&r, &m, panel, 0, p, end);
}

const struct conv_kernel pith_conv_sparse = {sparse_supports, sparse_cost, sparse_workspace,
                                             sparse_pack, sparse_run};
