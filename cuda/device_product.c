/* SPDX-License-Identifier: MIT */
/* device_product.c - Gemm, MatMul and Conv of floats. Of products, weights with codebooks stay so
 * on the device (device_compressed.c), and with few rows those of f16 or bf16 (device_half.c);
 * others are dense f32. Values of 16 bits are taken by tensor cores, kernels for few rows and
 * convolutions of few terms. */
#include "device_product.h"
#include "op_interface/op_attr.h"
#include "pack_parts.h"

#define FEW_OUTPUTS 16u

/* What CUDA takes along y and z; along x it is 2^31 - 1. */

/* Offsets within a matrix, and in all of y, are bounded as counts of elements are (launch.h). */
bool pith_device_tiles(const struct gemm_args *g, uint32_t grid[3])
{
    uint64_t batches = 1, m = g->m, n = g->n, k = g->k;
    for (uint32_t i = 0; i < g->batch_rank; i++)
        batches *= g->batch_dim[i];
    grid[0] = (g->n + GEMM_TILE - 1) / GEMM_TILE;
    grid[1] = (g->m + GEMM_TILE - 1) / GEMM_TILE;
    grid[2] = (uint32_t)batches;
    return batches <= GRID_LIMIT && grid[1] <= GRID_LIMIT && m * k < UINT64_C(1) << 31 &&
           n * k < UINT64_C(1) << 31 && m * n <= (UINT64_C(1) << 31) / batches;
}

/* ---- sums that blocks share -------------------------------------------------------------------
 */

#define MANY_BLOCKS 256u /* some two for each of an H100's 132 multiprocessors */
#define MOST_PARTS 16u   /* they are read one behind the other */
#define LEAST_SLICES 2u
#define LAUNCH_SLICES 6u /* what a launch takes the time of */

/* Slices of a part; all of them: sums are not shared. A block waits some 0.4 us for a slice, alone
 * on its multiprocessor or beside another. One launch more takes 2.5 us: 1 us as a node of a
 * graph, 1.5 us to run. So a part has to be shorter than the whole by at least as many slices. */
static uint32_t slices_of_part(uint64_t tiles, uint32_t slices)
{
    uint64_t parts = MANY_BLOCKS / tiles;
    parts = parts < slices / LEAST_SLICES ? parts : slices / LEAST_SLICES;
    parts = parts < MOST_PARTS ? parts : MOST_PARTS;
    const uint32_t each = parts > 1 ? (slices + (uint32_t)parts - 1) / (uint32_t)parts : slices;
    return slices - each >= LAUNCH_SLICES ? each : slices;
}

struct sum_split pith_device_shares(struct lowering *l, uint32_t grid[3], uint32_t terms,
                                    uint32_t slice_terms, uint32_t outputs)
{
    const uint32_t slices = (terms + slice_terms - 1) / slice_terms;
    const uint32_t each = slices_of_part((uint64_t)grid[0] * grid[1] * grid[2], slices);
    struct sum_split s = {.parts = 1};
    if (each == slices)
        return s;
    s.parts = (slices + each - 1) / each;
    s.terms = each * slice_terms;
    s.outputs = outputs;
    s.sums = pith_device_work(l, l->work_kept, (uint64_t)s.parts * outputs * sizeof(float));
    grid[2] *= s.parts;
    return s;
}

void pith_device_gemm_parts(struct lowering *l, const struct gemm_args *g)
{
    if (g->split.parts > 1)
        pith_device_launch(l, LAUNCH_gemm_parts, g->split.outputs, g, sizeof *g);
}

void pith_device_conv_parts(struct lowering *l, const struct conv_args *c)
{
    if (c->split.parts > 1)
        pith_device_launch(l, LAUNCH_conv_parts, c->split.outputs, c, sizeof *c);
}

/* ---- matrices ---------------------------------------------------------------------------------
 */

static void launch_gemm_tiles(struct lowering *l, const struct gemm_args *g, uint32_t grid[3])
{
    struct gemm_args tiles = *g;
    tiles.split = pith_device_shares(l, grid, g->k, GEMM_SLICE, grid[2] * g->m * g->n);
    pith_device_grid(l, LAUNCH_gemm_f32, grid, &tiles, sizeof tiles);
    pith_device_gemm_parts(l, &tiles);
}

/* A tile has 64 rows: with few rows of a most of it would be idle, while warps read b at full width
 * where the elements of a sum lie side by side (b_row 1). */
void pith_device_product(struct lowering *l, const struct gemm_args *g)
{
    uint32_t batches = 1;
    for (uint32_t i = 0; i < g->batch_rank; i++)
        batches *= g->batch_dim[i];
    bool by_warps = g->m <= FEW_ROWS && g->b_row == 1;
    const uint32_t warps[3] = {(g->n + GEMV_ROWS - 1) / GEMV_ROWS, g->m, batches};
    uint32_t tiles[3];
    if (by_warps)
        pith_device_grid(l, LAUNCH_gemv_f32, warps, g, sizeof *g);
    else if (pith_device_tiles(g, tiles))
        launch_gemm_tiles(l, g, tiles);
}

const float *pith_device_weight_or_data(struct lowering *l, const struct op_args *args, uint32_t i)
{
    return args->weight && i == 1 ? pith_device_weight(l, args->weight, FORM_F32)
                                  : pith_device_as(l, args->in[i], VALUE_F32);
}

/* What is the same of both: operands, the epilogue. y = act(alpha a b + beta c + residual): the
 * activation and the residual are those that the planner fused into the step. */
static struct gemm_args operands(struct lowering *l, const struct op_args *args)
{
    struct gemm_args g = {.a = pith_device_data(l, args->in[0]),
                          .y = pith_device_data(l, args->out[0]),
                          .alpha = 1.0f,
                          .beta = 1.0f,
                          .act = args->fuse.act,
                          .act_a = args->fuse.a,
                          .act_b = args->fuse.b};
    g.a_type = pith_device_type(l, args->in[0]);
    g.y_type = pith_device_type(l, args->out[0]);
    if (args->n_in > 2 && args->in[2])
        g.c = pith_device_as(l, args->in[2], VALUE_F32);
    if (args->fuse.residual) {
        g.residual = pith_device_data(l, args->fuse.residual);
        g.residual_type = pith_device_type(l, args->fuse.residual);
    }
    return g;
}

bool pith_device_is_compressed(const struct step *s)
{
    const bool product = pith_device_is_op(s, PITH_OP_GEMM) || pith_device_is_op(s, PITH_OP_MATMUL);
    const struct weight *w = s->args.weight;
    const struct shape *y = &s->args.out[0]->shape;
    struct pack_shape shape;
    return product && w && (w->grid == GRID_CODEBOOK || pith_pack_shape(w, &shape)) &&
           shape_product(y, 0, y->rank - 1) <=
               (w->grid == GRID_CODEBOOK ? CODES_MMA_ROWS : FEW_ROWS);
}

/* Warps need no tiles, but are bounded by the same limits of the grid: m along y, batches
 * along z. */
static bool launch_product(struct lowering *l, struct gemm_args *g, const struct step *s,
                           lower_fn *lower)
{
    const struct op_args *args = &s->args;
    const bool halves = g->a_type || g->y_type || g->residual_type;
    const uint32_t first = l->n_actions;
    uint32_t grid[3];
    if ((!halves && pith_device_compressed(l, g, args->weight, 0, l->half)) ||
        (!(halves && pith_device_is_compressed(s)) && pith_device_mma(l, g, args)) ||
        (!halves && pith_device_half(l, g, args->weight, 0)))
        return true;
    if (halves) {
        if (!pith_device_in(l, s, lower, VALUE_F32))
            return false;
        if (!args->weight && g->a_type && g->a_type == pith_device_type(l, args->in[1])) {
            g->b = pith_device_data(l, args->in[1]);
            pith_device_or_blas(l, first, l->n_actions, g, g->a_type, !g->c);
        }
        return true;
    }
    g->b = pith_device_weight_or_data(l, args, 1);
    if (!pith_device_tiles(g, grid))
        return false;
    pith_device_product(l, g);
    pith_device_or_blas(l, first, l->n_actions, g, VALUE_F32, true);
    return true;
}

/* c is broadcast from one side as ONNX has it: a scalar, a row [n], a column [m, 1] or a matrix. An
 * axis of 1 has step 0. */
bool pith_device_gemm(struct lowering *l, const struct step *s)
{
    const struct op_args *args = &s->args;
    const struct shape *a = &args->in[0]->shape, *y = &args->out[0]->shape;
    bool trans_a = args->attr[ATTR_GEMM_TRANS_A], trans_b = args->attr[ATTR_GEMM_TRANS_B];
    struct gemm_args g = operands(l, args);
    g.m = y->dim[0];
    g.n = y->dim[1];
    g.k = a->dim[trans_a ? 0 : 1];
    g.a_row = trans_a ? 1 : g.k;
    g.a_col = trans_a ? g.m : 1;
    g.b_row = trans_b ? 1 : g.n;
    g.b_col = trans_b ? g.k : 1;
    g.alpha = attr_f32(args->attr, ATTR_GEMM_ALPHA);
    g.beta = attr_f32(args->attr, ATTR_GEMM_BETA);
    if (g.c) {
        const struct shape *c = &args->in[2]->shape;
        uint32_t columns = c->rank > 0 ? c->dim[c->rank - 1] : 1;
        g.c_col = columns > 1;
        g.c_row = c->rank > 1 && c->dim[0] > 1 ? columns : 0;
    }
    return launch_product(l, &g, s, pith_device_gemm);
}

/* Dim i of n batch axes of s, right-aligned. */
static uint32_t batch_dim(const struct shape *s, uint32_t n, uint32_t i)
{
    uint32_t own = s->rank > 2 ? s->rank - 2 : 0;
    return i + own < n ? 1 : s->dim[i + own - n];
}

/* Along an axis where an operand has 1, its step is 0: it is read again for each place. Where b is
 * one matrix and `joins`, the batches of a simply are more rows, as a is dense; that makes one
 * large product of many small ones. */
void pith_device_batches(struct gemm_args *g, const struct shape *a, const struct shape *b,
                         bool joins)
{
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank, n = rank > 2 ? rank - 2 : 0;
    uint32_t a_size = g->m * g->k, b_size = g->k * g->n;
    if (b->rank <= 2 && joins) {
        for (uint32_t i = 0; i < n; i++)
            g->m *= batch_dim(a, n, i);
        return;
    }
    g->batch_rank = n;
    for (uint32_t i = n; i-- > 0;) {
        uint32_t da = batch_dim(a, n, i), db = batch_dim(b, n, i);
        g->batch_dim[i] = da > db ? da : db;
        g->a_batch[i] = da > 1 ? a_size : 0;
        g->b_batch[i] = db > 1 ? b_size : 0;
        a_size *= da;
        b_size *= db;
    }
}

/* c is a bias that was fused in, a value for each column. */
bool pith_device_matmul(struct lowering *l, const struct step *s)
{
    const struct op_args *args = &s->args;
    const struct shape *a = &args->in[0]->shape, *b = &args->in[1]->shape;
    bool trans_b = args->attr[ATTR_MATMUL_TRANS_B];
    struct gemm_args g = operands(l, args);
    g.m = a->rank > 1 ? a->dim[a->rank - 2] : 1;
    g.k = a->dim[a->rank - 1];
    g.n = b->rank > 1 ? b->dim[b->rank - (trans_b ? 2 : 1)] : 1;
    g.a_row = g.k;
    g.a_col = 1;
    g.b_row = trans_b || g.n == 1 ? 1 : g.n;
    g.b_col = trans_b ? g.k : 1;
    g.c_col = g.n > 1;
    pith_device_batches(&g, a, b, true);
    return launch_product(l, &g, s, pith_device_matmul);
}

int32_t pith_device_spatial(const int32_t *attr, uint32_t slot, uint32_t n, uint32_t from_end)
{
    return from_end < n ? attr_item(attr, slot, n - 1 - from_end, 1) : 1;
}

/* One axis is a row of a picture. Only the paddings at the beginnings of axes matter: with the size
 * of y they say where each window lies. */
bool pith_device_conv_shape(struct conv_args *c, const struct op_args *args)
{
    const struct shape *x = &args->in[0]->shape, *w = &args->in[1]->shape;
    const struct shape *y = &args->out[0]->shape;
    uint32_t n = x->rank - 2;
    *c = (struct conv_args){.groups = 0};
    c->groups = (uint32_t)args->attr[ATTR_CONV_GROUP];
    c->channels = w->dim[1];
    c->outputs = w->dim[0] / c->groups;
    c->h = n == 2 ? (int32_t)x->dim[2] : 1;
    c->oh = n == 2 ? (int32_t)y->dim[2] : 1;
    c->kh = n == 2 ? (int32_t)w->dim[2] : 1;
    c->width = (int32_t)x->dim[x->rank - 1];
    c->ow = (int32_t)y->dim[x->rank - 1];
    c->kw = (int32_t)w->dim[x->rank - 1];
    c->stride_h = pith_device_spatial(args->attr, ATTR_CONV_STRIDES, n, 1);
    c->stride_w = pith_device_spatial(args->attr, ATTR_CONV_STRIDES, n, 0);
    c->dil_h = pith_device_spatial(args->attr, ATTR_CONV_DILATIONS, n, 1);
    c->dil_w = pith_device_spatial(args->attr, ATTR_CONV_DILATIONS, n, 0);
    c->pad_top = n == 2 ? attr_item(args->attr, ATTR_CONV_PADS, 0, 0) : 0;
    c->pad_left = attr_item(args->attr, ATTR_CONV_PADS, n - 1, 0);
    return n <= 2;
}

bool pith_device_is_pointwise(const struct conv_args *c)
{
    return c->kh == 1 && c->kw == 1 && c->stride_h == 1 && c->stride_w == 1 && c->h == c->oh &&
           c->width == c->ow && c->pad_top == 0 && c->pad_left == 0;
}

/* A tile has 64 outputs of one group: where a group has few, as in depthwise convolutions, a thread
 * for each output does better. */
bool pith_device_conv_tiles(const struct conv_args *c, uint32_t images, uint32_t grid[3])
{
    uint32_t pixels = (uint32_t)(c->oh * c->ow);
    grid[0] = (pixels + GEMM_TILE - 1) / GEMM_TILE;
    grid[1] = (c->outputs + GEMM_TILE - 1) / GEMM_TILE;
    grid[2] = images * c->groups;
    return !(c->groups > 1 && c->outputs < FEW_OUTPUTS) && grid[1] <= GRID_LIMIT &&
           (uint64_t)images * c->groups <= GRID_LIMIT;
}

static void launch_conv_tiles(struct lowering *l, const struct conv_args *c, uint32_t grid[3])
{
    struct conv_args tiles = *c;
    tiles.split =
        pith_device_shares(l, grid, c->channels * (uint32_t)(c->kh * c->kw), GEMM_SLICE, c->n);
    pith_device_grid(l, LAUNCH_conv_f32, grid, &tiles, sizeof tiles);
    pith_device_conv_parts(l, &tiles);
}

/* Several outputs a thread, where every multiprocessor has more than its threads of them. */
static void launch_conv_direct(struct lowering *l, const struct conv_args *c)
{
    struct conv_args direct = *c;
    const uint32_t rows = (uint32_t)c->oh, most = c->stride_h == 1 ? CONV_DIRECT_EACH : 2;
    direct.each = c->n >= pith_device_threads(l) ? most : 1;
    const uint32_t strips = (rows + direct.each - 1) / direct.each;
    pith_device_launch(l, LAUNCH_conv_direct_f32, c->n / rows * strips, &direct, sizeof direct);
}

/* Its own output, or its place in a Concat's. */
static void set_place(struct lowering *l, struct conv_args *c, const struct step *s)
{
    const struct device_place *place = pith_device_place(l, s->args.out[0]);
    const struct tview *y = place ? place->whole : s->args.out[0];
    const uint32_t pixels = (uint32_t)(c->oh * c->ow);
    c->y_type = pith_device_type(l, y);
    c->y = (void *)((char *)pith_device_data(l, y) +
                    (place ? place->channel : 0) * pixels * pith_device_each(l, y));
    c->y_image = y->shape.dim[1] * pixels;
}

bool pith_device_conv(struct lowering *l, const struct step *s)
{
    const struct op_args *args = &s->args;
    struct conv_args c;
    uint32_t grid[3];
    if (!pith_device_conv_shape(&c, args))
        return false;
    c.x = pith_device_data(l, args->in[0]);
    c.n = pith_device_count(args->out[0]);
    set_place(l, &c, s);
    c.act = args->fuse.act;
    c.act_a = args->fuse.a;
    c.act_b = args->fuse.b;
    if (args->n_in > 2 && args->in[2])
        c.bias = pith_device_as(l, args->in[2], VALUE_F32);
    c.x_type = pith_device_type(l, args->in[0]);
    if (args->fuse.residual) {
        c.residual = pith_device_data(l, args->fuse.residual);
        c.residual_type = pith_device_type(l, args->fuse.residual);
    }
    const bool halves = c.x_type || c.y_type || c.residual_type;
    bool tiles = pith_device_conv_tiles(&c, args->in[0]->shape.dim[0], grid);
    if (tiles && pith_device_conv_mma(l, &c, args->in[0]->shape.dim[0], args->weight))
        return true;
    if (tiles && halves) /* what lies in a Concat's output cannot be converted from elsewhere */
        return !pith_device_place(l, args->out[0]) &&
               pith_device_in(l, s, pith_device_conv, VALUE_F32);
    c.w = pith_device_weight_or_data(l, args, 1);
    if (!tiles) {
        launch_conv_direct(l, &c);
        return true;
    }
    const uint32_t first = l->n_actions;
    const struct conv_weight w = {c.w, c.channels, VALUE_F32, args->in[0]->shape.dim[0]};
    launch_conv_tiles(l, &c, grid);
    pith_device_conv_or_blas(l, first, &c, &w);
    return true;
}
