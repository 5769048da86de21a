/* SPDX-License-Identifier: MIT */
#include "pith_goal_estimate.h"

#include <math.h>
#include <stdlib.h>

#include "pith_error_fill.h"
#include "pith_host.h"
#include "pith_op_semantics.h"
#include "pith_pack.h"
#include "pith_rounding_noise.h"

#define MACS 1.5e9       /* of a pass over the samples */
#define MACS_ONCE 0.75e9 /* of the pass that tells what error feedback leaves */
#define MOST_SAMPLES 16.0
#define LEAST_SAMPLES 2.0
#define RUNS 6     /* of rounded networks */
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
    struct pith_weight_ref *refs; /* owns: [n] */
    uint32_t n;
    double *share;     /* owns: [n] of rounding's error that error feedback leaves */
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

static double integer_of(float w, double step)
{
    return fmax(-LEVELS, fmin(LEVELS, nearbyint((double)w / step)));
}

/* Rounds the constant, whatever grid it was on; bits of its integers, by their counts, on the wider
 * steps by which error feedback, which leaves a share of the error, loses as much. */
static double round_layer(struct pith_const *c, double step, double share,
                          uint32_t count[2 * LEVELS + 1])
{
    float *w = c->data;
    *c = (struct pith_const){.count = c->count, .data = c->data};
    const double size = step * deviation_of(w, c->count), wide = size / sqrt(share);
    for (uint32_t k = 0; k <= 2 * LEVELS; k++)
        count[k] = 0;
    for (uint64_t i = 0; i < c->count && size > 0; i++) {
        count[(int)integer_of(w[i], wide) + LEVELS]++;
        w[i] = (float)(integer_of(w[i], size) * size);
    }
    return size > 0 ? bits_of(count, c->count) : 0;
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
    struct pith_model *copy = NULL;
    enum pith_status st = count ? pith_model_copy(e->m, &copy, e->err) : PITH_ERR_MEMORY;
    double bits = 0;
    for (uint32_t i = 0; i < e->n && !st; i++)
        bits += round_layer(copy->values[e->refs[i].value].constant, step, e->share[i], count);
    if (!st)
        st = pith_model_pack(copy, NULL, file, e->err);
    pith_model_free(copy);
    free(count);
    *bytes = e->gain *
             (bits / 8 + VECTOR_BYTES * count_others(e) + HEAD_BYTES + LAYER_BYTES * (double)e->n);
    return st == PITH_ERR_MEMORY ? pith_error_no_memory(e->err) : st;
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

static enum pith_status find_step(const struct estimate *e, struct pith_goal_estimate *to)
{
    struct rounded good = {.x = -HUGE_VAL, .y = 1}, bad = {.x = HUGE_VAL, .y = -1}, r;
    double x = log(FIRST_STEP);
    enum pith_status st = PITH_OK;
    for (int i = 0; i < RUNS && !st; i++) {
        st = try_step(e, x, to, &r);
        if (st || fabs(r.y) < NEAR)
            break;
        if (r.y <= 0 && r.x > good.x)
            good = r;
        else if (r.y > 0 && r.x < bad.x)
            bad = r;
        r = at_limit(&good, &bad);
        x = fmax(log(FINEST), fmin(log(COARSEST), r.x));
    }
    to->bytes = exp(r.log_bytes);
    to->step = exp(r.x);
    to->met = st ? false : r.y <= NEAR;
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
static uint64_t samples_for(const struct estimate *e, double macs)
{
    return (uint64_t)fmin(MOST_SAMPLES, fmax(LEAST_SAMPLES, macs / e->macs));
}

static enum pith_status open_judge(struct estimate *e, const struct pith_goal_compress_opts *o)
{
    e->macs = fmax(macs_of(e->m, e->err), 1);
    struct pith_goal_judge_opts judge = {.size_bytes = sizeof judge,
                                         .seed = o->seed,
                                         .most_choosing = samples_for(e, MACS),
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
        .samples = samples_for(e, MACS_ONCE),
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
    struct pith_goal_estimate made = {.met = false};
    const bool limits = pith_goal_limits_loss(goal);
    struct pith_goal asked = *goal;
    struct estimate e = {.m = m, .goal = &asked, .gain = gain_of(m), .err = err};
    if (pith_goal_shapes(goal))
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "there is no estimate of files in a pattern or with few levels");
    if (!limits)
        asked.max_drop = PITH_GOAL_DEFAULT_DROP;
    e.refs = malloc((m->n_nodes + (size_t)1) * sizeof *e.refs);
    e.share = malloc((m->n_nodes + (size_t)1) * sizeof *e.share);
    enum pith_status st = PITH_OK;
    if (!e.refs || !e.share)
        st = pith_error_no_memory(err);
    else
        e.n = pith_model_weights(m, e.refs);
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
    return st;
}
