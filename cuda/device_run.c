/* SPDX-License-Identifier: MIT */
/* device_run.c - a run as run.c does it, on a stream. Loops whose length is known are put there
 * iteration after iteration; what data decides - a condition, a count - is copied here first. A
 * step without a kernel runs on the CPU between two copies, in the plan's own memory. */
#include "device_plan.h"
#include "op_interface/op_attr.h"

struct walk {
    struct pith_cuda_plan *p;
    uint64_t limit;
    struct pith_error *err;
    enum pith_status st; /* the first failure; nothing is put on the stream after it */
};

/* Keeps the first failure, as later ones are mostly its consequences. */
static void note(struct walk *w, int result, const char *what)
{
    if (result && !w->st)
        w->st = pith_driver_status(w->p->cuda, result, what, w->err);
}

/* What is not in the arena is a constant, the same on both sides, and is never copied. */
static bool in_arena(const struct pith_plan *plan, const struct tview *t)
{
    uintptr_t at = (uintptr_t)t->data, arena = (uintptr_t)plan->arena;
    return t->data && at >= arena && at - arena < plan->arena_bytes;
}

static size_t bytes_of(const struct tview *t)
{
    return shape_elems(&t->shape) * pith_type_bytes(t->type);
}

/* Constants have got their place when the step was lowered (pith_device_lower_control): looking it
 * up here adds none, which would have no memory. */
static device_address address_of(struct walk *w, const struct tview *t)
{
    return (device_address)(uintptr_t)pith_device_data(&w->p->lowering, t);
}

/* Without a result, where an earlier one was a failure. What is captured is recorded, too. */
static void put(struct walk *w, const struct action *a)
{
    if (!w->st)
        note(w, pith_device_act(&w->p->lowering, a, w->p->stream), "cannot run a step");
    if (!w->st && w->p->capturing)
        note(w, pith_device_record(&w->p->program, a), "cannot record a step");
}

/* The two are the same where the planner gave both values one place. */
static void copy_on_device(struct walk *w, device_address to, device_address from, size_t bytes)
{
    if (to != from)
        put(w, &(struct action){.kind = ACTION_COPY, .to = to, .from = from, .bytes = bytes});
}

/* t is NULL where an optional input is left out. The copy is there only after wait(). */
static void copy(struct walk *w, const struct tview *t, bool here)
{
    const struct pith_cuda *c = w->p->cuda;
    if (!t || !in_arena(w->p->plan, t) || w->st)
        return;
    const device_address at = address_of(w, t);
    note(w,
         here ? c->cuMemcpyDtoHAsync_v2(t->data, at, bytes_of(t), w->p->stream)
              : c->cuMemcpyHtoDAsync_v2(at, t->data, bytes_of(t), w->p->stream),
         here ? "cannot copy from the device" : "cannot copy to the device");
}

/* A kernel that failed is mostly noticed here, some time after its launch. */
static void wait(struct walk *w)
{
    if (!w->st)
        note(w, w->p->cuda->cuStreamSynchronize(w->p->stream), "the device failed");
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* A kernel has one parameter, its struct of launch.h, which the driver copies before the call
 * returns. Fills count words of 32 bits: what is filled is f32. */
int pith_device_act(const struct lowering *l, const struct action *a, device_stream stream)
{
    const struct pith_cuda *c = l->cuda;
    switch (a->kind) {
    case ACTION_LAUNCH:
        return pith_driver_launch(c, a->kernel, a->grid, l->args + a->arg, stream);
    case ACTION_BLAS:
        return pith_blas_run(l->product[a->arg], stream);
    case ACTION_COPY:
        return c->cuMemcpyDtoDAsync_v2(a->to, a->from, a->bytes, stream);
    default:
        return c->cuMemsetD32Async(a->to, a->value, a->bytes / sizeof a->value, stream);
    }
}

/* As copy_inputs of run.c: inputs of a Concat that the planner has placed are there already. */
static void copy_in_place(const struct op_args *args)
{
    uint8_t *to = args->out[0]->data;
    for (uint32_t i = 0; i < args->n_in; i++) {
        size_t bytes = bytes_of(args->in[i]);
        if (args->in[i]->data != to)
            memcpy(to, args->in[i]->data, bytes);
        to += bytes;
    }
}

/* The operator reads and writes the host's arena, where every value has the offset that it has on
 * the device. All that it reads is copied here first, also what the host wrote: the host's copy may
 * be of an earlier step, as values share memory. */
static void run_on_cpu(struct walk *w, const struct step *s)
{
    const struct op_args *args = &s->args;
    struct op_env env = plan_env(w->p->plan, s->scratch);
    for (uint32_t i = 0; i < args->n_in; i++)
        copy(w, args->in[i], true);
    for (uint32_t i = 0; i < args->n_grids; i++) {
        copy(w, args->grid[i].scale, true);
        copy(w, args->grid[i].zero, true);
    }
    copy(w, args->fuse.residual, true);
    wait(w);
    if (w->st)
        return;
    if (s->copies)
        copy_in_place(args);
    else
        args->info->run(args, &env);
    for (uint32_t i = 0; i < args->n_out; i++)
        copy(w, args->out[i], false);
    wait(w); /* the next step on the CPU may write there */
}

/* The next one. The first failure ends the step; the walk then ends, too. */
static uint32_t run_step(struct walk *w, uint32_t at)
{
    const struct device_step *d = &w->p->step[at];
    if (d->on_cpu) {
        run_on_cpu(w, &w->p->plan->step[at]);
        return at + 1;
    }
    for (uint32_t i = d->first; i < d->first + d->n && !w->st; i++) {
        put(w, &w->p->lowering.action[i]);
        w->p->launches++;
    }
    return at + 1;
}

/* ---- loops ---------------------------------------------------------------------------------- */

/* Whether the host has to read a value of this run before it knows the next step. A loop with a
 * constant count and no condition is unrolled; branches depend on their condition always. */
static bool data_decides(const struct pith_plan *plan, const struct step *s)
{
    switch (s->args.info->op) {
    case PITH_OP_LOOP:
        return s->args.attr[ATTR_LOOP_HAS_COND] ||
               (s->args.attr[ATTR_LOOP_HAS_COUNT] && in_arena(plan, s->args.in[0]));
    case PITH_OP_LOOP_END:
        return s->args.attr[ATTR_LOOP_HAS_COND] != 0;
    default:
        return (s->args.info->flags & OP_CONTROL) != 0;
    }
}

/* The number of the iteration, here and there. The host's copy steers the walk. The device's is
 * filled by value, in two halves: an asynchronous copy might read the host's memory only after a
 * later iteration has changed it, and a graph would keep its address instead of the number. */
static void set_iteration(struct walk *w, const struct op_args *loop, int64_t iteration)
{
    struct action a = {.kind = ACTION_FILL, .to = address_of(w, loop->out[0]), .bytes = 4};
    memcpy(loop->out[0]->data, &iteration, sizeof iteration);
    a.value = (uint32_t)iteration;
    put(w, &a);
    a.to += 4;
    a.value = (uint32_t)((uint64_t)iteration >> 32);
    put(w, &a);
}

/* From the host's copy, which is right without waiting: set_iteration() writes it at once. */
static int64_t iteration_of(const struct op_args *loop)
{
    int64_t i;
    memcpy(&i, loop->out[0]->data, sizeof i);
    return i;
}

/* After a failure it is false, so that no loop goes on. */
static bool condition(struct walk *w, const struct tview *t)
{
    copy(w, t, true);
    if (in_arena(w->p->plan, t))
        wait(w);
    return !w->st && *(const uint8_t *)t->data != 0;
}

/* Both limits of a loop: its count, and how many iterations its outputs have room for. */
static bool in_count(struct walk *w, const struct op_args *loop)
{
    int64_t done = iteration_of(loop), count = INT64_MAX;
    if (loop->attr[ATTR_LOOP_HAS_COUNT]) {
        copy(w, loop->in[0], true);
        if (in_arena(w->p->plan, loop->in[0]))
            wait(w);
        memcpy(&count, loop->in[0]->data, sizeof count);
    }
    return done < loop->attr[ATTR_LOOP_TRIPS] && done < count;
}

/* The states get their first values whether or not there is an iteration, as then they are the
 * final ones. */
static bool begin_loop(struct walk *w, const struct op_args *loop)
{
    /* inputs of Loop: count, condition - both optional - and the states */
    uint32_t first = (uint32_t)(loop->attr[ATTR_LOOP_HAS_COUNT] + loop->attr[ATTR_LOOP_HAS_COND]);
    for (uint32_t i = first; i < loop->n_in; i++)
        copy_on_device(w, address_of(w, loop->out[1 + i - first]), address_of(w, loop->in[i]),
                       bytes_of(loop->in[i]));
    set_iteration(w, loop, 0);
    return in_count(w, loop) &&
           (!loop->attr[ATTR_LOOP_HAS_COND] || condition(w, loop->in[first - 1]));
}

/* Inputs of LoopEnd: go on?, states[n], next[n], collected[]; outputs: final[n], stacked[]. */
struct loop_end {
    uint32_t n, states, next, collected;
};

static struct loop_end loop_end_of(const struct op_args *end)
{
    uint32_t n = (uint32_t)end->attr[ATTR_LOOP_STATES];
    uint32_t states = end->attr[ATTR_LOOP_HAS_COND] != 0;
    return (struct loop_end){n, states, states + n, states + 2 * n};
}

/* A next value that lies in the storage of some state goes through the step's scratch. All of those
 * are copied before any state is overwritten, one behind the other, and taken from there in the
 * same order. */
static void move_states(struct walk *w, const struct step *s, const struct loop_end *e)
{
    const bool *through_scratch = s->args.prep;
    struct tview scratch = {.type = PITH_U8, .data = s->scratch};
    device_address at = s->scratch ? address_of(w, &scratch) : 0, from = at;
    for (uint32_t i = 0; i < e->n; i++) {
        const struct tview *next = s->args.in[e->next + i];
        if (through_scratch[i]) {
            copy_on_device(w, at, address_of(w, next), bytes_of(next));
            at += bytes_of(next);
        }
    }
    for (uint32_t i = 0; i < e->n; i++) {
        const struct tview *state = s->args.in[e->states + i], *next = s->args.in[e->next + i];
        if (through_scratch[i]) {
            copy_on_device(w, address_of(w, state), from, bytes_of(state));
            from += bytes_of(state);
        } else {
            copy_on_device(w, address_of(w, state), address_of(w, next), bytes_of(next));
        }
    }
}

/* true: once more. The condition is read before the states move, since it may lie where one of them
 * goes. */
static bool end_iteration(struct walk *w, const struct op_args *loop, const struct step *s)
{
    const struct op_args *end = &s->args;
    struct loop_end e = loop_end_of(end);
    bool go_on = !e.states || condition(w, end->in[0]);
    for (uint32_t i = e.collected; i < end->n_in; i++) {
        size_t bytes = bytes_of(end->in[i]);
        device_address stacked = address_of(w, end->out[e.n + i - e.collected]);
        copy_on_device(w, stacked + (uint64_t)iteration_of(loop) * bytes, address_of(w, end->in[i]),
                       bytes);
    }
    move_states(w, s, &e);
    set_iteration(w, loop, iteration_of(loop) + 1);
    return go_on && in_count(w, loop);
}

/* A copy in the same memory is left out: the final value often shares it with the state. */
static void end_loop(struct walk *w, const struct op_args *end)
{
    struct loop_end e = loop_end_of(end);
    for (uint32_t i = 0; i < e.n; i++)
        copy_on_device(w, address_of(w, end->out[i]), address_of(w, end->in[e.states + i]),
                       bytes_of(end->out[i]));
}

/* As run_control of run.c: both walks visit the same steps, so that steps_done and the limit mean
 * the same on either processor. */
static uint32_t run_control(struct walk *w, uint32_t at)
{
    const struct step *s = &w->p->plan->step[at], *partner = &w->p->plan->step[s->jump];
    bool again;
    switch (s->args.info->op) {
    case PITH_OP_LOOP:
        if (begin_loop(w, &s->args))
            return at + 1;
        end_loop(w, &partner->args);
        return s->jump + 1;
    case PITH_OP_LOOP_END:
        if (end_iteration(w, &partner->args, s))
            return s->jump + 1;
        end_loop(w, &s->args);
        return at + 1;
    default:
        /* out[0] is the condition, on the host now. Branch goes on where it holds and else jumps to
         * BranchElse, which tests the same condition: it goes on where that does not hold, and
         * jumps over its side where the other one has run. */
        run_on_cpu(w, s);
        if (s->args.info->op == PITH_OP_BRANCH_END || w->st)
            return at + 1;
        again = *(const uint8_t *)s->args.out[0]->data != 0;
        return again == (s->args.info->op == PITH_OP_BRANCH) ? at + 1 : s->jump;
    }
}

/* The walk copies what control steps read, and needs addresses of constants that no kernel reads:
 * they get their place here, while memory is still counted. */
void pith_device_lower_control(struct lowering *l, const struct step *s)
{
    for (uint32_t i = 0; i < s->args.n_in; i++)
        if (s->args.in[i])
            pith_device_data(l, s->args.in[i]);
}

/* A stream that is being captured must not be waited for; so every step has to have a kernel, and
 * no value may decide which step is next. */
bool pith_device_is_fixed(const struct pith_cuda_plan *p)
{
    for (uint32_t i = 0; i < p->plan->n_steps; i++)
        if (p->step[i].on_cpu || data_decides(p->plan, &p->plan->step[i]))
            return false;
    return true;
}

/* As count_step of run.c. stop() is not called during a capture, which is no run. */
static void count_step(struct walk *w)
{
    struct pith_plan *plan = w->p->plan;
    if (plan->steps_done == w->limit)
        w->st = PITH_ERR_LIMIT;
    else if (!w->p->capturing && plan->opts.stop && plan->opts.stop(plan->opts.stop_user))
        w->st = PITH_ERR_STOPPED;
    else
        plan->steps_done++;
}

/* With a clock each step is waited for, where there is no graph: the device's work is timed by
 * events, the CPU's by the clock. As each timed step is waited for, the clock is right for control
 * steps, too. */
struct stopwatch {
    bool runs, by_events;
    uint64_t start;
};

static struct stopwatch start_time(struct walk *w, uint32_t at)
{
    const struct pith_cuda_plan *p = w->p;
    const struct pith_opts *o = &p->plan->opts;
    struct stopwatch s = {.runs = o->clock_ns && !p->capturing};
    if (!s.runs)
        return s;
    s.by_events = !p->step[at].on_cpu && !(p->plan->step[at].args.info->flags & OP_CONTROL);
    s.start = o->clock_ns(o->user);
    if (s.by_events)
        note(w, pith_device_pair(w->p, 0), "cannot time a step");
    return s;
}

static void take_time(struct walk *w, uint32_t at, const struct stopwatch *s)
{
    const struct pith_opts *o = &w->p->plan->opts;
    if (!s->runs || w->st)
        return;
    if (s->by_events)
        note(w, pith_device_pair(w->p, 1), "cannot time a step");
    wait(w);
    if (w->st)
        return;
    uint64_t ns = o->clock_ns(o->user) - s->start;
    if (s->by_events)
        note(w, pith_device_pair_ns(w->p, &ns), "cannot time a step");
    w->p->plan->step[at].ns += ns;
}

static bool is_marked(const struct pith_cuda_plan *p)
{
    return p->capturing && p->plan->opts.clock_ns;
}

/* Where a run ends early next_step is the step that did not end, as in run.c; steps_done counts it
 * only if it was begun. After the last step next_step is n_steps. */
enum pith_status pith_device_enqueue(struct pith_cuda_plan *p, uint64_t limit,
                                     struct pith_error *err)
{
    struct walk w = {.p = p, .limit = limit, .err = err};
    struct pith_plan *plan = p->plan;
    plan->steps_done = 0;
    p->launches = 0;
    pith_device_reset_times(p);
    for (uint32_t at = 0, next; at < plan->n_steps && !w.st; at = next) {
        plan->next_step = next = at;
        count_step(&w);
        if (w.st)
            break;
        if (is_marked(p))
            note(&w, pith_device_mark(p, at), "cannot time a step");
        struct stopwatch s = start_time(&w, at);
        if (plan->step[at].args.info->flags & OP_CONTROL)
            next = run_control(&w, at);
        else
            next = run_step(&w, at);
        take_time(&w, at, &s);
    }
    if (is_marked(p))
        note(&w, pith_device_mark(p, 0), "cannot time a step");
    if (!w.st)
        plan->next_step = plan->n_steps;
    return w.st;
}
