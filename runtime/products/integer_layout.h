/* SPDX-License-Identifier: MIT */
/* integer_layout.h - how an integer convolution is cut up, and where its parts lie:
 *
 *     prep    = sums of weights [rounded outputs] | table | packed weights, group by group
 *     scratch = offsets, factors [rounded outputs] | segments
 *               | a lane: pixel pointers | a tile of y | windows | sums | ...
 *               | a band [in_rows, width, channels] | ...
 *
 * Each lane has a band, which it fills anew for each of its units; where several units read the
 * same one, for parts of the outputs, all bands are filled first.
 */
#ifndef INTEGER_LAYOUT_H
#define INTEGER_LAYOUT_H

#include "kernels/kernels.h"

#define TILE 96u  /* pixels a kernel call at most: a panel of weights is read once for so many */
#define PART 64u  /* outputs; a multiple of every nr */
#define TABLE 64u /* bytes of the table of weights' values */
/* Of depthwise products whose weights have a zero point: pixels at a time, and taps, whose sums of
 * bytes 16 bits hold. */
#define FEW_PIXELS 16u
#define MOST_TAPS 257u

/* How weights are packed: each in a byte (or two), nonzeros in slots, or nine as 36 numbers of 16
 * bits. */
enum integer_packing { PACK_PLAIN, PACK_SLOTS, PACK_WINOGRAD };

/* Pixels are places of a band, `width` of them in a row. Column x of a band is element x % across
 * of place x / step_w, row y likewise: elements lie across_bytes and down_bytes apart, in planes of
 * places where they are not folded into one, and channels channel_bytes. Rows of windows that are
 * all in a place overlap. */
struct integer_grid {
    bool used;        /* l->gemm is gemm_grid */
    bool folded;      /* a place has all columns up to the next one ... */
    bool rows_folded; /* and rows up to the next one, or all of a window's */
    uint32_t down, across, step_h, step_w, channel_bytes;
    uint64_t down_bytes, across_bytes;
};

/* The packed weight. */
struct integer_prep {
    uint64_t panel_bytes, group_bytes, packed_at, bytes;
};

struct integer_scratch {
    uint64_t band_bytes, tile_bytes, lane_bytes, segment_at, lanes_at, bands_at, bytes;
    uint64_t sums_at; /* in a lane; where weights have a zero point */
};

/* What follows from the geometry and the level. */
struct integer_layout {
    bool depthwise, in_place;
    enum integer_packing packing;
    struct {
        bool in_spans, halved, fetch;
    } slots; /* PACK_SLOTS */
    bool filled_first;
    struct integer_grid grid;
    uint32_t cg, og, segments, run, steps; /* run: elements of a segment */
    uint32_t rounded; /* outputs of a group, or all channels, in whole panels */
    uint32_t rows, bands, parts, chunks;
    uint32_t nr, k_step; /* of the panels */
    uint8_t middle;      /* that the kernels take off x */
    bool wide;
    /* PACK_SLOTS of windows of several rows: a window is copied and is one segment. Those of `tile`
     * pixels lie window_bytes apart in a lane; 0: nothing is copied. */
    uint32_t tile;
    uint64_t window_bytes;
    void (*gemm)(const struct gemm_i8_job *job); /* of bytes or words */
    uint64_t width, in_rows, pixel, row;         /* of what kernels read; the latter two in bytes */
    struct integer_prep prep;
    struct integer_scratch scratch;
};

static inline uint32_t least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

#endif
