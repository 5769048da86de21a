/* SPDX-License-Identifier: MIT */
/* Running a pair of steps (pair.c): each thread runs a band of the first, then of the second, then
 * the same of its next band. Time is taken in lane 0, which works as long as any other. */
#include "plan/run_pair.h"
#include "products/conv_pair.h"
#include "plan/run_segment.h"

struct pair {
    struct pith_plan *plan;
    struct step *step; /* two */
    uint32_t lanes, n_bands;
};

static void run_lane(void *arg, uint32_t lane)
{
    const struct pair *p = arg;
    struct step *s = p->step;
    const struct op_env env = plan_env(p->plan, s->scratch);
    const struct conv_pair pair = {&s[0].args, &s[1].args, &env, s->band_rows};
    const struct tview *t = s->args.out[0];
    float *between = (float *)(void *)((uint8_t *)t->data + lane * plan_pair_bytes(t));
    uint64_t start = lane ? 0 : plan_now(p->plan);
    /* Neighbouring bands go to different lanes, which so end together. */
    for (uint32_t i = lane; i < p->n_bands; i += p->lanes)
        for (uint32_t which = 0; which < 2; which++) {
            pith_conv_band_run(&pair, which, i, lane, between);
            if (lane)
                continue;
            uint64_t passed = plan_now(p->plan);
            s[which].ns += passed - start;
            start = passed;
        }
}

enum pith_status pith_run_pair(struct pith_plan *plan)
{
    struct step *s = &plan->step[plan->next_step];
    uint32_t rows = s[1].args.out[0]->shape.dim[2];
    struct pair p = {.plan = plan,
                     .step = s,
                     .lanes = plan_threads(&plan->opts),
                     .n_bands = (rows + s->band_rows - 1) / s->band_rows};
    struct op_env env = plan_env(plan, NULL);
    for (uint32_t k = 0; k < 2; k++) {
        enum pith_status st = pith_count_step(plan);
        if (st)
            return st;
        plan->next_step++;
    }
    pith_op_parallel(&env, p.lanes, run_lane, &p);
    return PITH_OK;
}
