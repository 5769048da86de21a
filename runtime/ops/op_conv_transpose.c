/* SPDX-License-Identifier: MIT */
/* op_conv_transpose.c - ConvTranspose over one to four spatial axes: each input pixel, times the
 * kernel, is added to the output where a convolution with the same attributes would have read it
 * from:
 *
 *     y[n, o, i * stride + k * dilation - pad_begin] += x[n, c, i] * w[c, o, k]
 *
 * A constant weight of few phases runs as convolutions (products/conv_phases.h). Elsewhere, for one
 * image and group, it is a product of matrices, then a sum of what overlaps:
 *
 *     col[O * taps, pixels] = w^T [O * taps, C] * x [C, pixels]
 *
 * Work is cut into units of some output channels. A unit multiplies its rows of w^T - packed
 * (kernel_dense.h) when the plan is made, or at the start of the unit where the weight is
 * not constant - by a tile of pixels at a time and adds the tile to its planes of y while it is
 * in cache. Without packed kernels the sum is formed tap by tap. The order of additions depends
 * on neither threads nor tiles of others.
 *
 * ONNX ConvTranspose-11, whose auto_pad and output_shape import turns into pads. The sum of
 * overlaps is formed by one thread for each output plane, so no two add to one element. */
#include "kernels/kernels.h"
#include "ops/op_list.h"
#include "products/conv_phases.h"
#include "op_interface/shape_rule.h"
#include "op_interface/turn.h"
#include "decode/weight_cut.h"
#include "decode/weight_f32.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* As of op_conv.c: bounds that keep every product of the shape rule within 63 bits. */
#define MAX_STEP 65535
#define MAX_PAD (1 << 24)
#define MAX_AXES 4u    /* the list of pads has two entries an axis */
#define UNIT_ROWS 128u /* of col: with a tile of 64 pixels 32 KiB */
#define MAX_TASKS 16u

/* One spatial axis. */
struct up_axis {
    int64_t in, out, kernel, stride, dilation, pad;
};

/* An empty list stands for ONNX's default of each axis. */
static bool list_fits(const int32_t *attr, uint32_t slot, uint32_t n)
{
    return attr_count(attr, slot) == 0 || attr_count(attr, slot) == n;
}

/* Axis i of n; false: nothing is left of the output. */
static bool set_axis(const int32_t *attr, uint32_t i, uint32_t n, uint32_t in, uint32_t kernel,
                     struct up_axis *a)
{
    *a = (struct up_axis){.in = in, .kernel = kernel};
    a->stride = attr_item(attr, ATTR_CONV_T_STRIDES, i, 1);
    a->dilation = attr_item(attr, ATTR_CONV_T_DILATIONS, i, 1);
    a->pad = attr_item(attr, ATTR_CONV_T_PADS, i, 0);
    /* The size of the output by the rule of ONNX; in, kernel < 2^31 and steps < 2^16 keep each
     * term below 2^48, and what is negative is refused here. */
    a->out = (a->in - 1) * a->stride + (a->kernel - 1) * a->dilation + 1 - a->pad -
             attr_item(attr, ATTR_CONV_T_PADS, n + i, 0) + attr_item(attr, ATTR_CONV_T_EXTRA, i, 0);
    return a->out >= 1 && a->out <= INT32_MAX;
}

static bool channels_fit(const struct op_args *args)
{
    const struct shape *x = &args->in[0]->shape, *w = &args->in[1]->shape;
    const struct tview *bias = args->n_in > 2 ? args->in[2] : NULL;
    uint32_t group = (uint32_t)args->attr[ATTR_CONV_T_GROUP];
    if (x->dim[1] != w->dim[0] || x->dim[1] % group || (uint64_t)w->dim[1] * group > INT32_MAX)
        return false;
    return !bias || (bias->shape.rank == 1 && bias->shape.dim[0] == w->dim[1] * group);
}

static enum pith_status shape_conv_transpose(const struct op_args *args)
{
    enum pith_status st = pith_in_f32(args, 2);
    if (st)
        return st;
    if (args->n_in > 2 && args->in[2] && args->in[2]->type != PITH_F32)
        return PITH_ERR_UNSUPPORTED;
    const struct shape *x = &args->in[0]->shape, *w = &args->in[1]->shape;
    if (x->rank != w->rank || x->rank < 3)
        return PITH_ERR_CORRUPT;
    if (x->rank > 2 + MAX_AXES)
        return PITH_ERR_UNSUPPORTED;
    uint32_t n = x->rank - 2;
    uint64_t taps = 1; /* a kernel takes a channel's as its number of rows */
    /* The packed product has O * taps rows, a uint32_t of a kernel's job. */
    for (uint32_t i = 0; i < n; i++)
        if (!mul_ok(taps, w->dim[2 + i], &taps) || taps > INT32_MAX)
            return PITH_ERR_UNSUPPORTED;
    if (!channels_fit(args) || !list_fits(args->attr, ATTR_CONV_T_STRIDES, n) ||
        !list_fits(args->attr, ATTR_CONV_T_DILATIONS, n) ||
        !list_fits(args->attr, ATTR_CONV_T_PADS, 2 * n) ||
        !list_fits(args->attr, ATTR_CONV_T_EXTRA, n))
        return PITH_ERR_CORRUPT;
    struct shape y = {.rank = x->rank, .dim = {x->dim[0]}};
    y.dim[1] = w->dim[1] * (uint32_t)args->attr[ATTR_CONV_T_GROUP];
    for (uint32_t i = 0; i < n; i++) {
        struct up_axis a;
        if (!set_axis(args->attr, i, n, x->dim[2 + i], w->dim[2 + i], &a))
            return PITH_ERR_CORRUPT;
        y.dim[2 + i] = (uint32_t)a.out;
    }
    return pith_out_set(args->out[0], PITH_F32, &y);
}

/* Inputs [begin, end) of the columns that a tap puts inside the output: input i to element i + to
 * of a row of y. Neighbours in x are `stride` apart in y: until interleave() a row of y lies phase
 * by phase, all columns q stride + r before those of r + 1. */
struct column_tap {
    int64_t begin, end, to;
};

/* C and O are channels of one group; pixels of the input, out_pixels of the output; units are
 * cut so that the columns of one, UNIT_ROWS by nr floats, stay in the first cache. */
struct up_job {
    const float *x;      /* [N, G * C, ...] */
    const float *w;      /* [G * C, O, ...]; or */
    const float *packed; /* [G, parts, pack_floats] */
    const float *bias;   /* [G * O] or NULL */
    float *y;            /* [N, G * O, ...] */
    const struct dense_kernels *dense;
    struct up_axis outer[MAX_AXES - 1]; /* of rows; those not there are of size 1 */
    struct up_axis v;                   /* columns */
    struct column_tap *columns;         /* [v.kernel] */
    size_t n, groups, c, o, taps, pixels, out_pixels;
    size_t unit_o, parts, units; /* output channels of a unit; units of one group; all */
    uint32_t n_tasks;
    uint8_t *scratch;
    size_t row_floats;               /* of interleave() */
    size_t pack_floats, task_floats; /* packed rows, then col, then a row */
};

static size_t at_least_one(size_t n)
{
    return n ? n : 1;
}

static size_t padded_rows(const struct up_job *j)
{
    size_t mr = at_least_one(j->dense->mr);
    return (j->unit_o * j->taps + mr - 1) / mr * mr;
}

/* Everything but addresses. Computed anew by need, prepare and run: it is short, and so no two
 * of them can disagree. */
static struct up_job job_of(const struct op_args *args, const struct op_env *env)
{
    const struct shape *x = &args->in[0]->shape, *w = &args->in[1]->shape;
    struct up_job j = {.dense = &env->kernels->dense, .n = x->dim[0], .o = w->dim[1]};
    const uint32_t axes = x->rank - 2;
    j.groups = (size_t)args->attr[ATTR_CONV_T_GROUP];
    j.c = x->dim[1] / j.groups;
    for (uint32_t i = 0; i < MAX_AXES - 1; i++)
        /* Absent outer axes are in front, of size 1, so that loops over axes have one length. */
        j.outer[i] = (struct up_axis){1, 1, 1, 1, 1, 0};
    /* Columns are of the last axis that is longer than 1: planes may be one column wide. */
    for (uint32_t i = axes, n = 0; i-- > 0;) {
        struct up_axis a;
        set_axis(args->attr, i, axes, x->dim[2 + i], w->dim[2 + i], &a);
        if (n == 0 && i > 0 && a.in == 1 && a.kernel == 1 && a.out == 1)
            continue;
        *(n == 0 ? &j.v : &j.outer[MAX_AXES - 1 - n]) = a;
        n++;
    }
    j.row_floats = j.v.stride > 1 ? (size_t)(j.v.out / j.v.stride + 1) * (size_t)j.v.stride : 0;
    j.taps = shape_product(w, 2, w->rank);
    j.pixels = shape_product(x, 2, x->rank);
    j.out_pixels = shape_product(&args->out[0]->shape, 2, x->rank);
    /* A unit is no larger than an equal share of all output channels, else some threads would
     * have nothing to do; and at least one channel. */
    size_t share = (j.n * j.groups * j.o + MAX_TASKS - 1) / MAX_TASKS;
    j.unit_o = at_least_one(UNIT_ROWS / j.taps < share ? UNIT_ROWS / j.taps : share);
    j.unit_o = j.unit_o > j.o ? j.o : j.unit_o;
    j.parts = (j.o + j.unit_o - 1) / j.unit_o;
    j.units = j.n * j.groups * j.parts;
    j.n_tasks = j.units < MAX_TASKS ? (uint32_t)j.units : MAX_TASKS;
    return j;
}

static uint64_t columns_bytes(const struct up_job *j)
{
    return ((uint64_t)j->v.kernel * sizeof *j->columns + 63) & ~(uint64_t)63;
}

/* What is packed follows from the weight, its groups and the channels of a unit: UNIT_ROWS at most.
 */
static uint64_t form_of(const struct up_job *j)
{
    bool few = j->groups < UINT32_MAX / (2 * UNIT_ROWS);
    return few ? prep_form(PREP_CONV_TRANSPOSE, (uint32_t)(j->groups * 2 * UNIT_ROWS + j->unit_o))
               : PREP_OWN;
}

static enum pith_status need_conv_transpose(const struct op_args *args, const struct op_env *env,
                                            struct op_need *need)
{
    struct up_job j = job_of(args, env);
    uint64_t pack, col, bytes;
    *need = (struct op_need){.kernel = "conv-transpose-f32"};
    if (!mul_ok(shape_elems(&args->in[0]->shape), j.o * j.taps, &need->macs))
        need->macs = UINT64_MAX;
    if (pith_conv_phases_fit(args, env))
        return pith_conv_phases_need(args, env, need);
    /* Each product is checked, because taps and channels come from the file: 63 bits would not
     * do. */
    const bool tiles = j.dense->mr != 0;
    bool fits =
        mul_ok(padded_rows(&j), j.c, &pack) && mul_ok(j.unit_o * j.taps, j.dense->nr, &col) &&
        add_ok(args->weight || !tiles ? 0 : pack, col + j.row_floats, &bytes) &&
        mul_ok(bytes, sizeof(float), &bytes) && align_ok(bytes, 64, &bytes) &&
        mul_ok(bytes, j.n_tasks, &bytes) && add_ok(bytes, columns_bytes(&j), &need->scratch_bytes);
    /* Without packed kernels weights are read as they lie, or, when coded, expanded once. */
    if (!fits || !args->weight || (!tiles && pith_weight_f32_borrow(args->weight)))
        return fits ? PITH_OK : PITH_ERR_LIMIT;
    need->prep_form = tiles ? form_of(&j) : prep_form(PREP_ELEMENTS, 0);
    fits = mul_ok(pack, j.groups * j.parts, &bytes) &&
           mul_ok(tiles ? bytes : args->weight->count, sizeof(float), &need->prep_bytes);
    if (!tiles)
        need->prep_scratch_bytes = pith_weight_scratch_bytes(args->weight);
    else if (fits)
        return pith_weight_f32_scratch(args->weight, &need->prep_scratch_bytes);
    return fits ? PITH_OK : PITH_ERR_LIMIT;
}

/* The rows of w^T of part `part` of a group's output channels. w [C, O, taps] read as rows o *
 * taps + tap of w^T, columns c: stride 1 and O * taps. */
static void pack_part(const struct up_job *j, const float *w, size_t own, size_t part, float *to)
{
    size_t o = part * j->unit_o, n_o = j->o - o < j->unit_o ? j->o - o : j->unit_o;
    uint32_t mr = j->dense->mr;
    pith_pack_rows_f32(&(struct pack_rows_job){w + (own * j->c * j->o + o) * j->taps, to, 1,
                                               j->o * j->taps, n_o * j->taps, j->c, mr, j->c * mr});
}

static enum pith_status prepare_conv_transpose(const struct op_args *args, const struct op_env *env)
{
    struct up_job j = job_of(args, env);
    if (!args->weight)
        return PITH_OK;
    if (pith_conv_phases_fit(args, env))
        return pith_conv_phases_prepare(args, env);
    if (j.dense->mr == 0)
        return args->prep ? pith_weight_cut_f32(env, args->weight, args->prep, env->scratch)
                          : PITH_OK;
    const float *w;
    enum pith_status st = pith_weight_f32(env, args->weight, &w);
    if (st)
        return st;
    size_t floats = padded_rows(&j) * j.c;
    for (size_t i = 0; i < j.groups * j.parts; i++)
        pack_part(&j, w, i / j.parts, i % j.parts, (float *)args->prep + i * floats);
    return PITH_OK;
}

/* Inputs [*begin, *end) of the axis that tap k puts inside the output. The two ceilings of
 * (offset / stride) and ((out + offset) / stride), without a negative numerator, where C's
 * division would round the wrong way. */
static void tap_range(const struct up_axis *a, int64_t k, int64_t *begin, int64_t *end)
{
    int64_t offset = a->pad - k * a->dilation; /* input i goes to i * stride - offset */
    *begin = offset <= 0 ? 0 : (offset + a->stride - 1) / a->stride;
    *end = a->out + offset <= 0 ? 0 : (a->out + offset - 1) / a->stride + 1;
    *end = *end > a->in ? a->in : *end;
}

/* Number of the output row that input row `row` goes to under the outer tap; false: none. `row`
 * and `tap` are numbers of mixed radix, last axis first; the axes are taken apart as they are
 * needed. */
static bool output_row(const struct up_job *j, int64_t row, int64_t tap, int64_t *y)
{
    int64_t step = 1;
    *y = 0;
    for (uint32_t i = MAX_AXES - 1; i-- > 0;) {
        const struct up_axis *a = &j->outer[i];
        int64_t at = row % a->in * a->stride + tap % a->kernel * a->dilation - a->pad;
        if (at < 0 || at >= a->out)
            return false;
        *y += at * step;
        step *= a->out;
        row /= a->in;
        tap /= a->kernel;
    }
    return true;
}

/* Of a tap along the columns. */
static struct column_tap column_tap(const struct up_axis *v, int64_t k)
{
    struct column_tap t;
    tap_range(v, k, &t.begin, &t.end);
    const int64_t at = k * v->dilation - v->pad, r = (at % v->stride + v->stride) % v->stride;
    const int64_t longer = v->out % v->stride;
    t.to = r * (v->out / v->stride) + (r < longer ? r : longer) + (at - r) / v->stride;
    return t;
}

/* Pixels [p, p + n) of one input row: from[0] is the first of them under the first tap, those under
 * the next lie `ld` further, and those of the next plane behind all taps. */
struct pixel_run {
    size_t p, n;
    const float *from;
    size_t ld;
};

/* Adds a run to n_o planes. w: a factor for each tap, or NULL. */
static void add_run(const struct up_job *j, float *planes, size_t n_o, struct pixel_run run,
                    const float *w)
{
    const size_t kernel = (size_t)j->v.kernel, ld = run.ld;
    const int64_t first = (int64_t)run.p % j->v.in, last = first + (int64_t)run.n;
    for (size_t tap = 0; tap < j->taps; tap += kernel) {
        int64_t y;
        if (!output_row(j, (int64_t)run.p / j->v.in, (int64_t)(tap / kernel), &y))
            continue;
        for (size_t k = 0; k < kernel; k++) {
            const struct column_tap t = j->columns[k];
            const int64_t begin = t.begin > first ? t.begin : first;
            const int64_t count = (t.end < last ? t.end : last) - begin;
            const float *restrict x = run.from + (tap + k) * ld + (begin - first);
            float *restrict to = planes + y * j->v.out + t.to + begin;
            const float scale = w ? w[tap + k] : 1.0f;
            for (size_t o = 0; o < n_o; o++, x += j->taps * ld, to += j->out_pixels)
                for (int64_t i = 0; i < count; i++)
                    to[i] += scale * x[i];
        }
    }
}

/* Rows of n planes, which lie phase by phase. */
static void interleave(const struct up_job *j, float *y, size_t n, float *row)
{
    const size_t s = (size_t)j->v.stride, out = (size_t)j->v.out, whole = out / s, longer = out % s;
    const struct turned t = {(ptrdiff_t)whole + 1, s, s, whole, sizeof *y, 1};
    for (float *end = y + n * j->out_pixels; s > 1 && y < end; y += out) {
        const float *from = y;
        for (size_t r = 0; r < s; from += whole + (r < longer), r++)
            memcpy(row + r * (whole + 1), from, (whole + (r < longer)) * sizeof *row);
        pith_turn(&t, row, y);
        for (size_t r = 0; r < longer; r++)
            y[whole * s + r] = row[r * (whole + 1) + whole];
    }
}

/* Output planes [o, o + n) of group g (over images), before the first sum. Bias first, then
 * sums: the planes are read and written by every tap, so an extra pass at the end would be
 * dearer. */
static void fill_bias(const struct up_job *j, size_t g, size_t o, size_t n)
{
    for (size_t k = o; k < o + n; k++) {
        float start = j->bias ? j->bias[g % j->groups * j->o + k] : 0.0f;
        float *plane = j->y + (g * j->o + k) * j->out_pixels;
        for (size_t i = 0; i < j->out_pixels; i++)
            plane[i] = start;
    }
}

/* The tile of col is added to y while it lies in the cache; the whole of col would be taps times
 * the output. */
static void run_unit(const struct up_job *j, size_t unit, float *scratch)
{
    size_t g = unit / j->parts, o = unit % j->parts * j->unit_o, own = g % j->groups;
    size_t n_o = j->o - o < j->unit_o ? j->o - o : j->unit_o;
    uint32_t mr = j->dense->mr, nr = j->dense->nr;
    float *planes = j->y + (g * j->o + o) * j->out_pixels;
    float *col = scratch + j->pack_floats;
    const float *w = j->packed
                         ? j->packed + (own * j->parts + unit % j->parts) * padded_rows(j) * j->c
                         : scratch;
    if (!j->packed)
        pack_part(j, j->w, own, unit % j->parts, scratch);
    fill_bias(j, g, o, n_o);
    for (size_t p = 0; p < j->pixels; p += nr) {
        struct gemm_f32_job gemm = {.a = w,
                                    .a_step = j->c * mr,
                                    .b = j->x + g * j->c * j->pixels + p,
                                    .ldb = j->pixels,
                                    .c = col,
                                    .ldc = nr,
                                    .m = (uint32_t)(n_o * j->taps),
                                    .n = j->pixels - p < nr ? (uint32_t)(j->pixels - p) : nr,
                                    .k = (uint32_t)j->c,
                                    .finish = true};
        j->dense->gemm_f32(&gemm);
        /* A tile may begin and end within a row of the input. */
        for (size_t i = 0, count; i < gemm.n; i += count) {
            const size_t left = gemm.n - i, width = (size_t)j->v.in - (p + i) % (size_t)j->v.in;
            count = width < left ? width : left;
            add_run(j, planes, n_o, (struct pixel_run){p + i, count, col + i, nr}, NULL);
        }
    }
    interleave(j, planes, n_o, col + j->unit_o * j->taps * nr);
}

/* One unit, channel by channel. Rows from the last one on: to each output its taps come in order.
 */
static void direct_unit(const struct up_job *j, size_t unit, float *scratch)
{
    size_t g = unit / j->parts, o = unit % j->parts * j->unit_o, own = g % j->groups;
    size_t n_o = j->o - o < j->unit_o ? j->o - o : j->unit_o;
    float *planes = j->y + (g * j->o + o) * j->out_pixels;
    fill_bias(j, g, o, n_o);
    const size_t width = (size_t)j->v.in;
    for (size_t r = 0; r < n_o * j->c; r++) {
        const size_t plane = r / j->c, c = r % j->c;
        const float *x = j->x + (g * j->c + c) * j->pixels;
        const float *w = j->w + ((own * j->c + c) * j->o + o + plane) * j->taps;
        for (size_t p = j->pixels; p > 0; p -= width)
            add_run(j, planes + plane * j->out_pixels, 1,
                    (struct pixel_run){p - width, width, x + p - width, 0}, w);
    }
    interleave(j, planes, n_o, scratch);
}

static void run_task(void *arg, uint32_t i)
{
    const struct up_job *j = arg;
    /* units <= 2^40, tasks <= 16 */
    size_t begin = (size_t)((uint64_t)j->units * i / j->n_tasks);
    size_t end = (size_t)((uint64_t)j->units * (i + 1u) / j->n_tasks);
    float *scratch = (float *)(void *)j->scratch + i * j->task_floats;
    for (size_t unit = begin; unit < end; unit++)
        (j->dense->mr ? run_unit : direct_unit)(j, unit, scratch);
}

static void run_conv_transpose(const struct op_args *args, const struct op_env *env)
{
    struct up_job j = job_of(args, env);
    if (pith_conv_phases_fit(args, env)) {
        pith_conv_phases_run(args, env);
        return;
    }
    j.x = args->in[0]->data;
    /* prepare() ran where the weight is constant; otherwise a unit packs its rows at each run. */
    j.packed = j.dense->mr && args->weight ? args->prep : NULL;
    j.w = !args->weight ? args->in[1]->data
          : args->prep  ? args->prep
                        : pith_weight_f32_borrow(args->weight);
    j.bias = args->n_in > 2 && args->in[2] ? args->in[2]->data : NULL;
    j.y = args->out[0]->data;
    j.columns = env->scratch;
    for (int64_t k = 0; k < j.v.kernel; k++)
        j.columns[k] = column_tap(&j.v, k);
    j.scratch = (uint8_t *)env->scratch + columns_bytes(&j);
    j.pack_floats = j.packed || j.dense->mr == 0 ? 0 : padded_rows(&j) * j.c;
    const size_t col = j.unit_o * j.taps * j.dense->nr;
    j.task_floats = (j.pack_floats + col + j.row_floats + 15) / 16 * 16;
    pith_op_parallel(env, j.n_tasks, run_task, &j);
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_CONV_T_GROUP, 1, 1, INT32_MAX},
    {ATTR_LIST, ATTR_CONV_T_STRIDES, 0, 1, MAX_STEP},
    {ATTR_LIST, ATTR_CONV_T_DILATIONS, 0, 1, MAX_STEP},
    {ATTR_LIST, ATTR_CONV_T_PADS, 0, 0, MAX_PAD},
    {ATTR_LIST, ATTR_CONV_T_EXTRA, 0, 0, MAX_PAD},
};

const struct op_info pith_op_conv_transpose = {
    .op = PITH_OP_CONV_TRANSPOSE,
    .n_in_min = 2,
    .n_in_max = 3,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = sizeof fields / sizeof *fields,
    .n_slots = ATTR_CONV_T_EXTRA + PITH_LIST_SLOTS,
    .flags = OP_WEIGHT,
    .fields = fields,
    .traits = {.flags = TRAIT_CHANNELS_FIRST,
               .weight_input = 1,
               .bias_input = 2,
               .row_axis = 1,
               .trans_slot = OP_NO_SLOT,
               .group_slot = ATTR_CONV_T_GROUP,
               .integer_op = 0,
               .parameters = 1u << 1 | 1u << 2},
    .shape = shape_conv_transpose,
    .need = need_conv_transpose,
    .prepare = prepare_conv_transpose,
    .run = run_conv_transpose,
};
