/* SPDX-License-Identifier: MIT */
/* op_slice.c - Slice: per named axis start, end and step (not 0, may be negative), by ONNX's
 * rules: negative starts and ends count from the axis' end, then both are clamped. An empty
 * result is refused: pith has no empty tensors.
 *
 * ONNX Slice-13 with constant starts, ends and steps; others import makes into Gather where it
 * can. ATTR_SLICE_ENDS of INT32_MAX (INT32_MIN) is how exporters say "to the end", which
 * clamping gives. */
#include "ops/op_list.h"
#include "op_interface/slice_axis.h"
#include "op_interface/shape_rule.h"
#include "op_interface/strided_copy.h"
#include "core/op_number.h"

/* A list of steps may be left out, but a step of 0 would never end. */
static bool lists_fit(const int32_t *attr)
{
    uint32_t n = attr_count(attr, ATTR_SLICE_AXES), n_steps = attr_count(attr, ATTR_SLICE_STEPS);
    if (attr_count(attr, ATTR_SLICE_STARTS) != n || attr_count(attr, ATTR_SLICE_ENDS) != n ||
        (n_steps != 0 && n_steps != n))
        return false;
    for (uint32_t i = 0; i < n_steps; i++)
        if (attr[ATTR_SLICE_STEPS + 1 + i] == 0)
            return false;
    return true;
}

static enum pith_status shape_slice(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    struct shape s = args->in[0]->shape;
    uint32_t set;
    st = pith_axes_set(args->attr, ATTR_SLICE_AXES, s.rank, &set);
    if (st)
        return st;
    if (!lists_fit(args->attr))
        return PITH_ERR_CORRUPT;
    for (uint32_t i = 0; i < attr_count(args->attr, ATTR_SLICE_AXES); i++) {
        uint32_t axis = (uint32_t)args->attr[ATTR_SLICE_AXES + 1 + i];
        int64_t first, count;
        slice_axis(args->attr, i, s.dim[axis], &first, &count);
        if (count < 1)
            return PITH_ERR_CORRUPT;
        s.dim[axis] = (uint32_t)count;
    }
    return pith_out_set(args->out[0], args->in[0]->type, &s);
}

/* An origin and a step an axis are all a slice is, so strided_copy.c does it, merged into long
 * rows where axes are whole. */
static void run_slice(const struct op_args *args, const struct op_env *env)
{
    const struct tview *x = args->in[0];
    uint32_t rank = x->shape.rank, bytes = pith_type_bytes(x->type);
    struct strided_copy box = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++) {
        box.dim[i] = x->shape.dim[i];
        box.step[i] = (ptrdiff_t)shape_product(&x->shape, i + 1, rank);
    }
    /* In elements; 2^40 at most, since it names one of x's. */
    ptrdiff_t origin = 0;
    for (uint32_t i = 0; i < attr_count(args->attr, ATTR_SLICE_AXES); i++) {
        uint32_t axis = (uint32_t)args->attr[ATTR_SLICE_AXES + 1 + i];
        int64_t first, count;
        slice_axis(args->attr, i, x->shape.dim[axis], &first, &count);
        origin += (ptrdiff_t)first * box.step[axis];
        box.dim[axis] = (size_t)count;
        /* A single element is never stepped from: its step could be 2^31 times an axis. */
        box.step[axis] =
            count == 1 ? 0
                       : box.step[axis] * (ptrdiff_t)attr_item(args->attr, ATTR_SLICE_STEPS, i, 1);
    }
    const uint8_t *src = x->data;
    pith_strided_copy(&box, env, bytes, src + origin * (ptrdiff_t)bytes, args->out[0]->data);
}

static const struct attr_field fields[] = {
    {ATTR_LIST, ATTR_SLICE_AXES, 0, 0, 7},
    {ATTR_LIST, ATTR_SLICE_STARTS, 0, INT32_MIN, INT32_MAX},
    {ATTR_LIST, ATTR_SLICE_ENDS, 0, INT32_MIN, INT32_MAX},
    {ATTR_LIST, ATTR_SLICE_STEPS, 0, INT32_MIN, INT32_MAX},
};

const struct op_info pith_op_slice = {
    .op = PITH_OP_SLICE,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 4,
    .n_slots = ATTR_SLICE_STEPS + PITH_LIST_SLOTS,
    .fields = fields,
    .traits = {.flags = TRAIT_MOVES},
    .shape = shape_slice,
    .run = run_slice,
};
