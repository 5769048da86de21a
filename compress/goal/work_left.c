/* SPDX-License-Identifier: MIT */
#include "work_left.h"

#include <math.h>

#define LEAST_SHARE 0.02 /* of a part, before its own time says more than the guess */

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

/* Seconds that a unit of the guesses takes, by all that was timed. */
static double seconds_a_unit(const struct work_left *w, double seconds)
{
    double spent = 0, guessed = 0;
    for (int i = 0; i < WORK_PARTS; i++) {
        spent += w->spent[i];
        guessed += w->guess[i] * w->done[i];
    }
    if (w->at != WORK_PARTS) {
        spent += seconds - w->began;
        guessed += w->guess[w->at] * w->share;
    }
    return guessed > 0 ? spent / guessed : 0;
}

/* Of one of a part. */
static double seconds_of(const struct work_left *w, int part, double unit, double seconds)
{
    if (w->done[part] > 0)
        return w->spent[part] / w->done[part];
    if (part == (int)w->at && w->share >= LEAST_SHARE)
        return (seconds - w->began) / w->share;
    return w->guess[part] * unit;
}

double pith_work_share(struct work_left *w, double seconds)
{
    const double unit = seconds_a_unit(w, seconds);
    double over = 0, left = 0;
    for (int i = 0; i < WORK_PARTS; i++) {
        double begun = i == (int)w->at ? w->share : 0,
               more = w->wanted[i] - (double)w->done[i] - begun;
        over += w->spent[i];
        left += fmax(more, 0) * seconds_of(w, i, unit, seconds);
    }
    if (w->at != WORK_PARTS)
        over += seconds - w->began;
    if (unit > 0 && over + left > 0)
        w->told = fmax(w->told, over / (over + left));
    return w->told;
}
