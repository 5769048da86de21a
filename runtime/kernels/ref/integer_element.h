/* SPDX-License-Identifier: MIT */
/* integer_element.h - elements of integer tensors of up to 32 bits, and how a real number becomes
 * one. */
#ifndef INTEGER_ELEMENT_H
#define INTEGER_ELEMENT_H

#include "core/build_choice.h"
#include "kernels/ref/integer_range.h"
#include "core/integer_at.h"
#include "kernels/kernel_integer.h"

/* i8, u8, i16, u16: types a real number is quantized to; a build may be without words
 * (build_choice.h). i32 and i64 are sums, not grids. */
static inline bool is_grid_type(enum pith_type type)
{
    bool words = BUILT_PART(WORDS) && (type == PITH_I16 || type == PITH_U16);
    return type == PITH_I8 || type == PITH_U8 || words;
}

/* To where a cache line begins. */
static inline uint64_t aligned_bytes(uint64_t bytes)
{
    return (bytes + 63) & ~(uint64_t)63;
}

#endif
