/* SPDX-License-Identifier: MIT */
/* pith_goal_estimate.h - what a search would end at, from a few runs of the network on a few
 * samples: in a second where the search takes minutes.
 *
 * All weights are rounded to steps in the same proportion to their layer's standard deviation, as
 * coarse as the goal allows; what their integers hold, by their counts, is what a file holds, but
 * for a factor that networks have in common: the sweep has coarser steps at the same loss. Where
 * nothing limits the loss, it is estimated for PITH_GOAL_DEFAULT_DROP. */
#ifndef PITH_GOAL_ESTIMATE_H
#define PITH_GOAL_ESTIMATE_H

#include "pith_goal_compress.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pith_goal_estimate {
    double bytes;                 /* of the file that a search would find */
    double low_bytes, high_bytes; /* that two in three networks are between */
    double step;                  /* that rounding took, in standard deviations of a layer */
    uint64_t samples;             /* that measured */
    bool met;                     /* the goal can be kept, and its limits of sizes by such a file */
    struct pith_goal_loss loss;   /* of the rounded network, near to the limit */
};

/* m stays as it is. PITH_ERR_UNSUPPORTED: of a goal with a pattern or levels; and what
 * pith_goal_judge_new and pith_goal_judge_measure return; opts: feed, seed, threads, cpu_mask, warn
 * and stop count. */
enum pith_status pith_goal_estimate(const struct pith_model *m, const struct pith_goal *goal,
                                    const struct pith_goal_compress_opts *opts,
                                    struct pith_goal_estimate *estimate, struct pith_error *err);

#ifdef __cplusplus
}
#endif
#endif
