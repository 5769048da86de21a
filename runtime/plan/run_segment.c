/* SPDX-License-Identifier: MIT */
/* Running a segment: its steps for one group of samples, then for the next (segment.c).
 *
 * With one lane a step is cut among threads as steps elsewhere are. With several, each thread has
 * groups of its own and memory for one; they meet after some milliseconds, when the caller may
 * stop the run. Time is taken in lane 0, which works as long as any other. */
#include "plan/run_segment.h"

/* Of one lane between two questions whether to stop: some milliseconds. */
#define ROUND_MACS (UINT64_C(1) << 28)

struct round {
    struct pith_plan *plan;
    const struct segment *segment;
    uint32_t first, span; /* lane l runs groups first + l * span and on, span of them at most */
};

/* Whether the caller stops the run; steps of groups behind the first are not counted. */
static enum pith_status check_stop(struct pith_plan *plan, bool counts)
{
    if (counts)
        return pith_count_step(plan);
    return plan->opts.stop && plan->opts.stop(plan->opts.stop_user) ? PITH_ERR_STOPPED : PITH_OK;
}

static void run_group_step(const struct pith_plan *plan, const struct segment *segment,
                           const struct step *s, uint32_t lane, uint32_t group)
{
    uint32_t number = plan_operation(plan, s);
    const struct lane_operation *o = &plan->operation[number];
    struct lane_view *view = plan->view + (size_t)lane * plan->n_views + o->first_view;
    for (uint32_t k = 0; k < o->n_views; k++)
        view[k].view.data = view[k].base + group * view[k].stride;
    uint8_t *scratch = s->scratch;
    if (scratch)
        scratch += lane * segment->lane_bytes;
    struct op_env env = plan_env(plan, scratch);
    if (segment->lanes > 1)
        env.parallel_for = NULL;
    const struct op_args *args =
        lane ? &plan->copy[(size_t)(lane - 1) * plan->n_operations + number] : &s->args;
    pith_run_operation(s, args, s->macs / segment->n_groups, &env);
}

static void run_lane(void *arg, uint32_t lane)
{
    const struct round *r = arg;
    const struct segment *s = r->segment;
    struct pith_plan *plan = r->plan;
    uint64_t start = lane ? 0 : plan_now(plan);
    uint32_t at = r->first + lane * r->span, end = at + r->span;
    for (; at < end && at < s->n_groups; at++)
        for (uint32_t i = s->first; i < s->end; i++) {
            run_group_step(plan, s, &plan->step[i], lane, at);
            if (lane || !plan->opts.clock_ns)
                continue;
            uint64_t passed = plan_now(plan);
            plan->step[i].ns += passed - start;
            start = passed;
        }
}

/* Groups of each lane until all lanes meet: as many rounds as ROUND_MACS requires, of like size. */
static uint32_t span_of(const struct pith_plan *plan, const struct segment *s)
{
    uint64_t macs = 0;
    uint32_t most = (s->n_groups + s->lanes - 1) / s->lanes;
    for (uint32_t i = s->first; i < s->end; i++)
        macs += plan->step[i].macs / s->n_groups;
    uint64_t span = ROUND_MACS / (macs + 1) + 1;
    if (span >= most)
        return most;
    uint32_t rounds = (uint32_t)((most + span - 1) / span);
    return (most + rounds - 1) / rounds;
}

static enum pith_status run_lanes(struct pith_plan *plan, const struct segment *s)
{
    struct round r = {.plan = plan, .segment = s, .span = span_of(plan, s)};
    for (; r.first < s->n_groups; r.first += r.span * s->lanes) {
        /* All steps of the segment run between here and the next question. */
        for (uint32_t i = s->first; i < s->end; i++) {
            enum pith_status st = check_stop(plan, r.first == 0);
            if (st)
                return st;
            plan->next_step += r.first == 0;
        }
        plan->next_step = s->first;
        plan->opts.parallel_for(plan->opts.parallel_user, s->lanes, run_lane, &r);
    }
    return PITH_OK;
}

enum pith_status pith_run_segment(struct pith_plan *plan)
{
    const struct segment *s = &plan->segment[plan->step[plan->next_step].segment - 1];
    enum pith_status st = PITH_OK;
    if (s->lanes > 1)
        st = run_lanes(plan, s);
    uint64_t start = plan_now(plan);
    for (uint32_t group = 0; s->lanes == 1 && group < s->n_groups; group++)
        for (uint32_t i = s->first; i < s->end; i++) {
            plan->next_step = i;
            st = check_stop(plan, group == 0);
            if (st)
                return st;
            run_group_step(plan, s, &plan->step[i], 0, group);
            uint64_t passed = plan_now(plan);
            plan->step[i].ns += passed - start;
            start = passed;
        }
    if (!st)
        plan->next_step = s->end;
    return st;
}
