/* SPDX-License-Identifier: MIT */
/* Run a recipe and hold the result against a limit. */
#include <stdlib.h>
#include <string.h>
#include "pith_stage_options.h"
#include "compress/recipe/stage_json.h"
#include "compress/output/pack_small.h"
#include "stage_run.h"

static enum pith_status evaluate(const struct pith_model *m, const struct pith_compress_opts *o,
                                 const char *what, struct pith_accuracy *a, struct pith_error *err)
{
    const struct pith_feed_input input = {.data = o->data};
    const struct pith_feed one = {.size_bytes = sizeof one, .n_inputs = 1, .input = &input};
    const struct pith_feed *feed = o->feed ? o->feed : &one;
    struct pith_engine_opts engine = o->engine; /* zeros: the defaults */
    struct pith_engine *e;
    engine.size_bytes = sizeof engine;
    enum pith_status st = pith_engine_open(m, &engine, &e, err);
    if (st)
        return st;
    if (o->progress)
        o->progress(o->user, what, pith_feed_count(feed));
    st = pith_evaluate(e, feed, o->watch, a, err);
    pith_engine_close(e);
    return st;
}

/* A classifier's drop in top-1; for regression data the loss of PSNR in dB stands in percent. */
static double drop_of(const struct pith_accuracy *before, const struct pith_accuracy *after)
{
    if (before->regression)
        return (before->psnr - after->psnr) / 100;
    return ((double)before->correct1 - (double)after->correct1) / (double)before->predictions;
}

static enum pith_status check_data(const struct pith_recipe *r, const struct pith_compress_opts *o,
                                   struct pith_error *err)
{
    for (uint32_t i = 0; i < r->n_stages && !o->train; i++)
        if (pith_stage_trains(&r->stages[i]))
            return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                   "stage %u trains: this needs training data", i + 1);
    return PITH_OK;
}

/* Whether a stage looks back at the network as it is before stage i. */
static bool wanted_later(const struct pith_recipe *r, uint32_t i)
{
    for (uint32_t k = i; k < r->n_stages; k++)
        if (pith_stage_needs_original(&r->stages[k]) && r->stages[k].start == i)
            return true;
    return false;
}

/* past: [n_stages], for networks that later stages look back at; the caller's to free. */
static enum pith_status run_stages(struct pith_model *m, const struct pith_recipe *r,
                                   const struct pith_compress_opts *o, struct pith_model **past,
                                   struct pith_error *err)
{
    uint32_t begun = pith_stage_count_past(m);
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < r->n_stages && !st; i++) {
        const struct pith_stage *s = &r->stages[i];
        struct pith_stage_report report = {0};
        struct pith_stage_context context = {.size_bytes = sizeof context,
                                             .seed = o->seed,
                                             .train = o->train,
                                             .feed = o->train ? NULL : o->feed,
                                             .val = o->val,
                                             .start_stages = begun + s->start,
                                             .threads = o->engine.threads,
                                             .cpu_mask = o->engine.cpu_mask,
                                             .progress = o->train_progress,
                                             .stop = o->stop,
                                             .user = o->user};
        if (o->progress)
            o->progress(o->user, pith_stage_name(s->kind), 0);
        if (wanted_later(r, i))
            st = pith_model_copy(m, &past[i], err);
        context.start = s->start <= i ? past[s->start] : NULL;
        if (!st)
            st = pith_stage_run_with(m, s, &context, &report, err);
        if (!st && o->report)
            o->report(o->user, s, &report);
        pith_stage_report_free(&report);
    }
    return st;
}

static enum pith_status run_and_pack(struct pith_model *m, const struct pith_recipe *r,
                                     const struct pith_compress_opts *o, struct pith_buffer *file,
                                     struct pith_error *err)
{
    struct pith_model **past = calloc(r->n_stages + 1u, sizeof(struct pith_model *));
    struct pith_stage last;
    uint64_t plain_bytes = 0;
    enum pith_status st = past ? pith_small_bytes(m, &plain_bytes, err) : pith_error_no_memory(err);
    if (!st)
        st = run_stages(m, r, o, past, err);
    for (uint32_t i = 0; past && i < r->n_stages; i++)
        pith_model_free(past[i]);
    free(past);
    pith_stage_init(&last, PITH_STAGE_ENCODE);
    if (r->n_stages && r->stages[r->n_stages - 1].kind == PITH_STAGE_ENCODE)
        last = r->stages[r->n_stages - 1];
    const struct pith_pack_opts pack = pith_stage_pack_opts(&last);
    return st ? st : pith_pack_small(m, &pack, plain_bytes, file, err);
}

enum pith_status pith_compress(struct pith_model *m, const struct pith_recipe *recipe,
                               const struct pith_compress_opts *opts,
                               struct pith_compress_result *result, struct pith_error *err)
{
    if (!m || !recipe || !opts || !result || opts->size_bytes != sizeof *opts)
        return PITH_ERR_ARGUMENT;
    double limit = opts->max_drop >= 0 ? opts->max_drop : recipe->goal.max_drop;
    struct pith_compress_result r = {.met = true, .limit = limit};
    bool measured = opts->data || opts->feed;
    enum pith_status st = check_data(recipe, opts, err);
    if (st)
        return st;
    if (limit >= 0 && !measured)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "a limit on the drop needs data");
    if (measured)
        st = evaluate(m, opts, "baseline", &r.before, err);
    if (!st)
        st = run_and_pack(m, recipe, opts, &r.file, err);
    if (!st && measured) {
        st = evaluate(m, opts, "evaluate", &r.after, err);
        r.has_accuracy = true;
        r.drop = drop_of(&r.before, &r.after);
    }
    if (st) {
        pith_compress_result_free(&r);
        return st;
    }
    const double rounding = 1e-12; /* of the difference of two shares */
    r.met = limit < 0 || r.drop <= limit + rounding;
    *result = r;
    if (r.met)
        return PITH_OK;
    return pith_error_fill(err, PITH_ERR_GOAL, "goal not met: the drop is %.2f%% (allowed %.2f%%)",
                           r.drop * 100, limit * 100);
}

void pith_compress_result_free(struct pith_compress_result *r)
{
    pith_buffer_free(&r->file);
}
