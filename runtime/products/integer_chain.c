/* SPDX-License-Identifier: MIT */
/* integer_chain.c - see integer_chain.h. What each operator becomes:
 *
 *     Add, Mul, a Relu    the same roundings, in registers (byte_rows.combine); of one side there
 *                         may be one number a channel, or floats, one a place of the last axis
 *     one input, element  a table of the 256 values, made by the operator itself
 *     Concat              copies, through a table where scales differ
 *     MaxPool             the largest byte, then a table: scaling keeps the order or turns it
 *                         round; NaN, which the maximum skips, is the -inf that it starts from
 *     GlobalAveragePool,  the same sum in the same order (byte_rows.mean)
 *     AveragePool of it all
 *     Slice, Pad,         themselves, on bytes and on axes in the order of memory; and a table
 *     Resize (nearest)
 *     Softmax, Resize,    themselves, on the floats of a few rows or planes at a time, which stay
 *     AveragePool         in the cache
 *
 * All but the last work on channels-last tensors and on row-major ones; pools are made for the
 * former. */
#include "products/byte_grid_at.h"
#include "products/integer_chain.h"
#include "kernels/ref/integer_element.h"
#include "kernels/kernels.h"
#include "op_interface/op_range.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#define PIECE 4096u
#define MOST_TAPS 256u
#define TILE (PACKED_BUILT ? 1024u : 64u) /* f32; else on a microcontroller's stack */
#define MOVE_SLOTS 40u                    /* attributes of Slice, of Pad and of Resize */
#define NOT_IN_PARTS UINT32_MAX
#define PART_FLOATS 8192u /* of input and output, at least, where there are so many */
#define CHUNKS 16u

struct chain_table {
    uint8_t to[256];
    uint8_t is_identity, pad[63];
};

/* Grids are constants of the network; that of the output comes behind those of the inputs. */
static struct byte_grid grid_in(const struct op_args *args, uint32_t i)
{
    return byte_grid_at(&args->grid[i], args->in[i]->type);
}

static struct byte_grid grid_out(const struct op_args *args)
{
    return byte_grid_at(&args->grid[args->n_in], args->out[0]->type);
}

/* ---- which ----------------------------------------------------------------------------------- */

/* Functions of one element: on bytes each is a table of 256. */
static bool is_elementwise(enum pith_op op)
{
    switch (op) {
    case PITH_OP_RELU:
    case PITH_OP_LEAKY_RELU:
    case PITH_OP_CLIP:
    case PITH_OP_SIGMOID:
    case PITH_OP_TANH:
    case PITH_OP_HARD_SIGMOID:
    case PITH_OP_HARD_SWISH:
    case PITH_OP_UNARY:
        return true;
    default:
        return false;
    }
}

/* Of two axes or one, every window with a tap inside: dilation alone can make others. */
static bool is_plain_pool(const int32_t *attr, const struct shape *x)
{
    uint32_t taps = 1;
    if (x->rank < 3 || x->rank > 4)
        return false;
    for (uint32_t i = 0; i < x->rank - 2; i++) {
        uint32_t kernel = (uint32_t)attr_item(attr, ATTR_POOL_KERNEL, i, 1);
        if (attr_item(attr, ATTR_POOL_DILATIONS, i, 1) != 1 || kernel > MOST_TAPS)
            return false;
        taps *= kernel;
    }
    return taps <= MOST_TAPS;
}

/* The one window is all there is: op_pool.c adds then as GlobalAveragePool does. */
static bool is_whole_pool(const int32_t *attr, const struct shape *x, const struct shape *y)
{
    uint32_t axes = x->rank - 2;
    if (x->rank < 3 || x->rank > 4)
        return false;
    for (uint32_t i = 0; i < axes; i++)
        if (attr_item(attr, ATTR_POOL_KERNEL, i, 1) != (int32_t)x->dim[2 + i] ||
            attr_item(attr, ATTR_POOL_DILATIONS, i, 1) != 1 || y->dim[2 + i] != 1 ||
            attr_item(attr, ATTR_POOL_PADS, i, 0) != 0 ||
            attr_item(attr, ATTR_POOL_PADS, axes + i, 0) != 0)
            return false;
    return true;
}

/* The first axes over which an operator on floats does the same again: what it makes of one part
 * depends on nothing else. NOT_IN_PARTS: it runs on bytes. */
static uint32_t parted_axes(const struct op_info *inner, const int32_t *attr, const struct shape *x,
                            const struct shape *y)
{
    uint32_t n = 0;
    switch (inner->op) {
    case PITH_OP_SOFTMAX:
    case PITH_OP_LOG_SOFTMAX:
        return (uint32_t)attr[ATTR_SOFTMAX_AXIS];
    case PITH_OP_AVERAGE_POOL:
        return is_whole_pool(attr, x, y) ? NOT_IN_PARTS : 2;
    case PITH_OP_RESIZE:
        if (attr[ATTR_RESIZE_MODE] == 0)
            return NOT_IN_PARTS;
        while (n < 2 && n < x->rank && x->dim[n] == y->dim[n] &&
               (attr_count(attr, ATTR_RESIZE_SCALES) == 0 ||
                attr_f32(attr, ATTR_RESIZE_SCALES + 1 + n) == 1.0f))
            n++;
        return n;
    default:
        return NOT_IN_PARTS;
    }
}

/* Parts have to be contiguous, as they are in row-major tensors. */
bool pith_integer_chain_is_row_major(const struct op_info *inner, const int32_t *attr,
                                     const struct shape *x, const struct shape *y)
{
    return parted_axes(inner, attr, x, y) != NOT_IN_PARTS;
}

/* One number for each channel of y: [N, C, 1, ...]. */
static bool is_per_channel(const struct shape *x, const struct shape *y)
{
    return y->rank > 2 && x->rank == y->rank && x->dim[0] == y->dim[0] && x->dim[1] == y->dim[1] &&
           shape_product(x, 2, x->rank) == 1;
}

/* Reads shapes and attributes alone, no layout. */
bool pith_integer_chain_knows(const struct op_info *inner, const int32_t *attr,
                              const struct shape *x, const struct shape *y)
{
    switch (inner->op) {
    case PITH_OP_ADD:
    case PITH_OP_MUL:
        return pith_shape_equal(x, y) || is_per_channel(x, y);
    case PITH_OP_CONCAT:
    case PITH_OP_GLOBAL_AVERAGE_POOL:
    case PITH_OP_SLICE:
    case PITH_OP_PAD:
    case PITH_OP_RESIZE:
    case PITH_OP_SOFTMAX:
    case PITH_OP_LOG_SOFTMAX:
    case PITH_OP_AVERAGE_POOL:
        return true;
    case PITH_OP_MAX_POOL:
        return is_plain_pool(attr, x);
    default:
        return is_elementwise(inner->op) && !inner->need;
    }
}

/* ---- on floats ------------------------------------------------------------------------------- */

/* Scratch of a lane: | floats of parts | of their results | what the operator requests | */
struct parts {
    uint32_t axes, chunks;
    size_t n, x, y, each; /* parts, their elements; parts that run as one */
    uint64_t y_at, own_at, lane_bytes;
};

/* The lowered operation: found when planned, read by each run. */
struct chain {
    uint32_t tables;    /* in prep: one for each input, or none */
    bool is_parted;     /* on floats, as `parts` says */
    struct parts parts; /* there where is_parted */
};

_Static_assert(sizeof(struct chain) <= CHAIN_LOWERED_MAX, "planning reserves more");

struct parts_run {
    const struct parts *p;
    const struct op_args *args;
    const struct op_env *env;
    struct byte_grid from, to;
};

/* n parts as one tensor: the axes that they are counted along become 1, the last of them n. */
static struct tview some_parts(const struct parts *p, const struct tview *t, size_t n, void *data)
{
    struct tview view = {PITH_F32, t->shape, data};
    for (uint32_t i = 0; i < p->axes; i++)
        view.shape.dim[i] = i + 1 < p->axes ? 1 : (uint32_t)n;
    return view;
}

/* So many parts run as one that input and output together have PART_FLOATS floats or more, or all
 * parts where they have fewer. The chunks are as many with one thread as with several, so they
 * compute the same. */
static bool in_parts(const struct op_args *args, struct parts *p)
{
    const struct shape *x = &args->in[0]->shape, *y = &args->out[0]->shape;
    *p = (struct parts){.axes = parted_axes(args->inner, args->attr, x, y)};
    if (p->axes == NOT_IN_PARTS || !args->grid[0].scale)
        return false;
    p->n = shape_product(x, 0, p->axes);
    p->x = shape_product(x, p->axes, x->rank);
    p->y = shape_product(y, p->axes, y->rank);
    p->each = PART_FLOATS / (p->x + p->y) + 1;
    p->each = p->each < p->n ? p->each : p->n;
    size_t units = (p->n + p->each - 1) / p->each;
    p->chunks = units < CHUNKS ? (uint32_t)units : CHUNKS;
    p->y_at = aligned_bytes(p->each * p->x * sizeof(float));
    p->own_at = p->y_at + aligned_bytes(p->each * p->y * sizeof(float));
    return true;
}

/* A chunk's operator runs on one thread, in the memory of a lane. */
static void run_chunk(void *arg, uint32_t i, uint32_t lane)
{
    const struct parts_run *run = arg;
    const struct parts *p = run->p;
    const struct op_args *args = run->args;
    const struct byte_rows *rows = &run->env->kernels->integer.bytes;
    uint8_t *memory = (uint8_t *)run->env->scratch + lane * p->lane_bytes;
    float *x = (void *)memory, *y = (void *)(memory + p->y_at);
    struct op_env alone = {.kernels = run->env->kernels, .scratch = memory + p->own_at};
    size_t begin = p->n * i / p->chunks, end = p->n * (i + 1) / p->chunks;
    for (size_t n; begin < end; begin += n) {
        n = end - begin < p->each ? end - begin : p->each;
        struct tview from = some_parts(p, args->in[0], n, x);
        struct tview to = some_parts(p, args->out[0], n, y);
        const struct tview *in[1] = {&from};
        struct tview *out[1] = {&to};
        struct op_args inner = {
            .info = args->inner, .attr = args->attr, .n_in = 1, .n_out = 1, .in = in, .out = out};
        rows->dequantize(&run->from, (const uint8_t *)args->in[0]->data + begin * p->x, x,
                         n * p->x);
        args->inner->run(&inner, &alone);
        rows->quantize(&run->to, y, (uint8_t *)args->out[0]->data + begin * p->y, n * p->y);
    }
}

/* What the operator itself needs, of a whole `each`. */
static enum pith_status need_parts(struct parts *p, const struct op_args *args,
                                   const struct op_env *env, struct op_need *need)
{
    struct tview from = some_parts(p, args->in[0], p->each, NULL);
    struct tview to = some_parts(p, args->out[0], p->each, NULL);
    const struct tview *in[1] = {&from};
    struct tview *out[1] = {&to};
    struct op_args inner = {
        .info = args->inner, .attr = args->attr, .n_in = 1, .n_out = 1, .in = in, .out = out};
    enum pith_status st = args->inner->need ? args->inner->need(&inner, env, need) : PITH_OK;
    p->lane_bytes = p->own_at + aligned_bytes(need->scratch_bytes);
    need->scratch_bytes = pith_op_lanes(env, p->chunks) * p->lane_bytes;
    return st;
}

static void run_parts(const struct parts *p, const struct op_args *args, const struct op_env *env)
{
    struct parts_run run = {p, args, env, grid_in(args, 0), grid_out(args)};
    pith_op_parallel_lanes(env, p->chunks, run_chunk, &run);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Of Resize: by the nearest element. */
static bool is_move(enum pith_op op)
{
    return op == PITH_OP_SLICE || op == PITH_OP_PAD || op == PITH_OP_RESIZE;
}

/* The others - sums, products, means - make an element of several, for which there is no table. */
static uint32_t tables_of(const struct op_args *args)
{
    enum pith_op op = args->inner->op;
    bool some = op == PITH_OP_CONCAT || op == PITH_OP_MAX_POOL || is_move(op) || is_elementwise(op);
    return some ? args->n_in : 0;
}

/* A table is made by the operator's own run(), on the 256 reals that the bytes stand for, so it has
 * the bits that the steps one by one would have. Without a scale the values are no grid's, and the
 * table changes nothing. */
static void make_table(const struct op_args *args, const struct op_env *env, uint32_t i,
                       struct chain_table *t)
{
    const struct byte_rows *rows = &env->kernels->integer.bytes;
    float real[256];
    t->is_identity = 1;
    for (uint32_t q = 0; q < 256; q++)
        t->to[q] = (uint8_t)q;
    if (!args->grid[i].scale)
        return;
    struct byte_grid from = grid_in(args, i), to = grid_out(args);
    rows->dequantize(&from, t->to, real, 256);
    if (is_elementwise(args->inner->op)) {
        struct tview x = {.type = PITH_F32, .shape = {1, {256}}, .data = real}, y = x;
        float result[256];
        const struct tview *in[1] = {&x};
        struct tview *out[1] = {&y};
        struct op_env alone = {.kernels = env->kernels};
        y.data = result;
        struct op_args inner = {
            .info = args->inner, .attr = args->attr, .n_in = 1, .n_out = 1, .in = in, .out = out};
        args->inner->run(&inner, &alone);
        memcpy(real, result, sizeof real);
    }
    for (uint32_t q = 0; q < 256 && args->inner->op == PITH_OP_MAX_POOL; q++)
        if (real[q] != real[q]) /* no number, which MaxPool passes over */
            real[q] = f32_from_bits(0xff800000u);
    rows->quantize(&to, real, t->to, 256);
    for (uint32_t q = 0; q < 256; q++)
        t->is_identity = t->is_identity && t->to[q] == q;
}

/* Without parts the struct ends before them, which saves their bytes in every such step. */
static uint32_t chain_lowered_bytes(const struct op_args *args, const struct op_env *env)
{
    struct parts unused;
    (void)env;
    return in_parts(args, &unused) ? sizeof(struct chain) : offsetof(struct chain, parts);
}

/* `parts` is written only where chain_lowered_bytes has room for it. */
static enum pith_status need_chain(const struct op_args *args, const struct op_env *env,
                                   struct op_need *need)
{
    struct chain *c = args->lowered;
    struct parts p;
    *need = (struct op_need){0};
    enum pith_status st = PITH_OK;
    c->is_parted = in_parts(args, &p);
    c->tables = c->is_parted ? 0 : tables_of(args);
    if (c->is_parted)
        st = need_parts(&p, args, env, need);
    else if (args->inner->op == PITH_OP_RESIZE)
        st = args->inner->need(args, env, need);
    if (c->is_parted)
        c->parts = p;
    need->kernel = "bytes";
    need->prep_bytes = c->tables * sizeof(struct chain_table);
    if (args->inner->op == PITH_OP_PAD) /* what passed through the table */
        need->scratch_bytes = shape_elems(&args->in[0]->shape);
    return st;
}

static enum pith_status prepare_chain(const struct op_args *args, const struct op_env *env)
{
    const struct chain *c = args->lowered;
    struct chain_table *t = args->prep;
    for (uint32_t i = 0; i < c->tables; i++)
        make_table(args, env, i, &t[i]);
    return PITH_OK;
}

/* ---- runs ------------------------------------------------------------------------------------ */

struct chain_job {
    const struct op_args *args;
    const struct byte_rows *rows;
    const struct chain_table *table; /* one for each input; NULL: none */
    size_t n;                        /* elements */
    union {
        struct {                       /* pools */
            struct byte_grid from, to; /* of the mean */
            uint32_t c, h, w, oh, ow;
            int32_t kernel[2], stride[2], pad[2];
        };
        struct { /* Add, Mul */
            struct combine_bytes combine;
            uint32_t many;               /* of two inputs: the one of all elements */
            size_t width, pixels, piece; /* elements of a row of the other; rows for each; of an
                                            item */
        };
        size_t outer; /* Concat: chunks */
    };
};

static void look_up(const struct chain_job *j, const struct chain_table *t, const uint8_t *x,
                    uint8_t *y, size_t n)
{
    if (!t->is_identity)
        j->rows->look_up(t->to, x, y, n);
    else if (x != y)
        memcpy(y, x, n);
}

/* Items are pieces. */
static void element_range(void *arg, size_t begin, size_t end)
{
    const struct chain_job *j = arg;
    const struct op_args *args = j->args;
    size_t at = begin * PIECE, n = (end * PIECE < j->n ? end * PIECE : j->n) - at;
    const uint8_t *x = args->in[0]->data;
    uint8_t *y = args->out[0]->data;
    if (j->table)
        look_up(j, j->table, x + at, y + at, n);
    else
        j->rows->combine(&j->combine,
                         &(struct combined_rows){.a = x + at,
                                                 .b = (const uint8_t *)args->in[1]->data + at,
                                                 .y = y + at,
                                                 .n = n,
                                                 .rows = 1});
}

/* Of an Add or Mul: one side has a number for many elements of the other. */
static bool has_other_shape(const struct op_args *args)
{
    return args->in[0]->type == PITH_F32 || args->in[1]->type == PITH_F32 ||
           !pith_shape_equal(&args->in[0]->shape, &args->in[1]->shape);
}

/* Columns [from, from + n) of a row of `few`, as real numbers. */
static void real_columns(const struct chain_job *j, size_t row, size_t from, size_t n, float *real)
{
    const struct tview *few = j->args->in[1 - j->many];
    const size_t at = row * j->width + from;
    if (few->type == PITH_F32)
        memcpy(real, (const float *)few->data + at, n * sizeof *real);
    else
        j->rows->dequantize(&j->combine.b, (const uint8_t *)few->data + at, real, n);
}

/* Items are pieces of the rows of `many` that have one row of `few`: pixels of an image or a plane.
 * Short rows stand in the tile as often as they fit, so that a call has many elements; of long ones
 * a part of the columns is there at a time. */
static void spread_range(void *arg, size_t begin, size_t end)
{
    const struct chain_job *j = arg;
    const size_t width = j->width, pieces = (j->pixels + j->piece - 1) / j->piece;
    const size_t most = width < TILE ? TILE / width : 1;
    const size_t copies = most < j->piece ? most : j->piece;
    float tile[TILE];
    for (size_t item = begin; item < end; item++) {
        const size_t row = item / pieces, first = item % pieces * j->piece;
        const size_t pixels = j->pixels - first < j->piece ? j->pixels - first : j->piece;
        const size_t at = (row * j->pixels + first) * width;
        const uint8_t *x = (const uint8_t *)j->args->in[j->many]->data + at;
        uint8_t *y = (uint8_t *)j->args->out[0]->data + at;
        for (size_t from = 0, n; from < width; from += n) {
            n = width - from < TILE ? width - from : TILE;
            real_columns(j, row, from, n, tile);
            for (size_t done = 1, more; done < copies; done += more) { /* each pass doubles them */
                more = done < copies - done ? done : copies - done;
                memcpy(tile + done * width, tile, more * width * sizeof *tile);
            }
            for (size_t i = 0; i < pixels; i += copies)
                j->rows->combine_reals(&j->combine, x + i * width + from, tile,
                                       y + i * width + from,
                                       pixels - i < copies ? (pixels - i) * n : copies * n);
        }
    }
}

/* Sums and products do not depend on which side is which. */
static void run_spread(struct chain_job *j, const struct op_env *env)
{
    const struct op_args *args = j->args;
    const struct shape *y = &args->out[0]->shape;
    j->many = shape_elems(&args->in[0]->shape) == j->n && args->in[0]->type != PITH_F32 ? 0 : 1;
    const struct tview *few = args->in[1 - j->many];
    const bool is_row = few->type == PITH_F32; /* for all there is, along the last axis */
    size_t rows = is_row ? 1 : (size_t)y->dim[0] * (args->x_last ? 1 : y->dim[1]);
    j->combine.a = grid_in(args, j->many);
    j->combine.b = is_row ? j->combine.a : grid_in(args, 1 - j->many);
    j->width = shape_elems(&few->shape) / rows;
    j->pixels = j->n / rows / j->width;
    j->piece = PIECE / j->width + 1;
    j->piece = j->piece < j->pixels ? j->piece : j->pixels;
    const size_t pieces = (j->pixels + j->piece - 1) / j->piece;
    pith_op_range(env, rows * pieces, j->piece * j->width, spread_range, j);
}

/* Items are chunks of the output. */
static void concat_range(void *arg, size_t begin, size_t end)
{
    const struct chain_job *j = arg;
    const struct op_args *args = j->args;
    size_t whole = j->n / j->outer;
    uint8_t *y = args->out[0]->data;
    for (uint32_t i = 0; i < args->n_in; i++) {
        const uint8_t *x = args->in[i]->data;
        size_t n = shape_elems(&args->in[i]->shape) / j->outer;
        bool there = x == y; /* written where it belongs (alias.c) */
        for (size_t o = begin; o < end && !there; o++)
            look_up(j, &j->table[i], x + o * n, y + o * whole, n);
        y += n;
    }
}

/* Taps of output row oy, column ox inside the image: [*from, *to) along axis i. */
static void taps_inside(const struct chain_job *j, uint32_t i, uint32_t out, uint32_t in,
                        int32_t *from, int32_t *to)
{
    int64_t start = (int64_t)out * j->stride[i] - j->pad[i];
    *from = start < 0 ? (int32_t)-start : 0;
    *to = start + j->kernel[i] > in ? (int32_t)(in - start) : j->kernel[i];
}

/* How many windows from that of column ox on have all their columns in x; of one that has not, 1.
 * The kernel takes the former in one call: a row of pixels has one call for each window that
 * reaches into the padding, and one for all others. */
static uint32_t windows_alike(const struct chain_job *j, uint32_t ox)
{
    const int64_t step = j->stride[1], from = ox * step - j->pad[1];
    const int64_t more = (int64_t)j->w - j->kernel[1] - from;
    if (from < 0 || more < 0)
        return 1;
    return more / step < j->ow - ox ? (uint32_t)(more / step) + 1 : j->ow - ox;
}

/* One output row of pixels of `width` channels side by side, under one image or plane. Windows that
 * lie side by side are one of all their bytes. */
static void largest_under(const struct chain_job *j, const uint8_t *x, uint32_t oy, uint8_t *y,
                          size_t width)
{
    int32_t y0, y1, x0, x1;
    taps_inside(j, 0, oy, j->h, &y0, &y1);
    struct largest_bytes l = {.row = j->w * width,
                              .column = width,
                              .step = (size_t)j->stride[1] * width,
                              .rows = (size_t)(y1 - y0),
                              .flip = j->from.flip ^ (j->from.scale < 0.0f ? 0xff : 0)};
    for (uint32_t ox = 0, alike; ox < j->ow; ox += alike) {
        taps_inside(j, 1, ox, j->w, &x0, &x1);
        const int64_t row = (int64_t)oy * j->stride[0] - j->pad[0] + y0;
        const int64_t column = (int64_t)ox * j->stride[1] - j->pad[1] + x0;
        alike = windows_alike(j, ox);
        const uint32_t joined = l.step == width ? alike : 1;
        l.x = x + (size_t)(row * j->w + column) * width;
        l.columns = (size_t)(x1 - x0);
        l.windows = alike / joined;
        j->rows->largest(&l, y + ox * width, joined * width);
    }
    look_up(j, j->table, y, y, j->ow * width);
}

/* Items are output rows: of images (channels-last) or of planes. */
static void pool_range(void *arg, size_t begin, size_t end)
{
    const struct chain_job *j = arg;
    const uint8_t *x = j->args->in[0]->data;
    uint8_t *y = j->args->out[0]->data;
    size_t width = j->args->x_last ? j->c : 1, in = (size_t)j->h * j->w * width;
    for (size_t item = begin; item < end; item++)
        largest_under(j, x + item / j->oh * in, (uint32_t)(item % j->oh), y + item * j->ow * width,
                      width);
}

/* Items are images (channels-last) or planes. */
static void mean_range(void *arg, size_t begin, size_t end)
{
    const struct chain_job *j = arg;
    const uint8_t *x = j->args->in[0]->data;
    uint8_t *y = j->args->out[0]->data;
    size_t width = j->args->x_last ? j->c : 1, pixels = (size_t)j->h * j->w;
    for (size_t item = begin; item < end; item++) {
        struct mean_bytes m = {x + item * pixels * width, pixels, width, j->from, j->to};
        j->rows->mean(&m, y + item * width, width);
    }
}

static void run_concat(struct chain_job *j, const struct op_env *env)
{
    const struct shape *y = &j->args->out[0]->shape;
    uint32_t axis = (uint32_t)j->args->attr[ATTR_AXIS];
    j->outer = j->args->x_last ? j->n / y->dim[1] : shape_product(y, 0, axis);
    pith_op_range(env, j->outer, j->n / j->outer, concat_range, j);
}

static void run_pool(struct chain_job *j, const struct op_env *env)
{
    const struct op_args *args = j->args;
    const struct shape *x = &args->in[0]->shape, *y = &args->out[0]->shape;
    bool rows = x->rank == 4, global = args->inner->op != PITH_OP_MAX_POOL;
    j->from = grid_in(args, 0);
    j->to = grid_out(args);
    j->c = x->dim[1];
    j->h = rows ? x->dim[2] : 1;
    j->w = (uint32_t)shape_product(x, 2 + rows, x->rank);
    size_t items = (size_t)x->dim[0] * (args->x_last ? 1 : j->c);
    size_t width = args->x_last ? j->c : 1;
    if (global) {
        pith_op_range(env, items, (size_t)j->h * j->w * width, mean_range, j);
        return;
    }
    j->oh = rows ? y->dim[2] : 1;
    j->ow = y->dim[x->rank - 1];
    j->kernel[0] = j->stride[0] = 1;
    for (uint32_t i = 0; i < x->rank - 2; i++) {
        uint32_t at = i + !rows;
        j->kernel[at] = attr_item(args->attr, ATTR_POOL_KERNEL, i, 1);
        j->stride[at] = attr_item(args->attr, ATTR_POOL_STRIDES, i, 1);
        j->pad[at] = attr_item(args->attr, ATTR_POOL_PADS, i, 0);
    }
    pith_op_range(env, items * j->oh, j->ow * width, pool_range, j);
}

/* Slices and pads: the place in memory of an axis, and the operator's parameters. */
static uint32_t axis_in_memory(const struct op_args *args, uint32_t axis)
{
    uint32_t rank = args->in[0]->shape.rank;
    return !args->x_last || axis == 0 ? axis : axis == 1 ? rank - 1 : axis - 1;
}

static struct tview view_in_memory(const struct op_args *args, const struct tview *t)
{
    struct tview view = *t;
    for (uint32_t i = 0; i < t->shape.rank; i++)
        view.shape.dim[axis_in_memory(args, i)] = t->shape.dim[i];
    return view;
}

static void attr_in_memory(const struct op_args *args, uint8_t border, int32_t attr[MOVE_SLOTS])
{
    memcpy(attr, args->attr, args->inner->n_slots * sizeof *attr);
    if (args->inner->op == PITH_OP_SLICE) {
        for (uint32_t i = 1; i <= attr_count(attr, ATTR_SLICE_AXES); i++)
            attr[ATTR_SLICE_AXES + i] =
                (int32_t)axis_in_memory(args, (uint32_t)attr[ATTR_SLICE_AXES + i]);
        return;
    }
    if (args->inner->op == PITH_OP_RESIZE) {
        for (uint32_t i = 0; i < args->in[0]->shape.rank; i++) {
            uint32_t at = 1 + axis_in_memory(args, i);
            attr[ATTR_RESIZE_DIMS + at] = args->attr[ATTR_RESIZE_DIMS + 1 + i];
            if (attr_count(attr, ATTR_RESIZE_SCALES))
                attr[ATTR_RESIZE_SCALES + at] = args->attr[ATTR_RESIZE_SCALES + 1 + i];
        }
        return;
    }
    attr[ATTR_PAD_VALUE] = border;
    for (uint32_t i = 0; i < args->in[0]->shape.rank; i++) {
        uint32_t at = 1 + axis_in_memory(args, i);
        attr[ATTR_PAD_BEGIN + at] = args->attr[ATTR_PAD_BEGIN + 1 + i];
        attr[ATTR_PAD_END + at] = args->attr[ATTR_PAD_END + 1 + i];
    }
}

static __attribute__((noinline)) void run_move(const struct chain_job *j, const struct op_env *env)
{
    const struct op_args *args = j->args;
    struct tview x = view_in_memory(args, args->in[0]), y = view_in_memory(args, args->out[0]);
    const struct tview *in[1] = {&x};
    struct tview *out[1] = {&y};
    int32_t attr[MOVE_SLOTS];
    uint8_t border = 0;
    bool pads = args->inner->op == PITH_OP_PAD;
    if (pads && args->grid[0].scale) { /* its value is a real number */
        struct byte_grid to = grid_out(args);
        float value = attr_f32(args->attr, ATTR_PAD_VALUE);
        j->rows->quantize(&to, &value, &border, 1);
    }
    if (pads && !j->table->is_identity) {
        look_up(j, j->table, x.data, env->scratch, shape_elems(&x.shape));
        x.data = env->scratch;
    }
    attr_in_memory(args, border, attr);
    struct op_args inner = {
        .info = args->inner, .attr = attr, .n_in = 1, .n_out = 1, .in = in, .out = out};
    args->inner->run(&inner, env);
    if (!pads)
        look_up(j, j->table, y.data, y.data, j->n);
}

static void run_chain(const struct op_args *args, const struct op_env *env)
{
    const struct chain *c = args->lowered;
    struct chain_job job = {.args = args,
                            .rows = &env->kernels->integer.bytes,
                            .table = c->tables ? args->prep : NULL,
                            .n = shape_elems(&args->out[0]->shape)};
    if (c->is_parted) {
        run_parts(&c->parts, args, env);
        return;
    }
    switch (args->inner->op) {
    case PITH_OP_CONCAT:
        run_concat(&job, env);
        return;
    case PITH_OP_MAX_POOL:
    case PITH_OP_AVERAGE_POOL:
    case PITH_OP_GLOBAL_AVERAGE_POOL:
        run_pool(&job, env);
        return;
    case PITH_OP_SLICE:
    case PITH_OP_PAD:
    case PITH_OP_RESIZE:
        run_move(&job, env);
        return;
    case PITH_OP_ADD:
    case PITH_OP_MUL:
        job.combine = (struct combine_bytes){.y = grid_out(args),
                                             .multiply = args->inner->op == PITH_OP_MUL,
                                             .relu = args->fuse.act == ACT_RELU};
        if (has_other_shape(args)) {
            run_spread(&job, env);
            return;
        }
        job.combine.a = grid_in(args, 0);
        job.combine.b = grid_in(args, 1);
        break;
    default:
        break;
    }
    pith_op_range(env, (job.n + PIECE - 1) / PIECE, PIECE, element_range, &job);
}

const struct op_info pith_integer_chain = {
    .lowered_most = CHAIN_LOWERED_MAX,
    .lowered_bytes = chain_lowered_bytes,
    .need = need_chain,
    .prepare = prepare_chain,
    .run = run_chain,
};
