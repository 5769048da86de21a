/* SPDX-License-Identifier: MIT */
/* recorded_feed.c - data sets and constants are read when a call needs them; states are what one
 * run of the whole network has made of them. */
#include "recorded_feed.h"

#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "base/error_fill.h"
#include "base/kept_values.h"
#include "sample_feed.h"
#include "core/tensor.h"

#define STATE_BYTES (UINT64_C(4) << 20) /* in memory */

struct recorded_input {
    uint64_t bytes;
    uint64_t elems;
    uint8_t *sample; /* owns: all steps of the sample read last; NULL: it has one */
    uint64_t number; /* of that sample */
    bool is_state;
};

struct recorded_feed {
    const struct pith_model *m;
    struct pith_feed feed;
    struct pith_feed_input only; /* where there is nothing but data */
    struct recorded_input *input;
    struct kept_values *state; /* of each input; NULL: there are none */
    uint64_t n_samples, steps, calls;
};

static enum pith_type type_of(const struct recorded_feed *r, uint32_t input)
{
    return r->m->values[r->m->inputs[input]].type;
}

/* ---- does it fit ----------------------------------------------------------------------------- */

static void measure_inputs(struct recorded_feed *r)
{
    for (uint32_t i = 0; i < r->feed.n_inputs; i++) {
        const struct pith_value *v = &r->m->values[r->m->inputs[i]];
        struct recorded_input *in = &r->input[i];
        in->elems = 1;
        for (uint32_t k = 0; k < v->rank; k++)
            in->elems *= v->dim[k];
        in->bytes = in->elems * pith_type_bytes(v->type);
        in->number = UINT64_MAX;
    }
    for (uint32_t k = 0; k < r->feed.n_states; k++)
        if (r->feed.state[k].input < r->feed.n_inputs)
            r->input[r->feed.state[k].input].is_state = true;
}

static enum pith_status check_steps(struct recorded_feed *r, uint32_t i, struct pith_error *err)
{
    struct recorded_input *in = &r->input[i];
    struct pith_data *data = r->feed.input[i].data;
    const uint64_t elems = pith_data_elems(data), steps = in->elems ? elems / in->elems : 0;
    if (steps == 0 || steps * in->elems != elems || (steps > 1 && !r->feed.n_states))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "input '%.200s' takes %llu values, a sample has %llu",
                               r->m->values[r->m->inputs[i]].name, (unsigned long long)in->elems,
                               (unsigned long long)elems);
    r->steps = steps > r->steps ? steps : r->steps;
    if (steps > 1 && !(in->sample = malloc((size_t)(steps * in->bytes))))
        return pith_error_no_memory(err);
    return PITH_OK;
}

static enum pith_status check_inputs(struct recorded_feed *r, struct pith_error *err)
{
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < r->feed.n_inputs && !status; i++) {
        const struct pith_feed_input *from = &r->feed.input[i];
        if (!from->data && !from->constant && !r->input[i].is_state)
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "input '%.200s' is not given",
                                   r->m->values[r->m->inputs[i]].name);
        if (from->data)
            status = check_steps(r, i, err);
    }
    return status;
}

/* ---- states ---------------------------------------------------------------------------------- */

static enum pith_status keep_states(struct recorded_feed *r, struct pith_plan *plan, uint64_t call,
                                    struct pith_error *err)
{
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < r->feed.n_inputs && !status; i++) {
        const uint64_t bytes = r->input[i].bytes;
        if (r->input[i].is_state)
            status = pith_kept_open(r->state, i, r->calls * bytes, err);
        if (r->input[i].is_state && !status)
            status = pith_kept_write(r->state, i, call * bytes, pith_plan_input_data(plan, i),
                                     (size_t)bytes, err);
    }
    return status;
}

static enum pith_status record(struct recorded_feed *r, struct feeder *f, struct pith_error *err)
{
    enum pith_status status = PITH_OK;
    for (uint64_t i = 0; i < r->n_samples && !status; i++) {
        status = pith_feeder_sample(f, i, err);
        for (uint64_t step = 0; step < r->steps && !status; step++) {
            status = pith_feeder_step(f, step, 0, err);
            if (!status)
                status = keep_states(r, f->plan, i * r->steps + step, err);
            if (!status)
                status = pith_run_with_error(f->plan, err);
            if (!status)
                pith_feeder_keep(f);
        }
    }
    return status;
}

static enum pith_status record_states(struct recorded_feed *r, struct pith_error *err)
{
    /* what states hold is calibrated on */
    const struct pith_engine_opts opts = {.size_bytes = sizeof opts, .ordered = true};
    struct pith_engine *engine = NULL;
    struct feeder f = {0};
    r->state = pith_kept_new(r->feed.n_inputs, STATE_BYTES);
    enum pith_status status =
        r->state ? pith_engine_open(r->m, &opts, &engine, err) : pith_error_no_memory(err);
    if (!status)
        status = pith_feeder_open(&f, pith_engine_plan(engine), &r->feed, false, err);
    if (!status)
        status = record(r, &f, err);
    pith_feeder_close(&f);
    pith_engine_close(engine);
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

static enum pith_status begin(struct recorded_feed *r, uint64_t n_samples, struct pith_error *err)
{
    if (r->feed.n_inputs != r->m->n_inputs)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "the model has %u inputs: data is given for %u", r->m->n_inputs,
                               r->feed.n_inputs);
    r->input = calloc(r->feed.n_inputs + (size_t)1, sizeof *r->input);
    if (!r->input)
        return pith_error_no_memory(err);
    const uint64_t count = pith_feed_count(&r->feed);
    r->n_samples = n_samples && n_samples < count ? n_samples : count;
    r->steps = 1;
    measure_inputs(r);
    enum pith_status status = check_inputs(r, err);
    r->calls = r->n_samples * r->steps;
    return status || r->feed.n_states == 0 ? status : record_states(r, err);
}

enum pith_status pith_recorded_feed_open(const struct pith_model *m, const struct pith_feed *feed,
                                         struct pith_data *data, uint64_t n_samples,
                                         struct recorded_feed **r, struct pith_error *err)
{
    if (!feed && m->n_inputs != 1)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "samples are for one input: the model has %u", m->n_inputs);
    struct recorded_feed *made = calloc(1, sizeof *made);
    if (!made)
        return pith_error_no_memory(err);
    made->m = m;
    made->only.data = data;
    made->feed =
        feed ? *feed
             : (struct pith_feed){.size_bytes = sizeof *feed, .n_inputs = 1, .input = &made->only};
    enum pith_status status = begin(made, n_samples, err);
    if (status)
        pith_recorded_feed_close(made);
    else
        *r = made;
    return status;
}

void pith_recorded_feed_close(struct recorded_feed *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; i < r->feed.n_inputs && r->input; i++)
        free(r->input[i].sample);
    free(r->input);
    pith_kept_free(r->state);
    free(r);
}

/* ---- reading --------------------------------------------------------------------------------- */

uint64_t pith_recorded_feed_calls(const struct recorded_feed *r)
{
    return r->calls;
}

static enum pith_status read_step(struct recorded_feed *r, uint32_t input, uint64_t call, void *to,
                                  struct pith_error *err)
{
    struct recorded_input *in = &r->input[input];
    const uint64_t sample = call / r->steps;
    enum pith_status status = PITH_OK;
    if (in->number != sample)
        status = pith_data_read_as(r->feed.input[input].data, sample, type_of(r, input), in->sample,
                                   NULL, err);
    in->number = status ? UINT64_MAX : sample;
    if (!status)
        memcpy(to, in->sample + call % r->steps * in->bytes, (size_t)in->bytes);
    return status;
}

enum pith_status pith_recorded_feed_read(struct recorded_feed *r, uint32_t input, uint64_t call,
                                         void *to, struct pith_error *err)
{
    const struct recorded_input *in = &r->input[input];
    const struct pith_feed_input *from = &r->feed.input[input];
    if (in->is_state)
        return pith_kept_read(r->state, input, call * in->bytes, to, (size_t)in->bytes, err);
    if (from->constant) {
        memcpy(to, from->constant, (size_t)in->bytes);
        return PITH_OK;
    }
    return in->sample
               ? read_step(r, input, call, to, err)
               : pith_data_read_as(from->data, call / r->steps, type_of(r, input), to, NULL, err);
}
