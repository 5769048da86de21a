/* SPDX-License-Identifier: MIT */
/* expand_indices.c - the definition of expand (pith_kernel_sparse.h). */
#include "pith_kernel_sparse.h"

void pith_expand4(const uint8_t *index, const float *codebook, float *to, size_t n)
{
    for (size_t i = 0; i < n; i += EXPAND_BLOCK, index += EXPAND_BLOCK / 2)
        for (uint32_t j = 0; j < EXPAND_BLOCK; j++)
            to[i + j] = codebook[index[expand_byte(EXPAND_4, j)] >> j / 16 % 2 * 4 & 15];
}

void pith_expand5(const uint8_t *index, const float *codebook, float *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = codebook[index[i]];
}

/* In the order of `to`, four of a place at a time. */
void pith_expand8(const uint8_t *index, const float *codebook, float *to, size_t n)
{
    for (size_t i = 0; i < n; i += EXPAND_BLOCK, index += EXPAND_BLOCK)
        for (uint32_t j = 0; j < EXPAND_BLOCK; j += 4, to += 4) {
            const uint8_t *four = index + expand_byte(EXPAND_8, j);
            to[0] = codebook[four[0]], to[1] = codebook[four[1]];
            to[2] = codebook[four[2]], to[3] = codebook[four[3]];
        }
}
