/* SPDX-License-Identifier: MIT */
/* pack_rows_f32_impl.h - template of pack_rows_f32: 4 x 4 elements at a time are turned in
 * registers, so that rows are read and panels written in whole vectors; where panels lie side by
 * side already, they are copied. Needs panels of a multiple of 4 rows; what does not fit is left to
 * the reference. Parameters: four, a vector of four floats, four_zero, four_load, four_store,
 * four_turn (of four of them, in place), PACK(name).
 *
 * Packing copies, so every level gives the same bytes. It happens at each run for matrices that
 * are computed, hence a kernel of its own. */
#include "kernels/kernel_dense.h"

/* w: up to 4 rows, ld apart, k elements each, the others are zeros; dst: element (r, i) at
 * i * mr + r. A transposition of 4 x 4 in registers, so both sides are whole vectors. */
static inline __attribute__((always_inline)) void pack_four(const float *w, size_t ld, size_t rows,
                                                            size_t k, uint32_t mr, float *dst)
{
    size_t i = 0;
    for (; i + 4 <= k; i += 4, dst += 4 * (size_t)mr) {
        four row[4];
#pragma GCC unroll 4
        for (size_t r = 0; r < 4; r++)
            row[r] = r < rows ? four_load(w + r * ld + i) : four_zero();
        four_turn(row);
#pragma GCC unroll 4
        for (size_t r = 0; r < 4; r++)
            four_store(dst + r * mr, row[r]);
    }
    for (; i < k; i++, dst += mr)
        for (size_t r = 0; r < 4; r++)
            dst[r] = r < rows ? w[r * ld + i] : 0.0f;
}

/* Panel of `rows` rows, up to mr; mr is a multiple of 4. Rows past the last become zeros, which
 * add nothing to their own sums and are not stored. */
static void pack_panel(const float *w, size_t ld, size_t rows, size_t k, uint32_t mr, float *dst)
{
    for (size_t r = 0; r < mr; r += 4) {
        const float *from = w + (r < rows ? r : 0) * ld;
        /* Constants, or the rows would go through memory. */
        switch (rows > r ? rows - r : 0) {
        case 0:
            pack_four(from, ld, 0, k, mr, dst + r);
            break;
        case 1:
            pack_four(from, ld, 1, k, mr, dst + r);
            break;
        case 2:
            pack_four(from, ld, 2, k, mr, dst + r);
            break;
        case 3:
            pack_four(from, ld, 3, k, mr, dst + r);
            break;
        default:
            pack_four(from, ld, 4, k, mr, dst + r);
        }
    }
}

/* Panel of mr rows whose elements i are neighbours: copies. A transposed matrix has its panel's
 * rows side by side already. */
static void pack_columns(const float *w, size_t step, size_t k, uint32_t mr, float *dst)
{
    for (size_t i = 0; i < k; i++, w += step, dst += mr)
        for (uint32_t r = 0; r < mr; r += 4)
            four_store(dst + r, four_load(w + r));
}

void PACK(pith_pack_rows_f32)(const struct pack_rows_job *job)
{
    const float *w = job->w;
    const size_t ld = job->ld, step = job->step, rows = job->rows, k = job->k;
    const uint32_t mr = job->mr;
    float *dst = job->dst;
    size_t r = 0;
    if (step == 1 && mr % 4 == 0) {
        for (; r < rows; r += mr, dst += job->panel_step)
            pack_panel(w + r * ld, ld, rows - r < mr ? rows - r : mr, k, mr, dst);
        return;
    }
    if (ld == 1 && mr % 4 == 0)
        for (; r + mr <= rows; r += mr, dst += job->panel_step)
            pack_columns(w + r, step, k, mr, dst);
    pith_pack_rows_f32(
        &(struct pack_rows_job){w + r * ld, dst, ld, step, rows - r, k, mr, job->panel_step});
}
