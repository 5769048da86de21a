/* SPDX-License-Identifier: MIT */
/* run_segment.h - what run.c, run_segment.c and run_pair.c share. */
#ifndef RUN_SEGMENT_H
#define RUN_SEGMENT_H

#include "plan/plan.h"
#include "pith_runtime.h"

/* Runs s's operation with `args`, which has `macs` multiply-accumulates (0: not counted). */
void pith_run_operation(const struct step *s, const struct op_args *args, uint64_t macs,
                        struct op_env *env);

/* 0: no times. */
static inline uint64_t plan_now(const struct pith_plan *plan)
{
    return plan->opts.clock_ns ? plan->opts.clock_ns(plan->opts.user) : 0;
}

/* Counts one more step of this run. PITH_ERR_LIMIT, PITH_ERR_STOPPED. */
enum pith_status pith_count_step(struct pith_plan *plan);

/* Runs the segment that begins with plan->next_step, and sets that to the step behind it; or to the
 * one that it stopped at, as pith_count_step says. */
enum pith_status pith_run_segment(struct pith_plan *plan);

#endif
