/* SPDX-License-Identifier: MIT */
/* byte_table.h - operators that make one tensor of bytes of another, element by element, as one
 * step: it looks up each byte in a table, which the operators themselves make of the 256 bytes that
 * there are, once. So it has the bits that they would have one by one.
 *
 * Inputs: the bytes, then the constants that the operators read, one element each. op_args.table
 * has the operators, the last one first. */
#ifndef BYTE_TABLE_H
#define BYTE_TABLE_H

#include "op_interface/op_info.h"

#define TABLE_OPERANDS 3u
#define TABLE_RESULT 128u /* + the number of an operator in the table: what it makes */
#define TABLE_NONE 255u   /* an input that is left out */

struct table_op {
    const struct op_info *info;
    const int32_t *attr;
    uint8_t n_in;
    uint8_t in[TABLE_OPERANDS]; /* numbers of the step's inputs, or TABLE_RESULT + n */
};

extern const struct op_info pith_byte_table;

#endif
