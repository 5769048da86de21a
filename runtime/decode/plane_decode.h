/* SPDX-License-Identifier: MIT */
/* plane_decode.h - floats coded byte by byte (docs/format-streams.md, section 9). */
#ifndef PITH_PLANE_DECODE_H
#define PITH_PLANE_DECODE_H

#include "decode/weight.h"

#define PLANES 4u

/* Where the sign is the lowest bit, the byte above the others is the exponent. */
static inline uint32_t plane_word(uint32_t bits)
{
    return bits << 1 | bits >> 31;
}

static inline uint32_t plane_bits(uint32_t word)
{
    return word >> 1 | word << 31;
}

/* May w be coded so? Validation calls it; the decoder relies on it. */
bool pith_planes_allow(const struct weight *w);

/* Scratch of pith_planes_expand: follows the size of w, up to some 50 KB. */
size_t pith_planes_scratch_bytes(const struct weight *w);

/* dst: [w->count]. PITH_ERR_CORRUPT; dst is then unspecified. */
enum pith_status pith_planes_expand(const struct weight *w, float *dst, void *scratch);

#endif
