/* SPDX-License-Identifier: MIT */
/* goal_encoders.c - the joint sweep, codebooks, integers that compute, and floats. */
#include "goal_encoders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compress/output/choose_coder.h"
#include "pith_compress.h"
#include "base/error_fill.h"
#include "quantize/store_floats.h"
#include "sweep_encoder.h"

#define MOST_SWEEPS (PITH_GOAL_CALLS - 2) /* some calls are left for others, where these miss */

/* Where there are several inputs or outputs, names distinguish them: they are kept. */
static enum pith_status pack(struct pith_model *m, const struct goal_encoders *e, bool fast_coder,
                             struct pith_buffer *file, struct pith_error *err)
{
    bool compact = !e->opts->for_speed && m->n_inputs == 1 && m->n_outputs == 1;
    const struct pith_pack_opts o = {.size_bytes = sizeof o, .compact = compact};
    enum pith_status st = pith_choose_coder(m, fast_coder ? PITH_FOR_SPEED : PITH_FOR_SIZE,
                                            PITH_ADAPTIVE_SAVES, &o, err);
    return st ? st : pith_model_pack(m, &o, file, err);
}

enum pith_status pith_goal_pack(struct pith_model *m, const struct goal_encoders *e,
                                struct pith_buffer *file, struct pith_error *err)
{
    return pack(m, e, e->opts->for_speed, file, err);
}

struct pith_data *pith_goal_only_data(const struct goal_encoders *e)
{
    const struct pith_feed *f = e->opts->feed;
    return f->n_inputs == 1 && f->n_states == 0 ? f->input[0].data : NULL;
}

/* ---- the sweep ------------------------------------------------------------------------------- */

static enum pith_status encode_sweep(void *user, double quality, struct pith_buffer *file,
                                     struct pith_error *err)
{
    const struct goal_encoders *e = user;
    struct pith_model *swept = NULL;
    enum pith_status st = PITH_OK;
    if (e->sweep->weights == 0)
        st = pith_sweep_encoder_prepare(e->sweep, e, err);
    if (!st)
        st = pith_sweep_encode(e->sweep, e, quality, &swept, err);
    if (!st)
        st = pith_goal_pack(swept, e, file, err);
    pith_model_free(swept);
    return st;
}

static void costly_of_sweep(void *user, struct pith_goal_cost cost[PITH_GOAL_COSTLY])
{
    const struct goal_encoders *e = user;
    memcpy(cost, e->sweep->costly, sizeof e->sweep->costly);
}

/* ---- of a copy of the network ---------------------------------------------------------------- */

static enum pith_status encode_copy(void *user, double quality, struct pith_buffer *file,
                                    struct pith_error *err)
{
    const struct copy_encoder *c = user;
    struct pith_model *copy = NULL;
    enum pith_status st = pith_model_copy(c->all->m, &copy, err);
    if (!st)
        st = c->change(copy, c->all, quality, err);
    if (!st)
        st = pack(copy, c->all, c->fast_coder || c->all->opts->for_speed, file, err);
    pith_model_free(copy);
    return st;
}

/* Without data: 256 / quality centroids for each weight. */
static enum pith_status cluster(struct pith_model *copy, enum pith_cluster_init init,
                                double quality, struct pith_error *err)
{
    const struct pith_cluster_opts o = {
        .size_bytes = sizeof o,
        .init = init,
        .n_centroids = (uint32_t)fmax(2, fmin(256, floor(256 / quality + 0.5)))};
    return pith_cluster(copy, &o, NULL, NULL, err);
}

static enum pith_status to_codebooks(struct pith_model *copy, const struct goal_encoders *e,
                                     double quality, struct pith_error *err)
{
    (void)e;
    return cluster(copy, PITH_CLUSTER_EXACT, quality, err);
}

/* Gradients and the first sweep can take minutes, this file less than a second. */
static enum pith_status to_quick_codebooks(struct pith_model *copy, const struct goal_encoders *e,
                                           double quality, struct pith_error *err)
{
    (void)e;
    return cluster(copy, PITH_CLUSTER_LINEAR, quality, err);
}

/* 8 bits at a quality of 1, a bit less for each factor of 2 of the step. */
static uint32_t bits_of(double quality)
{
    const double most = 8, least = 2;
    return (uint32_t)fmax(least, fmin(most, floor(most + 0.5 - log2(quality))));
}

static enum pith_status to_integers(struct pith_model *copy, const struct goal_encoders *e,
                                    double quality, struct pith_error *err)
{
    struct pith_stage s;
    struct pith_data *data = pith_goal_only_data(e);
    const struct pith_stage_context context = {.size_bytes = sizeof context,
                                               .seed = e->opts->seed,
                                               .train = data,
                                               .feed = data ? NULL : e->opts->feed,
                                               .threads = e->opts->threads,
                                               .cpu_mask = e->opts->cpu_mask,
                                               .stop = e->opts->stop,
                                               .user = e->opts->user};
    enum pith_status st = pith_goal_eval_pick(e->eval, PITH_GOAL_CALIBRATE, err);
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    s.quantize.weight_bits = bits_of(quality);
    s.samples = (uint32_t)pith_goal_eval_count(e->eval, PITH_GOAL_CALIBRATE);
    return st ? st : pith_stage_run_with(copy, &s, &context, NULL, err);
}

static enum pith_status to_halves(struct pith_model *copy, const struct goal_encoders *e,
                                  double quality, struct pith_error *err)
{
    (void)e;
    (void)quality;
    return pith_store_floats(copy, PITH_F16, NULL, err);
}

static enum pith_status to_exact(struct pith_model *copy, const struct goal_encoders *e,
                                 double quality, struct pith_error *err)
{
    const struct pith_stage_context context = {.size_bytes = sizeof context,
                                               .threads = e->opts->threads};
    struct pith_stage s;
    (void)quality;
    pith_stage_init(&s, PITH_STAGE_ENCODE);
    s.encode.lossless = true;
    return pith_stage_run_with(copy, &s, &context, NULL, err);
}

/* ---- the list -------------------------------------------------------------------------------- */

static struct pith_goal_encoder *add(struct goal_encoders *e, const char *name, double first,
                                     double coarsest, struct copy_encoder copying)
{
    struct pith_goal_encoder *to = &e->list[e->n];
    copying.all = e;
    e->copying[e->n] = copying;
    *to = (struct pith_goal_encoder){.name = name,
                                     .finest = 1,
                                     .first = first,
                                     .coarsest = coarsest,
                                     .encode = encode_copy,
                                     .user = &e->copying[e->n++]};
    return to;
}

static enum pith_status add_sweep(struct goal_encoders *e, struct pith_error *err)
{
    e->list[e->n++] = (struct pith_goal_encoder){.name = "sweep",
                                                 .finest = 0.01,
                                                 .first = 1.2,
                                                 .coarsest = 100,
                                                 .most = MOST_SWEEPS,
                                                 .encode = encode_sweep,
                                                 .costly = costly_of_sweep,
                                                 .user = e};
    e->sweep = calloc(1, sizeof *e->sweep);
    return e->sweep ? PITH_OK : pith_error_no_memory(err);
}

/* One that files are estimated by, or one file, so that there is one however short the time. */
static void add_quick(struct goal_encoders *e)
{
    const bool estimate = e->opts->estimate;
    const struct copy_encoder quick = {.change = to_quick_codebooks, .fast_coder = true};
    struct pith_goal_encoder *to = add(e, "quick", estimate ? 8 : 1, estimate ? 128 : 1, quick);
    to->most = !estimate;
    to->early = !estimate;
}

static void add_integers(struct goal_encoders *e)
{
    const enum pith_goal_run run = e->goal->run;
    const struct copy_encoder integers = {.change = to_integers};
    struct pith_goal_encoder *to =
        add(e, "integers", run == PITH_GOAL_RUN_INT8 ? 4 : 16, 64, integers);
    to->instead = run == PITH_GOAL_RUN_ANY;
}

static void add_one_file(struct goal_encoders *e, const char *name, struct copy_encoder copying)
{
    struct pith_goal_encoder *to = add(e, name, 1, 1, copying);
    to->most = 1;
    to->instead = to->last_resort = true;
}

/* Of integers and of no weights at all there is one file, within any limit of a loss. */
static enum pith_status has_float_weights(const struct pith_model *m, bool *has,
                                          struct pith_error *err)
{
    struct pith_weight_ref *refs = malloc((m->n_nodes + (size_t)1) * sizeof *refs);
    if (!refs)
        return pith_error_no_memory(err);
    *has = pith_model_weights(m, refs) > 0;
    free(refs);
    return PITH_OK;
}

/* Where sizes are limited, too, a file of floats would not fit, and what comes near to both limits
 * says more. */
static bool may_end_in_floats(const struct pith_goal *g)
{
    return g->run != PITH_GOAL_RUN_INT8 && pith_goal_limits_loss(g) && !(g->max_size > 0) &&
           !(g->max_ram > 0) && !(g->max_latency > 0);
}

/* Where latency is limited and floats are too slow, integers are what may be faster: codebooks
 * compute with floats, too. */
enum pith_status pith_goal_encoders_fill(struct goal_encoders *e, struct pith_error *err)
{
    const bool floats = e->goal->run != PITH_GOAL_RUN_INT8;
    const bool integers = e->goal->run != PITH_GOAL_RUN_FLOAT, fast = e->goal->max_latency > 0;
    bool has = false;
    enum pith_status st = has_float_weights(e->m, &has, err);
    e->n = 0;
    if (st)
        return st;
    if (pith_goal_shapes(e->goal)) /* the others keep no pattern */
        return add_sweep(e, err);
    if (!has) {
        add_one_file(e, "exact", (struct copy_encoder){.change = to_exact});
        return PITH_OK;
    }
    if (floats && (e->goal->time > 0 || e->opts->estimate))
        add_quick(e);
    if (e->opts->estimate)
        return st;
    if (floats)
        st = add_sweep(e, err);
    if (integers && fast)
        add_integers(e);
    if (floats)
        add(e, "codebooks", 8, 128, (struct copy_encoder){.change = to_codebooks})->instead = true;
    if (integers && !fast)
        add_integers(e);
    if (may_end_in_floats(e->goal)) { /* what no coarser file keeps: outputs whose order hangs on
                                         nearly equal scores, say */
        add_one_file(e, "f16", (struct copy_encoder){.change = to_halves});
        add_one_file(e, "exact", (struct copy_encoder){.change = to_exact});
    }
    return st;
}

void pith_goal_encoders_free(struct goal_encoders *e)
{
    if (e->sweep)
        pith_sweep_encoder_free(e->sweep);
    free(e->sweep);
}
