/* SPDX-License-Identifier: MIT */
/* gemm_grid_amx.c - gemm_grid on tile registers (Intel AMX, TDPBUSD): 16 pixels by 16 outputs by 64
 * products of u8 and i8 in one instruction. Panels are those of gemm_i8_vnni: a step of 16 outputs
 * by 4 bytes is a row of a tile of weights as it lies. Sums are of integers, so the bits are its,
 * too.
 *
 *     tmm0..3  sums: 2 groups of 16 pixels by 2 panels        tmm4, 5  x, weights of 64 bytes of k
 *                                                             tmm6, 7  those of what is left of k
 *
 * Weights of two panels are multiplied with all pixels before the next ones, so that each comes
 * from far away once. The tile registers are configured and released in each call, so no other code
 * meets them. */
#include "kernels/x86/integer/tiles_amx.h"

#define LINE 64u /* of a cache */

/* What is fetched meanwhile: `lines` with each part of k. */
struct fetched {
    const uint8_t *ahead;
    uint32_t lines;
};

/* One part of k: whole tiles in tmm4 and 5, the rest in 6 and 7. groups and panels are constants
 * where this is used. The sums of a group and panel are in tmm 2 * group + panel. b still holds the
 * second panel's weights when the second group comes, so that is multiplied first: x is loaded once
 * a group, weights are loaded three times and not four. */
#define TILES_DOT(a, b)                                                                            \
    do {                                                                                           \
        _tile_loadd(a, p->x[0] + at, job->x_step);                                                 \
        _tile_loadd(b, w, ROW_BYTES);                                                              \
        _tile_dpbusd(0, a, b);                                                                     \
        if (panels == 2) {                                                                         \
            _tile_loadd(b, w + job->panel_bytes, ROW_BYTES);                                       \
            _tile_dpbusd(1, a, b);                                                                 \
        }                                                                                          \
        if (groups == 2) {                                                                         \
            _tile_loadd(a, p->x[1] + at, job->x_step);                                             \
            if (panels == 2) {                                                                     \
                _tile_dpbusd(3, a, b);                                                             \
                _tile_loadd(b, w, ROW_BYTES);                                                      \
            }                                                                                      \
            _tile_dpbusd(2, a, b);                                                                 \
        }                                                                                          \
    } while (0)

/* The same of two groups and panels where no k is left over, so that all eight tiles are whole. */
#define WHOLE_TILES_DOT()                                                                          \
    do {                                                                                           \
        _tile_loadd(4, p->x[0] + at, job->x_step);                                                 \
        _tile_loadd(5, w, ROW_BYTES);                                                              \
        _tile_dpbusd(0, 4, 5);                                                                     \
        _tile_loadd(6, w + job->panel_bytes, ROW_BYTES);                                           \
        _tile_dpbusd(1, 4, 6);                                                                     \
        _tile_loadd(7, p->x[1] + at, job->x_step);                                                 \
        _tile_dpbusd(2, 7, 5);                                                                     \
        _tile_dpbusd(3, 7, 6);                                                                     \
    } while (0)

/* Weights of the next panels, on the way to the second level. */
#define FETCH_AHEAD                                                                                \
    for (uint32_t i = 0; i < next->lines; i++, ahead += LINE)                                      \
    _mm_prefetch((const char *)ahead, _MM_HINT_T1)

static inline __attribute__((always_inline)) void
block_run(const struct gemm_i8_job *job, const struct block *p, const struct fetched *next,
          uint32_t first, const uint32_t groups, const uint32_t panels, const bool whole)
{
    const uint8_t *w = job->w + first / LANES * job->panel_bytes;
    const size_t bytes = (size_t)job->steps * 4;
    const uint8_t *ahead = next->ahead;
    begin_tiles(job->to.offset + first, groups, panels);
    for (uint32_t s = 0; s < job->segments; s++) {
        size_t at = job->segment[s], left = bytes;
        for (; left >= ROW_BYTES; left -= ROW_BYTES, at += ROW_BYTES, w += GROUP * ROW_BYTES) {
            if (whole)
                WHOLE_TILES_DOT();
            else
                TILES_DOT(4, 5);
            FETCH_AHEAD;
        }
        if (!whole && left) {
            TILES_DOT(6, 7);
            FETCH_AHEAD;
            w += left * LANES;
        }
    }
    end_tiles(job, p, first, groups, panels);
}

/* block_run is inlined for each number of groups and panels, so that its loop over k has no
 * branches. */
static void panels_run(const struct gemm_i8_job *job, const struct block *p,
                       const struct fetched *next, uint32_t groups, uint32_t first)
{
    const bool two = job->n - first > LANES;
    if (groups == 2 && two && job->steps % GROUP == 0)
        block_run(job, p, next, first, 2, 2, true);
    else if (groups == 2 && two)
        block_run(job, p, next, first, 2, 2, false);
    else if (groups == 2)
        block_run(job, p, next, first, 2, 1, false);
    else if (two)
        block_run(job, p, next, first, 1, 2, false);
    else
        block_run(job, p, next, first, 1, 1, false);
}

void pith_gemm_grid_amx(const struct gemm_i8_job *job)
{
    const uint32_t places = places_of(job);
    struct block p = {.rows = places < GROUP ? places : GROUP};
    configure(p.rows, job->steps % GROUP);
    const uint64_t parts = (uint64_t)job->segments * ((job->steps + GROUP - 1) / GROUP);
    const uint64_t blocks = (places + 2 * GROUP - 1) / (2 * GROUP);
    const size_t pair = 2 * job->panel_bytes;
    const uint32_t lines = (uint32_t)((pair / LINE + parts * blocks - 1) / (parts * blocks));
    for (uint32_t first = 0; first < job->n; first += 2 * LANES) {
        struct fetched next = {.ahead = job->w + (first / (2 * LANES) + 1) * pair,
                               .lines = job->n - first >= 4 * LANES ? lines : 0}; /* whole panels */
        for (uint32_t i = 0; i < places;) {
            const uint32_t groups = next_groups(job, places, 2, &i, &p);
            panels_run(job, &p, &next, groups, first);
            next.ahead += next.lines * parts * LINE;
        }
    }
    _tile_release();
}
