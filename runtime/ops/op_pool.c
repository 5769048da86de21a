/* SPDX-License-Identifier: MIT */
/* op_pool.c - MaxPool and AveragePool over one to four spatial axes.
 *
 * A window's taps are i * dilation for i < kernel, placed at o * stride - pad_begin. Taps outside
 * the input count for nothing; a window without any tap inside (only dilation can make one) gives
 * -inf as a maximum and 0 as an average or sum. With `ceil` an output more is computed for a window
 * that starts inside the input or its begin padding, as onnxruntime does. AveragePool divides by
 * the taps inside the input, or with `include_pad` by those inside the padded input. NaN inputs are
 * skipped by the maximum.
 *
 * A window is reduced first along its columns, then along its row, so an output costs kernel
 * height plus width instead of their product. Taps are the outer loops and the row the inner
 * one: each inner loop runs over the part of the row for which the tap is inside, without a test
 * per element. Over more than two axes, each row of outputs takes the input rows under its
 * window one after the other; maxima over three have the vector kernel, as over two.
 *
 * ONNX MaxPool-12 without its indices, AveragePool-19. Sums are in f32 here, of at most some
 * hundred taps; means of whole planes go to sum_f32.h, since there K is not bounded by a
 * kernel's size. Maxima are the same in any order; sums are columns first, then the row, on
 * every machine. */
#include "kernels/kernels.h"
#include "ops/op_list.h"
#include "ops/op_pool.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "kernels/ref/sum_f32.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* An estimate only: beyond it the number of tasks no longer changes. */
#define PLENTY 65536u /* taps enough for threads */
#define MAX_AXES 4u   /* the list of pads has two entries an axis */

/* One spatial axis. */
struct pool_axis {
    int64_t in, out, kernel, stride, dilation, pad_begin, pad_end;
    int64_t full, full_end; /* outputs whose taps are all inside: set_full */
};

/* Pads are below the window, so every output has a tap inside the padded input. */
static enum pith_status axis_out(struct pool_axis *a, bool ceil)
{
    int64_t window = (a->kernel - 1) * a->dilation + 1;
    int64_t slack = a->in + a->pad_begin + a->pad_end - window;
    /* Padding a whole window wide would make outputs of nothing. */
    if (slack < 0 || a->pad_begin >= window || a->pad_end >= window)
        return PITH_ERR_CORRUPT;
    a->out = slack / a->stride + 1;
    /* The last window may start in the padding behind the input neither in ONNX's text nor in
     * onnxruntime; there it would see nothing. */
    if (ceil && slack % a->stride != 0 && a->out * a->stride < a->in + a->pad_begin)
        a->out++;
    return PITH_OK;
}

/* The kernel must be given, the others may be left out. */
static bool lists_fit(const int32_t *attr, uint32_t n)
{
    uint32_t strides = attr_count(attr, ATTR_POOL_STRIDES);
    uint32_t dilations = attr_count(attr, ATTR_POOL_DILATIONS);
    uint32_t pads = attr_count(attr, ATTR_POOL_PADS);
    return attr_count(attr, ATTR_POOL_KERNEL) == n && (strides == 0 || strides == n) &&
           (dilations == 0 || dilations == n) && (pads == 0 || pads == 2 * n);
}

/* axes: the outer ones first, then height and width, at their end; those not there have a size
 * of 1. */
static enum pith_status pool_axes(const int32_t *attr, const struct shape *x,
                                  struct pool_axis axes[MAX_AXES])
{
    if (x->rank < 3)
        return PITH_ERR_CORRUPT;
    uint32_t n = x->rank - 2;
    if (n > MAX_AXES)
        return PITH_ERR_UNSUPPORTED;
    if (!lists_fit(attr, n))
        return PITH_ERR_CORRUPT;
    /* One form for all ranks: axes that are not there are passed at no cost by loops of one
     * turn. */
    for (uint32_t i = 0; i < MAX_AXES - n; i++)
        axes[i] = (struct pool_axis){.in = 1, .out = 1, .kernel = 1, .stride = 1, .dilation = 1};
    for (uint32_t i = 0; i < n; i++) {
        struct pool_axis *a = &axes[MAX_AXES - n + i];
        a->in = x->dim[2 + i];
        a->kernel = attr_item(attr, ATTR_POOL_KERNEL, i, 1);
        a->stride = attr_item(attr, ATTR_POOL_STRIDES, i, 1);
        a->dilation = attr_item(attr, ATTR_POOL_DILATIONS, i, 1);
        a->pad_begin = attr_item(attr, ATTR_POOL_PADS, i, 0);
        a->pad_end = attr_item(attr, ATTR_POOL_PADS, n + i, 0);
        enum pith_status st = axis_out(a, attr[ATTR_POOL_CEIL] != 0);
        if (st)
            return st;
    }
    return PITH_OK;
}

enum pith_status pith_pool_shape(const struct op_args *args)
{
    enum pith_status st = pith_in_f32(args, 1);
    if (st)
        return st;
    struct pool_axis axes[MAX_AXES];
    struct shape s = args->in[0]->shape;
    st = pool_axes(args->attr, &s, axes);
    if (st)
        return st;
    for (uint32_t i = 2; i < s.rank; i++)
        s.dim[i] = (uint32_t)axes[i + MAX_AXES - s.rank].out;
    return pith_out_set(args->out[0], PITH_F32, &s);
}

/* Outputs [*begin, *end) of the axis whose tap number `tap` lies inside the input. From x's
 * side: o * stride + offset in [0, in). Ceilings of numerators that are not negative, as C
 * divides. */
static void tap_range(const struct pool_axis *a, int64_t tap, int64_t *begin, int64_t *end)
{
    int64_t offset = tap * a->dilation - a->pad_begin;
    *begin = offset >= 0 ? 0 : (-offset + a->stride - 1) / a->stride;
    *end = offset >= a->in ? 0 : (a->in - 1 - offset) / a->stride + 1;
    *end = *end > a->out ? a->out : *end;
}

/* Taps [*begin, *end) of output o that lie in [-before, in + after). From an output's side.
 * before and after are 0, or the padding where it counts as taps. */
static void window_taps(const struct pool_axis *a, int64_t o, int64_t before, int64_t after,
                        int64_t *begin, int64_t *end)
{
    int64_t start = o * a->stride - a->pad_begin;
    int64_t low = -before - start, high = a->in + after - start;
    *begin = low <= 0 ? 0 : (low + a->dilation - 1) / a->dilation;
    *end = high <= 0 ? 0 : (high + a->dilation - 1) / a->dilation;
    *end = *end > a->kernel ? a->kernel : *end;
}

/* Takes n taps, `stride` apart, into n outputs. One tap applied to a run of outputs. x and y
 * never overlap, which `restrict` declares. */
typedef void tap_fn(const float *restrict x, int64_t stride, float *restrict y, int64_t n);

struct pool_job {
    const float *x; /* [planes, in h, in w] */
    float *y;       /* [planes, out h, out w] */
    struct pool_axis h, w;
    struct pool_axis outer[MAX_AXES - 1]; /* of pools over more axes: all but w */
    tap_fn *tap;
    float start; /* what an output is before its first tap */
    bool mean;
    bool include_pad;
};

/* Strides of 1 and 2 are written out: as constants they let the compiler use vectors. */
static void max_tap(const float *restrict x, int64_t stride, float *restrict y, int64_t n)
{
    if (stride == 1)
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i] > y[i] ? x[i] : y[i];
    else if (stride == 2)
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i * 2] > y[i] ? x[i * 2] : y[i];
    else
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i * stride] > y[i] ? x[i * stride] : y[i];
}

/* As max_tap; written again because the loop's body is all there is. */
static void sum_tap(const float *restrict x, int64_t stride, float *restrict y, int64_t n)
{
    if (stride == 1)
        for (int64_t i = 0; i < n; i++)
            y[i] += x[i];
    else if (stride == 2)
        for (int64_t i = 0; i < n; i++)
            y[i] += x[i * 2];
    else
        for (int64_t i = 0; i < n; i++)
            y[i] += x[i * stride];
}

static void fill(float *y, int64_t n, float value)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = value;
}

/* All taps of one input row x [axis in] into the outputs y [axis out]. Begins at the first
 * output for which the tap is inside; the pointer may lie before x only while nothing of it is
 * read. */
static void row_taps(const struct pool_axis *axis, const float *x, tap_fn *tap, float *y)
{
    for (int64_t k = 0; k < axis->kernel; k++) {
        int64_t begin, end;
        tap_range(axis, k, &begin, &end);
        if (begin < end)
            tap(x + begin * axis->stride - axis->pad_begin + k * axis->dilation, axis->stride,
                y + begin, end - begin);
    }
}

/* Input columns reduced at once, on the stack: windows that a kernel takes have its order of sums.
 */
#define SPAN ((int64_t)POOL_COLUMNS)

/* Outputs [first, first + n) of row oh: reduces the window's rows column by column, then the
 * columns. Any n for which the windows span at most SPAN columns. */
static void pool_block(const struct pool_job *j, const float *x, int64_t oh, int64_t first,
                       int64_t n, float *y)
{
    const struct pool_axis *w = &j->w;
    float column[SPAN];
    int64_t start = first * w->stride - w->pad_begin;
    /* Columns outside of the input are left out before anything is read; the padding of the part
     * is what was cut. */
    int64_t end = start + (n - 1) * w->stride + (w->kernel - 1) * w->dilation + 1;
    int64_t from = start < 0 ? 0 : start, width = (end > w->in ? w->in : end) - from;
    fill(column, width, j->start);
    int64_t kh, kh_end;
    window_taps(&j->h, oh, 0, 0, &kh, &kh_end);
    for (; kh < kh_end; kh++) {
        int64_t ih = oh * j->h.stride - j->h.pad_begin + kh * j->h.dilation;
        j->tap(x + ih * w->in + from, 1, column, width);
    }
    /* The second pass sees the columns as an input of its own, with the padding that is left. */
    struct pool_axis part = *w;
    part.in = width;
    part.out = n;
    part.pad_begin = from - start;
    fill(y, n, j->start);
    row_taps(&part, column, j->tap, y);
}

/* y: [out w], row oh of the outputs; x: the input plane. A window wider than the buffer (a large
 * dilation) is reduced tap by tap instead. */
static void pool_row(const struct pool_job *j, const float *x, int64_t oh, float *y)
{
    const struct pool_axis *w = &j->w;
    int64_t window = (w->kernel - 1) * w->dilation + 1;
    /* As many outputs as keep windows within SPAN columns. */
    if (window <= SPAN) {
        int64_t block = (SPAN - window) / w->stride + 1;
        for (int64_t o = 0; o < w->out; o += block)
            pool_block(j, x, oh, o, w->out - o < block ? w->out - o : block, y + o);
        return;
    }
    fill(y, w->out, j->start);
    int64_t kh, kh_end;
    window_taps(&j->h, oh, 0, 0, &kh, &kh_end);
    for (; kh < kh_end; kh++)
        row_taps(w, x + (oh * j->h.stride - j->h.pad_begin + kh * j->h.dilation) * w->in, j->tap,
                 y);
}

/* Between the first window whose first tap is inside and the last whose last tap is. */
static void set_full(struct pool_axis *a)
{
    int64_t unused;
    tap_range(a, 0, &a->full, &unused);
    tap_range(a, a->kernel - 1, &unused, &a->full_end);
}

/* With include_pad windows reach into the padding, but never behind it. */
static int64_t tap_count(const struct pool_axis *a, int64_t o, bool include_pad)
{
    int64_t begin, end;
    if (o >= a->full && o < a->full_end)
        return a->kernel;
    window_taps(a, o, include_pad ? a->pad_begin : 0, include_pad ? a->pad_end : 0, &begin, &end);
    return end > begin ? end - begin : 0;
}

/* Sums become means: output rows [begin, end) at y, counted over all planes. One that has no tap is
 * 0 and stays it. Products of taps are exact: windows are below 2^24 taps, or a sum is no use. */
static void divide_rows(const struct pool_job *j, size_t begin, size_t end, float *y)
{
    const size_t width = (size_t)j->w.out;
    float taps[SPAN];
    for (size_t first = 0; first < width; first += SPAN) {
        const size_t n = width - first < SPAN ? width - first : SPAN;
        for (size_t o = 0; o < n; o++) {
            const int64_t count = tap_count(&j->w, (int64_t)(first + o), j->include_pad);
            taps[o] = count > 0 ? (float)count : 1.0f;
        }
        for (size_t row = begin; row < end; row++) {
            const int64_t count =
                tap_count(&j->h, (int64_t)(row % (size_t)j->h.out), j->include_pad);
            const float rows = count > 0 ? (float)count : 1.0f;
            float *to = y + (row - begin) * width + first;
            for (size_t o = 0; o < n; o++)
                to[o] /= rows * taps[o];
        }
    }
}

/* Items are output rows. Rows, not planes: one image of few channels still feeds all threads. */
static void pool_range(void *arg, size_t begin, size_t end)
{
    const struct pool_job *j = arg;
    for (size_t row = begin; row < end; row++) {
        size_t plane = row / (size_t)j->h.out;
        int64_t oh = (int64_t)(row % (size_t)j->h.out);
        float *y = j->y + row * (size_t)j->w.out;
        pool_row(j, j->x + plane * (size_t)(j->h.in * j->w.in), oh, y);
    }
    if (j->mean)
        divide_rows(j, begin, end, j->y + begin * (size_t)j->w.out);
}

/* Rows of outputs whose outer axes are several. A mixed-radix counter over the taps of all outer
 * axes. */
struct outer_row {
    int64_t tap[MAX_AXES - 1], begin[MAX_AXES - 1], end[MAX_AXES - 1], start[MAX_AXES - 1];
    int64_t taps; /* that divide a sum */
};

/* Windows of the output row over the outer axes; false: no tap is inside. */
static bool open_row(const struct pool_job *j, size_t row, struct outer_row *r)
{
    bool any = true;
    r->taps = 1;
    for (uint32_t i = MAX_AXES - 1; i-- > 0;) {
        const struct pool_axis *a = &j->outer[i];
        int64_t o = (int64_t)(row % (size_t)a->out);
        row /= (size_t)a->out;
        window_taps(a, o, 0, 0, &r->begin[i], &r->end[i]);
        r->start[i] = o * a->stride - a->pad_begin;
        r->tap[i] = r->begin[i];
        r->taps *= tap_count(a, o, j->include_pad);
        any = any && r->begin[i] < r->end[i];
    }
    return any;
}

/* Number of the input row under the taps, and the next taps; false after the last. The row's
 * number is formed outermost axis first; the counter runs innermost first. */
static bool next_row(const struct pool_job *j, struct outer_row *r, size_t *in_row)
{
    size_t at = 0;
    for (uint32_t i = 0; i < MAX_AXES - 1; i++) {
        const struct pool_axis *a = &j->outer[i];
        at = at * (size_t)a->in + (size_t)(r->start[i] + r->tap[i] * a->dilation);
    }
    *in_row = at;
    for (uint32_t i = MAX_AXES - 1; i-- > 0;) {
        if (++r->tap[i] < r->end[i])
            return true;
        r->tap[i] = r->begin[i];
    }
    return false;
}

/* Items are output rows. No second pass here: windows over three axes are rare, and rows of taps
 * are long. */
static void pool_outer_range(void *arg, size_t begin, size_t end)
{
    const struct pool_job *j = arg;
    size_t in_rows = 1, out_rows = 1;
    for (uint32_t i = 0; i < MAX_AXES - 1; i++) {
        in_rows *= (size_t)j->outer[i].in;
        out_rows *= (size_t)j->outer[i].out;
    }
    for (size_t row = begin; row < end; row++) {
        const float *x = j->x + row / out_rows * in_rows * (size_t)j->w.in;
        float *y = j->y + row * (size_t)j->w.out;
        struct outer_row r;
        fill(y, j->w.out, j->start);
        for (bool more = open_row(j, row % out_rows, &r); more;) {
            size_t in_row;
            more = next_row(j, &r, &in_row);
            row_taps(&j->w, x + in_row * (size_t)j->w.in, j->tap, y);
        }
        if (!j->mean)
            continue;
        for (int64_t o = 0; o < j->w.out; o++) {
            int64_t taps = r.taps * tap_count(&j->w, o, j->include_pad);
            y[o] = taps > 0 ? y[o] / (float)taps : 0.0f;
        }
    }
}

/* The one window is the plane, without padding: a global mean, as networks often end. Then one
 * sum of the plane is both faster and, in double, more exact. */
static bool is_plane_mean(const struct pool_axis axes[2])
{
    for (int i = 0; i < 2; i++)
        if (axes[i].kernel != axes[i].in || axes[i].dilation != 1 || axes[i].pad_begin != 0 ||
            axes[i].pad_end != 0)
            return false;
    return true;
}

/* Items are planes. */
static void plane_mean_range(void *arg, size_t begin, size_t end)
{
    const struct pool_job *j = arg;
    size_t elems = (size_t)(j->h.in * j->w.in);
    for (size_t i = begin; i < end; i++)
        j->y[i] = pith_sum_f32(j->x + i * elems, elems) / (float)elems;
}

/* Items are planes of the output: the vector kernel of the table, where it takes this window. Of
 * three axes the first is the depth of its planes. */
struct kernel_run {
    const struct pool_job *pool;
    pool_f32_fn *kernel;
    struct conv_geom g;
};

static void kernel_range(void *arg, size_t begin, size_t end)
{
    const struct kernel_run *r = arg;
    const struct pool_job *j = r->pool;
    const struct pool_axis *d = &j->outer[1];
    const size_t in = (size_t)r->g.h * r->g.w, rows = r->g.oh, out = rows * r->g.ow;
    float *y = j->y + begin * out;
    for (size_t plane = begin, n; plane < end; plane += n) {
        const int64_t o = (int64_t)(plane % (size_t)d->out);
        int64_t tap, tap_end;
        window_taps(d, o, 0, 0, &tap, &tap_end);
        n = 1;
        if (d->in == d->out && d->kernel == 1 && d->stride == 1)
            n = end - plane; /* across channels */
        else if (o >= d->full && o < d->full_end)
            n = (size_t)(d->full_end - o) < end - plane ? (size_t)(d->full_end - o) : end - plane;
        const size_t first = plane / (size_t)d->out * (size_t)d->in +
                             (size_t)(o * d->stride - d->pad_begin + tap * d->dilation);
        const struct pool_f32_job job = {.g = &r->g,
                                         .x = j->x + first * in,
                                         .y = j->y + plane * out,
                                         .planes = n,
                                         .plane_step = (size_t)d->stride * in,
                                         .depth_step = (size_t)d->dilation * in,
                                         .depth = (uint32_t)(tap_end - tap),
                                         .sum = j->tap == sum_tap};
        if (tap < tap_end)
            r->kernel(&job);
        else
            fill(j->y + plane * out, (int64_t)out, j->start);
    }
    if (j->mean)
        divide_rows(j, begin * rows, end * rows, y);
}

/* Positions of the kernel have 32 bits. */
static bool kernel_takes(const struct pool_axis *h, const struct pool_axis *w)
{
    const int64_t limit = 1 << 27;
    return h->in < limit && w->in < limit && w->stride < limit &&
           (w->kernel - 1) * w->dilation < SPAN;
}

/* false: there is no kernel for it. */
static bool run_kernel(const struct pool_job *j, size_t planes, const struct op_env *env)
{
    /* Pads are below a window, so they fit. */
    const struct pool_axis *h = &j->h, *w = &j->w;
    struct kernel_run run = {.pool = j,
                             .kernel = env->kernels ? env->kernels->dense.pool_f32 : NULL};
    if (!run.kernel || !kernel_takes(h, w))
        return false;
    run.g = (struct conv_geom){.c = 1,
                               .o = 1,
                               .h = (uint32_t)h->in,
                               .w = (uint32_t)w->in,
                               .oh = (uint32_t)h->out,
                               .ow = (uint32_t)w->out,
                               .kh = (uint32_t)h->kernel,
                               .kw = (uint32_t)w->kernel,
                               .stride_h = (uint32_t)h->stride,
                               .stride_w = (uint32_t)w->stride,
                               .dil_h = (uint32_t)h->dilation,
                               .dil_w = (uint32_t)w->dilation,
                               .pad_top = (uint32_t)h->pad_begin,
                               .pad_left = (uint32_t)w->pad_begin};
    const size_t taps = (size_t)(h->kernel * w->kernel), out = (size_t)(h->out * w->out);
    pith_op_range(env, planes * (size_t)j->outer[1].out, out * taps, kernel_range, &run);
    return true;
}

void pith_pool_run(const struct op_args *args, const struct op_env *env, const float *x,
                   enum pool_kind kind)
{
    const struct shape *s = &args->in[0]->shape;
    struct pool_axis all[MAX_AXES];
    pool_axes(args->attr, s, all); /* cannot fail: the shape rule passed */
    const struct pool_axis *axes = all + MAX_AXES - 2;
    bool is_max = kind == POOL_MAX, flat = s->rank <= 4;
    struct pool_job job = {
        .x = x,
        .y = args->out[0]->data,
        .h = axes[0],
        .w = axes[1],
        .outer = {all[0], all[1], all[2]},
        .tap = is_max ? max_tap : sum_tap,
        .start = is_max ? f32_from_bits(0xff800000u) : 0.0f,
        .mean = kind == POOL_MEAN,
        .include_pad = args->attr[ATTR_POOL_INCLUDE_PAD] != 0,
    };
    set_full(&job.h);
    set_full(&job.w);
    for (uint32_t i = 0; i < MAX_AXES - 1; i++)
        set_full(&job.outer[i]);
    size_t planes = (size_t)s->dim[0] * s->dim[1], taps = (size_t)axes[1].kernel;
    if (job.mean && flat && is_plane_mean(axes)) {
        pith_op_range(env, planes, (size_t)(axes[0].in * axes[1].in), plane_mean_range, &job);
        return;
    }
    /* Sums of three axes are in another order: rows first. */
    if ((flat || (s->rank == 5 && is_max)) && run_kernel(&job, planes, env))
        return;
    if (!flat) {
        size_t rows = shape_product(&args->out[0]->shape, 0, s->rank - 1);
        /* Only the size of tasks depends on it. */
        for (uint32_t i = 0; i < MAX_AXES - 1; i++) /* more than this is as good as this */
            taps = taps < PLENTY ? taps * (size_t)all[i].kernel : taps;
        pith_op_range(env, rows, (size_t)axes[1].out * (taps < PLENTY ? taps : PLENTY),
                      pool_outer_range, &job);
        return;
    }
    taps += (size_t)axes[0].kernel; /* both below 2^16 */
    pith_op_range(env, planes * (size_t)axes[0].out, (size_t)axes[1].in * taps, pool_range, &job);
}

static void run_pool(const struct op_args *args, const struct op_env *env)
{
    pith_pool_run(args, env, args->in[0]->data,
                  args->info->op == PITH_OP_MAX_POOL ? POOL_MAX : POOL_MEAN);
}

static const struct attr_field fields[] = {
    {ATTR_LIST, ATTR_POOL_KERNEL, 0, 1, POOL_MAX_WINDOW},
    {ATTR_LIST, ATTR_POOL_STRIDES, 0, 1, POOL_MAX_WINDOW},
    {ATTR_LIST, ATTR_POOL_DILATIONS, 0, 1, POOL_MAX_WINDOW},
    {ATTR_LIST, ATTR_POOL_PADS, 0, 0, POOL_MAX_WINDOW},
    {ATTR_INT, ATTR_POOL_CEIL, 0, 0, 1},
    {ATTR_INT, ATTR_POOL_INCLUDE_PAD, 0, 0, 1},
};

#define POOL(name, number, has)                                                                    \
    const struct op_info pith_op_##name = {                                                        \
        .op = number,                                                                              \
        .n_in_min = 1,                                                                             \
        .n_in_max = 1,                                                                             \
        .n_out_min = 1,                                                                            \
        .n_out_max = 1,                                                                            \
        .n_fields = 6,                                                                             \
        .n_slots = ATTR_POOL_INCLUDE_PAD + 1,                                                      \
        .fields = fields,                                                                          \
        .traits = {.flags = TRAIT_CHANNELS_FIRST | has},                                           \
        .shape = pith_pool_shape,                                                                  \
        .run = run_pool,                                                                           \
    };

POOL(max_pool, PITH_OP_MAX_POOL, TRAIT_SELECTS | TRAIT_AVERAGES | TRAIT_HOMOGENEOUS)
POOL(average_pool, PITH_OP_AVERAGE_POOL, TRAIT_AVERAGES | TRAIT_HOMOGENEOUS)
