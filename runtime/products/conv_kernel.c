/* SPDX-License-Identifier: MIT */
/* conv_kernel.c - what the kernels of convolutions share. */
#include "products/conv_kernel.h"
#include "decode/weight_f32.h"

bool pith_conv_is_small(const struct conv *v)
{
    const struct conv_geom *g = &v->g;
    uint64_t reach_h = (uint64_t)(g->kh - 1) * g->dil_h, reach_w = (uint64_t)(g->kw - 1) * g->dil_w;
    uint64_t limit = 1u << 28;
    const size_t in = v->more ? v->window.in : (size_t)g->h * g->w;
    return in < limit && v->pixels < limit && v->k < limit && reach_h < limit && reach_w < limit &&
           (g->oh + reach_h) * g->stride_h < limit && (g->ow + reach_w) * g->stride_w < limit;
}

static const float *data_of(const struct op_args *args, uint32_t i)
{
    return args->n_in > i && args->in[i] ? args->in[i]->data : NULL;
}

struct conv_run pith_conv_run_of(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    const struct conv_geom *g = &v->g;
    const struct tview *residual = args->fuse.residual;
    const float *w = !args->weight ? data_of(args, 1)
                     : args->prep  ? args->prep
                                   : pith_weight_f32_borrow(args->weight);
    return (struct conv_run){.v = v,
                             .args = args,
                             .d = &env->kernels->dense,
                             .x_group = g->c * (v->more ? v->window.in : (size_t)g->h * g->w),
                             .y_group = g->o * v->pixels,
                             .w_group = g->o * v->k,
                             .x = data_of(args, 0),
                             .bias = data_of(args, 2),
                             .residual = residual ? residual->data : NULL,
                             .w = w,
                             .y = args->out[0]->data,
                             .y_plane = v->pixels,
                             .act = {args->fuse.act, args->fuse.a, args->fuse.b}};
}
