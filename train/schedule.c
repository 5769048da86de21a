/* SPDX-License-Identifier: MIT */
#include "schedule.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* From a to b along half a cosine. */
static double half_cosine(double a, double b, double part)
{
    return b + (a - b) * 0.5 * (1 + cos(pi * part));
}

double pith_schedule_rate(const struct pith_train_opts *opts, uint64_t step, uint64_t n_steps)
{
    double rate = (double)opts->rate, part = (double)step / (double)n_steps;
    double warm = (double)opts->warm_up;
    if (opts->schedule == PITH_ONE_CYCLE)
        return part < 0.3 ? half_cosine(rate / 25, rate, part / 0.3)
                          : half_cosine(rate, rate / 1e4, (part - 0.3) / 0.7);
    if (part < warm)
        return rate * ((double)step + 1) / (warm * (double)n_steps + 1);
    if (opts->schedule == PITH_COSINE)
        return half_cosine(rate, 0, (part - warm) / (1 - warm));
    if (opts->schedule == PITH_STEPS)
        return rate * pow((double)opts->step_factor, floor(part * 3));
    return rate;
}
