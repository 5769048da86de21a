/* SPDX-License-Identifier: MIT */
/* conv_run.c - a convolution, lowered: its geometry and the choice among its kernels
 * (conv_kernel.h); and the kernel that is a matrix product. */
#include "products/conv_run.h"
#include "products/conv_kernel.h"
#include "products/product_f32.h"
#include "op_interface/op_attr.h"

#define ENTRY(name) &name,
static const struct conv_kernel *const kernels[] = {CONV_KERNELS(ENTRY)};

/* A plane of one column is a row to every kernel: their vectors lie along rows. */
static void lay_down(struct conv_geom *g)
{
    if (g->w != 1 || g->ow != 1 || g->kw != 1 || g->pad_left != 0)
        return;
    g->w = g->h, g->ow = g->oh, g->kw = g->kh;
    g->stride_w = g->stride_h, g->dil_w = g->dil_h, g->pad_left = g->pad_top;
    g->h = g->oh = g->kh = g->stride_h = g->dil_h = 1;
    g->pad_top = 0;
}

static void set_geometry(struct conv *v, const struct op_args *args)
{
    const struct shape *x = &args->in[0]->shape, *w = &args->in[1]->shape;
    const struct shape *y = &args->out[0]->shape;
    const int32_t *attr = args->attr;
    uint32_t last = x->rank - 1, axis = last - 2;
    v->n = x->dim[0];
    v->groups = (uint32_t)attr[ATTR_CONV_GROUP];
    v->more = axis > 1;
    if (v->more)
        v->window = pith_window_conv(attr, x, w, y);
    v->g = (struct conv_geom){.c = w->dim[1],
                              .o = w->dim[0] / v->groups,
                              .h = 1,
                              .oh = 1,
                              .kh = 1,
                              .stride_h = 1,
                              .dil_h = 1,
                              .w = x->dim[last],
                              .ow = y->dim[last],
                              .kw = w->dim[last]};
    v->g.stride_w = (uint32_t)attr_item(attr, ATTR_CONV_STRIDES, axis, 1);
    v->g.dil_w = (uint32_t)attr_item(attr, ATTR_CONV_DILATIONS, axis, 1);
    v->g.pad_left = (uint32_t)attr_item(attr, ATTR_CONV_PADS, axis, 0);
    if (axis > 0) {
        v->g.h = x->dim[last - 1], v->g.oh = y->dim[last - 1], v->g.kh = w->dim[last - 1];
        v->g.stride_h = (uint32_t)attr_item(attr, ATTR_CONV_STRIDES, axis - 1, 1);
        v->g.dil_h = (uint32_t)attr_item(attr, ATTR_CONV_DILATIONS, axis - 1, 1);
        v->g.pad_top = (uint32_t)attr_item(attr, ATTR_CONV_PADS, axis - 1, 0);
    }
    lay_down(&v->g);
}

/* Output pixel (0,0) sees each input pixel exactly once, in order. */
static bool covers_input(const struct conv *v)
{
    const struct conv_geom *g = &v->g;
    for (uint32_t i = 0; v->more && i < v->window.n; i++) {
        const struct window_axis *a = &v->window.axis[i];
        if (a->out != 1 || a->pad != 0 || a->kernel != a->in || (a->kernel > 1 && a->dilation > 1))
            return false;
    }
    if (v->more)
        return true;
    return g->oh == 1 && g->ow == 1 && g->pad_top == 0 && g->pad_left == 0 && g->kh == g->h &&
           g->kw == g->w && (g->kh == 1 || g->dil_h == 1) && (g->kw == 1 || g->dil_w == 1);
}

/* A kernel of one element at stride 1 without padding: output pixel p is a product of input pixel p
 * alone, so x is the matrix that im2col would make. */
static bool pointwise(const struct conv *v)
{
    const struct conv_geom *g = &v->g;
    for (uint32_t i = 0; v->more && i < v->window.n; i++) {
        const struct window_axis *a = &v->window.axis[i];
        if (a->kernel != 1 || a->stride != 1 || a->pad != 0 || a->out != a->in)
            return false;
    }
    if (v->more)
        return true;
    return g->kh == 1 && g->kw == 1 && g->stride_h == 1 && g->stride_w == 1 && g->oh == g->h &&
           g->ow == g->w && g->pad_top == 0 && g->pad_left == 0;
}

/* k is the number of terms of a sum: channels of a group times taps. */
static void set_conv(struct conv *v, const struct op_args *args)
{
    const struct conv_geom *g = &v->g;
    set_geometry(v, args);
    v->pixels = v->more ? v->window.out : (size_t)g->oh * g->ow;
    v->k = g->c * (v->more ? v->window.taps : (size_t)g->kh * g->kw);
    v->in_place = pointwise(v);
}

_Static_assert(sizeof(struct conv) <= OP_LOWERED_MAX, "planning reserves more");
_Static_assert(CONV_MAX_AXES <= WINDOW_MAX_AXES, "a window has them");

/* A product, tiles and rows keep what they were cut into; more than two axes a window. */
uint32_t pith_conv_lowered_bytes(const struct op_args *args, const struct op_env *env)
{
    struct conv v;
    set_conv(&v, args);
    if (v.more)
        return sizeof v;
    bool cut = env->kernels->dense.mr != 0 || covers_input(&v);
    return cut ? offsetof(struct conv, window) : offsetof(struct conv, way);
}

#define N_KERNELS (sizeof kernels / sizeof *kernels)

/* The number of the cheapest, from 1 on: pith_conv_direct supports everything. */
static uint32_t cheapest(const struct op_args *args, const struct op_env *env)
{
    uint32_t best = 0;
    uint64_t least = 0;
    for (uint32_t i = 0; i < N_KERNELS; i++) {
        if (!kernels[i]->supports(args, env))
            continue;
        uint64_t cost = kernels[i]->cost(args, env);
        if (best && cost >= least)
            continue;
        best = i + 1;
        least = cost;
    }
    return best;
}

/* A choice is the kernel's number, and INNER times that of its product. */
#define INNER 16u

/* A choice may come from a plan file and so be any number: it is taken only where that kernel
 * exists and supports the convolution. */
enum pith_status pith_conv_need(const struct op_args *args, const struct op_env *env,
                                struct op_need *need)
{
    struct conv *v = args->lowered;
    set_conv(v, args);
    *need = (struct op_need){0};
    if (!mul_ok(shape_elems(&args->out[0]->shape), v->k, &need->macs))
        need->macs = UINT64_MAX;
    uint32_t choice = args->choice % INNER;
    if (choice > N_KERNELS || (choice && !kernels[choice - 1]->supports(args, env)))
        return PITH_ERR_CORRUPT;
    choice = choice ? choice : cheapest(args, env);
    v->kernel = kernels[choice - 1];
    enum pith_status status = v->kernel->workspace(args, env, need);
    need->choice = (uint8_t)(choice + need->choice * INNER);
    return status;
}

/* A weight that the network computes is not there yet, and kernels without `pack` read it where it
 * lies. */
enum pith_status pith_conv_prepare(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    return args->weight && v->kernel->pack ? v->kernel->pack(args, env) : PITH_OK;
}

void pith_conv_run(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    v->kernel->run(args, env);
}

/* ---- a matrix product ----------------------------------------------------------------------- */

static const float *data_of(const struct op_args *args, uint32_t i)
{
    return args->n_in > i && args->in[i] ? args->in[i]->data : NULL;
}

static bool product_supports(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    (void)env;
    return v->groups == 1 && v->k <= UINT32_MAX && covers_input(v);
}

/* Nothing is copied, and no other kernel is made for one pixel. */
static uint64_t product_cost(const struct op_args *args, const struct op_env *env)
{
    (void)args;
    (void)env;
    return 0;
}

/* The output is one pixel, so y [n, o] = x [n, k] w^T + bias: the weight is [o, k]. */
static enum pith_status product_workspace(const struct op_args *args, const struct op_env *env,
                                          struct op_need *need)
{
    struct conv *v = args->lowered;
    v->way.product = (struct product){.m = v->n,
                                      .n = v->g.o,
                                      .k = (uint32_t)v->k,
                                      .trans_b = true,
                                      .alpha = 1.0f,
                                      .beta = 1.0f,
                                      .has_c = args->n_in > 2 && args->in[2],
                                      .c_col = 1};
    return pith_product_need(&v->way.product, args->weight, args->choice / INNER, env, need);
}

static enum pith_status product_pack(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    return pith_product_prepare(&v->way.product, args->weight, args->prep, env);
}

static void product_run(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    struct product_data d = product_data_of(args);
    d.b = data_of(args, 1);
    d.c = data_of(args, 2);
    d.y = args->out[0]->data;
    pith_product_run(&v->way.product, &d, env);
}

const struct conv_kernel pith_conv_product = {product_supports, product_cost, product_workspace,
                                              product_pack, product_run};
