/* SPDX-License-Identifier: MIT */
#include "pith_goal_estimate.h"

#include <math.h>
#include <stdlib.h>

#include "pith_class_output.h"
#include "pith_error_fill.h"
#include "pith_host.h"
#include "pith_op_semantics.h"
#include "pith_pack.h"
#include "pith_rounding_noise.h"

#define MACS 1.5e9       /* of a pass over the samples */
#define MACS_ONCE 0.75e9 /* of the pass that tells what error feedback leaves */
#define MACS_ALL 9e9     /* of all rounded networks, but for LEAST_RUNS */
#define MOST_SAMPLES 16.0
#define LEAST_SAMPLES 2.0 /* but for one that chooses, where each has many numbers and no class */
#define RUNS 6.0          /* of rounded networks */
#define LEAST_RUNS 3.0
#define MOST_X 1.2 /* from one to the next, in logarithms of the step */
#define MOST_Y 8.0
#define FIRST_STEP 0.5 /* standard deviations */
#define FINEST 0.01
#define COARSEST 4.0
#define POWER 2.0        /* noise grows with the square of a step */
#define NEAR 0.1         /* of the limit, as a logarithm: near enough */
#define LEVELS 1023      /* of integers that are counted, on each side of 0 */
#define VECTOR_BYTES 1.0 /* of each number that is no weight */
#define HEAD_BYTES 300.0
#define LAYER_BYTES 12.0
/* A search's file, beside what rounding with error feedback would take; and by what share two in
 * three networks are off. */
#define GAIN 0.6
/* Where errors come back as inputs, error feedback makes up for less of them. */
#define RECURRENT_GAIN 0.95
#define OFF 1.5

struct estimate {
    const struct pith_model *m;
    const struct pith_goal *goal;
    struct pith_goal_judge *judge;
    struct pith_model *rounded;   /* owns: m, but for the weights of the last step */
    struct pith_weight_ref *refs; /* owns: [n] */
    uint32_t n;
    double *share;     /* owns: [n] of rounding's error that error feedback leaves */
    double *deviation; /* owns: [n] of a layer's weights */
    double gain, macs; /* of a sample */
    struct pith_error *err;
};

/* ---- weights --------------------------------------------------------------------------------- */

static double deviation_of(const float *w, uint64_t n)
{
    double squares = 0;
    for (uint64_t i = 0; i < n; i++)
        squares += (double)w[i] * (double)w[i];
    return sqrt(squares / (double)n);
}

static double bits_of(const uint32_t *count, uint64_t n)
{
    double bits = 0;
    for (uint32_t k = 0; k <= 2 * LEVELS; k++)
        if (count[k] > 0)
            bits -= (double)count[k] * log2((double)count[k] / (double)n);
    return bits;
}

/* To the nearest integer, of two the even one, but for those beyond LEVELS: doubles of the size of
 * this one have no bits behind the point. */
static inline double integer_of(double x)
{
    const double whole = 6755399441055744.0; /* 1.5 * 2^52 */
    x = x < -LEVELS ? -LEVELS : x;
    return ((x > LEVELS ? LEVELS : x) + whole) - whole;
}

/* w [n] rounded to steps of that size; bits of its integers, by their counts, on the wider steps by
 * which error feedback, which leaves a share of the error, loses as much. */
static double round_layer(const float *w, uint64_t n, double size, double share, float *to,
                          uint32_t count[2 * LEVELS + 1])
{
    const double by = 1 / size, by_wide = sqrt(share) / size;
    if (!(size > 0)) /* all are 0 */
        return 0;
    for (uint32_t k = 0; k <= 2 * LEVELS; k++)
        count[k] = 0;
    for (uint64_t i = 0; i < n; i++) {
        count[(int)integer_of((double)w[i] * by_wide) + LEVELS]++;
        to[i] = (float)(integer_of((double)w[i] * by) * size);
    }
    return bits_of(count, n);
}

/* Whatever grids the weights were on, they leave them. */
static enum pith_status copy_model(struct estimate *e)
{
    enum pith_status st = pith_model_copy(e->m, &e->rounded, e->err);
    for (uint32_t i = 0; i < e->n && !st; i++) {
        struct pith_const *c = e->rounded->values[e->refs[i].value].constant;
        *c = (struct pith_const){.count = c->count, .data = c->data};
        e->deviation[i] = deviation_of(c->data, c->count);
    }
    return st;
}

/* Numbers beside the weights. */
static double count_others(const struct estimate *e)
{
    double all = 0;
    for (uint32_t i = 0; i < e->m->n_values; i++)
        if (e->m->values[i].constant)
            all += (double)e->m->values[i].constant->count;
    for (uint32_t i = 0; i < e->n; i++)
        all -= (double)e->refs[i].rows * (double)e->refs[i].cols;
    return all;
}

/* ---- a rounded network ----------------------------------------------------------------------- */

static enum pith_status round_all(const struct estimate *e, double step, double *bytes,
                                  struct pith_buffer *file)
{
    uint32_t *count = malloc((2 * LEVELS + 1) * sizeof *count);
    double bits = 0;
    if (!count)
        return pith_error_no_memory(e->err);
    for (uint32_t i = 0; i < e->n; i++) {
        const struct pith_const *c = e->m->values[e->refs[i].value].constant;
        bits += round_layer(c->data, c->count, step * e->deviation[i], e->share[i],
                            e->rounded->values[e->refs[i].value].constant->data, count);
    }
    free(count);
    *bytes = e->gain *
             (bits / 8 + VECTOR_BYTES * count_others(e) + HEAD_BYTES + LAYER_BYTES * (double)e->n);
    return pith_model_pack(e->rounded, NULL, file, e->err);
}

/* A network that was rounded: the logarithms of its step and its bytes, and its excess. */
struct rounded {
    double x, log_bytes, y;
};

static enum pith_status try_step(const struct estimate *e, double x, struct pith_goal_estimate *to,
                                 struct rounded *r)
{
    struct pith_buffer file = {NULL, 0};
    double bytes = 0;
    enum pith_status st = round_all(e, exp(x), &bytes, &file);
    if (!st)
        st = pith_goal_judge_measure(e->judge, PITH_GOAL_CHOOSE, &file, &to->loss, e->err);
    pith_buffer_free(&file);
    if (st)
        return st;
    *r = (struct rounded){x, log(bytes), pith_goal_excess(e->goal, &to->loss, 0)};
    r->y = fmax(-MOST_Y, fmin(MOST_Y, r->y));
    return PITH_OK;
}

/* Of the nearest on both sides of the limit, at which y is 0; else by a power. */
static struct rounded at_limit(const struct rounded *good, const struct rounded *bad)
{
    if (good->y <= 0 && bad->y > 0) {
        double t = good->y / (good->y - bad->y);
        return (struct rounded){good->x + t * (bad->x - good->x),
                                good->log_bytes + t * (bad->log_bytes - good->log_bytes), 0};
    }
    const struct rounded *only = good->y <= 0 ? good : bad;
    return (struct rounded){only->x - fmax(-MOST_X, fmin(MOST_X, only->y / POWER)), only->log_bytes,
                            only->y};
}

/* Of a large network fewer. */
static int most_runs(const struct estimate *e)
{
    const double pass = e->macs * (double)pith_goal_judge_count(e->judge, PITH_GOAL_CHOOSE);
    return (int)fmax(LEAST_RUNS, fmin(RUNS, MACS_ALL / pass));
}

static enum pith_status find_step(const struct estimate *e, struct pith_goal_estimate *to)
{
    struct rounded good = {.x = -HUGE_VAL, .y = 1}, bad = {.x = HUGE_VAL, .y = -1}, r;
    double x = log(FIRST_STEP), within_reach = x; /* by the power alone */
    enum pith_status st = PITH_OK;
    for (int i = most_runs(e); i > 0 && !st; i--) {
        st = try_step(e, x, to, &r);
        if (st || fabs(r.y) < NEAR)
            break;
        if (r.y <= 0 && r.x > good.x)
            good = r;
        else if (r.y > 0 && r.x < bad.x)
            bad = r;
        within_reach = r.x - r.y / POWER;
        r = at_limit(&good, &bad);
        x = fmax(log(FINEST), fmin(log(COARSEST), r.x));
    }
    to->bytes = exp(r.log_bytes);
    to->step = exp(r.x);
    to->met = !st && (r.y <= NEAR || within_reach > log(FINEST));
    return st;
}

/* ---- all ------------------------------------------------------------------------------------- */

static double macs_of(const struct pith_model *m, struct pith_error *err)
{
    struct pith_engine *engine = NULL;
    double macs = 0;
    if (pith_engine_open(m, NULL, &engine, err))
        return 0;
    for (uint32_t i = 0; i < pith_plan_layer_count(pith_engine_plan(engine)); i++) {
        struct pith_layer l;
        if (!pith_plan_layer(pith_engine_plan(engine), i, &l))
            macs += (double)l.macs;
    }
    pith_engine_close(engine);
    return macs;
}

static double gain_of(const struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (pith_op_is(m->nodes[i].op, TRAIT_RECURS | TRAIT_OPENS_BODY))
            return RECURRENT_GAIN;
    return GAIN;
}

/* A pass over which takes so many multiplications. */
static uint64_t samples_for(const struct estimate *e, double macs, double least)
{
    return (uint64_t)fmin(MOST_SAMPLES, fmax(least, macs / e->macs));
}

static bool has_classes(const struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_outputs; i++)
        if (pith_output_kind(m, i).classes > 0)
            return true;
    return false;
}

static enum pith_status open_judge(struct estimate *e, const struct pith_goal_compress_opts *o)
{
    e->macs = fmax(macs_of(e->m, e->err), 1);
    struct pith_goal_judge_opts judge = {
        .size_bytes = sizeof judge,
        .seed = o->seed,
        .most_choosing = samples_for(e, MACS, has_classes(e->m) ? LEAST_SAMPLES : 1),
        .choosing_only = true,
        .weight = o->output_weight,
        .warn = o->warn,
        .user = o->user};
    judge.engine = (struct pith_engine_opts){
        .size_bytes = sizeof judge.engine, .threads = o->threads, .cpu_mask = o->cpu_mask};
    return pith_goal_judge_new(e->m, o->feed, &judge, &e->judge, e->err);
}

/* Of a few of the samples that calibrate, as all of them would tell it. */
static enum pith_status find_shares(const struct estimate *e,
                                    const struct pith_goal_compress_opts *o)
{
    struct pith_opts runtime;
    const struct rounding_noise_opts noise = {
        .feed = o->feed,
        .samples = samples_for(e, MACS_ONCE, LEAST_SAMPLES),
        .all_samples = pith_goal_judge_count(e->judge, PITH_GOAL_CALIBRATE),
        .runtime = &runtime};
    pith_opts_init(&runtime, sizeof runtime);
    runtime.cpu_mask = o->cpu_mask;
    enum pith_status st = pith_goal_judge_pick(e->judge, PITH_GOAL_CALIBRATE, e->err);
    if (!st && o->threads > 1 && pith_threads_start(&runtime, o->threads))
        st = pith_error_no_memory(e->err);
    if (!st)
        st = pith_rounding_noise(e->m, &noise, e->share, e->err);
    pith_threads_stop(&runtime);
    return st;
}

enum pith_status pith_goal_estimate(const struct pith_model *m, const struct pith_goal *goal,
                                    const struct pith_goal_compress_opts *opts,
                                    struct pith_goal_estimate *estimate, struct pith_error *err)
{
    if (!m || !goal || !opts || !estimate || opts->size_bytes != sizeof *opts)
        return PITH_ERR_ARGUMENT;
    struct pith_goal_estimate made = {.met = false};
    const bool limits = pith_goal_limits_loss(goal);
    struct pith_goal asked = *goal;
    struct estimate e = {.m = m, .goal = &asked, .gain = gain_of(m), .err = err};
    if (pith_goal_shapes(goal))
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "files with a pattern or few levels cannot be estimated");
    if (!limits)
        asked.max_drop = PITH_GOAL_DEFAULT_DROP;
    e.refs = malloc((m->n_nodes + (size_t)1) * sizeof *e.refs);
    e.share = malloc((m->n_nodes + (size_t)1) * sizeof *e.share);
    enum pith_status st = PITH_OK;
    e.deviation = malloc((m->n_nodes + (size_t)1) * sizeof *e.deviation);
    if (!e.refs || !e.share || !e.deviation)
        st = pith_error_no_memory(err);
    else
        e.n = pith_model_weights(m, e.refs);
    if (!st)
        st = copy_model(&e);
    if (!st)
        st = open_judge(&e, opts);
    if (!st)
        st = find_shares(&e, opts);
    if (!st)
        st = find_step(&e, &made);
    if (!st) {
        made.samples = made.loss.samples;
        made.low_bytes = made.bytes / OFF;
        made.high_bytes = made.bytes * OFF;
        made.met = !limits || (made.met && (!(goal->max_size > 0) || made.bytes <= goal->max_size));
        *estimate = made;
    }
    pith_goal_judge_free(e.judge);
    free(e.refs);
    free(e.share);
    free(e.deviation);
    pith_model_free(e.rounded);
    return st;
}
