/* SPDX-License-Identifier: MIT */
/* transpose_quads.h - matrices turned 4 x 4 numbers at a time, in vectors that every CPU has. */
#ifndef TRANSPOSE_QUADS_H
#define TRANSPOSE_QUADS_H

#include <stdint.h>
#include <string.h>

typedef float quad __attribute__((vector_size(16)));
typedef int32_t quad_lanes __attribute__((vector_size(16)));

/* Lanes 0..3 of a, 4..7 of b. gcc knows clang's name from 12 on. */
#ifdef __clang__
#define TAKE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define TAKE(a, b, i, j, k, l) __builtin_shuffle(a, b, (quad_lanes){i, j, k, l})
#endif

/* to[j][i] = from[i][j], 4 x 4; *_row: floats from row to row */
static inline __attribute__((always_inline)) void
transpose_quad(const float *from, int64_t from_row, float *to, int64_t to_row)
{
    quad r[4], t[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        memcpy(&r[i], from + i * from_row, sizeof r[i]);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        t[i] = TAKE(r[i], r[i + 2], 0, 4, 1, 5);
        t[i + 2] = TAKE(r[i], r[i + 2], 2, 6, 3, 7);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        r[2 * i] = TAKE(t[2 * i], t[2 * i + 1], 0, 4, 1, 5);
        r[2 * i + 1] = TAKE(t[2 * i], t[2 * i + 1], 2, 6, 3, 7);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        memcpy(to + i * to_row, &r[i], sizeof r[i]);
}

/* to[j][i] = from[i][j] */
static inline void transpose(const float *from, int64_t from_row, int64_t rows, int64_t columns,
                             float *to, int64_t to_row)
{
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
        int64_t j = 0;
        for (; j + 4 <= columns; j += 4)
            transpose_quad(from + i * from_row + j, from_row, to + j * to_row + i, to_row);
        for (; j < columns; j++)
            for (int k = 0; k < 4; k++)
                to[j * to_row + i + k] = from[(i + k) * from_row + j];
    }
    for (; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            to[j * to_row + i] = from[i * from_row + j];
}
#undef TAKE

#endif
