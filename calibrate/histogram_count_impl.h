/* SPDX-License-Identifier: MIT */
/* histogram_count_impl.h - counting for one instruction set; HISTOGRAM_COUNT names it. OWN_BINS: it
 * brings its own find_bins, which may leave out numbers that are 0.
 *
 * A count must be stored before it can be loaded again, so numbers that fall into one bin wait for
 * each other. Four tables take turns, and zeros, of which half of the numbers behind a Relu are, go
 * to eight places in turn in each. */
#include <string.h>

#ifndef OWN_BINS
#define BLOCK 256    /* numbers whose bins are found at once */
#define BINS_ROOM 16 /* places behind theirs that may be written */

/* The bins of BLOCK numbers, one behind the other in bin [BLOCK + BINS_ROOM]; how many. Without a
 * branch, so that a compiler may take several numbers at once. */
static uint32_t find_bins(const float *x, float per_width, int32_t low, int32_t *bin)
{
    for (int32_t i = 0; i < BLOCK; i++) {
        int32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        int32_t is_zero = -((bits & INT32_MAX) == 0), negative = -(bits < 0);
        int32_t k = (int32_t)(x[i] * per_width) + negative - low;
        int32_t place = (int32_t)PITH_HISTOGRAM_BINS + i / 4 % ZERO_BINS;
        bin[i] = k ^ ((k ^ place) & is_zero);
    }
    return BLOCK;
}
#endif

static void count_block(const float *x, float per_width, int32_t low,
                        struct histogram_scratch *scratch)
{
    int32_t bin[BLOCK + BINS_ROOM];
    uint32_t n = find_bins(x, per_width, low, bin), i = 0;
    for (; i + 4 <= n; i += 4) {
        scratch->part[0][bin[i]]++;
        scratch->part[1][bin[i + 1]]++;
        scratch->part[2][bin[i + 2]]++;
        scratch->part[3][bin[i + 3]]++;
    }
#ifdef OWN_BINS /* else all of them: fours */
    for (; i < n; i++)
        scratch->part[0][bin[i]]++;
#endif
}

void HISTOGRAM_COUNT(const float *x, size_t n, float per_width, int32_t low,
                     struct histogram_scratch *scratch)
{
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        count_block(x + i, per_width, low, scratch);
    for (; i < n; i++)
        if (x[i] != 0)
            scratch->part[i % 4][(int32_t)(x[i] * per_width) - (x[i] < 0 ? 1 : 0) - low]++;
}
