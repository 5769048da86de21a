/* SPDX-License-Identifier: MIT */
/* expand_indices_neon.c - 16 at a time: planes of bytes are looked up, and a store that interleaves
 * makes them floats. Indices of 8 bits gain nothing: their floats come one by one from memory. */
#include "look_up_f32.h"

static inline void store(float *to, uint8x16x4_t planes)
{
    vst4q_u8((uint8_t *)to, planes);
}

void pith_expand4_neon(const uint8_t *index, const float *codebook, float *to, size_t n)
{
    const struct planes16 p = planes16_of(codebook);
    for (size_t i = 0; i < n; i += 2 * LOOK_UPS, index += LOOK_UPS) {
        uint8x16_t v = vld1q_u8(index);
        store(to + i, look_up16(&p, vandq_u8(v, vdupq_n_u8(15))));
        store(to + i + LOOK_UPS, look_up16(&p, vshrq_n_u8(v, 4)));
    }
}

void pith_expand5_neon(const uint8_t *index, const float *codebook, float *to, size_t n)
{
    const struct planes32 p = planes32_of(codebook);
    for (size_t i = 0; i < n; i += LOOK_UPS)
        store(to + i, look_up32(&p, vld1q_u8(index + i)));
}
