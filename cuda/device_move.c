/* SPDX-License-Identifier: MIT */
/* device_move.c - operators that put elements elsewhere. */
#include "cuda/kernels/half_bits.h"
#include "device_lower.h"
#include "op_interface/slice_axis.h"

/* A box of all elements of `shape`, row-major on both sides. The caller then changes the steps of
 * the side that is not dense. */
static struct copy_args box_of(const struct shape *shape, uint32_t bytes)
{
    struct copy_args c = {.bytes = bytes, .rank = shape->rank};
    for (uint32_t i = 0; i < shape->rank; i++) {
        c.dim[i] = shape->dim[i];
        c.x_step[i] = c.y_step[i] = (int64_t)shape_product(shape, i + 1, shape->rank);
    }
    return c;
}

/* false: the kernel counts elements in 31 bits. */
static bool launch_copy(struct lowering *l, struct copy_args *c)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < c->rank; i++)
        n *= c->dim[i];
    c->n = (uint32_t)n;
    if (n >= UINT64_C(1) << 31)
        return false;
    pith_device_launch(l, LAUNCH_strided_copy, c->n, c, sizeof *c);
    return true;
}

/* A copy only where input and output do not share memory (pith_device_copy). */
bool pith_device_view(struct lowering *l, const struct step *s)
{
    const struct tview *x = s->args.in[0];
    pith_device_copy(l, pith_device_data(l, s->args.out[0]), pith_device_data(l, x),
                     shape_elems(&x->shape) * pith_device_each(l, x));
    return true;
}

/* x begins at the first element of the slice, which with negative steps is the last one in
 * memory. */
bool pith_device_slice(struct lowering *l, const struct step *s)
{
    const struct tview *x = s->args.in[0], *y = s->args.out[0];
    const int32_t *attr = s->args.attr;
    struct copy_args c = box_of(&y->shape, pith_device_each(l, x));
    int64_t origin = 0;
    for (uint32_t i = 0; i < c.rank; i++)
        c.x_step[i] = (int64_t)shape_product(&x->shape, i + 1, x->shape.rank);
    for (uint32_t i = 0; i < attr_count(attr, ATTR_SLICE_AXES); i++) {
        uint32_t axis = (uint32_t)attr[ATTR_SLICE_AXES + 1 + i];
        int64_t first, count;
        slice_axis(attr, i, x->shape.dim[axis], &first, &count);
        origin += first * c.x_step[axis];
        /* A single element is never stepped from: its step could be 2^31 times an axis. */
        c.x_step[axis] *= count == 1 ? 0 : attr_item(attr, ATTR_SLICE_STEPS, i, 1);
    }
    c.x = (const uint8_t *)pith_device_data(l, x) + origin * (int64_t)c.bytes;
    c.y = pith_device_data(l, y);
    return launch_copy(l, &c);
}

/* An axis that is repeated is two of the box: its repetitions, which read the same again, and its
 * own. false: that makes more axes than the kernel has. */
bool pith_device_tile(struct lowering *l, const struct step *s)
{
    const struct shape *x = &s->args.in[0]->shape, *y = &s->args.out[0]->shape;
    struct copy_args c = {.x = pith_device_data(l, s->args.in[0]),
                          .y = pith_device_data(l, s->args.out[0]),
                          .bytes = pith_device_each(l, s->args.in[0])};
    for (uint32_t i = 0; i < y->rank; i++) {
        uint32_t own = i + x->rank < y->rank ? 1 : x->dim[i + x->rank - y->rank];
        uint32_t times = y->dim[i] / own;
        int64_t x_step =
            (int64_t)(own > 1 ? shape_product(x, i + x->rank - y->rank + 1, x->rank) : 0);
        int64_t y_step = (int64_t)shape_product(y, i + 1, y->rank);
        if (c.rank + (times > 1) + (own > 1) > LAUNCH_MAX_AXES)
            return false;
        if (times > 1) {
            c.dim[c.rank] = times;
            c.y_step[c.rank++] = y_step * own;
        }
        if (own > 1) {
            c.dim[c.rank] = own;
            c.x_step[c.rank] = x_step;
            c.y_step[c.rank++] = y_step;
        }
    }
    return launch_copy(l, &c);
}

/* Axis i of y is axis perm[i] of x, all axes reversed where there is no perm, as ONNX has it.
 * Writes are in order, reads go in steps: y is dense. */
bool pith_device_transpose(struct lowering *l, const struct step *s)
{
    const struct tview *x = s->args.in[0], *y = s->args.out[0];
    uint32_t rank = x->shape.rank;
    struct copy_args c = box_of(&y->shape, pith_device_each(l, x));
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t from = (uint32_t)attr_item(s->args.attr, ATTR_PERM, i, (int32_t)(rank - 1 - i));
        c.x_step[i] = (int64_t)shape_product(&x->shape, from + 1, rank);
    }
    c.x = pith_device_data(l, x);
    c.y = pith_device_data(l, y);
    return launch_copy(l, &c);
}

/* A part of a whole that is cut along an axis: copied there, or from there. *at counts bytes: where
 * the part begins in the whole's first row, moved behind it for the next part. */
static bool copy_part(struct lowering *l, const struct tview *part, const struct tview *whole,
                      uint32_t axis, uint64_t *at, bool to_whole)
{
    uint32_t bytes = pith_device_each(l, part), rank = part->shape.rank;
    struct copy_args c = box_of(&part->shape, bytes);
    int64_t *step = to_whole ? c.y_step : c.x_step;
    uint8_t *in_whole = (uint8_t *)pith_device_data(l, whole) + *at;
    for (uint32_t i = 0; i < rank; i++)
        step[i] = (int64_t)shape_product(&whole->shape, i + 1, rank);
    c.x = to_whole ? pith_device_data(l, part) : in_whole;
    c.y = to_whole ? in_whole : pith_device_data(l, part);
    *at += shape_product(&part->shape, axis, rank) * bytes;
    return launch_copy(l, &c);
}

bool pith_device_concat(struct lowering *l, const struct step *s)
{
    uint64_t at = 0;
    bool done = true;
    for (uint32_t i = 0; i < s->args.n_in && done; i++) {
        const struct tview *part = s->args.in[i];
        const uint32_t axis = (uint32_t)s->args.attr[ATTR_AXIS];
        if (pith_device_place(l, part))
            at += shape_product(&part->shape, axis, part->shape.rank) * pith_device_each(l, part);
        else
            done = copy_part(l, part, s->args.out[0], axis, &at, true);
    }
    return done;
}

bool pith_device_split(struct lowering *l, const struct step *s)
{
    uint64_t at = 0;
    bool done = true;
    for (uint32_t i = 0; i < s->args.n_out && done; i++)
        done = copy_part(l, s->args.out[i], s->args.in[0], (uint32_t)s->args.attr[ATTR_AXIS], &at,
                         false);
    return done;
}

/* The padding value is passed as its bits, so one kernel does for all types. */
static uint32_t pad_bits(const struct lowering *l, const struct tview *x, uint32_t bits)
{
    const uint32_t type = pith_device_type(l, x);
    return type == VALUE_F16    ? f16_of_f32(f32_from_bits(bits))
           : type == VALUE_BF16 ? bf16_of_f32(f32_from_bits(bits))
                                : bits;
}

/* Begins may be negative, which cuts off; ends follow from y's dims. */
bool pith_device_pad(struct lowering *l, const struct step *s)
{
    const struct tview *x = s->args.in[0], *y = s->args.out[0];
    const int32_t *attr = s->args.attr;
    struct pad_args p = {DATA_X_Y_N(l, &s->args), .bytes = pith_device_each(l, x),
                         .rank = x->shape.rank, .mode = (uint32_t)attr[ATTR_PAD_MODE],
                         .value = pad_bits(l, x, (uint32_t)attr[ATTR_PAD_VALUE])};
    for (uint32_t i = 0; i < p.rank; i++) {
        p.x_dim[i] = x->shape.dim[i];
        p.y_dim[i] = y->shape.dim[i];
        p.begin[i] = attr[ATTR_PAD_BEGIN + 1 + i];
    }
    return pith_device_launch(l, LAUNCH_pad, p.n, &p, sizeof p);
}

/* Along an axis; tables that are read where they lie in a file, expanded. */
bool pith_device_gather(struct lowering *l, const struct step *s)
{
    const struct tview *x = s->args.in[0], *index = s->args.in[1];
    uint32_t axis = (uint32_t)s->args.attr[ATTR_GATHER_AXIS];
    if (s->args.attr[ATTR_GATHER_KIND] != 0 || s->args.weight)
        return false;
    struct gather_args g = {DATA_X_Y_N(l, &s->args),
                            .index = pith_device_data(l, index),
                            .bytes = pith_device_each(l, x),
                            .wide_index = index->type == PITH_I64,
                            .dim = x->shape.dim[axis],
                            .inner = (uint32_t)shape_product(&x->shape, axis + 1, x->shape.rank),
                            .count = pith_device_count(index)};
    return pith_device_launch(l, LAUNCH_gather_axis, g.n, &g, sizeof g) && g.count > 0;
}
