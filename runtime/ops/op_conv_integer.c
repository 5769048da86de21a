/* SPDX-License-Identifier: MIT */
/* op_conv_integer.c - convolutions of integers of 8 or 16 bits over one to four spatial axes,
 * summed in 32 bits (modulo 2^32; with weights of 16 bits in 64, modulo 2^64) on top of the bias:
 *
 *     y[n, o, ...] = bias[o] + sum of (x[n, c, ...] - zx) * (w[o, c, ...] - zw[o])
 *
 * What lies outside of x counts for nothing, as if it were zx. Constant weights go to the
 * kernels (integer_conv.c) where those can; what is here is the rule, and runs the rest.
 *
 * ONNX ConvInteger-10, with a bias added that ONNX lacks: a zero point of x multiplies the sum
 * of the weights, and folding both into one number a channel is what every kernel does
 * (docs/arithmetic.md). Of what the planner fused behind it, this file knows nothing. */
#include "core/build_choice.h"
#include "products/conv_run.h"
#include "products/integer_conv.h"
#include "kernels/ref/integer_element.h"
#include "kernels/integer_row.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "op_interface/window.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* Optional inputs in the order of the format; in[0] is x, in[1] the weight. */
enum { IN_ZERO_X = 2, IN_ZERO_W = 3, IN_BIAS = 4 };

static const struct tview *optional_in(const struct op_args *args, uint32_t i)
{
    return args->n_in > i ? args->in[i] : NULL;
}

static enum pith_status shape_conv_integer(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 2);
    if (st)
        return st;
    const struct tview *x = args->in[0], *w = args->in[1], *bias = optional_in(args, IN_BIAS);
    const struct tview *zx = optional_in(args, IN_ZERO_X), *zw = optional_in(args, IN_ZERO_W);
    if (!is_grid_type(x->type) || !is_grid_type(w->type))
        return PITH_ERR_UNSUPPORTED;
    struct shape y;
    st = pith_conv_out_shape(args->attr, &x->shape, &w->shape, bias ? &bias->shape : NULL, &y);
    if (st)
        return st;
    /* One zero point for x, one or O for w: per-channel grids of activations do not exist, since
     * a sum runs over channels. */
    bool fits = (!zx || (zx->type == x->type && shape_elems(&zx->shape) == 1)) &&
                (!bias || bias->type == sums_of(w->type));
    if (zw)
        fits = fits && zw->type == w->type && zw->shape.rank <= 1 &&
               (shape_elems(&zw->shape) == 1 || zw->shape.dim[0] == w->shape.dim[0]);
    return fits ? pith_out_set(args->out[0], sums_of(w->type), &y) : PITH_ERR_CORRUPT;
}

/* Shapes: x [N, G * C, ...], w [G * O, C, ...], y [N, G * O, ...] in sums of 32 or 64 bits. */
struct conv_job {
    struct window v;
    struct integer_row row; /* of x */
    enum pith_type type_w;
    const uint8_t *x, *w;
    const void *zero_w; /* NULL: 0 */
    size_t step_w;
    const uint8_t *bias; /* NULL: 0 */
    uint8_t *y;
    size_t c, o, groups; /* channels of one group */
};

static size_t sum_bytes(const struct conv_job *j)
{
    return j->row.wide ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* Of an output plane, from the first channel on. */
struct plane_inputs {
    const uint8_t *x, *w;
    int32_t zero_w;
};

/* What tap `tap` of all channels adds to an output row. Row by row along the last axis, so that the
 * inner loop has one weight and a run of inputs. */
static void add_tap(const struct conv_job *j, const struct plane_inputs *p, size_t row, size_t tap,
                    uint8_t *y)
{
    const struct window *v = &j->v;
    const struct window_axis *a = &v->axis[v->n - 1];
    struct tap_row t;
    /* Nothing of this tap falls into the image on this row. */
    if (!pith_window_row(v, row, tap, &t))
        return;
    size_t n = (size_t)(t.end - t.begin), each = pith_type_bytes(j->row.type);
    const uint8_t *x = p->x + (t.in_row * (size_t)a->in + (size_t)t.first) * each;
    y += (size_t)t.begin * sum_bytes(j);
    for (size_t c = 0; c < j->c; c++, x += v->in * each) {
        int32_t scale = integer_at(j->type_w, p->w, c * v->taps + tap) - p->zero_w;
        pith_integer_row_add(&j->row, x, scale, y, n);
    }
}

/* Item: an output plane. */
static void conv_plane(const struct conv_job *j, size_t item)
{
    const struct window *v = &j->v;
    size_t o = item % (j->o * j->groups), image = item / (j->o * j->groups);
    size_t width = (size_t)v->axis[v->n - 1].out, each = sum_bytes(j);
    const struct plane_inputs p = {
        .x = j->x + (image * j->groups + o / j->o) * j->c * v->in * pith_type_bytes(j->row.type),
        .w = j->w + o * j->c * v->taps * pith_type_bytes(j->type_w),
        .zero_w = j->zero_w ? integer_at(j->type_w, j->zero_w, o * j->step_w) : 0};
    uint8_t *y = j->y + item * v->out * each;
    for (size_t r = 0; r < v->out_rows; r++, y += width * each) {
        /* Sums begin at 0 or at the bias; what comes behind may be added in any order, modulo
         * 2^n. */
        memset(y, 0, width * each);
        if (j->bias)
            for (size_t i = 0; i < width; i++)
                memcpy(y + i * each, j->bias + o * each, each);
        for (size_t tap = 0; tap < v->taps; tap++)
            add_tap(j, &p, r, tap, y);
    }
}

static void conv_range(void *arg, size_t begin, size_t end)
{
    for (size_t item = begin; item < end; item++)
        conv_plane(arg, item);
}

/* Where outputs lie as the inputs do, the axes are one long row. A 1 x 1 kernel of stride 1 has
 * no border: one row of all pixels instead of H short ones. */
static void join_axes(struct window *v)
{
    bool alike = v->taps == 1;
    for (uint32_t i = 0; i < v->n; i++)
        alike &= v->axis[i].stride == 1 && v->axis[i].in == v->axis[i].out && v->axis[i].pad == 0;
    if (!alike)
        return;
    v->n = 1;
    v->axis[0].in = v->axis[0].out = (int64_t)v->in;
    v->out_rows = 1;
}

static void run_conv_integer(const struct op_args *args, const struct op_env *env)
{
    /* The planner chose a kernel; what follows is for weights that are computed, or that no
     * kernel takes. */
    if (pith_integer_op_run(args, env))
        return;
    const struct tview *x = args->in[0], *w = args->in[1], *bias = optional_in(args, IN_BIAS);
    const struct tview *zx = optional_in(args, IN_ZERO_X), *zw = optional_in(args, IN_ZERO_W);
    size_t groups = (size_t)args->attr[ATTR_CONV_GROUP];
    struct conv_job job = {
        .v = pith_window_conv(args->attr, &x->shape, &w->shape, &args->out[0]->shape),
        .row = {.type = x->type,
                .wide = sums_of(w->type) == PITH_I64,
                .zero = zx ? integer_at(x->type, zx->data, 0) : 0},
        .type_w = w->type,
        .x = x->data,
        .w = pith_integer_op_weights(args),
        .zero_w = zw ? zw->data : NULL,
        .step_w = zw && shape_elems(&zw->shape) > 1,
        .bias = bias ? bias->data : NULL,
        .y = args->out[0]->data,
        .c = w->shape.dim[1],
        .o = w->shape.dim[0] / groups,
        .groups = groups,
    };
    join_axes(&job.v);
    job.row.stride = (size_t)job.v.axis[job.v.n - 1].stride;
    size_t work = job.v.out * job.c * job.v.taps;
    pith_op_range(env, (size_t)x->shape.dim[0] * w->shape.dim[0], work, conv_range, &job);
}

static enum pith_status need_conv_integer(const struct op_args *args, const struct op_env *env,
                                          struct op_need *need)
{
    const struct shape *w = &args->in[1]->shape;
    *need = (struct op_need){.kernel = "conv-i8"};
    if (!mul_ok(shape_elems(&args->out[0]->shape), shape_product(w, 1, w->rank), &need->macs))
        need->macs = UINT64_MAX;
    return pith_integer_op_need(args, env, pith_integer_conv_of_conv, need);
}

static enum pith_status prepare_conv_integer(const struct op_args *args, const struct op_env *env)
{
    const struct shape *w = &args->in[1]->shape;
    struct integer_weights strides = {.output = shape_product(w, 1, w->rank),
                                      .channel = shape_product(w, 2, w->rank)};
    return pith_integer_op_prepare(args, env, &strides);
}

const struct op_info pith_op_conv_integer = {
    .op = PITH_OP_CONV_INTEGER,
    .n_in_min = 2,
    .n_in_max = 5,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = PITH_CONV_FIELDS,
    .n_slots = ATTR_CONV_PADS + PITH_LIST_SLOTS,
    .flags = OP_WEIGHT,
    .fields = pith_conv_fields,
    .traits = {.flags = TRAIT_CHANNELS_FIRST | TRAIT_INTEGERS,
               .weight_input = 1,
               .bias_input = 4,
               .row_axis = 0,
               .trans_slot = OP_NO_SLOT,
               .group_slot = ATTR_CONV_GROUP,
               .integer_op = 0,
               .parameters = 0},
    .shape = shape_conv_integer,
    .lowered_most = INTEGER_LOWERED_MAX,
    .lowered_bytes = pith_integer_op_lowered_bytes,
    .need = need_conv_integer,
    .prepare = prepare_conv_integer,
    .run = run_conv_integer,
};
