/* SPDX-License-Identifier: MIT */
/* stats_read.h - one entry of the chunk `stat` (docs/format.md, section 10). */
#ifndef PITH_STATS_READ_H
#define PITH_STATS_READ_H

#include "core/bytes.h"
#include "core/tensor.h"

#define STATS_KEPT 1u     /* flags: statistics follow */
#define STATS_CHANNELS 2u /* by channel too; only with STATS_KEPT */
#define STATS_GRID 4u     /* a grid follows */
#define STATS_MAX_BINS 2048u
#define STATS_MIN_EXPONENT (-126)
#define STATS_MAX_EXPONENT 118 /* 2^10 such bins reach past the largest f32 */
#define STATS_SUM_BYTES 80u    /* of an exact sum: bit 0 of byte 0 is worth 2^STATS_SUM_EXPONENT */
#define STATS_SUM_EXPONENT (-320)
#define STATS_METHODS 5u

/* Bytes lowest..lowest + n - 1 of a two's complement number of STATS_SUM_BYTES: zeros below, the
 * sign above. */
struct stats_sum {
    const uint8_t *bytes;
    uint32_t lowest, n;
};

struct stats_entry {
    uint32_t value, flags;
    float min, max;
    uint64_t n, n_samples, n_zero;
    struct stats_sum sum, sum_squares;
    uint32_t n_bins;
    int32_t exponent, first;
    struct reader bins; /* at the counts */
    uint32_t n_channels, channel_axis;
    struct reader channels; /* at the first: smallest, largest, sum */
    enum pith_type grid_type;
    uint32_t grid_bits, grid_method, n_scales, grid_axis;
    int32_t zero_point;
    struct reader scales;
};

/* Reads and checks all of an entry. next: the value behind the last entry's; moved on. false:
 * broken, r->p is then somewhere in the entry. */
bool pith_stats_entry_read(struct reader *r, uint64_t *next, uint32_t n_values,
                           struct stats_entry *e);
bool pith_stats_sum_read(struct reader *r, struct stats_sum *sum);
/* The next k bins hold *count each, k = the result: more than one only where *count is 0; 0:
 * broken. */
uint32_t pith_stats_bins_read(struct reader *r, uint64_t *count);

#endif
