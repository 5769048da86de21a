/* SPDX-License-Identifier: MIT */
/* histogram_count.h - the inner loop of histograms. */
#ifndef HISTOGRAM_COUNT_H
#define HISTOGRAM_COUNT_H

#include "pith_value_stats.h"

#define ZERO_BINS 8 /* of numbers that are 0 */

/* Space that counting uses in between: four tables in turn. */
struct histogram_scratch {
    uint32_t part[4][PITH_HISTOGRAM_BINS + ZERO_BINS];
};

/* x: [n] f32: number y that is not 0 counts in bin trunc(y * per_width) - (y < 0) - low of a part,
 * 0 behind the bins. */
typedef void histogram_count_fn(const float *x, size_t n, float per_width, int32_t low,
                                struct histogram_scratch *scratch);

#endif
