/* SPDX-License-Identifier: MIT */
/* stats_read.c - the syntax of the chunk `stat` and what must hold in it. The runtime only
 * checks it; the toolchain reads it by the same functions.
 *
 * The chunk holds what calibration saw of each value: extremes, exact sums, a histogram, and the
 * grid that was chosen. Sums are fixed-point numbers of 640 bits, in which adding f32 and their
 * squares is exact and so does not depend on an order: parts of a data set, measured apart,
 * merge to the same bytes. */
#include "validate/stats_read.h"

/* All exponent bits set are infinity and NaN. */
static bool finite_f32(float x)
{
    return (f32_bits(x) & 0x7f800000u) != 0x7f800000u;
}

/* No leading zero byte and no byte that only repeats the sign: one spelling a number. */
bool pith_stats_sum_read(struct reader *r, struct stats_sum *sum)
{
    sum->lowest = (uint32_t)rd_varint(r, STATS_SUM_BYTES - 1);
    sum->n = (uint32_t)rd_varint(r, STATS_SUM_BYTES - sum->lowest);
    sum->bytes = rd_bytes(r, sum->n);
    if (r->bad || sum->n == 0)
        return !r->bad && sum->lowest == 0;
    const uint8_t *b = sum->bytes;
    uint32_t n = sum->n;
    bool sign_only =
        n > 1 && ((b[n - 1] == 0 && b[n - 2] < 128) || (b[n - 1] == 255 && b[n - 2] >= 128));
    return b[0] != 0 && !sign_only;
}

/* Runs of empty bins are stored as their number, for histograms have long tails. */
uint32_t pith_stats_bins_read(struct reader *r, uint64_t *count)
{
    *count = rd_varint(r, UINT64_MAX);
    uint32_t more = *count == 0 ? (uint32_t)rd_varint(r, STATS_MAX_BINS) : 0;
    return r->bad ? 0 : 1 + more;
}

/* Counts that are not 0 at both ends and sum to all numbers that are not 0; no run of zeros
 * behind another. `needed`: a bin that must not be empty because the histogram ends there, or
 * because the bin before it was: then the run would have been longer. */
static bool check_bins(struct reader *r, const struct stats_entry *e)
{
    uint64_t total = 0, count = 0;
    for (uint32_t i = 0; i < e->n_bins;) {
        uint64_t before = i == 0 ? 0 : count;
        uint32_t run = pith_stats_bins_read(r, &count);
        bool needed = i == 0 || i + run >= e->n_bins || before == 0;
        if (run == 0 || run > e->n_bins - i || (needed && count == 0) ||
            !add_ok(total, count, &total))
            return false;
        i += run;
    }
    return total == e->n - e->n_zero;
}

/* The bin of x at a width of 2^exponent, and far outside where it is that. The cast truncates
 * toward 0, so negative numbers are one bin lower. Both bounds are far outside of the 2,048
 * bins, hence no overflow. */
static int32_t bin_of(float x, int32_t exponent)
{
    float k = x * f32_from_bits((uint32_t)(127 - exponent) << 23); /* exponent 1..253: normal */
    float most = 2 * STATS_MAX_BINS;
    return k >= most ? (int32_t)most : k <= -most ? -(int32_t)most : (int32_t)k - (x < 0);
}

/* Whether bins of this width cover both extremes. */
static bool reaches(const struct stats_entry *e, int32_t exponent)
{
    int32_t low = e->min < 0 ? bin_of(e->min, exponent) : 0;
    int32_t high = e->max > 0 ? bin_of(e->max, exponent) : 0;
    return high - low < (int32_t)STATS_MAX_BINS;
}

/* The exponent follows from the extremes, and they lie in the outermost bins. The smallest width
 * that does is the only one allowed: merged histograms then agree. */
static bool extremes_fit(const struct stats_entry *e)
{
    int32_t last = e->first + (int32_t)e->n_bins - 1;
    if (!reaches(e, e->exponent) ||
        (e->exponent > STATS_MIN_EXPONENT && reaches(e, e->exponent - 1)))
        return false;
    bool low = e->min == 0 ? e->first >= 0 : bin_of(e->min, e->exponent) == e->first;
    return low && (e->max == 0 ? last < 0 : bin_of(e->max, e->exponent) == last);
}

/* exponent and first place the bins: bin i covers (first + i) .. (first + i + 1) times
 * 2^exponent. */
static bool read_bins(struct reader *r, struct stats_entry *e)
{
    e->n_bins = (uint32_t)rd_varint(r, STATS_MAX_BINS);
    if (e->n_bins == 0)
        return !r->bad;
    e->exponent = (int32_t)rd_svarint(r, STATS_MIN_EXPONENT, STATS_MAX_EXPONENT);
    e->first = (int32_t)rd_svarint(r, -(int32_t)STATS_MAX_BINS, (int32_t)STATS_MAX_BINS - 1);
    e->bins = *r;
    return !r->bad && extremes_fit(e) && check_bins(r, e);
}

/* Extremes and sum of each channel, for bias correction and equalization. */
static bool read_channels(struct reader *r, struct stats_entry *e)
{
    e->n_channels = (uint32_t)rd_varint(r, INT32_MAX);
    e->channel_axis = rd_u8(r);
    e->channels = *r;
    if (r->bad || e->n_channels == 0 || e->channel_axis >= PITH_MAX_RANK)
        return false;
    for (uint32_t i = 0; i < e->n_channels; i++) {
        struct stats_sum sum;
        float min = f32_from_bits(rd_le32(r)), max = f32_from_bits(rd_le32(r));
        if (!finite_f32(min) || !finite_f32(max) || min > max || !pith_stats_sum_read(r, &sum))
            return false;
    }
    return true;
}

/* Samples and numbers: n_samples <= n, since a sample has at least one. */
static bool read_stats(struct reader *r, struct stats_entry *e)
{
    e->n_samples = rd_varint(r, e->n);
    e->n_zero = rd_varint(r, e->n);
    if (r->bad || e->n == 0 || e->n_samples == 0 || !finite_f32(e->min) || !finite_f32(e->max))
        return false;
    return pith_stats_sum_read(r, &e->sum) && pith_stats_sum_read(r, &e->sum_squares) &&
           read_bins(r, e) && (!(e->flags & STATS_CHANNELS) || read_channels(r, e));
}

/* One scale, or one for each place of an axis. */
static bool read_scales(struct reader *r, struct stats_entry *e)
{
    e->n_scales = (uint32_t)rd_varint(r, INT32_MAX);
    e->grid_axis = e->n_scales > 1 ? rd_u8(r) : 0;
    e->scales = *r;
    if (r->bad || e->n_scales == 0 || e->grid_axis >= PITH_MAX_RANK)
        return false;
    for (uint32_t i = 0; i < e->n_scales; i++) {
        /* Positive floats are ordered as their bits. */
        uint32_t bits = rd_le32(r); /* as an integer: positive, not subnormal, finite */
        if (r->bad || bits < 0x00800000u || bits >= 0x7f800000u)
            return false;
    }
    return true;
}

/* Grids of 2 to 8 bits in bytes, of 9 to 16 in words. */
static bool read_grid(struct reader *r, struct stats_entry *e)
{
    uint32_t type = rd_u8(r);
    e->grid_type = (enum pith_type)type;
    e->grid_bits = rd_u8(r);
    e->grid_method = rd_u8(r);
    bool narrow = type == PITH_I8 || type == PITH_U8, wide = type == PITH_I16 || type == PITH_U16;
    if (r->bad || !(narrow || wide) || e->grid_bits < (narrow ? 2u : 9u) ||
        e->grid_bits > (narrow ? 8u : 16u) || e->grid_method < 1 || e->grid_method > STATS_METHODS)
        return false;
    /* What bits of this type can hold. */
    int32_t low = type == PITH_U8 || type == PITH_U16 ? 0 : -(1 << (e->grid_bits - 1));
    e->zero_point = (int32_t)rd_svarint(r, low, low + (1 << e->grid_bits) - 1);
    return read_scales(r, e);
}

/* Where nothing was observed there must be a grid, and the extremes are +0. +0, so that equal
 * statistics are equal bytes. */
bool pith_stats_entry_read(struct reader *r, uint64_t *next, uint32_t n_values,
                           struct stats_entry *e)
{
    uint64_t value = *next + rd_varint(r, n_values);
    *e = (struct stats_entry){.value = (uint32_t)value, .flags = rd_u8(r)};
    e->min = f32_from_bits(rd_le32(r));
    e->max = f32_from_bits(rd_le32(r));
    e->n = rd_varint(r, UINT64_MAX);
    if (r->bad || value >= n_values || !(e->min <= e->max) ||
        e->flags > (STATS_KEPT | STATS_CHANNELS | STATS_GRID) ||
        (e->flags & (STATS_KEPT | STATS_CHANNELS)) == STATS_CHANNELS)
        return false;
    if (e->n == 0 && (!(e->flags & STATS_GRID) || f32_bits(e->min) | f32_bits(e->max)))
        return false;
    *next = value + 1;
    return (!(e->flags & STATS_KEPT) || read_stats(r, e)) &&
           (!(e->flags & STATS_GRID) || read_grid(r, e));
}
