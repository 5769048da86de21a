/* SPDX-License-Identifier: MIT */
/* integer_op.c - ConvInteger and MatMulInteger, as what integer_conv.c runs: their geometry,
 * their weights from the file, their inputs. */
#include "core/build_choice.h"
#include "products/byte_grid_at.h"
#include "products/integer_conv.h"
#include "products/integer_direct.h"
#include "kernels/ref/integer_element.h"
#include "products/integer_winograd.h"
#include "kernels/kernels.h"
#include "decode/weight_cut.h"
#include "decode/weight_rows.h"
#include "pith_runtime.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#define LIMIT (UINT64_C(1) << 31)

/* All that is multiplied above fits 64 bits, and every offset of a kernel 32; so does the number of
 * outputs, those of each group rounded up to panels. */
static bool is_small(const struct integer_conv *c)
{
    uint64_t taps = (uint64_t)c->kh * c->kw, pixels = (uint64_t)c->oh * c->ow, in, weights;
    uint64_t width = (uint64_t)c->ow * c->stride_w + (uint64_t)c->kw * c->dil_w;
    uint64_t height = (uint64_t)c->oh * c->stride_h + (uint64_t)c->kh * c->dil_h;
    const uint64_t limit = LIMIT / 4;
    return taps < limit && pixels < limit && width < limit && height < limit &&
           mul_ok(width, height, &in) && in < limit && mul_ok(in, c->channels, &in) && in < limit &&
           mul_ok(taps * (c->channels / c->groups), c->outputs, &weights) && weights < LIMIT &&
           mul_ok(c->n, c->groups, &in) && in < LIMIT / 64 && pixels * c->outputs < LIMIT;
}

/* An optional input: what the node leaves out at the end is not counted in n_in, what it leaves out
 * before is NULL. */
static const struct tview *optional_in(const struct op_args *args, uint32_t i)
{
    return args->n_in > i ? args->in[i] : NULL;
}

static bool takes(const struct op_args *args, struct integer_conv *c)
{
    enum pith_type x = args->in[0]->type, type_w = args->in[1]->type;
    c->x_signed = x == PITH_I8 || x == PITH_I16;
    c->words = BUILT_PART(WORDS) && (x == PITH_I16 || x == PITH_U16);
    c->long_sums = type_w == PITH_I16;
    /* what is added to has the type of its zero point, which is there (fuse_chain.c) */
    bool adds = args->n_grids == PRODUCT_ADD_GRIDS;
    const struct tview *y = adds ? args->grid[GRID_RESULT].zero : args->out[0];
    c->to_values = args->n_grids && y->type != PITH_F32;
    c->to_real = args->n_grids && !c->to_values;
    c->y_signed = y->type == PITH_I8;
    const struct weight *w = args->weight;
    c->few_weights = w && w->grid == GRID_CODEBOOK && w->n_groups == 1 && w->n_centroids < 16;
    c->nonzeros = w && w->support != SUPPORT_DENSE ? w->nnz : 0;
    const struct tview *zero = optional_in(args, INTEGER_ZERO_W);
    c->zero_w = PACKED_BUILT && zero;
    if (zero && (!PACKED_BUILT || c->words || shape_elems(&zero->shape) != 1))
        return false;
    return (type_w == PITH_I8 || (c->words && c->long_sums)) && is_small(c);
}

/* A convolution over one axis is one over rows of which there is a single one. `rows` is then also
 * the number of the last axis among the attributes, which have an item for each axis. */
bool pith_integer_conv_of_conv(const struct op_args *args, struct integer_conv *c)
{
    const struct shape *x = &args->in[0]->shape, *w = &args->in[1]->shape;
    const struct shape *y = &args->out[0]->shape;
    uint32_t last = x->rank - 1;
    bool rows = x->rank > 3;
    if (x->rank > 4)
        return false;
    const int32_t *attr = args->attr;
    *c = (struct integer_conv){
        .n = x->dim[0],
        .groups = (uint32_t)attr[ATTR_CONV_GROUP],
        .channels = x->dim[1],
        .h = rows ? x->dim[2] : 1,
        .w = x->dim[last],
        .outputs = y->dim[1],
        .oh = rows ? y->dim[2] : 1,
        .ow = y->dim[last],
        .kh = rows ? w->dim[2] : 1,
        .kw = w->dim[last],
        .stride_h = rows ? (uint32_t)attr_item(attr, ATTR_CONV_STRIDES, 0, 1) : 1,
        .stride_w = (uint32_t)attr_item(attr, ATTR_CONV_STRIDES, rows, 1),
        .dil_h = rows ? (uint32_t)attr_item(attr, ATTR_CONV_DILATIONS, 0, 1) : 1,
        .dil_w = (uint32_t)attr_item(attr, ATTR_CONV_DILATIONS, rows, 1),
        .pad_top = rows ? (uint32_t)attr_item(attr, ATTR_CONV_PADS, 0, 0) : 0,
        .pad_left = (uint32_t)attr_item(attr, ATTR_CONV_PADS, rows, 0),
        .channels_last = args->x_last,
        .y_step = args->y_step,
    };
    return takes(args, c);
}

/* All but the last axis of a are pixels of one column, K their channels: a 1x1 convolution of an
 * image that is channels-last. The kernels take one zero point of x, so a product with one for each
 * row is left to the operator's own loops. */
bool pith_integer_conv_of_matmul(const struct op_args *args, struct integer_conv *c)
{
    const struct shape *a = &args->in[0]->shape, *b = &args->in[1]->shape;
    const struct tview *zero = optional_in(args, INTEGER_ZERO_X);
    /* the axis of b that is K; the other one has the outputs */
    const uint32_t turned = (uint32_t)args->attr[ATTR_MATMUL_TRANS_B];
    if (a->rank == 0 || b->rank != 2 || (zero && shape_elems(&zero->shape) != 1))
        return false;
    size_t rows = shape_product(a, 0, a->rank - 1);
    if (rows >= LIMIT)
        return false;
    *c = (struct integer_conv){.n = 1,
                               .groups = 1,
                               .channels = b->dim[turned],
                               .h = (uint32_t)rows,
                               .w = 1,
                               .outputs = b->dim[1 - turned],
                               .oh = (uint32_t)rows,
                               .ow = 1,
                               .kh = 1,
                               .kw = 1,
                               .stride_h = 1,
                               .stride_w = 1,
                               .dil_h = 1,
                               .dil_w = 1,
                               .channels_last = true,
                               .y_step = b->dim[1 - turned]};
    return takes(args, c);
}

/* The lowered operation. The layout is there for kernels that have one. */
struct integer_op {
    const struct integer_kernel *kernel; /* NULL: the operator's own loops */
    struct integer_conv conv;
    struct integer_layout layout;
};

_Static_assert((PACKED_BUILT ? sizeof(struct integer_op) : offsetof(struct integer_op, layout)) <=
                   INTEGER_LOWERED_MAX,
               "planning reserves more");

/* Room for the weights as they are. */
static uint64_t plain_bytes(const struct weight *w)
{
    return aligned_bytes(w->count * pith_type_bytes(w->type));
}

/* What packing reads of the geometry beside the weight's shape: pith_integer_layout_of. */
static uint64_t form_of(const struct op_args *args, const struct integer_conv *c)
{
    const struct integer_op *op = args->lowered;
    uint32_t packing = op->layout.packing;
    const bool conv = args->info->op == PITH_OP_CONV_INTEGER;
    /* taps of a kernel's row may be joined to a run (set_product) */
    const uint32_t way =
        conv ? op->layout.run > op->layout.cg : (uint32_t)args->attr[ATTR_MATMUL_TRANS_B];
    uint32_t group =
        c->groups << 4; /* < 2^29: is_small; folded places have one and small strides */
    if (GRID_BUILT && op->layout.grid.folded)
        group = 1u << 30 | c->channels_last << 29 | op->layout.grid.rows_folded << 28 |
                op->layout.grid.down << 16 | op->layout.grid.across << 4;
    return prep_form(conv ? PREP_CONV_INTEGER : PREP_MATMUL_INTEGER,
                     group | packing << 2 | way << 1 | c->words);
}

/* ---- kernels -------------------------------------------------------------------------------- */

/* A way to run it, as struct product_kernel. Of those that support it and pay off the first is
 * taken, unless a plan's file says which. */
struct integer_kernel {
    bool (*supports)(const struct op_args *args, const struct op_env *env);
    /* NULL: always */
    bool (*pays)(const struct integer_conv *c, const struct integer_kernels *k);
    void (*workspace)(const struct op_args *args, const struct op_env *env, struct op_need *need);
    enum pith_status (*pack)(const struct op_args *args, const struct op_env *env,
                             const struct integer_weights *strides);
    void (*run)(const struct op_args *args, const struct op_env *env,
                const struct integer_conv_data *data);
};

/* Weights stay where they are, or are decoded at each run or once. */
static bool direct_supports(const struct op_args *args, const struct op_env *env)
{
    const struct integer_op *op = args->lowered;
    return (pith_weight_alone(env) || !PACKED_BUILT) && !op->conv.words && !op->conv.zero_w;
}

/* Elements as they are, decoded only where they do not lie in the image. */
static void need_elements(const struct op_args *args, struct op_need *need)
{
    need->prep_form = prep_form(PREP_ELEMENTS, 0);
    if (args->weight && !pith_weight_borrow(args->weight)) {
        need->prep_scratch_bytes = pith_weight_scratch_bytes(args->weight);
        need->prep_bytes = plain_bytes(args->weight);
    }
}

static void direct_workspace(const struct op_args *args, const struct op_env *env,
                             struct op_need *need)
{
    struct integer_op *op = args->lowered;
    const bool coded = pith_weight_rows_wanted(env, args->weight);
    pith_integer_direct_need(&op->conv, args, coded, need);
    if (!coded)
        need_elements(args, need);
}

static void direct_run(const struct op_args *args, const struct op_env *env,
                       const struct integer_conv_data *data)
{
    const struct integer_op *op = args->lowered;
    pith_integer_direct_run(&op->conv, args, env, data);
}

/* In panels: gemm and depthwise kernels, on bytes or words. Where weights stay in place there is no
 * room for a layout (pith_integer_op_lowered_bytes). */
static bool packed_supports(const struct op_args *args, const struct op_env *env)
{
    struct integer_op *op = args->lowered;
    return PACKED_BUILT && !direct_supports(args, env) &&
           pith_integer_conv_need(&op->conv, env, PACK_PLAIN, &op->layout);
}

/* Nonzeros in slots. */
static bool slots_supports(const struct op_args *args, const struct op_env *env)
{
    struct integer_op *op = args->lowered;
    return SLOTS_BUILT && !direct_supports(args, env) &&
           pith_integer_conv_need(&op->conv, env, PACK_SLOTS, &op->layout);
}

/* 3x3 in 36 products of 16 bits for 16 pixels. */
static bool winograd_supports(const struct op_args *args, const struct op_env *env)
{
    struct integer_op *op = args->lowered;
    return WINOGRAD_I8_BUILT && !direct_supports(args, env) &&
           pith_integer_winograd_need(&op->conv, env, &op->layout);
}

/* Weights that cannot be borrowed are decoded whole before they are packed, so preparing needs room
 * for the plain ones and, behind them, for the decoder. */
static void packed_workspace(const struct op_args *args, const struct op_env *env,
                             struct op_need *need)
{
    (void)env;
    const struct integer_op *op = args->lowered;
    need->prep_bytes = op->layout.prep.bytes;
    need->scratch_bytes = op->layout.scratch.bytes;
    need->prep_form = form_of(args, &op->conv);
    if (!pith_weight_borrow(args->weight))
        need->prep_scratch_bytes =
            pith_weight_scratch_bytes(args->weight) + plain_bytes(args->weight);
}

static enum pith_status packed_pack(const struct op_args *args, const struct op_env *env,
                                    const struct integer_weights *strides)
{
    const struct integer_op *op = args->lowered;
    const void *borrowed = pith_weight_borrow(args->weight);
    struct integer_weights weights = *strides;
    uint8_t *plain = env->scratch;
    enum pith_status st = PITH_OK;
    if (!borrowed)
        st = pith_weight_cut_plain(env, args->weight, plain, plain + plain_bytes(args->weight));
    weights.w = borrowed ? borrowed : plain;
    if (!st && WINOGRAD_I8_BUILT && op->layout.packing == PACK_WINOGRAD)
        pith_integer_winograd_pack(&op->layout, &weights, args->prep);
    else if (!st && PACKED_BUILT)
        pith_integer_conv_pack(&op->conv, &op->layout, env, &weights, args->prep);
    return st;
}

static void packed_run(const struct op_args *args, const struct op_env *env,
                       const struct integer_conv_data *data)
{
    const struct integer_op *op = args->lowered;
    if (PACKED_BUILT)
        pith_integer_conv_run(&op->conv, &op->layout, env, data);
}

static void winograd_run(const struct op_args *args, const struct op_env *env,
                         const struct integer_conv_data *data)
{
    const struct integer_op *op = args->lowered;
    if (WINOGRAD_I8_BUILT)
        pith_integer_winograd_run(&op->conv, &op->layout, env, data);
}

/* The list: a choice is a number in it, from 1 on. New ones stand at the end, as plan files keep
 * numbers; what pays off most is tried first. */
static const struct integer_kernel kernels[] = {
    {direct_supports, NULL, direct_workspace, NULL, direct_run},
    {packed_supports, NULL, packed_workspace, packed_pack, packed_run},
    {slots_supports, pith_integer_conv_slots, packed_workspace, packed_pack, packed_run},
    {winograd_supports, pith_integer_winograd_pays, packed_workspace, packed_pack, winograd_run},
};
static const uint8_t order[] = {0, 2, 3, 1};
#define N_KERNELS (sizeof kernels / sizeof *kernels)
#define SLOTS 3u
#define WINOGRAD 4u

/* ---- the operator --------------------------------------------------------------------------- */

/* An operator whose weight is no constant has its loops alone: of its struct the kernel's pointer
 * is there, and is NULL. Direct kernels have no layout. What is cut off here must not be written
 * later: supports() of packed kernels says no before it writes the layout. */
uint32_t pith_integer_op_lowered_bytes(const struct op_args *args, const struct op_env *env)
{
    bool words = pith_type_bytes(args->in[0]->type) != 1;
    if (!args->weight)
        return offsetof(struct integer_op, conv);
    const bool alone = !words && pith_weight_alone(env) && !optional_in(args, INTEGER_ZERO_W);
    bool direct = !PACKED_BUILT || alone || (env->flags & PITH_FLAG_NO_FUSION);
    return direct ? offsetof(struct integer_op, layout) : sizeof(struct integer_op);
}

/* The number of the kernel of args->choice, or of the best; 0: none. */
static uint32_t chosen(const struct op_args *args, const struct op_env *env)
{
    const struct integer_op *op = args->lowered;
    for (uint32_t j = 0; j < N_KERNELS; j++) {
        const uint32_t i = order[j];
        const struct integer_kernel *k = &kernels[i];
        if (args->choice ? args->choice != i + 1
                         : k->pays && !(env->kernels && k->pays(&op->conv, &env->kernels->integer)))
            continue;
        /* supports() of packed kernels leaves its layout in op, so none may be tried behind the one
         * that is taken */
        if (k->supports(args, env))
            return i + 1;
    }
    return 0;
}

static const char *kernel_name(const struct integer_conv *c, uint32_t choice)
{
    if (c->groups > 1 && c->channels == c->groups)
        return "depthwise-i8";
    if (choice == WINOGRAD)
        return "winograd-i8";
    return choice == SLOTS ? "spmm-i8" : "gemm-i8";
}

enum pith_status pith_integer_op_need(const struct op_args *args, const struct op_env *env,
                                      integer_conv_of *of, struct op_need *need)
{
    struct integer_op *op = args->lowered;
    op->kernel = NULL;
    bool known = args->weight && of(args, &op->conv);
    uint32_t choice = known ? chosen(args, env) : 0;
    if (args->choice != 0 && choice == 0)
        return PITH_ERR_CORRUPT;
    if (choice) {
        op->kernel = &kernels[choice - 1];
        need->kernel = kernel_name(&op->conv, choice);
        need->choice = (uint8_t)choice;
        op->kernel->workspace(args, env, need);
        return PITH_OK;
    }
    need_elements(args, need); /* the operator's own loops */
    return PITH_OK;
}

const void *pith_integer_op_weights(const struct op_args *args)
{
    if (!args->weight)
        return args->in[1]->data;
    return args->prep ? args->prep : pith_weight_borrow(args->weight);
}

enum pith_status pith_integer_op_prepare(const struct op_args *args, const struct op_env *env,
                                         const struct integer_weights *strides)
{
    const struct integer_op *op = args->lowered;
    if (op->kernel && op->kernel->pack)
        return op->kernel->pack(args, env, strides);
    return args->weight && args->prep
               ? pith_weight_cut_plain(env, args->weight, args->prep, env->scratch)
               : PITH_OK;
}

/* The grids of values, residual and sum, whose types are what they are read and written as. */
static struct combine_bytes add_of(const struct op_args *args)
{
    const struct grid_operand *grid = args->grid;
    return (struct combine_bytes){
        .a = byte_grid_at(&grid[GRID_SUMMAND], grid[GRID_RESULT].zero->type),
        .b = byte_grid_at(&grid[GRID_RESIDUAL], args->fuse.residual->type),
        .y = byte_grid_at(&grid[GRID_SUM], args->out[0]->type),
        .relu = args->fuse.act == ACT_RELU};
}

/* Not inlined: what a sum takes would be on the stack of every product. */
static __attribute__((noinline)) void
run_with_sum(const struct op_args *args, const struct op_env *env, struct integer_conv_data *data)
{
    const struct combine_bytes add = add_of(args);
    data->residual = args->fuse.residual->data;
    data->residual_last = args->fuse.residual_last;
    data->add = &add;
    ((const struct integer_op *)args->lowered)->kernel->run(args, env, data);
}

bool pith_integer_op_run(const struct op_args *args, const struct op_env *env)
{
    const struct integer_op *op = args->lowered;
    if (!op->kernel)
        return false;
    const struct tview *x = args->in[0], *zero = optional_in(args, INTEGER_ZERO_X);
    const struct tview *bias = optional_in(args, INTEGER_BIAS);
    const struct tview *zero_w = optional_in(args, INTEGER_ZERO_W);
    struct integer_conv_data data = {
        .x = x->data,
        .y = args->out[0]->data,
        .zero_x = zero ? integer_at(x->type, zero->data, 0) : 0,
        .zero_w = PACKED_BUILT && zero_w ? integer_at(PITH_I8, zero_w->data, 0) : 0,
        .bias = bias ? bias->data : NULL,
        .prep = args->prep};
    if (args->n_grids) {
        const struct tview *factor = args->grid[GRID_RESULT].scale;
        const struct tview *to = args->grid[GRID_RESULT].zero;
        data.factor = factor->data;
        data.factor_step = shape_elems(&factor->shape) > 1;
        data.zero_y = to ? integer_at(to->type, to->data, 0) : 0;
    }
    if (args->n_grids == PRODUCT_ADD_GRIDS)
        run_with_sum(args, env, &data);
    else
        op->kernel->run(args, env, &data);
    return true;
}
