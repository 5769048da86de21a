/* SPDX-License-Identifier: MIT */
/* conv_phases.c - see conv_phases.h.
 *
 *     y[q s + r] = sum over j of x[q + base - j d'] w[first + j step]
 *
 * along each axis, for phase r of stride s: taps from `first` on, `step` apart, have
 * (k d - pad - r) divisible by s; d' is the dilation of the convolution, whose taps are these in
 * reverse. Where its padding would be negative, more outputs are computed and left out.
 *
 *     prep = of each phase the packed weight, or the weight itself for kernels that read that
 *     scratch = one image's outputs of all phases along the last axis, then the kernel's own
 *
 * Convolutions write planes of a phase, which are then put in their places, row by row. */
#include "products/conv_phases.h"
#include "kernels/kernels.h"
#include "products/conv_run.h"
#include "core/bytes.h"
#include "decode/weight_f32.h"
#include "kernels/crc32c.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_range.h"

#define MAX_PHASES 16u
/* Of a group; fewer leave most rows of a tile of gemm_f32 empty. With many inputs a product of all
 * taps takes less time up to FEW_OUTPUTS: what overlaps then is little beside it. One tap has
 * nothing that overlaps. */
#define LEAST_OUTPUTS 4u
#define FEW_OUTPUTS 24u
#define MANY_INPUTS(outputs) (8 * (outputs))

/* One phase along one axis. taps 0: nothing of the input reaches it. */
struct axis_phase {
    uint32_t first, step, taps, dilation, pad, crop, out;
};

static int64_t item(const struct op_args *args, uint32_t slot, uint32_t i, int32_t otherwise)
{
    return attr_item(args->attr, slot, i, otherwise);
}

static uint32_t stride_of(const struct op_args *args, uint32_t axis)
{
    return (uint32_t)item(args, ATTR_CONV_T_STRIDES, axis, 1);
}

static struct axis_phase axis_phase(const struct op_args *args, uint32_t axis, uint32_t r)
{
    const int64_t s = stride_of(args, axis), d = item(args, ATTR_CONV_T_DILATIONS, axis, 1);
    const int64_t pad = item(args, ATTR_CONV_T_PADS, axis, 0),
                  all = args->out[0]->shape.dim[2 + axis];
    const int64_t kernel = args->in[1]->shape.dim[2 + axis];
    int64_t first = 0, step = 1;
    while (step * d % s != 0)
        step++;
    while (first < step && (first * d - pad - (int64_t)r) % s != 0)
        first++;
    struct axis_phase p = {.first = (uint32_t)first, .step = (uint32_t)step};
    p.out = r < all ? (uint32_t)((all - r + s - 1) / s) : 0;
    if (first == step || first >= kernel)
        return p;
    p.taps = (uint32_t)((kernel - 1 - first) / step + 1);
    p.dilation = (uint32_t)(step * d / s);
    const int64_t before = (int64_t)(p.taps - 1) * p.dilation - (r + pad - first * d) / s;
    p.pad = before > 0 ? (uint32_t)before : 0;
    p.crop = before < 0 ? (uint32_t)-before : 0;
    return p;
}

/* Without last ones along which nothing is: planes may be one column wide. */
static uint32_t axes_of(const struct op_args *args)
{
    const struct shape *x = &args->in[0]->shape, *w = &args->in[1]->shape;
    const struct shape *y = &args->out[0]->shape;
    uint32_t axes = x->rank - 2, last = axes + 1;
    for (; axes > 1 && x->dim[last] == 1 && w->dim[last] == 1 && y->dim[last] == 1; last--)
        axes--;
    return axes;
}

static uint32_t phases_of(const struct op_args *args)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < axes_of(args) && n <= MAX_PHASES; i++)
        n *= stride_of(args, i);
    return n <= MAX_PHASES ? (uint32_t)n : 0;
}

/* One phase as a convolution of one image. */
struct phase {
    struct axis_phase axis[CONV_MAX_AXES];
    bool empty;
    struct op_args args;
    int32_t attr[ATTR_CONV_PADS + PITH_LIST_SLOTS];
    struct tview x, w, y;
    const struct tview *in[3];
    struct tview *out[1];
    struct weight weight;
    uint64_t lowered[(OP_LOWERED_MAX + 7) / 8];
    struct op_need need;
    uint64_t w_floats, y_floats;
};

static const uint32_t aligned_here[16];

/* Phase number `index` of the output, the last axis' the fastest, and what its convolution needs.
 */
static enum pith_status set_phase(const struct op_args *args, const struct op_env *env,
                                  uint32_t index, struct phase *p)
{
    const uint32_t axes = axes_of(args), group = (uint32_t)args->attr[ATTR_CONV_T_GROUP];
    const struct shape *w = &args->in[1]->shape;
    *p = (struct phase){.x = *args->in[0]};
    p->x.shape.dim[0] = 1;
    p->x.shape.rank = 2 + axes;
    p->w =
        (struct tview){.type = PITH_F32,
                       .shape = {.rank = 2 + axes, .dim = {w->dim[1] * group, w->dim[0] / group}}};
    p->y = (struct tview){.type = PITH_F32,
                          .shape = {.rank = 2 + axes, .dim = {1, w->dim[1] * group}}};
    p->attr[ATTR_CONV_GROUP] = (int32_t)group;
    p->attr[ATTR_CONV_DILATIONS] = (int32_t)axes;
    p->attr[ATTR_CONV_PADS] = (int32_t)(2 * axes);
    for (uint32_t i = axes; i-- > 0; index /= stride_of(args, i)) {
        const struct axis_phase a = axis_phase(args, i, index % stride_of(args, i));
        p->axis[i] = a;
        p->empty = p->empty || a.taps == 0 || a.out == 0;
        p->w.shape.dim[2 + i] = a.taps;
        p->y.shape.dim[2 + i] = a.out + a.crop;
        p->attr[ATTR_CONV_DILATIONS + 1 + i] = (int32_t)a.dilation;
        p->attr[ATTR_CONV_PADS + 1 + i] = (int32_t)a.pad;
    }
    if (p->empty)
        return PITH_OK;
    p->w_floats = shape_elems(&p->w.shape);
    p->y_floats = shape_elems(&p->y.shape);
    p->weight = (struct weight){
        .type = PITH_F32,
        .shape = p->w.shape,
        .count = p->w_floats,
        .nnz = p->w_floats,
        .index_stream = {(const uint8_t *)aligned_here, (size_t)p->w_floats * sizeof(float)}};
    p->in[0] = &p->x, p->in[1] = &p->w, p->in[2] = args->n_in > 2 ? args->in[2] : NULL;
    p->out[0] = &p->y;
    p->args = (struct op_args){.info = args->info,
                               .attr = p->attr,
                               .n_in = 3,
                               .n_out = 1,
                               .in = p->in,
                               .out = p->out,
                               .weight = &p->weight,
                               .lowered = p->lowered};
    return pith_conv_need(&p->args, env, &p->need);
}

bool pith_conv_phases_fit(const struct op_args *args, const struct op_env *env)
{
    const struct shape *w = &args->in[1]->shape;
    const uint32_t inputs = w->dim[0] / (uint32_t)args->attr[ATTR_CONV_T_GROUP];
    return args->weight && env->kernels->dense.mr != 0 && phases_of(args) > 0 &&
           (inputs == 1 || shape_product(w, 2, w->rank) == 1 || w->dim[1] >= FEW_OUTPUTS ||
            (w->dim[1] >= LEAST_OUTPUTS && inputs < MANY_INPUTS(w->dim[1])));
}

/* The one phase of strides of 1 is the output itself. */
static bool is_whole(const struct op_args *args, const struct phase *p)
{
    bool whole = phases_of(args) == 1 && !p->empty;
    for (uint32_t i = 0; i < axes_of(args); i++)
        whole = whole && p->axis[i].crop == 0;
    return whole;
}

/* Bytes of its planes in scratch. */
static uint64_t plane_bytes(const struct op_args *args, const struct phase *p)
{
    return is_whole(args, p) ? 0 : (p->y_floats * sizeof(float) + 63) & ~(uint64_t)63;
}

/* Bytes of the phase in prep; its weight is read where it lies, or packed. */
static uint64_t kept_bytes(const struct phase *p)
{
    const uint64_t bytes = p->need.prep_bytes ? p->need.prep_bytes : p->w_floats * sizeof(float);
    return (bytes + 63) & ~(uint64_t)63;
}

static uint64_t bytes_of(uint64_t floats)
{
    return (floats * sizeof(float) + 63) & ~(uint64_t)63;
}

/* Which taps the phase takes and the form they get, added to a checksum. */
static uint32_t add_form(const struct op_args *args, const struct phase *p, uint32_t sum)
{
    for (uint32_t i = 0; i < axes_of(args); i++) {
        const uint32_t taps[] = {p->axis[i].first, p->axis[i].taps, p->axis[i].step};
        sum = pith_crc32c(sum, taps, sizeof taps);
    }
    return pith_crc32c(sum, &p->need.prep_form, sizeof p->need.prep_form);
}

/* A phase's weight and outputs are parts of the operator's, so their bytes can be counted. */
enum pith_status pith_conv_phases_need(const struct op_args *args, const struct op_env *env,
                                       struct op_need *need)
{
    const uint32_t across = stride_of(args, axes_of(args) - 1);
    uint64_t own = 0, planes = 0, weight = 0, prepare = 0;
    uint32_t form = 0;
    bool shared = true;
    for (uint32_t i = 0; i < phases_of(args); i++) {
        struct phase p;
        const enum pith_status st = set_phase(args, env, i, &p);
        if (st)
            return st;
        if (p.empty)
            continue;
        need->prep_bytes += kept_bytes(&p);
        form = add_form(args, &p, form);
        shared = shared && (p.need.prep_form != PREP_OWN || p.need.prep_bytes == 0);
        own = p.need.scratch_bytes > own ? p.need.scratch_bytes : own;
        planes = plane_bytes(args, &p) > planes ? plane_bytes(args, &p) : planes;
        weight = bytes_of(p.w_floats) > weight ? bytes_of(p.w_floats) : weight;
        prepare = p.need.prep_scratch_bytes > prepare ? p.need.prep_scratch_bytes : prepare;
    }
    need->prep_form = shared ? prep_form(PREP_CONV_PHASES, form) : PREP_OWN;
    if (!mul_ok(planes, across, &need->scratch_bytes) ||
        !add_ok(need->scratch_bytes, own, &need->scratch_bytes))
        return PITH_ERR_LIMIT;
    const enum pith_status st = pith_weight_f32_scratch(args->weight, &need->prep_scratch_bytes);
    need->prep_scratch_bytes += weight + prepare;
    return st;
}

/* to: [G O, C, taps]; w: [G C, O, kernel] */
static void take_taps(const struct op_args *args, const struct phase *p, const float *w, float *to)
{
    const struct shape *from = &args->in[1]->shape;
    const size_t kernel = shape_product(from, 2, from->rank), o_all = from->dim[1];
    const size_t taps = shape_product(&p->w.shape, 2, p->w.shape.rank), c_all = p->w.shape.dim[1];
    for (size_t tap = 0; tap < taps; tap++) {
        size_t rest = tap, at = 0, step = 1;
        for (uint32_t i = axes_of(args); i-- > 0; step *= from->dim[2 + i]) {
            const struct axis_phase *a = &p->axis[i];
            at += (a->first + (a->taps - 1 - rest % a->taps) * a->step) * step;
            rest /= a->taps;
        }
        for (size_t row = 0; row < p->w.shape.dim[0]; row++)
            for (size_t c = 0; c < c_all; c++)
                to[(row * c_all + c) * taps + tap] =
                    w[((row / o_all * c_all + c) * o_all + row % o_all) * kernel + at];
    }
}

enum pith_status pith_conv_phases_prepare(const struct op_args *args, const struct op_env *env)
{
    const float *w;
    uint64_t used, at = 0;
    enum pith_status st = pith_weight_f32(env, args->weight, &w);
    if (!st)
        st = pith_weight_f32_scratch(args->weight, &used);
    for (uint32_t i = 0; i < phases_of(args) && !st; i++) {
        struct phase p;
        struct op_env inner = *env;
        st = set_phase(args, env, i, &p);
        if (st || p.empty)
            continue;
        uint8_t *prep = (uint8_t *)args->prep + at, *scratch = (uint8_t *)env->scratch + used;
        const bool packed = p.need.prep_bytes > 0;
        float *taps = packed ? (float *)(void *)scratch : (float *)(void *)prep;
        take_taps(args, &p, w, taps);
        p.weight.index_stream.bytes = (const uint8_t *)taps;
        p.args.prep = packed ? prep : NULL;
        inner.scratch = scratch + bytes_of(p.w_floats);
        st = packed ? pith_conv_prepare(&p.args, &inner) : PITH_OK;
        at += kept_bytes(&p);
    }
    return st;
}

/* Rows of the output of one image whose phases along all axes but the last are fixed. */
struct rows_job {
    const struct op_args *args;
    const struct phase *phase; /* [across] */
    const float *planes;       /* [across][plane_floats] */
    const float *bias;
    float *y;
    size_t plane_floats;
    uint32_t across, outer; /* of the last axis; number of the others' phase */
    size_t rows;            /* of a channel */
};

/* Elements of every step-th place. */
static void spread(const float *from, size_t n, size_t step, float *to)
{
    for (size_t i = 0; i < n; i++)
        to[i * step] = from[i];
}

static void zip(const float *a, const float *b, size_t n, float *to)
{
    for (size_t i = 0; i < n; i++) {
        to[2 * i] = a[i];
        to[2 * i + 1] = b[i];
    }
}

static void fill(float value, size_t n, size_t step, float *to)
{
    for (size_t i = 0; i < n; i++)
        to[i * step] = value;
}

/* Row `row` of channel o of the phases, put into row y. */
static void place_row(const struct rows_job *j, size_t o, const size_t *row, float *y)
{
    const uint32_t last = axes_of(j->args) - 1;
    const float *from[MAX_PHASES];
    for (uint32_t r = 0; r < j->across; r++) {
        const struct phase *p = &j->phase[r];
        size_t at = o;
        for (uint32_t i = 0; i < last; i++)
            at = at * p->y.shape.dim[2 + i] + row[i] + p->axis[i].crop;
        from[r] =
            j->planes + r * j->plane_floats + at * p->y.shape.dim[2 + last] + p->axis[last].crop;
    }
    const uint32_t n = j->phase[0].axis[last].out;
    if (j->across == 2 && !j->phase[0].empty && !j->phase[1].empty) {
        const uint32_t both = j->phase[1].axis[last].out;
        zip(from[0], from[1], both, y);
        if (n > both)
            y[2 * (size_t)both] = from[0][both];
        return;
    }
    for (uint32_t r = 0; r < j->across; r++)
        if (j->phase[r].empty)
            fill(j->bias ? j->bias[o] : 0.0f, j->phase[r].axis[last].out, j->across, y + r);
        else
            spread(from[r], j->phase[r].axis[last].out, j->across, y + r);
}

static void place_range(void *arg, size_t begin, size_t end)
{
    const struct rows_job *j = arg;
    const struct shape *y = &j->args->out[0]->shape;
    const uint32_t last = axes_of(j->args) - 1;
    for (size_t item = begin; item < end; item++) {
        size_t rest = item % j->rows, row[CONV_MAX_AXES], at = item / j->rows, step = 1, offset = 0;
        uint32_t outer = j->outer;
        for (uint32_t i = last; i-- > 0;) {
            const uint32_t s = stride_of(j->args, i), out = j->phase[0].axis[i].out;
            row[i] = rest % out;
            offset += (row[i] * s + outer % s) * step;
            step *= y->dim[2 + i];
            rest /= out;
            outer /= s;
        }
        place_row(j, at, row, j->y + (at * step + offset) * y->dim[2 + last]);
    }
}

/* at: of its weight in prep; returns the next phase's. */
static uint64_t run_phase(const struct op_args *args, const struct op_env *env, struct phase *p,
                          const float *x, uint64_t at, float *y)
{
    if (p->empty)
        return at;
    uint8_t *prep = (uint8_t *)args->prep + at;
    p->x.data = (void *)(uintptr_t)x;
    p->y.data = y;
    p->weight.index_stream.bytes = prep;
    p->args.prep = p->need.prep_bytes ? prep : NULL;
    pith_conv_run(&p->args, env);
    return at + kept_bytes(p);
}

void pith_conv_phases_run(const struct op_args *args, const struct op_env *env)
{
    const uint32_t axes = axes_of(args), across = stride_of(args, axes - 1), n = phases_of(args);
    const struct shape *x = &args->in[0]->shape, *y = &args->out[0]->shape;
    struct phase phase[MAX_PHASES];
    uint64_t planes = 0;
    for (uint32_t i = 0; i < n; i++) {
        set_phase(args, env, i, &phase[i]); /* cannot fail: need() passed */
        const uint64_t bytes = plane_bytes(args, &phase[i]);
        planes = bytes > planes ? bytes : planes;
    }
    struct op_env inner = *env;
    inner.scratch = (uint8_t *)env->scratch + planes * across;
    struct rows_job job = {.args = args,
                           .planes = env->scratch,
                           .bias = args->n_in > 2 && args->in[2] ? args->in[2]->data : NULL,
                           .plane_floats = (size_t)planes / sizeof(float),
                           .across = across};
    for (size_t image = 0; image < x->dim[0]; image++) {
        uint64_t at = 0;
        const bool whole = is_whole(args, phase);
        job.y = (float *)args->out[0]->data + image * shape_product(y, 1, y->rank);
        for (job.outer = 0; job.outer < n / across; job.outer++) {
            const float *from =
                (const float *)args->in[0]->data + image * shape_product(x, 1, x->rank);
            job.phase = &phase[job.outer * across];
            job.rows = 1;
            for (uint32_t i = 0; i + 1 < axes; i++)
                job.rows *= job.phase->axis[i].out;
            for (uint32_t r = 0; r < across; r++)
                at = run_phase(args, &inner, &phase[job.outer * across + r], from, at,
                               whole ? job.y : (float *)env->scratch + r * job.plane_floats);
            if (!whole)
                pith_op_range(env, job.rows * y->dim[1], y->dim[axes + 1], place_range, &job);
        }
    }
}
