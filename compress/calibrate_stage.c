/* SPDX-License-Identifier: MIT */
/* calibrate_stage.c - the stage `calibrate`: samples run, then a grid for every observed value. */
#include "base/error_fill.h"
#include "stage_run.h"

static bool go_on(void *user, uint64_t done, uint64_t total)
{
    const struct pith_stage_context *context = user;
    if (context->part)
        context->part(context->user, total ? "calibrate" : "choose", done, total);
    return !context->stop || !context->stop(context->user);
}

/* An interrupted run would give ranges of fewer samples than requested. */
static enum pith_status check_stop(const struct pith_stage_context *context, struct pith_error *err)
{
    bool stopped = context->stop && context->stop(context->user);
    return stopped ? pith_error_fill(err, PITH_ERR_ARGUMENT, "stopped") : PITH_OK;
}

static enum pith_status observe(struct pith_model *m, const struct pith_stage *s,
                                const struct pith_stage_context *context,
                                const struct pith_calibrate_opts *see, struct pith_error *err)
{
    if (!context->train && !context->feed)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "cannot calibrate: no data given");
    if (!s->add)
        pith_calibrate_reset(m);
    enum pith_status st = pith_calibrate(m, see, NULL, err);
    return st ? st : check_stop(context, err);
}

/* Of any value: inputs of integers have no statistics. */
static uint64_t most_samples(const struct pith_model *m)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < m->n_values; i++) {
        const struct pith_value_stats *s = m->values[i].stats;
        n = s && s->n_samples > n ? s->n_samples : n;
    }
    return n;
}

enum pith_status pith_stage_calibrate(struct pith_model *m, const struct pith_stage *s,
                                      const struct pith_stage_context *context,
                                      struct pith_stage_report *r, struct pith_error *err)
{
    struct pith_stage_context mine = *context;
    const struct pith_calibrate_opts see = {.size_bytes = sizeof see,
                                            .data = context->feed ? NULL : context->train,
                                            .feed = context->feed,
                                            .n_samples = s->samples,
                                            .threads = context->threads,
                                            .cpu_mask = context->cpu_mask,
                                            .progress = go_on,
                                            .user = &mine};
    struct pith_range_opts choose = s->ranges;
    enum pith_status st = s->with_data ? observe(m, s, context, &see, err) : PITH_OK;
    choose.samples = s->with_data ? &see : NULL;
    if (!st)
        st = pith_choose_grids(m, &choose, &r->ranges, err);
    if (!st)
        st = check_stop(context, err);
    r->n_samples = most_samples(m);
    return st;
}
