/* SPDX-License-Identifier: MIT */
/* recorded_inputs.c - a feed played once, the network between its calls where outputs come back as
 * inputs. States are therefore those of the network as it is now, in floats. */
#include "recorded_inputs.h"

#include <stdlib.h>
#include <string.h>

#include "pith_error_fill.h"
#include "pith_host.h"

#define MOST_BYTES (UINT64_C(256) << 20)

struct recording {
    struct recorded_inputs *to;
    struct pith_plan *plan;
    struct feeder feeder;
    uint64_t calls, every; /* calls so far; one in `every` is kept */
};

static uint64_t input_bytes(const struct recording *r, uint32_t i)
{
    struct pith_tensor t;
    return pith_plan_input(r->plan, i, &t) ? 0 : t.bytes;
}

static enum pith_status make_room(struct recording *r, uint64_t n_calls)
{
    struct recorded_inputs *to = r->to;
    uint64_t call_bytes = 1;
    to->n_inputs = pith_plan_input_count(r->plan);
    for (uint32_t i = 0; i < to->n_inputs; i++)
        call_bytes += input_bytes(r, i);
    for (r->every = 1; n_calls / r->every > MOST_BYTES / call_bytes && n_calls > r->every;)
        r->every *= 2;
    uint64_t kept = (n_calls + r->every - 1) / r->every;
    to->input = calloc(to->n_inputs + (size_t)1, sizeof *to->input);
    for (uint32_t i = 0; to->input && i < to->n_inputs; i++) {
        to->input[i] = malloc((size_t)(kept * input_bytes(r, i)) + 1);
        if (!to->input[i])
            return PITH_ERR_MEMORY;
    }
    return to->input ? PITH_OK : PITH_ERR_MEMORY;
}

/* Before the call: the plan uses its inputs' memory for other things while it runs. */
static void keep_call(struct recording *r)
{
    if (r->calls++ % r->every)
        return;
    for (uint32_t i = 0; i < r->to->n_inputs; i++) {
        size_t bytes = (size_t)input_bytes(r, i);
        memcpy(r->to->input[i] + r->to->n_calls * bytes, pith_plan_input_data(r->plan, i), bytes);
    }
    r->to->n_calls++;
}

static enum pith_status play_sample(struct recording *r, uint64_t n, struct pith_error *err)
{
    enum pith_status st = pith_feeder_sample(&r->feeder, n, NULL, err);
    for (uint64_t step = 0; step < r->feeder.steps && !st; step++) {
        st = pith_feeder_step(&r->feeder, step, 0, err);
        if (st)
            break;
        keep_call(r);
        if (r->feeder.feed->n_states == 0)
            continue; /* nothing comes back */
        st = pith_plan_run(r->plan);
        if (st)
            return pith_error_fill(err, st, "cannot quantize: running sample %llu failed: %s",
                                   (unsigned long long)n, pith_status_text(st));
        pith_feeder_keep(&r->feeder);
    }
    return st;
}

static enum pith_status play(struct recording *r, const struct pith_calibrate_opts *samples,
                             struct pith_error *err)
{
    uint64_t n = r->feeder.n_samples;
    enum pith_status st = PITH_OK;
    n = samples->n_samples && samples->n_samples < n ? samples->n_samples : n;
    if (make_room(r, n * r->feeder.steps))
        return pith_error_no_memory(err);
    for (uint64_t i = 0; i < n && !st; i++) {
        st = play_sample(r, i, err);
        if (!st && samples->progress && !samples->progress(samples->user, i, n))
            st = pith_error_fill(err, PITH_ERR_ARGUMENT, "interrupted");
    }
    return st;
}

enum pith_status pith_record_inputs(const struct pith_model *m,
                                    const struct pith_calibrate_opts *samples,
                                    struct recorded_inputs *recorded, struct pith_error *err)
{
    const struct pith_engine_opts e = {.size_bytes = sizeof e,
                                       .threads = samples->threads,
                                       .cpu_mask = samples->cpu_mask,
                                       .ordered = true};
    struct pith_engine *engine = NULL;
    struct recording r = {.to = recorded};
    *recorded = (struct recorded_inputs){0};
    enum pith_status st = pith_engine_open(m, &e, &engine, err);
    if (st)
        return st;
    r.plan = pith_engine_plan(engine);
    st = pith_feeder_open(&r.feeder, r.plan, samples->feed, false, err);
    if (!st)
        st = play(&r, samples, err);
    pith_feeder_close(&r.feeder);
    pith_engine_close(engine);
    return st;
}

void pith_recorded_inputs_clear(struct recorded_inputs *recorded)
{
    for (uint32_t i = 0; recorded->input && i < recorded->n_inputs; i++)
        free(recorded->input[i]);
    free(recorded->input);
    *recorded = (struct recorded_inputs){0};
}
