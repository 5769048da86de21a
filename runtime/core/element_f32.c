/* SPDX-License-Identifier: MIT */
/* Conversion of stored elements to f32. f16 is decoded with integers, so that subnormals do not
 * depend on the floating-point mode of the process. */
#include "core/element_f32.h"
#include "core/bytes.h"
#include "core/f64_bits.h"

/* 112 is the difference of the exponents' biases, 127 - 15. */
static uint32_t f32_bits_from_f16(uint32_t h)
{
    uint32_t sign = (h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 0x3ff;
    if (exponent == 31)
        return sign | 0x7f800000u | mantissa << 13;
    if (exponent)
        return sign | (exponent + 112) << 23 | mantissa << 13;
    if (mantissa == 0)
        return sign;
    uint32_t shift = (uint32_t)__builtin_clz(mantissa) - 21; /* brings the leading one to bit 10 */
    return sign | (113 - shift) << 23 | (mantissa << shift & 0x3ff) << 13;
}

/* bf16 is the upper half of an f32. */
static void halves_to_f32(enum pith_type type, const uint8_t *src, size_t n, float *dst)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t v = load_le16(src + 2 * i);
        dst[i] = f32_from_bits(type == PITH_F16 ? f32_bits_from_f16(v) : v << 16);
    }
}

/* One switch an element: integers are converted when constants are folded, not when a network
 * runs. */
static void integers_to_f32(enum pith_type type, const uint8_t *src, size_t n, float *dst)
{
    for (size_t i = 0; i < n; i++)
        switch (type) {
        case PITH_I8:
            dst[i] = (int8_t)src[i];
            break;
        case PITH_I16:
            dst[i] = (int16_t)load_le16(src + 2 * i);
            break;
        case PITH_U16:
            dst[i] = load_le16(src + 2 * i);
            break;
        case PITH_I32:
            dst[i] = (float)(int32_t)load_le32(src + 4 * i);
            break;
        case PITH_I64:
            dst[i] = (float)(int64_t)load_le64(src + 8 * i);
            break;
        default:
            dst[i] = src[i];
            break;
        }
}

/* By type first, so that f32 and f64 have loops of their own. */
void pith_elements_to_f32(enum pith_type type, const uint8_t *src, size_t n, float *dst)
{
    switch (type) {
    case PITH_F32:
        for (size_t i = 0; i < n; i++)
            dst[i] = f32_from_bits(load_le32(src + 4 * i));
        break;
    case PITH_F64:
        for (size_t i = 0; i < n; i++)
            dst[i] = (float)f64_from_bits(load_le64(src + 8 * i));
        break;
    case PITH_F16:
    case PITH_BF16:
        halves_to_f32(type, src, n, dst);
        break;
    case PITH_I8:
    case PITH_U8:
    case PITH_BOOL:
    case PITH_I16:
    case PITH_U16:
    case PITH_I32:
    case PITH_I64:
        integers_to_f32(type, src, n, dst);
        break;
    }
}
