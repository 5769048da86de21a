/* SPDX-License-Identifier: MIT */
#include "schedule.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* From a to b along half a cosine. */
static double half_cosine(double a, double b, double part)
{
    return b + (a - b) * 0.5 * (1 + cos(pi * part));
}

/* One cycle (Smith and Topin, 2019): the part of the run in which the rate rises, and the divisors
 * of its first and last value. */
#define RISE 0.3
#define START_DIVISOR 25
#define END_DIVISOR 1e4

double pith_schedule_rate(const struct pith_train_opts *opts, uint64_t step, uint64_t n_steps)
{
    double rate = (double)opts->rate, part = (double)step / (double)n_steps;
    double warm = (double)opts->warm_up;
    if (opts->schedule == PITH_ONE_CYCLE)
        return part < RISE ? half_cosine(rate / START_DIVISOR, rate, part / RISE)
                           : half_cosine(rate, rate / END_DIVISOR, (part - RISE) / (1 - RISE));
    if (part < warm)
        return rate * ((double)step + 1) / (warm * (double)n_steps + 1);
    if (opts->schedule == PITH_COSINE)
        return half_cosine(rate, 0, (part - warm) / (1 - warm));
    if (opts->schedule == PITH_STEPS)
        return rate * pow((double)opts->step_factor, floor(part * 3));
    return rate;
}
