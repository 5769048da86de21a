/* SPDX-License-Identifier: MIT */
/* rans_rows.c - reference of kernel_decode.h. No branch depends on the data: a word is always
 * read, and taken where the state is low (by arithmetic, which a compiler makes no branch of). */
#include "core/bytes.h"
#include "kernels/kernel_decode.h"

size_t pith_rans_rows(uint32_t *state, const uint32_t *entries, const uint8_t **in,
                      const uint8_t *in_end, uint8_t *out, size_t rows)
{
    const uint8_t *at = *in;
    size_t row = 0;
    for (; row < rows && (size_t)(in_end - at) >= RANS_ROW_BYTES; row++)
        for (uint32_t i = 0; i < RANS_LANES; i++) {
            /* The slot of the state gives symbol, frequency and place in one load. */
            uint32_t x = state[i], e = entries[x & ((1u << RANS_BITS) - 1)];
            *out++ = (uint8_t)e;
            x = (e >> 20) * (x >> RANS_BITS) + (e >> 8 & 0xfff);
            uint32_t low = x < RANS_LOW;
            state[i] = x << 16 * low | (load_le16(at) & (0 - low));
            at += 2 * low;
        }
    *in = at;
    return row;
}
