/* SPDX-License-Identifier: MIT */
/* device_integer.c - products of 8-bit integers, and what makes them and takes their sums.
 * Operators one by one: steps that the planner joined for the CPU have no kernels. */
#include "device_product.h"
#include "op_interface/op_attr.h"

enum { IN_ZERO_A = 2, IN_ZERO_B = 3, IN_BIAS = 4 };

/* From zero point to zero point: 0 where there is one for all. */
static uint32_t zero_step(const struct op_args *args, uint32_t i)
{
    return i < args->n_in && args->in[i] && shape_elems(&args->in[i]->shape) > 1;
}

/* Without grids: a step with them is one that the planner fused with its quantization. */
static bool takes_bytes(const struct op_args *args)
{
    return pith_device_is_byte(args->in[0]) && pith_device_is_byte(args->in[1]) &&
           args->n_grids == 0 && !args->fuse.residual;
}

/* Elements of the weight as its type has them; where it is stored coded, expanded. */
static const void *weight_or_data(struct lowering *l, const struct op_args *args)
{
    return args->weight ? pith_device_weight(l, args->weight, FORM_ELEMENTS)
                        : pith_device_data(l, args->in[1]);
}

/* From element to element of the factors, whose number is 1 or that of the places of the axis. */
static uint32_t factor_inner(const struct op_args *args, uint32_t n)
{
    const struct shape *x = &args->in[0]->shape;
    uint32_t axis = (uint32_t)args->attr[ATTR_QUANTIZE_AXIS];
    return shape_elems(&args->in[1]->shape) > 1 ? (uint32_t)shape_product(x, axis + 1, x->rank) : n;
}

static struct residual_tail residual_of(struct lowering *l, const struct device_join *j)
{
    const struct op_args *own = &j->own->args, *other = &j->other->args, *y = &j->quantize->args;
    struct residual_tail t = {.x = pith_device_data(l, other->in[0]),
                              .zero = pith_device_optional(l, other, 2),
                              .own_zero = pith_device_optional(l, own, 2),
                              .y_zero = pith_device_optional(l, y, 2),
                              .scale = pith_device_data(l, other->in[1]),
                              .own_scale = pith_device_data(l, own->in[1]),
                              .y_scale = pith_device_data(l, y->in[1]),
                              .x_signed = other->in[0]->type == PITH_I8,
                              .y_signed = y->out[0]->type == PITH_I8};
    if (j->act) {
        struct dense_act act = pith_activation_of(j->act->args.info, j->act->args.attr);
        t.act = act.kind;
        t.act_a = act.a;
        t.act_b = act.b;
    }
    return t;
}

/* The steps behind the product, where there are some, are done by its kernel. Its outputs, or
 * columns, are `lines`. */
static void join(struct lowering *l, const struct op_args *product, struct requantize_tail *q,
                 uint32_t lines, uint32_t inner)
{
    const struct device_join *j = &l->behind;
    if (!j->n)
        return;
    const struct op_args *args = &j->requantize->args;
    const uint32_t factors = pith_device_count(args->in[1]);
    if (factors != 1 && (factors != lines || factor_inner(args, 0) != inner))
        return; /* one for each line, or for all, is what kernels have */
    const struct tview *y = j->last->args.out[0];
    bool apart = pith_device_is_apart(product, j);
    *q = (struct requantize_tail){.factor = pith_device_data(l, args->in[1]),
                                  .zero = pith_device_data(l, args->in[2]),
                                  .y = pith_device_data(l, apart ? y : product->out[0]),
                                  .is_signed = args->out[0]->type == PITH_I8,
                                  .factors = factors};
    if (j->own)
        q->residual = residual_of(l, j);
    l->joined = j->n;
}

/* Behind the launch. */
static void end_join(struct lowering *l, const struct requantize_tail *q)
{
    if (l->joined)
        pith_device_copy(l, pith_device_data(l, l->behind.last->args.out[0]), q->y,
                         pith_device_count(l->behind.last->args.out[0]));
}

/* The sums are exact modulo 2^32, so the order of terms is free and results have the CPU's bits. A
 * bias (at IN_BIAS) is what the planner adds, and has no kernel here. */
bool pith_device_matmul_integer(struct lowering *l, const struct step *s)
{
    const struct op_args *args = &s->args;
    const struct shape *a = &args->in[0]->shape, *b = &args->in[1]->shape;
    const bool turned = args->attr[ATTR_MATMUL_TRANS_B] != 0;
    if (!takes_bytes(args) || args->n_in > IN_BIAS)
        return false;
    struct gemm_i8_args g = {.a = pith_device_data(l, args->in[0]),
                             .zero_a = pith_device_optional(l, args, IN_ZERO_A),
                             .zero_b = pith_device_optional(l, args, IN_ZERO_B),
                             .zero_a_step = zero_step(args, IN_ZERO_A),
                             .zero_b_step = zero_step(args, IN_ZERO_B),
                             .y = pith_device_data(l, args->out[0]),
                             .a_signed = args->in[0]->type == PITH_I8,
                             .b_signed = args->in[1]->type == PITH_I8};
    /* Batches and sizes are those of a product of floats; zero points of rows repeat with them. */
    struct gemm_args f = {.m = a->rank > 1 ? a->dim[a->rank - 2] : 1,
                          .k = a->dim[a->rank - 1],
                          .n = b->rank > 1 ? b->dim[turned ? 0 : b->rank - 1] : 1};
    bool one_row_grid = g.zero_a_step == 0;
    pith_device_batches(&f, a, b, one_row_grid);
    f.a_row = f.k;
    f.a_col = 1;
    f.b_row = turned ? 1 : f.n;
    f.b_col = turned ? f.k : 1;
    g.s = f;
    uint32_t grid[3];
    if (!pith_device_tiles(&f, grid))
        return false;
    join(l, args, &g.q, f.n, 1);
    if (!pith_device_gemm_packed(l, &g, args)) {
        g.b = weight_or_data(l, args);
        pith_device_grid(l, LAUNCH_gemm_i8, grid, &g, sizeof g);
    }
    end_join(l, &g.q);
    return true;
}

/* Neither channels-last inputs (x_last) nor outputs with a step between pixels (y_step) have a
 * kernel here: both are layouts for the CPU's kernels. */
bool pith_device_conv_integer(struct lowering *l, const struct step *s)
{
    const struct op_args *args = &s->args;
    struct conv_args f;
    if (!takes_bytes(args) || args->x_last || args->y_step || !pith_device_conv_shape(&f, args))
        return false;
    struct conv_i8_args c = {.x = pith_device_data(l, args->in[0]),
                             .zero_x = pith_device_optional(l, args, IN_ZERO_A),
                             .zero_w = pith_device_optional(l, args, IN_ZERO_B),
                             .zero_w_step = zero_step(args, IN_ZERO_B),
                             .bias = pith_device_optional(l, args, IN_BIAS),
                             .y = pith_device_data(l, args->out[0]),
                             .s = f,
                             .x_signed = args->in[0]->type == PITH_I8,
                             .w_signed = args->in[1]->type == PITH_I8};
    c.s.n = pith_device_count(args->out[0]);
    join(l, args, &c.q, f.groups * f.outputs, (uint32_t)(f.oh * f.ow));
    if (!pith_device_conv_packed(l, &c, args)) {
        c.w = weight_or_data(l, args);
        pith_device_launch(l, LAUNCH_conv_direct_i8, c.s.n / 4 + 1, &c, sizeof c);
    }
    end_join(l, &c.q);
    return true;
}

/* As grid_of of ops/op_quantize.c. One scale for the tensor; one for each place of the axis; or one
 * for each block of neighbours along it. */
static void set_scales(struct quantize_args *q, const struct op_args *args)
{
    const struct shape *x = &args->in[0]->shape, *scale = &args->in[1]->shape;
    uint32_t axis = (uint32_t)args->attr[ATTR_QUANTIZE_AXIS];
    q->block = (uint32_t)args->attr[ATTR_QUANTIZE_BLOCK];
    q->dim = 1;
    q->inner = q->n;
    if (q->block == 0 && shape_elems(scale) == 1 && scale->rank <= 1)
        return;
    q->dim = x->dim[axis];
    q->blocks = q->block ? (q->dim + q->block - 1) / q->block : q->dim;
    q->inner = (uint32_t)shape_product(x, axis + 1, x->rank);
}

/* Quantizing and dequantizing differ in the kernel and in whose type counts: that of the
 * integers. */
bool pith_device_scale(struct lowering *l, const struct step *s)
{
    const struct op_args *args = &s->args;
    const bool to_floats = pith_device_is_op(s, PITH_OP_DEQUANTIZE);
    struct quantize_args q = {DATA_X_Y_N(l, args), .scale = pith_device_data(l, args->in[1]),
                              .zero = pith_device_optional(l, args, 2),
                              .type = to_floats ? args->in[0]->type : args->out[0]->type,
                              .from_i32 = args->in[0]->type == PITH_I32};
    set_scales(&q, args);
    return pith_device_launch(l, to_floats ? LAUNCH_dequantize : LAUNCH_quantize, q.n, &q,
                              sizeof q);
}

/* The second launch reads on the device the scale and zero point that the first has written there:
 * the host does not wait for them. One block finds the extremes, since blocks cannot wait for one
 * another. */
bool pith_device_dynamic_quantize(struct lowering *l, const struct step *s)
{
    static const uint32_t one_block[3] = {1, 1, 1};
    struct dynamic_args d = {.x = pith_device_data(l, s->args.in[0]),
                             .scale = pith_device_data(l, s->args.out[1]),
                             .zero = pith_device_data(l, s->args.out[2]),
                             .n = pith_device_count(s->args.in[0])};
    struct quantize_args q = {.x = d.x,
                              .scale = d.scale,
                              .zero = d.zero,
                              .y = pith_device_data(l, s->args.out[0]),
                              .n = d.n,
                              .type = PITH_U8,
                              .dim = 1,
                              .inner = d.n};
    pith_device_grid(l, LAUNCH_dynamic_grid, one_block, &d, sizeof d);
    pith_device_launch(l, LAUNCH_quantize, q.n, &q, sizeof q);
    return d.n > 0;
}

/* The factors, one or one for each place of the axis, are f32; sums of 64 bits come from weights of
 * 16 bits. */
bool pith_device_requantize(struct lowering *l, const struct step *s)
{
    const struct op_args *args = &s->args;
    struct requantize_args r = {DATA_X_Y_N(l, args),
                                .factor = pith_device_data(l, args->in[1]),
                                .zero = pith_device_data(l, args->in[2]),
                                .type = args->out[0]->type,
                                .wide = args->in[0]->type == PITH_I64,
                                .factors = pith_device_count(args->in[1])};
    r.inner = factor_inner(args, r.n);
    return pith_device_launch(l, LAUNCH_requantize, r.n, &r, sizeof r) && r.factors > 0;
}
