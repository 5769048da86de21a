/* SPDX-License-Identifier: MIT */
/* rate_table.c - an adaptive coder pays for an integer by its counts so far; over a whole
 * layer that comes to the entropy of its counts plus what learning costs, which counting each
 * integer a little before its first occurrence stands for (Krichevsky and Trofimov 1981 take 1/2).
 */
#include "rate_table.h"

#include <math.h>

#define UNSEEN 0.4 /* count of an integer before its first occurrence */

/* q lies within RATE_MOST: levels are bounded by who rounds. */
void pith_rate_count(struct rate_table *t, const int16_t *q, size_t n)
{
    for (size_t i = 0; i < n; i++)
        t->count[q[i] + RATE_MOST]++;
}

/* Integers beyond all that occur are unseen ones, each for itself as unlikely as the next. Two
 * integers beyond the largest can still be chosen at a price: paths may leave the range by one. */
void pith_rate_finish(struct rate_table *t)
{
    const size_t n = 2 * RATE_MOST + 1;
    size_t most = 0;
    double all = 0;
    for (size_t i = 0; i < n; i++)
        if (t->count[i]) {
            size_t far = i < RATE_MOST ? RATE_MOST - i : i - RATE_MOST;
            most = far > most ? far : most;
        }
    for (size_t i = 0; i < n; i++)
        all += (double)t->count[i];
    all += UNSEEN * (double)(2 * most + 3);
    t->total = 0;
    for (size_t i = 0; i < n; i++) {
        t->bits[i] = log2(all / ((double)t->count[i] + UNSEEN));
        t->total += (double)t->count[i] * t->bits[i];
    }
}
