/* SPDX-License-Identifier: MIT */
/* From file form to run form, once per plan: constants that steps read as data are expanded, and
 * operators pack their weights. The arena, where nothing lives yet, is the scratch, unless the
 * caller has other memory for it.
 *
 * With opts.parallel_for, a weight that is more than its share of a thread, and can be cut
 * (weight_cut.h), is decoded by all threads; the others at the same time, each by one, in as many
 * slots of scratch as there are; so are bytes that are not coded, which are only packed:
 *
 *     | slot 0 | slot 1 | ... | the slot of each job |
 *
 * The largest are dealt out first, each to the slot that has least to do: the work of a slot
 * depends on nothing but the file and the memory. Floats that are not coded come after, on the
 * calling thread, and cut their own work into pieces where they do.
 *
 * Decoding is what opening a model costs, and packing where it is bytes. Which job
 * runs in which slot depends on nothing that a run may change, so the same file fails with the
 * same status whatever the threads do. */
#include "core/build_choice.h"
#include "plan/plan.h"
#include "decode/weight_cut.h"
#include "decode/weight_rows.h"

/* More threads than this wait for the largest weight. */
#define MAX_SLOTS 16u
#define NO_SLOT 255u

/* A job is a constant, or a step whose operator prepares something. Two phases use it:
 * constants, then steps. */
struct fill {
    struct pith_plan *plan;
    const uint8_t *weights, *weights_end;
    const struct fill_memory *memory;
    uint32_t n_slots; /* 0: one job after the other */
    uint8_t *slot;    /* [jobs of the phase]; NO_SLOT: not among them */
    enum pith_status st[MAX_SLOTS];
    enum pith_status (*run)(const struct fill *f, uint32_t job, const struct op_env *env);
    const struct weight *(*weight)(const struct fill *f,
                                   uint32_t job); /* NULL: nothing to decode */
    uint32_t n_jobs;
};

/* ---- constants ------------------------------------------------------------------------------ */

/* Constants whose elements lie in plan memory are the ones to expand; borrowed ones lie in the
 * image. Where a value's data point is what planning decided; nothing else has to be remembered. */
static bool is_stored(const struct fill *f, uint32_t i)
{
    const uint8_t *data = f->plan->value[f->plan->weight_value[i]].data;
    return data && data >= f->weights && data < f->weights_end;
}

/* f32 and the grids that decode to it; integers as they are. */
static enum pith_status expand_constant(const struct fill *f, uint32_t i, const struct op_env *env)
{
    const struct weight *w = &f->plan->weight[i];
    const struct tview *t = &f->plan->value[f->plan->weight_value[i]];
    if (!is_stored(f, i))
        return PITH_OK;
    if (t->type == PITH_F32)
        return pith_weight_cut_f32(env, w, t->data, env->scratch);
    return pith_weight_cut_plain(env, w, t->data, env->scratch);
}

static const struct weight *constant_weight(const struct fill *f, uint32_t i)
{
    return is_stored(f, i) ? &f->plan->weight[i] : NULL;
}

/* Steps with coded weights that are read at each run are tested once here, so that run() need
 * not look. */
/* ---- steps ---------------------------------------------------------------------------------- */

static bool prepares(const struct step *s)
{
    return s->args.prep && s->args.info->prepare && !s->shares_prep;
}

/* What a shared weight is made into belongs to the first step that requested it. */
static enum pith_status prepare_step(const struct fill *f, uint32_t i, const struct op_env *env)
{
    const struct step *s = &f->plan->step[i];
    if (s->reads_rows)
        return pith_weight_rows_check(s->args.weight, env->scratch);
    return prepares(s) ? s->args.info->prepare(&s->args, env) : PITH_OK;
}

/* What prepare() decodes. */
static const struct weight *step_weight(const struct fill *f, uint32_t i)
{
    const struct step *s = &f->plan->step[i];
    return prepares(s) ? s->args.weight : NULL;
}

/* ---- slots ---------------------------------------------------------------------------------- */

/* About what decoding takes, in quarter nanoseconds; 0: nothing is decoded. An adaptive code
 * takes fifty times as long as most others. Measured on Zen 4: 160 ns an element adaptive, the
 * others by their stored elements. Only ratios matter. */
static uint64_t cost_of(const struct weight *w)
{
    bool plain = w && w->code == CODE_PLAIN && w->grid == GRID_PLAIN && w->support == SUPPORT_DENSE;
    if (!w || (plain && w->type != PITH_I8))
        return 0;
    if (plain)
        return w->count * 4;
    return w->code == CODE_ADAPTIVE  ? w->count * 1650 /* counts < 2^40 */
           : w->code == CODE_CLASSES ? w->count * 100
                                     : w->count + w->nnz * 16;
}

/* Powers of two: jobs of like size need no order among each other. */
static uint32_t class_of(uint64_t cost)
{
    return 63u - (uint32_t)__builtin_clzll(cost | 1);
}

/* Linear: there are at most 16. */
static uint32_t least_loaded(const uint64_t *load, uint32_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        best = load[i] < load[best] ? i : best;
    return best;
}

static uint64_t cost_of_all(const struct fill *f)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < f->n_jobs; i++)
        sum += cost_of(f->weight(f, i)); /* < 2^50 each */
    return sum;
}

/* What a slot may be given: threads would wait for a weight that is a fourth of all or more, so it
 * is not, if it can be cut. No plan knows how many threads there are. */
static uint64_t cost_in_slot(const struct weight *w, uint64_t all)
{
    uint64_t cost = cost_of(w);
    return BUILT_PART(RANS) && cost && cost >= all / 4 && pith_weight_is_cut(w) ? 0 : cost;
}

/* Deals the jobs out, from the class of the largest on. Returns how many there are. Longest
 * processing time first (Graham 1969): the load of the fullest slot is at most 4/3 of the best. */
static uint32_t deal(const struct fill *f)
{
    uint64_t load[MAX_SLOTS] = {0}, classes = 0, all = cost_of_all(f);
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n_jobs; i++) {
        uint64_t cost = cost_in_slot(f->weight(f, i), all);
        f->slot[i] = NO_SLOT;
        classes |= cost ? UINT64_C(1) << class_of(cost) : 0;
    }
    /* A pass for each class that occurs, instead of a sort: no memory. */
    for (uint32_t k = 64; k-- > 0;)
        for (uint32_t i = 0; classes >> k & 1 && i < f->n_jobs; i++) {
            uint64_t cost = cost_in_slot(f->weight(f, i), all);
            if (cost == 0 || class_of(cost) != k)
                continue;
            f->slot[i] = (uint8_t)least_loaded(load, f->n_slots);
            load[f->slot[i]] += cost;
            n++;
        }
    return n;
}

/* Pieces of a job that a slot runs: as the pool cannot be entered again, here. The operator sees
 * that there are threads, since what it makes is laid out for them. Inside of a parallel body
 * the pool must not be entered again. */
static void here(void *user, uint32_t n, void (*body)(void *arg, uint32_t i), void *arg)
{
    (void)user;
    for (uint32_t i = 0; i < n; i++)
        body(arg, i);
}

/* A slot stops at its first failure; other slots go on, and the first status in order of slots
 * is returned. */
static void run_slot(void *arg, uint32_t slot)
{
    struct fill *f = arg;
    uint8_t *scratch = (uint8_t *)f->memory->at + slot * f->memory->job_bytes;
    struct op_env env = plan_env(f->plan, scratch);
    env.parallel_for = here;
    for (uint32_t i = 0; i < f->n_jobs && !f->st[slot]; i++)
        if (f->slot[i] == slot)
            f->st[slot] = f->run(f, i, &env);
}

/* One body a slot; the pool may run them on fewer threads. */
static enum pith_status run_slots(struct fill *f)
{
    struct op_env env = plan_env(f->plan, NULL);
    enum pith_status st = PITH_OK;
    memset(f->st, 0, sizeof f->st);
    pith_op_parallel(&env, f->n_slots, run_slot, f);
    for (uint32_t i = 0; i < f->n_slots && !st; i++)
        st = f->st[i];
    return st;
}

/* Slots and the table of jobs, where there is room for two at least. The table of jobs is behind
 * the slots, a byte a job. */
static void place_slots(struct fill *f)
{
    uint64_t bytes = f->memory->bytes, each = f->memory->job_bytes;
    f->n_slots = 0;
    if (!f->plan->opts.parallel_for || bytes < f->n_jobs)
        return;
    uint64_t slots = each ? (bytes - f->n_jobs) / each : MAX_SLOTS;
    f->n_slots = slots > MAX_SLOTS ? MAX_SLOTS : (uint32_t)slots;
    f->slot = (uint8_t *)f->memory->at + f->n_slots * f->memory->job_bytes;
    /* A single job gains nothing from a slot, and cuts itself into pieces on the caller's
     * thread. */
    if (f->n_slots < 2 || deal(f) < 2)
        f->n_slots = 0;
}

static enum pith_status run_phase(struct fill *f)
{
    struct op_env env = plan_env(f->plan, f->memory->at);
    enum pith_status st = PITH_OK;
    place_slots(f);
    if (f->n_slots)
        st = run_slots(f);
    /* What is not decoded or is cut, or everything without slots. The table lies behind two slots
     * at least, so a job's scratch does not reach it. */
    for (uint32_t i = 0; i < f->n_jobs && !st; i++)
        if (f->n_slots == 0 || f->slot[i] == NO_SLOT)
            st = f->run(f, i, &env);
    return st;
}

/* Constants first: a step that prepares may read them. */
enum pith_status pith_plan_fill(struct pith_plan *plan, const uint8_t *weights,
                                const uint8_t *weights_end, const struct fill_memory *memory)
{
    struct fill f = {
        .plan = plan, .weights = weights, .weights_end = weights_end, .memory = memory};
    f.n_jobs = plan->n_kept;
    f.run = expand_constant;
    f.weight = constant_weight;
    enum pith_status st = run_phase(&f);
    f.n_jobs = plan->n_steps;
    f.run = prepare_step;
    f.weight = step_weight;
    return st ? st : run_phase(&f);
}
