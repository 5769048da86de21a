/* SPDX-License-Identifier: MIT */
/* gemm_i8_amx.c - gemm_i8 on tile registers (Intel AMX, TDPBUSD): 16 pixels by 16 outputs by 64
 * products of u8 and i8 in one instruction. Panels are those of gemm_i8_vnni: a step of 16 outputs
 * by 4 bytes is a row of a tile of weights as it lies. Sums are of integers, so the bits are its,
 * too.
 *
 *     tmm0..3  sums: 2 groups of 16 pixels by 2 panels        tmm4, 5  x, weights of 64 bytes of k
 *                                                             tmm6, 7  those of what is left of k
 *
 * Rows of a tile of x must lie equally far apart. Pixels of one segment mostly do; others, and
 * all of several segments (a convolution's taps), are copied one behind the other before.
 *
 * The tile registers are configured and released in each call, so no other code meets them. */
#include <string.h>
#include "gemm_i8_zmm.h"

#define GROUP 16u          /* pixels of a tile */
#define ROW_BYTES 64u      /* of k in a row of a tile */
#define STAGE_BYTES 73728u /* copied pixels, on the stack: 16 of 3 x 3 x 512 bytes, 32 of 256 */
/* Below, configuring tiles and copying pixels cost more than they save. */
#define LEAST_BYTES 64u

void pith_gemm_i8_vnni(const struct gemm_i8_job *job);

/* What LDTILECFG reads, 64 bytes. Tiles whose rows are left 0 are not configured and must not be
 * used. */
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* gcc's intrinsics of tiles do not say what memory they read: what is stored before must be. */
static inline void stores_are_done(void)
{
    __asm__ volatile("" : : : "memory");
}

/* `rest`: steps of k behind the last whole tile. tmm6 has full height and short rows, tmm7 full
 * rows and few of them: TDPBUSD multiplies each four bytes of a row of x with a row of weights of
 * their own. */
static void configure(uint32_t rest)
{
    struct tile_config c __attribute__((aligned(64))) = {.palette = 1};
    for (int t = 0; t < 6; t++) {
        c.row_bytes[t] = ROW_BYTES;
        c.rows[t] = GROUP;
    }
    if (rest) {
        c.row_bytes[6] = (uint16_t)(rest * 4);
        c.rows[6] = GROUP;
        c.row_bytes[7] = ROW_BYTES;
        c.rows[7] = (uint8_t)rest;
    }
    stores_are_done();
    _tile_loadconfig(&c);
}

/* Up to two groups of pixels, each row `step` bytes behind the one before. */
struct pixels {
    const uint8_t *x[2];
    size_t step[2];
    uint32_t first[2]; /* number of its first pixel */
};

/* One part of k: whole tiles in tmm4 and 5, the rest in 6 and 7. groups and panels are constants
 * where this is used. The sums of a group and panel are in tmm 2 * group + panel. b still holds the
 * second panel's weights when the second group comes, so that is multiplied first: x is loaded once
 * a group, weights are loaded three times and not four. */
#define TILES_DOT(a, b)                                                                            \
    do {                                                                                           \
        _tile_loadd(a, p->x[0] + at, p->step[0]);                                                  \
        _tile_loadd(b, w, ROW_BYTES);                                                              \
        _tile_dpbusd(0, a, b);                                                                     \
        if (panels == 2) {                                                                         \
            _tile_loadd(b, w + job->panel_bytes, ROW_BYTES);                                       \
            _tile_dpbusd(1, a, b);                                                                 \
        }                                                                                          \
        if (groups == 2) {                                                                         \
            _tile_loadd(a, p->x[1] + at, p->step[1]);                                              \
            if (panels == 2) {                                                                     \
                _tile_dpbusd(3, a, b);                                                             \
                _tile_loadd(b, w, ROW_BYTES);                                                      \
            }                                                                                      \
            _tile_dpbusd(2, a, b);                                                                 \
        }                                                                                          \
    } while (0)

/* With one panel its sums are loaded twice; n leaves out the second ones. */
static void store_sums(const struct gemm_i8_job *job, const int32_t sums[2][GROUP][LANES],
                       uint32_t pixel, uint32_t first, uint32_t panels)
{
    uint32_t left = job->n - first, n = left < panels * LANES ? left : panels * LANES;
    uint8_t *y = job->y + pixel * job->y_step;
    for (uint32_t i = 0; i < GROUP; i++, y += job->y_step) {
        const ivec acc[2] = {ivec_load(sums[0][i]), ivec_load(sums[panels - 1][i])};
        if (!job->to.factor)
            memcpy(y + first * sizeof(int32_t), acc, n * sizeof(int32_t));
        else if (panels == 2)
            store_values(y + first, acc, 2, n, &job->to, first);
        else
            store_values(y + first, acc, 1, n, &job->to, first);
    }
}

static inline __attribute__((always_inline)) void block_run(const struct gemm_i8_job *job,
                                                            const struct pixels *p, uint32_t first,
                                                            const uint32_t groups,
                                                            const uint32_t panels)
{
    int32_t sums[2][2][GROUP][LANES] __attribute__((aligned(64)));
    const uint8_t *w = job->w + first / LANES * job->panel_bytes;
    const int32_t *offset = job->to.offset + first;
    const size_t bytes = (size_t)job->segments * job->steps * 4;
    size_t at = 0;
    /* each row begins with the offsets: a step of 0 repeats them */
    _tile_loadd(0, offset, 0);
    if (panels == 2)
        _tile_loadd(1, offset + LANES, 0);
    if (groups == 2) {
        _tile_loadd(2, offset, 0);
        if (panels == 2)
            _tile_loadd(3, offset + LANES, 0);
    }
    for (; at + ROW_BYTES <= bytes; at += ROW_BYTES, w += GROUP * ROW_BYTES)
        TILES_DOT(4, 5);
    if (at < bytes)
        TILES_DOT(6, 7);
    _tile_stored(0, sums[0][0], ROW_BYTES);
    if (panels == 2)
        _tile_stored(1, sums[0][1], ROW_BYTES);
    if (groups == 2) {
        _tile_stored(2, sums[1][0], ROW_BYTES);
        if (panels == 2)
            _tile_stored(3, sums[1][1], ROW_BYTES);
    }
    for (uint32_t g = 0; g < groups; g++)
        store_sums(job, sums[g], p->first[g], first, panels);
}

/* block_run is inlined for each number of groups and panels, so that its loop over k has no
 * branches. */
static void panels_run(const struct gemm_i8_job *job, const struct pixels *p, uint32_t groups,
                       uint32_t first)
{
    const bool two = job->n - first > LANES;
    if (groups == 2 && two)
        block_run(job, p, first, 2, 2);
    else if (groups == 2)
        block_run(job, p, first, 2, 1);
    else if (two)
        block_run(job, p, first, 1, 2);
    else
        block_run(job, p, first, 1, 1);
}

/* ---- where pixels lie ------------------------------------------------------------------------ */

/* The distance of 16 pixels of one segment; 0: they are not equally far apart. Tiles are loaded by
 * rows that lie at a fixed distance, forwards: pixels at the end of an output row may not. */
static size_t step_of(const struct gemm_i8_job *job, uint32_t first)
{
    const uint8_t *const *x = job->x + first;
    const ptrdiff_t step = x[1] - x[0];
    if (job->segments != 1 || step <= 0)
        return 0;
    for (uint32_t i = 2; i < GROUP; i++)
        if (x[i] - x[i - 1] != step)
            return 0;
    return (size_t)step;
}

/* All segments of 16 pixels, one behind the other. */
static void copy_group(const struct gemm_i8_job *job, uint32_t first, uint8_t *to, size_t bytes)
{
    const size_t n = (size_t)job->steps * 4;
    for (uint32_t i = 0; i < GROUP; i++, to += bytes) {
        uint8_t *row = to;
        for (uint32_t s = 0; s < job->segments; s++, row += n) {
            const uint8_t *from = job->x[first + i] + job->segment[s];
            size_t k = 0;
            for (; k + 64 <= n; k += 64)
                _mm512_storeu_si512(row + k, _mm512_loadu_si512(from + k));
            if (k < n) {
                const __mmask16 rest = (__mmask16)((1u << (n - k) / 4) - 1);
                _mm512_mask_storeu_epi32(row + k, rest, _mm512_maskz_loadu_epi32(rest, from + k));
            }
        }
    }
}

/* Group g of p begins at pixel `first`; stage has room for it, or is NULL where none is copied. */
static void place_group(const struct gemm_i8_job *job, struct pixels *p, uint32_t g, uint32_t first,
                        uint8_t *stage, size_t bytes)
{
    p->first[g] = first;
    p->step[g] = step_of(job, first);
    p->x[g] = job->x[first] + job->segment[0];
    if (p->step[g])
        return;
    p->step[g] = bytes;
    p->x[g] = stage + g * GROUP * bytes;
    copy_group(job, first, stage + g * GROUP * bytes, bytes);
}

/* The last group ends at the last pixel and may write again what the one before it wrote. */
static void pixels_run(const struct gemm_i8_job *job, uint32_t most, size_t bytes)
{
    uint8_t stage[STAGE_BYTES] __attribute__((aligned(64)));
    for (uint32_t i = 0; i < job->m;) {
        struct pixels p;
        uint32_t groups = 0;
        for (; groups < most && i < job->m; groups++, i += GROUP) {
            uint32_t first = i + GROUP <= job->m ? i : job->m - GROUP;
            place_group(job, &p, groups, first, stage, bytes);
        }
        stores_are_done();
        for (uint32_t first = 0; first < job->n; first += 2 * LANES)
            panels_run(job, &p, groups, first);
    }
}

/* Whether pixels have to be copied is seen group by group, so a job of which 16 would not fit the
 * stage is not begun here, even if none would have to be. Two groups are taken where the stage has
 * room for both. */
void pith_gemm_i8_amx(const struct gemm_i8_job *job)
{
    const size_t bytes = (size_t)job->segments * job->steps * 4;
    const uint32_t fit = (uint32_t)(STAGE_BYTES / GROUP / (bytes ? bytes : 1));
    if (job->m < GROUP || bytes < LEAST_BYTES || fit == 0) {
        pith_gemm_i8_vnni(job);
        return;
    }
    configure((uint32_t)(bytes % ROW_BYTES / 4));
    pixels_run(job, fit < 2 ? 1 : 2, bytes);
    _tile_release();
}
