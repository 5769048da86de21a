/* SPDX-License-Identifier: MIT */
/* slice_encode.h - a tensor in slices of rows (docs/format-streams.md, section 11), whatever codes
 * one of them. */
#ifndef SLICE_ENCODE_H
#define SLICE_ENCODE_H

#include "decode/row_slices.h"

/* A slice of `rows` rows from `row` on, which begins with counters that know nothing; dst NULL:
 * only counts. */
typedef enum pith_status slice_encode_fn(const void *arg, uint64_t row, uint64_t rows, uint8_t *dst,
                                         size_t cap, size_t *bytes);

struct slice_code {
    uint64_t all, rows; /* of the tensor, of a slice: 1 .. all - 1 */
    slice_encode_fn *encode;
    const void *arg;        /* what it gets */
    const uint64_t *stored; /* [all] stored elements of each row, where the directory has them;
                               else NULL */
};

/* dst NULL: only counts. Needs more room than *bytes by what the longest directory would take.
 * PITH_ERR_ARGUMENT: rows are not such; PITH_ERR_SPACE, PITH_ERR_MEMORY, and what encode says. */
enum pith_status pith_slices_encode(const struct slice_code *c, uint8_t *dst, size_t cap,
                                    size_t *bytes);

#endif
