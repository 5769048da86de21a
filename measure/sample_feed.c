/* SPDX-License-Identifier: MIT */
/* sample_feed.c - where the inputs of a plan come from, call by call.
 *
 *     data set ── sample ── step ──> input        constant ─────> input
 *     output of the last call ── held state ────> input
 *
 * A plan overwrites its inputs' memory while it runs, so all of them are written before every call:
 * constants and states are held here. A sample that is several inputs long is a sequence: its steps
 * are called one after the other and the state begins anew with each sample. Where a sample is one
 * input long, the samples themselves are the steps of one stream. */
#include "sample_feed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "base/error_fill.h"
#include "pith_host.h"

static const char *name_of(const struct pith_tensor *t, char text[96])
{
    snprintf(text, 96, "'%.*s'", (int)(t->name_bytes < 90 ? t->name_bytes : 90),
             t->name_bytes ? t->name : "");
    return text;
}

static struct pith_data *data_of(const struct feeder *f, uint32_t i)
{
    return f->feed ? f->feed->input[i].data : NULL;
}

static const void *constant_of(const struct feeder *f, uint32_t i)
{
    return f->feed ? f->feed->input[i].constant : NULL;
}

static const struct pith_state *state_of(const struct feeder *f, uint32_t i)
{
    for (uint32_t k = 0; f->feed && k < f->feed->n_states; k++)
        if (f->feed->state[k].input == i)
            return &f->feed->state[k];
    return NULL;
}

/* ---- does it fit ----------------------------------------------------------------------------- */

static enum pith_status check_state(const struct feeder *f, const struct pith_state *s,
                                    struct pith_error *err)
{
    struct pith_tensor in, out;
    char a[96], b[96];
    if (pith_plan_input(f->plan, s->input, &in) || pith_plan_output(f->plan, s->output, &out))
        return pith_error_fill(
            err, PITH_ERR_ARGUMENT, "a state from output %u to input %u: the model has %u and %u",
            s->output, s->input, pith_plan_output_count(f->plan), pith_plan_input_count(f->plan));
    if (in.type != out.type || in.bytes != out.bytes)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "output %s (%s, %" PRIu64
                               " bytes) cannot come back as input %s (%s, "
                               "%" PRIu64 " bytes)",
                               name_of(&out, a), pith_type_text(out.type), out.bytes,
                               name_of(&in, b), pith_type_text(in.type), in.bytes);
    return PITH_OK;
}

/* Exactly one source for each input. */
static enum pith_status check_sources(struct feeder *f, bool random, struct pith_error *err)
{
    for (uint32_t i = 0; i < f->n_inputs; i++) {
        struct pith_tensor t;
        char name[96];
        uint32_t n = (data_of(f, i) ? 1u : 0u) + (constant_of(f, i) ? 1u : 0u);
        for (uint32_t k = 0; f->feed && k < f->feed->n_states; k++)
            n += f->feed->state[k].input == i;
        pith_plan_input(f->plan, i, &t);
        f->input[i].bytes = t.bytes;
        f->random = f->random || n == 0;
        if (n > 1)
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "input %s is given more than once",
                                   name_of(&t, name));
        name_of(&t, name);
        if (n == 0 && !random)
            return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                   "input %s of the model's %u is not given: feed each by name "
                                   "(%.*s=FILE), or freeze it at import with --set-input",
                                   name, f->n_inputs, (int)strlen(name) - 2, name + 1);
    }
    return PITH_OK;
}

static enum pith_status check_elements(struct feeder *f, uint32_t i, struct pith_error *err)
{
    struct pith_data *data = data_of(f, i);
    struct pith_tensor t;
    char name[96];
    pith_plan_input(f->plan, i, &t);
    uint64_t elems = pith_data_elems(data), wanted = 1;
    for (uint32_t k = 0; k < t.rank; k++)
        wanted *= t.dim[k];
    uint64_t steps = wanted && elems % wanted == 0 ? elems / wanted : 0;
    if (steps == 0 || (steps > 1 && f->feed->n_states == 0))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "a sample has %" PRIu64 " values, the model's input %s %" PRIu64,
                               elems, name_of(&t, name), wanted);
    f->input[i].steps = steps;
    if (steps > 1 && f->steps > 1 && steps != f->steps)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "a sample for input %s has %" PRIu64 " steps, for another %" PRIu64,
                               name_of(&t, name), steps, f->steps);
    f->steps = steps > f->steps ? steps : f->steps;
    return PITH_OK;
}

static enum pith_status check_data(struct feeder *f, struct pith_error *err)
{
    bool any = false;
    f->n_samples = f->steps = 1;
    for (uint32_t i = 0; i < f->n_inputs; i++) {
        struct pith_data *data = data_of(f, i);
        struct pith_tensor t;
        char name[96];
        if (!data)
            continue;
        pith_plan_input(f->plan, i, &t);
        if (any && pith_data_count(data) != f->n_samples)
            return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                   "the data for input %s has %" PRIu64 " samples, that of another "
                                   "input %" PRIu64,
                                   name_of(&t, name), pith_data_count(data), f->n_samples);
        f->n_samples = pith_data_count(data);
        any = true;
        enum pith_status st = check_elements(f, i, err);
        if (st)
            return st;
    }
    return PITH_OK;
}

/* Samples run at their own sizes where the sizes are open and the engine is given. */
static bool is_uneven(const struct feeder *f)
{
    bool uneven = false;
    if (!f->feed || !f->feed->own_sizes || f->feed->n_states)
        return false;
    for (uint32_t i = 0; i < f->n_inputs; i++)
        uneven |= pith_data_uneven(data_of(f, i));
    return uneven && f->steps == 1;
}

/* ---- opening --------------------------------------------------------------------------------- */

static enum pith_status make_buffers(struct feeder *f, struct pith_error *err)
{
    for (uint32_t i = 0; i < f->n_inputs; i++) {
        struct feeder_input *in = &f->input[i];
        if (!state_of(f, i) && in->steps < 2 && !(f->uneven && data_of(f, i)))
            continue;
        in->buffer = malloc((size_t)(in->bytes * (in->steps ? in->steps : 1)) + 1);
        if (!in->buffer)
            return pith_error_no_memory(err);
    }
    return PITH_OK;
}

enum pith_status pith_feeder_open(struct feeder *f, struct pith_plan *plan,
                                  const struct pith_feed *feed, bool random, struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    *f = (struct feeder){.plan = plan, .feed = feed, .n_inputs = pith_plan_input_count(plan)};
    if (feed && feed->n_inputs != f->n_inputs)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "the model has %u inputs: data is given for %u", f->n_inputs,
                               feed->n_inputs);
    f->input = calloc((size_t)f->n_inputs + 1, sizeof *f->input);
    if (!f->input)
        return pith_error_no_memory(err);
    for (uint32_t k = 0; feed && k < feed->n_states && !st; k++)
        st = check_state(f, &feed->state[k], err);
    if (!st)
        st = check_sources(f, random, err);
    if (!st)
        st = check_data(f, err);
    if (!st)
        f->uneven = is_uneven(f);
    return st ? st : make_buffers(f, err);
}

/* Sizes of the engine's plan: of sample f->sample, or of the largest of each dimension. */
static enum pith_status fit_sizes(struct feeder *f, bool largest, struct pith_error *err)
{
    struct pith_tensor *t = calloc(f->n_inputs + 1u, sizeof *t);
    if (!t)
        return pith_error_no_memory(err);
    for (uint32_t i = 0; i < f->n_inputs; i++) {
        const struct pith_data *data = data_of(f, i);
        pith_plan_input(f->plan, i, &t[i]);
        const uint32_t rank = largest ? pith_data_shape(data, t[i].dim)
                                      : pith_data_sample_shape(data, f->sample, t[i].dim);
        if (rank != t[i].rank)
            t[i].rank = UINT32_MAX; /* it follows the others */
    }
    enum pith_status st = pith_engine_fit_sizes(f->engine, 1, t, f->n_inputs, err);
    free(t);
    if (!st)
        f->plan = pith_engine_plan(f->engine);
    return st;
}

/* Inputs of sample f->sample, as large as it is. */
static enum pith_status fit_sample(struct feeder *f, struct pith_error *err)
{
    struct pith_error why = {0};
    enum pith_status st = fit_sizes(f, false, &why);
    for (uint32_t i = 0; i < f->n_inputs && !st; i++) {
        struct pith_tensor own;
        pith_plan_input(f->plan, i, &own);
        f->input[i].bytes = own.bytes;
    }
    for (uint32_t i = 0; i < f->n_inputs && st; i++)
        if (pith_data_uneven(data_of(f, i)))
            return pith_error_fill(err, st, "%.200s: %.300s",
                                   pith_data_sample_name(data_of(f, i), f->sample), why.text);
    return st;
}

void pith_feeder_close(struct feeder *f)
{
    if (f->uneven && f->engine)
        fit_sizes(f, true, NULL); /* as the plan was */
    for (uint32_t i = 0; f->input && i < f->n_inputs; i++)
        free(f->input[i].buffer);
    free(f->input);
    f->input = NULL;
}

/* ---- feeding --------------------------------------------------------------------------------- */

static void reset_states(struct feeder *f)
{
    for (uint32_t i = 0; i < f->n_inputs; i++) {
        const struct pith_state *s = state_of(f, i);
        if (s && s->first)
            memcpy(f->input[i].buffer, s->first, (size_t)f->input[i].bytes);
        else if (s)
            memset(f->input[i].buffer, 0, (size_t)f->input[i].bytes);
    }
}

static enum pith_status read_data(struct feeder *f, uint32_t i, void *to, struct pith_error *err)
{
    struct pith_tensor t;
    pith_plan_input(f->plan, i, &t);
    return pith_data_read_as(data_of(f, i), f->sample, t.type, to, NULL, err);
}

enum pith_status pith_feeder_sample(struct feeder *f, uint64_t i, struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    f->sample = i;
    if (f->uneven && f->engine)
        st = fit_sample(f, err);
    if (i == 0 || f->steps > 1)
        reset_states(f);
    for (uint32_t k = 0; k < f->n_inputs && !st; k++) {
        struct pith_data *data = data_of(f, k);
        if (data && f->input[k].steps > 1)
            st = read_data(f, k, f->input[k].buffer, err);
    }
    return st;
}

static enum pith_status load_input(struct feeder *f, uint32_t i, uint64_t step,
                                   struct pith_error *err)
{
    const struct feeder_input *in = &f->input[i];
    void *to = pith_plan_input_data(f->plan, i);
    if (constant_of(f, i))
        memcpy(to, constant_of(f, i), (size_t)in->bytes);
    else if (f->uneven && f->engine && pith_data_pictures(data_of(f, i)))
        return pith_data_read_whole(data_of(f, i), f->sample, to, err);
    else if (in->steps > 1)
        memcpy(to, in->buffer + step * in->bytes, (size_t)in->bytes);
    else if (data_of(f, i) && in->buffer) {
        enum pith_status st = read_data(f, i, in->buffer, err);
        if (st)
            return st;
        memcpy(to, in->buffer, (size_t)in->bytes); /* without what it was filled up with */
    } else if (data_of(f, i))
        return read_data(f, i, to, err);
    else if (in->buffer)
        memcpy(to, in->buffer, (size_t)in->bytes);
    return PITH_OK;
}

enum pith_status pith_feeder_step(struct feeder *f, uint64_t step, uint64_t seed,
                                  struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    if (f->random)
        pith_fill_normal(f->plan, seed);
    for (uint32_t i = 0; i < f->n_inputs && !st; i++)
        st = load_input(f, i, step, err);
    return st;
}

void pith_feeder_keep(struct feeder *f)
{
    for (uint32_t k = 0; f->feed && k < f->feed->n_states; k++) {
        const struct pith_state *s = &f->feed->state[k];
        memcpy(f->input[s->input].buffer, pith_plan_output_data(f->plan, s->output),
               (size_t)f->input[s->input].bytes);
    }
}

enum pith_status pith_feeder_run(struct feeder *f, uint64_t i, struct pith_error *err)
{
    enum pith_status st = pith_feeder_sample(f, i, err);
    for (uint64_t step = 0; step < f->steps && !st; step++) {
        st = pith_feeder_step(f, step, 0, err);
        if (st)
            break;
        st = f->engine ? pith_engine_run(f->engine, err) : pith_run_with_error(f->plan, err);
        if (st)
            break;
        pith_feeder_keep(f);
    }
    return st;
}

/* ---- for callers that take the outputs themselves -------------------------------------------- */

uint64_t pith_feed_count(const struct pith_feed *feed)
{
    if (!feed)
        return 0;
    for (uint32_t i = 0; i < feed->n_inputs; i++)
        if (feed->input[i].data)
            return pith_data_count(feed->input[i].data);
    return 1;
}

struct pith_data *pith_feed_labels(const struct pith_feed *feed)
{
    for (uint32_t i = 0; feed && i < feed->n_inputs; i++) {
        struct pith_data *d = feed->input[i].data;
        if (d && (pith_data_labelled(d) || pith_data_target_elems(d)))
            return d;
    }
    return NULL;
}

enum pith_status pith_feed_check(struct pith_engine *e, const struct pith_feed *feed,
                                 struct pith_error *err)
{
    if (!e || !feed || feed->size_bytes != sizeof *feed)
        return PITH_ERR_ARGUMENT;
    struct feeder f = {0};
    enum pith_status st = pith_feeder_open(&f, pith_engine_plan(e), feed, true, err);
    if (!st)
        st = pith_feeder_sample(&f, 0, err);
    if (!st)
        st = pith_feeder_step(&f, 0, 0, err); /* values that the input's type cannot hold */
    pith_feeder_close(&f);
    return st;
}

enum pith_status pith_feed_run(struct pith_engine *e, const struct pith_feed *feed,
                               bool (*taken)(void *user, uint64_t sample), void *user,
                               struct pith_error *err)
{
    if (!e || !feed || !taken || feed->size_bytes != sizeof *feed)
        return PITH_ERR_ARGUMENT;
    struct feeder f = {0};
    enum pith_status st = pith_feeder_open(&f, pith_engine_plan(e), feed, false, err);
    f.engine = e;
    for (uint64_t i = 0; !st && i < f.n_samples; i++) {
        st = pith_feeder_run(&f, i, err);
        if (!st && !taken(user, i))
            st =
                pith_error_fill(err, PITH_ERR_ARGUMENT, "stopped after %" PRIu64 " samples", i + 1);
    }
    pith_feeder_close(&f);
    return st;
}
