/* SPDX-License-Identifier: MIT */
#include "pith_goal.h"

#include <math.h>

void pith_goal_init(struct pith_goal *goal)
{
    if (!goal)
        return;
    *goal = (struct pith_goal){.max_drop = -1};
}

bool pith_goal_limits_loss(const struct pith_goal *goal)
{
    if (!goal)
        return false;
    return goal->max_drop >= 0 || goal->min_agreement > 0 || goal->min_snr > 0;
}

bool pith_goal_shapes(const struct pith_goal *goal)
{
    if (!goal)
        return false;
    return goal->pattern.kind != PITH_PATTERN_ANY || goal->levels > 0;
}

double pith_goal_kl(double max_drop)
{
    return PITH_GOAL_NATS * max_drop;
}

double pith_goal_snr(double max_drop)
{
    return max_drop > 0 ? PITH_GOAL_SNR_DB - 10 * log10(max_drop / PITH_GOAL_DEFAULT_DROP)
                        : INFINITY;
}
