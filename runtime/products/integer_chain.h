/* SPDX-License-Identifier: MIT */
/* integer_chain.h - DequantizeLinear -> operator -> QuantizeLinear as one step on bytes, with the
 * bits of the three. `inner` of its arguments is the operator between, whose attributes it has.
 *
 * Inputs are those of the operator, as bytes; op_args.grid has scale and zero point of each, then
 * of the output. */
#ifndef INTEGER_CHAIN_H
#define INTEGER_CHAIN_H

#include "op_interface/op_info.h"

extern const struct op_info pith_integer_chain;
#define CHAIN_LOWERED_MAX 96u /* bytes of its args->lowered */

/* Operators it knows, of an output of bytes; x, y: shapes of input 0 and of the output. */
bool pith_integer_chain_knows(const struct op_info *inner, const int32_t *attr,
                              const struct shape *x, const struct shape *y);
/* Of those: the values are row-major. */
bool pith_integer_chain_is_row_major(const struct op_info *inner, const int32_t *attr,
                                     const struct shape *x, const struct shape *y);

#endif
