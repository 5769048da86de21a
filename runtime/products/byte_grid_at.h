/* SPDX-License-Identifier: MIT */
/* byte_grid_at.h - the grid of integers that two inputs of an operator say. */
#ifndef BYTE_GRID_AT_H
#define BYTE_GRID_AT_H

#include "integer_element.h"
#include "pith_op_exec.h"

/* Of bytes of a type, whose scale and zero point (or NULL: 0) are inputs i and i + 1. */
static inline struct byte_grid byte_grid_at(const struct op_args *args, uint32_t i,
                                            enum pith_type type)
{
    const struct tview *scale = args->in[i], *zero = args->in[i + 1];
    int32_t zero_point = zero ? integer_at(type, zero->data, 0) : 0;
    return byte_grid_of(type == PITH_I8, *(const float *)scale->data, zero_point);
}

#endif
