/* SPDX-License-Identifier: MIT */
/* turn.h - copies of rows whose elements lie apart, and planes that are turned: rows become
 * columns. Elements are moved as unsigned integers of their size; what they stand for does not
 * matter. */
#ifndef TURN_H
#define TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where planes are turned in registers. */
#if defined(__SSE2__) || defined(__aarch64__)
#define TURNS
#endif

/* memcpy for runs that are mostly short. */
void pith_copy_bytes(void *to, const void *from, size_t n);

/* n elements of `bytes` bytes (1, 2, 4 or 8), `step` elements apart in the source and `apart` in
 * the destination. */
void pith_copy_row(const void *src, ptrdiff_t step, void *dst, size_t apart, size_t n,
                   uint32_t bytes);

/* A plane whose rows become columns, and each row `times` of them:
 *
 *     dst[c * apart + r] = src[r / times * step + c], r < rows, c < columns */
struct turned {
    ptrdiff_t step;       /* elements */
    size_t apart;         /* elements */
    size_t rows, columns; /* of dst: columns of `rows` elements */
    uint32_t bytes;       /* of an element: 1, 2, 4 or 8 */
    uint32_t times;       /* > 0 */
};

/* src and dst do not overlap and are aligned to elements. */
void pith_turn(const struct turned *t, const void *src, void *dst);

#endif
