/* SPDX-License-Identifier: MIT */
/* range_mse.c - the range whose grid gives the least squared error over the histogram. Clips are
 * tried from the extremes downwards by factors of 2^(-1/4), then around the best of them by ever
 * smaller ones. Grids with a zero point have two ends: both move together first, in proportion and
 * by magnitude, then each in turn. A range never becomes empty. */
#include <math.h>

#include "range.h"

#define STEPS 28 /* 2^-7 of the extremes */
#define REFINE 4 /* to 2^(1/64) */
#define ROUNDS 2 /* of both ends in turn */

struct search {
    const struct distribution *d;
    const struct grid_kind *kind;
    struct range best;
    double error;
};

static void try_range(struct search *s, double low, double high)
{
    struct range r = {low, high};
    struct simple_grid g = pith_grid_of_range(&r, s->kind);
    double error = pith_grid_error(s->d, &g, s->error);
    if (error >= s->error)
        return;
    s->best = r;
    s->error = error;
}

enum { LOW = 1, HIGH = 2 }; /* ends, as a set */

/* The ends in `which` at from's, scaled; the others stay where they are best. */
static void try_scaled(struct search *s, const struct range *from, int which, double log2_factor)
{
    double f = exp2(log2_factor);
    struct range all = pith_range_max(s->d);
    double low = which & LOW ? fmax(from->low * f, all.low) : s->best.low;
    double high = which & HIGH ? fmin(from->high * f, all.high) : s->best.high;
    if (high > low)
        try_range(s, low, high);
}

static void search_ends(struct search *s, int which)
{
    struct range from = pith_range_max(s->d);
    for (int i = 0; i <= STEPS; i++)
        try_scaled(s, &from, which, -i / 4.0);
    for (int i = 0; i < REFINE; i++) {
        from = s->best;
        try_scaled(s, &from, which, exp2(-3 - i));
        try_scaled(s, &from, which, -exp2(-3 - i));
    }
}

/* Both ends cut at one magnitude: an outlier on one side leaves the other alone. */
static void search_magnitude(struct search *s)
{
    double most = fmax(s->d->max, -s->d->min);
    for (int i = 1; i <= STEPS; i++) {
        struct range r = pith_range_within(s->d, most * exp2(-i / 4.0));
        try_range(s, r.low, r.high);
    }
}

/* Powers of two need no range: the next smaller scale clips at half of it. */
static void search_radix(struct search *s)
{
    struct range from = s->best;
    for (int i = 1; i <= STEPS / 4; i++)
        try_scaled(s, &from, LOW | HIGH, -i);
}

struct range pith_range_mse(const struct distribution *d, const struct grid_kind *kind)
{
    struct search s = {.d = d, .kind = kind, .error = HUGE_VAL};
    struct range all = pith_range_max(d);
    try_range(&s, all.low, all.high);
    if (kind->radix) {
        search_radix(&s);
        return s.best;
    }
    search_ends(&s, LOW | HIGH);
    if (all.low == 0 || all.high == 0) /* one end: its magnitudes were tried */
        return s.best;
    search_magnitude(&s);
    for (int i = 0; i < ROUNDS && !kind->symmetric; i++) {
        search_ends(&s, LOW);
        search_ends(&s, HIGH);
    }
    return s.best;
}
