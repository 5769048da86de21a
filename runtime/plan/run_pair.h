/* SPDX-License-Identifier: MIT */
/* run_pair.h - two steps that run a band of rows at a time (pair.c). */
#ifndef RUN_PAIR_H
#define RUN_PAIR_H

#include "plan/plan.h"

/* Runs plan->next_step and the step behind it, and sets that to the one behind both; or to the one
 * that it stopped at, as pith_count_step says. */
enum pith_status pith_run_pair(struct pith_plan *plan);

/* Of a lane's memory; t: what is between the steps, a band of it. */
static inline uint64_t plan_pair_bytes(const struct tview *t)
{
    uint64_t bytes = shape_elems(&t->shape) * sizeof(float);
    return (bytes + PLAN_ALIGN - 1) & ~(uint64_t)(PLAN_ALIGN - 1);
}

#endif
