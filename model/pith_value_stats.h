/* SPDX-License-Identifier: MIT */
/* pith_value_stats.h - what calibrate saw of a value, and the grid of integers chosen for it.
 *
 *     const struct pith_value *v = &model->values[i];
 *     if (v->stats) ... v->stats->n, v->stats->histogram, pith_stats_channel_mean(v->stats, c) ...
 *     if (v->grid)  ... real = (q - v->grid->zero_point) * v->grid->scale[c] ...
 *
 * Statistics merge: those of two runs put together are, to the bit, those of one run over both.
 * Bins are a power of two wide and their edges are multiples of it, so that two narrow bins make
 * exactly a wide one; sums are kept exactly. All memory is the model's (pith_model_alloc). */
#ifndef PITH_VALUE_STATS_H
#define PITH_VALUE_STATS_H

#include "pith_model.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PITH_HISTOGRAM_BINS 2048u /* the most a histogram has */
#define PITH_SUM_DIGITS 20u

/* An exact sum: the digits digit[i] * 2^(32 i - 320), each with its own sign. */
struct pith_exact_sum {
    int64_t digit[PITH_SUM_DIGITS];
};

/* Zeros are not in the bins. With w = 2^exponent, bin k (any sign) holds, for k >= 0, the numbers
 * in [k w, (k + 1) w) and, for k < 0, those in (k w, (k + 1) w]: the mirror image. The width is the
 * smallest for which there are at most PITH_HISTOGRAM_BINS bins between 0 and the observed
 * extremes. */
struct pith_histogram {
    int32_t exponent; /* -126..127 */
    int32_t first;    /* k of count[0] */
    uint32_t n_bins; /* 0: only zeros were observed, or (n_zero < n) no histogram is kept: of what a
                        layer  gives to a Relu, a Clip or a BatchNormalization alone, which is never
                        stored  as integers */
    uint64_t *count; /* [n_bins]; the first and the last are not 0 */
};

/* Of one channel: an entry of axis `channel_axis`. */
struct pith_channel_stats {
    float min, max;
    struct pith_exact_sum sum;
};

struct pith_value_stats {
    uint64_t n;         /* numbers observed, zeros too; v->n_observed */
    uint64_t n_zero;    /* of which +0 or -0 */
    uint64_t n_samples; /* runs that computed the value (in loops: times) */
    struct pith_exact_sum sum, sum_squares;
    struct pith_histogram histogram;
    /* Values that layers with weights read or give: by input channel (axis 1 of Conv's, the last of
     * Gemm's and MatMul's). 0 channels: not kept. */
    uint32_t n_channels, channel_axis;
    struct pith_channel_stats *channel; /* [n_channels] */
};

/* How a range was chosen. The numbers are those of the file format. */
enum pith_range_method {
    PITH_RANGE_MAX = 1,
    PITH_RANGE_PERCENTILE = 2,
    PITH_RANGE_KL = 3,
    PITH_RANGE_MSE = 4,
    PITH_RANGE_ACIQ = 5,
    PITH_RANGE_AUTO = 6 /* as an option; a grid records which of the others was chosen */
};

/* real = (q - zero_point) * scale; q in 0..2^bits-1 (type U8, U16) or -2^(bits-1)..2^(bits-1)-1
 * (I8, I16). zero_point is one of these q, so 0 is exact. One zero point for all channels. */
struct pith_grid {
    enum pith_type type; /* U8, I8, U16, I16: the smallest that holds bits */
    uint8_t bits;        /* 2..16 */
    enum pith_range_method method;
    int32_t zero_point;
    uint32_t n;    /* scales: 1, or the value's dim[axis] */
    uint32_t axis; /* of the scales where n > 1; else 0 */
    float *scale;  /* [n] positive, normal; powers of two with the radix option */
};

static inline int32_t pith_grid_lowest(const struct pith_grid *g)
{
    return g->type == PITH_U8 || g->type == PITH_U16 ? 0 : -(1 << (g->bits - 1));
}

static inline int32_t pith_grid_highest(const struct pith_grid *g)
{
    return pith_grid_lowest(g) + (1 << g->bits) - 1;
}

/* Has any value statistics? */
static inline bool pith_model_has_stats(const struct pith_model *m)
{
    for (uint32_t v = 0; v < m->n_values; v++)
        if (m->values[v].stats)
            return true;
    return false;
}

/* The sum rounded to double. */
double pith_exact_sum_value(const struct pith_exact_sum *s);
/* Adds x, |x| < 2^300: exactly, but for what is below 2^-320. */
void pith_exact_sum_add(struct pith_exact_sum *s, double x);
/* Digits 0..2^32-1 but for the last, which has the sign: sums that are equal are equal by digits.
 */
void pith_exact_sum_carry(struct pith_exact_sum *s);
void pith_exact_sum_merge(struct pith_exact_sum *s, const struct pith_exact_sum *other);

double pith_stats_mean(const struct pith_value_stats *s);
double pith_stats_variance(const struct pith_value_stats *s); /* of the population; >= 0 */
/* c < s->n_channels. */
double pith_stats_channel_mean(const struct pith_value_stats *s, uint32_t c);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
