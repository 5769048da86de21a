/* SPDX-License-Identifier: MIT */
/* Run a recipe and hold the result against a limit. */
#include <string.h>
#include "stage_json.h"

static enum pith_status evaluate(const struct pith_model *m, const struct pith_compress_opts *o,
                                 const char *what, struct pith_accuracy *a, struct pith_error *err)
{
    const struct pith_feed_input input = {.data = o->data};
    const struct pith_feed one = {.size_bytes = sizeof one, .n_inputs = 1, .input = &input};
    const struct pith_feed *feed = o->feed ? o->feed : &one;
    struct pith_engine *e;
    enum pith_status st = pith_engine_open(m, &o->engine, &e, err);
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
    return ((double)before->correct1 - (double)after->correct1) / (double)before->samples;
}

static enum pith_status run_stages(struct pith_model *m, const struct pith_recipe *r,
                                   const struct pith_compress_opts *o, struct pith_buffer *file,
                                   struct pith_error *err)
{
    static const char *const names[] = {"", "prune", "cluster", "encode"};
    struct pith_stage last;
    struct pith_pack_opts pack;
    enum pith_status st;
    pith_stage_init(&last, PITH_STAGE_ENCODE);
    for (uint32_t i = 0; i < r->n_stages; i++) {
        const struct pith_stage *s = &r->stages[i];
        if (o->progress)
            o->progress(o->user, names[s->kind], 0);
        st = pith_stage_run(m, s, o->seed, NULL, err);
        if (st)
            return st;
        if (s->kind == PITH_STAGE_ENCODE)
            last = *s;
    }
    pack = pith_stage_pack_opts(&last);
    return pith_model_pack(m, &pack, file, err);
}

enum pith_status pith_compress(struct pith_model *m, const struct pith_recipe *recipe,
                               const struct pith_compress_opts *opts,
                               struct pith_compress_result *result, struct pith_error *err)
{
    struct pith_compress_result r = {.met = true};
    double limit = opts->max_drop >= 0 ? opts->max_drop : recipe->max_drop;
    bool measured = opts->data || opts->feed;
    enum pith_status st = PITH_OK;
    if (limit >= 0 && !measured)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                  "a limit on the drop needs data to measure it");
    if (measured)
        st = evaluate(m, opts, "baseline", &r.before, err);
    if (!st)
        st = run_stages(m, recipe, opts, &r.file, err);
    if (!st && measured) {
        st = evaluate(m, opts, "evaluate", &r.after, err);
        r.has_accuracy = true;
        r.drop = drop_of(&r.before, &r.after);
    }
    if (st) {
        pith_compress_result_free(&r);
        return st;
    }
    r.met = limit < 0 || r.drop <= limit + 1e-12;
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
