/* SPDX-License-Identifier: MIT */
/* gram_tile_impl.h - one tile, in vectors of VECTOR_BYTES. Lanes are elements of the sum, so their
 * width changes no bit. */
#include <string.h>

#include "gram_tile.h"

typedef float vec __attribute__((vector_size(VECTOR_BYTES)));

#define LANES (VECTOR_BYTES / sizeof(float))
#define PAIRS                                                                                      \
    (GRAM_TILE_COLS / (2 * LANES)) /* of vectors: what registers hold beside each other            \
                                    */

static inline vec load(const float *p)
{
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void two_vectors(const float *restrict a, size_t n_a, const float *restrict b,
                               size_t n_b, size_t count, float *restrict sum)
{
    vec s[GRAM_TILE_ROWS][2] = {{{0}}};
    for (size_t row = 0; row < count; row++, a += n_a, b += n_b) {
        vec b0 = load(b), b1 = load(b + LANES);
#pragma GCC unroll 6
        for (size_t i = 0; i < GRAM_TILE_ROWS; i++) {
            s[i][0] += a[i] * b0;
            s[i][1] += a[i] * b1;
        }
    }
    for (size_t i = 0; i < GRAM_TILE_ROWS; i++)
        memcpy(sum + i * GRAM_TILE_COLS, s[i], sizeof s[i]);
}

void GRAM_TILE(const float *a, size_t n_a, const float *b, size_t n_b, size_t count, float *sum)
{
    for (size_t k = 0; k < PAIRS; k++)
        two_vectors(a, n_a, b + 2 * k * LANES, n_b, count, sum + 2 * k * LANES);
}
