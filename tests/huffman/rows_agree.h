/* SPDX-License-Identifier: MIT */
/* rows_agree.h - what runtime/decode/weight_rows.h reads is what pith_weight_expand_f32 expands:
 * the same bits in rows of any length, and the same refusals. */
#ifndef ROWS_AGREE_H
#define ROWS_AGREE_H

#include <stdlib.h>
#include <string.h>
#include "core/bytes.h"
#include "guard_page.h"
#include "decode/gap_decode.h"
#include "decode/weight_rows.h"

static inline void rows_are(const struct weight *w, const float *whole, uint32_t row, void *mem)
{
    struct weight_rows *r = pith_weight_rows_open(w, mem);
    float *dst = malloc(row * sizeof *dst), sum[2], x[2] = {2, 3};
    for (uint64_t at = 0; at < w->count; at += row) {
        uint32_t n = w->count - at < row ? (uint32_t)(w->count - at) : row;
        if (n == 1) { /* two rows of x at once */
            pith_weight_rows_dot(r, x, 1, sum, 2, 1);
            bool is_nan = whole[at] != whole[at];
            assert_true(is_nan || (sum[0] == 2 * whole[at] && sum[1] == 3 * whole[at]));
            continue;
        }
        pith_weight_rows_f32(r, dst, n);
        assert_memory_equal(dst, whole + at, n * sizeof *dst);
    }
    free(dst);
}

/* status: of expanding w to whole[count]. */
static inline void rows_agree(const struct weight *w, enum pith_status status, const float *whole)
{
    struct guarded mem = guard_new(pith_weight_rows_bytes(w), 1);
    assert_int_equal(pith_weight_rows_check(w, mem.data), status);
    if (status == PITH_OK && w->count) {
        rows_are(w, whole, 1, mem.data);
        rows_are(w, whole, 37, mem.data);
        rows_are(w, whole, (uint32_t)w->count, mem.data);
    }
    guard_free(&mem);
}

#endif
