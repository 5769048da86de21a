/* SPDX-License-Identifier: MIT */
/* onnx_batch.c - constants that were made for a batch: a class token expanded to Shape(x)[0]
 * samples, an initial state of zeros, a mask per sample. Folded, they hold one batch only; where
 * such a constant is the same for every sample, the node that takes it is given
 *
 *     the constant of one sample       if the node broadcasts it against what follows the batch
 *     Tile(that constant, input)       otherwise: repeated as often as the input has samples
 *
 * so that the batch stays open. What differs from sample to sample closes it. */
#include "onnx_step.h"
#include "op_interface/op_attr.h"

/* (Mod, too, would take the constant of one sample; files of it have always had the Tile.) */
static bool broadcasts(enum pith_op op)
{
    return pith_op_is(op, TRAIT_BROADCASTS) && op != PITH_OP_MOD;
}

/* The elements under the other batch are those of the plain one, ONNX_OTHER_BATCH times along
 * *axis, the only axis whose length differs. */
static bool repeats_samples(const struct onnx_value *v, uint32_t *axis)
{
    const struct shape *s = &v->shape, *other = &v->other;
    uint32_t n_differ = 0;
    if (v->empty || !v->data || !v->other_data || s->rank != other->rank)
        return false;
    for (uint32_t i = 0; i < s->rank; i++)
        if (s->dim[i] != other->dim[i]) {
            *axis = i;
            n_differ++;
        }
    if (n_differ != 1 || other->dim[*axis] != (uint64_t)ONNX_OTHER_BATCH * s->dim[*axis])
        return false;
    size_t block = shape_product(s, *axis, s->rank) * pith_type_bytes(v->type);
    size_t outer = shape_product(s, 0, *axis);
    const uint8_t *from = v->data, *to = v->other_data;
    for (size_t i = 0; i < outer * ONNX_OTHER_BATCH; i++)
        if (memcmp(to + i * block, from + i / ONNX_OTHER_BATCH * block, block) != 0)
            return false;
    return true;
}

/* Does another input of l, computed when the network runs, give the batch its length on the axis
 * that `axis` of v meets? */
static bool meets_batch(const struct onnx_lower *l, uint32_t input, uint32_t axis)
{
    const struct onnx_value *v = &l->im->values[l->in[input]];
    uint32_t from_end = v->shape.rank - axis;
    for (uint32_t i = 0; i < l->n_in; i++) {
        const struct onnx_value *u = l->in[i] == ONNX_VALUE_NONE ? NULL : &l->im->values[l->in[i]];
        if (i == input || !u || u->constant || !u->varies || u->shape.rank < from_end)
            continue;
        if (u->other.dim[u->shape.rank - from_end] == v->other.dim[axis])
            return true;
    }
    return false;
}

/* The constant as it is for a batch of 1, following nothing. */
static uint32_t plain_copy(struct onnx_steps *s, uint32_t value)
{
    struct onnx_import *im = s->l->im;
    struct shape shape = im->values[value].shape;
    enum pith_type type = im->values[value].type;
    void *data;
    uint32_t copy = pith_step_constant(s, type, shape.rank, shape.dim, &data);
    if (data)
        memcpy(data, im->values[value].data, shape_elems(&shape) * pith_type_bytes(type));
    return copy;
}

static uint32_t tiled(struct onnx_steps *s, uint32_t value, uint32_t axis)
{
    struct onnx_import *im = s->l->im;
    uint32_t rank = im->values[value].shape.rank;
    struct step_attr attr[PITH_LIST_SLOTS] = {{ATTR_TILE_REPEATS, (int32_t)rank}};
    for (uint32_t i = 0; i < rank; i++)
        attr[1 + i] = (struct step_attr){ATTR_TILE_REPEATS + 1 + i, i != axis};
    const uint32_t in[2] = {plain_copy(s, value), im->inputs[0]};
    return pith_step(s, PITH_OP_TILE, 2, in, 1 + rank, attr);
}

enum pith_status pith_onnx_open_constants(struct onnx_lower *l)
{
    struct onnx_import *im = l->im;
    struct onnx_steps s = {l, PITH_OK};
    for (uint32_t i = 0; i < l->n_in && !s.status; i++) {
        uint32_t value = l->in[i], axis = 0;
        if (value == ONNX_VALUE_NONE || !im->values[value].constant || !im->values[value].varies ||
            im->n_inputs == 0 || !repeats_samples(&im->values[value], &axis))
            continue;
        bool one = im->values[value].shape.dim[axis] == 1;
        if (one && broadcasts(l->info->op) && meets_batch(l, i, axis))
            value = plain_copy(&s, value);
        else
            value = tiled(&s, value, axis);
        if (!s.status)
            l->in[i] = value;
    }
    return s.status;
}
