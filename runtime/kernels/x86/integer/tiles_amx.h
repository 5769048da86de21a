/* SPDX-License-Identifier: MIT */
/* tiles_amx.h - what kernels on tile registers share (Intel AMX, TDPBUSD): how tiles are
 * configured, and how the sums of 16 pixels by 32 outputs become values. Rows of a tile of x must
 * lie equally far apart, which the places of a grid do (kernel_integer.h); those that are no
 * pixels are multiplied, too, and not stored: copying a window's bytes one behind the other costs
 * more. */
#ifndef TILES_AMX_H
#define TILES_AMX_H

#include <string.h>
#include "kernels/x86/integer/gemm_i8_zmm.h"

#define GROUP 16u     /* pixels of a tile */
#define ROW_BYTES 64u /* of k in a row of a tile */

/* What LDTILECFG reads, 64 bytes. Tiles whose rows are left 0 are not configured and must not be
 * used. */
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

static inline void set_tile(struct tile_config *c, uint32_t tile, uint32_t rows, uint32_t row_bytes)
{
    c->rows[tile] = (uint8_t)rows;
    c->row_bytes[tile] = (uint16_t)row_bytes;
}

/* Of `rows` pixels; `rest`: steps of k behind the last whole tile. TDPBUSD multiplies each four
 * bytes of a row of x with a row of weights of their own, so the rest has short rows in tmm6 and
 * few of them in tmm7. */
static inline void configure(uint32_t rows, uint32_t rest)
{
    struct tile_config c __attribute__((aligned(64))) = {.palette = 1};
    for (uint32_t t = 0; t < 5; t++)
        set_tile(&c, t, rows, ROW_BYTES);
    set_tile(&c, 5, GROUP, ROW_BYTES);
    set_tile(&c, 6, rest ? rows : GROUP, rest ? rest * 4 : ROW_BYTES);
    set_tile(&c, 7, rest ? rest : rows, ROW_BYTES);
    /* gcc's intrinsics of tiles do not say what memory they read: what is stored before must be */
    __asm__ volatile("" : : : "memory");
    _tile_loadconfig(&c);
}

/* A group's sums of the outputs from `first` on: those of pixels, a row of the grid at a time. */
void pith_tiles_store(const struct gemm_i8_job *job, const int32_t sums[2][GROUP][LANES],
                      uint32_t place, uint32_t rows, uint32_t first, uint32_t panels);

#define MOST_GROUPS 4u

/* Groups of pixels: their first bytes, and the numbers of their first places. */
struct block {
    const uint8_t *x[MOST_GROUPS];
    uint32_t place[MOST_GROUPS], rows;
};

/* Places from the first pixel to the last. */
static inline uint32_t places_of(const struct gemm_i8_job *job)
{
    const uint32_t last = job->m - 1;
    return last / job->row * job->pitch + last % job->row + 1;
}

/* The groups from place *i on, `most` at most, and how many; *i moves behind them. The last group
 * ends at the last place and may write again what the one before it wrote. */
static inline uint32_t next_groups(const struct gemm_i8_job *job, uint32_t places, uint32_t most,
                                   uint32_t *i, struct block *p)
{
    uint32_t groups = 0;
    for (; groups < most && *i < places; groups++, *i += GROUP) {
        p->place[groups] = *i + GROUP <= places ? *i : places - p->rows;
        p->x[groups] = job->x[0] + p->place[groups] * job->x_step;
    }
    return groups;
}

/* The sums of a group and panel are in tmm 2 * group + panel. Each row begins with the offsets: a
 * step of 0 repeats them. groups and panels are constants where blocks have little work. */
static inline __attribute__((always_inline)) void
begin_tiles(const int32_t *offset, const uint32_t groups, const uint32_t panels)
{
    _tile_loadd(0, offset, 0);
    if (panels == 2)
        _tile_loadd(1, offset + LANES, 0);
    if (groups == 2) {
        _tile_loadd(2, offset, 0);
        if (panels == 2)
            _tile_loadd(3, offset + LANES, 0);
    }
}

static inline __attribute__((always_inline)) void end_tiles(const struct gemm_i8_job *job,
                                                            const struct block *p, uint32_t first,
                                                            const uint32_t groups,
                                                            const uint32_t panels)
{
    int32_t sums[2][2][GROUP][LANES] __attribute__((aligned(64)));
    _tile_stored(0, sums[0][0], ROW_BYTES);
    if (panels == 2)
        _tile_stored(1, sums[0][1], ROW_BYTES);
    if (groups == 2) {
        _tile_stored(2, sums[1][0], ROW_BYTES);
        if (panels == 2)
            _tile_stored(3, sums[1][1], ROW_BYTES);
    }
    for (uint32_t g = 0; g < groups; g++)
        pith_tiles_store(job, sums[g], p->place[g], p->rows, first, panels);
}

#endif
