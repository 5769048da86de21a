/* SPDX-License-Identifier: MIT */
/* Running a plan. Everything was decided before: a run is a loop over steps that touches nothing
 * but the plan's memory. Loops and branches of the network are jumps in it.
 *
 * The executor knows four operators by name, those that jump. Time is read only when a clock was
 * given, and it is charged to steps without what observers take. */
#include "core/build_choice.h"
#include "ops/loop.h"
#include "plan/run_pair.h"
#include "plan/run_segment.h"

/* Below, vector kernels take some 10 us, and handing values from core to core costs as much
 * as a second thread saves. */
#define SPLIT_MACS (1u << 19)

/* One call for each output of a step. Not inlined: its structs would be on the stack of every run.
 */
static __attribute__((noinline)) void observe(const struct pith_plan *plan, const struct step *s)
{
    struct pith_layer layer;
    struct pith_tensor out;
    pith_describe_layer(plan, s, &layer);
    for (uint32_t i = 0; i < s->args.n_out; i++) {
        layer.output = i;
        pith_describe_tensor(s->args.out[i], &s->node->name, &out);
        plan->opts.observe(plan->opts.user, &layer, &out);
    }
}

/* Inputs of a Concat that the planner placed are where they belong already. */
static void copy_inputs(const struct op_args *args)
{
    uint8_t *to = args->out[0]->data;
    for (uint32_t i = 0; i < args->n_in; i++) {
        const struct tview *t = args->in[i];
        size_t bytes = shape_elems(&t->shape) * pith_type_bytes(t->type);
        if (t->data != to)
            memcpy(to, t->data, bytes);
        to += bytes;
    }
}

/* Nothing to test: the gate has tested the file, planning the sizes. Scratch for many chunks is
 * enough for one, and results are the same. */
void pith_run_operation(const struct step *s, const struct op_args *args, uint64_t macs,
                        struct op_env *env)
{
    if (macs - 1 < SPLIT_MACS - 1 && env->kernels->dense.mr) /* 0: not counted */
        env->parallel_for = NULL;
    if (s->copies)
        copy_inputs(args);
    else
        args->info->run(args, env);
}

static void run_step(const struct pith_plan *plan, const struct step *s)
{
    struct op_env env = plan_env(plan, s->scratch);
    pith_run_operation(s, &s->args, s->macs, &env);
}

/* Runs the control step `at`; returns the step to go on with. *observed: the step whose outputs are
 * now there, which is the Loop at the beginning of each iteration and the LoopEnd behind the
 * last. A Loop enters its body or jumps behind its end; LoopEnd goes back or on; Branch and its
 * Else choose a side. */
static uint32_t run_control(const struct pith_plan *plan, uint32_t at, const struct step **observed)
{
    const struct step *s = &plan->step[at], *partner = &plan->step[s->jump];
    bool again;
    switch (s->args.info->op) {
    case PITH_OP_LOOP:
        run_step(plan, s);
        if (pith_loop_enters(&s->args))
            return at + 1;
        /* Without an iteration the final states are the first ones: LoopEnd's run() copies them. */
        run_step(plan, partner);
        *observed = partner;
        return s->jump + 1;
    case PITH_OP_LOOP_END:
        again = pith_loop_step(&partner->args, &s->args, s->scratch);
        if (!again)
            run_step(plan, s);
        else
            *observed = partner;
        return again ? s->jump + 1 : at + 1;
    default: /* Branch goes on when the condition holds, BranchElse when it does not */
        run_step(plan, s);
        if (s->args.info->op == PITH_OP_BRANCH_END)
            return at + 1;
        again = *(const uint8_t *)s->args.out[0]->data != 0;
        return again == (s->args.info->op == PITH_OP_BRANCH) ? at + 1 : s->jump;
    }
}

/* One more step? max_steps bounds what no file can bound by its size: loops. stop() is called
 * between steps, so a command can be ended within one step's time. */
enum pith_status pith_count_step(struct pith_plan *plan)
{
    const struct pith_opts *o = &plan->opts;
    if (plan->steps_done == o->max_steps)
        return PITH_ERR_LIMIT;
    if (o->stop && o->stop(o->stop_user))
        return PITH_ERR_STOPPED;
    plan->steps_done++;
    return PITH_OK;
}

/* Runs the step that is plan->next_step, and sets that to the one to go on with. *start: when it
 * began, then when the next one does. */
static enum pith_status run_next(struct pith_plan *plan, uint64_t *start)
{
    uint32_t i = plan->next_step;
    struct step *s = &plan->step[i];
    const struct step *observed = s;
    enum pith_status st = pith_count_step(plan);
    if (st)
        return st;
    if (BUILT_CONTROL && s->args.info->flags & OP_CONTROL) {
        plan->next_step = run_control(plan, i, &observed);
    } else {
        run_step(plan, s);
        plan->next_step = i + 1;
    }
    uint64_t end = plan_now(plan);
    s->ns += end - *start;
    *start = end;
    if (plan->opts.observe) {
        observe(plan, observed);
        *start = plan_now(plan);
    }
    return PITH_OK;
}

/* Times of the last run stay until the next, hence they are cleared here. */
static enum pith_status run_from(struct pith_plan *plan, uint32_t first)
{
    enum pith_status st = PITH_OK;
    if (plan->opts.flags & PITH_FLAG_OUTLINE)
        return PITH_ERR_ARGUMENT;
    uint64_t start = plan_now(plan);
    for (uint32_t i = 0; i < plan->n_steps; i++)
        plan->step[i].ns = 0;
    plan->steps_done = 0;
    for (plan->next_step = first; plan->next_step < plan->n_steps && !st;)
        if (plan_segment(plan, &plan->step[plan->next_step])) {
            st = pith_run_segment(plan);
            start = plan_now(plan);
        } else if (PLAN_SEGMENTS && plan->step[plan->next_step].pairs) {
            st = pith_run_pair(plan);
            start = plan_now(plan);
        } else {
            st = run_next(plan, &start);
        }
    return st;
}

enum pith_status pith_plan_run(struct pith_plan *plan)
{
    if (!plan)
        return PITH_ERR_ARGUMENT;
    return run_from(plan, 0);
}

void pith_plan_progress(const struct pith_plan *plan, uint64_t *steps, uint32_t *layer)
{
    if (!plan || !steps || !layer)
        return;
    *steps = plan->steps_done;
    *layer = plan->next_step;
}

/* Runs behind step i with values of the run before: for trials that change one operand. Control
 * steps would have to be entered in the middle. */
enum pith_status pith_plan_run_from(struct pith_plan *plan, uint32_t i)
{
    if (!plan)
        return PITH_ERR_ARGUMENT;
    if (!plan->opts.observe || i > plan->n_steps)
        return PITH_ERR_ARGUMENT;
    for (uint32_t k = 0; k < plan->n_steps; k++)
        if (plan->step[k].args.info->flags & OP_CONTROL)
            return PITH_ERR_UNSUPPORTED;
    return run_from(plan, i);
}
