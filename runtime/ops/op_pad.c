/* SPDX-License-Identifier: MIT */
/* op_pad.c - Pad: a border of a constant, of the mirrored tensor (reflect, the edge itself not
 * repeated) or of its edge; negative pads crop.
 *
 * Every output index of an axis maps to an input index or to none. Rows along the last axis are
 * written whole: what lies inside by one memcpy, the border element by element. A constant other
 * than 0 is defined for f32 only; steps on bytes (integer_chain.c) give the border as a byte.
 *
 * ONNX Pad-13; the wrap mode that Pad-19 added is not here. */
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "op_interface/strided_copy.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

enum { PAD_CONSTANT = 0, PAD_REFLECT = 1, PAD_EDGE = 2 };

/* Outside of the input, and the mode has no source for it. */
#define NOWHERE (-1)

/* Pads may be negative, each on its own; the sum decides. */
static enum pith_status shape_pad(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    const struct tview *x = args->in[0];
    struct shape s = x->shape;
    int32_t mode = args->attr[ATTR_PAD_MODE];
    if (attr_count(args->attr, ATTR_PAD_BEGIN) != s.rank ||
        attr_count(args->attr, ATTR_PAD_END) != s.rank)
        return PITH_ERR_CORRUPT;
    if (mode == PAD_CONSTANT && x->type != PITH_F32 && args->attr[ATTR_PAD_VALUE] != 0)
        return PITH_ERR_UNSUPPORTED;
    for (uint32_t i = 0; i < s.rank; i++) {
        int64_t begin = args->attr[ATTR_PAD_BEGIN + 1 + i], end = args->attr[ATTR_PAD_END + 1 + i];
        int64_t dim = s.dim[i] + begin + end;
        if (dim < 1 || dim > INT32_MAX)
            return PITH_ERR_CORRUPT;
        /* A mirror shows each element once, the edge not again: at most dim - 1 of them. */
        if (mode == PAD_REFLECT && (begin >= s.dim[i] || end >= s.dim[i]))
            return PITH_ERR_CORRUPT; /* one mirror image is all there is */
        s.dim[i] = (uint32_t)dim;
    }
    return pith_out_set(args->out[0], x->type, &s);
}

/* Axes without pads are one with the axis before, whose pads are then so many times as long.
 * Joining makes rows longer: most pads of images touch two axes of four. */
struct pad_axis {
    int64_t begin, in, out;
};

struct pad_job {
    const int32_t *attr;
    struct pad_axis axis[PITH_MAX_RANK];
    uint32_t rank;
    const uint8_t *x;
    uint8_t *y;
    uint32_t bytes;
};

static void set_axes(struct pad_job *j, const struct shape *in, const struct shape *out)
{
    /* Only a border of a constant may be longer than its axis after joining; the others map
     * index by index, which joined axes do only where the axis in front is whole. */
    bool constant = j->attr[ATTR_PAD_MODE] == PAD_CONSTANT;
    for (uint32_t i = 0; i < in->rank; i++) {
        struct pad_axis a = {j->attr[ATTR_PAD_BEGIN + 1 + i], in->dim[i], out->dim[i]};
        bool padded = a.begin != 0 || a.in != a.out;
        struct pad_axis *before = &j->axis[j->rank ? j->rank - 1 : 0];
        bool joins = before->begin == 0 && before->in == before->out;
        if (j->rank == 0 || padded || !(joins || constant)) {
            j->axis[j->rank++] = a;
            continue;
        }
        /* What is cropped may be longer than the axis, but no more of it counts. So that begin *
         * in stays below 2^62. */
        before->begin = before->begin < -before->in ? -before->in : before->begin;
        before->begin *= a.in;
        before->in *= a.in;
        before->out *= a.in;
    }
}

/* Input index of output index o on an axis, or NOWHERE. Reflect and edge have a source for every
 * index that shape_pad() let pass. */
static int64_t source_index(const struct pad_job *j, const struct pad_axis *a, int64_t o)
{
    int64_t i = o - a->begin;
    if (i >= 0 && i < a->in)
        return i;
    switch (j->attr[ATTR_PAD_MODE]) {
    case PAD_REFLECT:
        return i < 0 ? -i : 2 * (a->in - 1) - i;
    case PAD_EDGE:
        return i < 0 ? 0 : a->in - 1;
    default:
        return NOWHERE;
    }
}

/* Input place of an output place over the first n axes, or NOWHERE. It is outside as soon as one of
 * its axes is. */
static int64_t source_place(const struct pad_job *j, uint32_t n, size_t place)
{
    int64_t from = 0, stride = 1;
    for (uint32_t i = n; i-- > 0;) {
        const struct pad_axis *a = &j->axis[i];
        int64_t at = source_index(j, a, (int64_t)(place % (size_t)a->out));
        if (at == NOWHERE)
            return NOWHERE;
        place /= (size_t)a->out;
        from += at * stride;
        stride *= a->in;
    }
    return from;
}

/* Rows of fewer elements are filled together, before what lies inside is copied. */
#define SHORT 32

static void fill_constant(const struct pad_job *j, uint8_t *y, int64_t n)
{
    /* All-zero bytes are 0 in every type; a byte's value may be anything (steps on bytes). */
    if (j->bytes != 4 || (j->attr[ATTR_PAD_VALUE] == 0 && n > SHORT)) {
        memset(y, j->attr[ATTR_PAD_VALUE], (size_t)n * j->bytes);
        return;
    }
    uint32_t *to = (uint32_t *)(void *)y;
    for (int64_t i = 0; i < n; i++)
        to[i] = (uint32_t)j->attr[ATTR_PAD_VALUE];
}

/* Outputs [begin, end) of a row, all outside the input. */
static void fill_border(const struct pad_job *j, const uint8_t *x, uint8_t *y, int64_t begin,
                        int64_t end)
{
    if (begin < end && j->attr[ATTR_PAD_MODE] == PAD_CONSTANT) {
        fill_constant(j, y + begin * (int64_t)j->bytes, end - begin);
        return;
    }
    for (int64_t o = begin; o < end; o++) {
        const int64_t from = source_index(j, &j->axis[j->rank - 1], o);
        if (j->bytes == 4)
            memcpy(y + o * 4, x + from * 4, 4);
        else
            pith_copy_bytes(y + o * (int64_t)j->bytes, x + from * (int64_t)j->bytes, j->bytes);
    }
}

/* Items are rows. What axes in front of the one before a row come to is found once for all rows of
 * that one. */
static void pad_range(void *arg, size_t begin, size_t end)
{
    const struct pad_job *j = arg;
    const uint32_t last = j->rank - 1;
    const struct pad_axis *a = &j->axis[last];
    const struct pad_axis before = last > 0 ? j->axis[last - 1] : (struct pad_axis){0, 1, 1};
    const size_t rows = (size_t)before.out, row_bytes = (size_t)a->out * j->bytes;
    const bool filled = j->attr[ATTR_PAD_MODE] == PAD_CONSTANT && a->out < SHORT;
    /* Where the input's row begins and ends in y, both cut to [0, n]: with negative pads the
     * input's ends lie outside. */
    const int64_t n = a->out, bytes = j->bytes;
    const int64_t first = a->begin < 0 ? 0 : a->begin > n ? n : a->begin, past = a->begin + a->in;
    const int64_t stop = past > n ? n : past < first ? first : past;
    for (size_t row = begin, next; row < end; row = next) {
        const int64_t base = source_place(j, last > 0 ? last - 1 : 0, row / rows);
        int64_t at = (int64_t)(row % rows);
        uint8_t *y = j->y + row * row_bytes;
        next = (row / rows + 1) * rows;
        next = next < end ? next : end;
        if (filled)
            fill_constant(j, y, (int64_t)(next - row) * n);
        for (size_t i = row; i < next; i++, at++, y += row_bytes) {
            const int64_t from = base == NOWHERE ? NOWHERE : source_index(j, &before, at);
            const uint8_t *x = j->x + (base * before.in + from) * a->in * bytes;
            if (from == NOWHERE) {
                if (!filled)
                    fill_constant(j, y, n);
                continue;
            }
            pith_copy_bytes(y + first * bytes, x + (first - a->begin) * bytes,
                            (size_t)((stop - first) * bytes));
            if (!filled) {
                fill_border(j, x, y, 0, first);
                fill_border(j, x, y, stop, n);
            }
        }
    }
}

static void run_pad(const struct op_args *args, const struct op_env *env)
{
    const struct tview *x = args->in[0], *y = args->out[0];
    struct pad_job job = {
        .attr = args->attr, .x = x->data, .y = y->data, .bytes = pith_type_bytes(x->type)};
    /* A scalar has no axes to pad. */
    if (y->shape.rank == 0) {
        memcpy(y->data, x->data, job.bytes);
        return;
    }
    set_axes(&job, &x->shape, &y->shape);
    size_t n = (size_t)job.axis[job.rank - 1].out;
    pith_op_range(env, shape_elems(&y->shape) / n, n, pad_range, &job);
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_PAD_MODE, 0, PAD_CONSTANT, PAD_EDGE},
    {ATTR_FLOAT, ATTR_PAD_VALUE, 0, 0, 1},
    {ATTR_LIST, ATTR_PAD_BEGIN, 0, -INT32_MAX, INT32_MAX},
    {ATTR_LIST, ATTR_PAD_END, 0, -INT32_MAX, INT32_MAX},
};

const struct op_info pith_op_pad = {
    .op = PITH_OP_PAD,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 4,
    .n_slots = ATTR_PAD_END + PITH_LIST_SLOTS,
    .fields = fields,
    .traits = {.flags = TRAIT_MOVES},
    .shape = shape_pad,
    .run = run_pad,
};
