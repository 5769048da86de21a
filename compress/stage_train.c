/* SPDX-License-Identifier: MIT */
/* Train as a stage: its teacher found, its goal measured, and then trained. */
#include <math.h>
#include <string.h>
#include "base/error_fill.h"
#include "pith_load.h"
#include "integer_training.h"
#include "stage_run.h"

#define NEARLY_ZERO 1e-9 /* in opts.enough, where 0 is never */

/* *owned: what is to be freed behind the training; NULL: nothing. */
static enum pith_status find_teacher(const struct pith_model *m, const struct pith_stage *s,
                                     const struct pith_stage_context *context,
                                     const struct pith_model **teacher, struct pith_model **owned,
                                     struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    if (!s->teacher)
        return PITH_OK;
    if (strcmp(s->teacher, "start") != 0) {
        st = pith_model_load(s->teacher, NULL, owned, err);
        st = st ? st : pith_model_same_sizes(*owned, m, err);
    } else if (!context->start) {
        st = pith_model_copy(m, owned, err);
    }
    if (!st)
        *teacher = *owned ? *owned : context->start;
    return st;
}

/* The validation accuracy at which s->until_drop is kept. */
static enum pith_status measure_enough(const struct pith_model *m, const struct pith_stage *s,
                                       const struct pith_stage_context *context, double *enough,
                                       struct pith_error *err)
{
    const struct pith_feed_input input = {.data = context->val};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &input};
    const struct pith_engine_opts opts = {
        .size_bytes = sizeof opts, .threads = context->threads, .ordered = true};
    struct pith_accuracy a;
    struct pith_engine *engine;
    if (context->val && !pith_data_labelled(context->val) && s->train.loss == PITH_DISTILL) {
        *enough = 1 - s->until_drop; /* of the samples, both put into one class */
        return PITH_OK;
    }
    if (!context->val || !pith_data_labelled(context->val))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "a limit on the drop needs a validation split with labels");
    enum pith_status st = pith_engine_open(m, &opts, &engine, err);
    if (st)
        return st;
    st = pith_evaluate(engine, &feed, NULL, &a, err);
    pith_engine_close(engine);
    if (!st)
        *enough = fmax((double)a.correct1 / (double)a.predictions - s->until_drop, NEARLY_ZERO);
    return st;
}

static struct pith_train_opts opts_of(const struct pith_stage *s,
                                      const struct pith_stage_context *context, uint64_t seed)
{
    struct pith_train_opts o = s->train;
    o.size_bytes = sizeof o;
    o.seed = seed;
    o.threads = context->threads;
    o.teacher = NULL;
    o.keep_best = o.keep_best && context->val;
    o.progress = context->progress;
    o.stop = context->stop;
    o.user = context->user;
    o.enough = 0;
    return o;
}

enum pith_status pith_stage_train(struct pith_model *m, const struct pith_stage *s,
                                  const struct pith_stage_context *context, uint64_t seed,
                                  struct pith_train_result *result, struct pith_error *err)
{
    struct pith_train_opts o = opts_of(s, context, seed);
    struct pith_model *owned = NULL;
    if (!context->train)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "training needs data");
    enum pith_status st = find_teacher(m, s, context, &o.teacher, &owned, err);
    if (!st && s->until_drop >= 0)
        st = measure_enough(o.teacher        ? o.teacher
                            : context->start ? context->start
                                             : m,
                            s, context, &o.enough, err);
    if (!st)
        st = s->integers ? pith_train_integers(m, s, context, &o, result, err)
                         : pith_train(m, context->train, context->val, &o, result, err);
    pith_model_free(owned);
    if (!st && result->stopped)
        return pith_error_fill(err, PITH_ERR_STOPPED, "training was stopped");
    return st;
}
