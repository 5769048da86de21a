/* SPDX-License-Identifier: MIT */
#include "op_interface/shape_rule.h"

enum pith_status pith_in_present(const struct op_args *args, uint32_t n)
{
    if (n > args->n_in)
        return PITH_ERR_CORRUPT;
    for (uint32_t i = 0; i < n; i++)
        if (!args->in[i])
            return PITH_ERR_CORRUPT;
    return PITH_OK;
}

enum pith_status pith_in_f32(const struct op_args *args, uint32_t n)
{
    enum pith_status st = pith_in_present(args, n);
    for (uint32_t i = 0; i < n && st == PITH_OK; i++)
        if (args->in[i]->type != PITH_F32)
            st = PITH_ERR_UNSUPPORTED;
    return st;
}

enum pith_status pith_out_set(struct tview *out, enum pith_type type, const struct shape *shape)
{
    uint64_t bytes;
    enum pith_status st = pith_shape_bytes(shape, type, &bytes);
    if (st)
        return st;
    struct shape s = {.rank = shape->rank};
    for (uint32_t i = 0; i < shape->rank; i++)
        s.dim[i] = shape->dim[i];
    out->type = type;
    out->shape = s;
    return PITH_OK;
}

enum pith_status pith_axes_set(const int32_t *attr, uint32_t slot, uint32_t rank, uint32_t *set)
{
    uint32_t visited = 0;
    for (uint32_t i = 0; i < attr_count(attr, slot); i++) {
        int32_t axis = attr[slot + 1 + i];
        if (axis < 0 || (uint32_t)axis >= rank || (visited >> axis & 1u))
            return PITH_ERR_CORRUPT;
        visited |= 1u << axis;
    }
    *set = visited;
    return PITH_OK;
}

enum pith_status pith_shape_same_f32(const struct op_args *args)
{
    enum pith_status st = pith_in_f32(args, 1);
    return st ? st : pith_out_set(args->out[0], PITH_F32, &args->in[0]->shape);
}
