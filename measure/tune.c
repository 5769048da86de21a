/* SPDX-License-Identifier: MIT */
/* tune.c - see pith_tune.h. A round is one plan in which every step runs one of its kernels, so
 * there are as many rounds as the step with most has kernels, not as many as all have together. */
#include <stdlib.h>
#include <string.h>
#include "engine.h"
#include "base/error_fill.h"
#include "pith_host.h"
#include "pith_tune.h"

#define SECONDS 10.0
#define LAST_CHOICE 255u
/* Another kernel than the planned one must be this much faster: below it, timing is noise. */
#define GAIN 0.97
/* A kernel that takes so many times as long as another in a first run is not run again: a plain
 * loop can take a hundred times as long. */
#define SLOW 3.0
/* The last share of the time is for both plans in turn, in so many turns. */
#define PROOF_SHARE 0.3
#define TURNS 5u
#define MAX_BATCH 256u

struct tuning {
    const struct pith_packed *packed;
    struct pith_engine_opts opts;
    const struct pith_tune_opts *tune;
    struct pith_error *err;
    double seconds;
    uint32_t n_steps, n_rounds;
    uint8_t *choices; /* owns: [n_steps] of the plan that runs now */
    uint8_t *planned; /* owns: [n_steps] */
    struct pith_tuned tuned;
    uint32_t room; /* of tuned.kernel */
    bool *slow;    /* owns: [tuned.n_kernels] by a first run, and not run again */
};

static enum pith_status watch(const struct tuning *t, double share)
{
    const struct pith_watch *w = t->tune ? t->tune->watch : NULL;
    if (w && w->step && !w->step(w->user, (uint64_t)(share * PITH_TUNE_PARTS)))
        return pith_error_fill(t->err, PITH_ERR_STOPPED, "interrupted while tuning");
    return PITH_OK;
}

/* An engine whose step i runs choices[i] where it can; NULL: as planned. */
static enum pith_status open_with(const struct tuning *t, const uint8_t *choices, uint32_t flags,
                                  struct pith_engine **e)
{
    struct pith_engine_opts o = t->opts;
    o.choices = choices;
    o.n_choices = choices ? t->n_steps : 0;
    o.flags |= flags;
    o.profile = true;
    return pith_engine_open_packed(t->packed, &o, e, t->err);
}

static bool add_kernel(struct tuning *t, const struct pith_layer *l)
{
    if (t->tuned.n_kernels == t->room) {
        uint32_t room = t->room ? 2 * t->room : 64;
        struct pith_tuned_kernel *more = realloc(t->tuned.kernel, room * sizeof *more);
        if (!more)
            return false;
        t->tuned.kernel = more;
        t->room = room;
    }
    t->tuned.kernel[t->tuned.n_kernels++] =
        (struct pith_tuned_kernel){.step = l->step,
                                   .choice = l->choice,
                                   .kernel = l->kernel,
                                   .ns = UINT64_MAX,
                                   .planned = l->choice == t->planned[l->step],
                                   .taken = l->choice == t->planned[l->step]};
    return true;
}

/* ---- which kernels there are ----------------------------------------------------------------- */

/* Kernels of the steps that run with `choice` as requested. */
static enum pith_status add_kernels_of(struct tuning *t, uint32_t choice)
{
    struct pith_engine *e = NULL;
    struct pith_layer l;
    memset(t->choices, (int)choice, t->n_steps);
    enum pith_status st = open_with(t, t->choices, PITH_FLAG_OUTLINE | PITH_FLAG_TRY_CHOICES, &e);
    for (uint32_t i = 0; !st && i < t->n_steps; i++) {
        pith_plan_layer(pith_engine_plan(e), i, &l);
        if (l.choice == choice && !add_kernel(t, &l))
            st = pith_error_no_memory(t->err);
    }
    pith_engine_close(e);
    return st;
}

static int by_step(const void *a, const void *b)
{
    const struct pith_tuned_kernel *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->choice > y->choice) - (x->choice < y->choice);
}

uint32_t pith_tuned_of_step(const struct pith_tuned *tuned, uint32_t from)
{
    if (!tuned)
        return 0;
    uint32_t n = 0;
    while (from + n < tuned->n_kernels && tuned->kernel[from + n].step == tuned->kernel[from].step)
        n++;
    return n;
}

/* Sorted by step, without the steps of one kernel. */
static void keep_several(struct tuning *t)
{
    uint32_t kept = 0;
    if (t->tuned.n_kernels)
        qsort(t->tuned.kernel, t->tuned.n_kernels, sizeof *t->tuned.kernel, by_step);
    for (uint32_t i = 0, n; i < t->tuned.n_kernels; i += n) {
        n = pith_tuned_of_step(&t->tuned, i);
        if (n < 2)
            continue;
        memmove(t->tuned.kernel + kept, t->tuned.kernel + i, n * sizeof *t->tuned.kernel);
        kept += n;
        if (n > t->n_rounds)
            t->n_rounds = n;
    }
    t->tuned.n_kernels = kept;
}

static enum pith_status find_planned(struct tuning *t)
{
    struct pith_engine *e = NULL;
    struct pith_layer l;
    enum pith_status st = open_with(t, NULL, PITH_FLAG_OUTLINE, &e);
    if (st)
        return st;
    const struct pith_plan *plan = pith_engine_plan(e);
    t->n_steps = pith_plan_layer_count(plan);
    t->planned = calloc(t->n_steps ? t->n_steps : 1, 1);
    t->choices = calloc(t->n_steps ? t->n_steps : 1, 1);
    for (uint32_t i = 0; t->planned && i < t->n_steps; i++) {
        pith_plan_layer(plan, i, &l);
        t->planned[i] = (uint8_t)l.choice;
    }
    pith_engine_close(e);
    return t->planned && t->choices ? PITH_OK : pith_error_no_memory(t->err);
}

static enum pith_status find_kernels(struct tuning *t)
{
    enum pith_status st = find_planned(t);
    for (uint32_t choice = 1; !st && choice <= LAST_CHOICE; choice++) {
        st = add_kernels_of(t, choice);
        if (!st && choice % 16 == 0)
            st = watch(t, 0);
    }
    if (!st)
        keep_several(t);
    return st;
}

/* ---- their times ----------------------------------------------------------------------------- */

/* Of the n kernels of a step from `from` on, those that are run. */
static uint32_t count_run(const struct tuning *t, uint32_t from, uint32_t n)
{
    uint32_t run = 0;
    for (uint32_t i = from; i < from + n; i++)
        run += !t->slow[i];
    return run;
}

/* Choices of round r: of every step that has several kernels the r-th that is run, again from the
 * first where it has fewer. */
static void set_round(struct tuning *t, uint32_t r)
{
    memcpy(t->choices, t->planned, t->n_steps);
    for (uint32_t i = 0, n; i < t->tuned.n_kernels; i += n) {
        n = pith_tuned_of_step(&t->tuned, i);
        uint32_t k = i, skip = r % count_run(t, i, n);
        while (t->slow[k] || skip-- > 0)
            k++;
        t->choices[t->tuned.kernel[k].step] = (uint8_t)t->tuned.kernel[k].choice;
    }
}

/* single: of the last run, else of the fastest. */
static void note_times(struct tuning *t, struct pith_engine *e, bool single)
{
    for (uint32_t i = 0; i < t->tuned.n_kernels; i++) {
        struct pith_tuned_kernel *k = &t->tuned.kernel[i];
        struct pith_layer l;
        pith_plan_layer(pith_engine_plan(e), k->step, &l);
        uint64_t ns = single ? l.ns : pith_engine_layer_ns(e, k->step);
        if (t->choices[k->step] == k->choice && ns < k->ns)
            k->ns = ns;
    }
}

/* The first of the two runs reads weights that are in no cache yet. */
static enum pith_status run_twice(struct tuning *t, struct pith_engine *e)
{
    enum pith_status st = PITH_OK;
    for (int i = 0; i < 2 && !st; i++) {
        pith_fill_normal(pith_engine_plan(e), 1);
        st = pith_engine_run(e, t->err);
        if (!st)
            note_times(t, e, true);
    }
    return st;
}

/* seconds 0: two runs. */
static enum pith_status run_round(struct tuning *t, uint32_t r, double seconds)
{
    struct pith_engine *e = NULL;
    struct pith_timing timing;
    set_round(t, r);
    enum pith_status st = open_with(t, t->choices, 0, &e);
    if (!st)
        st = seconds > 0 ? pith_time(e, seconds, &timing, t->err) : run_twice(t, e);
    if (!st && seconds > 0)
        note_times(t, e, false);
    pith_engine_close(e);
    return st;
}

static enum pith_status run_rounds(struct tuning *t, double seconds, double from, double to)
{
    for (uint32_t r = 0; r < t->n_rounds; r++) {
        enum pith_status st = run_round(t, r, seconds);
        if (!st)
            st = watch(t, from + (to - from) * (r + 1) / t->n_rounds);
        if (st)
            return st;
    }
    return PITH_OK;
}

/* Of every step at least its fastest kernel stays. */
static void drop_slow(struct tuning *t)
{
    uint32_t rounds = 0;
    for (uint32_t i = 0, n; i < t->tuned.n_kernels; i += n) {
        uint64_t best = UINT64_MAX;
        n = pith_tuned_of_step(&t->tuned, i);
        for (uint32_t k = i; k < i + n; k++)
            best = t->tuned.kernel[k].ns < best ? t->tuned.kernel[k].ns : best;
        for (uint32_t k = i; k < i + n; k++)
            t->slow[k] = (double)t->tuned.kernel[k].ns > SLOW * (double)best;
        if (count_run(t, i, n) > rounds)
            rounds = count_run(t, i, n);
    }
    t->n_rounds = rounds;
}

/* All rounds once, and again while there is time: a machine that other work slows for a while slows
 * not all turns of one kernel. */
static enum pith_status time_kernels(struct tuning *t)
{
    const double end = 1 - PROOF_SHARE, all = t->seconds * end;
    const uint64_t start = pith_clock_ns(NULL);
    double passed = 0, from = 0.1;
    if (t->n_rounds == 0)
        return PITH_OK;
    t->slow = calloc(t->tuned.n_kernels, sizeof *t->slow);
    if (!t->slow)
        return pith_error_no_memory(t->err);
    enum pith_status st = run_rounds(t, 0, 0, from);
    if (!st)
        drop_slow(t);
    for (uint32_t turn = 0; !st && (turn == 0 || passed < all); turn++) {
        double to = turn + 1 < TURNS ? 0.1 + (end - 0.1) * (turn + 1) / TURNS : end;
        st = run_rounds(t, all / TURNS / t->n_rounds, from, to);
        passed = (double)(pith_clock_ns(NULL) - start) * 1e-9;
        from = to;
    }
    return st;
}

/* ---- the choice, and its proof --------------------------------------------------------------- */

static struct pith_tuned_kernel *find(struct tuning *t, uint32_t from, uint32_t n, uint32_t choice)
{
    for (uint32_t i = from; i < from + n; i++)
        if (t->tuned.kernel[i].choice == choice)
            return &t->tuned.kernel[i];
    return NULL;
}

/* Fills choices with the fastest kernel of every step; whether one is not the planned one. */
static bool choose(struct tuning *t)
{
    bool other = false;
    memcpy(t->choices, t->planned, t->n_steps);
    for (uint32_t i = 0, n; i < t->tuned.n_kernels; i += n) {
        n = pith_tuned_of_step(&t->tuned, i);
        struct pith_tuned_kernel *best = &t->tuned.kernel[i];
        for (uint32_t k = 1; k < n; k++)
            if (t->tuned.kernel[i + k].ns < best->ns)
                best = &t->tuned.kernel[i + k];
        struct pith_tuned_kernel *planned = find(t, i, n, t->planned[best->step]);
        if (planned && (double)best->ns > GAIN * (double)planned->ns)
            best = planned;
        t->choices[best->step] = (uint8_t)best->choice;
        other |= best != planned;
    }
    return other;
}

/* The turn with the lowest median counts: of all turns it was disturbed least. */
static void keep_best(struct pith_timing *best, const struct pith_timing *turn)
{
    uint32_t runs = best->runs + turn->runs;
    if (best->runs == 0 || turn->ms_median < best->ms_median)
        *best = *turn;
    best->runs = runs;
}

static enum pith_status time_both(struct tuning *t, struct pith_engine *const e[2])
{
    struct pith_timing *best[2] = {&t->tuned.planned, &t->tuned.tuned};
    const double seconds = t->seconds * PROOF_SHARE / TURNS / 2;
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        for (uint32_t side = 0; side < 2; side++) {
            struct pith_timing timing;
            enum pith_status st = pith_time(e[side], seconds, &timing, t->err);
            if (st)
                return st;
            keep_best(best[side], &timing);
        }
        enum pith_status st = watch(t, 1 - PROOF_SHARE * (TURNS - 1 - turn) / TURNS);
        if (st)
            return st;
    }
    return PITH_OK;
}

static enum pith_status write_plan(struct tuning *t, struct pith_engine *e)
{
    const struct pith_plan *plan = pith_engine_plan(e);
    struct pith_buffer *file = &t->tuned.plan_file;
    file->bytes = (size_t)pith_plan_file_bytes(plan);
    file->data = malloc(file->bytes);
    if (!file->data)
        return pith_error_no_memory(t->err);
    return pith_plan_file_write(plan, file->data, file->bytes);
}

/* Steps share caches, so the fastest kernels one by one need not be the fastest together. */
static enum pith_status prove(struct tuning *t)
{
    struct pith_engine *e[2] = {NULL, NULL};
    bool other = choose(t);
    enum pith_status st = open_with(t, t->planned, 0, &e[0]);
    if (!st)
        st = open_with(t, t->choices, 0, &e[1]);
    if (!st)
        st = time_both(t, e);
    bool faster = !st && other && t->tuned.tuned.ms_median < t->tuned.planned.ms_median;
    if (!st && !faster) {
        memcpy(t->choices, t->planned, t->n_steps);
        t->tuned.tuned = t->tuned.planned;
    }
    if (!st)
        st = write_plan(t, e[faster]);
    for (uint32_t i = 0; i < t->tuned.n_kernels; i++) {
        struct pith_tuned_kernel *k = &t->tuned.kernel[i];
        k->taken = t->choices[k->step] == k->choice;
    }
    pith_engine_close(e[0]);
    pith_engine_close(e[1]);
    return st;
}

/* ---- the calls ------------------------------------------------------------------------------- */

static enum pith_status start(struct tuning *t, const struct pith_packed *packed,
                              const struct pith_engine_opts *opts,
                              const struct pith_tune_opts *tune, struct pith_error *err)
{
    *t = (struct tuning){.packed = packed, .tune = tune, .err = err};
    if (opts)
        t->opts = *opts;
    t->opts.size_bytes = sizeof t->opts;
    t->seconds = tune && tune->seconds > 0 ? tune->seconds : SECONDS;
    if (t->opts.profile || t->opts.observe || t->opts.plan_file || t->opts.choices)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "tuning chooses kernels itself: give no plan");
    return PITH_OK;
}

enum pith_status pith_tune(const struct pith_packed *packed, const struct pith_engine_opts *opts,
                           const struct pith_tune_opts *tune, struct pith_tuned *tuned,
                           struct pith_error *err)
{
    if (!packed || !opts || !tuned || opts->size_bytes != sizeof *opts ||
        (tune && tune->size_bytes != sizeof *tune))
        return PITH_ERR_ARGUMENT;
    struct tuning t;
    enum pith_status st = start(&t, packed, opts, tune, err);
    if (!st)
        st = find_kernels(&t);
    if (!st)
        st = time_kernels(&t);
    if (!st)
        st = prove(&t);
    free(t.choices);
    free(t.planned);
    free(t.slow);
    if (st)
        pith_tuned_free(&t.tuned);
    else
        *tuned = t.tuned;
    return st;
}

void pith_tuned_free(struct pith_tuned *tuned)
{
    if (!tuned)
        return;
    free(tuned->kernel);
    pith_buffer_free(&tuned->plan_file);
    memset(tuned, 0, sizeof *tuned);
}

static enum pith_status time_batch(struct tuning *t, uint32_t batch, struct pith_timing *timing)
{
    struct pith_engine *e = NULL;
    t->opts.batch = batch;
    enum pith_status st = open_with(t, NULL, 0, &e);
    if (!st)
        st = pith_time(e, t->seconds / 10, timing, t->err);
    pith_engine_close(e);
    return st;
}

enum pith_status pith_tune_batch(const struct pith_packed *packed,
                                 const struct pith_engine_opts *opts,
                                 const struct pith_tune_opts *tune, double max_ms, uint32_t *batch,
                                 struct pith_error *err)
{
    if (!packed || !opts || !tune || !batch || opts->size_bytes != sizeof *opts ||
        tune->size_bytes != sizeof *tune)
        return PITH_ERR_ARGUMENT;
    struct tuning t;
    enum pith_status st = start(&t, packed, opts, tune, err);
    const uint32_t most = packed->outline->batch_open ? MAX_BATCH : 1;
    uint32_t best = 0, without_gain = 0;
    double rate = 0;
    for (uint32_t n = 1; !st && n <= most && without_gain < 2; n *= 2) {
        struct pith_timing timing;
        st = time_batch(&t, n, &timing);
        if (st || (max_ms > 0 && timing.ms_p90 > max_ms))
            break;
        without_gain = n / timing.ms_median > rate ? 0 : without_gain + 1;
        if (without_gain == 0) {
            rate = n / timing.ms_median;
            best = n;
        }
        st = watch(&t, 0);
    }
    if (!st && best == 0)
        st = pith_error_fill(err, PITH_ERR_GOAL, "one sample takes longer than %g ms", max_ms);
    if (!st)
        *batch = best;
    return st;
}
