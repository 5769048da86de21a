/* SPDX-License-Identifier: MIT */
/* Counting symbols. Four tables by turns: equal neighbours would otherwise wait for each other's
 * store (as in zstd's hist.c). */
#include <string.h>
#include "pith_huffman.h"

/* 32-bit counters of one piece cannot overflow. */
#define PIECE ((size_t)1 << 30)

static void count_piece(uint64_t hist[PITH_SYMBOLS], const uint8_t *s, size_t n)
{
    uint32_t count[4][PITH_SYMBOLS];
    size_t i = 0;
    memset(count, 0, sizeof count);
    for (; i + 4 <= n; i += 4) {
        count[0][s[i]]++;
        count[1][s[i + 1]]++;
        count[2][s[i + 2]]++;
        count[3][s[i + 3]]++;
    }
    for (; i < n; i++)
        count[0][s[i]]++;
    for (uint32_t k = 0; k < PITH_SYMBOLS; k++)
        hist[k] += (uint64_t)count[0][k] + count[1][k] + count[2][k] + count[3][k];
}

void pith_histogram_add(uint64_t hist[PITH_SYMBOLS], const uint8_t *symbols, size_t n)
{
    if (!hist || !symbols)
        return;
    for (size_t at = 0; at < n; at += PIECE)
        count_piece(hist, symbols + at, n - at < PIECE ? n - at : PIECE);
}
