/* SPDX-License-Identifier: MIT */
/* byte_grid_at.h - the grid of integers that operands say. */
#ifndef BYTE_GRID_AT_H
#define BYTE_GRID_AT_H

#include "kernels/ref/integer_element.h"
#include "op_interface/op_exec.h"

/* Of bytes of a type. */
static inline struct byte_grid byte_grid_at(const struct grid_operand *grid, enum pith_type type)
{
    int32_t zero_point = grid->zero ? integer_at(type, grid->zero->data, 0) : 0;
    return byte_grid_of(type == PITH_I8, *(const float *)grid->scale->data, zero_point);
}

#endif
