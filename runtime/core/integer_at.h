/* SPDX-License-Identifier: MIT */
/* integer_at.h - elements of integer tensors of up to 32 bits, one at a time. */
#ifndef PITH_INTEGER_AT_H
#define PITH_INTEGER_AT_H

#include <stddef.h>
#include <stdint.h>

#include "pith_types.h"

/* i8, u8, i16, u16, i32. */
static inline int32_t integer_at(enum pith_type type, const void *p, size_t i)
{
    switch (type) {
    case PITH_I8:
        return ((const int8_t *)p)[i];
    case PITH_U8:
        return ((const uint8_t *)p)[i];
    case PITH_I16:
        return ((const int16_t *)p)[i];
    case PITH_U16:
        return ((const uint16_t *)p)[i];
    default:
        return ((const int32_t *)p)[i];
    }
}

#endif
