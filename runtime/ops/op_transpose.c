/* SPDX-License-Identifier: MIT */
/* op_transpose.c - Transpose: output axis i is input axis perm[i]; without perm, axes reversed.
 *
 * ONNX Transpose-13. strided_copy.c reads by steps and writes front to back; axes that stay
 * beside each other are merged there, so [N, H, W, C] <-> [N, C, H, W] is a loop over two axes.
 * Most transposes of networks are gone before: import moves them into weights and products, the
 * planner into layouts. */
#include "ops/op_list.h"
#include "op_interface/shape_rule.h"
#include "op_interface/strided_copy.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

static uint32_t input_axis(const int32_t *attr, uint32_t rank, uint32_t i)
{
    return (uint32_t)attr_item(attr, ATTR_PERM, i, (int32_t)(rank - 1 - i));
}

/* pith_axes_set() refuses an axis named twice, so a list of full length is a permutation. */
static enum pith_status shape_transpose(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    const struct shape *x = &args->in[0]->shape;
    uint32_t n = attr_count(args->attr, ATTR_PERM), set;
    st = pith_axes_set(args->attr, ATTR_PERM, x->rank, &set);
    if (st)
        return st;
    if (n != 0 && n != x->rank)
        return PITH_ERR_CORRUPT;
    struct shape s = {.rank = x->rank};
    for (uint32_t i = 0; i < s.rank; i++)
        s.dim[i] = x->dim[input_axis(args->attr, x->rank, i)];
    return pith_out_set(args->out[0], args->in[0]->type, &s);
}

static void run_transpose(const struct op_args *args, const struct op_env *env)
{
    const struct tview *x = args->in[0];
    uint32_t rank = x->shape.rank;
    struct strided_copy box = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t from = input_axis(args->attr, rank, i);
        box.dim[i] = x->shape.dim[from];
        box.step[i] = (ptrdiff_t)shape_product(&x->shape, from + 1, rank);
    }
    pith_strided_copy(&box, env, pith_type_bytes(x->type), x->data, args->out[0]->data);
}

static const struct attr_field fields[] = {{ATTR_LIST, ATTR_PERM, 0, 0, 7}};

const struct op_info pith_op_transpose = {
    .op = PITH_OP_TRANSPOSE,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 1,
    .n_slots = PITH_LIST_SLOTS,
    .fields = fields,
    .traits = {.flags = TRAIT_MOVES},
    .shape = shape_transpose,
    .run = run_transpose,
};
