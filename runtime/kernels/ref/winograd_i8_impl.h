/* SPDX-License-Identifier: MIT */
/* winograd_i8_impl.h - template of the transforms of Winograd's F(4x4, 3x3) on integers
 * (kernel_integer.h; Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, on the
 * points 0, +-1, +-2 and infinity). Lanes are channels, as they lie side by side.
 *
 * The filter's side, which packing does once (integer_winograd.c), is 24 G, but 6 in its last row,
 * for which A^T has 4 there; so nothing is a fraction:
 *
 *     B^T = 4  0 -5  0  1  0     G' =  6  0  0     A^T = 1  1  1  1  1  0
 *           0 -4 -4  1  1  0          -4 -4 -4           0  1 -1  2 -2  0
 *           0  4 -4 -1  1  0          -4  4 -4           0  1  1  4  4  0
 *           0 -2 -1  2  1  0           1  2  4           0  1 -1  8 -8  4
 *           0  2 -1 -2  1  0           1 -2  4
 *           0  4  0 -5  0  1           0  0  6
 *
 * Rows of B^T have absolute sums of 10 at most, those of G' of 12: bytes become 100 and 144 times
 * as large at most.
 *
 * Parameters: ISA(name); words, WORDS and load_bytes: a vector of i16, how many, and so many bytes
 * as i16, behind the n-th 0; sums, SUMS, sums_shifted: the same of u32; floats; struct finish and
 * finish_of, what is the same for all values; store_bytes: sums as values, store_first: n of them.
 */
#include <string.h>
#include "kernels/kernel_integer.h"

#define SIDE 6
#define OUT 4
#define UNROLL _Pragma("GCC unroll 6")

/* Six elements to six, along a row or a column: B^T d. Multiples are shifts. */
static inline __attribute__((always_inline)) void line_in(const words *d, const size_t from,
                                                          words *to, const size_t step)
{
    const words d1 = d[from], d2 = d[2 * from], d3 = d[3 * from], d4 = d[4 * from];
    const words even = d4 - (d2 << 2), odd = d3 - (d1 << 2);
    const words near = d4 - d2, far = (d3 - d1) << 1;
    to[0] = ((d[0] - d2) << 2) + near;
    to[step] = even + odd;
    to[2 * step] = even - odd;
    to[3 * step] = near + far;
    to[4 * step] = near - far;
    to[5 * step] = d[5 * from] - d3 - (far << 1);
}

/* A column's elements need all registers there are, so columns are one loop and not 36 names. */
void ISA(pith_winograd_i8_in)(const struct winograd_i8_in *job)
{
    for (uint32_t c = 0; c < job->channels; c += WORDS) {
        const uint32_t n = job->channels - c < WORDS ? job->channels - c : WORDS;
        words d[SIDE * SIDE], to[SIDE];
        for (size_t j = 0; j < SIDE; j++) {
            const uint8_t *x = job->x + j * job->pixel + c;
            UNROLL for (size_t i = 0; i < SIDE; i++) to[i] =
                load_bytes(x + i * job->row, n, job->flip);
            line_in(to, 1, d + j, SIDE);
        }
        int16_t *v = job->v + c;
        for (size_t i = 0; i < SIDE; i++) {
            line_in(d + SIDE * i, 1, to, 1);
            UNROLL for (size_t j = 0; j < SIDE; j++, v += job->step)
                memcpy(v, &to[j], sizeof to[j]);
        }
    }
}

/* Six sums to four: A^T m, modulo 2^32. */
static inline __attribute__((always_inline)) void line_out(const sums *m, sums *to,
                                                           const size_t step)
{
    const sums p = m[1] + m[2], q = m[1] - m[2], r = m[3] + m[4], s = m[3] - m[4];
    to[0] = m[0] + p + r;
    to[step] = q + (s << 1);
    to[2 * step] = p + (r << 2);
    to[3 * step] = q + (s << 3) + (m[5] << 2);
}

/* Whole tiles of whole vectors, which nearly all are, have a loop without tests. */
void ISA(pith_winograd_i8_out)(const struct winograd_i8_out *job)
{
    const struct finish f = finish_of(&job->to);
    const uint32_t rows = job->rows, columns = job->columns;
    const size_t pixel = job->y_pixel;
    for (uint32_t o = 0; o < job->outputs; o += SUMS) {
        const uint32_t n = job->outputs - o < SUMS ? job->outputs - o : SUMS;
        const int32_t *m = job->m + o;
        sums half[SIDE * OUT], to[OUT], six[SIDE], offset;
        floats factor;
        /* half[y * SIDE + x]: columns first */
        for (size_t x = 0; x < SIDE; x++) {
            UNROLL for (size_t y = 0; y < SIDE; y++)
                memcpy(&six[y], m + (y * SIDE + x) * job->step, sizeof six[y]);
            line_out(six, half + x, SIDE);
        }
        memcpy(&offset, job->to.offset + o, sizeof offset);
        memcpy(&factor, job->to.factor + o, sizeof factor);
        uint8_t *y = job->y + o;
        for (uint32_t i = 0; i < rows; i++, y += job->y_row) {
            line_out(half + SIDE * i, to, 1);
            /* 576 y to y: the inverse of 9 leaves 64 y, whose last bits are 0 */
            for (size_t j = 0; j < OUT; j++)
                to[j] = sums_shifted(to[j] * WINOGRAD_I8_INVERSE) + offset;
            if (columns == OUT && n == SUMS) {
                UNROLL for (size_t j = 0; j < OUT; j++)
                    store_bytes(y + j * pixel, to[j], factor, &f);
            } else {
                for (size_t j = 0; j < columns; j++)
                    store_first(y + j * pixel, to[j], n, factor, &f);
            }
        }
    }
}
