/* SPDX-License-Identifier: MIT */
#include "work_left.h"

#include <math.h>

#define FIRST 0.1      /* seconds of guesses that count as if they had been timed and found right */
#define OWN_GUESS 0.25 /* of a part that begins its guess counts as so much of it; less later */

void pith_work_begin(struct work_left *w, enum work_part part, double seconds)
{
    w->at = part;
    w->share = 0;
    w->began = seconds;
    w->wanted[part] = fmax(w->wanted[part], w->done[part] + 1.0);
}

void pith_work_end(struct work_left *w, double seconds)
{
    if (w->at == WORK_PARTS)
        return;
    w->spent[w->at] += seconds - w->began;
    w->done[w->at]++;
    w->at = WORK_PARTS;
}

/* By what factor guesses are off, by all that was timed. */
static double factor_of(const struct work_left *w, double seconds)
{
    double spent = FIRST, guessed = FIRST;
    for (int i = 0; i < WORK_PARTS; i++) {
        spent += w->spent[i];
        guessed += 1e-9 * w->guess[i] * w->done[i];
    }
    if (w->at != WORK_PARTS) {
        spent += seconds - w->began;
        guessed += 1e-9 * w->guess[w->at] * w->share;
    }
    return spent / guessed;
}

/* Of one of a part. */
static double seconds_of(const struct work_left *w, int part, double factor, double seconds)
{
    const double guess = 1e-9 * w->guess[part] * factor;
    if (w->done[part] > 0)
        return w->spent[part] / w->done[part];
    if (part != (int)w->at)
        return guess;
    const double still = OWN_GUESS * (1 - w->share) * (1 - w->share);
    return still > 0 ? (seconds - w->began + still * guess) / (w->share + still)
                     : seconds - w->began;
}

double pith_work_share(struct work_left *w, double seconds)
{
    const double factor = factor_of(w, seconds);
    double over = 0, left = 0;
    for (int i = 0; i < WORK_PARTS; i++) {
        double begun = i == (int)w->at ? w->share : 0,
               more = w->wanted[i] - (double)w->done[i] - begun;
        over += w->spent[i];
        left += fmax(more, 0) * seconds_of(w, i, factor, seconds);
    }
    if (w->at != WORK_PARTS)
        over += seconds - w->began;
    if (over > 0)
        w->told = fmax(w->told, over / (over + left));
    return w->told;
}
