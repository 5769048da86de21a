/* SPDX-License-Identifier: MIT */
/* device_reduce.c - softmax, reductions and norms. */
#include "device_lower.h"
#include "op_interface/reduced_axes.h"
#include "op_interface/op_attr.h"

/* A team of LAUNCH_TEAM threads has one row: as many as the CPU's vector sums have lanes, whose
 * order of additions it follows (reduce.cu). */
static void launch_teams(struct lowering *l, enum launch_kernel kernel, uint32_t rows,
                         const void *arg, uint32_t arg_bytes)
{
    uint64_t threads = (uint64_t)rows * LAUNCH_TEAM;
    uint32_t most = 1u << 30; /* more rows take turns */
    pith_device_launch(l, kernel, threads < most ? (uint32_t)threads : most, arg, arg_bytes);
}

#define LONG_ROW 256u

/* Of long rows each has a block where all blocks run at once: teams of so few rows would leave most
 * of the device idle. */
static void launch_softmax_rows(struct lowering *l, const struct softmax_args *a)
{
    const uint32_t grid[3] = {a->rows, 1, 1};
    if (a->n >= LONG_ROW && a->rows <= pith_device_threads(l) / LAUNCH_THREADS)
        pith_device_grid(l, LAUNCH_softmax_long, grid, a, sizeof *a);
    else
        launch_teams(l, LAUNCH_softmax_rows, a->rows, a, sizeof *a);
}

/* Old versions of ONNX take all axes from `axis` on as one (flat). Rows whose elements are
 * contiguous are summed by teams or blocks; other rows have a thread each. */
bool pith_device_softmax(struct lowering *l, const struct step *s)
{
    const struct shape *x = &s->args.in[0]->shape;
    uint32_t axis = (uint32_t)s->args.attr[ATTR_SOFTMAX_AXIS];
    uint32_t end = s->args.attr[ATTR_SOFTMAX_FLAT] ? x->rank : axis + 1;
    struct softmax_args a = {X_AND_Y(l, &s->args),
                             .is_log = s->args.info->op == PITH_OP_LOG_SOFTMAX};
    a.rows = (uint32_t)shape_product(x, 0, axis);
    a.n = (uint32_t)shape_product(x, axis, end);
    a.inner = (uint32_t)shape_product(x, end, x->rank);
    if (a.inner == 1)
        launch_softmax_rows(l, &a);
    else
        pith_device_launch(l, LAUNCH_softmax_columns, a.rows * a.inner, &a, sizeof a);
    return true;
}

/* The numbers fit 32 bits: input and output were counted to be below 2^31. */
static void set_walk(struct launch_walk *to, const struct axis_walk *from)
{
    to->rank = from->rank;
    to->count = (uint32_t)from->count;
    for (uint32_t i = 0; i < from->rank; i++) {
        to->dim[i] = (uint32_t)from->dim[i];
        to->step[i] = (uint32_t)from->step[i];
    }
}

#define EXACT (1u << 24) /* whole numbers that a float holds */

/* The divisor is the count of what is reduced and a float: counts that a float does not hold stay
 * on the CPU. The innermost axis of either walk becomes a plain loop. Rows that are contiguous go
 * to teams, where sums have the order of the CPU's vectors; maxima and products, and what lies in
 * columns, go element after element. */
static bool launch_reduce(struct lowering *l, const struct step *s, uint32_t axes, uint32_t kind)
{
    struct axis_walk kept, reduced;
    struct reduce_args a = {X_AND_Y(l, &s->args), .outputs = pith_device_count(s->args.out[0]),
                            .kind = kind};
    pith_reduced_walks(&s->args, axes, &kept, &reduced);
    if (reduced.count > EXACT)
        return false;
    a.divisor = (float)reduced.count;
    a.row = (uint32_t)pith_walk_pop_row(&reduced);
    a.inner = (uint32_t)pith_walk_pop_row(&kept);
    set_walk(&a.kept, &kept);
    set_walk(&a.reduced, &reduced);
    if (a.row > 1 && kind < REDUCE_DEVICE_MAX)
        launch_teams(l, LAUNCH_reduce_rows, a.outputs, &a, sizeof a);
    else
        pith_device_launch(l, LAUNCH_reduce_columns, a.outputs, &a, sizeof a);
    return true;
}

bool pith_device_reduce_mean(struct lowering *l, const struct step *s)
{
    return launch_reduce(l, s, ATTR_AXES, REDUCE_DEVICE_MEAN);
}

/* Kinds that the table leaves out have number 0 (REDUCE_DEVICE_MEAN, which no reduction of this
 * operator is) and stay on the CPU. */
bool pith_device_reduce(struct lowering *l, const struct step *s)
{
    static const uint8_t kinds[REDUCE_END] = {[REDUCE_SUM] = REDUCE_DEVICE_SUM,
                                              [REDUCE_MAX] = REDUCE_DEVICE_MAX,
                                              [REDUCE_MIN] = REDUCE_DEVICE_MIN,
                                              [REDUCE_PROD] = REDUCE_DEVICE_PRODUCT,
                                              [REDUCE_L1] = REDUCE_DEVICE_SUM_ABS,
                                              [REDUCE_L2] = REDUCE_DEVICE_ROOT,
                                              [REDUCE_SUM_SQUARE] = REDUCE_DEVICE_SUM_SQUARE};
    uint32_t kind = kinds[s->args.attr[ATTR_KIND]];
    return kind && s->args.in[0]->type == PITH_F32 &&
           launch_reduce(l, s, ATTR_REDUCE_KIND_AXES, kind);
}

/* All spatial axes of a plane are one row, as planes are dense. */
bool pith_device_reduce_planes(struct lowering *l, const struct step *s, uint32_t elems,
                               uint32_t kind)
{
    struct reduce_args a = {
        X_AND_Y(l, &s->args), .kind = kind, .outputs = pith_device_count(s->args.out[0]),
        .inner = 1,           .row = elems, .divisor = (float)elems};
    a.kept = (struct launch_walk){.rank = 1, .count = a.outputs};
    a.kept.dim[0] = a.outputs;
    a.kept.step[0] = elems;
    a.reduced.count = 1;
    if (kind == REDUCE_DEVICE_FLAT_MAX)
        pith_device_launch(l, LAUNCH_reduce_columns, a.outputs, &a, sizeof a);
    else
        launch_teams(l, LAUNCH_reduce_rows, a.outputs, &a, sizeof a);
    return true;
}

bool pith_device_global_pool(struct lowering *l, const struct step *s)
{
    const struct shape *x = &s->args.in[0]->shape;
    return pith_device_reduce_planes(l, s, (uint32_t)shape_product(x, 2, x->rank),
                                     s->args.info->op == PITH_OP_GLOBAL_MAX_POOL
                                         ? REDUCE_DEVICE_FLAT_MAX
                                         : REDUCE_DEVICE_FLAT_MEAN);
}

/* What is the same of both; a bias may be absent. */
static struct norm_args norm_of(struct lowering *l, const struct op_args *args)
{
    const bool biased = args->n_in > 2 && args->in[2];
    return (struct norm_args){X_AND_Y(l, args), .scale = pith_device_as(l, args->in[1], VALUE_F32),
                              .bias = biased ? pith_device_as(l, args->in[2], VALUE_F32) : NULL};
}

/* All axes from `axis` on are one row, with a scale and a bias for each of its elements. */
bool pith_device_layer_norm(struct lowering *l, const struct step *s)
{
    const struct shape *x = &s->args.in[0]->shape;
    uint32_t axis = (uint32_t)s->args.attr[ATTR_LAYER_NORM_AXIS];
    struct norm_args a = norm_of(l, &s->args);
    a.run = a.groups = a.is_layer = 1;
    a.about_zero = s->args.attr[ATTR_LAYER_NORM_ABOUT_ZERO] != 0;
    a.epsilon = attr_f32(s->args.attr, ATTR_LAYER_NORM_EPSILON);
    a.rows = (uint32_t)shape_product(x, 0, axis);
    a.n = a.per_row = (uint32_t)shape_product(x, axis, x->rank);
    launch_teams(l, LAUNCH_norm_rows, a.rows, &a, sizeof a);
    return true;
}

/* A row is the channels of one group. Without a number of groups each channel is its own (instance
 * normalization). Scales are one a channel or one a group, by the version of the operator. */
bool pith_device_group_norm(struct lowering *l, const struct step *s)
{
    const struct shape *x = &s->args.in[0]->shape;
    uint32_t groups = (uint32_t)s->args.attr[ATTR_GROUP_NORM_GROUPS];
    struct norm_args a = norm_of(l, &s->args);
    a.groups = groups ? groups : x->dim[1];
    a.epsilon = attr_f32(s->args.attr, ATTR_GROUP_NORM_EPSILON);
    a.rows = x->dim[0] * a.groups;
    a.n = (uint32_t)(x->dim[1] / a.groups * shape_product(x, 2, x->rank));
    a.per_row = s->args.in[1]->shape.dim[0] / a.groups;
    a.run = (uint32_t)shape_product(x, 2, x->rank);
    if (a.per_row * a.run != a.n) /* one scale for the channels of a group */
        a.run = a.n;
    launch_teams(l, LAUNCH_norm_rows, a.rows, &a, sizeof a);
    return true;
}
