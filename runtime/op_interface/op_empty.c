/* SPDX-License-Identifier: MIT */
/* op_empty.c - which operators take values without elements. */
#include "op_interface/op_empty.h"

#include "core/op_number.h"
#include "op_interface/slice_axis.h"

/* An output element is computed from elements of the same place: none, where there are none. Pad
 * adds elements, so it is not among them. */
static bool passes_empty(const struct op_info *info)
{
    const uint16_t maps = TRAIT_MOVES | TRAIT_UNARY | TRAIT_CLAMPS | TRAIT_RECTIFIES |
                          TRAIT_ARITHMETIC | TRAIT_BROADCASTS | TRAIT_GRID;
    switch (info->op) {
    case PITH_OP_PAD:
        return false;
    case PITH_OP_ALONG_AXIS:
    case PITH_OP_CAST:
    case PITH_OP_COMPARE:
    case PITH_OP_GATHER:
    case PITH_OP_MOD:
    case PITH_OP_TILE:
    case PITH_OP_TRILU:
    case PITH_OP_WHERE:
        return true;
    default:
        return (info->flags & OP_VIEW) || (info->traits.flags & maps);
    }
}

/* A Tile without a second input (which would give the repeats of 0) repeats as often as it says. */
static bool tile_is_empty(const struct op_args *args)
{
    bool empty = false;
    for (uint32_t i = 0; i < attr_count(args->attr, ATTR_TILE_REPEATS); i++)
        empty |= args->attr[ATTR_TILE_REPEATS + 1 + i] == 0;
    return args->n_in == 1 && empty;
}

/* Lists of different lengths are for the shape rule to refuse. */
static bool slice_is_empty(const struct op_args *args)
{
    const uint32_t n = attr_count(args->attr, ATTR_SLICE_AXES);
    const struct shape *x = &args->in[0]->shape;
    bool empty = false;
    for (uint32_t i = 0; i < n && i < attr_count(args->attr, ATTR_SLICE_ENDS); i++) {
        uint32_t axis = (uint32_t)args->attr[ATTR_SLICE_AXES + 1 + i];
        int64_t first, count = 1;
        if (axis < x->rank && attr_item(args->attr, ATTR_SLICE_STEPS, i, 1) != 0)
            slice_axis(args->attr, i, x->dim[axis], &first, &count);
        empty |= count == 0;
    }
    return empty;
}

enum op_empty pith_op_empty(const struct op_args *args)
{
    const uint32_t op = args->info->op;
    uint32_t n_empty = 0;
    for (uint32_t i = 0; i < args->n_in; i++)
        n_empty += args->in[i] && tensor_is_empty(args->in[i]);
    if (n_empty == 0) {
        bool none = args->n_in && args->in[0] &&
                    ((op == PITH_OP_TILE && tile_is_empty(args)) ||
                     (op == PITH_OP_SLICE && slice_is_empty(args)));
        return none ? OP_GIVES_EMPTY : OP_HAS_ELEMENTS;
    }
    if (op == PITH_OP_CONCAT && n_empty < args->n_in)
        return OP_JOINS_OTHERS;
    return passes_empty(args->info) ? OP_GIVES_EMPTY : OP_NEEDS_ELEMENTS;
}
